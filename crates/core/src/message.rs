//! What crosses the network, as far as everybody but its algorithm needs to know it.

use core::fmt::Debug;
use core::hash::Hash;

/// Which of an algorithm's messages a message is: an index into [`Message::KINDS`].
pub type KindIndex = u8;

/// A kind of message: the paper's name for it, and what it is spent on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// The paper's name.
    pub name: &'static str,
    /// What it is spent on.
    pub phase: Phase,
}

/// What a kind of message is spent on, so that its cost is charged to the right call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// Getting in, however late: deferred replies, fails, inquiries and yields belong here.
    Enter,
    /// Getting out.
    Leave,
    /// Neither: sent even when nobody wants anything, as a token that never rests.
    Upkeep,
}

/// The messages of one algorithm: an enum, one variant per message of the paper.
pub trait Message: Clone + Debug + Eq + Hash {
    /// Its kinds, in the paper's order.
    const KINDS: &'static [Kind];

    /// Which of [`KINDS`](Self::KINDS) this one is.
    fn kind(&self) -> KindIndex;
}

impl Kind {
    /// A kind that is spent on getting in.
    pub const fn enter(name: &'static str) -> Self {
        Self { name, phase: Phase::Enter }
    }

    /// A kind that is spent on getting out.
    pub const fn leave(name: &'static str) -> Self {
        Self { name, phase: Phase::Leave }
    }

    /// A kind that is sent whether or not anybody wants anything.
    pub const fn upkeep(name: &'static str) -> Self {
        Self { name, phase: Phase::Upkeep }
    }
}
