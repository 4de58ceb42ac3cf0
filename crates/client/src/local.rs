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
//! What costs what, uncontended: to lock, take the latch, read, see that the last ticket is dead
//! (unless it was our own), claim the ticket, write, let go of the latch, see that the file is in
//! place: seven system calls. To unlock, one. One sync for every 1,024 grants.

mod acquire;
mod directory;
mod enter;
mod entries;
mod file;
mod held;
mod kernel;
mod layout;
mod lines;
mod processes;
mod queue;
mod sleepers;
mod timer;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use self::acquire::acquire;
use self::directory::{Directory, boot_id};
use self::enter::{Backoff, enter, in_latch};
use self::file::{Critical, Identity, LockFile, Terms, Tickets};
use self::kernel::Access;
use self::layout::{Applicant, BootId};
use self::lines::Lines;
use self::processes::{Processes, Started};
use self::sleepers::Sleepers;
use self::timer::Timer;
use self::watch::Watch;
use crate::threads::Helpers;
use crate::{
    Answer, Engine, Error, Evicted, Hold, Holder, Patience, Request, Resource, Status, Target, utc,
};

/// How many idle descriptors are kept for the next request.
const IDLE_MAX: usize = 64;

/// How often observers look.
const LOOK: Duration = Duration::from_millis(50);

/// How long the processes that were found to keep something are not looked for again, as long as it
/// is kept: it takes milliseconds, and observers look all the time.
const PROCESSES_KNOWN: Duration = Duration::from_secs(1);

/// Of how many resources the processes are remembered.
const PROCESSES_MAX: usize = 64;

/// Where the engine keeps its state, and what it accepts.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct LocalOptions {
    /// The directory; by default `$CONCLAVE_DIR`, else `conclave` below `$XDG_STATE_HOME` or
    /// `~/.local/state`. All who want to exclude each other must use the same. (What a
    /// `conclave.toml` says is for the command `conclave` alone.)
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
    process: Started,
    idle: Mutex<Idle>,
    lines: Arc<Lines>,
    sleepers: Sleepers,
    watch: Arc<Watch>,
    timer: Timer,
    helpers: Helpers,
    known: Mutex<BTreeMap<Identity, Known>>,
}

/// Open files that nobody uses right now.
struct Idle {
    /// Whose they are: a forked child must not lock through files that it shares with its parent.
    pid: u32,
    files: BTreeMap<Resource, Vec<LockFile>>,
    count: usize,
}

/// Which processes kept these tickets at some moment.
struct Known {
    tickets: Tickets,
    processes: Arc<Processes>,
    at: Instant,
}

impl Local {
    /// The directory of this user.
    ///
    /// # Errors
    /// If it cannot be used.
    pub fn open_default() -> Result<Self, Error> {
        Self::with(&LocalOptions::default())
    }

    /// Opens the engine whose locks live in that directory.
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
                process: Started::own(),
                idle: Mutex::new(idle),
                lines: Arc::default(),
                sleepers: Sleepers::default(),
                watch: Arc::default(),
                timer: Timer::default(),
                helpers: Helpers::new(),
                known: Mutex::default(),
            }),
        })
    }

    /// Where the state is.
    pub fn directory(&self) -> &Path {
        self.inner.directory.path()
    }

    /// Whether the state is in memory (tmpfs, as `/dev/shm` and `/run` are): a restart of the
    /// machine then takes fences back and forgets recorded values.
    pub fn is_volatile(&self) -> bool {
        self.inner.directory.is_volatile()
    }
}

impl Engine for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn at(&self) -> String {
        format!("local:{}", self.directory().display())
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
            let read = enter(&file, &self.inner.timer, Access::Read, read_status).await;
            let (mut status, tickets) = read?;
            if tickets == Tickets::default() {
                return Ok(status);
            }
            let processes = self.inner.processes_of(file.identity(), &tickets).await?;
            name_processes(&mut status, &tickets, file.identity(), &processes);
            Ok(status)
        })
    }

    fn list(&self) -> Answer<'_, Vec<Result<Status, Error>>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(self.inner.helpers.run(move || {
            let processes = Processes::find(inner.directory.path());
            let files = inner.directory.files()?;
            Ok(files.iter().map(|path| describe(path, &processes)).collect())
        }))
    }

    fn changed<'a>(&'a self, _resource: &'a Resource, _version: u64) -> Answer<'a, ()> {
        // A death changes nothing in the file, so there is nothing to wait for but time.
        Box::pin(self.inner.timer.sleep(LOOK))
    }

    fn revoke<'a>(
        &'a self,
        resource: &'a Resource,
        target: &'a Target,
        by: &'a str,
    ) -> Answer<'a, Evicted> {
        let (inner, resource) = (Arc::clone(&self.inner), resource.clone());
        let (target, by) = (target.clone(), by.to_owned());
        Box::pin(self.inner.helpers.run(move || inner.revoke(&resource, &target, &by)))
    }
}

