//! How many are woken at once.

use alloc::vec::Vec;

use conclave_core::Seat;

use crate::Time;

/// Counts those whom one process wakes at one moment: a herd, if they are many.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Herd {
    last: Option<(Time, Seat)>,
    /// Whoever is woken twice at that moment is one of it once.
    woken: Vec<Seat>,
    most: usize,
}

impl Herd {
    /// `by` wakes `whom`.
    pub fn on_wake(&mut self, at: Time, by: Seat, whom: Seat) {
        if self.last != Some((at, by)) {
            self.woken.clear();
        }
        self.last = Some((at, by));
        if let Err(place) = self.woken.binary_search(&whom) {
            self.woken.insert(place, whom);
        }
        self.most = self.most.max(self.woken.len());
    }

    /// The most that were woken at once.
    pub fn most(&self) -> u64 {
        self.most as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_woken_at_one_moment_are_one_herd() {
        let mut herd = Herd::default();
        let wakes = [(1, 0, 3), (1, 0, 1), (1, 0, 2), (2, 0, 1), (2, 1, 4), (2, 1, 5)];
        for (at, by, whom) in wakes {
            herd.on_wake(Time(at), Seat(by), Seat(whom));
        }
        assert_eq!(herd.most(), 3);
    }

    #[test]
    fn one_who_is_woken_again_and_again_is_no_herd() {
        let mut herd = Herd::default();
        for _ in 0..80 {
            herd.on_wake(Time(1), Seat(0), Seat(1));
        }
        assert_eq!(herd.most(), 1);
    }
}
