//! Ctrl-C ends long work in order: it still says how far it came.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

use crate::exit;

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// What cannot be ended in order within that time is ended anyway.
const PATIENCE: Duration = Duration::from_secs(2);

/// From here on Ctrl-C is kept for whoever asks. To be called before other threads are started:
/// they must not be interrupted either.
pub fn watch() -> std::io::Result<()> {
    let ctrl_c: SigSet = [Signal::SIGINT].into_iter().collect();
    ctrl_c.thread_block()?;
    std::thread::Builder::new().name("ctrl-c".into()).spawn(move || {
        if ctrl_c.wait().is_ok() {
            IS_INTERRUPTED.store(true, Ordering::Relaxed);
            std::thread::sleep(PATIENCE);
            anstream::eprintln!("conclave: interrupted: nothing is proved");
            std::process::exit(exit::INTERRUPTED.into());
        }
    })?;
    Ok(())
}

/// Whether somebody pressed Ctrl-C.
pub fn is_interrupted() -> bool {
    IS_INTERRUPTED.load(Ordering::Relaxed)
}
