//! Whose turn it is: the whole rule of order, as a pure function.
//!
//! Everybody who holds or waits has a ticket; lower tickets came first. A request is granted when
//! it goes together with all who hold, *and with all who wait ahead of it*: so a newcomer, shared
//! or exclusive, never passes a waiter, and no stream of readers keeps a writer out.
//!
//! One who waits and is stopped (SIGSTOP, Ctrl-Z) is *passed over*: it cannot take what is free, so
//! those behind it need not wait for it. It keeps its place, and has no claim until it goes on.
//!
//! # Exclusion
//!
//! Invariant, of all who are alive, hold and are not revoked, whatever their tickets:
//! - one who holds exclusively is alone;
//! - otherwise they are all readers, or all have one of n slots and are at most n.
//!
//! It holds when somebody is granted, because that is the condition for it: `holders` are *all* who
//! hold, those with higher tickets too, seen under the latch, in which alone grants are made. And
//! it goes on to hold, because in between holders only leave. Who is stopped does not come into it:
//! a wrong guess there costs somebody its turn, never exclusion. A waiter that goes on in the very
//! moment in which it is passed over takes the latch either before the one behind it, and holds;
//! or after it, and finds a holder with a higher ticket, for which it waits like for any other.
//!
//! # Order
//!
//! Of two who wait and are not stopped, the one with the lower ticket is granted first, or both
//! together. For a < b, b is granted only when a is not among those it must wait for; that is, when
//! they go together, or a was seen to be stopped under the same latch.
//!
//! # Nobody sleeps for ever
//!
//! A waiter sleeps on the nearest one ahead that is not stopped, or else on holders, and looks
//! again when that one is served, leaves or is seen to be stopped (the watch looks after that). If
//! one that was stopped goes on, nobody need be told: it sleeps on something itself, and looks when
//! that is over; and whoever looks after that sees it wait.

use crate::{Error, Mode, Usage};

/// Somebody with another ticket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Other {
    /// The number by which it came: smaller is earlier.
    pub ticket: u64,
    /// What it asked for, or has.
    pub mode: Mode,
}

/// What a request has to do. `T` is what is known of who waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Turn<T> {
    /// It is its turn: take the lock.
    Now,
    /// Sleep until this one waits no longer, then look again.
    Behind(T),
    /// Sleep until one of these tickets is gone, then look again.
    Until(Vec<u64>),
}

/// Whose turn it is, seen from a request for `mode`: `holders` are all who hold, `ahead` those who
/// wait ahead of it, the nearest first, without those who are passed over. No more of them are
/// asked for than needed.
pub fn turn<T>(
    mode: Mode,
    holders: &[Other],
    mut ahead: impl Iterator<Item = Result<(Mode, T), Error>>,
) -> Result<Turn<T>, Error> {
    let nearest = ahead.next().transpose()?;
    if goes_with(mode, holders) {
        let room = match (mode, &nearest) {
            (_, None) => true,
            (Mode::Exclusive, Some(_)) => false,
            (Mode::Shared, Some((nearest, _))) => {
                // Readers who were let in and have not looked yet.
                let mut rest = modes(*nearest, ahead.by_ref());
                let writer = rest.find(|it| !matches!(it, Ok(Mode::Shared)));
                writer.transpose()?.is_none()
            }
            (Mode::Slot { of }, Some((nearest, _))) => {
                let free = of.get() as usize - holders.len();
                let rest = modes(*nearest, ahead.by_ref());
                let ahead: Vec<Mode> = rest.take(free).collect::<Result<_, _>>()?;
                ahead.len() < free
            }
        };
        if room {
            return Ok(Turn::Now);
        }
    }
    // Not at the head of the queue: nothing can change before the one in front of us is served or
    // gives up.
    if let Some((_, nearest)) = nearest {
        return Ok(Turn::Behind(nearest));
    }
    let in_the_way = holders.iter().filter(|it| match mode {
        Mode::Shared => it.mode != Mode::Shared,
        Mode::Exclusive | Mode::Slot { .. } => true,
    });
    let tickets = in_the_way.map(|it| it.ticket);
    Ok(Turn::Until(match mode {
        // All of them must go: any one will do to sleep on.
        Mode::Exclusive | Mode::Shared => tickets.rev().take(1).collect(),
        // One of them must go, whichever.
        Mode::Slot { .. } => tickets.collect(),
    }))
}

/// What the nearest one wants, and those ahead of it.
fn modes<T>(
    nearest: Mode,
    ahead: impl Iterator<Item = Result<(Mode, T), Error>>,
) -> impl Iterator<Item = Result<Mode, Error>> {
    std::iter::once(Ok(nearest)).chain(ahead.map(|it| it.map(|(mode, _)| mode)))
}

/// Whether `mode` can be held beside all `holders`.
pub fn goes_with(mode: Mode, holders: &[Other]) -> bool {
    match mode {
        Mode::Exclusive => holders.is_empty(),
        Mode::Shared => holders.iter().all(|it| it.mode == Mode::Shared),
        Mode::Slot { of } => holders.len() < of.get() as usize,
    }
}

