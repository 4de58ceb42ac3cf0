//! The repaired ring election in synchronous systems, at random: whoever dies and comes back, all
//! who take part decide, and in the end all who live follow the largest of them.

#![allow(clippy::cast_possible_truncation, reason = "what is drawn is small")]

use std::collections::BTreeMap;

use conclave_algorithms::catalogue::{self, Timing};
use conclave_algorithms::detector::heartbeat;
use conclave_algorithms::election::ChangRobertsRepaired;
use conclave_core::election::{Command, Elections, Notice};
use conclave_core::{ProcessId, Seat, View};
use conclave_observe::family::elections::Seen;
use conclave_observe::{Ending, Event, Time, Verdict};
use conclave_sim::{
    Application, Crash, Desk, FaultPlan, Network, Recording, Return, Setup, Stream, simulate,
};

/// Calls elections at these times, and is done at the last.
struct Calling {
    calls: Vec<(Seat, Time)>,
    until: Time,
}

impl Application<Elections> for Calling {
    fn begin(&mut self, desk: &mut Desk<Command>) {
        for &(seat, at) in &self.calls {
            desk.order(seat, Command::Call, at);
        }
    }
    fn on_notice(&mut self, _: Seat, _: &Notice, _: &mut Desk<Command>) {}
    fn on_crash(&mut self, _: Seat) {}
    fn on_return(&mut self, _: Seat, _: &mut Desk<Command>) {}
    fn awaits_quiet(&self) -> bool {
        false
    }
    fn on_quiet(&mut self, _: &mut Desk<Command>) {}
    fn is_done(&self, next: Time) -> bool {
        next > self.until
    }
}

/// What one process was told last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    Electing,
    Follows(Seat),
}

/// What the live ones were told last, by seat.
fn play(events: &[Event], members: usize) -> BTreeMap<Seat, State> {
    let mut states: BTreeMap<Seat, State> =
        (0..members).map(|seat| (Seat::at(seat), State::Idle)).collect();
    for event in events {
        let before = states.get(&event.seat).copied();
        let state = match Seen::of(event.what) {
            Seen::Crashed => {
                states.remove(&event.seat);
                continue;
            }
            Seen::Returned => State::Idle,
            Seen::Electing => {
                assert_ne!(before, Some(State::Electing), "it is told once: {event:?}");
                State::Electing
            }
            Seen::Elected { leader, .. } => {
                assert_ne!(before, Some(State::Follows(leader)), "that is no news: {event:?}");
                State::Follows(leader)
            }
            _ => continue,
        };
        states.insert(event.seat, state);
    }
    states
}

/// A ring of up to seven in any order, with up to all but one crash; whether they come back.
fn check(seed: u64, with_returns: bool) -> bool {
    let mut stream = Stream::new(seed, "test");
    let n = 2 + stream.below(6);
    let bound = stream.between(Time(1_000), Time(3_000_000));
    let span = Time(bound.0 * [5, 40, 200][stream.below(3) as usize]);
    let mut ids: Vec<u32> = (1..=n as u32).collect();
    let mut ring = Vec::new();
    while !ids.is_empty() {
        ring.push(ProcessId(ids.swap_remove(stream.below(ids.len() as u64) as usize)));
    }
    let view = View::new(ring).unwrap();

    let mut faults = FaultPlan::NONE;
    let mut victims = view.members().to_vec();
    for _ in 0..=stream.below(n - 1) {
        let process = victims.swap_remove(stream.below(victims.len() as u64) as usize);
        let at = stream.between(Time::ZERO, span);
        faults.crashes.push(Crash { process, at });
        if with_returns {
            let away = [1, 10, 100][stream.below(3) as usize] * bound.0;
            let back = at + stream.between(Time(1), Time(away));
            faults.returns.push(Return { process, at: back });
            if stream.below(3) == 0 {
                let at = back + stream.between(Time(1), Time(20 * bound.0));
                faults.crashes.push(Crash { process, at });
            }
        }
    }
    let calls = (0..=stream.below(4))
        .map(|_| {
            let at = stream.between(Time::ZERO, span);
            (Seat::at(stream.below(n) as usize), at)
        })
        .collect();

    let timing = Timing::of(bound.as_duration());
    let configs = vec![((), heartbeat::Config::new(&timing)); view.len()];
    // One that comes back can be suspected for its death, and a smaller one lead for a while: what
    // counts then is how it ends.
    let promises = match with_returns {
        true => Setup::<ChangRobertsRepaired>::new(&view, &configs).promises,
        false => catalogue::find("chang-roberts-repaired").unwrap().promises,
    };
    let setup = Setup::<ChangRobertsRepaired> {
        network: Network::Sync { bound },
        faults: &faults,
        seed,
        recording: Recording::Everything,
        check_invariants: true,
        promises,
        ..Setup::new(&view, &configs)
    };
    let until = Time(span.0 + 400 * bound.0);
    let outcome = simulate(&setup, Calling { calls, until }, &mut |_| {});
    let events: Vec<Event> = outcome.records.iter().map(|record| record.event).collect();
    let (ending, verdict) = (outcome.report.ending, outcome.report.verdict);
    assert_eq!(
        (ending, verdict),
        (Ending::Finished, Verdict::Ok),
        "seed {seed}: {view:?} {faults:?}"
    );

    let states = play(&events, view.len());
    let largest = states.keys().copied().max_by_key(|&seat| view.at(seat)).unwrap();
    let all = |state| states.values().all(|&it| it == state);
    let was_called = !all(State::Idle);
    assert!(
        !was_called || all(State::Follows(largest)),
        "seed {seed}: {view:?} {faults:?}, and in the end {states:?}"
    );
    was_called
}

#[test]
fn whoever_dies_the_others_follow_the_largest_of_them() {
    let called = (0..1_500).filter(|&seed| check(seed, false)).count();
    assert!(called > 1_000, "{called}");
}

#[test]
fn whoever_comes_back_takes_part_again() {
    let called = (0..1_500).filter(|&seed| check(seed, true)).count();
    assert_eq!(called, 1_500, "one that comes back calls an election");
}
