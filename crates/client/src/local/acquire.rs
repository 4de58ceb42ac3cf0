//! From a request to a hold: a place in the queue, and what to do until it is one's turn.
//!
//! No open file is kept while a task waits for anything, but for the one that keeps it in the
//! queue, which is shared by all of this engine who wait for the same; see [`lines`](super::lines).

use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::Notify;

use super::Inner;
use super::enter::{Backoff, Deadline, try_enter};
use super::file::{Admission, Advance, LockFile, Obstacle, Terms, Ticket};
use super::held::Held;
use super::kernel::{Access, TicketBytes};
use super::lines::Sleep;
use crate::{Error, Hold, Patience, Request};

/// Who waits for one of many slots sleeps on so many of their holders, by a thread each. If another
/// one lets go, it hears of that from its own process, or when the watch looks.
const SLEEPS_MAX: usize = 8;

/// Waits for a lock and takes it.
pub async fn acquire(
    inner: &Arc<Inner>,
    request: &Request,
    patience: Patience,
) -> Result<Box<dyn Hold>, Error> {
    let may_wait = patience != Patience::AtMost(std::time::Duration::ZERO);
    let deadline = Deadline::of(patience);
    let mut place = match arrive(inner, request, may_wait, deadline).await? {
        Stage::Granted(held) => return Ok(held),
        Stage::Waits(place) => place,
    };
    let alarm = deadline.map(|it| inner.timer.ring_at(it.at(), &place.bell));
    let _alarm = alarm.transpose()?;
    inner.watch.start(&inner.directory, &inner.lines);
    loop {
        place.sleep_on_obstacles()?;
        place.bell.notified().await;
        if let Some(deadline) = deadline.filter(|it| it.is_past()) {
            return Err(deadline.error(&request.resource));
        }
        place = match advance(place, request, deadline).await? {
            Stage::Granted(held) => return Ok(held),
            Stage::Waits(place) => place,
        };
    }
}

/// How far a request came.
enum Stage {
    Granted(Box<Held>),
    Waits(QueuePlace),
}

/// What became of one try.
enum Attempt<T> {
    Done(T),
    /// The latch is taken: later.
    Occupied,
    /// To be tried again by a thread that may block for a sync.
    NeedsSync,
    /// There is no state yet.
    NoState,
    /// Somebody removed the state and others may already use a new one: so must we.
    Removed,
}

/// Enters the queue.
async fn arrive(
    inner: &Arc<Inner>,
    request: &Request,
    may_wait: bool,
    deadline: Option<Deadline>,
) -> Result<Stage, Error> {
    let mut backoff = Backoff::until(deadline);
    let mut terms = inner.terms(may_wait, false);
    loop {
        let attempt = if terms.may_sync {
            let (own, request) = (Arc::clone(inner), request.clone());
            inner.helpers.run(move || try_to_arrive(&own, &request, terms)).await?
        } else {
            try_to_arrive(inner, request, terms)?
        };
        match attempt {
            Attempt::Done(stage) => return Ok(stage),
            Attempt::Removed => {}
            Attempt::NeedsSync => terms.may_sync = true,
            Attempt::NoState => {
                let (own, resource) = (Arc::clone(inner), request.resource.clone());
                let create = move || own.directory.create(&resource, own.boot);
                inner.helpers.run(create).await?;
            }
            Attempt::Occupied => inner.pause(&request.resource, &mut backoff).await?,
        }
    }
}

fn try_to_arrive(
    inner: &Arc<Inner>,
    request: &Request,
    terms: Terms,
) -> Result<Attempt<Stage>, Error> {
    let Some(file) = inner.check_out(&request.resource)? else { return Ok(Attempt::NoState) };
    let shared = inner.lines.keeper(&file);
    let step = {
        let Some(mut critical) = try_enter(&file, Access::Write)? else {
            inner.check_in(file);
            return Ok(Attempt::Occupied);
        };
        let owner = inner.applicant(request, &file);
        // If this fails half way, the file is closed, and with it all that it locked.
        critical.arrive(request, &owner, terms, shared.as_deref().unwrap_or(&file))?
    };
    // Looked at after the ticket was taken, so that the watch sees whatever comes later.
    let is_in_place = file.is_in_place();
    Ok(Attempt::Done(match step {
        Admission::Granted(..) if !is_in_place => return Ok(Attempt::Removed),
        Admission::Granted(ticket, fence) => {
            Stage::Granted(Box::new(Held::new(inner, file, ticket, fence)))
        }
        Admission::Waits(ticket, obstacle) => {
            // The first who waits brings the file that keeps all of them.
            let keeper = match shared {
                None => Arc::new(file),
                Some(shared) => {
                    inner.check_in(file);
                    shared
                }
            };
            let place = QueuePlace::new(inner, keeper, ticket, request, obstacle);
            if !is_in_place {
                place.discard();
                return Ok(Attempt::Removed);
            }
            Stage::Waits(place)
        }
        _ if !is_in_place => return Ok(Attempt::Removed),
        Admission::NeedsSync => {
            inner.check_in(file);
            return Ok(Attempt::NeedsSync);
        }
        Admission::Busy(holders) => {
            inner.check_in(file);
            return Err(Error::Busy { resource: request.resource.clone(), holders });
        }
    }))
}

