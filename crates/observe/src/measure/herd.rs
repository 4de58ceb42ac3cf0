//! How many are woken at once.

use conclave_core::Seat;

use crate::Time;

/// Counts those that one process wakes at one moment: a herd, if they are many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Herd {
    last: Option<(Time, Seat)>,
    count: u64,
    most: u64,
}

impl Herd {
    /// `by` wakes somebody.
    pub fn on_wake(&mut self, at: Time, by: Seat) {
        self.count = if self.last == Some((at, by)) { self.count + 1 } else { 1 };
        self.last = Some((at, by));
        self.most = self.most.max(self.count);
    }

    /// The most that were woken at once.
    pub fn most(&self) -> u64 {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_woken_at_one_moment_are_one_herd() {
        let mut herd = Herd::default();
        for (at, by) in [(1, 0), (1, 0), (1, 0), (2, 0), (2, 1), (2, 1)] {
            herd.on_wake(Time(at), Seat(by));
        }
        assert_eq!(herd.most(), 3);
    }
}
