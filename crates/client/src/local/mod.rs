//! The engine `local`: the processes of one machine, with no server.
//!
//! Each lock is a small file. The kernel's locks on it say who is alive, a ticket in it says who
//! came first, a counter in it gives the fence; [`file`] says how they go together and why a crash
//! at any point leaves nothing to repair, [`queue`] whose turn it is, [`layout`] what lies where.
//!
//! Assumed: one kernel, whose OFD locks exclude and are freed at the last close; a file system of
//! this machine that keeps what was synced; 512-byte sectors written whole; a boot id that changes
//! with every start of the kernel. Not assumed: clocks, or that anybody dies politely.
//!
//! What costs what, uncontended: to lock, take the guard, read, see that the last ticket is dead
//! (unless it was our own), claim the ticket, write, leave the guard, see that the file is in
//! place: seven system calls. To unlock, one. One sync for every 1,024 grants.

mod directory;
mod file;
mod kernel;
mod layout;
mod processes;
mod queue;
mod sleepers;
mod watch;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use nix::sys::signal::{SigSet, SigmaskHow};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use self::directory::{Directory, boot_id};
use self::file::{Critical, LockFile, Step, Terms, Ticket};
use self::kernel::{Access, TicketBytes};
use self::layout::{Applicant, BootId};
use self::processes::Processes;
use self::sleepers::Sleepers;
use self::watch::{Grip, Watch};
use crate::{
    Answer, Engine, Error, Fence, Hold, Kind, Loss, LossSignal, Patience, Request, Resource,
    Status, utc,
};

/// How many idle descriptors are kept for the next request.
const IDLE_MAX: usize = 64;

/// How long to try to enter the guard. It is held for microseconds, or for a sync; longer only by a
/// process that was stopped in there.
const GUARD_PATIENCE: Duration = Duration::from_secs(5);

/// How often observers look.
const LOOK: Duration = Duration::from_millis(50);

/// Where the engine keeps its state, and what it accepts.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct LocalOptions {
    /// The directory; by default `conclave` below `$XDG_STATE_HOME` or `~/.local/state`. All who
    /// want to exclude each other must use the same.
    pub directory: Option<PathBuf>,
    /// Accept a directory on a network file system. Its locks must reach as far as the directory
    /// does (NFS 4 can; many cannot), or two machines will hold one lock.
    pub allow_network_fs: bool,
}

/// The engine `local`: locks between the processes of **this machine**, with no server.
///
/// A lock is freed by the kernel when its holder dies, at once and at any point. First come, first
/// served. Fences survive crashes and loss of power.
pub struct Local {
    inner: Arc<Inner>,
}

struct Inner {
    directory: Arc<Directory>,
    boot: BootId,
    host: String,
    idle: Mutex<Idle>,
    sleepers: Sleepers,
    watch: Arc<Watch>,
}

/// Open files that nobody uses right now.
struct Idle {
    /// Whose they are: a forked child must not lock through files that it shares with its parent.
    pid: u32,
    files: BTreeMap<Resource, Vec<LockFile>>,
    count: usize,
}

impl Local {
    /// The directory of this user.
    ///
    /// # Errors
    /// If it cannot be used.
    pub fn open_default() -> Result<Self, Error> {
        Self::with(&LocalOptions::default())
    }

    /// That directory.
    ///
    /// # Errors
    /// If it cannot be used.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, Error> {
        Self::with(&LocalOptions { directory: Some(directory.into()), ..LocalOptions::default() })
    }

    /// With all options.
    ///
    /// # Errors
    /// If the directory cannot be used.
    pub fn with(options: &LocalOptions) -> Result<Self, Error> {
        let path = match &options.directory {
            Some(path) => path.clone(),
            None => Directory::default_path()?,
        };
        let directory = Directory::open(&path, options.allow_network_fs)?;
        let host = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
        let idle = Idle { pid: std::process::id(), files: BTreeMap::new(), count: 0 };
        Ok(Self {
            inner: Arc::new(Inner {
                directory: Arc::new(directory),
                boot: boot_id()?,
                host,
                idle: Mutex::new(idle),
                sleepers: Sleepers::default(),
                watch: Arc::new(Watch::default()),
            }),
        })
    }

    /// Where the state is.
    pub fn directory(&self) -> &Path {
        self.inner.directory.path()
    }
}

