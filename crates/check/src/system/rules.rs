//! Where the protocol ends and numbers begin.
//!
//! Only here is it known what the parts of a state are. Everything else about a step goes by their
//! numbers, so it is compiled once, not once for each protocol; and it asks each question once.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::AtomicBool;

use conclave_core::{Message, Renaming, Seat};
use conclave_observe::{AnyMemory, Brief, JudgeOrdering, Observed, What};
use smallvec::SmallVec;

use super::channel::{ChannelInfo, KindBit};
use super::flaw::Flaw;
use super::places::Places;
use super::setup::{Allowance, Channels, Setup};
use super::symmetry::Group;
use super::table::{PartId, Source, Table};
use crate::{FlawCode, Shared};

/// What a protocol makes of the parts of a state, by their numbers.
pub(crate) trait Rules: Shared {
    /// All processes there are.
    fn nodes(&self) -> &dyn Source<NodeInfo>;

    /// All channels there are.
    fn channels(&self) -> &dyn Source<ChannelInfo>;

    /// What comes of it that everybody starts, by seat.
    fn first(&self) -> Vec<Reaction>;

    /// What comes of an input.
    fn reaction(&self, node: PartId, cause: Cause) -> Reaction;

    /// A process a tick later.
    fn later_node(&self, node: PartId) -> PartId;

    /// A channel a tick later.
    fn later_channel(&self, channel: PartId) -> PartId;

    /// A channel with one more message.
    fn longer_channel(&self, channel: PartId, message: PartId) -> PartId;

    /// A channel after each harm that can be done to it.
    fn harmed_channel(&self, channel: PartId, harm: Harm) -> Vec<Harmed>;

    /// A process among others by other names; `None` if names mean something to it.
    fn renamed_node(&self, node: PartId, names: &Renaming) -> Option<PartId>;

    /// A channel between others by other names.
    fn renamed_channel(&self, channel: PartId, names: &Renaming) -> PartId;

    /// A message of others by other names.
    fn renamed_message(&self, message: PartId, names: &Renaming) -> PartId;

    /// Which timer of the renamed process is that one of the process.
    fn renamed_timer(&self, timer: (PartId, u32), twin: PartId, names: &Renaming) -> Option<u32>;
}

/// What steps need to know beside the rules; the protocol's types have no part in it.
pub(crate) struct Frame {
    pub(crate) places: Places,
    pub(crate) all: Allowance,
    pub(crate) is_sync: bool,
    pub(crate) is_fifo: bool,
    /// Whether timers run out only so often.
    pub(crate) has_timeouts: bool,
    /// Whether what the dead had sent can be lost.
    pub(crate) crash_loses: bool,
    /// Whether it is no flaw that nothing happens any more after a fault.
    pub(crate) passes_over_stalls: bool,
    /// Whether the judge wants to know when all is quiet.
    pub(crate) wants_quiet: bool,
    /// How many kinds of messages there are.
    pub(crate) kinds: usize,
    /// What the judge remembers at first.
    pub(crate) first_memory: Box<dyn AnyMemory>,
    pub(crate) memories: Table<Box<dyn AnyMemory>, MemoryInfo>,
    pub(crate) news: Table<News, ()>,
    /// How processes are renamed into each other, if states are told apart only up to that.
    pub(crate) group: Option<Group>,
    /// Whether a timer was set to what is no whole number of ticks.
    pub(crate) is_inexact: AtomicBool,
}

