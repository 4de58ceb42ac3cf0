//! Pictures to look at: `cargo test -p conclave-diagram -- --ignored gallery`, then open them.

use std::fs;
use std::path::Path;

use conclave_diagram::{Options, draw};
use conclave_observe::trace::Trace;
use conclave_observe::{LossCause, What};

use crate::run::{
    ANSWER, BEAT, CALLED, COORDINATOR, ELECTING, ELECTION, LEFT, READING, REFUSED, RELEASE, REPLY,
    REQUEST, REQUESTED, Run, VACANT, contend, entered, random, read, suspected, time, trusted,
    writing, wrote,
};

#[test]
#[ignore = "writes pictures for people"]
fn gallery() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gallery");
    fs::create_dir_all(&folder).unwrap();
    for (name, trace, options) in all() {
        fs::write(folder.join(name).with_extension("svg"), draw(&trace, &options)).unwrap();
    }
    println!("{}", folder.display());
}

/// Every picture that the tests look at, too.
pub fn all() -> Vec<(&'static str, Trace, Options)> {
    [pictures(), elections()].concat()
}

/// Those of elections and detectors.
pub fn elections() -> Vec<(&'static str, Trace, Options)> {
    let plain = Options::default;
    vec![
        ("bully", bully(), plain()),
        ("two-leaders", two_leaders(), plain()),
        ("lease", lease(), plain()),
        ("detector", detector(), plain()),
    ]
}

/// Those of mutual exclusion.
pub fn pictures() -> Vec<(&'static str, Trace, Options)> {
    let plain = Options::default;
    let said = |lines: &[&str]| Options {
        caption: lines.iter().map(|&line| line.into()).collect(),
        ..plain()
    };
    vec![
        ("lone-entry", lone_entry(), said(&["ok: 1 entry, 8 messages"])),
        (
            "deadlock",
            deadlock(),
            said(&[
                "deadlock: p1 waits for p2, p2 waits for p3, p3 waits for p1",
                "Each has its own vote and waits for that of the next, which has given it away.",
            ]),
        ),
        ("crash", crash(), said(&["stalled: p1 waits for a reply of p3, which crashed"])),
        ("partition", partition(), plain()),
        ("violation", violation(), said(&["violated: p2 entered while p1 was in"])),
        ("quiet", quiet(), plain()),
        ("contend", contend(9, 1, "unit", || 100), plain()),
        ("contend-random", contend(5, 3, "uniform:0.5..1.5", random(7, 50..150)), plain()),
        (
            "window",
            contend(5, 3, "uniform:0.5..1.5", random(7, 50..150)),
            Options { from: Some(time(400)), to: Some(time(700)), ..plain() },
        ),
        ("long", contend(7, 12, "exponential:1", random(3, 10..240)), plain()),
        ("copies", copies(), plain()),
        ("many", contend(40, 1, "unit", || 100), Options { from: Some(time(1500)), ..plain() }),
        ("kinds", kinds(), plain()),
        ("silent", Run::new("central", 4).trace(), plain()),
        ("maekawa-deadlock-9", many_waits(), plain()),
    ]
}

pub fn lone_entry() -> Trace {
    let mut run = Run::new("ricart-agrawala", 5);
    run.entry(3, (0, 200, 300), 1);
    for other in [1, 2, 4, 5] {
        run.message(REQUEST, (3, 0), (other, 100), "Request(1)");
        run.message(REPLY, (other, 100), (3, 200), "Reply(#0)");
    }
    run.trace()
}

pub fn deadlock() -> Trace {
    let mut run = Run::new("maekawa-plain", 3);
    for process in 1..=3 {
        let next = process % 3 + 1;
        run.event(0, process, REQUESTED);
        run.message(REQUEST, (process, 0), (process, 0), "Request(1)");
        run.message(REPLY, (process, 0), (process, 0), "Locked");
        run.message(REQUEST, (process, 0), (next, 100), "Request(1)");
        run.waits_for(100, process, next);
    }
    run.trace()
}

