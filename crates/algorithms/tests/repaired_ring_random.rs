//! The repaired token ring in synchronous systems, at random: whoever dies and comes back, there
//! are never two holders, everybody who lives is served, and fences grow.

#![allow(clippy::cast_possible_truncation, reason = "what is drawn is small")]

use conclave_algorithms::catalogue::Timing;
use conclave_algorithms::detector::{Heartbeat, With, heartbeat, with};
use conclave_algorithms::mutex::token_ring_repaired::{self, Message, Repaired};
use conclave_core::mutex::Mutex;
use conclave_core::{Input, ProcessId, Seat, View};
use conclave_observe::{Time, Verdict};
use conclave_sim::{
    ChannelOrder, Crash, FaultPlan, Limits, MutexApplication, Network, Outcome, Return, Setup,
    Stream, Workload, simulate,
};
use conclave_testkit::mutant::{Hands, Mutant, Tamper, loses, says};

type Ring = With<Repaired, Heartbeat>;

/// A system, and what goes wrong in it.
struct Run {
    n: u32,
    bound: Time,
    order: ChannelOrder,
    workload: Workload,
    /// How long the lock is held: less than a repair takes, or more.
    hold: Time,
    faults: FaultPlan,
    seed: u64,
}

/// Any system of up to seven in which up to all but one die.
fn draw(seed: u64) -> Run {
    let mut stream = Stream::new(seed, "test");
    let n = 2 + stream.below(6);
    let bound = stream.between(Time(1_000), Time(3_000_000));
    // Far apart, or so close that one dies while the death of another is repaired.
    let span = Time(bound.0 * [5, 40, 200][stream.below(3) as usize]);
    let mut victims: Vec<u64> = (1..=n).collect();
    let mut crashes = Vec::new();
    for _ in 0..=stream.below(n - 1) {
        let victim = victims.swap_remove(stream.below(victims.len() as u64) as usize);
        let at = stream.between(Time::ZERO, span);
        crashes.push(Crash { process: ProcessId(victim as u32), at });
    }
    let workload = match stream.below(2) {
        0 => Workload::Contend,
        _ => Workload::Think { mean: Time(bound.0 * 5) },
    };
    Run {
        n: n as u32,
        bound,
        order: if stream.below(2) == 0 { ChannelOrder::Fifo } else { ChannelOrder::Any },
        workload,
        hold: Time(1 + bound.0 * stream.below(20)),
        faults: FaultPlan { crashes, ..FaultPlan::NONE },
        seed,
    }
}

/// As that, and everybody who dies comes back, soon or late; some die again.
fn draw_with_returns(seed: u64) -> Run {
    let mut run = draw(seed);
    let mut stream = Stream::new(seed, "returns");
    let mut again = Vec::new();
    for &Crash { process, at } in &run.faults.crashes {
        let away = [1, 10, 100][stream.below(3) as usize] * run.bound.0;
        let back = at + stream.between(Time(1), Time(away));
        run.faults.returns.push(Return { process, at: back });
        if stream.below(3) == 0 {
            let at = back + stream.between(Time(1), Time(20 * run.bound.0));
            again.push(Crash { process, at });
        }
    }
    run.faults.crashes.extend(again);
    run
}

impl Run {
    fn simulate<P: Mutex>(&self, config: &P::Config) -> Outcome {
        let view = View::dense(1, self.n);
        let configs = vec![config.clone(); view.len()];
        let setup = Setup::<P> {
            network: Network::Sync { bound: self.bound },
            order: self.order,
            faults: &self.faults,
            seed: self.seed,
            limits: Limits {
                events: 2_000_000,
                time: Time(self.bound.0 * 1_000_000),
                patience: Time(self.bound.0 * 2_000),
            },
            check_invariants: true,
            ..Setup::new(&view, &configs)
        };
        let clients = (0..self.n).map(Seat).collect();
        let workload = self.workload.clone();
        let entries = 30 * u64::from(self.n);
        let application =
            MutexApplication::new(workload, &view, clients, entries, self.hold, None, self.seed);
        simulate(&setup, application, &mut |_| {})
    }

    fn config(&self) -> (token_ring_repaired::Config, heartbeat::Config) {
        let timing = Timing::of(self.bound.as_duration());
        (token_ring_repaired::Config::new(&timing), heartbeat::Config::new(&timing))
    }
}

fn holds(draw: impl Fn(u64) -> Run, seeds: u64) {
    for seed in 0..seeds {
        let run = draw(seed);
        let outcome = run.simulate::<Ring>(&run.config());
        let (verdict, why) = (outcome.report.verdict, &outcome.diagnosis);
        assert_eq!(verdict, Verdict::Ok, "seed {seed}: {why:?} {:?}", run.faults);
    }
}

#[test]
fn whoever_dies_the_others_are_served_one_at_a_time() {
    holds(draw, 3_000);
}

#[test]
fn whoever_dies_and_comes_back_is_served_with_the_others_one_at_a_time() {
    holds(draw_with_returns, 1_500);
}

/// What comes of it if everybody is in such hands, in some of the runs in which the dead stay dead.
fn verdicts_of(tamper: impl Tamper<Ring> + 'static) -> Vec<Verdict> {
    fn of<T: Tamper<Ring> + 'static>(tamper: &Hands<T>, run: &Run) -> Verdict {
        let config = (run.config(), tamper.clone());
        run.simulate::<Mutant<Ring, Hands<T>>>(&config).report.verdict
    }
    let tamper = Hands(tamper);
    (0..300).map(|seed| of(&tamper, &draw(seed))).collect()
}

#[test]
fn if_who_is_in_does_not_say_so_there_are_two_holders() {
    let denies = |message: &mut with::Message<_, _>| {
        if let with::Message::Protocol(Message::Tell { holds, .. }) = message {
            *holds = false;
        }
    };
    assert!(verdicts_of(says::<Ring>(denies)).contains(&Verdict::Violated));
    assert!(!verdicts_of(says::<Ring>(|_| {})).contains(&Verdict::Violated));
}

#[test]
fn if_nobody_answers_a_census_everybody_waits() {
    let says_nothing = |_: &Input<Ring>, _, message: &with::Message<_, _>| {
        matches!(message, with::Message::Protocol(Message::Tell { .. }))
    };
    assert!(verdicts_of(loses::<Ring>(says_nothing)).contains(&Verdict::Stalled));
}
