//! States that differ in nothing but the names of interchangeable processes are one.
//!
//! Of all that a state becomes by renaming, the one with the smallest fingerprint stands for all.
//! Parts are renamed once and remembered, so to rename a state is to look its parts up.
//!
//! Nobody has to be believed that names mean nothing. Three things are looked at as the search goes
//! on, in every part of every state that it finds and for every renaming:
//!
//! 1. the first state stays what it is;
//! 2. to be renamed twice is to be renamed once, by both, and no renaming changes who waits, who
//!    has to do something and what is broken;
//! 3. what comes of the renamed input to the renamed process is what comes of it by the old names,
//!    renamed; and so it is with what the judge makes of news.
//!
//! All else that a step does goes by channels and counts and knows no names. So whatever leads from
//! a state to another leads, renamed, from the one renamed to the other renamed: each state that
//! can be reached is a renaming of one that is found, and what is found can be reached. A `renamed`
//! that forgets something, or a rule that compares ids, ends the search with an [`Asymmetry`].

use alloc::vec::Vec;

use conclave_core::{Renaming, Seat};
use conclave_observe::Observed;

use super::channel::EMPTY;
use super::rules::{Cause, NO_NEWS, News, NodeInfo, Reaction};
use super::stepper::{Moment, Stepper};
use super::table::PartId;
use super::{Places, Setup, System, Users};
use crate::sync::OnceLock;
use crate::{Fingerprint, Model, Step, Successors, Worker};

/// So many can be renamed into each other: their renamings are 720.
pub const INTERCHANGEABLE_MAX: usize = 6;

/// Why states cannot be taken for one that differ in nothing but names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Asymmetry {
    /// The processes say so, or what they promise.
    #[error("names mean something to the processes: they are not interchangeable")]
    Names,
    /// They do not start alike.
    #[error("the processes do not start alike: they are not interchangeable")]
    Start,
    /// A renaming does not keep what it must keep.
    #[error("a renamed process does not do the same by the new names")]
    Rule,
    /// What happens eventually is not judged up to renaming: who waits would not stay who it is.
    #[error("only what must never happen can be judged up to renaming")]
    Liveness,
    /// There are too many renamings.
    #[error("more than {INTERCHANGEABLE_MAX} have too many renamings")]
    TooMany,
}

/// All renamings of the interchangeable.
pub(crate) struct Group {
    /// The first changes nothing.
    renamings: Vec<Renaming>,
    /// By renaming: each trade of two names, and which renaming this one and then that trade is.
    /// All renamings are such trades in a row.
    trades: Vec<Vec<(usize, usize)>>,
    /// By renaming and place in a state: where what stands there goes.
    places: Vec<Vec<usize>>,
    /// What was found to depend on names.
    asymmetry: OnceLock<Asymmetry>,
}

/// What one thread knows of how parts are renamed.
pub(crate) struct Orbits {
    nodes: Images,
    channels: Images,
    memories: Images,
    /// A state that is being renamed.
    row: Vec<u32>,
}

/// By part and renaming: what it becomes.
struct Images {
    /// How many renamings there are.
    many: usize,
    parts: Vec<(PartId, Fingerprint)>,
    /// By part: whether it is known, and that renamings of it follow each other.
    is_sound: Vec<bool>,
}

const UNKNOWN: (PartId, Fingerprint) = (PartId::MAX, Fingerprint(0));

impl Group {
    fn new(view: &conclave_core::View, seats: &[Seat], places: Places) -> Self {
        let renamings = Renaming::all(view, seats);
        let place_of = |names: &Renaming| renamings.iter().position(|it| it == names);
        let trade = |pair: &[Seat]| {
            let mut to: Vec<Seat> = (0..view.len()).map(Seat::at).collect();
            to.swap(pair[0].index(), pair[1].index());
            place_of(&Renaming::new(view, to)?)
        };
        let pairs: Vec<usize> = seats.windows(2).filter_map(trade).collect();
        let then = |one: &Renaming, trade: usize| {
            let both = place_of(&one.then(&renamings[trade]));
            (trade, both.expect("they are a group"))
        };
        let trades = renamings
            .iter()
            .map(|one| pairs.iter().map(|&trade| then(one, trade)).collect())
            .collect();
        let moved = |names: &Renaming| {
            let seats = (0..places.members).map(|seat| names.seat(Seat::at(seat)).index());
            let pairs = places.pairs();
            let channels = pairs.map(|(a, b)| places.channel(names.seat(a), names.seat(b)));
            seats.chain(channels).chain([places.memory(), places.allowance()]).collect()
        };
        let places = renamings.iter().map(moved).collect();
        Self { renamings, trades, places, asymmetry: OnceLock::new() }
    }

