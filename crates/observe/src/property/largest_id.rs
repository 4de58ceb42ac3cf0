//! Safety of elections by id: who is elected was there, and nobody larger was all the time.
//!
//! Judged when a process sets `elected` to x: x was up at some moment of that election, and no
//! larger id was up throughout it.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{ProcessId, Seat};

use super::Wave;
use super::aside::Aside;
use crate::family::elections::Seen;
use crate::{Event, Time};

/// Watches who is elected while who is up.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LargestId {
    /// By seat: whether it is up.
    is_up: Vec<bool>,
    /// By seat: whether it was up at some moment of the election that is under way.
    was_up: Vec<bool>,
    /// By seat: whether it was up all the time since that election began.
    throughout: Vec<bool>,
    is_under_way: bool,
    /// All seats, largest id first.
    by_id: Vec<Seat>,
    /// By seat: its place among them.
    rank: Vec<usize>,
    broken: Option<WrongLeader>,
    times: Aside<u64>,
}

/// The first time that somebody was elected who should not have been.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WrongLeader {
    /// When the decision was made.
    pub at: Time,
    /// Who decided so.
    pub seat: Seat,
    /// Who was elected.
    pub leader: Seat,
    /// Who is larger and was up throughout; `None` if the leader was not up at all.
    pub larger: Option<Seat>,
}

impl LargestId {
    /// For these processes, by seat.
    pub fn new(members: &[ProcessId]) -> Self {
        let mut by_id: Vec<Seat> = (0..members.len()).map(Seat::at).collect();
        by_id.sort_unstable_by_key(|seat| core::cmp::Reverse(members[seat.index()]));
        let mut rank = vec![0; members.len()];
        for (place, seat) in by_id.iter().enumerate() {
            rank[seat.index()] = place;
        }
        Self {
            is_up: vec![true; members.len()],
            was_up: vec![false; members.len()],
            throughout: vec![false; members.len()],
            is_under_way: false,
            by_id,
            rank,
            broken: None,
            times: Aside(0),
        }
    }

    /// Takes in an event of that election.
    pub fn on(&mut self, event: &Event, election: Option<Wave>) {
        if election.is_some() && !self.is_under_way {
            self.is_under_way = true;
            self.was_up.clone_from(&self.is_up);
            self.throughout.clone_from(&self.is_up);
        }
        let (at, seat, index) = (event.at, event.seat, event.seat.index());
        match Seen::of(event.what) {
            Seen::Crashed => (self.is_up[index], self.throughout[index]) = (false, false),
            Seen::Returned | Seen::Replaced => {
                self.is_up[index] = true;
                self.was_up[index] |= self.is_under_way;
            }
            Seen::Elected { leader, .. } => {
                let larger = self.larger(leader);
                if !self.was_up[leader.index()] || larger.is_some() {
                    let larger = larger.filter(|_| self.was_up[leader.index()]);
                    self.broken.get_or_insert(WrongLeader { at, seat, leader, larger });
                    self.times.0 += 1;
                }
            }
            _ => {}
        }
    }

    /// Takes in that the election is over.
    pub fn on_end(&mut self) {
        self.is_under_way = false;
        self.was_up.fill(false);
        self.throughout.fill(false);
    }

    /// A larger one that was up throughout.
    fn larger(&self, leader: Seat) -> Option<Seat> {
        let larger = &self.by_id[..self.rank[leader.index()]];
        larger.iter().find(|seat| self.throughout[seat.index()]).copied()
    }

    /// How often somebody took one for the leader who should not lead.
    pub fn times(&self) -> u64 {
        self.times.0
    }

    /// What broke it, if anything did.
    pub fn broken(&self) -> Option<WrongLeader> {
        self.broken
    }
}

#[cfg(test)]
mod tests {
    use conclave_core::election::Term;

    use super::*;

    /// Ids 5, 9 and 7; the election is called at 10.
    fn judge(history: &[(u64, u32, Seen)]) -> Option<WrongLeader> {
        let mut property = LargestId::new(&[5, 9, 7].map(ProcessId));
        let called = (10, 0, Seen::Called);
        let (before, during) = history.split_at(history.partition_point(|(at, ..)| *at < 10));
        for &(at, seat, seen) in before.iter().chain([&called]).chain(during) {
            let wave = (at >= 10).then_some(Wave { since: Time(10), decided_at: None });
            property.on(&Event { at: Time(at), seat: Seat(seat), what: seen.what() }, wave);
        }
        property.broken()
    }

    fn elected(leader: u32) -> Seen {
        Seen::Elected { leader: Seat(leader), term: Term::NONE }
    }

    #[test]
    fn accepts_the_largest_that_is_up() {
        assert_eq!(judge(&[(12, 0, elected(1)), (13, 2, elected(1))]), None);
        assert_eq!(judge(&[(2, 1, Seen::Crashed), (12, 0, elected(2))]), None);
    }

    #[test]
    fn rejects_one_while_a_larger_is_up_throughout() {
        let broken = judge(&[(12, 0, elected(2))]).unwrap();
        assert_eq!((broken.leader, broken.larger), (Seat(2), Some(Seat(1))));
    }

    #[test]
    fn a_larger_one_that_died_or_came_during_the_election_excuses_it() {
        assert_eq!(judge(&[(11, 1, Seen::Crashed), (12, 0, elected(2))]), None);
        let returned = [(2, 1, Seen::Crashed), (11, 1, Seen::Returned), (12, 0, elected(2))];
        assert_eq!(judge(&returned), None);
    }

    #[test]
    fn rejects_one_that_was_dead_all_the_time_but_not_one_that_died_in_it() {
        assert!(judge(&[(2, 1, Seen::Crashed), (12, 0, elected(1))]).is_some());
        assert_eq!(judge(&[(11, 1, Seen::Crashed), (12, 0, elected(1))]), None);
    }
}
