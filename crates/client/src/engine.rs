//! Where a lock lives: the one interface that every engine has.

use std::future::Future;
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::time::Duration;

use conclave_core::Fence;

use crate::{Error, Keeper, LossSignal, Request, Resource, Status};

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
/// - *Order*: who asks first is served first; a newcomer, in whatever mode, never passes a waiter.
/// - *Fences* of one resource grow with every grant, over every crash.
/// - *Cancelling*: a dropped [`acquire`](Self::acquire) leaves the queue and holds nothing.
pub trait Engine: Send + Sync + 'static {
    /// Its name: `local`, `memory`, ...
    fn name(&self) -> &'static str;

    /// Waits for a resource and takes it.
    fn acquire<'a>(&'a self, request: &'a Request, patience: Patience)
    -> Answer<'a, Box<dyn Hold>>;

    /// Who holds it and who waits. A resource that nobody ever used is idle, with fence zero.
    fn inspect<'a>(&'a self, resource: &'a Resource) -> Answer<'a, Status>;

    /// Every resource that the engine knows. What cannot be read is an error in its place.
    fn list(&self) -> Answer<'_, Vec<Result<Status, Error>>>;

    /// Returns when the status may differ from the one with `version`: at once if it does.
    fn changed<'a>(&'a self, resource: &'a Resource, version: u64) -> Answer<'a, ()>;

    /// Takes the resource away from whoever holds it, and tells who held it. `by` and the holders
    /// go into the engine's audit log. Safe only where fences are checked: what a holder started
    /// may still be running.
    fn revoke<'a>(&'a self, resource: &'a Resource, by: &'a str) -> Answer<'a, Status>;
}

/// Something held. Dropping it lets go without waiting; [`release`](Self::release) also reports.
pub trait Hold: Send + Sync {
    /// The number that proves it.
    fn fence(&self) -> Fence;

    /// Raised when it is lost.
    fn loss(&self) -> &LossSignal;

    /// Writes the value: for a lock, on disk before this returns; for an election, seen by
    /// observers. Only the holder can.
    fn publish<'a>(&'a self, value: &'a [u8]) -> Answer<'a, ()>;

    /// Lets go, and says whether it was still held. A leader is seen to resign.
    fn release(self: Box<Self>) -> Answer<'static, ()>;

    /// The descriptor whose copies keep it held, for an engine that has one.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// A second descriptor that keeps it held, for an engine that has the first. Who gets a copy of
    /// this one keeps it held too, until [`Keeper::release`], which lets go of all copies at once.
    fn keeper(&self) -> Result<Option<Keeper>, Error> {
        Ok(None)
    }

    /// Stops taking part without letting go: it stays held as long as a copy of the
    /// [`descriptor`](Self::descriptor) is open, in whatever process. Without one, the same as
    /// dropping it.
    fn abandon(self: Box<Self>) {}
}
