//! Inputs that wait for a slow process.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use conclave_core::{Seat, View};
use conclave_observe::Time;

use crate::FaultPlan;

/// By seat: the inputs that stand in line there. A process that is not slow takes each input at
/// once, so its line stays empty.
#[derive(Debug)]
pub struct Lines<H> {
    lines: Vec<Line<H>>,
    /// How many inputs stand in line that a run must not end without.
    owed: usize,
}

#[derive(Debug)]
struct Line<H> {
    /// How much longer each of its steps takes; `None` if it is not slow.
    extra: Option<Time>,
    inputs: VecDeque<H>,
    /// Whether it works on the first of them, so that it is known when that is done.
    is_at_work: bool,
}

/// Whether the run could be over while that input stands in line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owed {
    /// It could not: something that was asked for comes of it.
    Yes,
    /// It could: a beat, or a timer, of which there is always another.
    No,
}

impl<H> Lines<H> {
    /// A step of a process that is `k` times as slow takes `k - 1` typical delays longer.
    pub fn new(faults: &FaultPlan, view: &View, typical: Time) -> Self {
        let line = |_| Line { extra: None, inputs: VecDeque::new(), is_at_work: false };
        let mut lines: Vec<Line<H>> = (0..view.len()).map(line).collect();
        for slow in &faults.slow {
            if let Some(seat) = view.seat(slow.process) {
                lines[seat.index()].extra = Some(slow.extra(typical));
            }
        }
        Self { lines, owed: 0 }
    }

    /// Whether it takes its time.
    pub fn is_slow(&self, seat: Seat) -> bool {
        self.lines[seat.index()].extra.is_some()
    }

    /// Whether inputs stand in line that a run must not end without.
    pub fn owes(&self) -> bool {
        self.owed > 0
    }

    /// An input joins the line.
    pub fn push(&mut self, seat: Seat, input: H, owed: Owed) {
        self.owed += usize::from(owed == Owed::Yes);
        self.lines[seat.index()].inputs.push_back(input);
    }

    /// Takes up the next input, if there is one and it works on none: after how long that is done.
    pub fn begin(&mut self, seat: Seat) -> Option<Time> {
        let line = &mut self.lines[seat.index()];
        if line.is_at_work || line.inputs.is_empty() {
            return None;
        }
        line.is_at_work = true;
        line.extra
    }

    /// It lays its work down.
    pub fn rest(&mut self, seat: Seat) {
        self.lines[seat.index()].is_at_work = false;
    }

    /// The first input leaves the line.
    pub fn pop(&mut self, seat: Seat, owed: impl Fn(&H) -> Owed) -> Option<H> {
        let input = self.lines[seat.index()].inputs.pop_front()?;
        self.owed -= usize::from(owed(&input) == Owed::Yes);
        Some(input)
    }
}