    fn note(&self, asymmetry: Asymmetry) {
        // Another thread may have found another.
        let _ = self.asymmetry.set(asymmetry);
    }
}

impl Orbits {
    pub(crate) fn new(group: &Group) -> Self {
        let images =
            || Images { many: group.renamings.len(), parts: Vec::new(), is_sound: Vec::new() };
        Self { nodes: images(), channels: images(), memories: images(), row: Vec::new() }
    }
}

impl Images {
    #[inline]
    fn at(&self, part: PartId, renaming: usize) -> (PartId, Fingerprint) {
        self.parts[part as usize * self.many + renaming]
    }

    /// Makes sure that it is known what a part becomes.
    #[inline]
    fn know(
        &mut self,
        part: PartId,
        group: &Group,
        rename: impl FnMut(PartId, &Renaming) -> Result<(PartId, Fingerprint), Asymmetry>,
    ) {
        if self.is_sound.get(part as usize) != Some(&true) {
            self.learn(part, group, rename);
        }
    }

    #[cold]
    fn learn(
        &mut self,
        part: PartId,
        group: &Group,
        mut rename: impl FnMut(PartId, &Renaming) -> Result<(PartId, Fingerprint), Asymmetry>,
    ) {
        let (row, at) = (part as usize, part as usize * self.many);
        if row >= self.is_sound.len() {
            self.is_sound.resize(row + 1, false);
            self.parts.resize((row + 1) * self.many, UNKNOWN);
        }
        for (image, names) in self.parts[at..at + self.many].iter_mut().zip(&group.renamings) {
            *image = rename(part, names).unwrap_or_else(|asymmetry| {
                group.note(asymmetry);
                (part, Fingerprint(0))
            });
        }
        for (first, trades) in group.trades.iter().enumerate() {
            let (image, _) = self.at(part, first);
            for &(trade, both) in trades {
                if rename(image, &group.renamings[trade]) != Ok(self.at(part, both)) {
                    group.note(Asymmetry::Rule);
                }
            }
        }
        if self.at(part, 0).0 != part {
            group.note(Asymmetry::Rule);
        }
        self.is_sound[row] = true;
    }
}

impl<'a, P, C> System<'a, P, C>
where
    P: Observed,
    C: Users<P::Family>,
{
    /// Makes ready what is to be searched up to renaming, if the processes start alike.
    pub fn reduced(setup: &'a Setup<'a, P, C>) -> Result<Self, Asymmetry> {
        if setup.interchangeable.len() > INTERCHANGEABLE_MAX {
            return Err(Asymmetry::TooMany);
        }
        let mut system = Self::new(setup);
        let group = Group::new(setup.view, &setup.interchangeable, system.frame.places);
        system.frame.group = Some(group);
        system.worker().begin(&mut Successors::new(system.width(), 1));
        system.asymmetry().map_or(Ok(()), Err)?;
        Ok(system)
    }

    /// What was found to depend on names, so that nothing that was found counts.
    pub fn asymmetry(&self) -> Option<Asymmetry> {
        self.frame.group.as_ref()?.asymmetry.get().copied()
    }

    /// A way that was found up to renaming, as one that the processes can go.
    ///
    /// From each state on it, some step leads to one that is called like the next on the way found:
    /// that step is taken.
    pub(crate) fn really(&self, path: &[Step]) -> Result<Vec<Step>, Asymmetry> {
        let mut hand = self.hand();
        let mut out = Successors::new(self.width(), 1);
        hand.begin(&mut out);
        let first = out.take().next().ok_or(Asymmetry::Start)?;
        let (mut found, mut real) = (first.clone(), first);
        let mut steps = Vec::new();
        for &step in path {
            hand.expand(&found.words, found.print, &mut out);
            found = out.take().find(|next| next.step == step).ok_or(Asymmetry::Rule)?;
            let orbits = hand.orbits.take();
            hand.expand(&real.words, real.print, &mut out);
            hand.orbits = orbits;
            let mut next = out.take().filter(|next| next.flaw == found.flaw);
            let is_called_so = |next: &crate::model::Taken| {
                hand.begin_row(&next.words);
                hand.rename_to_least(next.print);
                hand.row == found.words
            };
            real = next.find(is_called_so).ok_or(Asymmetry::Rule)?;
            steps.push(real.step);
        }
        Ok(steps)
    }
}

