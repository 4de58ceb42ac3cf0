//! Something held.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Inner;
use super::enter::enter;
use super::file::{Critical, LockFile, Ticket};
use super::kernel::{self, Access};
use super::watch::Grip;
use crate::{Answer, ByDescriptor, Error, Fence, Hold, Keeper, Kind, Loss, LossSignal};

/// A lock that is held.
pub struct Held {
    inner: Arc<Inner>,
    /// `None` only when it is being dropped.
    grip: Option<Arc<Grip>>,
    key: u64,
    fence: Fence,
    /// Whether there may be copies of its descriptor, or a keeper. Copies would keep the next hold
    /// too, if the open file were used again; and a keeper may outlive us.
    is_lent: AtomicBool,
    /// Whether dropping it leaves it held for those who have a copy of its descriptor.
    is_abandoned: AtomicBool,
}

impl Held {
    /// Begins to watch over it.
    pub fn new(inner: &Arc<Inner>, file: LockFile, ticket: Ticket, fence: Fence) -> Self {
        inner.lines.take(file.identity(), ticket.number);
        let grip = Arc::new(Grip { file, ticket, loss: LossSignal::default() });
        let key = inner.watch.add(&grip);
        inner.watch.start(&inner.directory, &inner.lines);
        let (is_lent, is_abandoned) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { inner: Arc::clone(inner), grip: Some(grip), key, fence, is_lent, is_abandoned }
    }

    fn grip(&self) -> &Arc<Grip> {
        self.grip.as_ref().expect("a hold has its grip until it is dropped")
    }

    /// Looks whether it is still held.
    fn check(&self) -> Result<(), Error> {
        let grip = self.grip();
        grip.file.check_process()?;
        grip.check_entry();
        grip.check_place();
        match grip.loss.get() {
            None => Ok(()),
            Some(loss) => {
                Err(Error::Lost { resource: grip.file.resource().clone(), loss: loss.clone() })
            }
        }
    }

    /// Puts on disk what was written, on a thread that may block.
    async fn sync(&self) -> Result<(), Error> {
        let grip = Arc::clone(self.grip());
        let doing = || format!("cannot sync {}", self.grip().file.path().display());
        let sync = move || Ok(grip.file.descriptor().sync_data());
        self.inner.helpers.run(sync).await?.map_err(|error| Error::io(doing(), error))
    }
}

impl Hold for Held {
    fn fence(&self) -> Fence {
        self.fence
    }

    fn loss(&self) -> &LossSignal {
        &self.grip().loss
    }

    fn publish<'a>(&'a self, value: &'a [u8]) -> Answer<'a, ()> {
        Box::pin(async move {
            self.check()?;
            let (grip, fence, ticket) = (self.grip(), self.fence, self.grip().ticket);
            let is_durable = grip.file.resource().kind == Kind::Lock;
            if is_durable {
                // The record before this one may be of somebody who was killed before its sync. The
                // one that is written over now must not be the last that survives a loss of power.
                self.sync().await?;
            }
            let publish = |critical: &mut Critical<'_>| critical.publish(ticket, fence, value);
            enter(&grip.file, &self.inner.timer, Access::Write, publish).await?;
            if is_durable {
                self.sync().await?;
            }
            Ok(())
        })
    }

    fn release(self: Box<Self>) -> Answer<'static, ()> {
        Box::pin(async move {
            self.check()?;
            let (grip, fence) = (self.grip(), self.fence);
            if grip.file.resource().kind == Kind::Election {
                let resign = |critical: &mut Critical<'_>| critical.resign(fence);
                // It ends all the same; only the word that it was on purpose would be missing.
                let _ = enter(&grip.file, &self.inner.timer, Access::Write, resign).await;
            }
            grip.file.release()
        })
    }

    fn by_descriptor(&self) -> Option<&dyn ByDescriptor> {
        Some(self)
    }
}

impl ByDescriptor for Held {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.is_lent.store(true, Ordering::Relaxed);
        self.grip().file.descriptor().as_fd()
    }

    fn keeper(&self) -> Result<Box<dyn Keeper>, Error> {
        self.is_lent.store(true, Ordering::Relaxed);
        let Grip { file, ticket, .. } = &**self.grip();
        let Some(second) = file.reopen()? else {
            let loss = Loss::StateGone;
            return Err(Error::Lost { resource: file.resource().clone(), loss });
        };
        let kept = kernel::keep(second.descriptor(), ticket.number);
        let doing = || format!("cannot lock {}", file.path().display());
        kept.map_err(|error| Error::io(doing(), error))?;
        Ok(Box::new(SecondFile(second)))
    }

    fn abandon(&self) {
        if self.is_abandoned.swap(true, Ordering::Relaxed) {
            return;
        }
        self.inner.watch.forget(self.key);
        let (grip, fence) = (self.grip(), self.fence);
        if grip.file.resource().kind == Kind::Election {
            // As above: only the word would be missing. Who keeps it held goes on leading.
            for _ in 0..100 {
                match grip.file.try_enter(Access::Write) {
                    Ok(None) => std::thread::yield_now(),
                    Ok(Some(mut critical)) => {
                        let _ = critical.resign(fence);
                        break;
                    }
                    Err(_) => break,
                }
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(grip) = self.grip.take() else { return };
        let (inner, file, ticket) = (&self.inner, grip.file.identity(), grip.ticket.number);
        if self.is_abandoned.load(Ordering::Relaxed) {
            // Closed, not unlocked.
            drop(grip);
            inner.lines.let_go(file, ticket);
            return;
        }
        inner.watch.forget(self.key);
        let is_free = grip.file.release_ticket(ticket).is_ok();
        let is_lent = self.is_lent.load(Ordering::Relaxed);
        if is_free
            && !is_lent
            && let Some(grip) = Arc::into_inner(grip)
        {
            inner.check_in(grip.file);
        }
        // Last: whoever waits for it in this process looks now.
        inner.lines.let_go(file, ticket);
    }
}

/// The state file, opened a second time, with a byte of the same ticket locked.
struct SecondFile(LockFile);

impl Keeper for SecondFile {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.descriptor().as_fd()
    }

    fn release(&self) -> Result<(), Error> {
        self.0.release()
    }
}
