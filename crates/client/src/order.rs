//! Whose turn it is, for engines that see the whole queue at once.
//!
//! All who hold or wait stand in one queue, first come first. Somebody is let in if all before it
//! are, and go together with it. So a newcomer never passes a waiter, in whatever mode, and no
//! stream of readers keeps a writer out.

use crate::{Mode, Usage};

/// How a request in that mode uses its name.
pub(crate) fn usage(mode: Mode) -> Usage {
    match mode {
        Mode::Exclusive | Mode::Shared => Usage::Lock,
        Mode::Slot { of } => Usage::Semaphore(of),
    }
}

/// Those before somebody in the queue, as far as it matters to that somebody.
#[derive(Clone, Copy, Default)]
pub(crate) struct Before {
    count: u64,
    not_shared: u64,
    /// Of those in a slot, how many there are in all; none if they do not agree.
    slots: Option<u32>,
}

impl Before {
    /// One more stands there.
    pub(crate) fn add(&mut self, mode: Mode) {
        let of = match mode {
            Mode::Slot { of } => Some(of.get()),
            Mode::Exclusive | Mode::Shared => None,
        };
        self.slots = if self.count == 0 { of } else { self.slots.filter(|it| Some(*it) == of) };
        self.count += 1;
        self.not_shared += u64::from(mode != Mode::Shared);
    }

    /// Whether somebody who comes now goes together with all of them.
    pub(crate) fn lets_in(&self, mode: Mode) -> bool {
        match mode {
            Mode::Exclusive => self.count == 0,
            Mode::Shared => self.not_shared == 0,
            Mode::Slot { of } => {
                let agrees = self.count == 0 || self.slots == Some(of.get());
                agrees && self.count < u64::from(of.get())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn slot(of: u32) -> Mode {
        Mode::Slot { of: NonZeroU32::new(of).unwrap() }
    }

    fn lets_in(before: &[Mode], mode: Mode) -> bool {
        let mut them = Before::default();
        before.iter().for_each(|it| them.add(*it));
        them.lets_in(mode)
    }

    #[test]
    fn only_readers_and_equal_slots_go_together() {
        use Mode::{Exclusive, Shared};
        for mode in [Exclusive, Shared, slot(1)] {
            assert!(lets_in(&[], mode));
        }
        assert!(lets_in(&[Shared, Shared], Shared));
        assert!(!lets_in(&[Shared, Exclusive], Shared));
        assert!(!lets_in(&[Shared], Exclusive));
        assert!(lets_in(&[slot(2)], slot(2)));
        assert!(!lets_in(&[slot(2), slot(2)], slot(2)));
        for stranger in [Exclusive, Shared, slot(3)] {
            assert!(!lets_in(&[stranger], slot(2)), "{stranger:?}");
            assert!(!lets_in(&[slot(2)], stranger), "{stranger:?}");
            assert!(!lets_in(&[slot(5), stranger], slot(5)), "{stranger:?}");
        }
    }
}
