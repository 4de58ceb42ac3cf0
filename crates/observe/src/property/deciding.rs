//! Liveness of elections: whoever takes part decides or crashes.
//!
//! Here it is also told when an election begins and ends: it lasts from the first call until nobody
//! takes part any more and nothing that belongs to it is in flight.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{Renaming, Seat};

use crate::{Event, Time, What};

/// Who takes part and has not decided, and who believes in whom.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Deciding {
    /// By seat.
    is_undecided: Vec<bool>,
    undecided: usize,
    /// By seat: who leads, as it was told; `None` if it was told nobody.
    knows: Vec<Option<Seat>>,
    is_down: Vec<bool>,
    election: Option<Wave>,
}

/// An election while it lasts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Wave {
    /// When it was called.
    pub since: Time,
    /// When somebody last learnt who leads, if anybody did.
    pub decided_at: Option<Time>,
}

impl Deciding {
    /// For `members` processes.
    pub fn new(members: usize) -> Self {
        Self {
            is_undecided: vec![false; members],
            undecided: 0,
            knows: vec![None; members],
            is_down: vec![false; members],
            election: None,
        }
    }

    /// Takes in an event.
    pub fn on(&mut self, event: &Event) {
        let (at, index) = (event.at, event.seat.index());
        match event.what {
            What::Called => drop(self.wave(at)),
            What::Electing => {
                self.wave(at);
                self.decide(index, false);
            }
            What::Elected { leader, .. } => {
                self.wave(at).decided_at = Some(at);
                self.knows[index] = Some(leader);
                self.decide(index, true);
            }
            What::Vacant => {
                self.knows[index] = None;
                self.decide(index, false);
            }
            What::Crashed => {
                self.is_down[index] = true;
                self.knows[index] = None;
                self.decide(index, true);
            }
            What::Returned | What::Replaced => self.is_down[index] = false,
            _ => {}
        }
    }

    fn wave(&mut self, at: Time) -> &mut Wave {
        self.election.get_or_insert(Wave { since: at, decided_at: None })
    }

    fn decide(&mut self, index: usize, decided: bool) {
        let was_undecided = core::mem::replace(&mut self.is_undecided[index], !decided);
        self.undecided += usize::from(!decided);
        self.undecided -= usize::from(was_undecided);
    }

    /// Nothing that belongs to a call is in flight. Says which election is over by that, if one is.
    #[inline]
    pub fn on_quiet(&mut self) -> Option<Wave> {
        if self.undecided > 0 { None } else { self.election.take() }
    }

    /// The same of others by other names.
    #[must_use]
    pub fn renamed(&self, names: &Renaming) -> Self {
        let knows: Vec<Option<Seat>> =
            self.knows.iter().map(|leader| leader.map(|seat| names.seat(seat))).collect();
        Self {
            is_undecided: names.rows(&self.is_undecided),
            undecided: self.undecided,
            knows: names.rows(&knows),
            is_down: names.rows(&self.is_down),
            election: self.election,
        }
    }

    /// The election that is under way, if one is.
    pub fn election(&self) -> Option<Wave> {
        self.election
    }

    /// How many have not decided.
    pub fn undecided(&self) -> usize {
        self.undecided
    }

    /// Who has not decided.
    pub fn iter(&self) -> impl Iterator<Item = Seat> + '_ {
        let all = self.is_undecided.iter().enumerate();
        all.filter(|(_, is_undecided)| **is_undecided).map(|(index, _)| Seat::at(index))
    }

    /// Everybody who is up, and whom it believes to lead.
    pub fn beliefs(&self) -> impl Iterator<Item = (Seat, Option<Seat>)> + '_ {
        let all = self.knows.iter().zip(&self.is_down).enumerate();
        all.filter(|(_, (_, is_down))| !**is_down)
            .map(|(index, (&leader, _))| (Seat::at(index), leader))
    }

    /// Whom all that are up and were told anything believe to lead, if they believe in the same.
    pub fn leader(&self) -> Option<Seat> {
        let mut told = self.beliefs().filter_map(|(_, leader)| leader);
        let first = told.next()?;
        told.all(|leader| leader == first).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use conclave_core::election::Term;

    use super::*;

    fn elected(leader: u32) -> What {
        What::Elected { leader: Seat(leader), term: Term::NONE }
    }

    fn watch(history: &[(u64, u32, What)]) -> Deciding {
        let mut property = Deciding::new(3);
        for &(at, seat, what) in history {
            property.on(&Event { at: Time(at), seat: Seat(seat), what });
        }
        property
    }

    #[test]
    fn whoever_takes_part_is_undecided_until_it_decides_or_dies() {
        let three = [(1, 0, What::Electing), (1, 1, What::Electing), (2, 2, What::Electing)];
        let mut seen = watch(&[&three[..], &[(3, 0, elected(2)), (4, 1, What::Crashed)]].concat());
        assert_eq!((seen.undecided(), seen.iter().collect::<Vec<_>>()), (1, vec![Seat(2)]));
        assert_eq!(seen.on_quiet(), None, "it is not over");
    }

    #[test]
    fn an_election_lasts_from_the_first_call_to_the_last_decision() {
        let mut seen = watch(&[(1, 0, What::Called), (1, 0, What::Electing), (4, 0, elected(2))]);
        let wave = Wave { since: Time(1), decided_at: Some(Time(4)) };
        assert_eq!(seen.on_quiet(), Some(wave));
        assert_eq!(seen.on_quiet(), None, "it is over once");
    }

    #[test]
    fn a_leader_is_who_all_that_are_up_believe_in() {
        let both = [(1, 0, elected(2)), (1, 1, elected(2))];
        assert_eq!(watch(&both).leader(), Some(Seat(2)));
        assert_eq!(watch(&[&both[..], &[(2, 0, elected(1))]].concat()).leader(), None);
        let gone = [(2, 0, elected(1)), (3, 0, What::Crashed)];
        assert_eq!(watch(&[&both[..], &gone].concat()).leader(), Some(Seat(2)));
    }
}
