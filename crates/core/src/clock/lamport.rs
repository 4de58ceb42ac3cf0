//! L. Lamport, *Time, Clocks, and the Ordering of Events in a Distributed System*, CACM 21(7),
//! 1978.

use core::fmt;

use crate::ProcessId;

/// A reading of a Lamport clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Timestamp(pub u64);

/// A reading and whose it is: the total order "=>" of the paper. Readings that are equal are told
/// apart by the process, so no two requests ever have the same stamp.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Stamp {
    /// What the clock showed; it is compared first.
    pub time: Timestamp,
    /// Who, to break ties.
    pub process: ProcessId,
}

/// A counter such that, if one event could have influenced another, its reading is smaller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
pub struct LamportClock(Timestamp);

impl LamportClock {
    /// A clock that shows `time`.
    pub fn starting_at(time: Timestamp) -> Self {
        Self(time)
    }

    /// What the clock shows.
    #[inline]
    pub fn time(&self) -> Timestamp {
        self.0
    }

    /// IR1: increment before an event, and stamp the event with the result.
    #[inline]
    pub fn tick(&mut self) -> Timestamp {
        self.0 = Timestamp(self.0.0 + 1);
        self.0
    }

    /// IR2, where the receipt is an event of its own: max(own, received) + 1.
    #[inline]
    pub fn receive(&mut self, received: Timestamp) -> Timestamp {
        self.0 = Timestamp(self.0.0.max(received.0) + 1);
        self.0
    }

    /// IR2, where only requests are events: max(own, received + 1), on a request.
    ///
    /// Mutual exclusion needs no more than that a request made after another was heard of is later
    /// than it. Receipts that are not counted keep the clock, and with it the number of states to
    /// search, small.
    #[inline]
    pub fn rise_above(&mut self, received: Timestamp) {
        self.0 = self.0.max(Timestamp(received.0 + 1));
    }

    /// Takes in the stamp of a message that carries the clock without being an event of its own:
    /// the clock becomes max(own, received). A request can become known by such a message too,
    /// through somebody who heard it.
    #[inline]
    pub fn catch_up(&mut self, received: Timestamp) {
        self.0 = self.0.max(received);
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}, {}>", self.time, self.process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_ordered_by_time_then_by_process() {
        let stamp = |time, id| Stamp { time: Timestamp(time), process: ProcessId(id) };
        assert!(stamp(110, 80) < stamp(115, 12));
        assert!(stamp(110, 12) < stamp(110, 80));
    }

    #[test]
    fn a_receipt_is_later_than_what_was_received() {
        let mut clock = LamportClock::starting_at(Timestamp(3));
        assert_eq!(clock.receive(Timestamp(9)), Timestamp(10));
        assert_eq!(clock.receive(Timestamp(2)), Timestamp(11));
        assert_eq!(clock.tick(), Timestamp(12));
    }

    #[test]
    fn rising_above_a_request_makes_the_next_own_one_later() {
        let mut clock = LamportClock::default();
        clock.rise_above(Timestamp(9));
        assert_eq!(clock.time(), Timestamp(10));
        clock.rise_above(Timestamp(4));
        assert_eq!(clock.time(), Timestamp(10), "an old request does not move it");
        clock.catch_up(Timestamp(12));
        assert_eq!(clock.time(), Timestamp(12), "a message that is no event adds no tick");
        assert!(clock.tick() > Timestamp(9));
    }
}
