//! One lock's state file, and what is done to it under its latch.
//!
//! *The kernel's locks are the truth, the file is only order and description.* An entry counts as
//! long as the kernel says that a byte of its ticket is locked. So a release is one unlock, a death
//! is a release, and there is no moment at which a killed process leaves anything to repair:
//!
//! - killed before its entry is written: a ticket or a fence is skipped, nothing else;
//! - killed later, waiting or holding: the kernel frees its bytes, the entry is dead. Who finds it
//!   so may clear it or use its place, but need not.
//!
//! Counters are written before the entry that uses them, so that no ticket and no fence is given
//! out twice.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use nix::libc;

use super::entries::Entries;
use super::kernel::{self, Access, Latched, TicketBytes};
use super::layout::{
    Applicant, BootId, Damage, FENCE_MAX, Header, INITIAL_SIZE, QueueEntry, Record, Summary,
};
use super::processes::Started;
use super::queue::{Other, Turn, goes_with, turn, usage};
use crate::{
    Error, Fence, Holder, Kind, Loss, Mode, Owner, Request, Resource, Status, Value, Waiter,
};

/// So many fences are reserved with one sync.
const BLOCK: u64 = 1024;

/// More tickets than a machine gives out between two restarts.
const TICKETS_OF_A_BOOT: u64 = 1 << 32;

/// An open state file. What it locks is told by the kernel to other open files only: so whoever
/// looks at the state does that through one which has no ticket.
pub struct LockFile {
    file: File,
    path: PathBuf,
    resource: Resource,
    identity: Identity,
    /// Whether one of our threads has the latch.
    is_inside: AtomicBool,
    /// The process that opened it.
    pid: u32,
    /// The last ticket that it let go of; zero if none.
    let_go: AtomicU64,
    /// Room for entries, used again: a long queue would otherwise be new memory for each look.
    room: Mutex<Entries>,
}

/// Keeps other threads from taking the latch: the kernel keeps out other open files only.
struct Inside<'a>(&'a AtomicBool);

