//! What every failure detector says, to its application or to the protocol that it serves.

use crate::{ProcessId, Protocol};

/// What a detector can be asked for: nothing. It watches from its start to its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Command {}

/// Word from a failure detector. It may be wrong, unless the system is synchronous.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Notice {
    /// Nothing was heard of that process for too long: it seems to be dead.
    Suspects(ProcessId),
    /// Something was heard of a suspect: it is alive after all, or again.
    Trusts(ProcessId),
}

/// A failure detector: any protocol that speaks these notices.
pub trait Detector: Protocol<Command = Command, Notice = Notice> {}

impl<P: Protocol<Command = Command, Notice = Notice>> Detector for P {}
