//! What every failure detector says, to its application or to the protocol that it serves.

use crate::{Family, ProcessId, Protocol};

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

/// The family of failure detectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Detectors {}

impl Family for Detectors {
    const NAME: &'static str = "detector";
    type Command = Command;
    type Notice = Notice;
    type Opening = ();
}

/// A failure detector: any protocol of this family.
pub trait Detector: Protocol<Family = Detectors> {}

impl<P: Protocol<Family = Detectors>> Detector for P {}