impl<'a> Inside<'a> {
    fn try_enter(is_inside: &'a AtomicBool) -> Option<Self> {
        // Made only if we are in: dropping it lets the next one in.
        if is_inside.swap(true, Ordering::Acquire) { None } else { Some(Self(is_inside)) }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Which file this is, whatever it is called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Identity {
    device: u64,
    pub inode: u64,
}

impl Identity {
    fn of(metadata: &std::fs::Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

impl LockFile {
    /// Opens the state of `resource`; `None` if it has none yet.
    pub fn open(path: &Path, resource: &Resource, access: Access) -> Result<Option<Self>, Error> {
        let mut options = File::options();
        options.read(true).write(access == Access::Write);
        // A link in a directory that others may write to could lead anywhere; nor may a pipe that
        // somebody put there make us wait.
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = match options.open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(format!("cannot open {}", path.display()), error)),
        };
        let doing = || format!("cannot read {}", path.display());
        let metadata = file.metadata().map_err(|error| Error::io(doing(), error))?;
        let damaged = |what| Error::Damaged { path: path.to_owned(), what };
        if !metadata.is_file() || metadata.len() < INITIAL_SIZE as u64 {
            return Err(damaged("it is not a state file of conclave"));
        }
        let header = read_header(&file).map_err(|error| Error::io(doing(), error))?;
        let header = header.map_err(damaged)?;
        if header.resource != *resource {
            return Err(damaged("it is the state of another lock"));
        }
        let identity = Identity::of(&metadata);
        let (path, resource) = (path.to_owned(), resource.clone());
        let (is_inside, pid) = (AtomicBool::new(false), std::process::id());
        let (let_go, room) = (AtomicU64::new(0), Mutex::default());
        Ok(Some(Self { file, path, resource, identity, is_inside, pid, let_go, room }))
    }

    /// Whose state this is, whatever the file is called.
    pub fn read_resource(path: &Path) -> Result<Resource, Error> {
        let damaged = |what| Error::Damaged { path: path.to_owned(), what };
        let doing = || format!("cannot read {}", path.display());
        let mut options = File::options();
        options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = options.open(path).map_err(|error| Error::io(doing(), error))?;
        let header = read_header(&file);
        let header = header.map_err(|_| damaged("it is not a state file of conclave"))?;
        Ok(header.map_err(damaged)?.resource)
    }

    /// The bytes of a new state. It has no fences yet: until the directory is synced it may vanish
    /// with the next loss of power, and a fence that was given out from it would come again.
    pub fn initial(resource: &Resource, boot: BootId) -> Vec<u8> {
        let mut bytes = vec![0; INITIAL_SIZE];
        let header = Header { resource: resource.clone(), bound: Fence(0) };
        bytes[..Header::SIZE].copy_from_slice(&header.encode());
        let summary = Summary { boot, ..Summary::default() };
        let offset = usize::try_from(Summary::OFFSET).expect("the summary lies in the second page");
        bytes[offset..offset + Summary::SIZE].copy_from_slice(&summary.encode());
        bytes
    }

    pub fn descriptor(&self) -> &File {
        &self.file
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Whether this is still the file that others find under its path.
    pub fn is_in_place(&self) -> bool {
        let found = std::fs::symlink_metadata(&self.path);
        found.is_ok_and(|it| Identity::of(&it) == self.identity)
    }

    /// Opens the same state file once more, with kernel locks of its own; `None` if another file
    /// has taken its place.
    pub fn reopen(&self) -> Result<Option<Self>, Error> {
        let again = Self::open(&self.path, &self.resource, Access::Write)?;
        Ok(again.filter(|it| it.identity == self.identity))
    }

    /// Takes the latch if nobody else has it.
    pub fn try_enter(&self, access: Access) -> Result<Option<Critical<'_>>, Error> {
        let Some(inside) = Inside::try_enter(&self.is_inside) else { return Ok(None) };
        let latch = kernel::try_latch(&self.file, access);
        let latch = latch.map_err(|error| self.io("cannot lock", error))?;
        latch.map(|latch| Critical::read(self, inside, latch)).transpose()
    }

    /// A forked child shares this open file with its parent, and with it whatever is locked: it may
    /// close its copy, but neither unlock nor enter.
    pub fn check_process(&self) -> Result<(), Error> {
        if self.pid == std::process::id() {
            return Ok(());
        }
        Err(self.io("cannot use, after a fork,", io::ErrorKind::PermissionDenied.into()))
    }

    /// Lets go of everything: of `ticket`, which nobody else keeps.
    pub fn release_ticket(&self, ticket: u64) -> Result<(), Error> {
        self.release()?;
        self.let_go.store(ticket, Ordering::Relaxed);
        Ok(())
    }

    /// The process that opened it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Lets go of everything.
    pub fn release(&self) -> Result<(), Error> {
        self.check_process()?;
        kernel::release_all(&self.file).map_err(|error| self.io("cannot unlock", error))
    }

    /// Says that `ticket`, which this open file kept in the queue, waits no longer.
    pub fn stop_waiting(&self, ticket: u64) -> Result<(), Error> {
        self.check_process()?;
        let told = kernel::stop_waiting(&self.file, ticket);
        told.map_err(|error| self.io("cannot unlock", error))
    }

    /// Whether entry `index` still stands for `ticket`, unrevoked. Read without the latch: an entry
    /// is replaced as a whole.
    pub fn still_stands(&self, index: usize, ticket: u64) -> Result<bool, Error> {
        let mut block = [0; QueueEntry::SIZE];
        let read = self.file.read_exact_at(&mut block, QueueEntry::offset(index));
        read.map_err(|error| self.io("cannot read", error))?;
        let entry = QueueEntry::decode(&block).map_err(|what| self.damaged(what))?;
        Ok(entry.is_some_and(|it| it.ticket() == ticket && !it.is_revoked()))
    }

    fn room(&self) -> MutexGuard<'_, Entries> {
        // What is left there is overwritten before it is looked at.
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn io(&self, doing: &str, error: io::Error) -> Error {
        Error::io(format!("{doing} {}", self.path.display()), error)
    }

    fn damaged(&self, what: &'static str) -> Error {
        Error::Damaged { path: self.path.clone(), what }
    }
}

/// What became of a request that arrived.
#[derive(Debug)]
pub enum Admission {
    /// It holds the lock, with this fence.
    Granted(Ticket, Fence),
    /// It is in the queue, and must sleep.
    Waits(Ticket, Obstacle),
    /// It would have to wait, and does not want to. Nothing was written. It is for these: who hold,
    /// or if nobody does, who comes first.
    Busy(Vec<Owner>),
    /// A sync is needed first, and the caller is not where it may block. Nothing was written.
    NeedsSync,
}

/// What became of a waiter that looked whether it is its turn.
#[derive(Debug)]
pub enum Advance {
    /// It holds the lock, with this fence.
    Granted(Fence),
    /// It must sleep on.
    Waits(Obstacle),
    /// A sync is needed first, and the caller is not where it may block. Nothing was written.
    NeedsSync,
}

/// What a waiter sleeps on.
#[derive(Debug)]
pub enum Obstacle {
    /// One that waits ahead of it, and the process that asked for it.
    Waiter(u64, Started),
    /// These who hold, until one of them is gone.
    Holders(Vec<u64>),
}

/// A place in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    pub number: u64,
    /// Which entry is its own.
    pub index: usize,
}

/// How a request may be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// Whether it takes a place in the queue if it is not its turn.
    pub may_wait: bool,
    /// Whether this thread may block for a sync.
    pub may_sync: bool,
    /// The kernel's run.
    pub boot: BootId,
}

