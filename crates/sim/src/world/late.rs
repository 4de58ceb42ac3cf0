//! What comes late: to a process that is slow, and over a partition that keeps it.

use alloc::vec::Vec;

use conclave_core::{Protocol, Seat};
use conclave_observe::Observed;

use super::faulty::{Stage, Withheld};
use super::{Held, Surroundings, World, is_call};
use crate::Application;
use crate::agenda::Item;
use crate::lines::Owed;
use crate::wire::{Flight, Wire};

impl<P, A, W, const RECORDS: bool> World<'_, P, A, W, RECORDS>
where
    P: Observed,
    A: Application<P::Family>,
    W: Wire<P::Message>,
{
    /// A slow process is done with an input: what comes of it happens now. A deadline that is due
    /// comes before it.
    pub(super) fn done(&mut self, seat: Seat, incarnation: u32) {
        if incarnation != self.around.incarnations[seat.index()] {
            return;
        }
        self.around.lines.rest(seat);
        // Who is paused does not work; it begins again when it goes on.
        if self.around.paused[seat.index()].is_some() {
            return;
        }
        self.take_deadlines(seat);
        while let Some(held) = self.around.lines.pop(seat, owed) {
            match held {
                Held::Message(flight) => self.deliver(flight),
                Held::Command { command, .. } => self.ask(seat, command),
                Held::Timer { timer, setting }
                    if self.around.timers.is_set(seat, timer, setting) =>
                {
                    self.run_out(seat, timer);
                }
                // Cancelled while it waited: that is no step.
                Held::Timer { .. } => continue,
            }
            break;
        }
        self.around.begin_step(seat);
    }

    /// As [`arrive`](Self::arrive), where the receiver could be paused or slow.
    pub(super) fn arrive_at_door(&mut self, flight: Flight<P::Message>) {
        let (around, to) = (&mut self.around, flight.to);
        if let Some(held) = &mut around.paused[to.index()] {
            held.push_back(Held::Message(flight));
        } else if around.lines.is_slow(to) && self.processes[to.index()].is_some() {
            around.stand_in_line(to, Held::Message(flight));
        } else {
            self.deliver(flight);
        }
    }

    /// What waited at the partition goes on. What was sent meanwhile sets off before anything
    /// arrives, because who takes something in may send more.
    pub(super) fn heal(&mut self, partition: usize) {
        let around = &mut self.around;
        around.heal(partition);
        let withheld = core::mem::take(&mut around.withheld);
        let (freed, kept): (Vec<_>, _) =
            withheld.into_iter().partition(|it| it.partition == partition);
        around.withheld = kept;
        let mut arriving = Vec::new();
        for Withheld { stage, flight, .. } in freed {
            match stage {
                Stage::Leaving(scripted) => around.set_off(flight, scripted),
                Stage::Arriving => arriving.push(flight),
            }
        }
        arriving.into_iter().for_each(|flight| self.arrive(flight));
    }
}

impl<P, A, W, const RECORDS: bool> Surroundings<'_, P, A, W, RECORDS>
where
    P: Observed,
    A: Application<P::Family>,
    W: Wire<P::Message>,
{
    /// Whether something is still to come although nothing is on its way.
    pub(super) fn is_held_up(&self) -> bool {
        self.owes() || self.can_wait && self.paused.iter().any(Option::is_some)
    }

    /// Whether a message or a command waits for a slow process, or at a partition.
    pub(super) fn owes(&self) -> bool {
        self.lines.owes() || self.withheld.iter().any(|it| is_call(&it.flight.message))
    }

    /// An input waits until a slow process has time for it.
    pub(super) fn stand_in_line(&mut self, seat: Seat, held: Held<P>) {
        self.faults.count_slow(seat);
        let owed = owed(&held);
        self.lines.push(seat, held, owed);
        self.begin_step(seat);
    }

    /// A slow process begins with the next input, if there is one.
    pub(super) fn begin_step(&mut self, seat: Seat) {
        if let Some(extra) = self.lines.begin(seat) {
            let incarnation = self.incarnations[seat.index()];
            self.agenda.push(self.witness.now + extra, Item::Done { seat, incarnation });
        }
    }
}

/// Whether a run must not end before that was taken in.
pub(super) fn owed<P: Protocol>(held: &Held<P>) -> Owed {
    match held {
        Held::Message(flight) if !is_call(&flight.message) => Owed::No,
        Held::Message(_) | Held::Command { .. } => Owed::Yes,
        Held::Timer { .. } => Owed::No,
    }
}