impl Engine for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn acquire<'a>(
        &'a self,
        request: &'a Request,
        patience: Patience,
    ) -> Answer<'a, Box<dyn Hold>> {
        Box::pin(acquire(&self.inner, request, patience))
    }

    fn inspect<'a>(&'a self, resource: &'a Resource) -> Answer<'a, Status> {
        Box::pin(async move {
            let path = self.inner.directory.file_of(resource);
            let Some(file) = LockFile::open(&path, resource, Access::Read)? else {
                return Ok(Status::new(resource.clone()));
            };
            enter(&file, Access::Read, &mut Backoff::new(), read_status).await
        })
    }

    fn list(&self) -> Answer<'_, Vec<Result<Status, Error>>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(blocking(move || {
            let processes = Processes::find(inner.directory.path());
            let files = inner.directory.files()?;
            Ok(files.iter().map(|path| describe(path, &processes)).collect())
        }))
    }

    fn changed<'a>(&'a self, _resource: &'a Resource, _version: u64) -> Answer<'a, ()> {
        // A death changes nothing in the file, so there is nothing to wait for but time.
        Box::pin(async {
            tokio::time::sleep(LOOK).await;
            Ok(())
        })
    }

    fn revoke<'a>(&'a self, resource: &'a Resource, by: &'a str) -> Answer<'a, Status> {
        let (inner, resource, by) = (Arc::clone(&self.inner), resource.clone(), by.to_owned());
        Box::pin(blocking(move || inner.revoke(&resource, &by)))
    }
}

impl Inner {
    fn applicant<'a>(&'a self, request: &'a Request, file: &LockFile) -> Applicant<'a> {
        Applicant {
            label: &request.label,
            host: &self.host,
            pid: file.pid(),
            since: SystemTime::now(),
        }
    }

    fn terms(&self, may_wait: bool, may_sync: bool) -> Terms {
        Terms { may_wait, may_sync, boot: self.boot }
    }

    /// An open file for one request.
    fn check_out(&self, resource: &Resource) -> Result<Option<LockFile>, Error> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.pid != std::process::id() {
            *idle = Idle { pid: std::process::id(), files: BTreeMap::new(), count: 0 };
        }
        if let Some(file) = idle.files.get_mut(resource).and_then(Vec::pop) {
            idle.count -= 1;
            return Ok(Some(file));
        }
        drop(idle);
        LockFile::open(&self.directory.file_of(resource), resource, Access::Write)
    }

    /// Keeps an open file, which locks nothing, for the next request.
    fn check_in(&self, file: LockFile) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // It was let go of, so it is of this process.
        if idle.count >= IDLE_MAX {
            return;
        }
        idle.count += 1;
        if let Some(files) = idle.files.get_mut(file.resource()) {
            files.push(file);
        } else {
            idle.files.insert(file.resource().clone(), vec![file]);
        }
        if idle.files.len() > 2 * IDLE_MAX {
            idle.files.retain(|_, files| !files.is_empty());
        }
    }

    fn revoke(&self, resource: &Resource, by: &str) -> Result<Status, Error> {
        let path = self.directory.file_of(resource);
        let Some(file) = LockFile::open(&path, resource, Access::Write)? else {
            return Ok(Status::new(resource.clone()));
        };
        let before = in_guard(&file, Access::Write, read_status)?;
        if before.holder().is_none() {
            return Ok(before);
        }
        let line = |what, fences: &[Fence]| {
            let held = before.holders.iter().filter(|it| fences.contains(&it.fence));
            let held = held.map(|it| format!("fence {} of {}", it.fence, it.owner));
            let held = held.collect::<Vec<_>>().join(", ");
            format!("{} {by} {what} {resource}: {held}", utc(SystemTime::now()))
        };
        // Nobody is forced who was not put down first: not those either who came meanwhile. And
        // whoever holds or waits looks when the log has grown, so it must grow after the deed too.
        let held = before.holders.iter().filter(|it| !it.revoked).map(|it| it.fence);
        let held: Vec<Fence> = held.collect();
        self.directory.audit(&line("forces", &held))?;
        let taken = in_guard(&file, Access::Write, |critical| critical.revoke(&held))?;
        if !taken.is_empty() {
            self.directory.audit(&line("forced", &taken))?;
        }
        Ok(before)
    }
}

