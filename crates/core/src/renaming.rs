//! Other names for the same processes.

use alloc::vec;
use alloc::vec::Vec;

use crate::{ProcessId, Protocol, Seat, SeatSet, View};

/// Gives the members of a view each other's names: who was one is another afterwards.
///
/// The view itself stays as it is. It says who takes part, and the same names do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renaming {
    view: View,
    /// By seat: who it is from now on.
    to: Vec<Seat>,
}

/// How a process, and all that belongs to it, is renamed, where a name says who is who and no more:
/// it does about a renamed input what it would do by the old names, renamed. Nobody has to believe
/// that: a search that relies on it looks.
pub trait Symmetry<P: Protocol>: Sync {
    /// This process, with every process that it knows renamed.
    fn process(&self, process: &P, names: &Renaming) -> P;

    /// This message, with every process that it names renamed.
    fn message(&self, message: &P::Message, _: &Renaming) -> P::Message {
        message.clone()
    }

    /// This timer, renamed if it is named after a process.
    fn timer(&self, timer: P::Timer, _: &Renaming) -> P::Timer {
        timer
    }

    /// What such a process would have persisted.
    fn stored(&self, stored: &P::Stored, _: &Renaming) -> P::Stored {
        stored.clone()
    }
}

impl Renaming {
    /// Everybody by the name of the seat that stands in its row; `None` unless each stands there
    /// once.
    pub fn new(view: &View, to: Vec<Seat>) -> Option<Self> {
        let mut seen = SeatSet::empty(view.len());
        let is_new = |&seat: &Seat| seat.index() < view.len() && seen.insert(seat);
        let is_permutation = to.len() == view.len() && to.iter().all(is_new);
        is_permutation.then(|| Self { view: view.clone(), to })
    }

    /// All ways to rename those at `seats` into each other. The first changes nothing.
    pub fn all(view: &View, seats: &[Seat]) -> Vec<Self> {
        let nobody = (0..view.len()).map(Seat::at).collect::<Vec<_>>();
        let mut all = vec![nobody];
        // Each in its turn trades names with each that follows it, or with nobody.
        for (place, &one) in seats.iter().enumerate() {
            let before = core::mem::take(&mut all);
            for to in before {
                all.extend(seats[place..].iter().map(|&other| {
                    let mut to = to.clone();
                    to.swap(one.index(), other.index());
                    to
                }));
            }
        }
        all.into_iter().map(|to| Self { view: view.clone(), to }).collect()
    }

    /// Who that is from now on. A stranger keeps its name.
    pub fn id(&self, id: ProcessId) -> ProcessId {
        self.view.seat(id).map_or(id, |seat| self.view.at(self.seat(seat)))
    }

    /// The seat to which the member of that seat moves.
    pub fn seat(&self, seat: Seat) -> Seat {
        self.to[seat.index()]
    }

    /// These members, by their new names.
    pub fn set(&self, seats: &SeatSet) -> SeatSet {
        let mut renamed = SeatSet::empty(self.to.len());
        for seat in seats.iter() {
            renamed.insert(self.seat(seat));
        }
        renamed
    }

    /// A table with one row per member, each row where its member sits from now on.
    pub fn rows<T: Clone>(&self, rows: &[T]) -> Vec<T> {
        let mut renamed = rows.to_vec();
        for (row, seat) in rows.iter().zip(&self.to) {
            renamed[seat.index()].clone_from(row);
        }
        renamed
    }

    /// This one, and then `next`.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        let to = self.to.iter().map(|&seat| next.seat(seat)).collect();
        Self { view: self.view.clone(), to }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> View {
        View::new([7, 3, 9, 4].map(ProcessId)).unwrap()
    }

    fn seats(of: [u32; 4]) -> Vec<Seat> {
        of.map(Seat).to_vec()
    }

    #[test]
    fn names_seats_sets_and_tables_are_renamed_alike() {
        let names = Renaming::new(&view(), seats([1, 2, 0, 3])).unwrap();
        assert_eq!([7, 3, 9, 4].map(|id| names.id(ProcessId(id)).0), [3, 9, 7, 4]);
        assert_eq!(names.rows(&["7", "3", "9", "4"]), ["9", "7", "3", "4"]);
        let mut set = SeatSet::empty(4);
        set.insert(Seat(0));
        set.insert(Seat(3));
        assert_eq!(names.set(&set).iter().collect::<Vec<_>>(), [Seat(1), Seat(3)]);
    }

    #[test]
    fn a_stranger_keeps_its_name() {
        let names = Renaming::new(&view(), seats([1, 0, 2, 3])).unwrap();
        assert_eq!(names.id(ProcessId(8)), ProcessId(8));
    }

    #[test]
    fn two_cannot_get_one_name_and_nobody_a_strangers() {
        assert_eq!(Renaming::new(&view(), seats([0, 0, 2, 3])), None);
        assert_eq!(Renaming::new(&view(), seats([0, 1, 2, 4])), None);
        assert_eq!(Renaming::new(&view(), vec![Seat(0)]), None);
    }

    #[test]
    fn all_of_three_are_six_that_leave_the_fourth_alone() {
        let all = Renaming::all(&view(), &[Seat(1), Seat(2), Seat(3)]);
        assert_eq!(all[0].to, seats([0, 1, 2, 3]), "the first changes nothing");
        let mut different: Vec<_> = all.iter().map(|names| names.to.clone()).collect();
        different.sort_unstable();
        different.dedup();
        assert_eq!((all.len(), different.len()), (6, 6));
        assert!(different.iter().all(|to| to[0] == Seat(0)));
        for (one, next) in all.iter().zip(all.iter().rev()) {
            assert!(all.contains(&one.then(next)), "two of them are one of them");
        }
    }

    #[test]
    fn one_after_the_other_is_both() {
        let all = Renaming::all(&view(), &[Seat(0), Seat(1), Seat(2)]);
        for one in &all {
            for next in &all {
                let (both, id) = (one.then(next), ProcessId(9));
                assert_eq!(both.id(id), next.id(one.id(id)));
                let rows = ["a", "b", "c", "d"];
                assert_eq!(both.rows(&rows), next.rows(&one.rows(&rows)));
            }
        }
    }
}
