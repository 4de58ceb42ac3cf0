//! Everything that is to happen at some time and is not a message.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use conclave_core::Seat;
use conclave_observe::Time;

/// Something to come. Few of them at any time, so a heap will do.
#[derive(Debug)]
pub struct Agenda<C, T> {
    heap: BinaryHeap<Reverse<Entry<C, T>>>,
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
    /// A timer runs out, unless it was set anew or cancelled meanwhile.
    Timer { seat: Seat, timer: T, setting: u64 },
}

/// The order of what happens at the same time: first faults, then the application, then messages,
/// then timers. So an answer that takes exactly as long as a timer allows is in time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rank {
    Fault,
    Command,
    Message,
    Timer,
}

/// Later than anything.
const NOTHING: (Time, Rank) = (Time::NEVER, Rank::Timer);

#[derive(Debug)]
struct Entry<C, T> {
    key: (Time, Rank, u64),
    item: Item<C, T>,
}

impl<C, T> Agenda<C, T> {
    pub fn new() -> Self {
        Self { heap: BinaryHeap::new(), next: NOTHING, pushed: 0, commands: 0 }
    }

    pub fn push(&mut self, at: Time, item: Item<C, T>) {
        let rank = match item {
            Item::Fault(_) => Rank::Fault,
            Item::Command { .. } => Rank::Command,
            Item::Timer { .. } => Rank::Timer,
        };
        self.commands += usize::from(rank == Rank::Command);
        self.heap.push(Reverse(Entry { key: (at, rank, self.pushed), item }));
        self.pushed += 1;
        self.next = self.next.min((at, rank));
    }

    /// When the next item is due, and how it ranks among equals.
    #[inline]
    pub fn next(&self) -> (Time, Rank) {
        self.next
    }

    pub fn pop(&mut self) -> Option<(Time, Item<C, T>)> {
        let Reverse(Entry { key: (at, rank, _), item }) = self.heap.pop()?;
        self.commands -= usize::from(rank == Rank::Command);
        self.next = self.heap.peek().map_or(NOTHING, |Reverse(entry)| (entry.key.0, entry.key.1));
        Some((at, item))
    }

    /// How many commands are still to come.
    pub fn commands(&self) -> usize {
        self.commands
    }
}

impl<C, T> PartialEq for Entry<C, T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<C, T> Eq for Entry<C, T> {}

impl<C, T> PartialOrd for Entry<C, T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<C, T> Ord for Entry<C, T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}
