//! What every mutual exclusion algorithm says to its application, and hears from it.
//!
//! One vocabulary for all of them, so that workloads, judges and network drivers are written once.

use crate::{Fence, Protocol};

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
        /// See [`HighestFence`](crate::HighestFence).
        fence: Fence,
    },
    /// You are out, and may ask again.
    Left,
}

/// A mutual exclusion algorithm: any protocol that speaks these commands and notices.
pub trait Mutex: Protocol<Command = Command, Notice = Notice> {}

impl<P: Protocol<Command = Command, Notice = Notice>> Mutex for P {}
