//! Something held, and how one learns that it no longer is.

use std::task::Poll;

use conclave_core::Fence;

use crate::request::check_value;
use crate::{BootTime, ByDescriptor, Error, Hold, Loss, LossWatch, Resource, Standing};

/// A lock that is held. Dropping it lets go and never blocks; [`release`](Self::release) lets go
/// and reports.
///
/// A lock can be lost while it is held. The guard says so as a flag ([`is_lost`](Self::is_lost))
/// and as a future ([`lost`](Self::lost)). Between the loss and the moment one looks, only the
/// [fence](Self::fence) helps: pass it with every write to a resource that refuses older ones.
#[must_use = "a lock is held only as long as its guard lives"]
pub struct Guard {
    resource: Resource,
    hold: Box<dyn Hold>,
}

impl Guard {
    pub(crate) fn new(resource: Resource, hold: Box<dyn Hold>) -> Self {
        Self { resource, hold }
    }

    /// The lock that is held.
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// The number that proves it: larger than that of every earlier holder.
    pub fn fence(&self) -> Fence {
        self.hold.fence()
    }

    /// Until when the lock is safely held: before that moment nobody else gets it. It moves as long
    /// as the engine answers. `None` for an engine without sessions: held until it is let go.
    pub fn deadline(&self) -> Option<BootTime> {
        self.hold.deadline()
    }

    /// How sure it is that the lock is still held.
    pub fn standing(&self) -> Standing {
        if self.is_lost() {
            Standing::Lost
        } else if self.hold.is_in_jeopardy() {
            Standing::Jeopardy
        } else {
            Standing::Safe
        }
    }

    /// Whether the lock has been lost.
    pub fn is_lost(&self) -> bool {
        self.loss().is_some()
    }

    /// Why the lock has been lost, if it has.
    pub fn loss(&self) -> Option<Loss> {
        let told = self.hold.loss().get().cloned();
        // Who slept through the deadline must not have to wait until somebody tells it.
        told.or_else(|| self.deadline()?.is_past().then_some(Loss::Expired))
    }

    /// Waits until the lock is lost; for ever if it never is. Stop what you do under the lock.
    pub async fn lost(&self) -> Loss {
        self.hold.loss().wait().await
    }

    /// A handle that tells whether and why the lock was lost. It can be cloned and given to tasks
    /// that work under the lock.
    pub fn loss_watch(&self) -> LossWatch {
        self.hold.loss().watch()
    }

    /// Keeps a value with the lock, safely before this returns: the next holder finds it in
    /// [`Status::value`](crate::Status::value).
    ///
    /// # Errors
    /// If the lock is lost, the value too long, or the engine cannot be used.
    pub async fn record(&self, value: &[u8]) -> Result<(), Error> {
        check_value(value)?;
        self.hold.publish(value).await
    }

    /// Lets go, and says whether the lock was held until now.
    ///
    /// # Errors
    /// [`Error::Lost`] if it was not; [`Error::Unknown`] if the engine cannot tell.
    pub async fn release(self) -> Result<(), Error> {
        self.hold.release().await
    }

    /// For an engine whose locks are kept by descriptors: what can be done with those. Give a child
    /// the descriptor, and the lock is held as long as the child lives.
    pub fn by_descriptor(&self) -> Option<&dyn ByDescriptor> {
        self.hold.by_descriptor()
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut it = f.debug_struct("Guard");
        it.field("resource", &self.resource).field("fence", &self.fence());
        it.field("loss", &self.loss()).finish()
    }
}

/// Several locks held together, let go in the opposite order.
#[derive(Default, Debug)]
#[must_use = "locks are held only as long as their guards live"]
pub struct Guards(Vec<Guard>);

impl Guards {
    pub(crate) fn push(&mut self, guard: Guard) {
        self.0.push(guard);
    }

    /// Each of them, in the order in which they were taken.
    pub fn iter(&self) -> std::slice::Iter<'_, Guard> {
        self.0.iter()
    }

    /// Whether one of them has been lost.
    pub fn is_lost(&self) -> bool {
        self.0.iter().any(Guard::is_lost)
    }

    /// Waits until one of them is lost; for ever if none ever is.
    pub async fn lost(&self) -> Loss {
        let mut losses: Vec<_> = self.0.iter().map(|guard| Box::pin(guard.lost())).collect();
        std::future::poll_fn(|context| {
            for loss in &mut losses {
                if let Poll::Ready(loss) = loss.as_mut().poll(context) {
                    return Poll::Ready(loss);
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Lets go of all, and reports the first that was not held until now.
    ///
    /// # Errors
    /// As [`Guard::release`]; the others are let go all the same.
    pub async fn release(mut self) -> Result<(), Error> {
        let mut first = Ok(());
        while let Some(guard) = self.0.pop() {
            first = first.and(guard.release().await);
        }
        first
    }
}

impl<'a> IntoIterator for &'a Guards {
    type Item = &'a Guard;
    type IntoIter = std::slice::Iter<'a, Guard>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Drop for Guards {
    fn drop(&mut self) {
        while let Some(guard) = self.0.pop() {
            drop(guard);
        }
    }
}

/// An office that is held. Dropping it ends the office; [`resign`](Self::resign) also tells the
/// observers that it was given up rather than lost.
#[derive(Debug)]
#[must_use = "a leader leads only as long as its leadership lives"]
pub struct Leadership {
    guard: Guard,
}

impl Leadership {
    pub(crate) fn new(guard: Guard) -> Self {
        Self { guard }
    }

    /// The number that proves it: larger than that of every earlier leader.
    pub fn fence(&self) -> Fence {
        self.guard.fence()
    }

    /// Until when the office is safely held, as [`Guard::deadline`].
    pub fn deadline(&self) -> Option<BootTime> {
        self.guard.deadline()
    }

    /// How sure it is that the office is still held.
    pub fn standing(&self) -> Standing {
        self.guard.standing()
    }

    /// Whether the office has been lost.
    pub fn is_lost(&self) -> bool {
        self.guard.is_lost()
    }

    /// Why the office has been lost, if it has.
    pub fn loss(&self) -> Option<Loss> {
        self.guard.loss()
    }

    /// Waits until the office is lost; for ever if it never is.
    pub async fn lost(&self) -> Loss {
        self.guard.lost().await
    }

    /// Publishes another value.
    ///
    /// # Errors
    /// If the office is lost, the value too long, or the engine cannot be used.
    pub async fn proclaim(&self, value: &[u8]) -> Result<(), Error> {
        self.guard.record(value).await
    }

    /// Gives up the office; observers see it.
    ///
    /// # Errors
    /// As [`Guard::release`].
    pub async fn resign(self) -> Result<(), Error> {
        self.guard.release().await
    }

    /// The guard behind it.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// The guard alone, for callers that treat a leadership as a lock.
    pub fn into_guard(self) -> Guard {
        self.guard
    }
}
