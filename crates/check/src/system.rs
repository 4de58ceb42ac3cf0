//! A protocol as something to be searched: processes, channels, applications, faults, time.
//!
//! A state is a row of words: the number of each process with all that belongs to it, the number of
//! what is in each channel, the number of what the judge remembers, and what is left of all that is
//! bounded. What a process does about an input is worked out once and remembered, so most steps are
//! a few look-ups.
//!
//! What can happen in a state, in this order: an application asks; a message arrives; a timer runs
//! out; time passes; and, as long as some are left, faults. A message that a process sends to
//! itself is a part of the step that sends it.

mod channel;
mod client;
mod flaw;
mod node;
mod places;
mod setup;
mod step;
mod symmetry;
mod table;
mod tracer;

use std::hash::Hash;

use conclave_core::{Arrival, Effects, Input, Message, Protocol, Seat};
use conclave_observe::{Observable, Watch, What};
use smallvec::SmallVec;

use self::channel::{Channel, ChannelInfo, EMPTY, KindBit, Next, Wires};
use self::flaw::PREMISES;
use self::node::{Node, Timer, Witness};
use self::places::Places;
use self::setup::{Good, Left, Ticks};
use self::symmetry::{Group, Orbits};
use self::table::{Map, Mirror, PartId, Table};
use crate::{Fingerprint, FlawCode, Look, Model, Successors, Worker};

pub use client::{Ask, Calls, Client, Entering, Enters, Listens};
pub use flaw::{Flaw, Premise};
pub use setup::{Bounds, Channels, Faults, Setup, TimeModel};
pub use step::{Deed, MEMBERS_MAX};
pub use symmetry::{Asymmetry, INTERCHANGEABLE_MAX};
pub use tracer::Told;

/// A protocol, ready to be searched.
pub struct System<'a, P: Protocol, C: Client<P>> {
    setup: &'a Setup<'a, P, C>,
    places: Places,
    all: Left,
    wires: Wires<P::Message>,
    nodes: Table<Node<P, C::State>, NodeInfo>,
    watches: Table<Watch, WatchInfo>,
    news: Table<News, ()>,
    /// How processes are renamed into each other, if states are told apart only up to that.
    group: Option<Group>,
}

/// What is worth knowing of a process.
#[derive(Clone, Debug)]
struct NodeInfo {
    /// Whether its application can ask for something, and whether it has to.
    asks: Option<bool>,
    is_up: bool,
    waits: bool,
    is_done: bool,
    timers: SmallVec<[TimerInfo; 4]>,
}

#[derive(Clone, Copy, Debug)]
struct TimerInfo {
    tag: u16,
    /// Whether it can run out now.
    is_ripe: bool,
    /// Whether it must before time passes.
    is_due: bool,
}

#[derive(Clone, Copy, Debug)]
struct WatchInfo {
    breach: Option<FlawCode>,
    pending: u32,
}

/// What was seen of a step, where, in order.
type News = (Seat, SmallVec<[What; 2]>);

/// Nothing was seen.
const NO_NEWS: PartId = PartId::MAX;

/// What comes of an input.
#[derive(Clone, Debug)]
struct Outcome {
    node: PartId,
    sends: SmallVec<[(Seat, PartId); 4]>,
    news: PartId,
    kinds: KindBit,
    serves: bool,
    is_rounded: bool,
    /// Whether the process says that it broke its own invariant.
    is_broken: bool,
    /// Whether it is in a term beyond the bound.
    is_beyond: bool,
    /// How often it came of it.
    uses: u64,
}