/// Waits for a lock and takes it.
async fn acquire(
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
        let (path, what) = (place.file().path().to_owned(), "it was removed under those who wait");
        return Err(Error::Damaged { path, what });
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
        let grip = Grip { file, ticket: self.ticket, loss: LossSignal::default() };
        let (grip, inner) = (Arc::new(grip), Arc::clone(&self.inner));
        let key = inner.watch.add(&grip);
        inner.watch.start(&inner.directory);
        Box::new(Held { inner, grip: Some(grip), key, fence, is_lent: AtomicBool::new(false) })
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

/// A lock that is held.
struct Held {
    inner: Arc<Inner>,
    /// `None` only when it is being dropped.
    grip: Option<Arc<Grip>>,
    key: u64,
    fence: Fence,
    /// Whether there may be copies of its descriptor, or a keeper. Copies would keep the next hold
    /// too, if the open file were used again; and a keeper may outlive us.
    is_lent: AtomicBool,
}

impl Held {
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
}

impl Grip {
    /// Puts on disk what was written, on a thread that may block.
    async fn sync(self: &Arc<Self>) -> Result<(), Error> {
        let grip = Arc::clone(self);
        let doing = || format!("cannot sync {}", self.file.path().display());
        let synced = blocking(move || Ok(grip.file.descriptor().sync_data())).await?;
        synced.map_err(|error| Error::io(doing(), error))
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
                grip.sync().await?;
            }
            let mut backoff = Backoff::new();
            let publish = |critical: &mut Critical<'_>| critical.publish(ticket, fence, value);
            enter(&grip.file, Access::Write, &mut backoff, publish).await?;
            if is_durable {
                grip.sync().await?;
            }
            Ok(())
        })
    }

    fn release(self: Box<Self>) -> Answer<'static, ()> {
        Box::pin(async move {
            self.check()?;
            let (grip, fence) = (self.grip(), self.fence);
            if grip.file.resource().kind == Kind::Election {
                let mut backoff = Backoff::new();
                let resign = |critical: &mut Critical<'_>| critical.resign(fence);
                // It ends all the same; only the word that it was on purpose would be missing.
                let _ = enter(&grip.file, Access::Write, &mut backoff, resign).await;
            }
            grip.file.release()
        })
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.is_lent.store(true, Ordering::Relaxed);
        Some(self.grip().file.descriptor().as_fd())
    }

    fn keeper(&self) -> Result<Option<Keeper>, Error> {
        self.is_lent.store(true, Ordering::Relaxed);
        let Grip { file, ticket, .. } = &**self.grip();
        let Some(second) = file.reopen()? else {
            let loss = Loss::StateGone;
            return Err(Error::Lost { resource: file.resource().clone(), loss });
        };
        let kept = kernel::keep(second.descriptor(), ticket.number);
        let doing = || format!("cannot lock {}", file.path().display());
        kept.map_err(|error| Error::io(doing(), error))?;
        Ok(Some(Keeper(second)))
    }

    fn abandon(mut self: Box<Self>) {
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
        // Closed, not unlocked.
        self.grip = None;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(grip) = self.grip.take() else { return };
        self.inner.watch.forget(self.key);
        let is_lent = self.is_lent.load(Ordering::Relaxed);
        if grip.file.release_ticket(grip.ticket.number).is_ok()
            && !is_lent
            && let Some(grip) = Arc::into_inner(grip)
        {
            self.inner.check_in(grip.file);
        }
    }
}

/// A descriptor that keeps a lock held beside that of its holder: for a process that must not let
/// the lock become free while it has something to clean up.
///
/// Dropping it closes this copy; others keep the lock held.
pub struct Keeper(LockFile);

impl Keeper {
    /// What to give to the other process.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.descriptor().as_fd()
    }

    /// Lets go, whoever else has a copy. The holder's own descriptor is another thing, and keeps
    /// the lock held.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn release(&self) -> Result<(), Error> {
        self.0.release()
    }
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keeper of {}", self.0.resource())
    }
}

/// What the state file at `path` says, and `/proc` about its holders.
fn describe(path: &Path, processes: &Processes) -> Result<Status, Error> {
    let resource = LockFile::read_resource(path)?;
    let Some(file) = LockFile::open(path, &resource, Access::Read)? else {
        return Ok(Status::new(resource));
    };
    in_guard(&file, Access::Read, |critical| {
        let mut status = critical.status()?;
        let tickets: BTreeMap<Fence, u64> = critical.tickets().collect();
        for holder in &mut status.holders {
            let ticket = tickets.get(&holder.fence).copied().unwrap_or_default();
            holder.processes = processes.of(file.identity().inode, ticket);
        }
        Ok(status)
    })
}

fn read_status(critical: &mut Critical<'_>) -> Result<Status, Error> {
    critical.status()
}

/// Does something under the guard of `file`, as soon as nobody else is in there.
async fn enter<T>(
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
fn in_guard<T>(
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
struct Backoff {
    tries: u32,
    limit: Option<Instant>,
}

impl Backoff {
    /// Long enough to get in when nobody was stopped in there.
    fn new() -> Self {
        Self::until(Some(Instant::now()))
    }

    /// The same, and at least until `deadline`; without one, as long as it takes.
    fn until(deadline: Option<Instant>) -> Self {
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

/// Starts a thread that takes no signals: those are for the threads of the program.
fn start_thread(
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
async fn blocking<T: Send + 'static>(
    what: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let (answer, answered) = oneshot::channel();
    let started = start_thread("conclave-sync", move || drop(answer.send(what())));
    started.map_err(|error| Error::io("cannot start a thread", error))?;
    answered.await.unwrap_or_else(|_| {
        Err(Error::io("a thread of the engine ended early", std::io::Error::other("it panicked")))
    })
}