impl Inner {
    fn applicant<'a>(&'a self, request: &'a Request, file: &LockFile) -> Applicant<'a> {
        // A forked child started later than the engine knows.
        let is_own = self.process.pid == file.pid();
        Applicant {
            label: &request.label,
            host: &self.host,
            process: if is_own { self.process } else { Started::own() },
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

    /// Waits a little for somebody to let go of the latch.
    async fn pause(&self, resource: &Resource, backoff: &mut Backoff) -> Result<(), Error> {
        let pause = backoff.pause(resource, &self.directory.file_of(resource))?;
        self.timer.sleep(pause).await
    }

    /// Which processes keep these tickets.
    async fn processes_of(
        self: &Arc<Self>,
        file: Identity,
        tickets: &Tickets,
    ) -> Result<Arc<Processes>, Error> {
        let is_known = |it: &&Known| it.tickets == *tickets && it.at.elapsed() < PROCESSES_KNOWN;
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(it) = known().get(&file).filter(is_known) {
            return Ok(Arc::clone(&it.processes));
        }
        let inner = Arc::clone(self);
        let find = move || Ok(Arc::new(Processes::find(inner.directory.path())));
        let processes = self.helpers.run(find).await?;
        let (tickets, at) = (tickets.clone(), Instant::now());
        let mut known = known();
        if known.len() >= PROCESSES_MAX {
            known.clear();
        }
        known.insert(file, Known { tickets, processes: Arc::clone(&processes), at });
        Ok(processes)
    }

    fn revoke(&self, resource: &Resource, target: &Target, by: &str) -> Result<Evicted, Error> {
        let path = self.directory.file_of(resource);
        let Some(file) = LockFile::open(&path, resource, Access::Write)? else {
            return Ok(Evicted::default());
        };
        let (status, tickets) = in_latch(&file, Access::Write, read_status)?;
        let holders = tickets.holders.into_iter().zip(status.holders);
        let holders: BTreeMap<u64, _> =
            holders.filter(|(_, it)| !it.revoked && target.is_holder(it)).collect();
        let waiters = tickets.waiters.into_iter().zip(status.waiters);
        let waiters: BTreeMap<u64, _> = waiters.filter(|(_, it)| target.is_waiter(it)).collect();
        let meant: Vec<u64> = holders.keys().chain(waiters.keys()).copied().collect();
        if meant.is_empty() {
            return Ok(Evicted::default());
        }
        let line = |what, tickets: &[u64]| {
            let holders = holders.iter().filter(|(ticket, _)| tickets.contains(ticket));
            let holders = holders.map(|(_, it)| format!("fence {} of {}", it.fence, it.owner));
            let waiters = waiters.iter().filter(|(ticket, _)| tickets.contains(ticket));
            let waiters = waiters.map(|(_, it)| format!("the place in the queue of {}", it.owner));
            let all = holders.chain(waiters).collect::<Vec<_>>().join(", ");
            format!("{} {by} {what} {resource}: {all}", utc(SystemTime::now()))
        };
        // The log names everybody before anything is taken away, so only those it names are meant,
        // not who came since. Holders and waiters look when the log grows, so it grows again after.
        self.directory.audit(&line("forces", &meant))?;
        let taken = in_latch(&file, Access::Write, |critical| critical.revoke(&meant))?;
        let mut evicted = Evicted::default();
        for (ticket, fence) in &taken {
            if let Some(holder) = holders.get(ticket) {
                evicted.holders.push(holder.clone());
            } else if let Some(waiter) = waiters.get(ticket) {
                match fence {
                    None => evicted.waiters.push(waiter.clone()),
                    // It was granted between the two looks.
                    Some(fence) => evicted.holders.push(Holder {
                        owner: waiter.owner.clone(),
                        mode: waiter.mode,
                        fence: *fence,
                        revoked: true,
                        processes: Vec::new(),
                    }),
                }
            }
        }
        if !evicted.is_empty() {
            let tickets: Vec<u64> = taken.iter().map(|(ticket, _)| *ticket).collect();
            self.directory.audit(&line("forced", &tickets))?;
        }
        Ok(evicted)
    }
}

/// What the state file at `path` says, and `/proc` about those who keep it.
fn describe(path: &Path, processes: &Processes) -> Result<Status, Error> {
    let resource = LockFile::read_resource(path)?;
    let Some(file) = LockFile::open(path, &resource, Access::Read)? else {
        return Ok(Status::new(resource));
    };
    let (mut status, tickets) = in_latch(&file, Access::Read, read_status)?;
    name_processes(&mut status, &tickets, file.identity(), processes);
    Ok(status)
}

fn name_processes(status: &mut Status, tickets: &Tickets, file: Identity, processes: &Processes) {
    for (holder, ticket) in status.holders.iter_mut().zip(&tickets.holders) {
        holder.processes = processes.of(file.inode, *ticket);
    }
    for (waiter, ticket) in status.waiters.iter_mut().zip(&tickets.waiters) {
        waiter.processes = processes.of(file.inode, *ticket);
    }
}

fn read_status(critical: &mut Critical<'_>) -> Result<(Status, Tickets), Error> {
    critical.status()
}
