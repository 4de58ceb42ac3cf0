//! One seed, one world, for elections and detectors: who takes part, the network, who calls when,
//! and all that may go wrong within the algorithm's own system model, are drawn from one number.
//! All that was promised is kept, and where leaders die another one leads, whom all know.
//!
//! A short form runs always; `cargo xtask seeds` runs ten thousand of each algorithm.

#![allow(clippy::cast_possible_truncation, reason = "what is drawn is small")]

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use clap::Parser;
use conclave_algorithms::catalogue::{self, DETECTORS, ELECTIONS, Entry, Timing};
use conclave_cli::cli::{Cli, Command};
use conclave_cli::lab::{self, plan_of};
use conclave_core::Family;
use conclave_core::detector::Detectors;
use conclave_core::election::{Elections, TERMS};
use conclave_core::{ProcessId, View};
use conclave_observe::trace::json;
use conclave_observe::{Ending, Time, Verdict};
use conclave_sim::{
    ChannelOrder, Crash, Crossing, Network, Partition, Pause, Probability, Recording, Return,
    Stream,
};
use conclave_testkit::known;
use conclave_testkit::seeds::{count, is_chosen};
use conclave_workbench::notation::read;
use conclave_workbench::plan::{Done, Plan};

fn chance(stream: &mut Stream, percent: u64) -> bool {
    stream.below(100) < percent
}

/// Any time below that one.
fn before(stream: &mut Stream, end: Time) -> Time {
    Time(stream.below(end.0.max(1)))
}

fn times(count: u64, time: Time) -> Time {
    Time(count * time.0)
}

/// Any one of these.
fn one_of<T: Copy>(stream: &mut Stream, all: &[T]) -> T {
    all[stream.below(all.len() as u64) as usize]
}

/// So many of these, in any order.
fn some_of(stream: &mut Stream, all: &[ProcessId], count: usize) -> Vec<ProcessId> {
    let mut left = all.to_vec();
    (0..count).map(|_| left.swap_remove(stream.below(left.len() as u64) as usize)).collect()
}

/// What the algorithm may be asked to bear.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Model {
    /// Nobody dies, and every message arrives, at some time.
    Asynchronous,
    /// Every message arrives within a bound that is known. Processes die.
    Synchronous,
    /// Anything, for as long as it lasts.
    Anything,
}

fn model(entry: &Entry) -> Model {
    match entry.family {
        Elections::NAME if entry.promises.keeps(TERMS) => Model::Anything,
        // Of detectors it is judged whether they err, and without a bound they do.
        Detectors::NAME => Model::Synchronous,
        _ if entry.needs.synchrony => Model::Synchronous,
        _ => Model::Asynchronous,
    }
}

/// Any network; one with a bound if that is needed.
fn network(stream: &mut Stream, seed: u64, model: Model) -> Network {
    let unit = Time::DELAY;
    let kinds = if model == Model::Synchronous { 2 } else { 4 };
    match seed % kinds {
        0 => Network::Unit,
        1 => Network::Sync { bound: stream.between(Time(unit.0 / 10), times(10, unit)) },
        2 => {
            let low = stream.between(Time(1), unit);
            Network::Uniform { low, high: low + stream.between(Time(1), times(20, unit)) }
        }
        _ => Network::Exponential { mean: stream.between(Time(unit.0 / 10), times(5, unit)) },
    }
}

/// So many processes of any ids, in any order.
fn clients(stream: &mut Stream, n: u64) -> View {
    let mut ids = BTreeSet::new();
    while (ids.len() as u64) < n {
        ids.insert(ProcessId(1 + stream.below(1_000_000) as u32));
    }
    let sorted: Vec<ProcessId> = ids.into_iter().collect();
    View::new(some_of(stream, &sorted, sorted.len())).unwrap()
}