/// The state, read under the latch. Whoever has it is alone with the file.
pub struct Critical<'a> {
    file: &'a LockFile,
    summary: Summary,
    /// As they lie in the file. Not all of them are alive.
    entries: Entries,
    /// Those found to be dead, which the file does not know yet.
    dead: Vec<usize>,
    // Dropped in this order.
    _latch: Latched<'a>,
    _inside: Inside<'a>,
}

impl Drop for Critical<'_> {
    fn drop(&mut self) {
        // Still inside: nobody else of this process uses it. A single entry is not worth the
        // memory.
        if self.entries.len() > 1 {
            *self.file.room() = std::mem::take(&mut self.entries);
        }
    }
}

impl<'a> Critical<'a> {
    fn read(file: &'a LockFile, inside: Inside<'a>, latch: Latched<'a>) -> Result<Self, Error> {
        // The counters and the first entry: all there is, most of the time.
        let mut first = [0; Summary::SIZE + QueueEntry::SIZE];
        let read = file.file.read_exact_at(&mut first, Summary::OFFSET);
        read.map_err(|error| file.io("cannot read", error))?;
        let (summary, entry) = first.split_first_chunk().expect("it begins with the summary");
        let summary = Summary::decode(summary).map_err(|what| file.damaged(what))?;
        let count = summary.entries as usize;
        if count > 1 {
            // The last entry may not be written yet. More than that is not a count of entries.
            let length = file.file.metadata().map_err(|error| file.io("cannot read", error))?.len();
            if QueueEntry::offset(count.saturating_sub(1)) > length {
                return Err(file.damaged("its counters are damaged"));
            }
        }
        let mut entries = std::mem::take(&mut *file.room());
        let entry = entry.first_chunk().expect("an entry comes after the summary");
        let read = entries.read(&file.file, count, entry);
        let read = read.map_err(|error| file.io("cannot read", error))?;
        read.map_err(|what| file.damaged(what))?;
        Ok(Self { file, summary, entries, dead: Vec::new(), _latch: latch, _inside: inside })
    }

    /// The entry, if its ticket is alive; otherwise it is forgotten. Asking the kernel takes the
    /// longer the more tickets there are: it is asked only of those that matter, and the dead among
    /// these are cleared, so that nobody asks again.
    fn living(&mut self, index: usize) -> Result<Option<QueueEntry>, Error> {
        let Some(entry) = self.entries.get(index) else { return Ok(None) };
        // One call less for who locks again and again.
        let is_alive = entry.ticket() != self.file.let_go.load(Ordering::Relaxed)
            && kernel::is_locked(&self.file.file, TicketBytes::Alive(entry.ticket()))
                .map_err(|error| self.file.io("cannot read the locks of", error))?;
        if is_alive {
            return Ok(Some(entry));
        }
        self.entries.clear(index);
        self.dead.push(index);
        Ok(None)
    }

    /// Forgets all entries whose process is gone, or has let go.
    fn bury_the_dead(&mut self) -> Result<(), Error> {
        for index in 0..self.entries.len() {
            self.living(index)?;
        }
        Ok(())
    }

