//! The composition of central server, bully and detector, hammered: random crashes at random times
//! in synchronous networks. Never two holders, fences grow, and everybody who lives is served. And
//! what becomes of it without synchrony: two coordinators, and two holders.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use conclave_algorithms::catalogue::Timing;
use conclave_algorithms::detector::heartbeat;
use conclave_algorithms::election::bully;
use conclave_algorithms::mutex::{CentralElectedByHeartbeat, central_elected};
use conclave_core::mutex::Opening;
use conclave_core::{ProcessId, Seat, View};
use conclave_observe::family::locks::Seen;
use conclave_observe::trace::Record;
use conclave_observe::{JudgeOrdering, Time, Verdict, What};
use conclave_sim::{
    ChannelOrder, Crash, FaultPlan, Limits, MutexApplication, Network, Outcome, Pause, Recording,
    Return, Setup, Stream, Workload, simulate,
};

/// One run, all of which follows from its seed.
#[derive(Debug)]
struct Run {
    seed: u64,
    view: View,
    network: Network,
    order: ChannelOrder,
    /// D, as the members believe.
    bound: Time,
    skip_dead: bool,
    faults: FaultPlan,
    workload: Workload,
    hold: Time,
    holder: Option<ProcessId>,
    entries: u64,
}

const D: Time = Time(1_000_000);

fn pick(stream: &mut Stream, count: u64) -> u64 {
    stream.below(count)
}

fn choose<T: Copy, const K: usize>(stream: &mut Stream, of: [T; K]) -> T {
    of[usize::try_from(stream.below(K as u64)).unwrap()]
}

fn time(stream: &mut Stream, up_to: u64) -> Time {
    stream.between(Time(0), Time(up_to * D.0))
}

impl Run {
    /// Crashes and, if wanted, returns, of all but one.
    fn random(seed: u64, returns: bool) -> Self {
        let mut stream = Stream::new(seed, "central-elected");
        let stream = &mut stream;
        let n = 1 + pick(stream, 7);
        let view = View::dense(1, u32::try_from(n).unwrap());
        let survivor = view.members()[usize::try_from(pick(stream, n)).unwrap()];
        let mut faults = FaultPlan::NONE;
        // Many at once, or far apart, or one into the repair of another.
        let spread = choose(stream, [4, 30, 60, 300]);
        for process in view.others(survivor) {
            if pick(stream, 3) == 0 {
                continue;
            }
            let mut at = match pick(stream, 8) {
                0 => Time::ZERO,
                1 | 2 => Time(D.0 * pick(stream, spread)),
                _ => time(stream, spread),
            };
            faults.crashes.push(Crash { process, at });
            let mut lives = pick(stream, 3);
            while returns && lives > 0 {
                let away = choose(stream, [2, 20, 60]);
                at = at + Time(1) + time(stream, away);
                faults.returns.push(Return { process, at });
                lives -= 1;
                if pick(stream, 2) == 0 {
                    break;
                }
                at = at + Time(1) + time(stream, spread);
                faults.crashes.push(Crash { process, at });
            }
        }
        Self {
            seed,
            network: match pick(stream, 5) {
                0 => Network::Unit,
                1 => Network::Uniform { low: Time(1), high: Time(D.0 / 50) },
                2 => Network::Uniform { low: Time(D.0 / 10 * 9), high: D },
                _ => Network::Sync { bound: D },
            },
            order: match pick(stream, 2) {
                0 => ChannelOrder::Fifo,
                _ => ChannelOrder::Any,
            },
            bound: D,
            skip_dead: pick(stream, 4) == 0,
            workload: match pick(stream, 3) {
                0 => Workload::Contend,
                1 => Workload::Think { mean: Time(5 * D.0) },
                _ => Workload::Think { mean: Time(50 * D.0) },
            },
            hold: choose(stream, [Time(1), D, Time(7 * D.0), Time(40 * D.0)]),
            holder: (pick(stream, 4) == 0).then_some(survivor),
            entries: n * (1 + pick(stream, 12)),
            view,
            faults,
        }
    }

