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
    /// Getting out: what tells others that the lock is free.
    Leave,
    /// Neither: sent even when nobody wants anything, as a token that never rests.
    Upkeep,
    /// Finding a leader, and making it known.
    Elect,
    /// Asking a store that all share, and its answers.
    Store,
    /// Word from such a store that what somebody watched is gone.
    Wake,
    /// Repairing what a crash broke.
    Repair,
}

impl Phase {
    /// All phases, in the order in which they are listed to people.
    pub const ALL: [Self; 7] = [
        Self::Enter,
        Self::Leave,
        Self::Upkeep,
        Self::Elect,
        Self::Store,
        Self::Wake,
        Self::Repair,
    ];
}

/// The messages of one algorithm: an enum, one variant per message of the paper.
pub trait Message: Clone + Debug + Eq + Hash + Send + Sync {
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

    /// A kind that is spent on finding a leader.
    pub const fn elect(name: &'static str) -> Self {
        Self { name, phase: Phase::Elect }
    }

    /// A kind that goes to a store that all share, or comes from it.
    pub const fn store(name: &'static str) -> Self {
        Self { name, phase: Phase::Store }
    }

    /// A kind by which such a store wakes somebody.
    pub const fn wake(name: &'static str) -> Self {
        Self { name, phase: Phase::Wake }
    }

    /// A kind that is spent on repairing what a crash broke.
    pub const fn repair(name: &'static str) -> Self {
        Self { name, phase: Phase::Repair }
    }

    /// A kind that is sent whether or not anybody wants anything.
    pub const fn upkeep(name: &'static str) -> Self {
        Self { name, phase: Phase::Upkeep }
    }
}

/// What can leave the process: messages that cross a real network, and what is kept on a real disk.
#[cfg(feature = "serde")]
pub trait Portable: serde::Serialize + serde::de::DeserializeOwned {}

#[cfg(feature = "serde")]
impl<T: serde::Serialize + serde::de::DeserializeOwned> Portable for T {}