/// Everything that the seed decides.
fn world(entry: &'static Entry, seed: u64) -> Plan {
    let stream = &mut Stream::new(seed, "world");
    let model = model(entry);
    let largest = match (model, entry.name) {
        (Model::Anything, _) => 9,
        _ => 30,
    };
    let n = 1 + stream.below(largest);
    let mut plan = Plan::new(entry, clients(stream, n));
    plan.seed = seed;
    plan.network = network(stream, seed, model);
    let typical = plan.network.typical();
    // A lease is to be long enough for most messages.
    let bound = match plan.network {
        Network::Exponential { mean } => times(4, mean),
        _ => typical,
    };
    plan.timing = Timing::of(if model == Model::Anything { bound } else { typical }.as_duration());
    if !entry.needs.fifo && chance(stream, 33) {
        plan.order = ChannelOrder::Any;
    }
    let span = times(one_of(stream, &[5, 50, 600]), bound);
    match model {
        Model::Asynchronous => pause(stream, &mut plan, span),
        Model::Synchronous => kill(stream, &mut plan, span),
        Model::Anything => storm(stream, &mut plan, span),
    }
    plan.calls = calls(stream, &plan, span);
    if entry.name == "bully" && chance(stream, 25) {
        skip_dead(&mut plan);
    }
    if entry.name == "chubby" && chance(stream, 80) {
        plan.asks_every = Some(stream.between(Time(bound.0 / 2), times(10, bound)));
    }
    plan.until = plan.default_until();
    plan.limits.patience = times(2_000 * n.max(5), bound);
    plan.limits.events = 20_000_000;
    plan.check_invariants = true;
    plan
}

/// Several calls by anybody, one at least by somebody who lives to see its end.
fn calls(stream: &mut Stream, plan: &Plan, span: Time) -> Vec<(ProcessId, Time)> {
    let members = plan.clients.members();
    let dies = |id: &ProcessId| {
        let crashes = plan.faults.crashes.iter().map(|crash| crash.process);
        crashes.chain(plan.faults.dead.iter().copied()).any(|dead| dead == *id)
    };
    let survivors: Vec<ProcessId> = members.iter().copied().filter(|id| !dies(id)).collect();
    let all_at_once = chance(stream, 20);
    let latest = if all_at_once { Time(1) } else { span };
    let is_up = |id: &ProcessId| !plan.faults.dead.contains(id);
    let up: Vec<ProcessId> = members.iter().copied().filter(is_up).collect();
    let any: Vec<_> = (0..stream.below(members.len() as u64 + 1))
        .map(|_| (one_of(stream, &up), before(stream, latest)))
        .collect();
    // Where all die at some time, they come back.
    let sure = one_of(stream, if survivors.is_empty() { &up } else { &survivors });
    any.into_iter().chain([(sure, before(stream, latest))]).collect()
}

/// It is safe to strike the coordinator from the list if it was dead long before all who call do:
/// it is, from the start, and they do so before they can have heard of another.
fn skip_dead(plan: &mut Plan) {
    let largest = plan.clients.members().iter().copied().max().unwrap();
    if plan.faults.dead.contains(&largest) {
        plan.timing.skip_dead = true;
        plan.calls.iter_mut().for_each(|(_, at)| *at = Time::ZERO);
    }
}

/// A pause is allowed anywhere: nobody can tell it from a slow network.
fn pause(stream: &mut Stream, plan: &mut Plan, span: Time) {
    let members = plan.clients.members().to_vec();
    if chance(stream, 40) {
        let count = 1 + stream.below(members.len().min(3) as u64) as usize;
        for process in some_of(stream, &members, count) {
            let from = before(stream, span);
            let until = from + Time(1) + before(stream, times(50, plan.network.typical()));
            plan.faults.pauses.push(Pause { process, from, until });
        }
    }
}

/// Some are dead, and others die, and stay dead. One at least lives on.
fn kill(stream: &mut Stream, plan: &mut Plan, span: Time) {
    let members = plan.clients.members().to_vec();
    let count = stream.below(members.len().min(7) as u64) as usize;
    let has_detector = plan.entry.name != "bully";
    let mut victims = some_of(stream, &members, count);
    // The largest ones are who matters.
    let largest = members.iter().copied().max();
    if let Some(first) = victims.first_mut().filter(|_| chance(stream, 50)) {
        *first = largest.unwrap();
    }
    let victims: BTreeSet<ProcessId> = victims.into_iter().collect();
    for process in victims {
        if !has_detector && chance(stream, 40) {
            plan.faults.dead.push(process);
        } else {
            plan.faults.crashes.push(Crash { process, at: before(stream, span) });
        }
    }
}

