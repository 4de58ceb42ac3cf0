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
mod rules;
mod setup;
mod step;
mod stepper;
mod symmetry;
mod table;
mod tracer;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::Hash;
use core::sync::atomic::Ordering;

use conclave_core::{Arrival, Family, Host, Input, Message, Protocol, Renaming, Seat};
use conclave_observe::{Observed, Spoken, What};
use smallvec::SmallVec;

use self::channel::{ChannelInfo, Wires};
use self::node::{Node, Timer, Witness};
use self::places::Places;
use self::rules::{Cause, Frame, Harm, Harmed, NO_NEWS, NodeInfo, Reaction, Rules, TimerInfo};
use self::setup::Ticks;
use self::stepper::Stepper;
use self::table::{PartId, Source, Table};
use crate::{BoxedWorker, Fingerprint, Model};

pub use client::{Ask, Calls, Entering, Enters, Listens, Stepping, Steps, Users};
pub use flaw::{Flaw, Premise};
pub use setup::{Bounds, Channels, Faults, Setup, TimeModel};
pub use step::{Deed, SEARCHED_MEMBERS_MAX};
pub use symmetry::{Asymmetry, INTERCHANGEABLE_MAX};
pub use tracer::Told;

/// A protocol, ready to be searched.
pub struct System<'a, P: Protocol, C: Users<P::Family>> {
    setup: &'a Setup<'a, P, C>,
    frame: Frame,
    wires: Wires<P::Message>,
    nodes: Table<Node<P, C::State>, NodeInfo>,
}

impl<'a, P, C> System<'a, P, C>
where
    P: Observed,
    C: Users<P::Family>,
{
    /// Makes ready what is to be searched.
    ///
    /// # Panics
    ///
    /// If there are more than [`SEARCHED_MEMBERS_MAX`] members, or they read their clocks: there is
    /// none.
    pub fn new(setup: &'a Setup<'a, P, C>) -> Self {
        assert!(!P::READS_CLOCK, "a search has no clock to show to its processes");
        assert!(setup.view.len() <= SEARCHED_MEMBERS_MAX, "a search of so many would not end");
        Self {
            setup,
            frame: Frame::of(setup),
            wires: Wires::new(setup.channels),
            nodes: Table::of_at_most(rules::NODES_MAX),
        }
    }

    /// Whether a timer was set to what is no whole number of ticks, so that nothing that was found
    /// counts.
    pub(crate) fn is_inexact(&self) -> bool {
        self.frame.is_inexact.load(Ordering::Relaxed)
    }

    fn hand(&self) -> Stepper<'_> {
        Stepper::new(self, &self.frame)
    }

    fn node(&self, node: Node<P, C::State>) -> PartId {
        self.nodes.id(node, |node| {
            let client = &self.setup.client;
            let asks = client.asks(&node.client).filter(|_| node.process.is_some());
            let is_sync = self.setup.time.is_sync();
            let timers = node.timers.iter().zip(timer_tags(&node.timers)).map(|(timer, tag)| {
                let (is_ripe, is_due) = (timer.after == 0, is_sync && timer.at_most == 0);
                TimerInfo { tag, is_ripe, is_due, is_first: is_due && timer.is_deadline }
            });
            let timers: SmallVec<[TimerInfo; 4]> = timers.collect();
            NodeInfo {
                asks: asks.map(|ask| ask.is_due),
                is_up: node.process.is_some(),
                waits: client.waits(&node.client),
                is_done: node.process.is_none() || client.is_done(&node.client),
                has_deadline: timers.iter().any(|timer| timer.is_first),
                timers,
            }
        })
    }

    fn is_beyond(&self, node: &Node<P, C::State>) -> bool {
        let term = node.process.as_ref().map_or(0, Protocol::epoch);
        self.setup.bounds.terms.is_some_and(|most| term > most)
    }

    /// What was noted by a step at `seat` that made `node` of what was there.
    fn noted(&self, node: Node<P, C::State>, notes: Notes<P::Message>) -> Reaction {
        let seat = node.seat;
        let to_others = notes.sends.iter().filter(|(to, _)| *to != seat);
        let sends: SmallVec<[(Seat, PartId); 4]> =
            to_others.map(|(to, message)| (*to, self.wires.message(message))).collect();
        let kinds = notes.sends.iter().fold(0, |bits, (_, it)| bits | 1 << (it.kind() % 32));
        let vocabulary = self.setup.vocabulary;
        let mut served =
            notes.news.iter().filter_map(What::said).filter(|it| (vocabulary.serves)(it));
        let serves = served.clone().next().is_some();
        let last = self.setup.bounds.terms;
        let is_of_last_term = served.any(|said| Some(said.numbers[0]) == last);
        let is_broken = self.setup.check_invariants
            && node.process.as_ref().is_some_and(|process| process.invariants().is_err());
        let is_beyond = self.is_beyond(&node);
        let news = match notes.news.is_empty() {
            true => NO_NEWS,
            false => self.frame.news.id((seat, notes.news), |_| ()),
        };
        if notes.is_rounded {
            self.frame.is_inexact.store(true, Ordering::Relaxed);
        }
        let node = self.node(node);
        Reaction {
            node,
            sends,
            news,
            kinds,
            serves,
            is_of_last_term,
            is_broken,
            is_beyond,
            uses: 0,
        }
    }
}