    /// All who hold, but for those from whom it was taken away; by ticket.
    fn holders(&mut self) -> Result<Vec<QueueEntry>, Error> {
        let mut holders = Vec::new();
        for index in 0..self.entries.len() {
            let holds = self.entries.glance(index).is_some_and(|it| it.fence.is_some());
            if holds && let Some(entry) = self.living(index)? {
                holders.push(entry);
            }
        }
        holders.retain(|it| !it.is_revoked());
        holders.sort_unstable_by_key(QueueEntry::ticket);
        Ok(holders)
    }

    /// The nearest who waits ahead of ticket `before`, stopped or not.
    fn waiter_before(&mut self, before: u64) -> Result<Option<QueueEntry>, Error> {
        let mut before = before;
        loop {
            let waiting = self.entries.iter().filter_map(|(index, it)| {
                (it.fence.is_none() && it.ticket < before).then_some((it.ticket, index))
            });
            let Some((ticket, index)) = waiting.max() else { return Ok(None) };
            if let Some(entry) = self.living(index)?.filter(|it| !it.is_revoked()) {
                return Ok(Some(entry));
            }
            before = ticket;
        }
    }

    /// Whose turn it is, seen from a request for `mode` with that ticket.
    fn turn(
        &mut self,
        mode: Mode,
        ticket: u64,
        holders: &[Other],
    ) -> Result<Turn<QueueEntry>, Error> {
        let mut before = ticket;
        let ahead = std::iter::from_fn(|| {
            loop {
                let entry = match self.waiter_before(before) {
                    Ok(found) => found?,
                    Err(error) => return Some(Err(error)),
                };
                before = entry.ticket();
                if entry.process().is_stopped() {
                    continue;
                }
                return Some(Ok((entry.mode(), entry)));
            }
        });
        turn(mode, holders, ahead)
    }

    /// A request arrives. If it must wait, it is `keeper` that keeps it in the queue.
    pub fn arrive(
        &mut self,
        request: &Request,
        owner: &Applicant<'_>,
        terms: Terms,
        keeper: &LockFile,
    ) -> Result<Admission, Error> {
        self.check_usage(request)?;
        let holders = self.holders()?;
        let others = others(&holders);
        let busy = |first: Option<&QueueEntry>| {
            let holders: Vec<Owner> = holders.iter().map(QueueEntry::owner).collect();
            let first = first.filter(|_| holders.is_empty()).map(QueueEntry::owner);
            Ok(Admission::Busy(holders.into_iter().chain(first).collect()))
        };
        if !terms.may_wait && !goes_with(request.mode, &others) {
            return busy(None);
        }
        let obstacle = match self.turn(request.mode, u64::MAX, &others)? {
            Turn::Now => None,
            Turn::Behind(first) if !terms.may_wait => return busy(Some(&first)),
            Turn::Until(_) if !terms.may_wait => return busy(None),
            Turn::Behind(nearest) => Some(Obstacle::behind(&nearest)),
            Turn::Until(tickets) => Some(Obstacle::Holders(tickets)),
        };
        let fence = match obstacle {
            None => match self.next_fence(terms)? {
                Some(fence) => fence,
                None => return Ok(Admission::NeedsSync),
            },
            Some(_) => 0,
        };
        let number = self.summary.last_ticket + 1;
        let ticket = Ticket { number, index: self.entries.free_place() };
        let claimed = match obstacle {
            None => kernel::hold(&self.file.file, number),
            Some(_) => kernel::wait(&keeper.file, number),
        };
        claimed.map_err(|error| self.file.io("cannot lock", error))?;
        self.summary.last_ticket = number;
        if fence != 0 {
            self.write_first_value(request, Fence(fence))?;
        }
        self.write(ticket, QueueEntry::new(number, fence, request.mode, owner))?;
        self.clear_the_dead()?;
        Ok(match obstacle {
            None => Admission::Granted(ticket, Fence(fence)),
            Some(obstacle) => Admission::Waits(ticket, obstacle),
        })
    }

    /// All who use a name at one time use it in the same way.
    fn check_usage(&mut self, request: &Request) -> Result<(), Error> {
        let ours = usage(request.mode);
        for index in 0..self.entries.len() {
            let entry = self.entries.glance(index);
            let is_other = entry.is_some_and(|it| usage(it.mode) != ours && !it.is_revoked);
            if is_other && let Some(other) = self.living(index)? {
                let (resource, theirs) = (request.resource.clone(), usage(other.mode()));
                return Err(Error::Mismatch { resource, ours, theirs });
            }
        }
        Ok(())
    }

