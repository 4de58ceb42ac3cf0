//! Who takes part together.

use alloc::sync::Arc;
use alloc::vec;
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
    seats: Seats,
}

/// How the seat of an id is found: a runner asks with every message.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Seats {
    /// The members are `first, first + 1, ...`: it is counted.
    Counted,
    /// The ids lie close together, in any order: one row for each, from the smallest on.
    Table { smallest: ProcessId, rows: Arc<[Option<Seat>]> },
    /// They lie far apart: it is searched for. Sorted by id.
    Sorted(Arc<[(ProcessId, Seat)]>),
}

/// A table may have that many rows per member.
const ROWS_PER_MEMBER: usize = 4;

/// Two members of a view had the same name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DuplicateId(pub ProcessId);

impl View {
    /// A view of `members` in ring order; names must be unique.
    pub fn new(members: impl IntoIterator<Item = ProcessId>) -> Result<Self, DuplicateId> {
        let members: Vec<ProcessId> = members.into_iter().collect();
        let seats = Seats::of(&members)?;
        Ok(Self { members: members.into(), seats })
    }

    /// The view of the processes `first`, `first + 1`, ... of which there are `count`.
    pub fn dense(first: u32, count: u32) -> Self {
        let members: Vec<ProcessId> = (first..first.saturating_add(count)).map(ProcessId).collect();
        Self { members: members.into(), seats: Seats::Counted }
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
        match &self.seats {
            Seats::Counted => {
                let seat = id.0.wrapping_sub(self.members.first()?.0);
                ((seat as usize) < self.members.len()).then_some(Seat(seat))
            }
            Seats::Table { smallest, rows } => *rows.get(id.0.wrapping_sub(smallest.0) as usize)?,
            Seats::Sorted(by_id) => {
                let row = by_id.binary_search_by_key(&id, |&(id, _)| id).ok()?;
                Some(by_id[row].1)
            }
        }
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

impl Seats {
    fn of(members: &[ProcessId]) -> Result<Self, DuplicateId> {
        if members.windows(2).all(|pair| pair[0].0.checked_add(1) == Some(pair[1].0)) {
            return Ok(Self::Counted);
        }
        let seated = members.iter().enumerate().map(|(seat, &id)| (id, Seat::at(seat)));
        let mut by_id: Vec<(ProcessId, Seat)> = seated.collect();
        by_id.sort_unstable();
        if let Some(pair) = by_id.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(DuplicateId(pair[0].0));
        }
        let (smallest, largest) = (by_id[0].0, by_id[by_id.len() - 1].0);
        let row_of = |id: ProcessId| (id.0 - smallest.0) as usize;
        if row_of(largest) >= ROWS_PER_MEMBER * members.len() {
            return Ok(Self::Sorted(by_id.into()));
        }
        let mut rows = vec![None; row_of(largest) + 1];
        for (id, seat) in by_id {
            rows[row_of(id)] = Some(seat);
        }
        Ok(Self::Table { smallest, rows: rows.into() })
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
    fn every_seat_is_found_however_far_apart_the_ids_lie() {
        let largest = u32::MAX;
        for ids in [
            vec![5, 6, 7],
            vec![7, 6, 5],
            vec![9, 2, 6],
            vec![12, 1, 3],
            vec![13, 1, 3],
            vec![largest, largest - 2],
            vec![largest, 0],
        ] {
            let ring = view(&ids);
            let strangers = [0, 1, 4, 8, 10, 14, 1_000, largest - 1, largest];
            for id in ids.iter().copied().chain(strangers) {
                let seat = ids.iter().position(|&member| member == id).map(Seat::at);
                assert_eq!(ring.seat(ProcessId(id)), seat, "{id} of {ids:?}");
            }
        }
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
