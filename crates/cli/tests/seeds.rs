//! One seed, one world: size, network, workload and, where the algorithm allows it, the order of
//! channels are drawn from one number. No violation, no deadlock, nobody starves.
//!
//! A short form runs always; `cargo xtask seeds` runs ten thousand of each algorithm.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use conclave_algorithms::catalogue::{Entry, MUTEXES, Timing};
use conclave_algorithms::quorum::Construction;
use conclave_core::{ProcessId, View};
use conclave_observe::trace::json;
use conclave_observe::{JudgeOrdering, Time, Verdict};
use conclave_sim::{ChannelOrder, Crash, Network, Recording, Stream, Workload};
use conclave_testkit::known;
use conclave_testkit::seeds::{count, is_chosen};
use conclave_workbench::notation::read;
use conclave_workbench::plan::{Done, Plan};

/// Everything that the seed decides. No fault that the plain algorithm excludes: a pause is
/// allowed, for nobody can tell it from a slow network.
fn world(entry: &'static Entry, seed: u64) -> Plan {
    let mut stream = Stream::new(seed, "world");
    let n = u32::try_from(2 + stream.below(29)).unwrap();
    let mut plan = Plan::new(entry, View::dense(1, n));
    plan.seed = seed;
    let unit = Time::DELAY.0;
    let mut time = |low: u64, high: u64| Time(low + stream.below(high - low));
    // Those that need a bound get one, which is then the D that they know of.
    let networks = if entry.needs.synchrony { 2 } else { 4 };
    plan.network = match seed % networks {
        0 => Network::Unit,
        1 => Network::Sync { bound: time(unit / 10, 10 * unit) },
        2 => {
            let low = time(1, unit);
            Network::Uniform { low, high: low + time(1, 20 * unit) }
        }
        _ => Network::Exponential { mean: time(unit / 10, 5 * unit) },
    };
    plan.workload = match seed / 4 % 3 {
        0 => Workload::One,
        1 => Workload::Contend,
        _ => Workload::Think { mean: time(unit / 10, 100 * unit) },
    };
    plan.hold = time(0, 3 * unit);
    plan.entries = u64::from(n) * (10 + stream.below(21));
    if entry.needs.voting_sets {
        let others = [Construction::Grid, Construction::Majority, Construction::All];
        plan.construction = others[usize::try_from(seed / 12 % 3).unwrap()];
    }
    if !entry.needs.fifo && stream.below(3) == 0 {
        plan.order = ChannelOrder::Any;
    }
    plan.timing = Timing::of(plan.network.typical().as_duration());
    if entry.needs.synchrony {
        plan.faults.crashes = crashes(n, &plan, &mut stream);
    } else if stream.below(4) == 0 {
        let process = 1 + stream.below(n.into());
        let from = stream.below(20);
        let pause = format!("{process}@{from}ms..{}ms", from + 1 + stream.below(50));
        plan.faults.pauses = vec![read(&pause).unwrap()];
    }
    plan.ordering = JudgeOrdering::Yes;
    plan.limits.patience = plan.default_patience();
    plan
}

/// Some die, and stay dead; one at least lives on.
fn crashes(n: u32, plan: &Plan, stream: &mut Stream) -> Vec<Crash> {
    let count = stream.below(n.min(4).into());
    let first = stream.below(n.into());
    let span = Time::of(12 * plan.timing.beat()).0;
    let crash = |number: u64, stream: &mut Stream| Crash {
        process: ProcessId(u32::try_from(1 + (first + number) % u64::from(n)).unwrap()),
        at: Time(stream.below(span)),
    };
    (0..count).map(|number| crash(number, stream)).collect()
}

fn run(plan: Plan) -> Done {
    plan.run(&mut |_| {}).unwrap()
}

