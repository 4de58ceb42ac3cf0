//! The composition of central server, bully and detector, hammered: random crashes at random times
//! in synchronous networks. Never two holders, fences grow, and everybody who lives is served.

use std::time::Duration;

use conclave_algorithms::catalogue::Timing;
use conclave_algorithms::detector::heartbeat;
use conclave_algorithms::election::bully;
use conclave_algorithms::mutex::CentralElectedByHeartbeat;
use conclave_core::{ProcessId, Seat, View};
use conclave_observe::{JudgeOrdering, Time, Verdict};
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
        let setup = Setup::<CentralElectedByHeartbeat> {
            network: self.network,
            order: self.order,
            faults: &self.faults,
            holder: self.holder,
            seed: self.seed,
            limits: Limits {
                events: 3_000_000,
                time: Time(1_000_000 * D.0),
                patience: Time(1_000 * D.0),
            },
            ordering: JudgeOrdering::No,
            recording,
            check_invariants: true,
            ..Setup::new(&self.view, &config)
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
        entries += outcome.report.delays.entries();
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

/// The detector takes a process for dead that is merely slow.
#[test]
fn without_synchrony_two_are_inside_at_once() {
    let mut violated = 0;
    for seed in 0..200 {
        let mut run = Run { faults: FaultPlan::NONE, holder: None, ..Run::random(seed, false) };
        run.workload = Workload::Contend;
        run.view = View::dense(1, 3);
        run.entries = 30;
        run.hold = Time(20 * D.0);
        let (from, until) = (Time(45 * D.0), Time(85 * D.0));
        let process = ProcessId(1 + u32::try_from(seed % 3).unwrap());
        run.faults.pauses.push(Pause { process, from, until });
        violated += u32::from(run.go(Recording::Nothing).report.verdict == Verdict::Violated);
    }
    assert!(violated > 0, "a pause that is longer than the detector waits");
}
