//! Fences: every entry gets a higher number than all before it.

use conclave_core::{Fence, Renaming, Seat};

use super::aside::Aside;
use crate::family::locks::Seen;
use crate::{Event, Time};

/// Watches the numbers that entries get.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Fences {
    last: Option<Fence>,
    broken: Option<FenceFell>,
    times: Aside<u64>,
}

/// The first entry whose number was not higher than the one before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FenceFell {
    /// When that entry was.
    pub at: Time,
    /// The process that entered, by seat.
    pub seat: Seat,
    /// The number before.
    pub before: Fence,
    /// The number of this entry, which should be higher.
    pub got: Fence,
}

impl Fences {
    /// Takes in an event.
    pub fn on(&mut self, event: &Event) {
        let Seen::Entered { fence } = Seen::of(event.what) else { return };
        if let Some(before) = self.last.filter(|&last| fence <= last) {
            let (at, seat, got) = (event.at, event.seat, fence);
            self.broken.get_or_insert(FenceFell { at, seat, before, got });
            self.times.0 += 1;
        }
        self.last = self.last.max(Some(fence));
    }

    /// How often an entry got no higher number than one before it.
    pub fn times(&self) -> u64 {
        self.times.0
    }

    /// What broke it, if anything did.
    pub fn broken(&self) -> Option<FenceFell> {
        self.broken
    }

    /// This property's memory, with every process renamed.
    #[must_use]
    pub fn renamed(&self, names: &Renaming) -> Self {
        let broken = self.broken.map(|it| FenceFell { seat: names.seat(it.seat), ..it });
        Self { broken, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(fences: &[u64]) -> Option<FenceFell> {
        let mut property = Fences::default();
        for &fence in fences {
            let seen = Seen::Entered { fence: Fence(fence) };
            property.on(&Event { at: Time(0), seat: Seat(0), what: seen.what() });
        }
        property.broken()
    }

    #[test]
    fn accepts_numbers_that_grow_with_gaps_or_without() {
        assert_eq!(judge(&[1, 2, 7, 8]), None);
    }

    #[test]
    fn rejects_a_number_that_repeats_or_falls() {
        assert_eq!(judge(&[1, 2, 2]).map(|fell| fell.got), Some(Fence(2)));
        assert_eq!(judge(&[1, 5, 3]).map(|fell| fell.before), Some(Fence(5)));
    }
}