/// What is worth knowing of a process.
#[derive(Clone, Debug)]
pub(crate) struct NodeInfo {
    /// Whether its application can ask for something, and whether it has to.
    pub(crate) asks: Option<bool>,
    pub(crate) is_up: bool,
    pub(crate) waits: bool,
    pub(crate) is_done: bool,
    /// Whether a deadline is due, so that nothing else comes in before it.
    pub(crate) has_deadline: bool,
    pub(crate) timers: SmallVec<[TimerInfo; 4]>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TimerInfo {
    pub(crate) tag: u16,
    /// Whether it can run out now.
    pub(crate) is_ripe: bool,
    /// Whether it must before time passes.
    pub(crate) is_due: bool,
    /// Whether it must before anything else happens to its process.
    pub(crate) is_first: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryInfo {
    pub(crate) breach: Option<FlawCode>,
    pub(crate) pending: u32,
}

/// What was seen of a step, where, in order.
pub(crate) type News = (Seat, SmallVec<[What; 2]>);

/// Nothing was seen.
pub(crate) const NO_NEWS: PartId = PartId::MAX;

/// So many processes in all their states can be told apart, and so many messages: an input to a
/// process is one number.
pub(crate) const NODES_MAX: PartId = 1 << 28;
pub(crate) const MESSAGES_MAX: PartId = 1 << 24;

/// What a judge remembers, with news and how they came, is one number.
const MEMORIES_MAX: PartId = 1 << 30;

/// What can happen to a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cause {
    Asks,
    Arrives(Seat, PartId),
    RunsOut(u32),
    Crashes,
    Returns,
}

/// What comes of it.
#[derive(Clone, Debug)]
pub(crate) struct Reaction {
    pub(crate) node: PartId,
    pub(crate) sends: SmallVec<[(Seat, PartId); 4]>,
    pub(crate) news: PartId,
    pub(crate) kinds: KindBit,
    pub(crate) serves: bool,
    /// Whether somebody is told of a leader of the last term within bounds.
    pub(crate) is_of_last_term: bool,
    /// Whether the process says that it broke its own invariant.
    pub(crate) is_broken: bool,
    /// Whether it is in a term beyond the bound.
    pub(crate) is_beyond: bool,
    /// How often it came of it.
    pub(crate) uses: u64,
}

/// What can happen to a message on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Harm {
    Loss,
    Duplication,
}

/// A channel that was harmed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Harmed {
    /// Which message it happened to.
    pub(crate) tag: u16,
    pub(crate) after: PartId,
}

impl Frame {
    pub(crate) fn of<P: Observed, C>(setup: &Setup<'_, P, C>) -> Self {
        let (ids, promises) = (setup.view.members(), setup.promises);
        let brief = Brief { ids, promises, ordering: JudgeOrdering::No };
        let first_memory = (setup.vocabulary.memory)(&brief);
        Self {
            places: Places { members: setup.view.len() },
            all: Allowance::all(setup.faults, setup.bounds),
            is_sync: setup.time.is_sync(),
            is_fifo: setup.channels == Channels::Fifo,
            has_timeouts: setup.bounds.timeouts.is_some(),
            crash_loses: setup.crash_loses,
            passes_over_stalls: setup.passes_over_stalls,
            wants_quiet: first_memory.wants_quiet(),
            kinds: P::Message::KINDS.len(),
            first_memory,
            memories: Table::of_at_most(MEMORIES_MAX),
            news: Table::of_at_most(NO_NEWS),
            group: None,
            is_inexact: AtomicBool::new(false),
        }
    }

    pub(crate) fn memory(&self, memory: Box<dyn AnyMemory>) -> PartId {
        self.memories.id(memory, |memory| MemoryInfo {
            breach: memory.broken().map(|breach| Flaw::Breach(breach).code()),
            pending: memory.pending().iter().fold(0, |mask, seat| mask | 1 << seat.0),
        })
    }
}

impl Cause {
    /// With a process, as one number: a key in several words would have to be put together again
    /// for every look-up.
    #[inline]
    pub(crate) fn key(self, node: PartId) -> u64 {
        let (sort, seat, number) = match self {
            Self::Asks => (0_u64, 0, 0),
            Self::Arrives(from, message) => (1, from.0, message),
            Self::RunsOut(index) => (2, 0, index),
            Self::Crashes => (3, 0, 0),
            Self::Returns => (4, 0, 0),
        };
        debug_assert!(node < NODES_MAX && number < MESSAGES_MAX, "no number is larger");
        u64::from(node) << 36 | u64::from(number) << 12 | u64::from(seat) << 4 | sort
    }
}
