//! Into the guard of a lock's file, for as long as it takes to change it.

use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use super::file::{Critical, LockFile};
use super::kernel::Access;
use super::processes::Processes;
use crate::Error;

/// How long to try to enter the guard. It is held for microseconds, or for a sync; longer only by a
/// process that was stopped in there.
const GUARD_PATIENCE: Duration = Duration::from_secs(5);

/// Does something under the guard of `file`, as soon as nobody else is in there.
pub async fn enter<T>(
    file: &LockFile,
    access: Access,
    backoff: &mut Backoff,
    what: impl FnOnce(&mut Critical<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    loop {
        // The guard is never kept while we wait for anything: `what` does not.
        if let Some(mut critical) = file.try_enter(access)? {
            return what(&mut critical);
        }
        if !backoff.wait().await {
            return Err(stuck(file));
        }
    }
}

/// The same, blocking the thread.
pub fn in_guard<T>(
    file: &LockFile,
    access: Access,
    what: impl FnOnce(&mut Critical<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut pause = Duration::from_micros(20);
    let start = Instant::now();
    loop {
        if let Some(mut critical) = file.try_enter(access)? {
            return what(&mut critical);
        }
        if start.elapsed() > GUARD_PATIENCE {
            return Err(stuck(file));
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(5));
    }
}

fn stuck(file: &LockFile) -> Error {
    let directory = file.path().parent().unwrap_or(Path::new("/"));
    let processes = Processes::find(directory).in_guard_of(file.identity().inode);
    Error::Stuck { resource: file.resource().clone(), processes }
}

/// How to wait for the guard: it is held for microseconds, so at first we only let others run.
pub struct Backoff {
    tries: u32,
    limit: Option<Instant>,
}

impl Backoff {
    /// Long enough to get in when nobody was stopped in there.
    pub fn new() -> Self {
        Self::until(Some(Instant::now()))
    }

    /// The same, and at least until `deadline`; without one, as long as it takes.
    pub fn until(deadline: Option<Instant>) -> Self {
        Self { tries: 0, limit: deadline.map(|it| it.max(Instant::now() + GUARD_PATIENCE)) }
    }

    /// Whether to try again.
    async fn wait(&mut self) -> bool {
        self.tries += 1;
        if self.tries < 20 {
            std::thread::yield_now();
            return true;
        }
        if self.limit.is_some_and(|limit| Instant::now() >= limit) {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(u64::from(self.tries.min(30)) - 19)).await;
        true
    }
}
