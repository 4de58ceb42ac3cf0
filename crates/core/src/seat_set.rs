//! A set of members.

use core::fmt;

use smallvec::SmallVec;

use crate::Seat;

/// A set of the members of one view, as one bit per seat; up to 128 members without an allocation.
///
/// Two sets over the same view are equal when they hold the same members, so a set says what it
/// means and no more: the order in which members came is not part of it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SeatSet {
    words: SmallVec<[u64; 2]>,
    /// The number of bits set in `words`.
    len: u32,
}

impl SeatSet {
    /// The empty set, of a view with `members` members.
    pub fn empty(members: usize) -> Self {
        Self { words: SmallVec::from_elem(0, members.div_ceil(64)), len: 0 }
    }

    /// How many are in it.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether nobody is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether `seat` is in it.
    #[inline]
    pub fn contains(&self, seat: Seat) -> bool {
        self.words[seat.index() / 64] & bit(seat) != 0
    }

    /// Puts `seat` in; whether it was not there yet.
    #[inline]
    pub fn insert(&mut self, seat: Seat) -> bool {
        if self.contains(seat) {
            return false;
        }
        self.words[seat.index() / 64] |= bit(seat);
        self.len += 1;
        true
    }

    /// Takes `seat` out; whether it was there.
    #[inline]
    pub fn remove(&mut self, seat: Seat) -> bool {
        // As a branch, not as `len -= u32::from(was_there)`: that is what rustc 1.95.0 gets wrong
        // in release builds where the answer is branched on (it forgets to count down).
        if !self.contains(seat) {
            return false;
        }
        self.words[seat.index() / 64] &= !bit(seat);
        self.len -= 1;
        true
    }

    /// Takes everybody out.
    pub fn clear(&mut self) {
        self.words.fill(0);
        self.len = 0;
    }

    /// Everyone in it, in seat order.
    pub fn iter(&self) -> impl Iterator<Item = Seat> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            core::iter::from_fn(move || {
                let low = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(Seat::at(index * 64 + low))
            })
        })
    }
}

#[inline]
fn bit(seat: Seat) -> u64 {
    1 << (seat.0 % 64)
}

impl fmt::Debug for SeatSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|seat| seat.0)).finish()
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    use super::*;

    /// A dumb twin: the same operations on an ordered set.
    /// A compiler got this wrong, in release builds alone.
    #[test]
    fn the_count_is_right_where_its_answer_decides() {
        let (mut left, mut right) = (SeatSet::empty(4), SeatSet::empty(4));
        left.insert(Seat(1));
        left.insert(Seat(2));
        for seat in [Seat(2), Seat(3)] {
            if left.remove(seat) {
                right.insert(seat);
            }
        }
        assert_eq!((left.len(), right.len()), (1, 1));
        left.remove(Seat(1));
        assert!(left.is_empty());
    }

    #[test]
    fn behaves_like_an_ordered_set_of_seats() {
        let (mut set, mut twin) = (SeatSet::empty(200), BTreeSet::new());
        let mut x = 12345_u32;
        for _ in 0..5_000 {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let seat = Seat((x >> 8) % 200);
            if x & 1 == 0 {
                assert_eq!(set.insert(seat), twin.insert(seat));
            } else {
                assert_eq!(set.remove(seat), twin.remove(&seat));
            }
            assert_eq!(set.len(), twin.len());
            assert_eq!(set.contains(seat), twin.contains(&seat));
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), twin.into_iter().collect::<Vec<_>>());
        set.clear();
        assert_eq!(set, SeatSet::empty(200));
    }
}