    fn go(&self, recording: Recording) -> Outcome {
        self.faults.check(&self.view).unwrap();
        let bound = Duration::from_nanos(self.bound.0);
        let timing = Timing { skip_dead: self.skip_dead, ..Timing::of(bound) };
        let config = (bully::Config::new(&timing), heartbeat::Config::new(&timing));
        let configs = vec![config; self.view.len()];
        let opening = Opening { holder: self.holder, ..Opening::default() };
        let setup = Setup::<CentralElectedByHeartbeat> {
            network: self.network,
            order: self.order,
            faults: &self.faults,
            openings: &vec![opening; self.view.len()],
            seed: self.seed,
            limits: Limits {
                events: 3_000_000,
                time: Time(1_000_000 * D.0),
                patience: Time(1_000 * D.0),
            },
            ordering: JudgeOrdering::No,
            recording,
            check_invariants: true,
            ..Setup::new(&self.view, &configs)
        };
        let application = MutexApplication::new(
            self.workload.clone(),
            &self.view,
            (0..self.view.len()).map(Seat::at).collect(),
            self.entries,
            self.hold,
            self.holder,
            self.seed,
        );
        simulate(&setup, application, &mut |_| {})
    }
}

fn hammer(seeds: std::ops::Range<u64>, returns: bool) {
    let (mut entries, mut crashes) = (0, 0);
    for seed in seeds.clone() {
        let run = Run::random(seed, returns);
        let outcome = run.go(Recording::Nothing);
        let verdict = outcome.report.verdict;
        assert_eq!(verdict, Verdict::Ok, "{run:#?}\n{:?}", outcome.diagnosis);
        entries += outcome.report.locks().unwrap().delays.entries();
        crashes += outcome.faults.iter().map(|fault| fault.count).sum::<u64>();
    }
    let runs = seeds.end - seeds.start;
    assert!(entries > 5 * runs && crashes > runs, "{entries} entries, {crashes} faults");
}

fn runs(usual: u64) -> u64 {
    std::env::var("CONCLAVE_RUNS").ok().and_then(|it| it.parse().ok()).unwrap_or(usual)
}

#[test]
fn whoever_crashes_whenever_one_at_a_time_is_inside_and_all_who_live_are_served() {
    hammer(0..runs(2_000), false);
}

#[test]
fn whoever_comes_back_whenever_the_same_holds() {
    hammer(1_000_000..1_000_000 + runs(2_000), true);
}

/// The first two who were inside at once by grants of two who both led, each with who granted: the
/// one that was inside first, and the one that came in beside it. Who is told of another leader, or
/// takes part in another's census, leads no more.
fn two_by_two_leaders(
    outcome: &Outcome,
    largest: ProcessId,
) -> Option<[(ProcessId, ProcessId); 2]> {
    let id = |seat: Seat| ProcessId(1 + seat.0);
    let is_grant = |kind| central_elected::ENTRY.kinds[usize::from(kind)].name == "grant";
    // By whom each was granted last, and who is inside by whose grant.
    let (mut granted, mut inside) = (BTreeMap::new(), BTreeMap::new());
    let mut leaders = BTreeSet::from([largest]);
    for Record { event, rules, .. } in &outcome.records {
        let me = id(event.seat);
        for rule in rules {
            if rule.contains("leads, and says so") {
                leaders.insert(me);
            } else if rule == "is told who leads" || rule.starts_with("takes part in the census") {
                leaders.remove(&me);
            }
        }
        match event.what {
            What::Received { from, kind, .. } if is_grant(kind) => {
                granted.insert(me, id(from));
            }
            what if matches!(Seen::of(what), Seen::Entered { .. }) => {
                let by = granted[&me];
                let is_rival = |its: &ProcessId| *its != by && leaders.contains(its);
                let rival = inside.iter().find(|(_, its)| is_rival(its));
                if let Some((&first, &its)) = rival.filter(|_| leaders.contains(&by)) {
                    return Some([(first, its), (me, by)]);
                }
                inside.insert(me, by);
            }
            what if Seen::of(what) == Seen::Left => drop(inside.remove(&me)),
            _ => {}
        }
    }
    None
}

