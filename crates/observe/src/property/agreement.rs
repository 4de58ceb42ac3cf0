//! Agreement: when an election is over, all that are up believe in the same leader.

use conclave_core::Seat;

use super::Deciding;
use super::aside::Aside;
use crate::Time;

/// Watches what is believed at the end of every election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Agreement {
    broken: Option<Disagreement>,
    times: Aside<u64>,
}

/// The first election at whose end two did not believe the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Disagreement {
    /// When it was over.
    pub at: Time,
    /// One of them, and whom it believes in.
    pub one: (Seat, Option<Seat>),
    /// Another, and whom it believes in.
    pub other: (Seat, Option<Seat>),
}

impl Agreement {
    /// An election is over.
    pub fn on_end(&mut self, at: Time, deciding: &Deciding) {
        let mut beliefs = deciding.beliefs();
        let Some(one) = beliefs.next() else { return };
        let other = beliefs.find(|(_, leader)| *leader != one.1);
        if let Some(other) = other {
            self.broken.get_or_insert(Disagreement { at, one, other });
            self.times.0 += 1;
        }
    }

    /// How often an election was over and two did not believe the same.
    pub fn times(&self) -> u64 {
        self.times.0
    }

    /// What broke it, if anything did.
    pub fn broken(&self) -> Option<Disagreement> {
        self.broken
    }
}

#[cfg(test)]
mod tests {
    use conclave_core::election::Term;

    use super::*;
    use crate::Event;
    use crate::family::elections::Seen;

    fn judge(history: &[(u32, Seen)]) -> Option<Disagreement> {
        let (mut deciding, mut property) = (Deciding::new(3, true), Agreement::default());
        for &(seat, seen) in history {
            deciding.on(&Event { at: Time(0), seat: Seat(seat), what: seen.what() });
        }
        property.on_end(Time(9), &deciding);
        property.broken()
    }

    fn elected(leader: u32) -> Seen {
        Seen::Elected { leader: Seat(leader), term: Term::NONE }
    }

    #[test]
    fn accepts_that_all_who_are_up_believe_the_same() {
        assert_eq!(judge(&[(0, elected(1)), (1, elected(1)), (2, elected(1))]), None);
        assert_eq!(judge(&[(0, elected(1)), (1, elected(1)), (2, Seen::Crashed)]), None);
    }

    #[test]
    fn rejects_two_leaders_and_one_who_was_not_told() {
        let two = judge(&[(0, elected(1)), (1, elected(1)), (2, elected(2))]).unwrap();
        assert_eq!(two.other, (Seat(2), Some(Seat(2))));
        let untold = judge(&[(0, elected(1)), (1, elected(1))]).unwrap();
        assert_eq!(untold.other, (Seat(2), None));
    }
}