/// What tells the timers of a process apart.
#[allow(clippy::cast_possible_truncation, reason = "a tag is but a part of it")]
fn timer_tags<T: Copy + Hash>(timers: &[Timer<T>]) -> SmallVec<[u16; 4]> {
    let mut tags = SmallVec::new();
    for timer in timers {
        let mut tag = Fingerprint::of(&(timer.name, timer.is_other)).0 as u16;
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

impl<P, C> Rules for System<'_, P, C>
where
    P: Observed,
    C: Users<P::Family>,
{
    fn nodes(&self) -> &dyn Source<NodeInfo> {
        &self.nodes
    }

    fn channels(&self) -> &dyn Source<ChannelInfo> {
        &self.wires.channels
    }

    fn first(&self) -> Vec<Reaction> {
        let setup = self.setup;
        let start = |seat: Seat| {
            let client = setup.client.first(seat);
            let timers = SmallVec::new();
            let mut node = Node { seat, process: None, client, timers, stored: None };
            let mut notes = Notes::of(None);
            let told = P::Family::told_at_first(&setup.opening(seat), setup.view.at(seat));
            if let Some(said) = told.and_then(|notice| P::Family::told(&notice, setup.view)) {
                notes.told(What::Told(said));
            }
            let host = &mut Host::new().tampered(setup.tamper.as_ref());
            node.start(setup, Arrival::Founding, host, &mut notes);
            self.noted(node, notes)
        };
        (0..setup.view.len()).map(Seat::at).map(start).collect()
    }

    fn reaction(&self, node: PartId, cause: Cause) -> Reaction {
        let setup = self.setup;
        let host = &mut Host::new().tampered(setup.tamper.as_ref());
        let mut node = self.nodes.part(node).value.clone();
        let notes = match cause {
            Cause::Asks => {
                let ask = setup.client.asks(&node.client).expect("it was asked whether it can");
                let said = P::Family::asked(&ask.command, setup.view);
                let mut notes = Notes::of(Some(What::Asked(said)));
                setup.client.asked(&mut node.client);
                node.take(setup, Input::Command(ask.command), host, &mut notes);
                notes
            }
            Cause::Arrives(from, message) => {
                let message = self.wires.messages.part(message).value.clone();
                let input = Input::Message { from: setup.view.at(from), message };
                let mut notes = Notes::of(None);
                node.take(setup, input, host, &mut notes);
                notes
            }
            Cause::RunsOut(index) => {
                let timer = node.run_out(index as usize);
                let mut notes = Notes::of(None);
                node.take(setup, Input::Timer(timer), host, &mut notes);
                notes
            }
            Cause::Crashes => {
                node.crash(&setup.client);
                Notes::of(Some(What::Crashed))
            }
            Cause::Returns => {
                let mut notes = Notes::of(Some(What::Returned));
                node.start(setup, Arrival::Returning, host, &mut notes);
                notes
            }
        };
        self.noted(node, notes)
    }

    fn later_node(&self, node: PartId) -> PartId {
        let mut node = self.nodes.part(node).value.clone();
        node.tick();
        self.node(node)
    }

    fn later_channel(&self, channel: PartId) -> PartId {
        self.wires.channel(self.wires.channels.part(channel).value.later())
    }

    fn longer_channel(&self, channel: PartId, message: PartId) -> PartId {
        let message = self.wires.messages.part(message).value.clone();
        let channel = &self.wires.channels.part(channel).value;
        self.wires.channel(channel.with(message, self.setup.time.bound()))
    }

    fn harmed_channel(&self, channel: PartId, harm: Harm) -> Vec<Harmed> {
        let wires = &self.wires;
        let channel = &wires.channels.part(channel).value;
        let is_twin = |at: usize| {
            at > 0 && wires.order == Channels::Unordered && channel.0[at] == channel.0[at - 1]
        };
        let harmed = |at: usize| {
            let after = match harm {
                Harm::Loss => channel.without(at),
                Harm::Duplication => channel.with_copy(at),
            };
            Harmed { tag: wires.tag(channel, at), after: wires.channel(after) }
        };
        (0..channel.0.len()).filter(|&at| !is_twin(at)).map(harmed).collect()
    }

    fn renamed_node(&self, node: PartId, names: &Renaming) -> Option<PartId> {
        let (symmetry, client) = (P::symmetry()?, &self.setup.client);
        Some(self.node(self.nodes.part(node).value.renamed(names, symmetry, client)))
    }

    fn renamed_channel(&self, channel: PartId, names: &Renaming) -> PartId {
        let Some(symmetry) = P::symmetry() else { return channel };
        let renamed = |message: &P::Message| symmetry.message(message, names);
        self.wires.channel(self.wires.channels.part(channel).value.renamed(renamed))
    }

    fn renamed_message(&self, message: PartId, names: &Renaming) -> PartId {
        let Some(symmetry) = P::symmetry() else { return message };
        self.wires.message(&symmetry.message(&self.wires.messages.part(message).value, names))
    }

    fn renamed_timer(
        &self,
        (node, index): (PartId, u32),
        twin: PartId,
        names: &Renaming,
    ) -> Option<u32> {
        let name = self.nodes.part(node).value.timers[index as usize].name;
        let name = P::symmetry()?.timer(name, names);
        let timers = &self.nodes.part(twin).value.timers;
        let place = timers.iter().position(|timer| timer.name == name)?;
        u32::try_from(place).ok()
    }
}

impl<P, C> Model for System<'_, P, C>
where
    P: Observed,
    C: Users<P::Family>,
{
    fn width(&self) -> usize {
        self.frame.places.width()
    }

    fn worker(&self) -> BoxedWorker<'_> {
        Box::new(self.hand())
    }

    fn bytes(&self) -> usize {
        self.nodes.bytes()
            + self.frame.memories.bytes()
            + self.wires.channels.bytes()
            + self.wires.messages.bytes()
    }
}