/// The detector takes a process for dead that is merely slow. If that one was inside, the office
/// forgets it; if it coordinates, there are two offices.
#[test]
fn without_synchrony_two_are_inside_at_once_by_one_coordinator_or_by_two() {
    let (mut by_one, mut by_two) = (0, 0);
    for seed in 0..200 {
        let mut run = Run { faults: FaultPlan::NONE, holder: None, ..Run::random(seed, false) };
        run.workload = Workload::Contend;
        run.view = View::dense(1, 3);
        run.entries = 30;
        // For long, so that somebody is inside and slow; or so briefly that all get in meanwhile.
        run.hold = if seed % 2 == 0 { Time(20 * D.0) } else { D };
        let (from, until) = (Time(45 * D.0), Time(85 * D.0));
        let process = ProcessId(1 + u32::try_from(seed % 3).unwrap());
        run.faults.pauses.push(Pause { process, from, until });
        let outcome = run.go(Recording::Everything);
        if outcome.report.verdict == Verdict::Violated {
            let is_by_two = two_by_two_leaders(&outcome, ProcessId(3)).is_some();
            *(if is_by_two { &mut by_two } else { &mut by_one }) += 1;
        }
    }
    assert!(by_one > 0 && by_two > 0, "{by_one} by one coordinator, {by_two} by two");
}

/// Three contend, and nobody dies: the runs of the page.
fn contending(hold: Time, seed: u64) -> Run {
    Run {
        seed,
        view: View::dense(1, 3),
        network: Network::Unit,
        order: ChannelOrder::Fifo,
        bound: D,
        skip_dead: false,
        faults: FaultPlan::NONE,
        workload: Workload::Contend,
        hold,
        holder: None,
        entries: 12,
    }
}

#[test]
fn a_coordinator_that_sleeps_and_the_one_elected_meanwhile_each_let_one_in() {
    let mut run = contending(D, 1);
    let (from, until) = (Time(8 * D.0), Time(23 * D.0));
    run.faults.pauses.push(Pause { process: ProcessId(3), from, until });
    let outcome = run.go(Recording::Everything);
    assert_eq!(outcome.report.verdict, Verdict::Violated);
    // 2 is inside by its own grant, and 3 by its own.
    let [two, three] = [2, 3].map(ProcessId);
    let found = two_by_two_leaders(&outcome, three);
    assert_eq!(found, Some([(two, two), (three, three)]));
    // One that sleeps for less is not missed.
    run.faults.pauses[0].until = Time(11 * D.0);
    assert_eq!(run.go(Recording::Nothing).report.verdict, Verdict::Ok);
}

#[test]
fn where_messages_take_any_time_two_coordinators_each_let_one_in() {
    let bound = Time(5 * D.0);
    let mut run = Run { bound, ..contending(Time(30 * D.0), 108) };
    run.network = Network::Exponential { mean: bound };
    let outcome = run.go(Recording::Everything);
    assert_eq!(outcome.report.verdict, Verdict::Violated);
    // 1 is inside by a grant of 3, and 2 by its own.
    let [one, two, three] = [1, 2, 3].map(ProcessId);
    let found = two_by_two_leaders(&outcome, three);
    assert_eq!(found, Some([(one, three), (two, two)]));
    // The same, where no message takes longer than all believe.
    run.network = Network::Sync { bound };
    assert_eq!(run.go(Recording::Nothing).report.verdict, Verdict::Ok);
}