pub fn crash() -> Trace {
    let mut run = Run::new("ricart-agrawala", 4);
    run.event(0, 1, REQUESTED);
    for other in [2, 4] {
        run.message(REQUEST, (1, 0), (other, 100), "Request(1)");
        run.message(REPLY, (other, 100), (1, 200), "Reply");
    }
    let message = run.sent(REQUEST, (1, 0), 3, "Request(1)");
    run.event(60, 3, What::Crashed);
    run.lost(message, (1, 100), 3, LossCause::ReceiverDown);
    run.event(130, 2, What::Paused).event(290, 2, What::Resumed);
    run.event(350, 3, What::Returned);
    run.message(REQUEST, (4, 260), (3, 410), "Request(9)");
    run.sent(REPLY, (3, 410), 4, "Reply");
    run.waits_for(410, 1, 3);
    run.trace()
}

pub fn partition() -> Trace {
    let mut run = Run::new("lamport", 5);
    run.partition(&[1, 2], &[3, 4, 5], 80, 430);
    run.entry(1, (0, 700, 760), 1);
    for other in [2, 3, 4, 5] {
        run.message(REQUEST, (1, 0), (other, 100), "Request(1)");
    }
    run.message(REPLY, (2, 100), (1, 200), "Ack(2)");
    for other in [3, 4, 5] {
        let message = run.sent(REPLY, (other, 100), 1, "Ack(2)");
        run.lost(message, (other, 100), 1, LossCause::Partition);
        run.message(REPLY, (other, 600), (1, 700), "Ack(2)");
    }
    for other in [2, 3, 4, 5] {
        run.message(RELEASE, (1, 760), (other, 860), "Release(3)");
    }
    run.trace()
}

pub fn violation() -> Trace {
    let mut run = Run::new("lamport", 3).network("uniform:1..3");
    run.entry(1, (0, 260, 480), 1).entry(2, (20, 350, 520), 1);
    run.message(REQUEST, (1, 0), (2, 240), "Request(1)");
    run.message(REQUEST, (1, 0), (3, 110), "Request(1)");
    run.message(REQUEST, (2, 20), (1, 130), "Request(1)");
    run.message(REQUEST, (2, 20), (3, 190), "Request(1)");
    run.message(REPLY, (3, 110), (1, 260), "Ack(2)");
    run.message(REPLY, (3, 190), (2, 300), "Ack(3)");
    run.message(REPLY, (1, 130), (2, 350), "Ack(2)");
    run.message(REPLY, (2, 130), (1, 250), "Ack(2)");
    run.message(RELEASE, (1, 480), (2, 600), "Release(5)");
    run.message(RELEASE, (1, 480), (3, 610), "Release(5)");
    run.trace()
}

pub fn quiet() -> Trace {
    let mut run = Run::new("central", 4);
    for (process, start) in (2..).zip([0, 1_800, 1_000_000]) {
        run.entry(process, (start, start + 200, start + 300), u64::from(process) - 1);
        run.message(REQUEST, (process, start), (1, start + 100), "Request");
        run.message(REPLY, (1, start + 100), (process, start + 200), "Grant(#1)");
        run.message(RELEASE, (process, start + 300), (1, start + 400), "Release(#1)");
    }
    run.event(1_000_500, 1, REQUESTED);
    run.trace()
}

pub fn copies() -> Trace {
    let mut run = Run::new("central <&\"x\">", 3);
    let message = run.sent(REQUEST, (2, 0), 1, "Request");
    run.duplicated(message, (2, 0), 1);
    run.received(message, REQUEST, 2, (1, 100)).received(message, REQUEST, 2, (1, 100));
    let message = run.sent(REQUEST, (3, 0), 1, "Request");
    run.lost(message, (3, 0), 1, LossCause::Network);
    run.event(0, 2, REQUESTED).event(0, 3, REQUESTED);
    run.message(REPLY, (1, 100), (2, 200), "Grant { fence: #1 }");
    run.event(200, 2, entered(1)).event(200, 2, LEFT);
    run.message(RELEASE, (2, 200), (1, 300), "Release");
    run.message(REQUEST, (2, 200), (1, 300), "Request<T> & \"more\"");
    run.sent(REPLY, (1, 300), 2, "Grant");
    run.trace()
}

