//! Who holds what, and who waits.

use std::fmt;
use std::time::SystemTime;

use conclave_core::Fence;

use crate::{Mode, Resource};

/// Who asked for a lock, from where, and since when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// In words for people; may be empty.
    pub label: String,
    /// The machine; empty if it did not say.
    pub host: String,
    /// The process on that machine; 0 if it did not say.
    pub pid: u32,
    /// Since when it holds, or waits.
    pub since: SystemTime,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.is_empty() {
            // Somebody who is no process of ours, and said nothing of itself.
            write!(f, "{}", self.label)
        } else if self.label.is_empty() {
            write!(f, "pid {} on {}", self.pid, self.host)
        } else {
            write!(f, "{} (pid {} on {})", self.label, self.pid, self.host)
        }
    }
}

/// One who holds a lock or leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// Who asked for it: label, process, machine, and since when.
    pub owner: Owner,
    /// Whether it is held alone, shared, or as one of some slots.
    pub mode: Mode,
    /// The number of this grant: greater than that of every earlier one.
    pub fence: Fence,
    /// Taken away by force; what it started may still be running.
    pub revoked: bool,
    /// The processes that keep it held, where the engine can name them.
    pub processes: Vec<Process>,
}

/// A process of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    /// Its number, as the operating system has it.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// Whether it is stopped (by SIGSTOP, or Ctrl-Z).
    pub is_stopped: bool,
}

/// One who waits, in the order in which they will be served.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiter {
    /// Who asked for it: label, process, machine, and since when.
    pub owner: Owner,
    /// Whether it is wanted alone, shared, or as one of some slots.
    pub mode: Mode,
    /// The processes that keep the place, where the engine can name them.
    pub processes: Vec<Process>,
}

/// What a holder keeps with its lock, or a leader publishes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Value {
    /// The fence of whoever wrote it.
    pub fence: Fence,
    /// What was written, as it was written.
    pub bytes: Vec<u8>,
}

/// All that an engine knows of one lock or election.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Status {
    /// Which lock or election this is about.
    pub resource: Resource,
    /// Who holds it, by fence.
    pub holders: Vec<Holder>,
    /// Who waits, first come first.
    pub waiters: Vec<Waiter>,
    /// No higher fence was ever given out. Zero for sure means that none was; an engine whose
    /// fences are numbers of the whole store may not know.
    pub last_fence: Fence,
    /// What was last written there.
    pub value: Option<Value>,
    /// The fence of the leader that last resigned.
    pub resigned: Option<Fence>,
    /// Grows with every change that the engine sees.
    pub version: u64,
}

impl Status {
    /// Of a resource that nobody ever used.
    pub fn new(resource: Resource) -> Self {
        Self {
            resource,
            holders: Vec::new(),
            waiters: Vec::new(),
            last_fence: Fence(0),
            value: None,
            resigned: None,
            version: 0,
        }
    }

    /// The one who holds it now, for what only one can hold: an election, an exclusive lock.
    pub fn holder(&self) -> Option<&Holder> {
        self.holders.iter().rev().find(|holder| !holder.revoked)
    }

    /// Whether `fence` belongs to somebody who holds now.
    pub fn is_current(&self, fence: Fence) -> bool {
        self.holders.iter().any(|holder| holder.fence == fence && !holder.revoked)
    }

    /// Whether nobody holds it or waits for it.
    pub fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.waiters.is_empty()
    }
}

/// Whom to take something away from.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Target {
    /// Everybody who holds it now.
    Holders,
    /// The holder with this fence.
    Fence(Fence),
    /// What this process holds or waits for.
    Process {
        /// Its number, as its operating system has it.
        pid: u32,
        /// Its machine; any, if that is not said.
        host: Option<String>,
    },
}

impl Target {
    /// Whether it means this holder.
    pub fn is_holder(&self, holder: &Holder) -> bool {
        match self {
            Self::Holders => true,
            Self::Fence(fence) => *fence == holder.fence,
            Self::Process { .. } => self.is_owner(&holder.owner),
        }
    }

    /// Whether it means this waiter.
    pub fn is_waiter(&self, waiter: &Waiter) -> bool {
        self.is_owner(&waiter.owner)
    }

    fn is_owner(&self, owner: &Owner) -> bool {
        match self {
            Self::Holders | Self::Fence(_) => false,
            Self::Process { pid, host } => {
                *pid == owner.pid && host.as_ref().is_none_or(|host| *host == owner.host)
            }
        }
    }
}

/// Those from whom something was taken away.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Evicted {
    /// Who held it until then.
    pub holders: Vec<Holder>,
    /// Who waited for it.
    pub waiters: Vec<Waiter>,
}

impl Evicted {
    /// Whether there was nobody.
    pub fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.waiters.is_empty()
    }
}
