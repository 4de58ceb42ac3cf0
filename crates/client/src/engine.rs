//! Where a lock lives: the one interface that every engine has.

use std::future::Future;
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::time::Duration;

use conclave_core::Fence;

use crate::{BootTime, Error, Evicted, LossSignal, Request, Resource, Status, Target};

/// The future of an engine's answer.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// How long to wait for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// As long as it takes.
    Forever,
    /// So long, by the engine's own clock; zero means not at all.
    AtMost(Duration),
}

/// Where locks live. Everything that users see is built on these calls.
///
/// What an engine promises:
/// - *Exclusion*: two holders at once only if both are shared, or both have a slot, or the earlier
///   one was told of its loss.
/// - *Order*: who asks first is served first; a newcomer, in whatever mode, never passes a waiter,
///   unless the engine sees that the waiter's process is stopped.
/// - *Fences* of one resource grow with every grant, over every crash.
/// - *Cancelling*: a dropped [`acquire`](Self::acquire) leaves the queue and holds nothing.
pub trait Engine: Send + Sync + 'static {
    /// Its name: `local`, `memory`, ...
    fn name(&self) -> &'static str;

    /// Where its locks live, as `--at` has it: `local:/var/lib/conclave`, ...
    fn at(&self) -> String;

    /// Waits for a resource and takes it.
    fn acquire<'a>(&'a self, request: &'a Request, patience: Patience)
    -> Answer<'a, Box<dyn Hold>>;

    /// Who holds it and who waits. A resource that nobody ever used is idle.
    fn inspect<'a>(&'a self, resource: &'a Resource) -> Answer<'a, Status>;

    /// Every resource that the engine knows. What cannot be read is an error in its place.
    fn list(&self) -> Answer<'_, Vec<Result<Status, Error>>>;

    /// Returns when the status may differ from the one with `version`: at once if it does.
    fn changed<'a>(&'a self, resource: &'a Resource, version: u64) -> Answer<'a, ()>;

    /// Takes the resource away from `target`, and tells who that was. `by` and they go into the
    /// engine's audit log. Safe only where fences are checked: what a holder started may still be
    /// running.
    fn revoke<'a>(
        &'a self,
        resource: &'a Resource,
        target: &'a Target,
        by: &'a str,
    ) -> Answer<'a, Evicted>;

    /// Ends the session with the servers, for an engine that has one. Whatever is held in it is let
    /// go. The next request opens another.
    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// Something held. Dropping it lets go without waiting; [`release`](Self::release) also reports.
pub trait Hold: Send + Sync {
    /// The fence: a number larger than that of every earlier holder, which proves who came last.
    fn fence(&self) -> Fence;

    /// The signal that is raised when the hold is lost.
    fn loss(&self) -> &LossSignal;

    /// Writes the value: for a lock, safely before this returns; for an election, seen by
    /// observers. Only the holder can.
    fn publish<'a>(&'a self, value: &'a [u8]) -> Answer<'a, ()>;

    /// Lets go, and says whether it was still held. A leader is seen to resign.
    fn release(self: Box<Self>) -> Answer<'static, ()>;

    /// Until when it is safely held. `None` if it is held until it is let go or the process ends.
    fn deadline(&self) -> Option<BootTime> {
        None
    }

    /// Whether the engine does not answer, so that the deadline may be the end.
    fn is_in_jeopardy(&self) -> bool {
        false
    }

    /// For an engine whose locks are kept by descriptors: what can be done with those.
    fn by_descriptor(&self) -> Option<&dyn ByDescriptor> {
        None
    }
}

/// Something held as long as any copy of a descriptor is open, in whatever process.
pub trait ByDescriptor {
    /// The descriptor whose copies keep it held.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// A second one, whose copies keep it held too, until they are let go of all at once.
    ///
    /// # Errors
    /// If the engine cannot be used.
    fn keeper(&self) -> Result<Box<dyn Keeper>, Error>;

    /// Stops taking part without letting go: from now on, dropping the hold leaves it held for
    /// those who have a copy of the descriptor.
    fn abandon(&self);
}

/// Keeps a lock held beside its holder: for a process that must not let the lock become free while
/// it has something to clean up. Dropping it closes this copy; others keep the lock held.
pub trait Keeper: Send {
    /// What to give to the other process.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Lets go, whoever else has a copy. The holder's own descriptor is another thing, and keeps
    /// the lock held.
    ///
    /// # Errors
    /// If the system refuses.
    fn release(&self) -> Result<(), Error>;
}