fn kinds() -> Trace {
    let mut run = Run::new("maekawa", 2);
    let names = ["Request", "Reply", "Release", "Fail", "Inquire", "Yield"];
    for (kind, name) in (0_u8..).zip(names) {
        let at = u64::from(kind) * 80;
        run.message(kind, (1, at), (2, at + 100), name);
    }
    run.message(6, (1, 500), (2, 600), "beyond the header");
    run.message(7, (1, 580), (2, 680), "beyond the header");
    run.trace()
}

pub fn bully() -> Trace {
    let mut run = Run::election("bully", &[3, 5, 6, 80], false);
    run.event(0, 4, What::Crashed).event(0, 2, CALLED).event(0, 2, ELECTING);
    let lost = run.sent(ELECTION, (2, 0), 4, "Election");
    run.lost(lost, (2, 100), 4, LossCause::ReceiverDown);
    run.message(ELECTION, (2, 0), (3, 100), "Election").event(100, 3, ELECTING);
    run.message(ANSWER, (3, 100), (2, 200), "Answer").elected(300, 3, 3, 0);
    for other in [1, 2] {
        run.message(COORDINATOR, (3, 300), (other, 400), "Coordinator");
        run.elected(400, other, 3, 0).elected(400, other, 3, 0);
    }
    run.trace()
}

/// Two lead in one term, and not all believe in the same.
pub fn two_leaders() -> Trace {
    let mut run = Run::election("raft", &[1, 2, 3, 4, 5], false);
    for (leader, others, at) in [(2, [1, 3], 100), (5, [4, 3], 180)] {
        run.event(0, leader, ELECTING).elected(at, leader, leader, 7);
        for other in others {
            run.message(COORDINATOR, (leader, at), (other, at + 100), "Coordinator");
            run.elected(at + 100, other, leader, 7);
        }
    }
    run.event(400, 2, VACANT).event(500, 1, CALLED);
    run.trace()
}

/// A leader that keeps a value, and beats; it crashes, and another process takes its name.
pub fn lease() -> Trace {
    let version = |term: u64, number: u64| term << 32 | number;
    let mut run = Run::election("chubby", &[1, 2, 3, 4], true);
    run.event(0, 1, ELECTING).elected(50, 1, 1, 1);
    for (beat, other) in (0..9).flat_map(|beat| [2, 3, 4].map(|other| (beat, other))) {
        run.message(BEAT, (1, 50 + beat * 40), (other, 150 + beat * 40), "Beat");
    }
    run.event(100, 1, writing(1)).event(200, 1, wrote(version(1, 1)));
    run.event(220, 1, READING).event(300, 1, read(version(1, 1), 1));
    run.event(420, 1, What::Crashed).event(600, 2, ELECTING).elected(700, 2, 2, 2);
    run.event(800, 1, What::Replaced).elected(900, 1, 2, 2).event(950, 3, REFUSED);
    run.trace()
}

pub fn detector() -> Trace {
    let mut run = Run::detector(4, 30);
    run.event(3_250, 2, What::Crashed);
    for process in [1, 3, 4] {
        run.event(4_300, process, suspected(2));
    }
    run.event(4_300, 1, suspected(3));
    run.event(4_350, 1, trusted(3));
    run.trace()
}

pub fn many_waits() -> Trace {
    let mut run = Run::new("maekawa-plain", 9);
    for process in 1..=9_u32 {
        run.event(0, process, REQUESTED);
        for to in [process % 9 + 1, (process + 2) % 9 + 1] {
            run.message(REQUEST, (process, 0), (to, 100), "Request(1)");
        }
        run.waits_for(100, process, (process * 2) % 9 + 1);
    }
    run.trace()
}