impl<'a, P, C> System<'a, P, C>
where
    P: Protocol<Command: Observable, Notice: Observable>,
    C: Client<P>,
{
    /// Makes ready what is to be searched.
    ///
    /// # Panics
    ///
    /// If there are more than [`MEMBERS_MAX`] members.
    pub fn new(setup: &'a Setup<'a, P, C>) -> Self {
        assert!(setup.view.len() <= MEMBERS_MAX, "a search of so many would not end");
        Self {
            setup,
            places: Places { members: setup.view.len() },
            all: Left::all(setup.faults, setup.bounds),
            wires: Wires::new(setup.channels),
            nodes: Table::new(),
            watches: Table::new(),
            news: Table::new(),
            group: None,
        }
    }

    fn hand(&self) -> Hand<'_, P, C> {
        Hand {
            system: self,
            nodes: Mirror::new(),
            channels: Mirror::new(),
            messages: Mirror::new(),
            watches: Mirror::new(),
            news: Mirror::new(),
            outcomes: Vec::new(),
            known: Map::default(),
            longer: Map::default(),
            later_channels: Map::default(),
            later_nodes: Map::default(),
            judged: Map::default(),
            row: Vec::new(),
            orbits: self.group.as_ref().map(|group| Box::new(Orbits::new(group))),
            out: Effects::new(),
            premises: [0; PREMISES],
            is_cut_off: false,
        }
    }

    fn node(&self, node: Node<P, C::State>) -> PartId {
        self.nodes.id(node, |node| {
            let client = &self.setup.client;
            let asks = client.asks(&node.client).filter(|_| node.process.is_some());
            let is_sync = self.setup.time.is_sync();
            let timers = node.timers.iter().zip(timer_tags(&node.timers)).map(|(timer, tag)| {
                let (is_ripe, is_due) = (timer.after == 0, is_sync && timer.at_most == 0);
                TimerInfo { tag, is_ripe, is_due }
            });
            NodeInfo {
                asks: asks.map(|ask| ask.is_due),
                is_up: node.process.is_some(),
                waits: client.waits(&node.client),
                is_done: node.process.is_none() || client.is_done(&node.client),
                timers: timers.collect(),
            }
        })
    }

    fn watch(&self, watch: Watch) -> PartId {
        self.watches.id(watch, |watch| WatchInfo {
            breach: watch.broken().map(|breach| Flaw::Breach(breach).code()),
            pending: watch.pending().fold(0, |mask, seat| mask | 1 << seat.0),
        })
    }

    fn is_beyond(&self, node: &Node<P, C::State>) -> bool {
        let term = node.process.as_ref().map_or(0, Protocol::term);
        self.setup.bounds.terms.is_some_and(|most| term > most)
    }

    /// What was noted by a step at `seat` that made `node` of what was there.
    fn outcome(&self, node: Node<P, C::State>, notes: Notes<P::Message>) -> Outcome {
        let seat = node.seat;
        let to_others = notes.sends.iter().filter(|(to, _)| *to != seat);
        let sends: SmallVec<[(Seat, PartId); 4]> =
            to_others.map(|(to, message)| (*to, self.wires.message(message))).collect();
        let kinds = notes.sends.iter().fold(0, |bits, (_, it)| bits | 1 << (it.kind() % 32));
        let serves = notes.news.iter().any(|what| {
            matches!(what, What::Entered { .. } | What::Elected { .. } | What::Suspected { .. })
        });
        let is_broken = self.setup.check_invariants
            && node.process.as_ref().is_some_and(|process| process.invariants().is_err());
        let is_beyond = self.is_beyond(&node);
        let news = match notes.news.is_empty() {
            true => NO_NEWS,
            false => self.news.id((seat, notes.news), |_| ()),
        };
        let (node, is_rounded) = (self.node(node), notes.is_rounded);
        Outcome { node, sends, news, kinds, serves, is_rounded, is_broken, is_beyond, uses: 0 }
    }
}

/// What tells the timers of a process apart.
#[allow(clippy::cast_possible_truncation, reason = "a tag is but a part of it")]
fn timer_tags<T: Hash>(timers: &[Timer<T>]) -> SmallVec<[u16; 4]> {
    let mut tags = SmallVec::new();
    for timer in timers {
        let mut tag = Fingerprint::of(&timer.name).0 as u16;
        while tags.contains(&tag) {
            tag = tag.wrapping_add(1);
        }
        tags.push(tag);
    }
    tags
}

/// Notes what a step does.
struct Notes<M> {
    sends: SmallVec<[(Seat, M); 4]>,
    news: SmallVec<[What; 2]>,
    is_rounded: bool,
}

