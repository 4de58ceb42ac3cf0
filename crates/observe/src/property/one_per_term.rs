//! Safety of elections by vote: at most one leader in a term.

use alloc::collections::BTreeMap;

use conclave_core::election::Term;
use conclave_core::{Renaming, Seat};

use super::aside::Aside;
use crate::family::elections::Seen;
use crate::{Event, Time};

/// Watches for a term with two leaders. Keeps one leader for each term that there was.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct OnePerTerm {
    leaders: BTreeMap<Term, Seat>,
    broken: Option<TwoInATerm>,
    times: Aside<u64>,
}

/// The first time that somebody was told of a second leader of one term.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TwoInATerm {
    /// When it was told.
    pub at: Time,
    /// Who was told.
    pub told: Seat,
    /// The term that has two leaders.
    pub term: Term,
    /// Who was its leader already.
    pub first: Seat,
    /// Who is said to be, too.
    pub second: Seat,
}

impl OnePerTerm {
    /// Takes in an event.
    pub fn on(&mut self, event: &Event) {
        let Seen::Elected { leader, term } = Seen::of(event.what) else { return };
        if term == Term::NONE {
            return;
        }
        let first = *self.leaders.entry(term).or_insert(leader);
        if first != leader {
            let (at, told) = (event.at, event.seat);
            self.broken.get_or_insert(TwoInATerm { at, told, term, first, second: leader });
            self.times.0 += 1;
        }
    }

    /// How often somebody was told of another leader of a term than the first.
    pub fn times(&self) -> u64 {
        self.times.0
    }

    /// What broke it, if anything did.
    pub fn broken(&self) -> Option<TwoInATerm> {
        self.broken
    }

    /// This property's memory, with every process renamed.
    #[must_use]
    pub fn renamed(&self, names: &Renaming) -> Self {
        Self {
            leaders: self.leaders.iter().map(|(&term, &seat)| (term, names.seat(seat))).collect(),
            broken: self.broken.map(|it| TwoInATerm {
                told: names.seat(it.told),
                first: names.seat(it.first),
                second: names.seat(it.second),
                ..it
            }),
            times: self.times,
        }
    }

    /// How many terms had a leader.
    pub fn terms(&self) -> u64 {
        self.leaders.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(history: &[(u32, u32, u64)]) -> OnePerTerm {
        let mut property = OnePerTerm::default();
        for (at, &(seat, leader, term)) in (0..).zip(history) {
            let seen = Seen::Elected { leader: Seat(leader), term: Term(term) };
            property.on(&Event { at: Time(at), seat: Seat(seat), what: seen.what() });
        }
        property
    }

    #[test]
    fn accepts_the_same_leader_told_by_many_and_others_in_other_terms() {
        let seen = judge(&[(0, 1, 1), (1, 1, 1), (2, 0, 2), (1, 1, 1), (0, 1, 3)]);
        assert_eq!((seen.broken(), seen.terms()), (None, 3));
    }

    #[test]
    fn rejects_a_second_leader_of_a_term_however_late_it_is_told() {
        let seen = judge(&[(0, 1, 1), (2, 0, 2), (1, 2, 1)]).broken().unwrap();
        assert_eq!((seen.term, seen.first, seen.second), (Term(1), Seat(1), Seat(2)));
    }

    #[test]
    fn says_nothing_of_algorithms_without_terms() {
        let seen = judge(&[(0, 1, 0), (1, 2, 0)]);
        assert_eq!((seen.broken(), seen.terms()), (None, 0));
    }
}
