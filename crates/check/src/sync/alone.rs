//! One thread: a lock is a check that it is not taken twice.

use core::cell::{Ref, RefCell, RefMut};

pub(crate) use core::cell::OnceCell as OnceLock;

/// How many threads there can be.
pub(crate) const THREADS_MAX: usize = 1;

/// What all threads may use: anything, because there is one.
pub trait Shared {}

impl<T: ?Sized> Shared for T {}

/// For one at a time.
#[derive(Default)]
pub(crate) struct Mutex<T>(RefCell<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(RefCell::new(value))
    }

    pub(crate) fn lock(&self) -> RefMut<'_, T> {
        self.0.borrow_mut()
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

/// For one who writes, or many who read.
pub(crate) struct RwLock<T>(RefCell<T>);

impl<T> RwLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(RefCell::new(value))
    }

    pub(crate) fn read(&self) -> Ref<'_, T> {
        self.0.borrow()
    }

    pub(crate) fn write(&self) -> RefMut<'_, T> {
        self.0.borrow_mut()
    }
}

/// What there is to be done, by the number of the thread that does it.
type Phase<'w> = dyn Fn(usize) + 'w;

/// Whoever works, in phases.
pub(crate) struct Crew<'w> {
    phases: &'w [&'w Phase<'w>],
}

impl<'w> Crew<'w> {
    /// Has `lead` say when there is work.
    pub(crate) fn led_by<R>(
        _: usize,
        phases: &'w [&'w Phase<'w>],
        lead: impl FnOnce(&Self) -> R,
    ) -> R {
        lead(&Self { phases })
    }

    /// Does all phases of the work once.
    pub(crate) fn work(&self) {
        self.phases.iter().for_each(|phase| phase(0));
    }
}
