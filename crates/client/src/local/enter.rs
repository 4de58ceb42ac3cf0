//! Takes the latch of a lock's file, for as long as it takes to change it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::file::{Critical, LockFile};
use super::kernel::Access;
use super::processes::Processes;
use super::timer::Timer;
use crate::{Error, Patience, Resource};

/// How long to try to take the latch. It is held for microseconds, or for a sync; longer only by a
/// process that was stopped in there.
const GUARD_PATIENCE: Duration = Duration::from_secs(5);

/// How often to try before it is time to do something else.
const TRIES: u32 = 20;

/// Takes the latch unless it is taken for longer than the microseconds that it should be.
pub fn try_enter(file: &LockFile, access: Access) -> Result<Option<Critical<'_>>, Error> {
    for _ in 0..TRIES {
        if let Some(critical) = file.try_enter(access)? {
            return Ok(Some(critical));
        }
        std::thread::yield_now();
    }
    Ok(None)
}

/// Does something under the latch of `file`, as soon as nobody else has it.
pub async fn enter<T>(
    file: &LockFile,
    timer: &Timer,
    access: Access,
    what: impl FnOnce(&mut Critical<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut backoff = Backoff::new();
    loop {
        // The latch is never kept while we wait for anything: `what` does not.
        if let Some(mut critical) = try_enter(file, access)? {
            return what(&mut critical);
        }
        let pause = backoff.pause(file.resource(), file.path())?;
        timer.sleep(pause).await?;
    }
}

/// Does something under the latch of `file`, and blocks the thread until nobody else has it.
pub fn in_latch<T>(
    file: &LockFile,
    access: Access,
    what: impl FnOnce(&mut Critical<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut backoff = Backoff::new();
    loop {
        if let Some(mut critical) = try_enter(file, access)? {
            return what(&mut critical);
        }
        std::thread::sleep(backoff.pause(file.resource(), file.path())?);
    }
}

/// Until when a caller wants to wait.
#[derive(Clone, Copy)]
pub struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    /// `None` for one who waits as long as it takes.
    pub fn of(patience: Patience) -> Option<Self> {
        match patience {
            Patience::Forever => None,
            Patience::AtMost(limit) => Some(Self { at: Instant::now().checked_add(limit)?, limit }),
        }
    }

    pub fn at(self) -> Instant {
        self.at
    }

    pub fn is_past(self) -> bool {
        self.at <= Instant::now()
    }

    pub fn error(self, resource: &Resource) -> Error {
        Error::TimedOut { resource: resource.clone(), waited: self.limit }
    }
}

/// How to wait for the latch.
pub struct Backoff {
    pauses: u32,
    limit: Option<Instant>,
    deadline: Option<Deadline>,
}

impl Backoff {
    /// Long enough to get in when nobody was stopped in there.
    pub fn new() -> Self {
        Self { pauses: 0, limit: Some(Instant::now() + GUARD_PATIENCE), deadline: None }
    }

    /// Until `deadline`; without one, as long as it takes. Who does not want to wait at all still
    /// has to get in to see whether it must.
    pub fn until(deadline: Option<Deadline>) -> Self {
        match deadline {
            Some(it) if it.limit.is_zero() => Self::new(),
            Some(it) => Self { pauses: 0, limit: Some(it.at), deadline },
            None => Self { pauses: 0, limit: None, deadline },
        }
    }

    /// How long to pause before the next try; an error if there is no time left for one.
    pub fn pause(&mut self, resource: &Resource, path: &Path) -> Result<Duration, Error> {
        let left = self.limit.map(|limit| limit.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Err(match self.deadline {
                Some(deadline) => deadline.error(resource),
                None => stuck(resource, path),
            });
        }
        self.pauses += 1;
        let pause = Duration::from_millis(u64::from(self.pauses.min(10)));
        Ok(left.map_or(pause, |left| left.min(pause)))
    }
}

fn stuck(resource: &Resource, path: &Path) -> Error {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let inode = std::fs::symlink_metadata(path).map_or(0, |it| it.ino());
    let processes = Processes::find(directory).in_latch_of(inode);
    Error::Stuck { resource: resource.clone(), processes }
}