#[test]
fn no_seed_breaks_an_algorithm() {
    let (messages, entries, runs) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let jobs: Vec<&'static Entry> =
        MUTEXES.iter().copied().filter(|it| it.serves_everybody() && is_chosen(it.name)).collect();
    let next = AtomicU64::new(0);
    let total = jobs.len() as u64 * count();
    let worker = || {
        loop {
            let job = next.fetch_add(1, Relaxed);
            if job >= total {
                return;
            }
            let entry = jobs[usize::try_from(job % jobs.len() as u64).unwrap()];
            let mut plan = world(entry, job / jobs.len() as u64);
            plan.check_invariants = true;
            let (command, wanted) = (conclave_cli::lab::command(&plan), plan.entries);
            let done = run(plan);
            let report = &done.outcome.report;
            assert_eq!(report.verdict, Verdict::Ok, "repeat it with: {command}");
            let has_crashes = !done.plan.faults.crashes.is_empty();
            let served = report.locks().unwrap().delays.entries();
            assert!(served == wanted || has_crashes, "{served}; repeat it with: {command}");
            messages.fetch_add(report.bandwidth.delivered(), Relaxed);
            entries.fetch_add(report.locks().unwrap().delays.entries(), Relaxed);
            runs.fetch_add(1, Relaxed);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            worker.join().expect("a run failed; see above for the command that repeats it");
        }
    });
    let (messages, entries, runs) =
        (messages.into_inner(), entries.into_inner(), runs.into_inner());
    println!("{runs} runs of {} algorithms: {entries} entries, {messages} messages", jobs.len());
    assert_eq!(runs, total);
}

#[test]
fn the_same_seed_gives_the_same_trace_byte_for_byte() {
    for entry in MUTEXES {
        for seed in 0..12 {
            let trace = || {
                let mut plan = world(entry, seed);
                plan.entries = 20;
                plan.recording = Recording::Everything;
                let done = run(plan);
                (json::write(&done.trace()), done.outcome.report.fingerprint)
            };
            let (first, second) = (trace(), trace());
            assert!(first == second, "{} with seed {seed}", entry.name);
        }
    }
}

#[test]
fn a_recorded_run_is_the_same_run() {
    for entry in MUTEXES {
        let hash = |recording| {
            let mut plan = world(entry, 7);
            (plan.entries, plan.recording) = (20, recording);
            run(plan).outcome.report.fingerprint
        };
        assert_eq!(hash(Recording::Nothing), hash(Recording::Everything), "{}", entry.name);
    }
}

#[test]
fn different_seeds_give_different_runs() {
    let hash = |seed| {
        let mut plan = world(MUTEXES[0], 3);
        plan.seed = seed;
        run(plan).outcome.report.fingerprint
    };
    assert_ne!(hash(3), hash(4));
}

/// The hash is taken of every event, so it must not change from one machine, or one release, to the
/// next; if it does on purpose, recorded seeds are worth nothing any more, and the changelog says
/// so.
#[test]
fn a_known_seed_still_gives_the_run_it_always_gave() {
    let known: Vec<String> = MUTEXES
        .iter()
        .map(|entry| {
            format!("{} {:016x}", entry.name, run(world(entry, 11)).outcome.report.fingerprint)
        })
        .collect();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/known/seeds_of_locks.txt");
    known::lines(file, &known);
}

/// Seeds that once failed, with a line on what each taught.
#[test]
fn seeds_that_once_failed_still_pass() {
    // Replies and acknowledgements that carried no clock: a request can become known through a
    // third process's answer, and whoever learned of it so stamped its own as older and went first.
    let kept = [
        ("lamport", [18, 19, 20]),
        ("ricart-agrawala", [11, 21, 33]),
        ("ricart-agrawala-deferred", [1, 5, 6]),
    ];
    for (name, seeds) in kept {
        for seed in seeds {
            let entry = MUTEXES.iter().find(|entry| entry.name == name).unwrap();
            let mut plan = Plan::new(entry, View::dense(1, 3));
            plan.network = Network::Uniform { low: Time::delays(1), high: Time::delays(20) };
            (plan.entries, plan.seed) = (30, seed);
            let command = conclave_cli::lab::command(&plan);
            assert_eq!(run(plan).outcome.report.verdict, Verdict::Ok, "repeat it with: {command}");
        }
    }
}
