//! A scripted adversary: single messages that do not arrive as others do, and deaths at an event.

use conclave_core::ProcessId;
use conclave_observe::trace::json;
use conclave_observe::{Event, Time, Verdict, What};
use conclave_sim::Recording;
use conclave_workbench::draft::Draft;
use conclave_workbench::plan::{Done, Plan};
use conclave_workbench::recorded::plan_of_trace;

fn plan(algorithm: &str, said: &[(&str, &str)]) -> Plan {
    let mut draft = Draft::named(algorithm).unwrap();
    for (name, value) in said {
        draft.say(name, value).unwrap_or_else(|error| panic!("{name} {value}: {error}"));
    }
    draft.plan().unwrap()
}

/// The run, recorded; unrecorded, it is the same.
fn run(algorithm: &str, said: &[(&str, &str)]) -> Done {
    let mut recorded = plan(algorithm, said);
    recorded.recording = Recording::Everything;
    let done = recorded.run(&mut |_| {}).unwrap();
    let unrecorded = plan(algorithm, said).run(&mut |_| {}).unwrap();
    assert_eq!(unrecorded.outcome.report.fingerprint, done.outcome.report.fingerprint);
    assert_eq!(unrecorded.outcome.faults, done.outcome.faults);
    done
}

/// When messages of that kind from one to another were sent, and when they arrived.
fn journeys(done: &Done, kind: &str, from: u32, to: u32) -> (Vec<Time>, Vec<Time>) {
    let (from, to) = (done.view.seat(ProcessId(from)), done.view.seat(ProcessId(to)));
    let name = |kind: u8| done.plan.entry.kinds[usize::from(kind)].name;
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    for event in done.outcome.records.iter().map(|record| record.event) {
        match event.what {
            What::Sent { to: whom, kind: it, .. }
                if (Some(event.seat), Some(whom), name(it)) == (from, to, kind) =>
            {
                sent.push(event.at);
            }
            What::Received { from: whom, kind: it, .. }
                if (Some(whom), Some(event.seat), name(it)) == (from, to, kind) =>
            {
                received.push(event.at);
            }
            _ => {}
        }
    }
    (sent, received)
}

fn fired(done: &Done) -> Vec<(&str, u64)> {
    done.outcome.faults.iter().map(|fault| (&*fault.label, fault.count)).collect()
}

#[test]
fn only_the_message_that_is_named_is_lost() {
    for count in 1..=3 {
        let name = format!("request 1>2 #{count}");
        let done = run("ricart-agrawala", &[("n", "2"), ("drop", &name)]);
        let (sent, received) = journeys(&done, "request", 1, 2);
        assert_eq!((sent.len(), received.len()), (count, count - 1), "nobody asks again");
        assert_eq!(done.outcome.report.verdict, Verdict::Stalled);
        assert_eq!(fired(&done), [(&*format!("drop {name}"), 1)]);
    }
}

#[test]
fn a_message_that_is_delayed_takes_that_much_longer_and_what_follows_waits_behind_it() {
    let said = [("n", "2"), ("delay", "request 1>2 #1 by 7ms")];
    let done = run("lamport", &said);
    let (sent, received) = journeys(&done, "request", 1, 2);
    assert_eq!(received[0] - sent[0], Time::delays(8));
    // The acknowledgement of 2's request was sent by 1 one delay later.
    let (sent, received) = journeys(&done, "acknowledge", 1, 2);
    assert_eq!((sent[0], received[0]), (Time::delays(1), Time::delays(8)), "FIFO channels");
    let said = [&said[..], &[("no-fifo", "")]].concat();
    let overtaken = run("lamport", &said);
    assert_eq!(journeys(&overtaken, "acknowledge", 1, 2).1[0], Time::delays(2));
}

#[test]
fn a_message_that_is_hurried_takes_no_time_but_does_not_overtake_in_a_fifo_channel() {
    let done = run("lamport", &[("n", "2"), ("hurry", "request 1>2 #1")]);
    let (sent, received) = journeys(&done, "request", 1, 2);
    assert_eq!((sent[0], received[0]), (Time::ZERO, Time::ZERO));
    let both = [("n", "2"), ("delay", "request 1>2 #1 by 7ms"), ("hurry", "acknowledge 1>2 #1")];
    let done = run("lamport", &both);
    assert_eq!(journeys(&done, "acknowledge", 1, 2).1[0], Time::delays(8));
}

#[test]
fn all_others_take_the_times_that_they_would() {
    let network = ("network", "uniform:1ms..9ms");
    let usual = run("central", &[("n", "3"), network]);
    let late = run("central", &[("n", "3"), network, ("delay", "grant 0>1 #1 by 3ms")]);
    assert_eq!(journeys(&usual, "request", 2, 0).1[0], journeys(&late, "request", 2, 0).1[0]);
    let arrival = |done: &Done| journeys(done, "grant", 0, 1).1[0];
    assert_eq!(arrival(&late) - arrival(&usual), Time::delays(3));
}

#[test]
fn a_message_that_is_doubled_arrives_twice() {
    let done = run("ricart-agrawala", &[("n", "2"), ("duplicate", "reply 2>1 #2")]);
    let (sent, received) = journeys(&done, "reply", 2, 1);
    assert_eq!(received.len(), sent.len() + 1);
}

