//! Detectors in synchronous systems, at random: no live process is ever suspected, and every dead
//! one is in time.

#![allow(clippy::cast_possible_truncation, reason = "what is drawn is small")]

use std::collections::BTreeMap;
use std::time::Duration;

use conclave_algorithms::catalogue::Timing;
use conclave_algorithms::detector::{Heartbeat, Phi, heartbeat, phi};
use conclave_core::detector::Detector;
use conclave_core::{ProcessId, Seat, View};
use conclave_observe::family::detectors::Seen;
use conclave_observe::{Event, Time, What};
use conclave_sim::{
    ChannelOrder, Crash, DetectorApplication, FaultPlan, Network, Recording, Return, Setup, Stream,
    simulate,
};

/// A system, and what goes wrong in it.
struct Run {
    view: View,
    network: Network,
    order: ChannelOrder,
    faults: FaultPlan,
    seed: u64,
    until: Time,
}

impl Run {
    fn events<P: Detector>(&self, config: &P::Config) -> Vec<Event> {
        let configs = vec![config.clone(); self.view.len()];
        let setup = Setup::<P> {
            network: self.network,
            order: self.order,
            faults: &self.faults,
            seed: self.seed,
            recording: Recording::Everything,
            check_invariants: true,
            ..Setup::new(&self.view, &configs)
        };
        let outcome = simulate(&setup, DetectorApplication::new(self.until), &mut |_| {});
        outcome.records.into_iter().map(|record| record.event).collect()
    }
}

/// Holds a run in which the dead stay dead to what was promised.
fn judge(events: &[Event], members: usize, until: Time, in_time: Time) -> usize {
    let mut crashed = BTreeMap::new();
    let mut suspected = BTreeMap::new();
    for event in events {
        match Seen::of(event.what) {
            Seen::Crashed => drop(crashed.insert(event.seat, event.at)),
            Seen::Suspected { whom } => {
                let by = event.seat;
                assert!(crashed.contains_key(&whom), "{by:?} suspects the living {whom:?}");
                assert_eq!(suspected.insert((by, whom), event.at), None, "suspected twice");
            }
            Seen::Trusted { whom } => panic!("{whom:?} was dead"),
            _ => {}
        }
    }
    for (&dead, &at) in &crashed {
        for other in (0..members).map(Seat::at) {
            let limit = at + in_time;
            let lives_to_see_it = crashed.get(&other).is_none_or(|&at| at > limit);
            if other != dead && lives_to_see_it && limit <= until {
                let noticed = suspected.get(&(other, dead)).copied();
                assert!(
                    noticed.is_some_and(|noticed| noticed <= limit),
                    "{dead:?} died at {at}, and {other:?} suspects it at {noticed:?}"
                );
            }
        }
    }
    suspected.len()
}

/// Any system of up to seven whose messages take up to `bound`, with up to all but one crash.
fn draw(stream: &mut Stream, seed: u64, beat: Time, bound: Time) -> Run {
    let n = 2 + stream.below(6);
    let until = Time(20 * (beat + bound).0);
    let mut victims: Vec<u64> = (1..=n).collect();
    let mut crashes = Vec::new();
    for _ in 0..=stream.below(n - 1) {
        let victim = victims.swap_remove(stream.below(victims.len() as u64) as usize);
        let at = stream.between(Time::ZERO, Time(until.0 / 2));
        crashes.push(Crash { process: ProcessId(victim as u32), at });
    }
    Run {
        view: View::dense(1, n as u32),
        network: Network::Sync { bound },
        order: if stream.below(2) == 0 { ChannelOrder::Fifo } else { ChannelOrder::Any },
        faults: FaultPlan { crashes, ..FaultPlan::NONE },
        seed,
        until,
    }
}

#[test]
fn the_heartbeat_suspects_no_live_one_and_every_dead_one_within_t_plus_2d() {
    let mut suspicions = 0;
    for seed in 0..400 {
        let mut stream = Stream::new(seed, "test");
        let bound = stream.between(Time(1_000), Time(5_000_000));
        // Also beats that follow each other faster than they travel.
        let beat = stream.between(Time(bound.0 / 4), Time(10 * bound.0));
        let run = draw(&mut stream, seed, beat, bound);
        let config = heartbeat::Config { beat: beat.as_duration(), bound: bound.as_duration() };
        let events = run.events::<Heartbeat>(&config);
        let in_time = beat + bound + bound;
        suspicions += judge(&events, run.view.len(), run.until, in_time);
    }
    assert!(suspicions > 1_000, "{suspicions}");
}

#[test]
fn phi_suspects_no_live_one_where_delays_vary_by_a_tenth_of_t_and_every_dead_one_within_3_t() {
    let mut suspicions = 0;
    for seed in 0..200 {
        let mut stream = Stream::new(seed, "test");
        let bound = stream.between(Time(1_000), Time(5_000_000));
        let timing = Timing::of(bound.as_duration());
        let beat = Time::of(timing.beat());
        let run = draw(&mut stream, seed, beat, bound);
        let events = run.events::<Phi>(&phi::Config::new(&timing));
        suspicions += judge(&events, run.view.len(), run.until, Time(3 * beat.0));
    }
    assert!(suspicions > 500, "{suspicions}");
}

const T: Time = Time::delays(10);
const CONFIG: heartbeat::Config =
    heartbeat::Config { beat: Duration::from_millis(10), bound: Duration::from_millis(1) };

fn suspicions(events: &[Event]) -> Vec<(u64, u32, What)> {
    let is_word = |what| matches!(Seen::of(what), Seen::Suspected { .. } | Seen::Trusted { .. });
    let words = events.iter().filter(|event| is_word(event.what));
    words.map(|event| (event.at.0 / Time::DELAY.0, event.seat.0, event.what)).collect()
}

#[test]
fn a_crash_right_after_a_beat_is_noticed_after_exactly_t_plus_2d() {
    let crashes = vec![Crash { process: ProcessId(1), at: Time::ZERO }];
    let run = Run {
        view: View::dense(1, 3),
        network: Network::Unit,
        order: ChannelOrder::Fifo,
        faults: FaultPlan { crashes, ..FaultPlan::NONE },
        seed: 1,
        until: Time(5 * T.0),
    };
    let word = Seen::Suspected { whom: Seat(0) }.what();
    assert_eq!(suspicions(&run.events::<Heartbeat>(&CONFIG)), [(12, 1, word), (12, 2, word)]);
}

#[test]
fn whoever_comes_back_is_trusted_again_and_learns_who_died_meanwhile() {
    let crash = |process, at| Crash { process: ProcessId(process), at: Time::delays(at) };
    let back = Return { process: ProcessId(1), at: Time::delays(35) };
    let run = Run {
        view: View::dense(1, 3),
        network: Network::Unit,
        order: ChannelOrder::Fifo,
        faults: FaultPlan {
            crashes: vec![crash(1, 5), crash(2, 25)],
            returns: vec![back],
            ..FaultPlan::NONE
        },
        seed: 1,
        until: Time::delays(80),
    };
    let events = run.events::<Heartbeat>(&CONFIG);
    let (suspects, trusts) = (
        |whom| Seen::Suspected { whom: Seat(whom) }.what(),
        |whom| Seen::Trusted { whom: Seat(whom) }.what(),
    );
    let expected = [
        (12, 1, suspects(0)),
        (12, 2, suspects(0)),
        (32, 2, suspects(1)),
        (36, 2, trusts(0)),
        (46, 0, suspects(1)),
    ];
    assert_eq!(suspicions(&events), expected);
}
