//! From a request to a hold: a place in the queue, and what to do until it is one's turn.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::Inner;
use super::enter::{Backoff, enter, in_guard};
use super::file::{Critical, LockFile, Step, Terms, Ticket};
use super::held::Held;
use super::kernel::{Access, TicketBytes};
use crate::threads::blocking;
use crate::{Error, Fence, Hold, Patience, Request};

/// Waits for a lock and takes it.
pub async fn acquire(
    inner: &Arc<Inner>,
    request: &Request,
    patience: Patience,
) -> Result<Box<dyn Hold>, Error> {
    let (deadline, may_wait) = match patience {
        Patience::Forever => (None, true),
        Patience::AtMost(limit) => (Instant::now().checked_add(limit), !limit.is_zero()),
    };
    let timed_out = || Error::TimedOut {
        resource: request.resource.clone(),
        waited: match patience {
            Patience::AtMost(limit) => limit,
            Patience::Forever => Duration::MAX,
        },
    };
    let arrived = arrive(inner, request, may_wait, deadline).await?;
    let mut place = match arrived {
        Progress::Granted(place, fence) => return Ok(place.hold(fence)),
        Progress::Waits(place) => place,
    };
    let bell = Arc::new(Notify::new());
    inner.watch.add_waiter(&bell);
    inner.watch.start(&inner.directory);
    loop {
        for byte in std::mem::take(&mut place.obstacles) {
            inner.sleepers.listen(place.file(), byte, &bell)?;
        }
        match deadline {
            None => bell.notified().await,
            Some(deadline) => {
                let woken = tokio::time::timeout_at(deadline, bell.notified()).await;
                woken.map_err(|_| timed_out())?;
            }
        }
        let advanced = advance(place, request, deadline).await?;
        place = match advanced {
            Progress::Granted(place, fence) => return Ok(place.hold(fence)),
            Progress::Waits(place) => place,
        };
    }
}

/// Enters the queue.
async fn arrive(
    inner: &Arc<Inner>,
    request: &Request,
    may_wait: bool,
    deadline: Option<Instant>,
) -> Result<Progress, Error> {
    let mut backoff = Backoff::until(deadline);
    loop {
        let Some(file) = inner.check_out(&request.resource)? else {
            let (inner, resource) = (Arc::clone(inner), request.resource.clone());
            blocking(move || inner.directory.create(&resource, inner.boot)).await?;
            continue;
        };
        let terms = inner.terms(may_wait, false);
        // Beyond this point the file may have a ticket: whoever drops the place gives it back.
        let mut place = Place::new(inner, file);
        let owner = inner.applicant(request, place.file());
        let arrive = |critical: &mut Critical<'_>| critical.arrive(request, &owner, terms);
        let mut step = enter(place.file(), Access::Write, &mut backoff, arrive).await?;
        if matches!(step, Step::NeedsSync) {
            let request = request.clone();
            let terms = Terms { may_sync: true, ..terms };
            (place, step) = blocking(move || {
                let owner = place.inner.applicant(&request, place.file());
                let arrive = |critical: &mut Critical<'_>| critical.arrive(&request, &owner, terms);
                let step = in_guard(place.file(), Access::Write, arrive)?;
                Ok((place, step))
            })
            .await?;
        }
        // Somebody removed the state and others may already use a new one: so must we. (Looked at
        // after the ticket was taken, so that the watch sees whatever comes later.)
        if !place.file().is_in_place() {
            place.discard();
            continue;
        }
        match step {
            Step::Busy(holders) => {
                let resource = request.resource.clone();
                return Err(Error::Busy { resource, holders });
            }
            step => return Ok(place.progress(step)),
        }
    }
}

/// A waiter looks whether it is its turn.
async fn advance(
    mut place: Place,
    request: &Request,
    deadline: Option<Instant>,
) -> Result<Progress, Error> {
    if !place.file().is_in_place() {
        // The queue that we were in is no more.
        let doing = format!("cannot wait for {} any longer", request.resource);
        let cause = std::io::Error::other("its state file was removed or replaced");
        return Err(Error::io(doing, cause));
    }
    let (ticket, since) = (place.ticket, SystemTime::now());
    let terms = place.inner.terms(true, false);
    let mut backoff = Backoff::until(deadline);
    let advance = |critical: &mut Critical<'_>| critical.advance(ticket, request, since, terms);
    let mut step = enter(place.file(), Access::Write, &mut backoff, advance).await?;
    if matches!(step, Step::NeedsSync) {
        let (request, terms) = (request.clone(), Terms { may_sync: true, ..terms });
        (place, step) = blocking(move || {
            let advance =
                |critical: &mut Critical<'_>| critical.advance(ticket, &request, since, terms);
            let step = in_guard(place.file(), Access::Write, advance)?;
            Ok((place, step))
        })
        .await?;
    }
    Ok(place.progress(step))
}

/// A place in the queue, or on the way there. Dropping it lets go of whatever it has locked.
struct Place {
    inner: Arc<Inner>,
    /// `None` only when it is being dropped.
    file: Option<LockFile>,
    ticket: Ticket,
    /// What to sleep on, while it is not its turn.
    obstacles: Vec<TicketBytes>,
}

/// What became of a request.
enum Progress {
    Granted(Place, Fence),
    Waits(Place),
}

impl Place {
    fn new(inner: &Arc<Inner>, file: LockFile) -> Self {
        let ticket = Ticket { number: 0, index: 0 };
        Self { inner: Arc::clone(inner), file: Some(file), ticket, obstacles: Vec::new() }
    }

    fn file(&self) -> &LockFile {
        self.file.as_ref().expect("a place has its file until it is dropped")
    }

    fn progress(mut self, step: Step) -> Progress {
        match step {
            Step::Granted(ticket, fence) => {
                self.ticket = ticket;
                Progress::Granted(self, fence)
            }
            Step::Waits(ticket, obstacles) => {
                self.ticket = ticket;
                self.obstacles = obstacles;
                Progress::Waits(self)
            }
            Step::Busy(_) | Step::NeedsSync => unreachable!("dealt with by those who asked"),
        }
    }

    /// Closes the file instead of keeping it.
    fn discard(mut self) {
        self.file = None;
    }

    fn hold(mut self, fence: Fence) -> Box<dyn Hold> {
        let file = self.file.take().expect("a place has its file until it is dropped");
        Box::new(Held::new(&self.inner, file, self.ticket, fence))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A file that cannot be unlocked is closed instead, which unlocks it too.
        let ticket = self.ticket.number;
        if let Some(file) = self.file.take().filter(|file| file.release_ticket(ticket).is_ok()) {
            self.inner.check_in(file);
        }
    }
}