    /// A waiter, kept in the queue by `keeper`, looks whether it is its turn.
    pub fn advance(
        &mut self,
        ticket: Ticket,
        request: &Request,
        since: SystemTime,
        terms: Terms,
        keeper: &LockFile,
    ) -> Result<Advance, Error> {
        let own = self.entries.get(ticket.index);
        let Some(mut entry) = own.filter(|it| it.ticket() == ticket.number) else {
            return Err(self.file.damaged("an entry of its queue is gone"));
        };
        if entry.is_revoked() {
            return Err(Error::Evicted { resource: request.resource.clone() });
        }
        let holders = others(&self.holders()?);
        let obstacle = match self.turn(request.mode, ticket.number, &holders)? {
            Turn::Now => None,
            Turn::Behind(nearest) => Some(Obstacle::behind(&nearest)),
            Turn::Until(tickets) => Some(Obstacle::Holders(tickets)),
        };
        if let Some(obstacle) = obstacle {
            self.clear_the_dead()?;
            return Ok(Advance::Waits(obstacle));
        }
        let Some(fence) = self.next_fence(terms)? else { return Ok(Advance::NeedsSync) };
        // From one open file to the other: at no moment does neither have it.
        let held = kernel::hold(&self.file.file, ticket.number);
        held.map_err(|error| self.file.io("cannot lock", error))?;
        self.write_first_value(request, Fence(fence))?;
        entry.grant(fence, since);
        self.write(ticket, entry)?;
        self.clear_the_dead()?;
        keeper.stop_waiting(ticket.number)?;
        Ok(Advance::Granted(Fence(fence)))
    }

    /// Takes the next fence; `None` if that needs a sync and there may be none.
    ///
    /// Fences survive a loss of power because no fence above the synced bound is ever given out,
    /// and after a restart, which the boot id shows, the next one lies above it.
    fn next_fence(&mut self, terms: Terms) -> Result<Option<u64>, Error> {
        // Somebody alive from "another boot" is another machine on a shared file system: its
        // counters are good.
        let mut is_first_since_boot = false;
        if self.summary.boot != terms.boot {
            self.bury_the_dead()?;
            is_first_since_boot = self.entries.iter().next().is_none();
        }
        if is_first_since_boot || self.summary.last_fence >= self.summary.bound {
            if !terms.may_sync {
                return Ok(None);
            }
            self.reserve(is_first_since_boot, terms.boot)?;
        }
        self.summary.last_fence += 1;
        Ok(Some(self.summary.last_fence))
    }

    fn reserve(&mut self, is_first_since_boot: bool, boot: BootId) -> Result<(), Error> {
        let mut block = [0; Header::SIZE];
        let read = self.file.file.read_exact_at(&mut block, 0);
        read.map_err(|error| self.file.io("cannot read", error))?;
        let mut header = Header::decode(&block).map_err(|what| self.file.damaged(what))?;
        if is_first_since_boot {
            // What was not synced may be lost: begin where nobody can have been.
            self.summary.last_fence = self.summary.last_fence.max(header.bound.0);
            self.summary.boot = boot;
            // Entries may be newer on disk than the counters: no ticket of theirs may come again.
            self.summary.last_ticket += TICKETS_OF_A_BOOT;
            self.mend_records()?;
        }
        let last = self.summary.last_fence;
        let bound = last.max(header.bound.0).checked_add(BLOCK).filter(|it| *it <= FENCE_MAX);
        let bound = bound.ok_or_else(|| self.file.damaged("it has no fences left"))?;
        if header.bound == Fence(0)
            && let Some(directory) = self.file.path.parent()
        {
            // The first block of all: the file must still be found after a loss of power. Not left
            // to whoever created it, who may have been killed; and done before the header says so.
            let synced = File::open(directory).and_then(|it| it.sync_all());
            synced.map_err(|error| self.file.io("cannot sync the directory of", error))?;
        }
        header.bound = Fence(bound);
        let file = &self.file.file;
        let synced = file.write_all_at(&header.encode(), 0).and_then(|()| file.sync_data());
        synced.map_err(|error| self.file.io("cannot write", error))?;
        self.summary.bound = bound;
        Ok(())
    }