/// How a mode uses its name.
pub fn usage(mode: Mode) -> Usage {
    match mode {
        Mode::Exclusive | Mode::Shared => Usage::Lock,
        Mode::Slot { of } => Usage::Semaphore(of),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    const EXCLUSIVE: Mode = Mode::Exclusive;
    const SHARED: Mode = Mode::Shared;

    fn slot(of: u32) -> Mode {
        Mode::Slot { of: NonZeroU32::new(of).unwrap() }
    }

    /// Tickets, each with its mode: those who hold, and those who wait ahead, nearest first.
    fn turn_of(mode: Mode, holders: &[(u64, Mode)], ahead: &[(u64, Mode)]) -> Turn<u64> {
        let other = |(ticket, mode): &(u64, Mode)| Other { ticket: *ticket, mode: *mode };
        let holders: Vec<Other> = holders.iter().map(other).collect();
        turn(mode, &holders, ahead.iter().map(|&(ticket, mode)| Ok((mode, ticket)))).unwrap()
    }

    #[test]
    fn whoever_is_alone_goes_at_once() {
        for mode in [EXCLUSIVE, SHARED, slot(1)] {
            assert_eq!(turn_of(mode, &[], &[]), Turn::Now);
        }
    }

    #[test]
    fn readers_go_together_but_never_past_a_waiting_writer() {
        assert_eq!(turn_of(SHARED, &[(1, SHARED)], &[(2, SHARED)]), Turn::Now);
        assert_eq!(turn_of(SHARED, &[(1, SHARED)], &[(2, EXCLUSIVE)]), Turn::Behind(2));
        let behind_both = [(3, SHARED), (2, EXCLUSIVE)];
        assert_eq!(turn_of(SHARED, &[(1, SHARED)], &behind_both), Turn::Behind(3));
    }

    #[test]
    fn a_writer_at_the_head_sleeps_on_one_reader_after_the_other() {
        let readers = [(1, SHARED), (2, SHARED)];
        assert_eq!(turn_of(EXCLUSIVE, &readers, &[]), Turn::Until(vec![2]));
        assert_eq!(turn_of(EXCLUSIVE, &readers[..1], &[]), Turn::Until(vec![1]));
    }

    #[test]
    fn everybody_else_sleeps_on_the_one_in_front() {
        let ahead = [(5, SHARED), (2, EXCLUSIVE)];
        assert_eq!(turn_of(EXCLUSIVE, &[(1, EXCLUSIVE)], &ahead), Turn::Behind(5));
        assert_eq!(turn_of(EXCLUSIVE, &[(1, EXCLUSIVE)], &ahead[1..]), Turn::Behind(2));
    }

    #[test]
    fn a_reader_behind_a_writer_sleeps_on_the_writer() {
        assert_eq!(turn_of(SHARED, &[(3, EXCLUSIVE)], &[]), Turn::Until(vec![3]));
    }

    #[test]
    fn the_first_waiter_for_a_slot_takes_whichever_becomes_free() {
        let full = [(1, slot(2)), (4, slot(2))];
        assert_eq!(turn_of(slot(2), &full, &[]), Turn::Until(vec![1, 4]));
        assert_eq!(turn_of(slot(2), &full[1..], &[]), Turn::Now);
        assert_eq!(turn_of(slot(2), &full, &[(5, slot(2))]), Turn::Behind(5));
        assert_eq!(turn_of(slot(2), &full[1..], &[(5, slot(2))]), Turn::Behind(5));
        assert_eq!(turn_of(slot(3), &full[1..], &[(5, slot(3))]), Turn::Now);
    }

    #[test]
    fn one_who_was_passed_over_waits_for_holders_that_came_later() {
        // Ticket 2 was stopped and goes on: 7 and 8 hold by now, 1 still does.
        assert_eq!(turn_of(EXCLUSIVE, &[(7, EXCLUSIVE)], &[]), Turn::Until(vec![7]));
        assert_eq!(turn_of(SHARED, &[(7, EXCLUSIVE)], &[]), Turn::Until(vec![7]));
        assert_eq!(turn_of(EXCLUSIVE, &[(7, SHARED), (8, SHARED)], &[]), Turn::Until(vec![8]));
        assert_eq!(turn_of(slot(2), &[(1, slot(2)), (7, slot(2))], &[]), Turn::Until(vec![1, 7]));
        assert_eq!(turn_of(slot(3), &[(1, slot(3)), (7, slot(3))], &[]), Turn::Now);
    }

    #[test]
    fn nobody_is_asked_for_who_does_not_matter() {
        let mut asked = 0;
        let endless = std::iter::from_fn(|| {
            asked += 1;
            Some(Ok((EXCLUSIVE, 100 - asked)))
        });
        let holder = [Other { ticket: 1, mode: EXCLUSIVE }];
        assert_eq!(turn(EXCLUSIVE, &holder, endless).unwrap(), Turn::Behind(99));
        assert_eq!(asked, 1);
    }
}
