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
    /// By seat: the timers that it has set, by name.
    timers: Vec<Vec<(P::Timer, SetTimer)>>,
    /// By seat: the numbers of what it said to itself and has not taken in, in order.
    pub own: Vec<VecDeque<MessageId>>,
    pub paused: BTreeSet<Seat>,
    /// Partitions in force: who is on which side.
    pub cuts: BTreeMap<(u16, Seat), Side>,
    /// All that was ever said, in its order. The maps have places in this list, and so they are
    /// the same for every protocol, which takes much less time to compile.
    pub messages: Vec<P::Message>,
    in_flight: BTreeMap<MessageId, Flight>,
}

/// A message that is on its way.
struct Flight {
    from: Seat,
    to: Seat,
    /// Its place in the list of all.
    message: usize,
    /// Sent and duplicated, not yet received or lost.
    copies: u64,
}

/// When a timer would run out in a run that is timed; of two at once, the one that was set first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SetTimer {
    pub at: Time,
    pub number: u64,
    pub is_deadline: bool,
}

/// Who sends, and to whom.
type Pair = (Seat, Seat);

/// All that decides how a run goes on, as it was at one moment. Neither the time nor the numbers of
/// messages are part of it.
pub struct Snapshot<P: Protocol> {
    processes: Vec<Option<P>>,
    stored: Vec<Option<P::Stored>>,
    timers: Vec<Vec<P::Timer>>,
    /// What is on its way, by sender and receiver, in the order in which it was sent.
    channels: Vec<(Pair, Vec<P::Message>)>,
    paused: BTreeSet<Seat>,
    cuts: BTreeMap<(u16, Seat), Side>,
}

impl<P: Protocol> World<P> {
    pub fn new(members: usize) -> Self {
        Self {
            processes: (0..members).map(|_| None).collect(),
            stored: vec![None; members],
            timers: (0..members).map(|_| Vec::new()).collect(),
            own: (0..members).map(|_| VecDeque::new()).collect(),
            paused: BTreeSet::new(),
            cuts: BTreeMap::new(),
            messages: Vec::new(),
            in_flight: BTreeMap::new(),
        }
    }

    /// A crash loses all but what was persisted.
    pub fn crash(&mut self, seat: Seat) {
        self.processes[seat.index()] = None;
        self.timers[seat.index()].clear();
        self.paused.remove(&seat);
    }

    /// Whether that number was free.
    pub fn send(&mut self, id: MessageId, from: Seat, to: Seat, message: P::Message) -> bool {
        let place = self.messages.len();
        self.messages.push(message);
        if from == to {
            self.own[to.index()].push_back(id);
            return true;
        }
        let flight = Flight { from, to, message: place, copies: 1 };
        self.in_flight.insert(id, flight).is_none()
    }

    /// One copy of a message is no longer on its way.
    pub fn take(&mut self, id: MessageId, from: Seat, to: Seat) -> Option<P::Message> {
        let flight = self.in_flight.get_mut(&id)?;
        if (flight.from, flight.to) != (from, to) {
            return None;
        }
        flight.copies -= 1;
        let message = self.messages[flight.message].clone();
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

    /// Sets a timer, in place of what it was set to before.
    pub fn set_timer(&mut self, seat: Seat, timer: P::Timer, setting: SetTimer) {
        let timers = &mut self.timers[seat.index()];
        match timers.binary_search_by_key(&timer, |&(name, _)| name) {
            Ok(place) => timers[place].1 = setting,
            Err(place) => timers.insert(place, (timer, setting)),
        }
    }

    /// It ran out, or is not to.
    pub fn unset_timer(&mut self, seat: Seat, timer: P::Timer) {
        let timers = &mut self.timers[seat.index()];
        if let Ok(place) = timers.binary_search_by_key(&timer, |&(name, _)| name) {
            timers.remove(place);
        }
    }

    /// The deadline of a process that is due first, if one is due by then.
    pub fn first_deadline(&self, seat: Seat, now: Time) -> Option<P::Timer> {
        let own = self.timers[seat.index()].iter();
        let due = own.filter(|(_, setting)| setting.is_deadline && setting.at <= now);
        due.min_by_key(|(_, setting)| *setting).map(|&(timer, _)| timer)
    }

    /// The timers of a process that are set, in the order in which they are due.
    pub fn timers_of(&self, seat: Seat) -> Vec<P::Timer> {
        let timers = &self.timers[seat.index()];
        let mut order: Vec<(SetTimer, usize)> =
            timers.iter().enumerate().map(|(place, &(_, due))| (due, place)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, place)| timers[place].0).collect()
    }

    /// Whether nothing happens any more unless an application asks for it.
    pub fn is_quiet(&self) -> bool {
        self.in_flight.is_empty() && self.timers.iter().all(Vec::is_empty) && self.paused.is_empty()
    }

    pub fn snapshot(&self) -> Snapshot<P> {
        let mut places: BTreeMap<Pair, Vec<usize>> = BTreeMap::new();
        for flight in self.in_flight.values() {
            let copies = (0..flight.copies).map(|_| flight.message);
            places.entry((flight.from, flight.to)).or_default().extend(copies);
        }
        let messages = |places: Vec<usize>| {
            places.into_iter().map(|place| self.messages[place].clone()).collect()
        };
        let channels = places.into_iter().map(|(pair, places)| (pair, messages(places)));
        Snapshot {
            processes: self.processes.clone(),
            stored: self.stored.clone(),
            timers: self
                .timers
                .iter()
                .map(|it| it.iter().map(|&(name, _)| name).collect())
                .collect(),
            channels: channels.collect(),
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
        let timer = |seat: Seat| {
            let (own, others) = (&self.timers[seat.index()], &end.timers[seat.index()]);
            let of_one = own.iter().chain(others);
            let mut of_one = of_one.filter(|it| own.contains(it) != others.contains(it));
            of_one.next().map(|timer| (seat, timer))
        };
        if let Some((seat, timer)) = seats().find_map(timer) {
            let id = view.at(seat);
            return Some(format!("timer {timer:?} of process {id} is set at one end only"));
        }
        let mut pairs = self.channels.iter().chain(&end.channels).map(|&(pair, _)| pair);
        if let Some((from, to)) = pairs.find(|&pair| self.channel(pair) != end.channel(pair)) {
            let (from, to) = (view.at(from), view.at(to));
            return Some(format!("other messages are on their way from {from} to {to} at its end"));
        }
        let surroundings = (&self.paused, &self.cuts) != (&end.paused, &end.cuts);
        surroundings.then(|| "other faults are under way at its end".into())
    }

    /// What is on its way from the one to the other.
    fn channel(&self, pair: Pair) -> &[P::Message] {
        let place = self.channels.binary_search_by_key(&pair, |&(pair, _)| pair);
        place.map_or(&[], |place| &self.channels[place].1)
    }
}
