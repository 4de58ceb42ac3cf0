//! Resources that refuse a holder who comes late.
//!
//! # Why
//!
//! A lock cannot stop a process that sleeps. It takes the lock, it is suspended (a laptop's lid, a
//! long page fault, a stopped virtual machine), the lock is given to somebody else, and then it
//! wakes up *in the middle of a line* that writes. It did ask whether it holds the lock, just
//! before it fell asleep. Only the resource itself sees both of them, so only the resource can
//! refuse the first. Every grant has a [`Fence`], later grants have higher ones, and that is all
//! that a resource needs to know:
//!
//! - It remembers the highest fence that it has admitted.
//! - A write with a lower fence is refused.
//! - A write with the same fence is admitted: a holder may write more than once.
//! - A write with a higher fence is admitted, and the fence is remembered *in one step with the
//!   write*. Were it two steps, a late holder could write between them.
//! - Fence 0 is nobody's. It is always refused.
//!
//! Before the later holder's first write the resource does not know of it, and the earlier one
//! may still write. That does no harm: it is as if it had written just before it lost the lock,
//! and the later holder, who reads the resource afterwards, sees it. A holder that must not be
//! surprised *after* reading announces its fence with the read ([`FileGate::read`]).
//!
//! A fence proves something only to the resource that its lock is for: fences of different locks
//! must not go to the same gate.
//!
//! # Which
//!
//! | the resource is | gate | remembers the fence | survives a restart |
//! | --- | --- | --- | --- |
//! | a file | [`FileGate`] | in a side file, under a lock of the kernel | yes |
//! | a row of a database | [`SqlGate`] | in a column of that row | yes |
//! | behind HTTP | [`HttpGate`] | in the server's memory | no, unless told |
//! | something else | [`FenceGate`] | in a variable | no, unless told |
//!
//! ```
//! use conclave_client::{Fence, gate::FenceGate};
//!
//! let mut gate = FenceGate::new();
//! gate.admit(Fence(7))?;
//! gate.admit(Fence(9))?; // 7 fell asleep, the lock went to 9
//!
//! let late = gate.admit(Fence(7)).unwrap_err(); // 7 wakes up
//! assert_eq!(late.to_string(), "fence 7 is late: 9 was here already");
//! # Ok::<(), conclave_client::gate::Stale>(())
//! ```

mod file;
mod http;
mod sql;

use conclave_core::Fence;
use thiserror::Error;

pub use file::{FileGate, GateError};
pub use http::{HttpGate, Refusal};
pub use sql::{Repeat, SqlGate, SqlRefusal};

/// The rule itself, in memory: for a resource that does its own storing.
///
/// It takes `&mut self`, so whoever shares it needs a mutex. Hold that mutex until the write is
/// done, or a late write can slip in between.
///
/// There is no `Clone`: two copies would remember different things.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct FenceGate {
    highest: Fence,
}

impl FenceGate {
    /// A gate that has admitted nobody yet.
    pub const fn new() -> Self {
        Self::with_highest(Fence(0))
    }

    /// A gate that goes on where an earlier one was: `highest` is what that one had admitted.
    pub const fn with_highest(highest: Fence) -> Self {
        Self { highest }
    }

    /// Lets `fence` write, and remembers it.
    ///
    /// # Errors
    /// If a higher one was here already, or if it is fence 0. Nothing is remembered then.
    pub fn admit(&mut self, fence: Fence) -> Result<(), Stale> {
        if fence == Fence(0) || fence < self.highest {
            return Err(Stale { given: fence, highest: self.highest });
        }
        self.highest = fence;
        Ok(())
    }

    /// The highest fence admitted so far; 0 if there was none. To compare it first and write later
    /// is the very mistake that a gate is there to prevent: [`admit`](Self::admit) does both.
    pub const fn highest(&self) -> Fence {
        self.highest
    }
}

/// The holder comes late: its lock was given to somebody else, who has already written.
///
/// To try again is useless. Whoever gets this has lost its lock, and should stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("{}", why(*.given, *.highest))]
pub struct Stale {
    /// The fence that was refused.
    pub given: Fence,
    /// The highest fence that was admitted before.
    pub highest: Fence,
}

fn why(given: Fence, highest: Fence) -> String {
    if given == Fence(0) {
        return NOBODY.to_owned();
    }
    format!("fence {given} is late: {highest} was here already")
}

/// What every gate says to fence 0.
const NOBODY: &str = "fence 0 is nobody's: no lock was ever given with it";