#[test]
fn who_is_to_die_at_an_event_dies_then_with_all_done_that_it_did() {
    let done = run("ricart-agrawala", &[("n", "3"), ("crash", "2 on leaving")]);
    let seat = done.view.seat(ProcessId(2)).unwrap();
    let its: Vec<_> = done.outcome.records.iter().filter(|it| it.event.seat == seat).collect();
    let place = its.iter().position(|it| it.event.what == What::Crashed).unwrap();
    let left = its[..place].iter().rfind(|it| matches!(it.event.what, What::Told(_))).unwrap();
    assert_eq!(its[place].event.at, left.event.at, "at the time of the event");
    assert!(
        its[..place]
            .iter()
            .any(|it| matches!(it.event.what, What::Sent { .. }) && it.event.at == left.event.at),
        "what it sent as it left is on its way"
    );
    assert_eq!(fired(&done), [("crash 2 on leaving", 1)]);
}

#[test]
fn the_second_time_can_be_meant() {
    let entries = |count: &str| {
        let crash = format!("2 on entering{count}");
        let done = run("central", &[("n", "2"), ("crash", &crash)]);
        let seat = done.view.seat(ProcessId(2)).unwrap();
        let entered = |event: Event| match event.what {
            What::Told(said) => event.seat == seat && said.word.name == "entered",
            _ => false,
        };
        done.outcome.records.iter().filter(|record| entered(record.event)).count()
    };
    assert_eq!((entries(""), entries(" #2"), entries(" #3")), (1, 2, 3));
}

#[test]
fn only_its_own_election_is_elected_and_that_of_another_is_following() {
    let died = |crash: &str| {
        let done = run("bully", &[("n", "3"), ("initiators", "1"), ("crash", crash)]);
        done.outcome.died.iter().map(|it| it.process.0).collect::<Vec<_>>()
    };
    assert_eq!(died("3 on elected"), [3]);
    assert_eq!(died("1 on elected"), [0; 0], "it is told of 3");
    assert_eq!(died("1 on following"), [1]);
}

#[test]
fn who_died_at_an_event_can_return() {
    let said = [("n", "3"), ("crash", "2 on entering"), ("return", "2@40ms")];
    assert_eq!(fired(&run("central", &said)), [("return 2@40ms", 1), ("crash 2 on entering", 1)]);
}

#[test]
fn what_never_fired_is_told() {
    let said = [("n", "2"), ("drop", "reply 1>2 #999"), ("crash", "1 on entering #999")];
    let done = run("ricart-agrawala", &said);
    assert_eq!(done.outcome.report.verdict, Verdict::Ok);
    assert_eq!(fired(&done), [("drop reply 1>2 #999", 0), ("crash 1 on entering #999", 0)]);
}

#[test]
fn a_recorded_run_with_a_script_is_taken_again_by_the_real_processes() {
    for said in [
        [("n", "3"), ("drop", "reply 2>1 #2")],
        [("n", "3"), ("delay", "request 1>2 #2 by 9ms")],
        [("n", "3"), ("hurry", "request 1>2 #2")],
        [("n", "3"), ("duplicate", "request 1>2 #2")],
        [("n", "3"), ("crash", "2 on leaving")],
    ] {
        let done = run("ricart-agrawala", &said);
        let trace = json::read(&json::write(&done.trace())).unwrap();
        let again = plan_of_trace(&trace).unwrap().replay(&trace).unwrap();
        let again = again.unwrap_or_else(|error| panic!("{said:?}: {error}"));
        assert_eq!(again.outcome.report.verdict, done.outcome.report.verdict, "{said:?}");
        assert_eq!(again.outcome.report.fingerprint, done.outcome.report.fingerprint, "{said:?}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    for (name, value, says) in [
        ("drop", "reqest 1>2", "lamport has no message `reqest`; it has request, acknowledge and"),
        ("drop", "request 1>9", "there is no process 9; the processes are 1 to 5"),
        ("drop", "request 1>1", "what 1 says to itself crosses no network"),
        (
            "crash",
            "2 on elected",
            "lamport has no event `elected`; it has requesting, entering and",
        ),
        ("crash", "9 on entering", "there is no process 9"),
    ] {
        let mut draft = Draft::named("lamport").unwrap();
        draft.say(name, value).unwrap();
        let error = draft.plan().unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains('\n'), "{name} {value}: {error}");
        // In a scenario, its line is named.
        let mut draft = Draft::named("lamport").unwrap();
        draft.play(format!("n 5\nrequest 1@0ms\n{name} {value}\n").parse().unwrap());
        let error = draft.plan().unwrap_err().to_string();
        assert!(error.starts_with("line 3: ") && error.contains(says), "{name} {value}: {error}");
    }
    let mut draft = Draft::named("lamport").unwrap();
    draft.say("drop", "request 1>2").unwrap();
    draft.say("delay", "request 1>2 #1 by 2ms").unwrap();
    let error = draft.plan().unwrap_err().to_string();
    assert!(error.contains("names the same message"), "{error}");
}
