//! What every mutual exclusion algorithm says to its application, and hears from it.
//!
//! One vocabulary for all of them, so that workloads, judges and network drivers are written once.

use crate::clock::Timestamp;
use crate::{Arrival, Family, Fence, ProcessId, Promises, Protocol, Start};

/// What the application asks for.
///
/// It asks by turns: `Enter`, and once it was told [`Notice::Entered`], `Leave`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Command {
    /// Let me in.
    Enter,
    /// I am done.
    Leave,
}

/// What the application is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Notice {
    /// You are in, alone, and this number proves that you came later than all before you.
    Entered {
        /// Larger than that of every earlier entry; see [`HighestFence`](crate::HighestFence).
        fence: Fence,
    },
    /// You are out, and may ask again.
    Left,
}

/// What is known as a lock's processes begin, seen from one of them.
///
/// A privilege that somebody must have from the start, such as a token, is the holder's; without
/// one it is the first member's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Opening {
    /// Who is in the critical section from the start, and will `Leave`, if somebody is.
    pub holder: Option<ProcessId>,
    /// What this process's logical clock shows first.
    pub clock: Timestamp,
}

/// The family of mutual exclusion algorithms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Locks {}

impl Family for Locks {
    const NAME: &'static str = "mutex";
    type Command = Command;
    type Notice = Notice;
    type Opening = Opening;

    fn told_at_first(opening: &Opening, me: ProcessId) -> Option<Notice> {
        (opening.holder == Some(me)).then_some(Notice::Entered { fence: Fence(0) })
    }
}

/// The promise that every request is granted. (All keep to it that never two are in, and that every
/// entry has a higher fence than all before it.)
pub const LIVENESS: Promises = Promises::number(0);

/// The promise that requests are granted in the order in which they happened.
pub const ORDERING: Promises = Promises::number(1);

/// A mutual exclusion algorithm: any protocol of this family.
pub trait Mutex: Protocol<Family = Locks> {}

impl<P: Protocol<Family = Locks>> Mutex for P {}

impl<P: Mutex> Start<'_, P> {
    /// Who is in the critical section from the start, if somebody is.
    pub fn holder(&self) -> Option<ProcessId> {
        self.opening.holder
    }

    /// Whether this process is.
    pub fn is_holder(&self) -> bool {
        self.holder() == Some(self.me)
    }

    /// Whether this process begins with the privilege of which there is exactly one.
    pub fn is_privileged(&self) -> bool {
        let first = self.view.members().first().copied();
        self.arrival == Arrival::Founding && self.holder().or(first) == Some(self.me)
    }

    /// This start, where `holder` is known to be in the critical section.
    #[must_use]
    pub fn held_by(self, holder: Option<ProcessId>) -> Self {
        Self { opening: Opening { holder, ..self.opening }, ..self }
    }
}