    /// After a loss of power the record that was being written may be torn. The other one is whole,
    /// unless it is an election's, of which nothing is synced, nor worth more than its leader.
    fn mend_records(&mut self) -> Result<(), Error> {
        let (even, odd) = (self.record(0), self.record(1));
        if even.is_err() && odd.is_err() && self.file.resource.kind != Kind::Election {
            return even.map(drop);
        }
        for (number, record) in [(0, even), (1, odd)] {
            if record.is_err() {
                let cleared =
                    self.file.file.write_all_at(&[0; Record::SIZE], Record::offset(number));
                cleared.map_err(|error| self.file.io("cannot write", error))?;
            }
        }
        Ok(())
    }

    /// Writes the counters, then the entry.
    fn write(&mut self, ticket: Ticket, entry: QueueEntry) -> Result<(), Error> {
        self.entries.set(ticket.index, &entry);
        self.entries.trim();
        self.summary.entries = u32::try_from(self.entries.len()).expect("a queue is short");
        self.summary.version = self.summary.version.wrapping_add(1);
        let file = &self.file.file;
        let written = if ticket.index == 0 {
            // Side by side in one page: at once.
            let mut both = [0; Summary::SIZE + QueueEntry::SIZE];
            both[..Summary::SIZE].copy_from_slice(&self.summary.encode());
            both[Summary::SIZE..].copy_from_slice(entry.encode());
            file.write_all_at(&both, Summary::OFFSET)
        } else {
            file.write_all_at(&self.summary.encode(), Summary::OFFSET)
                .and_then(|()| file.write_all_at(entry.encode(), QueueEntry::offset(ticket.index)))
        };
        written.map_err(|error| self.file.io("cannot write", error))
    }

    /// Clears the entries that were found to be dead, so that nobody has to find out again. It does
    /// not matter how many of them are: killed in between, the rest is as dead as before.
    fn clear_the_dead(&mut self) -> Result<(), Error> {
        for index in std::mem::take(&mut self.dead) {
            // Its place may be in use again, or lie behind the last entry.
            if index < self.entries.len() && self.entries.glance(index).is_none() {
                let cleared =
                    self.file.file.write_all_at(&[0; QueueEntry::SIZE], QueueEntry::offset(index));
                cleared.map_err(|error| self.file.io("cannot write", error))?;
            }
        }
        Ok(())
    }

    fn write_summary(&mut self) -> Result<(), Error> {
        self.summary.version = self.summary.version.wrapping_add(1);
        let written = self.file.file.write_all_at(&self.summary.encode(), Summary::OFFSET);
        written.map_err(|error| self.file.io("cannot write", error))
    }

    /// A leader's value is there before anybody can see the leader. The counters come first here
    /// too: else, if we are killed in between, the next leader has the fence of that value.
    fn write_first_value(&mut self, request: &Request, fence: Fence) -> Result<(), Error> {
        if request.value.is_empty() {
            return Ok(());
        }
        self.write_summary()?;
        self.write_record(fence, &request.value)
    }

    fn record(&self, number: u64) -> Result<Option<Record>, Error> {
        let mut block = [0; Record::SIZE];
        let read = self.file.file.read_exact_at(&mut block, Record::offset(number));
        read.map_err(|error| self.file.io("cannot read", error))?;
        Record::decode(&block).map_err(|what| self.file.damaged(what))
    }

    fn last_record(&self) -> Result<Option<Record>, Error> {
        let records = [self.record(0)?, self.record(1)?];
        Ok(records.into_iter().flatten().max_by_key(|record| record.number))
    }

    fn write_record(&mut self, fence: Fence, bytes: &[u8]) -> Result<(), Error> {
        let number = self.last_record()?.map_or(1, |record| record.number.wrapping_add(1));
        let record = Record { number, fence, bytes: bytes.to_vec() };
        let written = self.file.file.write_all_at(&record.encode(), Record::offset(number));
        written.map_err(|error| self.file.io("cannot write", error))
    }

