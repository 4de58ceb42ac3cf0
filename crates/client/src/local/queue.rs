//! Whose turn it is: the whole rule of order, as a pure function.
//!
//! Everybody who holds or waits has a ticket; lower tickets came first. A request is granted when
//! everything ahead of it goes together with it, *waiters included*: so a newcomer, shared or
//! exclusive, never passes a waiter, and no stream of readers keeps a writer out.
//!
//! Invariants, for tickets a < b of one lock, both alive and not revoked:
//! - if b holds exclusively, there is no a;
//! - if b holds as a reader, a is a reader;
//! - if b holds one of n slots, fewer than n are ahead of it.
//!
//! They hold when b is granted, because that is the condition for it; and later too, because
//! nobody is ever added ahead of b, and who is ahead can only leave.

use super::kernel::TicketBytes;
use crate::{Mode, Usage};

/// Somebody with a lower ticket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ahead {
    /// Its ticket.
    pub ticket: u64,
    /// What it asked for.
    pub mode: Mode,
    /// Whether it still waits.
    pub waits: bool,
}

/// What a request has to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Take it.
    Now,
    /// Sleep until one of these is free, then look again.
    After(Vec<TicketBytes>),
}

/// Whose turn it is, seen from a request for `mode` behind `ahead`, in order of tickets.
pub fn turn(mode: Mode, ahead: &[Ahead]) -> Turn {
    if fits(mode, ahead) {
        return Turn::Now;
    }
    // Not at the head of the queue: nothing can change before the one in front of us is served or
    // gives up.
    if let Some(predecessor) = ahead.iter().rfind(|it| it.waits) {
        return Turn::After(vec![TicketBytes::Waiting(predecessor.ticket)]);
    }
    // At the head: only holders are in the way.
    let in_the_way = ahead.iter().filter(|it| match mode {
        Mode::Shared => it.mode != Mode::Shared,
        Mode::Exclusive | Mode::Slot { .. } => true,
    });
    let bytes = in_the_way.map(|it| TicketBytes::Alive(it.ticket));
    Turn::After(match mode {
        // All of them must go: any one will do to sleep on.
        Mode::Exclusive | Mode::Shared => bytes.rev().take(1).collect(),
        // One of them must go, whichever.
        Mode::Slot { .. } => bytes.collect(),
    })
}

fn fits(mode: Mode, ahead: &[Ahead]) -> bool {
    match mode {
        Mode::Exclusive => ahead.is_empty(),
        Mode::Shared => ahead.iter().all(|it| it.mode == Mode::Shared),
        Mode::Slot { of } => ahead.len() < of.get() as usize,
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

    fn holds(ticket: u64, mode: Mode) -> Ahead {
        Ahead { ticket, mode, waits: false }
    }

    fn waits(ticket: u64, mode: Mode) -> Ahead {
        Ahead { ticket, mode, waits: true }
    }

    #[test]
    fn whoever_is_alone_goes_at_once() {
        for mode in [EXCLUSIVE, SHARED, slot(1)] {
            assert_eq!(turn(mode, &[]), Turn::Now);
        }
    }

    #[test]
    fn readers_go_together_but_never_past_a_waiting_writer() {
        assert_eq!(turn(SHARED, &[holds(1, SHARED), waits(2, SHARED)]), Turn::Now);
        let behind_a_writer = [holds(1, SHARED), waits(2, EXCLUSIVE)];
        assert_eq!(turn(SHARED, &behind_a_writer), Turn::After(vec![TicketBytes::Waiting(2)]));
    }

    #[test]
    fn a_writer_at_the_head_sleeps_on_one_reader_after_the_other() {
        let readers = [holds(1, SHARED), holds(2, SHARED)];
        assert_eq!(turn(EXCLUSIVE, &readers), Turn::After(vec![TicketBytes::Alive(2)]));
        assert_eq!(turn(EXCLUSIVE, &readers[..1]), Turn::After(vec![TicketBytes::Alive(1)]));
    }

    #[test]
    fn everybody_else_sleeps_on_the_one_in_front() {
        let queue = [holds(1, EXCLUSIVE), waits(2, EXCLUSIVE), waits(5, SHARED)];
        assert_eq!(turn(EXCLUSIVE, &queue), Turn::After(vec![TicketBytes::Waiting(5)]));
        assert_eq!(turn(EXCLUSIVE, &queue[..2]), Turn::After(vec![TicketBytes::Waiting(2)]));
    }

    #[test]
    fn a_reader_behind_a_writer_sleeps_on_the_writer() {
        let queue = [holds(3, EXCLUSIVE)];
        assert_eq!(turn(SHARED, &queue), Turn::After(vec![TicketBytes::Alive(3)]));
    }

    #[test]
    fn the_first_waiter_for_a_slot_takes_whichever_becomes_free() {
        let full = [holds(1, slot(2)), holds(4, slot(2))];
        let either = vec![TicketBytes::Alive(1), TicketBytes::Alive(4)];
        assert_eq!(turn(slot(2), &full), Turn::After(either));
        assert_eq!(turn(slot(2), &full[1..]), Turn::Now);
        let queue = [full[0], full[1], waits(5, slot(2))];
        assert_eq!(turn(slot(2), &queue), Turn::After(vec![TicketBytes::Waiting(5)]));
    }
}
