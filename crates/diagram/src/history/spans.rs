//! What lasts at a process: waiting, holding, electing, leading, being down, being cut off.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::election::Term;
use conclave_core::{Fence, Promises, Seat};
use conclave_observe::{Event, Side, Time, What};

use crate::scene::{AbsenceKind, BarKind, ClashKind};

/// A process waits or holds, takes part in an election or leads.
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

/// More than one process holds, or leads.
pub(crate) struct Clash {
    pub kind: ClashKind,
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
    leaders: Vec<Leader>,
    /// Whether leaders of different terms clash too.
    one_at_a_time: bool,
}

/// A process that leads.
#[derive(Clone, Copy)]
struct Leader {
    seat: Seat,
    term: Term,
    /// Whether it does nothing for a while, and so leads nobody.
    is_paused: bool,
}

/// Where in the lists the spans are that have not ended yet, of one process.
#[derive(Clone, Default)]
struct Open {
    waiting: Option<usize>,
    holding: Option<usize>,
    electing: Option<usize>,
    leading: Option<usize>,
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
            holders: Vec::new(),
            leaders: Vec::new(),
            one_at_a_time: matches!(promises, Promises::Election { one_at_a_time: true, .. }),
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
            What::Electing => self.begin_electing(at, seat),
            What::Elected { leader, term } => {
                self.end_electing(at, seat);
                if leader == seat {
                    self.begin_leading(at, seat, term);
                } else {
                    self.end_leading(at, seat);
                }
            }
            What::Vacant => self.end_leading(at, seat),
            What::Crashed => {
                self.end_waiting(at, seat);
                self.end_holding(at, seat);
                self.end_electing(at, seat);
                self.end_leading(at, seat);
                self.end_pause(at, seat);
                self.begin_absence(at, seat, AbsenceKind::Down);
            }
            What::Returned => self.end_down(at, seat, false),
            What::Replaced => self.end_down(at, seat, true),
            What::Paused => {
                self.begin_absence(at, seat, AbsenceKind::Paused);
                self.leader_paused(at, seat, true);
            }
            What::Resumed => {
                self.end_pause(at, seat);
                self.leader_paused(at, seat, false);
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
            let (kind, holders) = (ClashKind::Holders, self.holders.clone());
            self.clashes.push(Clash { kind, holders, from: at, to: None });
        }
    }

    fn begin_electing(&mut self, from: Time, seat: Seat) {
        if self.open[seat.index()].electing.is_none() {
            self.open[seat.index()].electing = Some(self.stays.len());
            self.stays.push(Stay { seat, kind: BarKind::Electing, from, to: None });
        }
    }

    fn end_electing(&mut self, at: Time, seat: Seat) {
        if let Some(index) = self.open[seat.index()].electing.take() {
            self.stays[index].to = Some(at);
        }
    }

    fn begin_leading(&mut self, from: Time, seat: Seat, term: Term) {
        // Who is told twice leads since it was first told.
        let kind = BarKind::Leading { term };
        let open = self.open[seat.index()].leading;
        if open.is_some_and(|index| self.stays[index].kind == kind) {
            return;
        }
        self.end_leading(from, seat);
        self.open[seat.index()].leading = Some(self.stays.len());
        self.stays.push(Stay { seat, kind, from, to: None });
        let is_paused = self.open[seat.index()].paused.is_some();
        self.leaders.push(Leader { seat, term, is_paused });
        self.leaders_changed(from);
    }

    fn end_leading(&mut self, at: Time, seat: Seat) {
        if let Some(index) = self.open[seat.index()].leading.take() {
            self.stays[index].to = Some(at);
            self.leaders.retain(|leader| leader.seat != seat);
            self.leaders_changed(at);
        }
    }

    fn leader_paused(&mut self, at: Time, seat: Seat, is_paused: bool) {
        if let Some(leader) = self.leaders.iter_mut().find(|leader| leader.seat == seat) {
            leader.is_paused = is_paused;
            self.leaders_changed(at);
        }
    }

    /// One leader may follow another at once, and whoever goes on after a pause may learn at once
    /// that it was followed: what takes no time is no clash.
    fn leaders_changed(&mut self, at: Time) {
        if let Some(last) = self.clashes.last_mut().filter(|last| last.to.is_none()) {
            last.to = Some(at);
            if last.from == at {
                self.clashes.pop();
            }
        }
        let holders = self.leaders_too_many();
        if holders.len() > 1 {
            let kind = ClashKind::Leaders;
            self.clashes.push(Clash { kind, holders, from: at, to: None });
        }
    }

    /// Those that must not lead beside each other: all, if that was promised; otherwise those of
    /// one term. A dethroned leader that does not know it yet is nothing wrong in itself.
    fn leaders_too_many(&self) -> Vec<Seat> {
        let leaders = self.leaders.iter();
        if self.one_at_a_time {
            return leaders.filter(|leader| !leader.is_paused).map(|leader| leader.seat).collect();
        }
        let of_term = |term: Term| self.leaders.iter().filter(move |leader| leader.term == term);
        let terms = leaders.map(|leader| leader.term).filter(|&term| term > Term::NONE);
        let twice = terms.into_iter().find(|&term| of_term(term).count() > 1);
        twice.map_or_else(Vec::new, |term| of_term(term).map(|leader| leader.seat).collect())
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
