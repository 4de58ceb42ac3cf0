//! A census: one process asks all others whether they are in the critical section, so that what a
//! crash took with it can be made anew.
//!
//! It has an epoch, which is its number. Whoever answers takes no more part in anything older, and
//! whoever has heard of a newer one does not answer. So of all censuses that are under way at once
//! only the newest can end, and what it found stays true until all are told of it.

use conclave_core::{Fence, Seat, SeatSet};

/// The number of a census, and of what came out of it. No two processes begin one of the same
/// number: the rest by the number of members is the seat of who began it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Epoch(pub u64);

/// What its initiator knows of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub(super) struct Census {
    /// Who has not answered yet.
    pub awaited: SeatSet,
    /// Who has, the initiator included.
    pub told: SeatSet,
    /// Who said that it is in.
    pub holder: Option<Seat>,
}

/// How many bits of a fence are counted within an epoch.
const FENCE_BITS: u32 = 40;

impl Epoch {
    /// The least epoch above this one that is `seat`'s to begin, of that many members.
    pub(super) fn next(self, seat: Seat, members: usize) -> Self {
        let members = members.max(1) as u64;
        Self((self.0 / members + 1) * members + u64::from(seat.0))
    }

    /// Who began it; of epoch 0 nobody did.
    pub(super) fn initiator(self, members: usize) -> Option<Seat> {
        let seat = self.0.checked_rem(members as u64)?;
        (self.0 > 0).then(|| Seat::at(usize::try_from(seat).unwrap_or_default()))
    }

    /// The fence that is counted as `fence` within this epoch: higher than all of older epochs.
    pub(super) fn fence(self, fence: Fence) -> Fence {
        Fence((self.0 << FENCE_BITS) | fence.0)
    }
}

impl Census {
    /// One in which only the initiator has told, of that many members.
    pub fn begin(initiator: Seat, holds: bool, members: usize) -> Self {
        let (awaited, mut told) = (SeatSet::empty(members), SeatSet::empty(members));
        told.insert(initiator);
        Self { awaited, told, holder: holds.then_some(initiator) }
    }

    /// Takes in the answer of `seat`: whether it holds. One that was not asked, or answers again,
    /// is ignored.
    pub fn tell(&mut self, seat: Seat, holds: bool) {
        if self.awaited.remove(seat) {
            self.told.insert(seat);
            self.holder = self.holder.or(holds.then_some(seat));
        }
    }

    /// `seat` is dead: it will not answer, and what it answered counts no more.
    pub fn forget(&mut self, seat: Seat) {
        self.awaited.remove(seat);
        self.told.remove(seat);
        self.holder = self.holder.filter(|&holder| holder != seat);
    }

    /// Whether everybody has answered.
    pub fn is_complete(&self) -> bool {
        self.awaited.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_begin_the_same_epoch_and_each_is_above_the_last() {
        let of_two = Epoch(0).next(Seat(2), 5);
        assert_eq!((of_two, of_two.initiator(5)), (Epoch(7), Some(Seat(2))));
        let of_one = of_two.next(Seat(1), 5);
        assert_eq!((of_one, of_one.initiator(5)), (Epoch(11), Some(Seat(1))));
        assert_eq!(of_one.next(Seat(1), 5), Epoch(16));
        assert_eq!(Epoch(0).initiator(5), None);
    }

    #[test]
    fn any_fence_of_a_newer_epoch_is_above_all_of_an_older() {
        assert!(Epoch(8).fence(Fence(1)) > Epoch(7).fence(Fence(1_000_000_000)));
        assert_eq!(Epoch(0).fence(Fence(3)), Fence(3));
    }

    #[test]
    fn a_census_is_complete_when_everybody_who_lives_has_told() {
        let mut census = Census::begin(Seat(0), false, 4);
        census.awaited.insert(Seat(1));
        census.awaited.insert(Seat(2));
        census.tell(Seat(2), true);
        assert!(!census.is_complete() && census.holder == Some(Seat(2)));
        census.tell(Seat(3), true);
        assert!(!census.told.contains(Seat(3)), "nobody asked it");
        census.forget(Seat(2));
        assert_eq!(census.holder, None, "it died with what it held");
        census.forget(Seat(1));
        assert!(census.is_complete() && census.told.iter().eq([Seat(0)]));
    }
}