/// Anything, but in the end a majority is up, and all can talk. A store never fails.
fn storm(stream: &mut Stream, plan: &mut Plan, span: Time) {
    let members = plan.clients.members().to_vec();
    let bound = Time::of(plan.timing.bound);
    let faults = &mut plan.faults;
    let mut may_stay_down = (members.len() - 1) / 2;
    for &process in &members {
        let mut up_from = Time::ZERO;
        while chance(stream, 35) {
            let at = up_from + Time(1) + before(stream, span);
            faults.crashes.push(Crash { process, at });
            if may_stay_down > 0 && chance(stream, 30) {
                may_stay_down -= 1;
                break;
            }
            let away = one_of(stream, &[5, 80]);
            up_from = at + Time(1) + before(stream, times(away, bound));
            faults.returns.push(Return { process, at: up_from });
        }
        if chance(stream, 30) {
            let from = before(stream, span);
            let until = from + Time(1) + before(stream, times(90, bound));
            faults.pauses.push(Pause { process, from, until });
        }
        if plan.entry.name == "chubby" && chance(stream, 50) {
            let rate = 960 + stream.below(81);
            let drift = format!("{process}={}.{:03}", rate / 1000, rate % 1000);
            faults.drifts.push(read(&drift).unwrap());
        }
    }
    let everybody = plan.entry.view_of(&plan.clients).unwrap();
    for _ in 0..stream.below(4) {
        let is_left = |_: &ProcessId| chance(stream, 50);
        let (left, right): (Vec<_>, Vec<_>) =
            everybody.members().iter().copied().partition(is_left);
        if left.is_empty() || right.is_empty() {
            continue;
        }
        let from = before(stream, span);
        let until = from + Time(1) + before(stream, times(150, bound));
        let (one_way, crossing) = (chance(stream, 50), Crossing::Lost);
        faults.partitions.push(Partition { left, right, one_way, from, until, crossing });
    }
    let probability = |stream: &mut Stream| {
        let hundredths = if chance(stream, 50) { 0 } else { stream.below(21) };
        Probability::new(hundredths as f64 / 100.0).unwrap()
    };
    (faults.loss, faults.duplicate) = (probability(stream), probability(stream));
}

fn run(plan: Plan) -> Done {
    let view = plan.entry.view_of(&plan.clients).unwrap();
    plan.faults.check(&view).unwrap();
    plan.run(&mut |_| {}).unwrap()
}

/// Does all jobs, with as many threads as there are processors.
fn spread<T: Sync>(jobs: &[T], work: impl Fn(&T, u64) + Sync) {
    let next = AtomicU64::new(0);
    let total = jobs.len() as u64 * count();
    let worker = || {
        loop {
            let job = next.fetch_add(1, Relaxed);
            if job >= total {
                return;
            }
            work(&jobs[(job % jobs.len() as u64) as usize], job / jobs.len() as u64);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            worker.join().expect("a run failed; see above for the command that repeats it");
        }
    });
}

/// What was seen in all runs.
#[derive(Clone, Copy, Default, Debug)]
struct Sum {
    runs: u64,
    elections: u64,
    decisions: u64,
    terms: u64,
    answers: u64,
    faults: u64,
    messages: u64,
}

/// All that was promised was kept; and where somebody always leads again, somebody does.
fn judge(done: &Done, command: &str) -> Sum {
    let report = &done.outcome.report;
    let why = || conclave_workbench::sentence::reason(done);
    assert_eq!(report.verdict, Verdict::Ok, "{}; repeat it with: {command}", why());
    let elections = report.elections().unwrap();
    let has_upkeep = done.plan.entry.name.contains("repaired") || elections.per_term.terms() > 0;
    if has_upkeep || model(done.plan.entry) != Model::Synchronous {
        assert!(
            matches!(report.ending, Ending::Finished | Ending::Quiet),
            "{:?}; repeat it with: {command}",
            report.ending
        );
        assert!(!has_upkeep || report.ending == Ending::Finished, "repeat it with: {command}");
        let leader = elections.leader().map(|seat| report.crashed[seat.index()]);
        assert_eq!(leader, Some(None), "nobody leads; repeat it with: {command}");
    }
    Sum {
        runs: 1,
        elections: elections.turnaround.count(),
        decisions: elections.decisions,
        terms: elections.per_term.terms(),
        answers: elections.versions.counts().0 + elections.versions.counts().1,
        faults: report.faults,
        messages: report.bandwidth.delivered(),
    }
}

