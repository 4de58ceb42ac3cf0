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

mod acquire;
mod directory;
mod enter;
mod file;
mod held;
mod kernel;
mod layout;
mod processes;
mod queue;
mod sleepers;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use self::acquire::acquire;
use self::directory::{Directory, boot_id};
use self::enter::{Backoff, enter, in_guard};
use self::file::{Critical, LockFile, Terms};
use self::kernel::Access;
use self::layout::{Applicant, BootId};
use self::processes::Processes;
use self::sleepers::Sleepers;

use self::watch::Watch;
use crate::threads::blocking;
use crate::{
    Answer, Engine, Error, Evicted, Fence, Hold, Patience, Request, Resource, Status, Target, utc,
};

/// How many idle descriptors are kept for the next request.
const IDLE_MAX: usize = 64;

/// How often observers look.
const LOOK: Duration = Duration::from_millis(50);

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

    fn revoke<'a>(
        &'a self,
        resource: &'a Resource,
        target: &'a Target,
        by: &'a str,
    ) -> Answer<'a, Evicted> {
        let (inner, resource) = (Arc::clone(&self.inner), resource.clone());
        let (target, by) = (target.clone(), by.to_owned());
        Box::pin(blocking(move || inner.revoke(&resource, &target, &by)))
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

    fn revoke(&self, resource: &Resource, target: &Target, by: &str) -> Result<Evicted, Error> {
        let path = self.directory.file_of(resource);
        let Some(file) = LockFile::open(&path, resource, Access::Write)? else {
            return Ok(Evicted::default());
        };
        let mut before = in_guard(&file, Access::Write, read_status)?;
        before.holders.retain(|it| !it.revoked && target.is_holder(it));
        if before.holders.is_empty() {
            return Ok(Evicted::default());
        }
        let line = |what, fences: &[Fence]| {
            let held = before.holders.iter().filter(|it| fences.contains(&it.fence));
            let held = held.map(|it| format!("fence {} of {}", it.fence, it.owner));
            let held = held.collect::<Vec<_>>().join(", ");
            format!("{} {by} {what} {resource}: {held}", utc(SystemTime::now()))
        };
        // Nobody is forced who was not put down first: not those either who came meanwhile. And
        // whoever holds or waits looks when the log has grown, so it must grow after the deed too.
        let held: Vec<Fence> = before.holders.iter().map(|it| it.fence).collect();
        self.directory.audit(&line("forces", &held))?;
        let taken = in_guard(&file, Access::Write, |critical| critical.revoke(&held))?;
        if !taken.is_empty() {
            self.directory.audit(&line("forced", &taken))?;
        }
        before.holders.retain(|it| taken.contains(&it.fence));
        Ok(Evicted { holders: before.holders, waiters: Vec::new() })
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
        for (waiter, ticket) in status.waiters.iter_mut().zip(critical.waiting_tickets()) {
            waiter.processes = processes.of(file.identity().inode, ticket);
        }
        Ok(status)
    })
}

fn read_status(critical: &mut Critical<'_>) -> Result<Status, Error> {
    critical.status()
}
