//! Who calls elections, and who asks leaders for something.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::election::{Command, Elections, Notice};
use conclave_core::{ProcessId, Seat, View};
use conclave_observe::Time;

use crate::seed::Stream;
use crate::{Application, Desk};

/// The application of every election algorithm: it calls elections, perhaps reads and writes what
/// leaders keep, and is done when all that are up were told of one leader that is up.
#[derive(Debug)]
pub struct ElectionApplication {
    view: View,
    calls: Vec<Call>,
    /// It goes on at least until then.
    until: Time,
    /// The mean time between what one process asks of the leader's value; `None` if nothing.
    asks_every: Option<Time>,
    stream: Stream,
    /// What is known of each process, by seat.
    places: Vec<Candidate>,
    /// Who counts: a store is no candidate.
    candidates: Vec<Seat>,
    /// The next value to be written: each is written once.
    value: u64,
}

/// A call of an election.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The process that calls, by seat.
    pub seat: Seat,
    /// When it calls.
    pub at: Time,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Candidate {
    is_up: bool,
    leader: Option<ProcessId>,
    takes_part: bool,
}

/// How long it waits for somebody to begin an election.
const PATIENCE: Time = Time::delays(10_000);

impl ElectionApplication {
    /// These calls, by `candidates` out of the view; it goes on at least `until` then.
    pub fn new(
        view: &View,
        candidates: Vec<Seat>,
        calls: Vec<Call>,
        until: Time,
        seed: u64,
    ) -> Self {
        Self {
            view: view.clone(),
            calls,
            until,
            asks_every: None,
            stream: Stream::new(seed, "workload"),
            places: vec![Candidate { is_up: true, leader: None, takes_part: false }; view.len()],
            candidates,
            value: 0,
        }
    }

    /// And every process reads or writes what leaders keep, with that mean time in between.
    #[must_use]
    pub fn asking_every(self, mean: Time) -> Self {
        Self { asks_every: Some(mean), ..self }
    }

    fn ask_later(&mut self, seat: Seat, desk: &mut Desk<Command>) {
        let Some(mean) = self.asks_every else { return };
        if !self.candidates.contains(&seat) {
            return;
        }
        let after = self.stream.exponential(mean);
        let command = if self.stream.below(2) == 0 {
            Command::Read
        } else {
            self.value += 1;
            Command::Write(self.value)
        };
        desk.order(seat, command, after);
    }

    /// Whether nobody who is up knows of a leader, or of an election.
    fn nobody_takes_part(&self) -> bool {
        let places = self.candidates.iter().map(|seat| self.places[seat.index()]);
        places.filter(|place| place.is_up).all(|place| place.leader.is_none() && !place.takes_part)
    }

    /// Whether all candidates that are up were told of the same leader, and it is up.
    fn is_settled(&self, is_idle: bool) -> bool {
        let places = self.candidates.iter().map(|seat| self.places[seat.index()]);
        let mut up = places.filter(|place| place.is_up);
        // Nobody is up: nobody will ever lead.
        let Some(first) = up.next() else { return true };
        if first.leader.is_none() && is_idle && self.nobody_takes_part() {
            return true;
        }
        let leader = first.leader.and_then(|leader| self.view.seat(leader));
        leader.is_some_and(|seat| self.places[seat.index()].is_up)
            && up.all(|place| place.leader == first.leader)
    }
}

impl Application<Elections> for ElectionApplication {
    fn begin(&mut self, desk: &mut Desk<Command>) {
        for Call { seat, at } in self.calls.clone() {
            if self.places[seat.index()].is_up {
                desk.order(seat, Command::Call, at - desk.now());
            }
        }
        for seat in self.candidates.clone() {
            if self.places[seat.index()].is_up {
                self.ask_later(seat, desk);
            }
        }
    }

    fn on_notice(&mut self, seat: Seat, notice: &Notice, desk: &mut Desk<Command>) {
        match *notice {
            Notice::Elected { leader, .. } => {
                let place = &mut self.places[seat.index()];
                (place.leader, place.takes_part) = (Some(leader), false);
            }
            Notice::Vacant | Notice::Electing => {
                let place = &mut self.places[seat.index()];
                (place.leader, place.takes_part) = (None, true);
            }
            Notice::Read { .. } | Notice::Wrote { .. } | Notice::Refused => {
                self.ask_later(seat, desk);
            }
        }
    }

    fn on_crash(&mut self, seat: Seat) {
        self.places[seat.index()] = Candidate { is_up: false, leader: None, takes_part: false };
    }

    fn on_return(&mut self, seat: Seat, desk: &mut Desk<Command>) {
        self.places[seat.index()].is_up = true;
        // What it had still to call died with it; but who is up by then calls.
        let now = desk.now();
        for call in self.calls.iter().filter(|call| call.seat == seat && call.at >= now) {
            desk.order(seat, Command::Call, call.at - now);
        }
        self.ask_later(seat, desk);
    }

    fn awaits_quiet(&self) -> bool {
        false
    }

    fn on_quiet(&mut self, _: &mut Desk<Command>) {}

    fn is_done(&self, next: Time) -> bool {
        // Asked at every step of upkeep, so what is quickly said comes first.
        if next <= self.until {
            return false;
        }
        let all_called = self.calls.iter().all(|call| call.at < next);
        // Where calls died with their callers, nothing comes any more; some begin by themselves.
        let is_idle = next > self.until + PATIENCE;
        all_called && self.is_settled(is_idle)
    }
}
