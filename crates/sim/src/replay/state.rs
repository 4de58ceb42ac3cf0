//! All that decides how a run goes on.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{Protocol, Seat, View};
use conclave_observe::{MessageId, Side, Time};

/// The processes and all that is around them.
pub struct World<P: Protocol> {
    /// By seat; `None` while it is down.
    pub processes: Vec<Option<P>>,
    /// By seat: what it persisted last.
    pub stored: Vec<Option<P::Stored>>,
    /// Timers that are set.
    pub timers: BTreeMap<(Seat, P::Timer), Setting>,
    /// By seat: the numbers of what it said to itself and has not taken in, in order.
    pub own: Vec<VecDeque<MessageId>>,
    pub paused: BTreeSet<Seat>,
    /// Partitions in force: who is on which side.
    pub cuts: BTreeMap<(u16, Seat), Side>,
    in_flight: BTreeMap<MessageId, Flight<P::Message>>,
}

/// A message that is on its way.
#[derive(Clone)]
pub struct Flight<M> {
    pub from: Seat,
    pub to: Seat,
    pub message: M,
    /// Sent and duplicated, not yet received or lost.
    pub copies: u64,
}

/// When a timer would run out in a run that is timed; of two at once, the one that was set first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    pub at: Time,
    pub number: u64,
    pub is_deadline: bool,
}

/// All that decides how a run goes on, as it was at one moment. Neither the time nor the numbers of
/// messages are part of it.
pub struct Snapshot<P: Protocol> {
    processes: Vec<Option<P>>,
    stored: Vec<Option<P::Stored>>,
    timers: BTreeSet<(Seat, P::Timer)>,
    /// What is on its way, in the order in which it was sent.
    channels: BTreeMap<(Seat, Seat), Vec<P::Message>>,
    paused: BTreeSet<Seat>,
    cuts: BTreeMap<(u16, Seat), Side>,
}

impl<P: Protocol> World<P> {
    pub fn new(members: usize) -> Self {
        Self {
            processes: (0..members).map(|_| None).collect(),
            stored: vec![None; members],
            timers: BTreeMap::new(),
            own: (0..members).map(|_| VecDeque::new()).collect(),
            paused: BTreeSet::new(),
            cuts: BTreeMap::new(),
            in_flight: BTreeMap::new(),
        }
    }

    /// A crash loses all but what was persisted.
    pub fn crash(&mut self, seat: Seat) {
        self.processes[seat.index()] = None;
        self.timers.retain(|&(owner, _), _| owner != seat);
        self.paused.remove(&seat);
    }

    /// Whether that number was free.
    pub fn send(&mut self, id: MessageId, flight: Flight<P::Message>) -> bool {
        if flight.from == flight.to {
            self.own[flight.to.index()].push_back(id);
            return true;
        }
        self.in_flight.insert(id, flight).is_none()
    }

    /// One copy of a message is no longer on its way.
    pub fn take(&mut self, id: MessageId, from: Seat, to: Seat) -> Option<P::Message> {
        let flight = self.in_flight.get_mut(&id)?;
        if (flight.from, flight.to) != (from, to) {
            return None;
        }
        flight.copies -= 1;
        let message = flight.message.clone();
        if flight.copies == 0 {
            self.in_flight.remove(&id);
        }
        Some(message)
    }

    /// One more copy of a message is on its way, if there was one.
    pub fn double(&mut self, id: MessageId, from: Seat, to: Seat) -> bool {
        let flight = self.in_flight.get_mut(&id);
        let Some(flight) = flight.filter(|it| (it.from, it.to) == (from, to)) else { return false };
        flight.copies += 1;
        true
    }

    /// The deadline of a process that is due first, if one is due by then.
    pub fn first_deadline(&self, seat: Seat, now: Time) -> Option<P::Timer> {
        let own = self.timers.iter().filter(|((owner, _), _)| *owner == seat);
        let due = own.filter(|(_, setting)| setting.is_deadline && setting.at <= now);
        due.min_by_key(|(_, setting)| **setting).map(|(&(_, timer), _)| timer)
    }

    /// The timers of a process that are set, in the order in which they are due.
    pub fn timers_of(&self, seat: Seat) -> Vec<P::Timer> {
        let own = self.timers.iter().filter(|((owner, _), _)| *owner == seat);
        let mut own: Vec<_> = own.map(|(&(_, timer), &due)| (due, timer)).collect();
        own.sort_by_key(|&(due, _)| due);
        own.into_iter().map(|(_, timer)| timer).collect()
    }

    /// Whether nothing happens any more unless an application asks for it.
    pub fn is_quiet(&self) -> bool {
        self.in_flight.is_empty() && self.timers.is_empty() && self.paused.is_empty()
    }

    pub fn snapshot(&self) -> Snapshot<P> {
        let mut channels: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for flight in self.in_flight.values() {
            let copies = (0..flight.copies).map(|_| flight.message.clone());
            channels.entry((flight.from, flight.to)).or_default().extend(copies);
        }
        Snapshot {
            processes: self.processes.clone(),
            stored: self.stored.clone(),
            timers: self.timers.keys().copied().collect(),
            channels,
            paused: self.paused.clone(),
            cuts: self.cuts.clone(),
        }
    }
}

impl<P: Protocol> Snapshot<P> {
    /// What is otherwise in the other, if anything is.
    pub fn difference(&self, end: &Self, view: &View) -> Option<String> {
        let seats = || (0..view.len()).map(Seat::at);
        let process = |&seat: &Seat| {
            let index = seat.index();
            self.processes[index] != end.processes[index] || self.stored[index] != end.stored[index]
        };
        if let Some(seat) = seats().find(process) {
            return Some(format!("process {} is in another state at its end", view.at(seat)));
        }
        let timer = self.timers.symmetric_difference(&end.timers).next();
        if let Some((seat, timer)) = timer {
            let id = view.at(*seat);
            return Some(format!("timer {timer:?} of process {id} is set at one end only"));
        }
        let mut pairs = self.channels.keys().chain(end.channels.keys());
        let channel = pairs.find(|pair| self.channels.get(pair) != end.channels.get(pair));
        if let Some(&(from, to)) = channel {
            let (from, to) = (view.at(from), view.at(to));
            return Some(format!("other messages are on their way from {from} to {to} at its end"));
        }
        let surroundings = (&self.paused, &self.cuts) != (&end.paused, &end.cuts);
        surroundings.then(|| "other faults are under way at its end".into())
    }
}