impl<M> Notes<M> {
    fn of(what: Option<What>) -> Self {
        Self { sends: SmallVec::new(), news: what.into_iter().collect(), is_rounded: false }
    }
}

impl<M: Clone> Witness<M> for Notes<M> {
    fn sent(&mut self, to: Seat, message: &M, _: bool) {
        self.sends.push((to, message.clone()));
    }

    fn took_own(&mut self, _: &M) {}

    fn told(&mut self, what: What) {
        self.news.push(what);
    }

    fn rounded(&mut self) {
        self.is_rounded = true;
    }
}

impl<P, C> Model for System<'_, P, C>
where
    P: Protocol<Command: Observable, Notice: Observable>,
    C: Client<P>,
{
    fn width(&self) -> usize {
        self.places.width()
    }

    fn worker(&self) -> Box<dyn Worker + Send + '_> {
        Box::new(self.hand())
    }

    fn bytes(&self) -> usize {
        self.nodes.bytes()
            + self.watches.bytes()
            + self.wires.channels.bytes()
            + self.wires.messages.bytes()
    }
}

/// Works out the steps of a system, and remembers what came of what.
pub struct Hand<'a, P: Protocol, C: Client<P>> {
    system: &'a System<'a, P, C>,
    nodes: Mirror<Node<P, C::State>, NodeInfo>,
    channels: Mirror<Channel<P::Message>, ChannelInfo>,
    messages: Mirror<P::Message, KindBit>,
    watches: Mirror<Watch, WatchInfo>,
    news: Mirror<News, ()>,
    outcomes: Vec<Outcome>,
    /// The outcome of an input to a process, by both.
    known: Map<u64, u32>,
    /// A channel with one more message, by both.
    longer: Map<u64, PartId>,
    later_channels: Map<PartId, PartId>,
    later_nodes: Map<PartId, PartId>,
    /// What the judge remembers after news, and whether it is quiet then.
    judged: Map<u64, PartId>,
    /// The state that is being made.
    row: Vec<u32>,
    /// What parts become by renaming, if states are told apart only up to that.
    orbits: Option<Box<Orbits>>,
    out: Effects<P>,
    premises: [u64; PREMISES],
    /// Whether a bound cuts off what must be done in the state that is looked at.
    is_cut_off: bool,
}

/// What can happen to a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cause {
    Asks,
    Arrives(Seat, PartId),
    RunsOut(u32),
    Crashes,
    Returns,
}

impl Cause {
    /// With a process, as one number: a key in several words would have to be put together again
    /// for every look-up.
    #[inline]
    fn key(self, node: PartId) -> u64 {
        let (sort, seat, number) = match self {
            Self::Asks => (0_u64, 0, 0),
            Self::Arrives(from, message) => (1, from.0, message),
            Self::RunsOut(index) => (2, 0, index),
            Self::Crashes => (3, 0, 0),
            Self::Returns => (4, 0, 0),
        };
        debug_assert!(node >> 28 == 0 && number >> 24 == 0, "more parts than memory holds");
        u64::from(node) << 36 | u64::from(number) << 12 | u64::from(seat) << 4 | sort
    }
}

/// Two numbers as one.
#[inline]
fn pair(one: PartId, other: PartId) -> u64 {
    u64::from(one) << 32 | u64::from(other)
}

/// A state as it was found, and the fingerprint of that which is being made of it.
struct Base<'s> {
    words: &'s [u32],
    print: Fingerprint,
}

