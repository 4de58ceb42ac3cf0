//! As many threads as wanted. Here alone is the standard library.

extern crate std;

use alloc::boxed::Box;
use core::any::Any;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{MutexGuard, PoisonError, RwLockReadGuard, RwLockWriteGuard};
use std::thread;

use crate::store::SHARDS;

pub(crate) use std::sync::OnceLock;

/// How many threads there can be: none would have anything to look up beyond that.
pub(crate) const THREADS_MAX: usize = SHARDS;

/// What all threads may use.
pub trait Shared: Sync {}

impl<T: Sync + ?Sized> Shared for T {}

/// For one at a time. Whoever dies with it leaves it to the next: the panic is told elsewhere.
#[derive(Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// For one who writes, or many who read; as to panics, the same.
pub(crate) struct RwLock<T>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What there is to be done, by the number of the thread that does it.
type Phase<'w> = dyn Fn(usize) + Sync + 'w;

/// Threads that work in phases: nobody begins with one before all are done with that before it.
pub(crate) struct Crew<'w> {
    phases: &'w [&'w Phase<'w>],
    gate: Gate,
    is_over: AtomicBool,
    /// What a thread died of: it still comes to the gate, so that nobody waits there for ever.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'w> Crew<'w> {
    /// Has `lead` say when there is work, on the caller's thread, which is one of so many.
    pub(crate) fn led_by<R>(
        threads: usize,
        phases: &'w [&'w Phase<'w>],
        lead: impl FnOnce(&Self) -> R,
    ) -> R {
        let (gate, is_over) = (Gate::new(threads), AtomicBool::new(false));
        let crew = Self { phases, gate, is_over, panic: Mutex::new(None) };
        thread::scope(|scope| {
            for number in 1..threads {
                let crew = &crew;
                scope.spawn(move || crew.follow(number));
            }
            let _dismissal = Dismissal(&crew);
            lead(&crew)
        })
    }

    /// Has all threads do all phases of the work once, this one included.
    pub(crate) fn work(&self) {
        self.gate.wait();
        self.take_part(0);
        let panic = self.panic.lock().take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Does its part, again and again, until it is sent home.
    fn follow(&self, number: usize) {
        loop {
            self.gate.wait();
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            self.take_part(number);
        }
    }

    fn take_part(&self, number: usize) {
        for phase in self.phases {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| phase(number))) {
                *self.panic.lock() = Some(panic);
            }
            self.gate.wait();
        }
    }
}

/// Sends all home who wait for work, also when the one who leads dies.
struct Dismissal<'c, 'w>(&'c Crew<'w>);

impl Drop for Dismissal<'_, '_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.gate.wait();
    }
}

/// Where threads wait for each other. A batch takes a millisecond or two, and to be woken by the
/// operating system takes a good part of that: so whoever waits looks again and again for a while.
struct Gate {
    threads: usize,
    arrived: AtomicUsize,
    turn: AtomicUsize,
}

impl Gate {
    fn new(threads: usize) -> Self {
        Self { threads, arrived: AtomicUsize::new(0), turn: AtomicUsize::new(0) }
    }

    fn wait(&self) {
        let turn = self.turn.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.turn.store(turn.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut looks = 0_u32;
        while self.turn.load(Ordering::Acquire) == turn {
            looks = looks.saturating_add(1);
            match looks {
                0..2_000 => core::hint::spin_loop(),
                2_000..10_000 => thread::yield_now(),
                _ => thread::sleep(Duration::from_micros(50)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_begins_before_all_are_done_with_what_was_before() {
        let (first, second) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let expand = |_: usize| {
            assert_eq!(second.load(Ordering::SeqCst) % 3, 0);
            first.fetch_add(1, Ordering::SeqCst);
        };
        let look_up = |_: usize| {
            assert_eq!(first.load(Ordering::SeqCst) % 3, 0);
            second.fetch_add(1, Ordering::SeqCst);
        };
        Crew::led_by(3, &[&expand, &look_up], |crew| (0..100).for_each(|_| crew.work()));
        assert_eq!(second.into_inner(), 300);
    }

    #[test]
    fn nobody_waits_for_ever_for_one_who_died() {
        let work = |number: usize| assert_ne!(number, 1, "it dies");
        let led = catch_unwind(|| Crew::led_by(3, &[&work], Crew::work));
        assert!(led.is_err());
    }

    #[test]
    fn nobody_waits_for_ever_when_the_one_who_leads_dies() {
        let work = |_: usize| ();
        let led = catch_unwind(|| {
            Crew::led_by(3, &[&work], |crew| {
                crew.work();
                assert!(crew.phases.is_empty(), "it dies");
            });
        });
        assert!(led.is_err());
    }
}
