//! Those of one engine who wait, and what it holds, in memory: so that one who waits for another of
//! the same process needs no thread of its own and no open file of its own.
//!
//! Everybody has a ticket of its own in the state file, so the order among all processes is exact.
//! But those of one engine who wait for one resource form a *line*, by ticket:
//!
//! - Only its front looks at others: it sleeps on their locks, by threads. The rest is told by the
//!   front when it leaves. That is soon enough: a waiter that came before us in our own process is
//!   never passed by us, so while it waits, nothing can be our turn.
//! - All of a line are kept in the queue by one open file, which locks one byte for each ticket and
//!   nothing else. It never takes the latch: the kernel does not tell an open file of its own
//!   locks, so the state is looked at through another one, for which all who live are somebody
//!   else.
//! - What is held has an open file of its own, so that it can be lent and kept apart. When it is
//!   let go in this process, the front is told here.
//!
//! All this only saves threads and descriptors. Whoever is told needlessly looks and sleeps on; and
//! who finds nobody of its own in its way asks the kernel, which is always right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::file::{Identity, LockFile, Ticket};
use super::processes::Started;
use crate::Mode;

/// All lines of one engine.
#[derive(Default)]
pub struct Lines(Mutex<Registry>);

#[derive(Default)]
struct Registry {
    /// Whose they are: a forked child shares its parent's open files, and nothing of its own waits.
    pid: u32,
    lines: BTreeMap<Identity, Line>,
}

#[derive(Default)]
struct Line {
    /// The open file that keeps tickets in the queue.
    keeper: Option<Arc<LockFile>>,
    /// Who waits here, by ticket.
    waiting: BTreeMap<u64, Waiting>,
    /// The tickets of what is held and was not lent to be kept by others.
    held: BTreeSet<u64>,
}

struct Waiting {
    bell: Arc<Notify>,
    mode: Mode,
    /// Which entry is its own.
    index: usize,
    sleep: Sleep,
}

/// What the front of a line sleeps on, as far as the watch must look after it.
#[derive(Clone, Copy)]
pub enum Sleep {
    /// The kernel or this process tells when it is over.
    Sound,
    /// So too, but the one it waits for may be stopped.
    Behind(Started),
    /// There is more to sleep on than it has threads for.
    Restless,
}

impl Lines {
    /// The open file of this process that keeps the tickets of those who wait already.
    pub fn keeper(&self, file: &LockFile) -> Option<Arc<LockFile>> {
        let mut registry = self.lock();
        registry.begin_anew_after_a_fork(file.pid());
        registry.lines.get(&file.identity())?.keeper.clone()
    }

    /// Somebody begins to wait, kept in the queue by `keeper`.
    pub fn join(&self, keeper: &Arc<LockFile>, ticket: Ticket, mode: Mode, bell: &Arc<Notify>) {
        let mut registry = self.lock();
        registry.begin_anew_after_a_fork(keeper.pid());
        let line = registry.lines.entry(keeper.identity()).or_default();
        line.keeper.get_or_insert_with(|| Arc::clone(keeper));
        let bell = Arc::clone(bell);
        let waiting = Waiting { bell, mode, index: ticket.index, sleep: Sleep::Sound };
        line.waiting.insert(ticket.number, waiting);
    }

    /// Whether nobody of this engine waits before it.
    pub fn is_front(&self, file: Identity, ticket: u64) -> bool {
        let registry = self.lock();
        let line = registry.lines.get(&file);
        line.is_none_or(|it| it.waiting.keys().next().is_none_or(|first| *first >= ticket))
    }

    /// How the front sleeps.
    pub fn sleeps(&self, file: Identity, ticket: u64, sleep: Sleep) {
        let mut registry = self.lock();
        let waiting = registry.lines.get_mut(&file).and_then(|it| it.waiting.get_mut(&ticket));
        if let Some(waiting) = waiting {
            waiting.sleep = sleep;
        }
    }

    /// It waits no longer.
    pub fn leave(&self, file: Identity, ticket: u64) {
        self.change(file, |line| {
            let was_front = line.waiting.keys().next() == Some(&ticket);
            line.waiting.remove(&ticket);
            if was_front { line.front() } else { None }
        });
    }

    /// It holds; perhaps it waited before.
    pub fn take(&self, file: Identity, ticket: u64) {
        self.change(file, |line| {
            line.held.insert(ticket);
            let before = line.waiting.remove(&ticket)?;
            let next = line.waiting.values().next()?;
            // One that cannot hold together with it is told when it lets go.
            let is_alone = before.mode == Mode::Exclusive || next.mode == Mode::Exclusive;
            if is_alone { None } else { line.front() }
        });
    }

    /// It holds no longer, or is kept by others.
    pub fn let_go(&self, file: Identity, ticket: u64) {
        self.change(file, |line| {
            line.held.remove(&ticket);
            line.front()
        });
    }

    /// Whether its end will be told here.
    pub fn holds(&self, file: Identity, ticket: u64) -> bool {
        self.lock().lines.get(&file).is_some_and(|it| it.held.contains(&ticket))
    }

    /// Tells every front whose next one in the queue is stopped: it may pass it over.
    pub fn look_for_the_stopped(&self) {
        let registry = self.lock();
        let fronts = registry.lines.values().filter_map(|it| it.waiting.values().next());
        let fronts: Vec<_> = fronts.map(|it| (it.sleep, Arc::clone(&it.bell))).collect();
        drop(registry);
        for (sleep, bell) in fronts {
            let is_over = match sleep {
                Sleep::Sound => false,
                Sleep::Behind(process) => process.is_stopped(),
                Sleep::Restless => true,
            };
            if is_over {
                bell.notify_one();
            }
        }
    }

    /// Tells everybody whose place was taken away; and every front, before which somebody's was.
    pub fn look_for_the_evicted(&self) {
        let registry = self.lock();
        let mut rung: Vec<Arc<Notify>> = Vec::new();
        for line in registry.lines.values() {
            let Some(keeper) = &line.keeper else { continue };
            rung.extend(line.front());
            let evicted = line.waiting.iter().filter(|(ticket, it)| {
                matches!(keeper.still_stands(it.index, **ticket), Ok(false))
            });
            rung.extend(evicted.map(|(_, it)| Arc::clone(&it.bell)));
        }
        drop(registry);
        for bell in rung {
            bell.notify_one();
        }
    }

    /// Changes a line, and rings the bell that comes of it when nobody is kept out by that.
    fn change(&self, file: Identity, what: impl FnOnce(&mut Line) -> Option<Arc<Notify>>) {
        let mut registry = self.lock();
        let line = registry.lines.entry(file).or_default();
        let bell = what(line);
        if line.waiting.is_empty() {
            // Whoever left last gives it back.
            line.keeper = None;
            if line.held.is_empty() {
                registry.lines.remove(&file);
            }
        }
        drop(registry);
        if let Some(bell) = bell {
            bell.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        // No invariant spans two statements here, so a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    /// Forgets what is of another process than `own`.
    fn begin_anew_after_a_fork(&mut self, own: u32) {
        if self.pid != own {
            *self = Self { pid: own, lines: BTreeMap::new() };
        }
    }
}

impl Line {
    fn front(&self) -> Option<Arc<Notify>> {
        self.waiting.values().next().map(|it| Arc::clone(&it.bell))
    }
}