    /// A holder writes its value, if it still is one.
    pub fn publish(&mut self, ticket: Ticket, fence: Fence, bytes: &[u8]) -> Result<(), Error> {
        let own = self.entries.get(ticket.index);
        if !own.is_some_and(|it| it.ticket() == ticket.number && !it.is_revoked()) {
            let resource = self.file.resource.clone();
            return Err(Error::Lost { resource, loss: Loss::Forced });
        }
        self.write_record(fence, bytes)?;
        self.write_summary()
    }

    /// A leader resigns.
    pub fn resign(&mut self, fence: Fence) -> Result<(), Error> {
        self.summary.resigned = fence.0;
        self.write_summary()
    }

    /// Takes the lock, or their place in the queue, away from those of `tickets` who are still
    /// there, and returns these: with their fences, if they hold by now. They are told by their
    /// entry.
    pub fn revoke(&mut self, tickets: &[u64]) -> Result<Vec<(u64, Option<Fence>)>, Error> {
        let mut taken = Vec::new();
        for index in 0..self.entries.len() {
            let entry = self.entries.glance(index);
            let is_meant = entry.is_some_and(|it| tickets.contains(&it.ticket) && !it.is_revoked);
            if !is_meant {
                continue;
            }
            let Some(mut entry) = self.living(index)? else { continue };
            entry.revoke();
            let written = self.file.file.write_all_at(entry.encode(), QueueEntry::offset(index));
            written.map_err(|error| self.file.io("cannot write", error))?;
            taken.push((entry.ticket(), entry.fence()));
        }
        self.write_summary()?;
        Ok(taken)
    }

    /// Who holds and who waits; and their tickets, in the same order.
    pub fn status(&mut self) -> Result<(Status, Tickets), Error> {
        self.bury_the_dead()?;
        let mut status = Status::new(self.file.resource.clone());
        let mut tickets = Tickets::default();
        let entries = (0..self.entries.len()).filter_map(|index| self.entries.get(index));
        let (mut holders, mut waiters): (Vec<QueueEntry>, Vec<QueueEntry>) =
            entries.partition(|it| it.fence().is_some());
        holders.sort_unstable_by_key(QueueEntry::fence);
        // Who lost its place and has not looked yet is not in the queue.
        waiters.retain(|it| !it.is_revoked());
        waiters.sort_unstable_by_key(QueueEntry::ticket);
        for entry in holders {
            tickets.holders.push(entry.ticket());
            status.holders.push(Holder {
                owner: entry.owner(),
                mode: entry.mode(),
                fence: entry.fence().unwrap_or(Fence(0)),
                revoked: entry.is_revoked(),
                processes: Vec::new(),
            });
        }
        for entry in waiters {
            tickets.waiters.push(entry.ticket());
            let (owner, mode) = (entry.owner(), entry.mode());
            status.waiters.push(Waiter { owner, mode, processes: Vec::new() });
        }
        let some = |fence: u64| Some(Fence(fence)).filter(|fence| fence.0 != 0);
        status.last_fence = Fence(self.summary.last_fence);
        status.resigned = some(self.summary.resigned);
        status.version = self.summary.version;
        let value = self.last_record()?;
        status.value = value.map(|it| Value { fence: it.fence, bytes: it.bytes });
        Ok((status, tickets))
    }
}

/// The tickets of those in a status, in the same order: what `/proc` calls them by.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tickets {
    pub holders: Vec<u64>,
    pub waiters: Vec<u64>,
}

fn others(entries: &[QueueEntry]) -> Vec<Other> {
    entries.iter().map(|it| Other { ticket: it.ticket(), mode: it.mode() }).collect()
}

impl Obstacle {
    /// The one who waits ahead.
    fn behind(nearest: &QueueEntry) -> Self {
        Self::Waiter(nearest.ticket(), nearest.process())
    }
}

/// Reads the header, mostly without the latch. So it may be seen half written, for as long as its
/// writer is not let run: what looks damaged is looked at again under the latch.
fn read_header(file: &File) -> io::Result<Result<Header, Damage>> {
    let mut block = [0; Header::SIZE];
    for _ in 0..1000 {
        file.read_exact_at(&mut block, 0)?;
        if Header::decode(&block).is_ok() {
            break;
        }
        if let Some(_latch) = kernel::try_latch(file, Access::Read)? {
            file.read_exact_at(&mut block, 0)?;
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(Header::decode(&block))
}
