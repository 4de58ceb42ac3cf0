//! Liveness of elections: whoever takes part decides or crashes.
//!
//! Here it is also told when an election begins and ends: it lasts from the first call until nobody
//! takes part any more and nothing that belongs to it is in flight.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{Renaming, Seat};

use crate::family::elections::Seen;
use crate::{Event, Time};

/// Who takes part and has not decided, and who believes in whom.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Deciding {
    /// By seat: whether it takes part and has not decided.
    is_undecided: Vec<bool>,
    undecided: usize,
    /// By seat: who leads, as it was told; `None` if it was told nobody.
    knows: Vec<Option<Seat>>,
    is_down: Vec<bool>,
    election: Option<Wave>,
    /// Whether an election is for all, who agree in the end. A call then makes its caller take
    /// part, and cannot go unheard. Where a leader is kept by upkeep, a call may be answered by
    /// nothing: there is one already.
    is_for_all: bool,
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
    /// For `members` processes; the last says whether all are to agree, and so
    /// whoever calls has to be told who leads.
    pub fn new(members: usize, is_for_all: bool) -> Self {
        Self {
            is_undecided: vec![false; members],
            undecided: 0,
            knows: vec![None; members],
            is_down: vec![false; members],
            election: None,
            is_for_all,
        }
    }

    /// Takes in an event.
    pub fn on(&mut self, event: &Event) {
        let (at, index) = (event.at, event.seat.index());
        match Seen::of(event.what) {
            Seen::Called => {
                self.wave(at);
                if self.is_for_all {
                    self.decide(index, false);
                }
            }
            Seen::Electing => {
                self.wave(at);
                self.decide(index, false);
            }
            Seen::Elected { leader, .. } => {
                self.wave(at).decided_at = Some(at);
                self.knows[index] = Some(leader);
                self.decide(index, true);
            }
            Seen::Vacant => {
                self.knows[index] = None;
                self.decide(index, false);
            }
            Seen::Crashed => {
                self.is_down[index] = true;
                self.knows[index] = None;
                self.decide(index, true);
            }
            Seen::Returned | Seen::Replaced => self.is_down[index] = false,
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

    /// This property's memory, with every process renamed.
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
            is_for_all: self.is_for_all,
        }
    }

    /// Whether all are to agree in the end.
    pub fn is_for_all(&self) -> bool {
        self.is_for_all
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
}

#[cfg(test)]
mod tests {
    use conclave_core::election::Term;

    use super::*;

    fn elected(leader: u32) -> Seen {
        Seen::Elected { leader: Seat(leader), term: Term::NONE }
    }

    fn watch(history: &[(u64, u32, Seen)]) -> Deciding {
        let mut property = Deciding::new(3, true);
        for &(at, seat, seen) in history {
            property.on(&Event { at: Time(at), seat: Seat(seat), what: seen.what() });
        }
        property
    }

    #[test]
    fn whoever_takes_part_is_undecided_until_it_decides_or_dies() {
        let three = [(1, 0, Seen::Electing), (1, 1, Seen::Electing), (2, 2, Seen::Electing)];
        let mut seen = watch(&[&three[..], &[(3, 0, elected(2)), (4, 1, Seen::Crashed)]].concat());
        assert_eq!((seen.undecided(), seen.iter().collect::<Vec<_>>()), (1, vec![Seat(2)]));
        assert_eq!(seen.on_quiet(), None, "it is not over");
    }

    #[test]
    fn whoever_calls_takes_part_where_calls_bind() {
        assert_eq!(watch(&[(1, 0, Seen::Called)]).undecided(), 1);
        let mut elsewhere = Deciding::new(3, false);
        elsewhere.on(&Event { at: Time(1), seat: Seat(0), what: Seen::Called.what() });
        assert_eq!(elsewhere.undecided(), 0);
    }

    #[test]
    fn an_election_lasts_from_the_first_call_to_the_last_decision() {
        let mut seen = watch(&[(1, 0, Seen::Called), (1, 0, Seen::Electing), (4, 0, elected(2))]);
        let wave = Wave { since: Time(1), decided_at: Some(Time(4)) };
        assert_eq!(seen.on_quiet(), Some(wave));
        assert_eq!(seen.on_quiet(), None, "it is over once");
    }
}
