//! Threads of the engine.

use nix::sys::signal::{SigSet, SigmaskHow};
use tokio::sync::oneshot;

use crate::Error;

/// Starts a thread that takes no signals: those are for the threads of the program.
pub fn start_thread(
    name: &str,
    what: impl FnOnce() + Send + 'static,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    // Threads inherit the mask of the one that starts them.
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let thread = std::thread::Builder::new().name(name.into()).stack_size(128 << 10).spawn(what);
    if let Ok(before) = before {
        let _ = before.thread_set_mask();
    }
    thread
}

/// Runs what may block on a thread that may. It runs to its end even if nobody waits for it any
/// more; what it returns is then dropped there.
pub async fn blocking<T: Send + 'static>(
    what: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let (answer, answered) = oneshot::channel();
    let started = start_thread("conclave-sync", move || drop(answer.send(what())));
    started.map_err(|error| Error::io("cannot start a thread", error))?;
    answered.await.unwrap_or_else(|_| {
        Err(Error::io("a thread of the engine ended early", std::io::Error::other("it panicked")))
    })
}
