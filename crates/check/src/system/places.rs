//! Where things stand in a row of words.

use conclave_core::Seat;

/// Where things stand in a row of words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    pub(super) members: usize,
}

impl Places {
    pub(super) fn width(self) -> usize {
        self.members + self.members * (self.members - 1) + 2
    }

    #[inline]
    pub(super) fn channel(self, from: Seat, to: Seat) -> usize {
        let (from, to) = (from.index(), to.index());
        self.members + from * (self.members - 1) + to - usize::from(to > from)
    }

    pub(super) fn memory(self) -> usize {
        self.width() - 2
    }

    pub(super) fn allowance(self) -> usize {
        self.width() - 1
    }

    pub(super) fn pairs(self) -> impl Iterator<Item = (Seat, Seat)> {
        let seats = move || (0..self.members).map(Seat::at);
        seats()
            .flat_map(move |from| seats().filter(move |&to| to != from).map(move |to| (from, to)))
    }
}
