//! What lasts at a process: waiting, holding, electing, leading, being down, being cut off.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{Promises, Seat};
use conclave_observe::{BarChange, BarSort, Event, Exclusion, LockName, Said, Side, Time, What};

use crate::scene::{AbsenceKind, BarKind};

/// Something lasts at a process: it waits or holds, takes part in an election or leads.
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
    /// Whether it is another process that goes on.
    pub is_replaced: bool,
    /// Whether it was down before it did anything.
    pub is_from_the_start: bool,
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

/// More than one process has what only one may have.
pub(crate) struct Clash {
    pub sort: &'static BarSort,
    lock: LockName,
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
    promises: Promises,
}

/// Where in the lists the spans are that have not ended yet, of one process.
#[derive(Clone, Default)]
struct Open {
    stays: Vec<usize>,
    down: Option<usize>,
    paused: Option<usize>,
    cuts: Vec<usize>,
    /// Whether anything was seen of it yet.
    is_seen: bool,
}

impl Spans {
    pub fn new(members: usize, promises: Promises) -> Self {
        Self {
            stays: Vec::new(),
            absences: Vec::new(),
            cuts: Vec::new(),
            clashes: Vec::new(),
            open: vec![Open::default(); members],
            promises,
        }
    }

    pub fn on(&mut self, event: &Event) {
        let Event { at, seat, what } = *event;
        match what {
            What::Asked(said) | What::Told(said) => {
                for change in said.word.picture.bars {
                    self.change(at, seat, &said, *change);
                }
            }
            What::Crashed => {
                for index in core::mem::take(&mut self.open[seat.index()].stays) {
                    self.end_stay(at, index);
                }
                self.end_pause(at, seat);
                self.begin_absence(at, seat, AbsenceKind::Down);
            }
            What::Returned => self.end_down(at, seat, false),
            What::Replaced => self.end_down(at, seat, true),
            What::Paused => {
                self.begin_absence(at, seat, AbsenceKind::Paused);
                self.pause_changed(at, seat);
            }
            What::Resumed => {
                self.end_pause(at, seat);
                self.pause_changed(at, seat);
            }
            What::Cut { partition, side } => {
                self.open[seat.index()].cuts.push(self.cuts.len());
                self.cuts.push(Cut { partition, seat, side, from: at, to: None });
            }
            What::Healed { partition } => self.heal(at, seat, partition),
            _ => {}
        }
        self.open[seat.index()].is_seen = true;
    }

    fn change(&mut self, at: Time, seat: Seat, said: &Said, change: BarChange) {
        match change {
            // Who begins twice has done so since it first did.
            BarChange::Begins(sort) if self.open_stay(seat, sort, said.lock).is_some() => {}
            BarChange::Begins(sort) => self.begin(at, seat, sort, said),
            BarChange::BeginsAnew(sort) => {
                self.end(at, seat, sort, said.lock);
                self.begin(at, seat, sort, said);
            }
            BarChange::Ends(sort) => self.end(at, seat, sort, said.lock),
            BarChange::IsItself(sort) if said.whom == Some(seat) => {
                let open = self.open_stay(seat, sort, said.lock);
                let is_same = |index: usize| self.stays[index].kind == BarKind::of(sort, said);
                if !open.is_some_and(is_same) {
                    self.end(at, seat, sort, said.lock);
                    self.begin(at, seat, sort, said);
                }
            }
            BarChange::IsItself(sort) => self.end(at, seat, sort, said.lock),
        }
    }

    fn open_stay(&self, seat: Seat, sort: &BarSort, lock: LockName) -> Option<usize> {
        let is_meant = |&&index: &&usize| {
            let kind = &self.stays[index].kind;
            kind.sort.name == sort.name && kind.lock == lock
        };
        self.open[seat.index()].stays.iter().find(is_meant).copied()
    }

    fn begin(&mut self, from: Time, seat: Seat, sort: &'static BarSort, said: &Said) {
        self.open[seat.index()].stays.push(self.stays.len());
        self.stays.push(Stay { seat, kind: BarKind::of(sort, said), from, to: None });
        self.owners_changed(from, sort, said.lock);
    }

