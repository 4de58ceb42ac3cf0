//! Vector clocks (Fidge 1988, Mattern 1989): they tell exactly whether one event could have
//! influenced another, at the price of one counter per member.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::Seat;

/// How many events of each member are in the past of the event that shows this reading.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct VectorClock(Vec<u32>);

impl VectorClock {
    /// The clock of a member that has seen nothing, in a view of `members`.
    pub fn new(members: usize) -> Self {
        Self(vec![0; members])
    }

    /// An event of `seat`, whose clock this is.
    #[inline]
    pub fn tick(&mut self, seat: Seat) {
        self.0[seat.index()] += 1;
    }

    /// Takes in all that `other` has seen; a receipt is this, then a tick.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        for (mine, &theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(theirs);
        }
    }

    /// How many events of `seat` this reading has in its past.
    #[inline]
    pub fn of(&self, seat: Seat) -> u32 {
        self.0[seat.index()]
    }

    /// Whether the event with this reading happened before the one with `later`: all that it has
    /// seen the other has seen too, and they are not one event.
    pub fn happened_before(&self, later: &Self) -> bool {
        self != later && self.0.iter().zip(&later.0).all(|(mine, theirs)| mine <= theirs)
    }
}

impl fmt::Debug for VectorClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_puts_its_sending_before_its_receipt_and_leaves_others_concurrent() {
        let (p, q) = (Seat(0), Seat(1));
        let (mut at_p, mut at_q) = (VectorClock::new(2), VectorClock::new(2));
        at_q.tick(q);
        let apart = at_q.clone();
        at_p.tick(p);
        let sent = at_p.clone();
        at_q.merge(&sent);
        at_q.tick(q);
        assert!(sent.happened_before(&at_q));
        assert!(!at_q.happened_before(&sent));
        assert!(!sent.happened_before(&apart) && !apart.happened_before(&sent));
        assert!(!sent.happened_before(&sent));
        assert_eq!(at_q.of(p), 1);
    }
}
