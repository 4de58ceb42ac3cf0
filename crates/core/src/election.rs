//! What every election algorithm says to its application, and hears from it.
//!
//! One vocabulary for all of them, so that workloads, judges and network drivers are written once.

use crate::{Family, ProcessId, Promises, Protocol};

/// Which election a leader was elected in: at most one leader has a term. It only grows. Algorithms
/// that number nothing use [`Term::NONE`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Term(pub u64);

/// Which state of the value that leaders keep was written or read: a later write has a higher one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Version(pub u64);

/// What the application asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Command {
    /// There is no leader, or it is dead: let there be one.
    Call,
    /// What is the value that leaders keep? Only leaders of algorithms that keep one know.
    Read,
    /// Let this be the value that leaders keep.
    Write(u64),
}

/// What the application is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Notice {
    /// An election is under way, and you take part: until you are told who was elected.
    Electing,
    /// That process leads, as far as this one knows.
    Elected {
        /// Who leads; perhaps this process itself.
        leader: ProcessId,
        /// The term in which it was elected; 0 where there are none.
        term: Term,
    },
    /// Nobody leads, as far as this process knows; least of all this process itself.
    Vacant,
    /// The value that was asked for.
    Read {
        /// The version that was read.
        version: Version,
        /// The value of that version.
        value: u64,
    },
    /// What was written is safe.
    Wrote {
        /// The version that the written value got.
        version: Version,
    },
    /// This process does not lead, or no longer: what was asked of it was not done, or nobody
    /// knows.
    Refused,
}

/// The family of election algorithms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Elections {}

impl Family for Elections {
    const NAME: &'static str = "election";
    type Command = Command;
    type Notice = Notice;
    type Opening = ();
}

/// The promise that who is elected has the largest id of all that are up, and in the end all agree.
/// (All keep to it that whoever takes part decides or crashes.)
pub const LARGEST: Promises = Promises::number(0);

/// The promise that at most one is elected in a term.
pub const TERMS: Promises = Promises::number(1);

/// The promise that at most one leads at any time, also where terms differ, as long as no clock
/// drifts more than is allowed for.
pub const ONE_AT_A_TIME: Promises = Promises::number(2);

/// The promise that in the end all that are up agree on one leader, whichever that is.
/// ([`LARGEST`] includes it.)
pub const AGREEMENT: Promises = Promises::number(3);

/// An election algorithm: any protocol of this family.
pub trait Election: Protocol<Family = Elections> {}

impl<P: Protocol<Family = Elections>> Election for P {}

impl Term {
    /// Of algorithms that number nothing.
    pub const NONE: Self = Self(0);

    /// The term that follows this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl core::fmt::Display for Term {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

impl core::fmt::Display for Version {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}
