//! Who takes part together.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::{ProcessId, Seat};

/// The members of a system, in ring order, known to each of them and shared by all.
///
/// A view is cheap to clone. Its members are distinct: a view that exists is a valid one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct View {
    /// In seat order; the successor of the last is the first.
    members: Arc<[ProcessId]>,
    /// `(id, seat)` by id, for look-ups; empty where `members` is `first, first + 1, ...`.
    by_id: Arc<[(ProcessId, Seat)]>,
}

/// Two members of a view had the same name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DuplicateId(pub ProcessId);

impl View {
    /// A view of `members` in ring order; names must be unique.
    pub fn new(members: impl IntoIterator<Item = ProcessId>) -> Result<Self, DuplicateId> {
        let members: Vec<ProcessId> = members.into_iter().collect();
        let dense = members.windows(2).all(|pair| pair[0].0.checked_add(1) == Some(pair[1].0));
        let mut by_id = Vec::new();
        if !dense {
            by_id.extend(members.iter().enumerate().map(|(seat, &id)| (id, Seat::at(seat))));
            by_id.sort_unstable();
            if let Some(pair) = by_id.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(DuplicateId(pair[0].0));
            }
        }
        Ok(Self { members: members.into(), by_id: by_id.into() })
    }

    /// The view of the processes `first`, `first + 1`, ... of which there are `count`.
    pub fn dense(first: u32, count: u32) -> Self {
        let members: Vec<ProcessId> = (first..first.saturating_add(count)).map(ProcessId).collect();
        Self { members: members.into(), by_id: Arc::new([]) }
    }

    /// How many take part.
    #[inline]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether nobody takes part.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The members in seat order.
    #[inline]
    pub fn members(&self) -> &[ProcessId] {
        &self.members
    }

    /// Everyone but `me`, in seat order.
    pub fn others(&self, me: ProcessId) -> impl Iterator<Item = ProcessId> + '_ {
        self.members.iter().copied().filter(move |&id| id != me)
    }

    /// Who sits there. Seats come from this view, so there is always someone.
    #[inline]
    pub fn at(&self, seat: Seat) -> ProcessId {
        self.members[seat.index()]
    }

    /// The seat of `id`, if it is a member.
    #[inline]
    pub fn seat(&self, id: ProcessId) -> Option<Seat> {
        if self.by_id.is_empty() {
            let seat = id.0.wrapping_sub(self.members.first()?.0);
            return ((seat as usize) < self.members.len()).then_some(Seat(seat));
        }
        let row = self.by_id.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        Some(self.by_id[row].1)
    }

    /// The member after `id` on the ring; `id` itself when it is alone or not a member.
    pub fn successor(&self, id: ProcessId) -> ProcessId {
        self.around(id, 1)
    }

    /// The member before `id` on the ring; `id` itself when it is alone or not a member.
    pub fn predecessor(&self, id: ProcessId) -> ProcessId {
        self.around(id, self.len().saturating_sub(1))
    }

    fn around(&self, id: ProcessId, steps: usize) -> ProcessId {
        match self.seat(id) {
            Some(seat) => self.members[(seat.index() + steps) % self.len()],
            None => id,
        }
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.members.iter()).finish()
    }
}

impl fmt::Display for DuplicateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} is named twice; every id must be unique", self.0)
    }
}

impl core::error::Error for DuplicateId {}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(ids: &[u32]) -> View {
        View::new(ids.iter().copied().map(ProcessId)).unwrap()
    }

    #[test]
    fn seats_follow_the_ring_order_not_the_ids() {
        let ring = view(&[3, 32, 5, 80, 6, 12]);
        for (seat, &id) in ring.members().iter().enumerate() {
            assert_eq!(ring.seat(id), Some(Seat::at(seat)));
        }
        assert_eq!(ring.seat(ProcessId(4)), None);
        assert_eq!(ring.successor(ProcessId(12)), ProcessId(3));
        assert_eq!(ring.predecessor(ProcessId(3)), ProcessId(12));
    }

    #[test]
    fn a_dense_view_is_the_same_however_it_is_made() {
        assert_eq!(view(&[1, 2, 3]), View::dense(1, 3));
        assert_eq!(View::dense(1, 3).seat(ProcessId(0)), None);
        assert_eq!(View::dense(1, 3).seat(ProcessId(4)), None);
        assert_eq!(View::dense(1, 3).seat(ProcessId(3)), Some(Seat(2)));
    }

    #[test]
    fn a_name_used_twice_is_refused() {
        let twice = View::new([3, 5, 3].map(ProcessId));
        assert_eq!(twice, Err(DuplicateId(ProcessId(3))));
    }

    #[test]
    fn one_member_is_its_own_neighbour() {
        let alone = view(&[7]);
        assert_eq!(alone.successor(ProcessId(7)), ProcessId(7));
        assert_eq!(alone.predecessor(ProcessId(7)), ProcessId(7));
    }
}
