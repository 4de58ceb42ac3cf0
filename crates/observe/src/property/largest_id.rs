//! Safety of elections by id: who is elected was there, and nobody larger was all the time.
//!
//! Judged when a process sets `elected` to x: x was up at some moment of that election, and no
//! larger id was up throughout it.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{ProcessId, Seat};

use super::Wave;
use crate::{Event, Time, What};

/// Watches who is elected while who is up.
#[derive(Clone, Debug)]
pub struct LargestId {
    /// By seat: since when it is up.
    up_since: Vec<Option<Time>>,
    /// By seat: when it last died.
    died_at: Vec<Option<Time>>,
    /// Largest id first.
    by_id: Vec<Seat>,
    /// By seat: its place in `by_id`.
    rank: Vec<usize>,
    broken: Option<WrongLeader>,
}

/// The first time that somebody was elected who should not have been.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrongLeader {
    /// When.
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
            up_since: vec![Some(Time::ZERO); members.len()],
            died_at: vec![None; members.len()],
            by_id,
            rank,
            broken: None,
        }
    }

    /// Takes in an event of that election.
    pub fn on(&mut self, event: &Event, election: Option<Wave>) {
        let index = event.seat.index();
        match event.what {
            What::Crashed => {
                self.up_since[index] = None;
                self.died_at[index] = Some(event.at);
            }
            What::Returned | What::Replaced => self.up_since[index] = Some(event.at),
            What::Elected { leader, .. } if self.broken.is_none() => {
                let since = election.map_or(event.at, |wave| wave.since);
                let (at, seat) = (event.at, event.seat);
                if !self.was_up(leader, since) {
                    self.broken = Some(WrongLeader { at, seat, leader, larger: None });
                } else if let Some(larger) = self.larger(leader, since) {
                    self.broken = Some(WrongLeader { at, seat, leader, larger: Some(larger) });
                }
            }
            _ => {}
        }
    }

    fn was_up(&self, seat: Seat, since: Time) -> bool {
        let died_in_it = self.died_at[seat.index()].is_some_and(|at| at >= since);
        self.up_since[seat.index()].is_some() || died_in_it
    }

    fn larger(&self, leader: Seat, since: Time) -> Option<Seat> {
        let larger = &self.by_id[..self.rank[leader.index()]];
        let throughout = |seat: &&Seat| self.up_since[seat.index()].is_some_and(|up| up <= since);
        larger.iter().find(throughout).copied()
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
    fn judge(history: &[(u64, u32, What)]) -> Option<WrongLeader> {
        let mut property = LargestId::new(&[5, 9, 7].map(ProcessId));
        for &(at, seat, what) in history {
            let wave = Wave { since: Time(10), decided_at: None };
            property.on(&Event { at: Time(at), seat: Seat(seat), what }, Some(wave));
        }
        property.broken()
    }

    fn elected(leader: u32) -> What {
        What::Elected { leader: Seat(leader), term: Term::NONE }
    }

    #[test]
    fn accepts_the_largest_that_is_up() {
        assert_eq!(judge(&[(12, 0, elected(1)), (13, 2, elected(1))]), None);
        assert_eq!(judge(&[(2, 1, What::Crashed), (12, 0, elected(2))]), None);
    }

    #[test]
    fn rejects_one_while_a_larger_is_up_throughout() {
        let broken = judge(&[(12, 0, elected(2))]).unwrap();
        assert_eq!((broken.leader, broken.larger), (Seat(2), Some(Seat(1))));
    }

    #[test]
    fn a_larger_one_that_died_or_came_during_the_election_excuses_it() {
        assert_eq!(judge(&[(11, 1, What::Crashed), (12, 0, elected(2))]), None);
        let returned = [(2, 1, What::Crashed), (11, 1, What::Returned), (12, 0, elected(2))];
        assert_eq!(judge(&returned), None);
    }

    #[test]
    fn rejects_one_that_was_dead_all_the_time_but_not_one_that_died_in_it() {
        assert!(judge(&[(2, 1, What::Crashed), (12, 0, elected(1))]).is_some());
        assert_eq!(judge(&[(11, 1, What::Crashed), (12, 0, elected(1))]), None);
    }
}