/// A waiter looks whether it is its turn.
async fn advance(
    mut place: QueuePlace,
    request: &Request,
    deadline: Option<Deadline>,
) -> Result<Stage, Error> {
    let inner = Arc::clone(&place.inner);
    let mut backoff = Backoff::until(deadline);
    let mut terms = inner.terms(true, false);
    loop {
        let attempt;
        if terms.may_sync {
            let request = request.clone();
            (place, attempt) = inner
                .helpers
                .run(move || {
                    let attempt = place.try_to_advance(&request, terms)?;
                    Ok((place, attempt))
                })
                .await?;
        } else {
            attempt = place.try_to_advance(request, terms)?;
        }
        match attempt {
            Attempt::Done(Some(held)) => return Ok(Stage::Granted(held)),
            Attempt::Done(None) => return Ok(Stage::Waits(place)),
            Attempt::NeedsSync => terms.may_sync = true,
            Attempt::Occupied => inner.pause(&request.resource, &mut backoff).await?,
            Attempt::NoState | Attempt::Removed => {
                // The queue that we were in is no more.
                let doing = format!("cannot wait for {} any longer", request.resource);
                let cause = std::io::Error::other("its state file was removed or replaced");
                return Err(Error::io(doing, cause));
            }
        }
    }
}

/// A place in the queue. Dropping it leaves.
struct QueuePlace {
    inner: Arc<Inner>,
    /// The open file that keeps it. `None` only when it is being dropped.
    keeper: Option<Arc<LockFile>>,
    ticket: Ticket,
    obstacle: Obstacle,
    /// Rung when it is time to look again.
    bell: Arc<Notify>,
    /// Whether it became a hold, and has nothing to leave.
    is_over: bool,
}

impl QueuePlace {
    fn new(
        inner: &Arc<Inner>,
        keeper: Arc<LockFile>,
        ticket: Ticket,
        request: &Request,
        obstacle: Obstacle,
    ) -> Self {
        let bell = Arc::new(Notify::new());
        inner.lines.join(&keeper, ticket, request.mode, &bell);
        let (inner, keeper) = (Arc::clone(inner), Some(keeper));
        Self { inner, keeper, ticket, obstacle, bell, is_over: false }
    }

    fn keeper(&self) -> &LockFile {
        self.keeper.as_ref().expect("a place has its keeper until it is dropped")
    }

    /// Sees to it that the bell rings when the one in its way is gone.
    fn sleep_on_obstacles(&self) -> Result<(), Error> {
        let (inner, file, own) = (&self.inner, self.keeper(), self.ticket.number);
        if !inner.lines.is_front(file.identity(), own) {
            return Ok(());
        }
        match &self.obstacle {
            Obstacle::Waiter(ticket, process) => {
                inner.lines.sleeps(file.identity(), own, Sleep::Behind(*process));
                inner.sleepers.listen(file, TicketBytes::Waiting(*ticket), &self.bell)
            }
            Obstacle::Holders(tickets) => {
                let others = tickets.iter().filter(|it| !inner.lines.holds(file.identity(), **it));
                let others: Vec<u64> = others.copied().collect();
                let is_sound = others.len() <= SLEEPS_MAX;
                let sleep = if is_sound { Sleep::Sound } else { Sleep::Restless };
                inner.lines.sleeps(file.identity(), own, sleep);
                for ticket in others.into_iter().take(SLEEPS_MAX) {
                    inner.sleepers.listen(file, TicketBytes::Alive(ticket), &self.bell)?;
                }
                Ok(())
            }
        }
    }

    /// Whether it holds now; if not, it knows what to sleep on.
    fn try_to_advance(
        &mut self,
        request: &Request,
        terms: Terms,
    ) -> Result<Attempt<Option<Box<Held>>>, Error> {
        let keeper = self.keeper();
        if !keeper.is_in_place() {
            return Ok(Attempt::Removed);
        }
        let Some(file) = self.inner.check_out(&request.resource)? else {
            return Ok(Attempt::NoState);
        };
        if file.identity() != keeper.identity() {
            // An idle one of a state that was removed before, or the state was removed just now.
            return Ok(Attempt::Occupied);
        }
        let step = {
            let Some(mut critical) = try_enter(&file, Access::Write)? else {
                self.inner.check_in(file);
                return Ok(Attempt::Occupied);
            };
            critical.advance(self.ticket, request, SystemTime::now(), terms, keeper)
        };
        Ok(match step? {
            Advance::Granted(fence) => {
                self.is_over = true;
                let held = Held::new(&self.inner, file, self.ticket, fence);
                Attempt::Done(Some(Box::new(held)))
            }
            Advance::Waits(obstacle) => {
                self.obstacle = obstacle;
                self.inner.check_in(file);
                Attempt::Done(None)
            }
            Advance::NeedsSync => {
                self.inner.check_in(file);
                Attempt::NeedsSync
            }
        })
    }

    /// Leaves, and closes the file instead of keeping it.
    fn discard(mut self) {
        if let Some(keeper) = self.keeper.take() {
            self.leave(&keeper);
        }
    }

    fn leave(&self, keeper: &LockFile) {
        if !self.is_over {
            // Unlocking what is locked cannot fail, but after a fork, when it is not ours to
            // unlock.
            let _ = keeper.stop_waiting(self.ticket.number);
            self.inner.lines.leave(keeper.identity(), self.ticket.number);
        }
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        let Some(keeper) = self.keeper.take() else { return };
        self.leave(&keeper);
        // Of several who leave at once exactly one is the last.
        if let Some(file) = Arc::into_inner(keeper).filter(|it| it.check_process().is_ok()) {
            self.inner.check_in(file);
        }
    }
}
