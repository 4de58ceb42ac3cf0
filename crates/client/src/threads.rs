//! Threads of the engine.

use std::sync::Arc;

use nix::sys::signal::{SigSet, SigmaskHow};
use tokio::sync::{Semaphore, oneshot};

use crate::Error;

/// How many of an engine's calls may block at once. More would not make a disk faster.
const BLOCKING_MAX: usize = 4;

/// Starts a thread that takes no signals: those are for the threads of the program.
pub fn start_thread(
    name: &str,
    what: impl FnOnce() + Send + 'static,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    // Threads inherit the mask of the one that starts them.
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK);
    // A stack of the usual size: it costs addresses, not memory, and gRPC in a build without
    // optimisation needs more than an eighth of a megabyte.
    let thread = std::thread::Builder::new().name(name.into()).spawn(what);
    if let Ok(before) = before {
        let _ = before.thread_set_mask();
    }
    thread
}

/// Threads for what may block, a few at a time.
pub struct Helpers {
    /// A forked child has none of its parent's threads: nobody there would give a permit back.
    pid: u32,
    permits: Arc<Semaphore>,
}

impl Helpers {
    pub fn new() -> Self {
        Self { pid: std::process::id(), permits: Arc::new(Semaphore::new(BLOCKING_MAX)) }
    }

    /// Runs what may block on a thread that may. It runs to its end even if nobody waits for it any
    /// more; what it returns is then dropped there.
    pub async fn run<T: Send + 'static>(
        &self,
        what: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let permit = match self.pid == std::process::id() {
            true => Arc::clone(&self.permits).acquire_owned().await.ok(),
            false => None,
        };
        let (answer, answered) = oneshot::channel();
        let started = start_thread("conclave-sync", move || {
            let result = what();
            drop(permit);
            drop(answer.send(result));
        });
        started.map_err(|error| Error::io("cannot start a thread", error))?;
        answered.await.unwrap_or_else(|_| {
            let cause = std::io::Error::other("it panicked");
            Err(Error::io("a thread of the engine ended early", cause))
        })
    }
}