#[test]
fn no_seed_breaks_an_election() {
    let sums = Mutex::new(vec![Sum::default(); ELECTIONS.len()]);
    let chosen = || ELECTIONS.iter().copied().enumerate().filter(|(_, it)| is_chosen(it.name));
    let jobs: Vec<(usize, &'static Entry)> = chosen().collect();
    spread(&jobs, |&(number, entry), seed| {
        let plan = world(entry, seed);
        let command = lab::command(&plan);
        let seen = judge(&run(plan), &command);
        let sum = &mut sums.lock().unwrap()[number];
        sum.runs += seen.runs;
        sum.elections += seen.elections;
        sum.decisions += seen.decisions;
        sum.terms += seen.terms;
        sum.answers += seen.answers;
        sum.faults += seen.faults;
        sum.messages += seen.messages;
    });
    let sums = sums.into_inner().unwrap();
    for (number, entry) in chosen() {
        let sum = &sums[number];
        let Sum { runs, elections, decisions, terms, answers, faults, messages } = *sum;
        println!(
            "{}: {runs} runs, {elections} elections, {decisions} decisions, {terms} terms, \
             {answers} reads and writes, {faults} faults, {messages} messages",
            entry.name
        );
        assert_eq!(runs, count());
        assert!(decisions > runs && (elections >= runs / 2), "{}: {sum:?}", entry.name);
        if model(entry) == Model::Anything {
            assert!(terms > runs && faults > runs, "{}: {sum:?}", entry.name);
        }
    }
}

/// A detector in a synchronous system, for a short while. The dead stay dead.
fn watched(entry: &'static Entry, seed: u64) -> Plan {
    let stream = &mut Stream::new(seed, "world");
    let n = 2 + stream.below(5);
    let mut plan = Plan::new(entry, clients(stream, n));
    plan.seed = seed;
    plan.network = network(stream, seed, Model::Synchronous);
    let bound = plan.network.typical();
    plan.timing = Timing::of(bound.as_duration());
    if entry.name == "heartbeat" {
        // Also beats that follow each other faster than they travel.
        let beat = stream.between(Time(bound.0 / 4), times(10, bound));
        plan.timing.beat = (stream.below(2) == 0).then_some(beat.as_duration());
    }
    if chance(stream, 50) {
        plan.order = ChannelOrder::Any;
    }
    let beat = Time::of(plan.timing.beat());
    let victims = stream.below(n) as usize;
    for process in some_of(stream, plan.clients.members(), victims) {
        // Often just after a beat.
        let any = before(stream, times(6, beat));
        let at = if chance(stream, 30) { times(any.0 / beat.0, beat) } else { any };
        plan.faults.crashes.push(Crash { process, at });
    }
    plan.until = plan.faults.last_moment() + in_time(entry, &plan.timing) + Time(1);
    plan.check_invariants = true;
    plan
}

/// How long after a death all know: T + 2D, and 3T.
fn in_time(entry: &Entry, timing: &Timing) -> Time {
    Time::of(match entry.name {
        "heartbeat" => timing.beat() + 2 * timing.bound,
        _ => 3 * timing.beat(),
    })
}

#[test]
fn no_seed_lets_a_detector_err_where_there_is_a_bound() {
    let (noticed, exactly, messages) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    spread(DETECTORS, |entry, seed| {
        let plan = watched(entry, seed);
        let (command, limit) = (lab::command(&plan), in_time(entry, &plan.timing));
        let done = run(plan);
        let report = &done.outcome.report;
        assert_eq!(report.verdict, Verdict::Ok, "repeat it with: {command}");
        let times = &report.detection().unwrap().time_to_detect();
        let slowest = times.max().unwrap_or_default();
        assert!(slowest <= limit, "{slowest} ms; repeat it with: {command}");
        let is_worst = entry.name == "heartbeat" && slowest == limit;
        exactly.fetch_add(u64::from(is_worst), Relaxed);
        noticed.fetch_add(times.count(), Relaxed);
        messages.fetch_add(report.bandwidth.delivered(), Relaxed);
    });
    let [noticed, exactly, messages] = [noticed, exactly, messages].map(AtomicU64::into_inner);
    let runs = count() * DETECTORS.len() as u64;
    println!(
        "{runs} runs of {} detectors: {noticed} deaths noticed, by heartbeats after exactly \
         T + 2D in {exactly} runs, {messages} messages",
        DETECTORS.len()
    );
    assert!(noticed > runs && exactly > 0, "{noticed}, {exactly}");
}

/// One of three dies, where no time is a bound.
fn without_a_bound(seed: u64, believed: Duration, until: Time) -> Done {
    let mut plan = Plan::new(catalogue::find("heartbeat").unwrap(), View::dense(1, 3));
    plan.network = Network::Exponential { mean: Time::DELAY };
    plan.timing = Timing { beat: Some(Duration::from_millis(10)), ..Timing::of(believed) };
    plan.faults.crashes = vec![read("2@50ms").unwrap()];
    (plan.seed, plan.until) = (seed, until);
    run(plan)
}

#[test]
fn without_a_bound_the_heartbeat_errs_both_ways() {
    let (hasty, patient) = (Duration::from_millis(1), Duration::from_millis(60));
    let (early, late) = (Time::delays(100), Time::delays(200));
    let [mut wrong, mut missed, mut noticed] = [(0, 0); 3];
    for seed in 0..count() {
        let seen = |believed, until| {
            let report = without_a_bound(seed, believed, until).outcome.report;
            let detection = report.detection().unwrap();
            let slowest = detection.time_to_detect().max().unwrap_or_default();
            (detection.wrong(), detection.missed().count() as u64, slowest)
        };
        let (small, large) = (seen(hasty, early), seen(patient, early));
        wrong = (wrong.0 + small.0, wrong.1 + large.0);
        missed = (missed.0 + small.1, missed.1 + large.1);
        let (small, large) = (small.2, seen(patient, late).2);
        noticed = (noticed.0 + u64::from(small < large), noticed.1 + 1);
    }
    assert!(wrong.0 > count() && wrong.1 == 0, "suspected while alive: {wrong:?}");
    assert!(missed.0 == 0 && missed.1 == 2 * count(), "believed alive, though dead: {missed:?}");
    assert_eq!(noticed.0, noticed.1, "and noticed later");
}

fn any_world(entry: &'static Entry, seed: u64) -> Plan {
    match entry.family {
        Detectors::NAME => watched(entry, seed),
        _ => world(entry, seed),
    }
}

fn both() -> impl Iterator<Item = &'static Entry> {
    ELECTIONS.iter().chain(DETECTORS).copied()
}