impl<P, C> Hand<'_, P, C>
where
    P: Protocol<Command: Observable, Notice: Observable>,
    C: Client<P>,
{
    /// What comes of it, as a place among outcomes.
    #[inline]
    fn outcome(&mut self, node: PartId, cause: Cause) -> usize {
        if let Some(&known) = self.known.get(&cause.key(node)) {
            return known as usize;
        }
        self.work_out(node, cause)
    }

    #[cold]
    fn work_out(&mut self, id: PartId, cause: Cause) -> usize {
        let outcome = self.take(id, cause);
        self.hold_against_renamed(id, cause, &outcome);
        let place = self.outcomes.len();
        self.outcomes.push(outcome);
        let known = u32::try_from(place).expect("fewer outcomes than states");
        self.known.insert(cause.key(id), known);
        place
    }

    fn take(&mut self, id: PartId, cause: Cause) -> Outcome {
        let Self { system, out, .. } = self;
        let setup = system.setup;
        let mut node = self.nodes.part(&system.nodes, id).value().clone();
        let notes = match cause {
            Cause::Asks => {
                let ask = setup.client.asks(&node.client).expect("it was asked whether it can");
                let mut notes = Notes::of(ask.command.what(setup.view));
                setup.client.asked(&mut node.client);
                node.take(setup, Input::Command(ask.command), out, &mut notes);
                notes
            }
            Cause::Arrives(from, message) => {
                let message = self.messages.part(&system.wires.messages, message).value();
                let input = Input::Message { from: setup.view.at(from), message: message.clone() };
                let mut notes = Notes::of(None);
                node.take(setup, input, out, &mut notes);
                notes
            }
            Cause::RunsOut(index) => {
                let timer = node.run_out(index as usize);
                let mut notes = Notes::of(None);
                node.take(setup, Input::Timer(timer), out, &mut notes);
                notes
            }
            Cause::Crashes => {
                node.crash(&setup.client);
                Notes::of(Some(What::Crashed))
            }
            Cause::Returns => {
                let mut notes = Notes::of(Some(What::Returned));
                node.start(setup, Arrival::Returning, out, &mut notes);
                notes
            }
        };
        system.outcome(node, notes)
    }

    /// Puts another part at a place of the state that is being made.
    #[inline]
    fn put_node(&mut self, print: &mut Fingerprint, seat: Seat, node: PartId) {
        let place = seat.index();
        let before = self.row[place];
        if before != node {
            let nodes = &self.system.nodes;
            let from = self.nodes.part(nodes, before).print;
            print.change(place, from, self.nodes.part(nodes, node).print);
            self.row[place] = node;
        }
    }

    #[inline]
    fn put_channel(&mut self, print: &mut Fingerprint, place: usize, channel: PartId) {
        let before = self.row[place];
        if before != channel {
            let channels = &self.system.wires.channels;
            let from = self.channels.part(channels, before).print;
            print.change(place, from, self.channels.part(channels, channel).print);
            self.row[place] = channel;
        }
    }

    #[inline]
    fn put_left(&mut self, print: &mut Fingerprint, left: Left) {
        let place = self.system.places.left();
        let (from, to) = (Fingerprint::of_number(self.row[place]), Fingerprint::of_number(left.0));
        print.change(place, from, to);
        self.row[place] = left.0;
    }

    fn put_watch(&mut self, print: &mut Fingerprint, watch: PartId) {
        let place = self.system.places.watch();
        let before = self.row[place];
        if before != watch {
            let watches = &self.system.watches;
            let from = self.watches.part(watches, before).print;
            print.change(place, from, self.watches.part(watches, watch).print);
            self.row[place] = watch;
        }
    }

    /// Puts a message at the end of a channel.
    #[inline]
    fn send(&mut self, print: &mut Fingerprint, from: Seat, to: Seat, message: PartId) {
        let place = self.system.places.channel(from, to);
        let before = self.row[place];
        let after = match self.longer.get(&pair(before, message)) {
            Some(&after) => after,
            None => self.lengthen(before, message),
        };
        self.put_channel(print, place, after);
    }

    #[cold]
    fn lengthen(&mut self, before: PartId, message: PartId) -> PartId {
        let wires = &self.system.wires;
        let said = self.messages.part(&wires.messages, message).value().clone();
        let channel = self.channels.part(&wires.channels, before).value();
        let after = wires.channel(channel.with(said, self.system.setup.time.bound()));
        self.longer.insert(pair(before, message), after);
        after
    }

    /// Whether nobody will ever take in what is sent to that one.
    #[inline]
    fn is_gone(&mut self, seat: Seat, left: Left) -> bool {
        let node = self.row[seat.index()];
        !self.nodes.part(&self.system.nodes, node).info.is_up && left.take(Good::Return).is_none()
    }

    /// Makes the state that an outcome at `seat` leads to, from what is in the row already, and
    /// hands it on.
    fn carry_out(
        &mut self,
        seat: Seat,
        outcome: usize,
        step: Deed,
        mut print: Fingerprint,
        out: &mut Successors,
    ) {
        self.outcomes[outcome].uses += 1;
        let Outcome { node, news, is_broken, is_beyond, .. } = self.outcomes[outcome];
        if is_beyond {
            self.premises[Premise::Beyond.index()] += 1;
            self.is_cut_off |= step.is_due();
            return;
        }
        self.put_node(&mut print, seat, node);
        for index in 0..self.outcomes[outcome].sends.len() {
            let (to, message) = self.outcomes[outcome].sends[index];
            let has_faults = self.system.all.0 & 0xffff != 0;
            let left = Left(self.row[self.system.places.left()]);
            if !(has_faults && self.is_gone(to, left)) {
                self.send(&mut print, seat, to, message);
            }
        }
        let breach = self.judge(&mut print, news, false);
        let invariant = is_broken.then(|| Flaw::Invariant.code());
        self.hand_on(step, print, breach.or(invariant), out);
    }

    /// The state is made: it is handed on, or what stands for all that are called otherwise.
    #[inline]
    fn hand_on(
        &mut self,
        deed: Deed,
        mut print: Fingerprint,
        flaw: Option<FlawCode>,
        out: &mut Successors,
    ) {
        if self.orbits.is_some() {
            print = self.rename_to_least(print);
        }
        out.push(deed.into(), &self.row, print, flaw);
    }

    /// Lets the judge know what was seen.
    #[inline]
    fn judge(&mut self, print: &mut Fingerprint, news: PartId, tick: bool) -> Option<FlawCode> {
        let is_election =
            matches!(self.system.setup.promises, conclave_core::Promises::Election { .. });
        if news == NO_NEWS && !is_election {
            return None;
        }
        let is_quiet = is_election && self.is_quiet();
        let watch = self.row[self.system.places.watch()];
        let how = u32::from(is_quiet) | u32::from(tick) << 1;
        let after = match self.judged.get(&(pair(watch, news) << 2 | u64::from(how))) {
            Some(&after) => after,
            None => self.judge_anew(watch, news, how),
        };
        self.put_watch(print, after);
        self.watches.part(&self.system.watches, after).info.breach
    }

    #[cold]
    fn judge_anew(&mut self, before: PartId, news: PartId, how: u32) -> PartId {
        let after = self.judged_by(before, news, how);
        self.hold_judge_against_renamed((before, news, how), after);
        self.judged.insert(pair(before, news) << 2 | u64::from(how), after);
        after
    }

    fn judged_by(&mut self, before: PartId, news: PartId, how: u32) -> PartId {
        let mut watch = self.watches.part(&self.system.watches, before).value().clone();
        if how & 2 != 0 {
            watch.on_tick();
        }
        if news != NO_NEWS {
            let (seat, whats) = self.news.part(&self.system.news, news).value();
            whats.iter().for_each(|&what| watch.on(*seat, what));
        }
        if how & 1 != 0 {
            watch.on_quiet();
        }
        self.system.watch(watch)
    }

    /// Whether no message is in flight that belongs to a call.
    fn is_quiet(&mut self) -> bool {
        let places = self.system.places;
        let channels = &self.system.wires.channels;
        (places.members..places.watch()).all(|place| {
            let channel = self.row[place];
            channel == EMPTY || !self.channels.part(channels, channel).info.has_call
        })
    }

    fn begin_row(&mut self, words: &[u32]) {
        self.row.clear();
        self.row.extend_from_slice(words);
    }

    fn asks(&mut self, base: &Base<'_>, seat: Seat, out: &mut Successors) -> bool {
        let node = base.words[seat.index()];
        let Some(is_due) = self.nodes.part(&self.system.nodes, node).info.asks else {
            return false;
        };
        let outcome = self.outcome(node, Cause::Asks);
        self.begin_row(base.words);
        let deed = if is_due { Deed::Leaves(seat) } else { Deed::Asks(seat) };
        self.carry_out(seat, outcome, deed, base.print, out);
        is_due
    }

    fn arrives(&mut self, base: &Base<'_>, from: Seat, to: Seat, out: &mut Successors) -> bool {
        let place = self.system.places.channel(from, to);
        let channel = base.words[place];
        if channel == EMPTY {
            return false;
        }
        let count = self.channels.part(&self.system.wires.channels, channel).info.next.len();
        for index in 0..count {
            let part = self.channels.part(&self.system.wires.channels, channel);
            let Next { tag, message, rest } = part.info.next[index];
            let outcome = self.outcome(base.words[to.index()], Cause::Arrives(from, message));
            self.begin_row(base.words);
            let mut print = base.print;
            self.put_channel(&mut print, place, rest);
            self.carry_out(to, outcome, Deed::Arrives { from, to, tag }, print, out);
        }
        true
    }

    /// Whether a message to that one must arrive before anything else happens there.
    fn awaits_message(&mut self, base: &Base<'_>, to: Seat) -> bool {
        let places = self.system.places;
        let others = (0..places.members).map(Seat::at).filter(|&from| from != to);
        let mut others = others.map(|from| base.words[places.channel(from, to)]);
        let channels = &self.system.wires.channels;
        others.any(|it| it != EMPTY && self.channels.part(channels, it).info.is_due)
    }

    fn runs_out(&mut self, base: &Base<'_>, seat: Seat, out: &mut Successors) -> bool {
        let node = base.words[seat.index()];
        let info = &self.nodes.part(&self.system.nodes, node).info;
        if !info.timers.iter().any(|timer| timer.is_ripe) {
            return false;
        }
        let timers = info.timers.clone();
        let setup = self.system.setup;
        if setup.time.is_sync() && self.awaits_message(base, seat) {
            return false;
        }
        let mut left = Left(base.words[self.system.places.left()]);
        if setup.bounds.timeouts.is_some() {
            let Some(less) = left.take(Good::Timeout) else {
                self.premises[Premise::Beyond.index()] += 1;
                self.is_cut_off = true;
                // It would run out, were it not for the bound: this is no deadlock.
                return true;
            };
            left = less;
        }
        for (index, timer) in timers.iter().enumerate().filter(|(_, timer)| timer.is_ripe) {
            let index = u32::try_from(index).expect("a process has few timers");
            let outcome = self.outcome(node, Cause::RunsOut(index));
            self.begin_row(base.words);
            let mut print = base.print;
            self.put_left(&mut print, left);
            self.carry_out(seat, outcome, Deed::RunsOut { seat, tag: timer.tag }, print, out);
        }
        true
    }

    /// Time passes, unless something must happen before.
    fn tick(&mut self, base: &Base<'_>, out: &mut Successors) -> bool {
        let system = self.system;
        let places = system.places;
        for place in 0..places.watch() {
            let part = base.words[place];
            let is_due = if place < places.members {
                let timers = &self.nodes.part(&system.nodes, part).info.timers;
                timers.iter().any(|timer| timer.is_due)
            } else {
                part != EMPTY && self.channels.part(&system.wires.channels, part).info.is_due
            };
            if is_due {
                return false;
            }
        }
        self.begin_row(base.words);
        let mut print = base.print;
        for place in 0..places.watch() {
            let part = base.words[place];
            if place < places.members {
                let later = match self.later_nodes.get(&part) {
                    Some(&later) => later,
                    None => {
                        let mut node = self.nodes.part(&system.nodes, part).value().clone();
                        node.tick();
                        let later = system.node(node);
                        self.later_nodes.insert(part, later);
                        later
                    }
                };
                self.put_node(&mut print, Seat::at(place), later);
            } else if part != EMPTY {
                let later = match self.later_channels.get(&part) {
                    Some(&later) => later,
                    None => {
                        let channels = &system.wires.channels;
                        let later = self.channels.part(channels, part).value().later();
                        let later = system.wires.channel(later);
                        self.later_channels.insert(part, later);
                        later
                    }
                };
                self.put_channel(&mut print, place, later);
            }
        }
        if self.row == base.words {
            return false;
        }
        let breach = self.judge(&mut print, NO_NEWS, true);
        self.hand_on(Deed::Tick, print, breach, out);
        true
    }

    fn faults(&mut self, base: &Base<'_>, out: &mut Successors) {
        let left = Left(base.words[self.system.places.left()]);
        let seats = || (0..self.system.places.members).map(Seat::at);
        if let Some(less) = left.take(Good::Crash) {
            for seat in seats() {
                self.crashes(base, seat, less, out);
            }
        }
        if let Some(less) = left.take(Good::Return) {
            for seat in seats() {
                let node = base.words[seat.index()];
                if !self.nodes.part(&self.system.nodes, node).info.is_up {
                    let outcome = self.outcome(node, Cause::Returns);
                    self.begin_row(base.words);
                    let mut print = base.print;
                    self.put_left(&mut print, less);
                    self.carry_out(seat, outcome, Deed::Returns(seat), print, out);
                }
            }
        }
        if let Some(less) = left.take(Good::Loss) {
            self.harm(base, less, false, out);
        }
        if let Some(less) = left.take(Good::Duplication) {
            self.harm(base, less, true, out);
        }
    }

    fn crashes(&mut self, base: &Base<'_>, seat: Seat, less: Left, out: &mut Successors) {
        let node = base.words[seat.index()];
        if !self.nodes.part(&self.system.nodes, node).info.is_up {
            return;
        }
        let outcome = self.outcome(node, Cause::Crashes);
        self.begin_row(base.words);
        let mut print = base.print;
        self.put_left(&mut print, less);
        if less.take(Good::Return).is_none() {
            // What is on its way to it, nobody will take in.
            let places = self.system.places;
            for from in (0..places.members).map(Seat::at).filter(|&from| from != seat) {
                self.put_channel(&mut print, places.channel(from, seat), EMPTY);
            }
        }
        self.premises[Premise::Crashed.index()] += 1;
        self.carry_out(seat, outcome, Deed::Crashes(seat), print, out);
    }

    /// Loses or doubles each message that is on its way.
    fn harm(&mut self, base: &Base<'_>, less: Left, doubles: bool, out: &mut Successors) {
        let wires = &self.system.wires;
        for (from, to) in self.system.places.pairs() {
            let place = self.system.places.channel(from, to);
            let part = self.channels.part(&wires.channels, base.words[place]);
            let channel = &part.value().clone();
            for at in 0..channel.0.len() {
                if at > 0
                    && wires.order == Channels::Unordered
                    && channel.0[at] == channel.0[at - 1]
                {
                    continue;
                }
                let tag = wires.tag(channel, at);
                let (after, deed) = if doubles {
                    (channel.with_copy(at), Deed::IsDoubled { from, to, tag })
                } else {
                    (channel.without(at), Deed::IsLost { from, to, tag })
                };
                let after = wires.channel(after);
                self.begin_row(base.words);
                let mut print = base.print;
                self.put_left(&mut print, less);
                self.put_channel(&mut print, place, after);
                let breach = self.judge(&mut print, NO_NEWS, false);
                self.hand_on(deed, print, breach, out);
            }
        }
    }

    /// What is to be said of the state itself.
    fn look(&mut self, base: &Base<'_>, has_duty: bool) -> Look {
        let places = self.system.places;
        let watch = base.words[places.watch()];
        let mut pending = self.watches.part(&self.system.watches, watch).info.pending;
        let mut is_done = pending == 0;
        for seat in 0..places.members {
            let info = &self.nodes.part(&self.system.nodes, base.words[seat]).info;
            pending |= u32::from(info.waits) << seat;
            is_done &= info.is_done;
        }
        self.premises[Premise::TwoWait.index()] += u64::from(pending.count_ones() > 1);
        self.premises[Premise::Finished.index()] += u64::from(is_done);
        let is_stuck = pending != 0 && !has_duty;
        let is_faultless = Left(base.words[places.left()]).is_faultless(self.system.all);
        let flaw = if is_faultless { Flaw::Deadlock } else { Flaw::Stalled };
        let cut_off = if self.is_cut_off { Look::CUT_OFF } else { 0 };
        Look { pending: pending | cut_off, flaw: is_stuck.then(|| flaw.code()) }
    }
}

