//! A thread that looks now and then whether a lock was taken away from its holder, or its place in
//! the queue from one who waits; and whether the one that somebody waits for is stopped.
//!
//! Two things can take a lock away: `revoke`, which writes to the audit log afterwards, and
//! somebody who removes or replaces the state file. The first is looked for with one call however
//! many locks are held; the second file by file, some at a time. Those who wait look after one
//! process per line: the one that its front sleeps on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use super::directory::Directory;
use super::file::{LockFile, Ticket};
use super::lines::Lines;
use crate::threads::start_thread;
use crate::{Loss, LossSignal};

/// How long a holder may not know that its lock was taken away, roughly.
const INTERVAL: Duration = Duration::from_millis(200);

/// How often to look after somebody announced to take a lock away: it may be killed after the deed
/// and before it said that it is done.
const LOOKS: u32 = 25;

/// How many state files are looked for each time.
const FILES_AT_A_TIME: usize = 1000;

/// Something held, as the watch sees it.
pub struct Grip {
    pub file: LockFile,
    pub ticket: Ticket,
    pub loss: LossSignal,
}

impl Grip {
    /// Whether it is still held, by what can be seen in the file.
    pub fn check_entry(&self) {
        if matches!(self.file.still_stands(self.ticket.index, self.ticket.number), Ok(false)) {
            self.loss.raise(Loss::Forced);
        }
    }

    /// Whether its file is still the one that others use.
    pub fn check_place(&self) {
        if !self.file.is_in_place() {
            self.loss.raise(Loss::StateGone);
        }
    }
}

/// All that one engine holds.
#[derive(Default)]
pub struct Watch {
    held: Mutex<Grips>,
    started: OnceLock<()>,
}

/// What is held, in the order in which it was added.
#[derive(Default)]
struct Grips {
    last_key: u64,
    by_key: BTreeMap<u64, Weak<Grip>>,
}

impl Watch {
    /// Watches over `grip` until it is forgotten under the key that is returned.
    pub fn add(&self, grip: &Arc<Grip>) -> u64 {
        let mut held = lock(&self.held);
        held.last_key += 1;
        let key = held.last_key;
        held.by_key.insert(key, Arc::downgrade(grip));
        key
    }

    pub fn forget(&self, key: u64) {
        lock(&self.held).by_key.remove(&key);
    }

    /// Starts the thread, once. It ends with the engine.
    pub fn start(self: &Arc<Self>, directory: &Arc<Directory>, lines: &Arc<Lines>) {
        self.started.get_or_init(|| {
            let (watch, directory) = (Arc::downgrade(self), Arc::clone(directory));
            let (lines, heard) = (Arc::clone(lines), directory.audit_length());
            // Without it nothing but the early word of a loss is missing: a release still tells.
            // And those who are stopped are not passed over.
            let run = move || run(&watch, &directory, &lines, heard);
            let _ = start_thread("conclave-watch", run);
        });
    }

    /// Looks at some of the files, from the one after `last` on; returns the last one looked at.
    fn look_for_files(&self, last: u64) -> u64 {
        let some: Vec<(u64, Weak<Grip>)> = {
            let held = &lock(&self.held).by_key;
            let after = held.range(last.saturating_add(1)..).chain(held.range(..=last));
            after.take(FILES_AT_A_TIME).map(|(key, grip)| (*key, Weak::clone(grip))).collect()
        };
        for grip in some.iter().filter_map(|(_, grip)| grip.upgrade()) {
            grip.check_place();
        }
        some.last().map_or(0, |(key, _)| *key)
    }

    /// Looks at all that was added after `last`; returns the last one added.
    fn look_for_revocations(&self, last: u64) -> u64 {
        let (some, last): (Vec<Weak<Grip>>, u64) = {
            let held = lock(&self.held);
            let after = held.by_key.range(last.saturating_add(1)..);
            (after.map(|(_, grip)| Weak::clone(grip)).collect(), held.last_key)
        };
        for grip in some.iter().filter_map(Weak::upgrade) {
            grip.check_entry();
        }
        last
    }
}

fn run(watch: &Weak<Watch>, directory: &Directory, lines: &Lines, mut heard: u64) {
    // At first as if the log had just grown: it may have, before we knew of those who wait.
    let (mut last, mut last_added, mut looks) = (0, 0, LOOKS);
    loop {
        std::thread::sleep(INTERVAL);
        let Some(watch) = watch.upgrade() else { return };
        let length = directory.audit_length();
        if length != heard {
            heard = length;
            looks = LOOKS;
        }
        if looks > 0 {
            looks -= 1;
            last_added = 0;
            lines.look_for_the_evicted();
        }
        lines.look_for_the_stopped();
        // What was added since the last look may have been taken away before it was added.
        last_added = watch.look_for_revocations(last_added);
        last = watch.look_for_files(last);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // No invariant spans two statements here, so a panic elsewhere leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
