//! Bells that ring at a given moment, rung by a thread of the engine: so that its futures need no
//! timer of the runtime that polls them, and run on any.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::Error;
use crate::threads::start_thread;

/// How long the thread stays when there is nothing to do.
const LINGER: Duration = Duration::from_secs(1);

/// The alarms of one engine.
#[derive(Clone, Default)]
pub struct Timer(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The process whose thread runs; a forked child has none. Zero if none runs.
    pid: u32,
    last_number: u64,
    alarms: BTreeMap<Key, Arc<Notify>>,
}

type Key = (Instant, u64);

/// Dropped, it does not ring.
pub struct Alarm {
    timer: Timer,
    key: Key,
}

impl Timer {
    /// Rings `bell` at that moment.
    pub fn ring_at(&self, at: Instant, bell: &Arc<Notify>) -> Result<Alarm, Error> {
        let mut state = self.0.lock();
        let own = std::process::id();
        if state.pid != own {
            let this = Arc::clone(&self.0);
            let started = start_thread("conclave-timer", move || this.run());
            started.map_err(|error| Error::io("cannot start a thread to wait with", error))?;
            state.pid = own;
        }
        state.last_number += 1;
        let key = (at, state.last_number);
        let is_next = state.alarms.first_key_value().is_none_or(|(next, _)| key < *next);
        state.alarms.insert(key, Arc::clone(bell));
        drop(state);
        if is_next {
            self.0.changed.notify_one();
        }
        Ok(Alarm { timer: self.clone(), key })
    }

    /// Waits so long.
    pub async fn sleep(&self, duration: Duration) -> Result<(), Error> {
        let bell = Arc::new(Notify::new());
        let _alarm = self.ring_at(Instant::now() + duration, &bell)?;
        bell.notified().await;
        Ok(())
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.timer.0.lock().alarms.remove(&self.key);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No invariant spans two statements here, so a panic elsewhere leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread. It ends when nobody has wanted anything for a while.
    fn run(&self) {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            let patience = match state.alarms.first_entry() {
                None => LINGER,
                Some(first) if first.key().0 > now => first.key().0 - now,
                Some(first) => {
                    let bell = first.remove();
                    // Whoever is woken may come straight back here.
                    drop(state);
                    bell.notify_one();
                    state = self.lock();
                    continue;
                }
            };
            let waited = self.changed.wait_timeout(state, patience);
            let timed_out;
            (state, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
            if timed_out.timed_out() && state.alarms.is_empty() {
                state.pid = 0;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bells_ring_in_order_and_those_given_up_do_not() {
        let timer = Timer::default();
        let bells: Vec<Arc<Notify>> = (0..3).map(|_| Arc::new(Notify::new())).collect();
        let now = Instant::now();
        let at = |ms| now + Duration::from_millis(ms);
        let _late = timer.ring_at(at(40), &bells[0]).unwrap();
        let given_up = timer.ring_at(at(10), &bells[1]).unwrap();
        let _soon = timer.ring_at(at(20), &bells[2]).unwrap();
        drop(given_up);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            bells[2].notified().await;
            assert!(Instant::now() >= at(20));
            bells[0].notified().await;
            assert!(Instant::now() >= at(40));
            timer.sleep(Duration::from_millis(5)).await.unwrap();
            let mut silent = std::pin::pin!(bells[1].notified());
            assert!(!silent.as_mut().enable(), "it was given up");
        });
    }
}
