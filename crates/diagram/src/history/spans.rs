//! What lasts at a process: waiting, holding, being down, being cut off.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{Fence, Seat};
use conclave_observe::{Event, Side, Time, What};

use crate::scene::{AbsenceKind, BarKind};

/// A process waits, or holds.
pub(crate) struct Stay {
    pub seat: Seat,
    pub kind: BarKind,
    pub from: Time,
    /// None while it lasts.
    pub to: Option<Time>,
}

/// A process does nothing.
pub(crate) struct Absence {
    pub seat: Seat,
    pub kind: AbsenceKind,
    pub from: Time,
    /// None while it lasts.
    pub to: Option<Time>,
}

/// A process is on one side of a partition.
pub(crate) struct Cut {
    pub partition: u16,
    pub seat: Seat,
    pub side: Side,
    pub from: Time,
    /// None while it lasts.
    pub to: Option<Time>,
}

/// More than one process holds.
pub(crate) struct Clash {
    pub holders: Vec<Seat>,
    pub from: Time,
    /// None while it lasts.
    pub to: Option<Time>,
}

/// Joins beginnings with ends.
pub(super) struct Spans {
    pub stays: Vec<Stay>,
    pub absences: Vec<Absence>,
    pub cuts: Vec<Cut>,
    pub clashes: Vec<Clash>,
    open: Vec<Open>,
    holders: Vec<Seat>,
}

/// Where in the lists the spans are that have not ended yet, of one process.
#[derive(Clone, Default)]
struct Open {
    waiting: Option<usize>,
    holding: Option<usize>,
    down: Option<usize>,
    paused: Option<usize>,
    cuts: Vec<usize>,
}

impl Spans {
    pub fn new(members: usize) -> Self {
        Self {
            stays: Vec::new(),
            absences: Vec::new(),
            cuts: Vec::new(),
            clashes: Vec::new(),
            open: vec![Open::default(); members],
            holders: Vec::new(),
        }
    }

    pub fn on(&mut self, event: &Event) {
        let Event { at, seat, what } = *event;
        match what {
            What::Requested => self.begin_waiting(at, seat),
            What::Entered { fence } => {
                self.end_waiting(at, seat);
                self.end_holding(at, seat);
                self.begin_holding(at, seat, fence);
            }
            What::Left => self.end_holding(at, seat),
            What::Crashed => {
                self.end_waiting(at, seat);
                self.end_holding(at, seat);
                self.end_pause(at, seat);
                self.begin_absence(at, seat, AbsenceKind::Down);
            }
            What::Returned => {
                if let Some(index) = self.open[seat.index()].down.take() {
                    self.absences[index].to = Some(at);
                }
            }
            What::Paused => self.begin_absence(at, seat, AbsenceKind::Paused),
            What::Resumed => self.end_pause(at, seat),
            What::Cut { partition, side } => {
                self.open[seat.index()].cuts.push(self.cuts.len());
                self.cuts.push(Cut { partition, seat, side, from: at, to: None });
            }
            What::Healed { partition } => self.heal(at, seat, partition),
            _ => {}
        }
    }

    fn begin_waiting(&mut self, from: Time, seat: Seat) {
        // Who asks twice waits since it first asked.
        if self.open[seat.index()].waiting.is_none() {
            self.open[seat.index()].waiting = Some(self.stays.len());
            self.stays.push(Stay { seat, kind: BarKind::Waiting, from, to: None });
        }
    }

    fn end_waiting(&mut self, at: Time, seat: Seat) {
        if let Some(index) = self.open[seat.index()].waiting.take() {
            self.stays[index].to = Some(at);
        }
    }

    fn begin_holding(&mut self, from: Time, seat: Seat, fence: Fence) {
        self.open[seat.index()].holding = Some(self.stays.len());
        self.stays.push(Stay { seat, kind: BarKind::Holding { fence }, from, to: None });
        self.holders.push(seat);
        self.holders_changed(from);
    }

    fn end_holding(&mut self, at: Time, seat: Seat) {
        if let Some(index) = self.open[seat.index()].holding.take() {
            self.stays[index].to = Some(at);
            self.holders.retain(|&holder| holder != seat);
            self.holders_changed(at);
        }
    }

    /// The order of events decides, not the clock: who enters before another leaves clashes with
    /// it even if both happen at the same time.
    fn holders_changed(&mut self, at: Time) {
        if let Some(last) = self.clashes.last_mut() {
            last.to = last.to.or(Some(at));
        }
        if self.holders.len() > 1 {
            self.clashes.push(Clash { holders: self.holders.clone(), from: at, to: None });
        }
    }

    fn begin_absence(&mut self, from: Time, seat: Seat, kind: AbsenceKind) {
        let open = &mut self.open[seat.index()];
        let slot = match kind {
            AbsenceKind::Down => &mut open.down,
            AbsenceKind::Paused => &mut open.paused,
        };
        if slot.is_none() {
            *slot = Some(self.absences.len());
            self.absences.push(Absence { seat, kind, from, to: None });
        }
    }

    fn end_pause(&mut self, at: Time, seat: Seat) {
        if let Some(index) = self.open[seat.index()].paused.take() {
            self.absences[index].to = Some(at);
        }
    }

    fn heal(&mut self, at: Time, seat: Seat, partition: u16) {
        let cuts = &mut self.cuts;
        self.open[seat.index()].cuts.retain(|&index| {
            let is_healed = cuts[index].partition == partition;
            if is_healed {
                cuts[index].to = Some(at);
            }
            !is_healed
        });
    }
}