impl<P, C> Worker for Hand<'_, P, C>
where
    P: Protocol<Command: Observable, Notice: Observable>,
    C: Client<P>,
{
    fn begin(&mut self, out: &mut Successors) {
        let system = self.system;
        let (setup, places) = (system.setup, system.places);
        self.row.clear();
        self.row.resize(places.width(), EMPTY);
        self.row[places.left()] = system.all.0;
        let watch = Watch::new(setup.view.members(), setup.promises);
        self.row[places.watch()] = system.watch(watch);
        let mut flaw = None;
        let mut ignored = Fingerprint::default();
        let mut outcomes = Vec::new();
        for seat in (0..places.members).map(Seat::at) {
            let mut node = Node {
                seat,
                process: None,
                client: setup.client.first(seat),
                timers: SmallVec::new(),
                stored: None,
            };
            let mut notes = Notes::of(None);
            if setup.holder.and_then(|id| setup.view.seat(id)) == Some(seat) {
                notes.told(What::Entered { fence: conclave_core::Fence::default() });
            }
            node.start(setup, Arrival::Founding, &mut self.out, &mut notes);
            let outcome = system.outcome(node, notes);
            self.row[seat.index()] = outcome.node;
            outcomes.push((seat, outcome));
        }
        for (seat, outcome) in outcomes {
            for &(to, message) in &outcome.sends {
                self.send(&mut ignored, seat, to, message);
            }
            flaw = flaw.or(self.judge(&mut ignored, outcome.news, false));
            flaw = flaw.or(outcome.is_broken.then(|| Flaw::Invariant.code()));
            self.outcomes.push(Outcome { uses: 1, ..outcome });
        }
        let mut print = Fingerprint::default();
        for place in 0..places.width() {
            let word = self.row[place];
            let part = if place < places.members {
                self.nodes.part(&system.nodes, word).print
            } else if place < places.watch() {
                self.channels.part(&system.wires.channels, word).print
            } else if place == places.watch() {
                self.watches.part(&system.watches, word).print
            } else {
                Fingerprint::of_number(word)
            };
            print.add(place, part);
        }
        self.begins_the_same_by_any_name();
        out.push(Deed::Tick.into(), &self.row, print, flaw);
    }

    fn expand(&mut self, state: &[u32], print: Fingerprint, out: &mut Successors) -> Look {
        let base = Base { words: state, print };
        let places = self.system.places;
        self.is_cut_off = false;
        let mut has_duty = false;
        for seat in (0..places.members).map(Seat::at) {
            has_duty |= self.asks(&base, seat, out);
        }
        for (from, to) in places.pairs() {
            has_duty |= self.arrives(&base, from, to, out);
        }
        for seat in (0..places.members).map(Seat::at) {
            has_duty |= self.runs_out(&base, seat, out);
        }
        if self.system.setup.time.is_sync() {
            has_duty |= self.tick(&base, out);
        }
        if self.system.all.0 & 0xffff != 0 {
            self.faults(&base, out);
        }
        self.look(&base, has_duty)
    }

    fn premises(&self) -> Vec<u64> {
        let mut counts = self.premises.to_vec();
        counts.resize(PREMISES + P::Message::KINDS.len(), 0);
        for outcome in &self.outcomes {
            counts[Premise::Served.index()] += outcome.uses * u64::from(outcome.serves);
            counts[Premise::Rounded.index()] += outcome.uses * u64::from(outcome.is_rounded);
            for (kind, count) in counts[PREMISES..].iter_mut().enumerate().take(32) {
                *count += outcome.uses * u64::from(outcome.kinds >> kind & 1);
            }
        }
        counts
    }
}
