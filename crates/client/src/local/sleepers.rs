//! Threads that sleep on the kernel's locks, for tasks that must not.
//!
//! A kernel lock cannot be polled and a thread that sleeps on one cannot be woken: so the threads
//! are not tied to those who wait. There is at most one for each byte, however many want to know;
//! it ends when the byte is free. Who gives up meanwhile just stops listening. So a process has
//! at most as many such threads as there are others in its way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::file::{Identity, LockFile};
use super::kernel::{self, TicketBytes};
use crate::Error;
use crate::threads::start_thread;

/// A byte of a file, and those who want to know when it is free.
type Listeners = BTreeMap<(Identity, TicketBytes), Vec<Weak<Notify>>>;

/// The sleeping threads of one engine.
#[derive(Clone, Default)]
pub struct Sleepers(Arc<Mutex<Listeners>>);

impl Sleepers {
    /// Rings `bell` when nobody has `byte` any more, or when that can no longer be told.
    pub fn listen(
        &self,
        file: &LockFile,
        byte: TicketBytes,
        bell: &Arc<Notify>,
    ) -> Result<(), Error> {
        let key = (file.identity(), byte);
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(others) = listeners.get_mut(&key) {
            others.retain(|it| it.strong_count() > 0);
            if !others.iter().any(|it| it.as_ptr() == Arc::as_ptr(bell)) {
                others.push(Arc::downgrade(bell));
            }
            return Ok(());
        }
        // An open file of its own, so that what it locks while it sleeps is nobody's ticket.
        let Some(own) = file.reopen()? else {
            bell.notify_one();
            return Ok(());
        };
        let this = self.clone();
        let started = start_thread("conclave-wait", move || {
            if kernel::sleep_until_free(own.descriptor(), byte).is_err() {
                // The kernel has no more locks to give. Waiters look for themselves, now and then.
                std::thread::sleep(Duration::from_millis(20));
            }
            drop(own);
            let woken = this.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            for bell in woken.unwrap_or_default() {
                if let Some(bell) = bell.upgrade() {
                    bell.notify_one();
                }
            }
        });
        started.map_err(|error| Error::io("cannot start a thread to wait with", error))?;
        listeners.insert(key, vec![Arc::downgrade(bell)]);
        Ok(())
    }
}