#[test]
fn the_same_seed_gives_the_same_trace_byte_for_byte() {
    for entry in both() {
        for seed in 0..12 {
            let trace = || {
                let mut plan = any_world(entry, seed);
                plan.recording = Recording::Everything;
                let done = run(plan);
                (json::write(&done.trace()), done.outcome.report.fingerprint)
            };
            let (first, second) = (trace(), trace());
            assert!(first == second, "{} with seed {seed}", entry.name);
            let unrecorded = run(any_world(entry, seed)).outcome.report.fingerprint;
            assert_eq!(first.1, unrecorded, "a recorded run is the same run");
        }
    }
}

#[test]
fn the_command_of_a_run_repeats_it() {
    for entry in both() {
        for seed in 0..12 {
            let plan = any_world(entry, seed);
            let command = lab::command(&plan).replace('\'', "");
            let Command::Lab(lab::Command::Run(args)) = Cli::parse_from(command.split(' ')).command
            else {
                panic!("{command}");
            };
            let again = plan_of(&args).unwrap();
            let hash = |plan: Plan| run(plan).outcome.report.fingerprint;
            assert_eq!(hash(again), hash(plan), "{command}");
        }
    }
}

/// As for the locks: if this changes, recorded seeds are worth nothing any more.
#[test]
fn a_known_seed_still_gives_the_run_it_always_gave() {
    let known: Vec<String> = both()
        .map(|entry| {
            let mut plan = any_world(entry, 11);
            // How long it goes on after the last fault is no matter of the seed.
            if !entry.is_of::<Detectors>() {
                plan.until = plan.faults.last_moment();
            }
            let hash = run(plan).outcome.report.fingerprint;
            format!("{} {hash:016x}", entry.name)
        })
        .collect();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/known/seeds_of_elections.txt");
    known::lines(file, &known);
}
