//! What goes wrong on the way, and who dies of what is said.

use alloc::vec;

use conclave_core::{Message, Seat};
use conclave_observe::{LossCause, Observed, Said, Side, What};

use super::late::owed;
use super::{Held, Surroundings, is_call};
use crate::agenda::Item;
use crate::faults_under_way::Cut;
use crate::wire::{Flight, Shift, Wire};
use crate::{Application, Crossing, Deed};

/// A message that waits at a partition.
pub(super) struct Withheld<M> {
    pub partition: usize,
    pub stage: Stage,
    pub flight: Flight<M>,
}

/// How far a message had come when the partition was in its way.
#[derive(Clone, Copy)]
pub(super) enum Stage {
    /// It was to be sent off: its way is still before it, and what the script does to it.
    Leaving(Option<(Deed, usize)>),
    /// It was to arrive.
    Arriving,
}

impl<P, A, W, const RECORDS: bool> Surroundings<'_, P, A, W, RECORDS>
where
    P: Observed,
    A: Application<P::Family>,
    W: Wire<P::Message>,
{
    /// Who is to die of what was said dies next, before anything else happens: the step that is
    /// under way is done first.
    #[inline]
    pub(super) fn doom_if_scripted(&mut self, seat: Seat, said: &Said) {
        if self.faults.has_crashes_on
            && let Some(action) = self.faults.on_said(seat, said)
        {
            self.agenda.push(self.witness.now, Item::Fault(action));
        }
    }

    /// Does to a message what the script says of it.
    pub(super) fn send_as_scripted(&mut self, flight: Flight<P::Message>, deed: Deed) {
        match deed {
            Deed::Drop => self.lose(&flight, LossCause::Network),
            Deed::Duplicate => {
                self.double(&flight);
                self.launch(flight);
            }
            Deed::Delay(by) => self.launch_shifted(flight, Shift::Later(by)),
            Deed::Hurry => self.launch_shifted(flight, Shift::Now),
        }
    }

    pub(super) fn launch_shifted(&mut self, flight: Flight<P::Message>, shift: Shift) {
        self.calls_in_flight += u64::from(is_call(&flight.message));
        self.wire.send_shifted(self.witness.now, flight, shift);
    }

    pub(super) fn double(&mut self, flight: &Flight<P::Message>) {
        let what = What::Duplicated { message: flight.id, to: flight.to };
        self.witness.event(flight.from, what);
        self.launch(flight.clone());
    }

    pub(super) fn send_faultily(&mut self, flight: Flight<P::Message>) {
        // What the script awaits is counted even if it meets a partition.
        let scripted = self.faults.script.on_sent(flight.message.kind(), flight.from, flight.to);
        self.set_off(flight, scripted);
    }

    /// A message sets off, for the first time or from a partition that is healed now; the script
    /// may have something to do with it.
    pub(super) fn set_off(&mut self, flight: Flight<P::Message>, scripted: Option<(Deed, usize)>) {
        if let Some(cut) = self.faults.cut_between(flight.from, flight.to) {
            return self.meet(cut, Stage::Leaving(scripted), flight);
        }
        if let Some((deed, label)) = scripted {
            self.faults.fired[label] += 1;
            return self.send_as_scripted(flight, deed);
        }
        let (loss, duplicate) = (self.setup.faults.loss, self.setup.faults.duplicate);
        if !loss.is_zero() && loss.happens(self.faults.stream.bits()) {
            self.faults.count_loss();
            return self.lose(&flight, LossCause::Network);
        }
        if !duplicate.is_zero() && duplicate.happens(self.faults.stream.bits()) {
            self.faults.count_duplicate();
            self.double(&flight);
        }
        self.launch(flight);
    }

    pub(super) fn lose(&mut self, flight: &Flight<P::Message>, cause: LossCause) {
        let what = What::Lost { message: flight.id, to: flight.to, cause };
        self.witness.event(flight.from, what);
    }

    /// A message meets a partition.
    pub(super) fn meet(
        &mut self,
        cut: (usize, Crossing),
        stage: Stage,
        flight: Flight<P::Message>,
    ) {
        match cut {
            (_, Crossing::Lost) => self.lose(&flight, LossCause::Partition),
            (partition, Crossing::Held) => {
                self.withheld.push(Withheld { partition, stage, flight });
            }
        }
    }

    /// What a paused or slow process had not taken in when it died is lost with it.
    pub(super) fn lose_held(&mut self, seat: Seat) {
        self.lines.rest(seat);
        let mut held = self.paused[seat.index()].take().unwrap_or_default();
        while let Some(waiting) = self.lines.pop(seat, owed) {
            held.push_back(waiting);
        }
        for held in held {
            if let Held::Message(flight) = held {
                self.lose(&flight, LossCause::ReceiverDown);
            }
        }
    }

    pub(super) fn cut(&mut self, partition: usize, label: usize) {
        let (plan, view) = (&self.setup.faults.partitions[partition], self.setup.view);
        let mut sides = vec![None; view.len()];
        for (ids, side) in [(&plan.left, Side::Left), (&plan.right, Side::Right)] {
            for seat in ids.iter().filter_map(|&id| view.seat(id)) {
                sides[seat.index()] = Some(side);
                let partition = u16::try_from(partition).unwrap_or(u16::MAX);
                self.witness.event(seat, What::Cut { partition, side });
            }
        }
        let (one_way, crossing) = (plan.one_way, plan.crossing);
        self.faults.cuts.push(Cut { partition, label, sides, one_way, crossing });
    }

    pub(super) fn heal(&mut self, partition: usize) {
        let plan = &self.setup.faults.partitions[partition];
        self.faults.cuts.retain(|cut| cut.partition != partition);
        for seat in plan.left.iter().chain(&plan.right).filter_map(|&id| self.setup.view.seat(id)) {
            let partition = u16::try_from(partition).unwrap_or(u16::MAX);
            self.witness.event(seat, What::Healed { partition });
        }
    }
}
