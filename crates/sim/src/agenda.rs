//! Everything that is to happen at some time and is not a message.

use alloc::collections::{BinaryHeap, VecDeque};
use core::cmp::Reverse;

use conclave_core::Seat;
use conclave_observe::Time;

/// Something to come. Few of them at any time, so a heap will do; but for timers. There can be
/// many, mostly set to run out after the same time, so mostly in the order in which they run out:
/// such a one only joins a queue, which a heap would take a logarithm for.
#[derive(Debug)]
pub struct Agenda<C, T> {
    heap: BinaryHeap<Reverse<Appointment<C, T>>>,
    /// Timers, each of which was later than all before it; the others are in the heap.
    queue: VecDeque<Appointment<C, T>>,
    /// When the first of them is due: asked for with every message, so it is kept at hand.
    next: (Time, Rank),
    pushed: u64,
    commands: usize,
}

/// What is to happen.
#[derive(Debug)]
pub enum Item<C, T> {
    /// The planned fault of that number begins or ends.
    Fault(usize),
    /// The application of that process says something, if the process is still the same.
    Command { seat: Seat, incarnation: u32, command: C },
    /// A slow process is done with the input that it works on, if the process is still the same.
    Done { seat: Seat, incarnation: u32 },
    /// A timer runs out, unless it was set anew or cancelled meanwhile. Of those at the same time
    /// the earlier setting goes first.
    Timer { seat: Seat, timer: T, number: u64, is_deadline: bool },
}

/// The order of what happens at the same time: first faults, then deadlines, then the application,
/// then messages, then timers. So an answer that takes exactly as long as a timer allows is in
/// time, and one that takes as long as a deadline allows is too late.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rank {
    Fault,
    Deadline,
    Command,
    Message,
    Timer,
}

/// Later than anything.
const NOTHING: (Time, Rank) = (Time::NEVER, Rank::Timer);

#[derive(Debug)]
struct Appointment<C, T> {
    key: (Time, Rank, u64),
    item: Item<C, T>,
}

impl<C, T> Agenda<C, T> {
    /// How much memory one thing to come takes.
    pub const ITEM_BYTES: usize = size_of::<Appointment<C, T>>();

    pub fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            queue: VecDeque::new(),
            next: NOTHING,
            pushed: 0,
            commands: 0,
        }
    }

    pub fn push(&mut self, at: Time, item: Item<C, T>) {
        let (rank, order) = match item {
            Item::Fault(_) => (Rank::Fault, self.pushed),
            // What comes of it is decided by what the application asked for, or by a message; both
            // are before timers.
            Item::Command { .. } | Item::Done { .. } => (Rank::Command, self.pushed),
            Item::Timer { number, is_deadline: true, .. } => (Rank::Deadline, number),
            Item::Timer { number, .. } => (Rank::Timer, number),
        };
        self.commands += usize::from(rank == Rank::Command);
        self.pushed += 1;
        let entry = Appointment { key: (at, rank, order), item };
        if rank == Rank::Timer && self.queue.back().is_none_or(|last| *last < entry) {
            self.queue.push_back(entry);
        } else {
            self.heap.push(Reverse(entry));
        }
        self.next = self.next.min((at, rank));
    }

    /// When the next item is due, and how it ranks among equals.
    #[inline]
    pub fn next(&self) -> (Time, Rank) {
        self.next
    }

    pub fn pop(&mut self) -> Option<(Time, Item<C, T>)> {
        let entry = if self.is_queue_first() {
            self.queue.pop_front()
        } else {
            self.heap.pop().map(|Reverse(entry)| entry)
        };
        let Appointment { key: (at, rank, _), item } = entry?;
        self.commands -= usize::from(rank == Rank::Command);
        self.next = self.front().map_or(NOTHING, |entry| (entry.key.0, entry.key.1));
        Some((at, item))
    }

    /// The next item, which stays.
    pub fn first(&self) -> Option<(Time, &Item<C, T>)> {
        self.front().map(|entry| (entry.key.0, &entry.item))
    }

    fn front(&self) -> Option<&Appointment<C, T>> {
        if self.is_queue_first() {
            self.queue.front()
        } else {
            self.heap.peek().map(|Reverse(entry)| entry)
        }
    }

    fn is_queue_first(&self) -> bool {
        match (self.queue.front(), self.heap.peek()) {
            (Some(queued), Some(Reverse(other))) => queued < other,
            (queued, _) => queued.is_some(),
        }
    }

    /// How many commands are still to come.
    pub fn commands(&self) -> usize {
        self.commands
    }
}

impl<C, T> PartialEq for Appointment<C, T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<C, T> Eq for Appointment<C, T> {}

impl<C, T> PartialOrd for Appointment<C, T> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<C, T> Ord for Appointment<C, T> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Stream;

    /// Timers that run out after always the same time, some that do not, and commands in between.
    #[test]
    fn things_come_out_by_time_and_rank_and_equals_in_the_order_they_went_in() {
        let mut stream = Stream::new(1, "agenda");
        let (mut agenda, mut twin) = (Agenda::<u64, u64>::new(), BinaryHeap::new());
        let (mut now, mut commands) = (0, 0);
        for order in 0..20_000_u64 {
            let (after, rank) = match stream.below(8) {
                0..=2 => (20, Rank::Timer),
                3 => (stream.below(40), Rank::Timer),
                4 => (stream.below(20), Rank::Command),
                _ => {
                    let due = twin.peek().map_or(NOTHING, |&Reverse((at, rank, _))| (at, rank));
                    assert_eq!(agenda.next(), due);
                    let first = twin.pop().map(|Reverse((at, _, order))| (at, order));
                    let popped = agenda.pop().map(|(at, item)| match item {
                        Item::Command { command, .. } => (at, command),
                        Item::Timer { number, .. } => (at, number),
                        Item::Fault(_) | Item::Done { .. } => unreachable!("none was pushed"),
                    });
                    assert_eq!(popped, first);
                    now = first.map_or(now, |(at, _)| at.0);
                    commands -= usize::from(due.1 == Rank::Command);
                    assert_eq!(agenda.commands(), commands);
                    continue;
                }
            };
            let (at, seat) = (Time(now + after), Seat(0));
            let item = if rank == Rank::Command {
                commands += 1;
                Item::Command { seat, incarnation: 0, command: order }
            } else {
                Item::Timer { seat, timer: 0, number: order, is_deadline: false }
            };
            agenda.push(at, item);
            twin.push(Reverse((at, rank, order)));
        }
        assert!(now > 0);
    }
}
