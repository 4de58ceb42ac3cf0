//! What reads and writes a connection.
//!
//! A task of its own drives it, on the engine's thread. Whoever has something to send drives it as
//! well, at once and on its own thread: that saves the change of threads before a request goes out.
//! Answers are read by the task.
//!
//! # Why the engine waits for nobody, and no wake-up is lost
//!
//! One drives at a time, and nobody waits for its turn, least of all the engine's thread: whoever
//! finds the wire in use leaves a mark, and whoever has driven wakes the task if there is one. To
//! stop driving and to look for a mark is one step, and so are to see that somebody drives and to
//! leave the mark. So no mark is missed. What a mark stands for is there before the mark is: who
//! drives takes marks away only before it looks for what to do.
//!
//! (Renewals have a connection of their own all the same: a thread of the application may be kept
//! from running in the middle of driving.)

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Reads and writes one connection.
pub struct Wire {
    /// Only whoever drives looks at it. None when the connection is over.
    driver: Mutex<Option<Driver>>,
    is_given_up: AtomicBool,
    wakes: Arc<Wakes>,
    /// Those wake-ups, as the driver is given them.
    waker: Waker,
}

impl Wire {
    /// Reads and writes what `driver` does when it is polled.
    pub fn new(driver: impl Future<Output = ()> + Send + 'static) -> Self {
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let is_given_up = AtomicBool::new(false);
        Self { driver: Mutex::new(Some(Box::pin(driver))), is_given_up, wakes, waker }
    }

    /// For its task: returns when the connection is over.
    pub fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        self.wakes.set_task(context.waker());
        if !self.wakes.try_begin() {
            self.wakes.add();
            return Poll::Pending;
        }
        let done = self.drive();
        self.wakes.end();
        done
    }

    /// Nothing shall be read or written any more. Its task sees to it when it polls next; then
    /// those who wait for an answer hear that there is none.
    pub fn give_up(&self) {
        self.is_given_up.store(true, Ordering::SeqCst);
    }

    /// Does what wants something to be sent, and sends it.
    pub fn send<T>(&self, what: impl FnOnce() -> T) -> T {
        // If somebody drives it just now, what is wanted wakes the task.
        if !self.wakes.try_begin() {
            return what();
        }
        let done = what();
        if self.drive().is_ready() {
            // Its task has to see that.
            self.wakes.add();
        }
        self.wakes.end();
        done
    }

    /// Only for who has begun.
    fn drive(&self) -> Poll<()> {
        let mut driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = &mut *driver else { return Poll::Ready(()) };
        self.wakes.take();
        let is_over = self.is_given_up.load(Ordering::SeqCst)
            || running.as_mut().poll(&mut Context::from_waker(&self.waker)).is_ready();
        if !is_over {
            return Poll::Pending;
        }
        *driver = None;
        Poll::Ready(())
    }
}

/// Nobody drives.
const IDLE: u8 = 0;
/// Somebody drives.
const DRIVEN: u8 = 1;
/// Somebody drives, and there is a mark: its task is to be woken then.
const MARKED: u8 = 2;

/// Who drives a wire, and where its wake-ups go: to its task, or to who drives.
#[derive(Default)]
struct Wakes {
    state: AtomicU8,
    task: Mutex<Option<Waker>>,
}

impl Wakes {
    fn set_task(&self, waker: &Waker) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if !task.as_ref().is_some_and(|it| it.will_wake(waker)) {
            *task = Some(waker.clone());
        }
    }

    /// Whether the caller drives from now on.
    fn try_begin(&self) -> bool {
        self.change(IDLE, DRIVEN)
    }

    /// Who drives takes marks away: what they stand for is seen to next.
    fn take(&self) {
        self.change(MARKED, DRIVEN);
    }

    fn end(&self) {
        if self.state.swap(IDLE, Ordering::SeqCst) == MARKED {
            self.wake_task();
        }
    }

    /// There is something to do.
    fn add(&self) {
        while !self.change(DRIVEN, MARKED) {
            match self.state.load(Ordering::SeqCst) {
                IDLE => return self.wake_task(),
                MARKED => return,
                _ => {}
            }
        }
    }

    fn change(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn wake_task(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.add();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.add();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Counts wake-ups.
    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Count {
        fn get(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A wire whose driver counts how often it is polled, and its task's wake-ups.
    fn wire() -> (Wire, Arc<Count>, Arc<Count>) {
        let (polls, woken) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let counted = Arc::clone(&polls);
        let wire = Wire::new(std::future::poll_fn(move |_| {
            counted.0.fetch_add(1, Ordering::SeqCst);
            Poll::Pending
        }));
        let waker = Waker::from(Arc::clone(&woken));
        assert!(wire.poll(&mut Context::from_waker(&waker)).is_pending());
        (wire, polls, woken)
    }

    #[test]
    fn who_sends_drives_and_wakes_nobody() {
        let (wire, polls, woken) = wire();
        wire.send(|| wire.waker.wake_by_ref());
        assert_eq!((polls.get(), woken.get()), (2, 0));
    }

    #[test]
    fn the_task_hears_what_came_while_another_drove() {
        let (wire, polls, woken) = wire();
        assert!(wire.wakes.try_begin());
        // The task finds the wire in use, and another has something to send.
        let waker = Waker::from(Arc::clone(&woken));
        assert!(wire.poll(&mut Context::from_waker(&waker)).is_pending());
        wire.send(|| wire.waker.wake_by_ref());
        assert_eq!((polls.get(), woken.get()), (1, 0));
        wire.wakes.end();
        assert_eq!(woken.get(), 1);
        assert!(wire.poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(polls.get(), 2);
    }

    #[test]
    fn a_wire_that_is_given_up_is_over() {
        let (wire, polls, woken) = wire();
        wire.give_up();
        wire.send(|| ());
        assert_eq!((polls.get(), woken.get()), (1, 1), "its task is told");
        let waker = Waker::from(woken);
        assert!(wire.poll(&mut Context::from_waker(&waker)).is_ready());
    }
}