impl Stepper<'_> {
    /// Makes sure that it is known what each part of the row becomes.
    fn know_row(&mut self, orbits: &mut Orbits, group: &Group) {
        let places = self.frame.places;
        for place in 0..places.members {
            self.know_node(orbits, group, self.row[place]);
        }
        let (rules, channels) = (self.rules, &mut self.channels);
        for place in places.members..places.memory() {
            orbits.channels.know(self.row[place], group, |id, names| {
                let renamed = rules.renamed_channel(id, names);
                Ok((renamed, channels.part(renamed).print))
            });
        }
        self.know_memory(orbits, group, self.row[places.memory()]);
    }

    fn know_node(&mut self, orbits: &mut Orbits, group: &Group, node: PartId) {
        let (rules, nodes) = (self.rules, &mut self.nodes);
        orbits.nodes.know(node, group, |id, names| {
            let what = |it: &NodeInfo| (it.asks, it.is_up, it.waits, it.is_done);
            let before = what(&nodes.part(id).info);
            let id = rules.renamed_node(id, names).ok_or(Asymmetry::Names)?;
            let renamed = nodes.part(id);
            let is_alike = before == what(&renamed.info);
            is_alike.then_some((id, renamed.print)).ok_or(Asymmetry::Rule)
        });
    }

    fn know_memory(&mut self, orbits: &mut Orbits, group: &Group, memory: PartId) {
        let (frame, memories) = (self.frame, &mut self.memories);
        orbits.memories.know(memory, group, |id, names| {
            let part = frame.memories.part(id);
            let id = frame.memory(part.value.renamed(names).ok_or(Asymmetry::Names)?);
            let renamed = memories.part(id);
            let waits = (0..frame.places.members).map(Seat::at);
            let waits = waits.filter(|seat| part.info.pending >> seat.0 & 1 != 0);
            let waits = waits.fold(0, |mask, seat| mask | 1 << names.seat(seat).0);
            let is_alike = (part.info.breach, waits) == (renamed.info.breach, renamed.info.pending);
            is_alike.then_some((id, renamed.print)).ok_or(Asymmetry::Rule)
        });
    }

    /// Renames the state that was made to the one that stands for all it can become.
    pub(super) fn rename_to_least(&mut self, print: Fingerprint) -> Fingerprint {
        let (Some(group), Some(mut orbits)) = (&self.frame.group, self.orbits.take()) else {
            return print;
        };
        self.know_row(&mut orbits, group);
        let places = self.frame.places;
        let (channels, memory) = (places.members..places.memory(), places.memory());
        // What every renaming leaves alone: channels are empty until something is put there.
        let (_, empty) = orbits.channels.at(EMPTY, 0);
        let mut bare = Fingerprint::default();
        channels.clone().for_each(|place| bare.add(place, empty));
        bare.add(places.allowance(), Fingerprint::of_number(self.row[places.allowance()]));
        let print_of = |renaming: usize| {
            let (moved, mut print) = (&group.places[renaming], bare);
            for (&to, &node) in moved.iter().zip(&self.row[..places.members]) {
                print.add(to, orbits.nodes.at(node, renaming).1);
            }
            for place in channels.clone().filter(|&place| self.row[place] != EMPTY) {
                print.change(moved[place], empty, orbits.channels.at(self.row[place], renaming).1);
            }
            print.add(memory, orbits.memories.at(self.row[memory], renaming).1);
            print
        };
        let others = (1..group.renamings.len()).map(|renaming| (print_of(renaming), renaming));
        let (least, renaming) = others.chain([(print, 0)]).min().unwrap_or((print, 0));
        if renaming != 0 {
            self.rename_row(&mut orbits, group, renaming);
            self.know_row(&mut orbits, group);
        }
        self.orbits = Some(orbits);
        least
    }

    /// Renames the row, of which all parts are known.
    fn rename_row(&mut self, orbits: &mut Orbits, group: &Group, renaming: usize) {
        let places = self.frame.places;
        orbits.row.clone_from(&self.row);
        for (place, &to) in group.places[renaming].iter().enumerate().take(places.allowance()) {
            let images = match place {
                _ if place < places.members => &orbits.nodes,
                _ if place < places.memory() => &orbits.channels,
                _ => &orbits.memories,
            };
            orbits.row[to] = images.at(self.row[place], renaming).0;
        }
        core::mem::swap(&mut self.row, &mut orbits.row);
    }

    /// Looks whether the first state stays what it is by any name.
    pub(super) fn begins_the_same_by_any_name(&mut self) {
        let (Some(group), Some(mut orbits)) = (&self.frame.group, self.orbits.take()) else {
            return;
        };
        self.know_row(&mut orbits, group);
        let first = self.row.clone();
        for renaming in 0..group.renamings.len() {
            self.rename_row(&mut orbits, group, renaming);
            if self.row != first {
                group.note(Asymmetry::Start);
            }
            self.begin_row(&first);
        }
        self.orbits = Some(orbits);
    }

    /// Looks whether the same comes of it by any name.
    pub(super) fn hold_against_renamed(&mut self, node: PartId, cause: Cause, reaction: &Reaction) {
        let (Some(group), Some(mut orbits)) = (&self.frame.group, self.orbits.take()) else {
            return;
        };
        self.know_node(&mut orbits, group, node);
        self.know_node(&mut orbits, group, reaction.node);
        for (renaming, names) in group.renamings.iter().enumerate().skip(1) {
            let twin = orbits.nodes.at(node, renaming).0;
            let Some(cause) = self.renamed_cause(node, cause, twin, names) else {
                group.note(Asymmetry::Rule);
                continue;
            };
            let of_twin = self.rules.reaction(twin, cause);
            let expected = orbits.nodes.at(reaction.node, renaming).0;
            let mut sends: Vec<(Seat, PartId)> = reaction
                .sends
                .iter()
                .map(|&(to, message)| (names.seat(to), self.rules.renamed_message(message, names)))
                .collect();
            let mut sends_of_twin = of_twin.sends.to_vec();
            // Each receiver has a channel of its own: the order matters only within it.
            sends.sort_by_key(|&(to, _)| to);
            sends_of_twin.sort_by_key(|&(to, _)| to);
            let flags = |it: &Reaction| (it.is_broken, it.is_beyond, it.serves, it.is_of_last_term);
            let is_alike = of_twin.node == expected
                && sends_of_twin == sends
                && self.renamed_news(reaction.news, names) == of_twin.news
                && flags(&of_twin) == flags(reaction);
            if !is_alike {
                group.note(Asymmetry::Rule);
            }
        }
        self.orbits = Some(orbits);
    }

    /// Looks whether the judge makes the same of it by any name.
    pub(super) fn hold_judge_against_renamed(
        &mut self,
        (before, news, moment): (PartId, PartId, Moment),
        after: PartId,
    ) {
        let (Some(group), Some(mut orbits)) = (&self.frame.group, self.orbits.take()) else {
            return;
        };
        self.know_memory(&mut orbits, group, before);
        self.know_memory(&mut orbits, group, after);
        for (renaming, names) in group.renamings.iter().enumerate().skip(1) {
            let renamed = |memory| orbits.memories.at(memory, renaming).0;
            let news = self.renamed_news(news, names);
            if self.judged_by(renamed(before), news, moment) != renamed(after) {
                group.note(Asymmetry::Rule);
            }
        }
        self.orbits = Some(orbits);
    }

    fn renamed_news(&self, news: PartId, names: &Renaming) -> PartId {
        if news == NO_NEWS {
            return NO_NEWS;
        }
        let table = &self.frame.news;
        let news = table.part(news);
        let (seat, whats) = &news.value;
        let whats = whats.iter().map(|what| what.renamed(names)).collect();
        let renamed: News = (names.seat(*seat), whats);
        table.id(renamed, |_| ())
    }

    /// What happens to the renamed process when this happens to the other.
    fn renamed_cause(
        &self,
        node: PartId,
        cause: Cause,
        twin: PartId,
        names: &Renaming,
    ) -> Option<Cause> {
        Some(match cause {
            Cause::Arrives(from, message) => {
                Cause::Arrives(names.seat(from), self.rules.renamed_message(message, names))
            }
            Cause::RunsOut(index) => {
                Cause::RunsOut(self.rules.renamed_timer((node, index), twin, names)?)
            }
            Cause::Asks | Cause::Crashes | Cause::Returns => cause,
        })
    }
}