    fn end(&mut self, at: Time, seat: Seat, sort: &'static BarSort, lock: LockName) {
        if let Some(index) = self.open_stay(seat, sort, lock) {
            self.open[seat.index()].stays.retain(|&open| open != index);
            self.end_stay(at, index);
        }
    }

    fn end_stay(&mut self, at: Time, index: usize) {
        self.stays[index].to = Some(at);
        let BarKind { sort, lock, .. } = self.stays[index].kind;
        self.owners_changed(at, sort, lock);
    }

    fn pause_changed(&mut self, at: Time, seat: Seat) {
        for index in self.open[seat.index()].stays.clone() {
            let BarKind { sort, lock, .. } = self.stays[index].kind;
            if matches!(sort.exclusion, Exclusion::IfPromised(_)) {
                self.owners_changed(at, sort, lock);
            }
        }
    }

    /// The order of events decides, not the clock: who enters before another leaves clashes with it
    /// even if both happen at the same time. But where somebody may follow another at once, and
    /// whoever goes on after a pause may learn at once that it was followed, what takes no time is
    /// no clash.
    fn owners_changed(&mut self, at: Time, sort: &'static BarSort, lock: LockName) {
        if sort.exclusion == Exclusion::None {
            return;
        }
        let is_meant = |clash: &Clash| clash.sort.name == sort.name && clash.lock == lock;
        let open = |clash: &Clash| clash.to.is_none() && is_meant(clash);
        if let Some(place) = self.clashes.iter().rposition(open) {
            self.clashes[place].to = Some(at);
            let is_momentary = self.clashes[place].from == at;
            if is_momentary && matches!(sort.exclusion, Exclusion::IfPromised(_)) {
                self.clashes.remove(place);
            }
        }
        let holders = self.too_many(sort, lock);
        if holders.len() > 1 {
            self.clashes.push(Clash { sort, lock, holders, from: at, to: None });
        }
    }

    /// Those that must not have it beside each other. A dethroned leader that does not know it yet
    /// is nothing wrong in itself, if no more was promised.
    fn too_many(&self, sort: &BarSort, lock: LockName) -> Vec<Seat> {
        let mut open: Vec<usize> =
            self.open.iter().flat_map(|open| open.stays.iter().copied()).collect();
        // In the order in which they began.
        open.sort_unstable();
        let open = open.into_iter().map(|index| &self.stays[index]);
        let meant = open.filter(|stay| stay.kind.sort.name == sort.name && stay.kind.lock == lock);
        let owners: Vec<(Seat, u64)> = meant.map(|stay| (stay.seat, stay.kind.number)).collect();
        match sort.exclusion {
            Exclusion::None => Vec::new(),
            Exclusion::Always => owners.into_iter().map(|(seat, _)| seat).collect(),
            Exclusion::IfPromised(promise) if self.promises.keeps(promise) => {
                let is_paused = |seat: Seat| self.open[seat.index()].paused.is_some();
                let seats = owners.into_iter().map(|(seat, _)| seat);
                seats.filter(|&seat| !is_paused(seat)).collect()
            }
            Exclusion::IfPromised(_) => {
                let of = |number: u64| owners.iter().filter(move |owner| owner.1 == number);
                let numbers = owners.iter().map(|owner| owner.1).filter(|&number| number > 0);
                let twice = numbers.into_iter().find(|&number| of(number).count() > 1);
                twice.map_or_else(Vec::new, |number| of(number).map(|owner| owner.0).collect())
            }
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
            let is_down = kind == AbsenceKind::Down;
            self.absences.push(Absence {
                seat,
                kind,
                from,
                to: None,
                is_replaced: false,
                is_from_the_start: is_down && from == Time::ZERO && !open.is_seen,
            });
        }
    }

    fn end_down(&mut self, at: Time, seat: Seat, is_replaced: bool) {
        if let Some(index) = self.open[seat.index()].down.take() {
            let down = &mut self.absences[index];
            (down.to, down.is_replaced) = (Some(at), is_replaced);
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
