//! Puts steps together out of parts, by their numbers alone.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use conclave_core::Seat;

use super::channel::{ChannelInfo, EMPTY, Next};
use super::flaw::{Flaw, PREMISES, Premise};
use super::rules::{
    Cause, Frame, Harm, Harmed, MemoryInfo, NO_NEWS, NodeInfo, Reaction, Rules, TimerInfo,
};
use super::setup::{Allowance, Bounded};
use super::step::Deed;
use super::symmetry::Orbits;
use super::table::{Map, Mirror, PartId};
use crate::{Fingerprint, FlawCode, Look, Successors, Worker};

/// Works out the steps of a system, and remembers what came of what.
pub(crate) struct Stepper<'a> {
    pub(super) rules: &'a dyn Rules,
    pub(super) frame: &'a Frame,
    pub(super) nodes: Mirror<'a, NodeInfo>,
    pub(super) channels: Mirror<'a, ChannelInfo>,
    pub(super) memories: Mirror<'a, MemoryInfo>,
    reactions: Vec<Reaction>,
    /// The reaction of an input to a process, by both.
    known: Map<u64, u32>,
    /// A channel with one more message, by both.
    longer: Map<u64, PartId>,
    /// A channel after each harm that can be done to it.
    harmed: Map<(PartId, bool), Arc<[Harmed]>>,
    later_channels: Map<PartId, PartId>,
    later_nodes: Map<PartId, PartId>,
    /// What the judge remembers after news, and whether it is quiet then.
    judged: Map<u64, PartId>,
    /// The state that is being made.
    pub(super) row: Vec<u32>,
    /// What parts become by renaming, if states are told apart only up to that.
    pub(super) orbits: Option<Box<Orbits>>,
    premises: [u64; PREMISES],
    /// Whether a bound cuts off what must be done in the state that is looked at.
    is_cut_off: bool,
}

/// Two numbers as one.
#[inline]
fn pair(one: PartId, other: PartId) -> u64 {
    u64::from(one) << 32 | u64::from(other)
}

/// What a judge is told of a state beside news.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Moment {
    /// No message is in flight that belongs to a call.
    is_quiet: bool,
    /// Time has passed.
    is_tick: bool,
}

impl Moment {
    /// What the judge remembers, the news and this, as one number.
    #[inline]
    fn key(self, memory: PartId, news: PartId) -> u64 {
        pair(memory, news) << 2 | u64::from(self.is_tick) << 1 | u64::from(self.is_quiet)
    }
}

/// A state as it was found, and the fingerprint of that which is being made of it.
struct Base<'s> {
    words: &'s [u32],
    print: Fingerprint,
}

impl<'a> Stepper<'a> {
    pub(super) fn new(rules: &'a dyn Rules, frame: &'a Frame) -> Self {
        Self {
            rules,
            frame,
            nodes: Mirror::of(rules.nodes()),
            channels: Mirror::of(rules.channels()),
            memories: Mirror::of(&frame.memories),
            reactions: Vec::new(),
            known: Map::default(),
            longer: Map::default(),
            harmed: Map::default(),
            later_channels: Map::default(),
            later_nodes: Map::default(),
            judged: Map::default(),
            row: Vec::new(),
            orbits: frame.group.as_ref().map(|group| Box::new(Orbits::new(group))),
            premises: [0; PREMISES],
            is_cut_off: false,
        }
    }
}

