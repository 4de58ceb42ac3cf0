//! Bare processes: clocks in many worlds, and the runs that known seeds give.

use conclave_algorithms::catalogue::{self, Entry, PROCESSES};
use conclave_core::View;
use conclave_observe::trace::json;
use conclave_observe::{Time, Verdict};
use conclave_sim::{ChannelOrder, Network, Probability, Recording, Stream};
use conclave_testkit::known;
use conclave_workbench::notation::read;
use conclave_workbench::plan::{Done, Plan};

fn run(plan: Plan) -> Done {
    plan.run(&mut |_| {}).unwrap()
}

fn plan(name: &str, n: u32) -> Plan {
    Plan::new(catalogue::find(name).unwrap(), View::dense(1, n))
}

/// Any network, order and loss; nobody comes back.
fn world(entry: &'static Entry, seed: u64) -> Plan {
    let mut stream = Stream::new(seed, "lessons");
    let mut plan = Plan::new(entry, View::dense(1, 1 + u32::try_from(stream.below(6)).unwrap()));
    let networks = ["unit", "sync:4ms", "uniform:1ms..9ms", "exponential:3ms"];
    let network = networks[usize::try_from(stream.below(4)).unwrap()];
    plan.network = read::<Network>(network).unwrap();
    plan.order = if stream.below(2) == 0 { ChannelOrder::Fifo } else { ChannelOrder::Any };
    plan.until = Time::delays(stream.below(30));
    if stream.below(3) == 0 {
        plan.faults.loss = read::<Probability>("0.2").unwrap();
        plan.faults.duplicate = read::<Probability>("0.2").unwrap();
    }
    plan.seed = seed;
    plan
}

#[test]
fn in_any_world_clocks_agree_with_what_happened_and_pingers_print_by_turns() {
    let (mut concurrent, mut ordered) = (0, 0);
    for entry in PROCESSES {
        for seed in 0..60 {
            let done = run(world(entry, seed));
            let report = &done.outcome.report;
            assert_eq!(report.verdict, Verdict::Ok, "{} with seed {seed}", entry.name);
            let clocks = report.processes().unwrap().clocks.as_ref();
            let events = clocks.map_or(&[][..], |clocks| clocks.events());
            for pair in events.windows(2) {
                use conclave_observe::property::Relation::Concurrent;
                let is_concurrent = pair[0].relation(&pair[1]) == Concurrent;
                concurrent += u64::from(is_concurrent);
                ordered += u64::from(!is_concurrent);
            }
        }
    }
    assert!(concurrent > 500 && ordered > 500, "both were there: {concurrent}, {ordered}");
}

#[test]
fn written_steps_give_the_readings_of_the_textbook() {
    let readings = |name: &str| -> Vec<(u32, String)> {
        let mut plan = plan(name, 3);
        let steps = ["1>2", "3@0.5ms", "2>3@2ms", "1@2.5ms", "3>1@4ms"];
        plan.steps = steps.iter().map(|step| read(step).unwrap()).collect();
        let done = run(plan);
        let clocks = done.outcome.report.processes().unwrap().clocks.clone().unwrap();
        let of = clocks.events().iter().map(|it| (done.view.at(it.seat).0, it.reading.text()));
        of.collect()
    };
    let expected = |all: [(u32, &str); 8]| all.map(|(id, text)| (id, text.to_owned())).to_vec();
    let lamport = [(1, "1"), (3, "1"), (2, "2"), (2, "3"), (1, "2"), (3, "4"), (3, "5"), (1, "6")];
    assert_eq!(readings("lamport-clocks"), expected(lamport));
    let vectors = [
        (1, "(1,0,0)"),
        (3, "(0,0,1)"),
        (2, "(1,1,0)"),
        (2, "(1,2,0)"),
        (1, "(2,0,0)"),
        (3, "(1,2,2)"),
        (3, "(1,2,3)"),
        (1, "(3,2,3)"),
    ];
    assert_eq!(readings("vector-clocks"), expected(vectors));
}

#[test]
fn who_comes_back_has_lost_its_clock_and_that_is_seen() {
    for name in ["lamport-clocks", "vector-clocks"] {
        let mut plan = plan(name, 2);
        plan.steps = ["1", "1@5ms"].iter().map(|step| read(step).unwrap()).collect();
        assert_eq!(run(plan.clone()).outcome.report.verdict, Verdict::Ok);
        plan.faults.crashes = vec![read("1@2ms").unwrap()];
        plan.faults.returns = vec![read("1@3ms").unwrap()];
        assert_eq!(run(plan).outcome.report.verdict, Verdict::Violated, "{name}");
    }
}

#[test]
fn each_message_that_is_asked_for_is_one() {
    for entry in PROCESSES {
        let mut plan = plan(entry.name, 3);
        plan.steps = ["1>2", "2>3@2ms", "3>1@3ms"].iter().map(|it| read(it).unwrap()).collect();
        let sent = run(plan).outcome.report.bandwidth.sent();
        let cost = (entry.costs[0].value)(catalogue::Size { n: 3.0, k: 3.0 });
        assert_eq!(sent as f64, 3.0 * cost, "{}", entry.name);
    }
}

#[test]
fn a_recorded_run_is_the_same_run_and_is_taken_again() {
    for entry in PROCESSES {
        for seed in 0..6 {
            let mut plan = world(entry, seed);
            let unrecorded = run(plan.clone()).outcome.report.fingerprint;
            plan.recording = Recording::Everything;
            let done = run(plan.clone());
            assert_eq!(done.outcome.report.fingerprint, unrecorded);
            let trace = json::read(&json::write(&done.trace())).unwrap();
            let again = plan.replay(&trace).unwrap().unwrap();
            assert_eq!(again.outcome.report.fingerprint, unrecorded, "{} {seed}", entry.name);
        }
    }
}

/// As for the locks: if this changes, recorded seeds are worth nothing any more.
#[test]
fn a_known_seed_still_gives_the_run_it_always_gave() {
    let hash = |entry: &&'static Entry| {
        let hash = run(world(entry, 11)).outcome.report.fingerprint;
        format!("{} {hash:016x}", entry.name)
    };
    let known: Vec<String> = PROCESSES.iter().map(hash).collect();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/known/seeds_of_lessons.txt");
    known::lines(file, &known);
}