impl Stepper<'_> {
    /// What comes of it, as a place among reactions.
    #[inline]
    fn reaction(&mut self, node: PartId, cause: Cause) -> usize {
        if let Some(&known) = self.known.get(&cause.key(node)) {
            return known as usize;
        }
        self.work_out(node, cause)
    }

    #[cold]
    fn work_out(&mut self, id: PartId, cause: Cause) -> usize {
        let reaction = self.rules.reaction(id, cause);
        self.hold_against_renamed(id, cause, &reaction);
        let place = self.reactions.len();
        self.reactions.push(reaction);
        let known = u32::try_from(place).expect("fewer reactions than states");
        self.known.insert(cause.key(id), known);
        place
    }

    /// Puts another part at a place of the state that is being made.
    #[inline]
    fn put_node(&mut self, print: &mut Fingerprint, seat: Seat, node: PartId) {
        let place = seat.index();
        let before = self.row[place];
        if before != node {
            let from = self.nodes.part(before).print;
            print.change(place, from, self.nodes.part(node).print);
            self.row[place] = node;
        }
    }

    #[inline]
    fn put_channel(&mut self, print: &mut Fingerprint, place: usize, channel: PartId) {
        let before = self.row[place];
        if before != channel {
            let from = self.channels.part(before).print;
            print.change(place, from, self.channels.part(channel).print);
            self.row[place] = channel;
        }
    }

    #[inline]
    fn put_allowance(&mut self, print: &mut Fingerprint, allowance: Allowance) {
        let place = self.frame.places.allowance();
        let (from, to) =
            (Fingerprint::of_number(self.row[place]), Fingerprint::of_number(allowance.0));
        print.change(place, from, to);
        self.row[place] = allowance.0;
    }

    fn put_memory(&mut self, print: &mut Fingerprint, memory: PartId) {
        let place = self.frame.places.memory();
        let before = self.row[place];
        if before != memory {
            let from = self.memories.part(before).print;
            print.change(place, from, self.memories.part(memory).print);
            self.row[place] = memory;
        }
    }

    /// Puts a message at the end of a channel.
    #[inline]
    fn send(&mut self, print: &mut Fingerprint, from: Seat, to: Seat, message: PartId) {
        let place = self.frame.places.channel(from, to);
        let before = self.row[place];
        let after = match self.longer.get(&pair(before, message)) {
            Some(&after) => after,
            None => self.lengthen(before, message),
        };
        self.put_channel(print, place, after);
    }

    #[cold]
    fn lengthen(&mut self, before: PartId, message: PartId) -> PartId {
        let after = self.rules.longer_channel(before, message);
        self.longer.insert(pair(before, message), after);
        after
    }

    /// Whether nobody will ever take in what is sent to that one.
    #[inline]
    fn is_gone(&mut self, seat: Seat, allowance: Allowance) -> bool {
        let node = self.row[seat.index()];
        !self.nodes.part(node).info.is_up && allowance.take(Bounded::Return).is_none()
    }

    /// Makes the state that an reaction at `seat` leads to, from what is in the row already, and
    /// hands it on.
    fn carry_out(
        &mut self,
        seat: Seat,
        reaction: usize,
        step: Deed,
        mut print: Fingerprint,
        out: &mut Successors,
    ) {
        let Reaction { node, news, is_broken, is_beyond, .. } = self.reactions[reaction];
        if is_beyond {
            self.premises[Premise::Beyond.index()] += 1;
            self.is_cut_off |= step.is_due();
            return;
        }
        self.reactions[reaction].uses += 1;
        self.put_node(&mut print, seat, node);
        for index in 0..self.reactions[reaction].sends.len() {
            let (to, message) = self.reactions[reaction].sends[index];
            let has_faults = self.frame.all.allows_faults();
            let allowance = Allowance(self.row[self.frame.places.allowance()]);
            if !(has_faults && self.is_gone(to, allowance)) {
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
        let wants_quiet = self.frame.wants_quiet;
        if news == NO_NEWS && !wants_quiet {
            return None;
        }
        let is_quiet = wants_quiet && self.is_quiet();
        let memory = self.row[self.frame.places.memory()];
        let moment = Moment { is_quiet, is_tick: tick };
        let after = match self.judged.get(&moment.key(memory, news)) {
            Some(&after) => after,
            None => self.judge_anew(memory, news, moment),
        };
        self.put_memory(print, after);
        self.memories.part(after).info.breach
    }

    #[cold]
    fn judge_anew(&mut self, before: PartId, news: PartId, moment: Moment) -> PartId {
        let after = self.judged_by(before, news, moment);
        self.hold_judge_against_renamed((before, news, moment), after);
        self.judged.insert(moment.key(before, news), after);
        after
    }

    pub(super) fn judged_by(&self, before: PartId, news: PartId, moment: Moment) -> PartId {
        let mut memory = self.frame.memories.part(before).value.clone();
        if moment.is_tick {
            memory.on_tick();
        }
        if news != NO_NEWS {
            let news = self.frame.news.part(news);
            let (seat, whats) = &news.value;
            whats.iter().for_each(|&what| memory.on(*seat, what));
        }
        if moment.is_quiet {
            memory.on_quiet();
        }
        self.frame.memory(memory)
    }

    /// Whether no message is in flight that belongs to a call.
    fn is_quiet(&mut self) -> bool {
        let places = self.frame.places;
        (places.members..places.memory()).all(|place| {
            let channel = self.row[place];
            channel == EMPTY || !self.channels.part(channel).info.has_call
        })
    }

    pub(super) fn begin_row(&mut self, words: &[u32]) {
        self.row.clear();
        self.row.extend_from_slice(words);
    }

    fn asks(&mut self, base: &Base<'_>, seat: Seat, out: &mut Successors) -> bool {
        let node = base.words[seat.index()];
        let info = &self.nodes.part(node).info;
        let Some(is_due) = info.asks.filter(|_| !info.has_deadline) else {
            return false;
        };
        let reaction = self.reaction(node, Cause::Asks);
        self.begin_row(base.words);
        let deed = if is_due { Deed::Leaves(seat) } else { Deed::Asks(seat) };
        self.carry_out(seat, reaction, deed, base.print, out);
        is_due
    }

    fn arrives(&mut self, base: &Base<'_>, from: Seat, to: Seat, out: &mut Successors) -> bool {
        let place = self.frame.places.channel(from, to);
        let channel = base.words[place];
        if channel == EMPTY || self.nodes.part(base.words[to.index()]).info.has_deadline {
            return false;
        }
        let count = self.channels.part(channel).info.next.len();
        for index in 0..count {
            let part = self.channels.part(channel);
            let Next { tag, message, rest } = part.info.next[index];
            let reaction = self.reaction(base.words[to.index()], Cause::Arrives(from, message));
            self.begin_row(base.words);
            let mut print = base.print;
            self.put_channel(&mut print, place, rest);
            self.carry_out(to, reaction, Deed::Arrives { from, to, tag }, print, out);
        }
        true
    }

    /// Whether a message to that one must arrive before anything else happens there.
    fn awaits_message(&mut self, base: &Base<'_>, to: Seat) -> bool {
        let places = self.frame.places;
        let others = (0..places.members).map(Seat::at).filter(|&from| from != to);
        let mut others = others.map(|from| base.words[places.channel(from, to)]);
        others.any(|it| it != EMPTY && self.channels.part(it).info.is_due)
    }

    fn runs_out(&mut self, base: &Base<'_>, seat: Seat, out: &mut Successors) -> bool {
        let node = base.words[seat.index()];
        let info = &self.nodes.part(node).info;
        if !info.timers.iter().any(|timer| timer.is_ripe) {
            return false;
        }
        let (timers, has_deadline) = (info.timers.clone(), info.has_deadline);
        if self.frame.is_sync && !has_deadline && self.awaits_message(base, seat) {
            return false;
        }
        let mut allowance = Allowance(base.words[self.frame.places.allowance()]);
        if self.frame.has_timeouts {
            let Some(less) = allowance.take(Bounded::Timeout) else {
                self.premises[Premise::Beyond.index()] += 1;
                self.is_cut_off = true;
                // It would run out, were it not for the bound: this is no deadlock.
                return true;
            };
            allowance = less;
        }
        let can = |timer: &TimerInfo| if has_deadline { timer.is_first } else { timer.is_ripe };
        for (index, timer) in timers.iter().enumerate().filter(|(_, timer)| can(timer)) {
            let index = u32::try_from(index).expect("a process has few timers");
            let reaction = self.reaction(node, Cause::RunsOut(index));
            self.begin_row(base.words);
            let mut print = base.print;
            self.put_allowance(&mut print, allowance);
            self.carry_out(seat, reaction, Deed::RunsOut { seat, tag: timer.tag }, print, out);
        }
        true
    }

    /// Time passes, unless something must happen before.
    fn tick(&mut self, base: &Base<'_>, out: &mut Successors) -> bool {
        let places = self.frame.places;
        for place in 0..places.memory() {
            let part = base.words[place];
            let is_due = if place < places.members {
                let timers = &self.nodes.part(part).info.timers;
                timers.iter().any(|timer| timer.is_due)
            } else {
                part != EMPTY && self.channels.part(part).info.is_due
            };
            if is_due {
                return false;
            }
        }
        self.begin_row(base.words);
        let mut print = base.print;
        for place in 0..places.memory() {
            let part = base.words[place];
            if place < places.members {
                let rules = self.rules;
                let later = self.later_nodes.entry(part);
                let later = *later.or_insert_with(|| rules.later_node(part));
                self.put_node(&mut print, Seat::at(place), later);
            } else if part != EMPTY {
                let rules = self.rules;
                let later = self.later_channels.entry(part);
                let later = *later.or_insert_with(|| rules.later_channel(part));
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
        let allowance = Allowance(base.words[self.frame.places.allowance()]);
        let seats = || (0..self.frame.places.members).map(Seat::at);
        if let Some(less) = allowance.take(Bounded::Crash) {
            for seat in seats() {
                self.crashes(base, seat, less, out);
            }
        }
        if let Some(less) = allowance.take(Bounded::Return) {
            for seat in seats() {
                let node = base.words[seat.index()];
                if !self.nodes.part(node).info.is_up {
                    let reaction = self.reaction(node, Cause::Returns);
                    self.begin_row(base.words);
                    let mut print = base.print;
                    self.put_allowance(&mut print, less);
                    self.premises[Premise::Returned.index()] += 1;
                    self.carry_out(seat, reaction, Deed::Returns(seat), print, out);
                }
            }
        }
        let lost = allowance.take(Bounded::Loss);
        let doubled = allowance.take(Bounded::Duplication);
        for from in seats() {
            let node = base.words[from.index()];
            let is_free = self.frame.crash_loses && !self.nodes.part(node).info.is_up;
            // What a crash takes along is no loss of its own. Where channels keep the order, what
            // was sent last goes first: nothing arrives that was sent after what is lost.
            let free = match (is_free, self.frame.is_fifo) {
                (true, true) => Which::Last,
                (true, false) => Which::All,
                (false, _) => Which::Nothing,
            };
            self.harm(base, allowance, from, (Harm::Loss, free), out);
            if let Some(allowance) = lost {
                self.harm(base, allowance, from, (Harm::Loss, free.others()), out);
            }
            if let Some(allowance) = doubled {
                self.harm(base, allowance, from, (Harm::Duplication, Which::All), out);
            }
        }
    }

    fn crashes(&mut self, base: &Base<'_>, seat: Seat, less: Allowance, out: &mut Successors) {
        let node = base.words[seat.index()];
        if !self.nodes.part(node).info.is_up {
            return;
        }
        let reaction = self.reaction(node, Cause::Crashes);
        self.begin_row(base.words);
        let mut print = base.print;
        self.put_allowance(&mut print, less);
        if less.take(Bounded::Return).is_none() {
            // What is on its way to it, nobody will take in.
            let places = self.frame.places;
            for from in (0..places.members).map(Seat::at).filter(|&from| from != seat) {
                self.put_channel(&mut print, places.channel(from, seat), EMPTY);
            }
        }
        self.premises[Premise::Crashed.index()] += 1;
        self.carry_out(seat, reaction, Deed::Crashes(seat), print, out);
    }

    /// Loses or doubles each of these messages from that one that are on their way.
    fn harm(
        &mut self,
        base: &Base<'_>,
        less: Allowance,
        from: Seat,
        (harm, which): (Harm, Which),
        out: &mut Successors,
    ) {
        let places = self.frame.places;
        for to in (0..places.members).map(Seat::at).filter(|&to| to != from) {
            let place = places.channel(from, to);
            let channel = base.words[place];
            if channel == EMPTY {
                continue;
            }
            let rules = self.rules;
            let harmed = self.harmed.entry((channel, harm == Harm::Loss));
            let harmed = harmed.or_insert_with(|| rules.harmed_channel(channel, harm).into());
            for &Harmed { tag, after } in which.of(&Arc::clone(harmed)) {
                let (deed, premise) = match harm {
                    Harm::Loss => (Deed::IsLost { from, to, tag }, Premise::Lost),
                    Harm::Duplication => (Deed::IsDoubled { from, to, tag }, Premise::Doubled),
                };
                self.premises[premise.index()] += 1;
                self.begin_row(base.words);
                let mut print = base.print;
                self.put_allowance(&mut print, less);
                self.put_channel(&mut print, place, after);
                let breach = self.judge(&mut print, NO_NEWS, false);
                self.hand_on(deed, print, breach, out);
            }
        }
    }

    /// What is to be said of the state itself.
    fn look(&mut self, base: &Base<'_>, has_duty: bool) -> Look {
        let places = self.frame.places;
        let memory = base.words[places.memory()];
        let mut pending = self.memories.part(memory).info.pending;
        let mut is_done = pending == 0;
        for seat in 0..places.members {
            let info = &self.nodes.part(base.words[seat]).info;
            pending |= u32::from(info.waits) << seat;
            is_done &= info.is_done;
        }
        self.premises[Premise::TwoWait.index()] += u64::from(pending.count_ones() > 1);
        self.premises[Premise::Finished.index()] += u64::from(is_done);
        let is_stuck = pending != 0 && !has_duty;
        let is_faultless = Allowance(base.words[places.allowance()]).is_faultless(self.frame.all);
        let flaw = if is_faultless { Flaw::Deadlock } else { Flaw::Stalled };
        let is_flaw = is_stuck && (is_faultless || !self.frame.passes_over_stalls);
        let cut_off = if self.is_cut_off { Look::CUT_OFF } else { 0 };
        Look { pending: pending | cut_off, flaw: is_flaw.then(|| flaw.code()) }
    }
}

/// Which of the messages of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    Nothing,
    /// The one that was sent last.
    Last,
    /// All but that one.
    Earlier,
    All,
}

impl Which {
    fn others(self) -> Self {
        match self {
            Self::Nothing => Self::All,
            Self::Last => Self::Earlier,
            Self::Earlier => Self::Last,
            Self::All => Self::Nothing,
        }
    }

    fn of<T>(self, messages: &[T]) -> &[T] {
        let last = messages.len().saturating_sub(1);
        match self {
            Self::Nothing => &[],
            Self::Last => &messages[last..],
            Self::Earlier => &messages[..last],
            Self::All => messages,
        }
    }
}

impl Worker for Stepper<'_> {
    fn begin(&mut self, out: &mut Successors) {
        let places = self.frame.places;
        self.row.clear();
        self.row.resize(places.width(), EMPTY);
        self.row[places.allowance()] = self.frame.all.0;
        self.row[places.memory()] = self.frame.memory(self.frame.first_memory.clone());
        let mut flaw = None;
        let mut ignored = Fingerprint::default();
        let reactions = self.rules.first();
        for (place, reaction) in reactions.iter().enumerate() {
            self.row[place] = reaction.node;
        }
        for (place, reaction) in reactions.into_iter().enumerate() {
            for &(to, message) in &reaction.sends {
                self.send(&mut ignored, Seat::at(place), to, message);
            }
            flaw = flaw.or(self.judge(&mut ignored, reaction.news, false));
            flaw = flaw.or(reaction.is_broken.then(|| Flaw::Invariant.code()));
            self.reactions.push(Reaction { uses: 1, ..reaction });
        }
        let mut print = Fingerprint::default();
        for place in 0..places.width() {
            let word = self.row[place];
            let part = if place < places.members {
                self.nodes.part(word).print
            } else if place < places.memory() {
                self.channels.part(word).print
            } else if place == places.memory() {
                self.memories.part(word).print
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
        let places = self.frame.places;
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
        if self.frame.is_sync {
            has_duty |= self.tick(&base, out);
        }
        if self.frame.all.allows_faults() {
            self.faults(&base, out);
        }
        self.look(&base, has_duty)
    }

    fn premises(&self) -> Vec<u64> {
        let mut counts = self.premises.to_vec();
        counts.resize(PREMISES + self.frame.kinds, 0);
        for reaction in &self.reactions {
            counts[Premise::Served.index()] += reaction.uses * u64::from(reaction.serves);
            let last = reaction.uses * u64::from(reaction.is_of_last_term);
            counts[Premise::LastTerm.index()] += last;
            for (kind, count) in counts[PREMISES..].iter_mut().enumerate().take(32) {
                *count += reaction.uses * u64::from(reaction.kinds >> kind & 1);
            }
        }
        counts
    }
}
