//! The engine for tests: one process, a clock that is moved, locks that are lost on demand.

mod place;
mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use conclave_core::Fence;
use tokio::sync::oneshot;

use crate::{
    Answer, Engine, Error, Evicted, Hold, Kind, Loss, LossSignal, Name, Patience, Request,
    Resource, Status, Target,
};
use place::{Grant, Ticket};
use state::State;

/// Locks within one process, for tests of code that uses locks.
///
/// Nothing here happens by itself. Time passes when you [`advance`](Self::advance) the clock,
/// locks are lost when you [`lose`](Self::lose) them, and the engine is out of reach when you
/// [say so](Self::set_reachable). Clones share everything: give one to the code under test and
/// keep one.
///
/// A test of code that must stop when it loses its lock:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), conclave_client::Error> {
/// use conclave_client::{Client, Error, Loss, Memory};
///
/// /// The code under test: works until it is done or its lock is lost.
/// async fn nightly(client: Client) -> Result<&'static str, Error> {
///     let guard = client.lock("nightly").await?;
///     let work = std::future::pending::<()>();
///     tokio::select! {
///         () = work => guard.release().await.map(|()| "done"),
///         loss = guard.lost() => Ok(if loss == Loss::Expired { "stopped" } else { "odd" }),
///     }
/// }
///
/// let memory = Memory::new();
/// let job = tokio::spawn(nightly(Client::new(memory.clone())));
/// while memory.lose("nightly") == 0 {
///     tokio::task::yield_now().await; // it does not hold the lock yet
/// }
/// assert_eq!(job.await.unwrap()?, "stopped");
/// # Ok(())
/// # }
/// ```
///
/// A test of code that has limited patience; it takes no time:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), conclave_client::Error> {
/// use std::time::Duration;
///
/// use conclave_client::{Client, Error, Memory};
///
/// let memory = Memory::new();
/// let client = Client::new(memory.clone());
/// let _other = client.lock("nightly").await?;
/// let minute = Duration::from_secs(60);
/// let (answer, ()) = tokio::join!(client.lock_timeout("nightly", minute), async {
///     memory.advance(minute);
/// });
/// assert!(matches!(answer, Err(Error::TimedOut { .. })));
/// # Ok(())
/// # }
/// ```
///
/// # What it does
///
/// - A request arrives when its future is first polled. It is granted as soon as it goes together
///   with everything before it, holders and waiters alike.
/// - Fences of one resource are 1, 2, 3, ...; they go on when everybody has left.
/// - An answer that is ready cannot be taken back by time: a request granted at one o'clock is
///   granted, however late its future is polled.
/// - Nothing survives the last clone.
///
/// It needs no timer and no threads, so that any runtime will do, and
/// [`blocking`](crate::blocking) too.
#[derive(Clone)]
pub struct Memory {
    state: Arc<Mutex<State>>,
}

impl Memory {
    /// An engine without any locks, at [`SystemTime::UNIX_EPOCH`].
    pub fn new() -> Self {
        Self { state: Arc::new(Mutex::new(State::new())) }
    }

    /// What its clock shows.
    pub fn now(&self) -> SystemTime {
        self.state().now()
    }

    /// Moves its clock. A request whose time is up ends with [`Error::TimedOut`] and leaves the
    /// queue, or with [`Error::Unknown`] if the engine is [out of reach](Self::set_reachable).
    /// Deadlines within the step come one after the other, each in its time.
    ///
    /// # Panics
    /// If the clock would show a time that [`SystemTime`] has no room for.
    pub fn advance(&self, by: Duration) {
        self.state().advance(by);
    }

    /// Takes the lock of that name from all who hold it, as if their sessions had run out: their
    /// guards say [`Loss::Expired`], and those who wait move up. Tells how many held it.
    pub fn lose(&self, name: &str) -> usize {
        self.lose_resource(name, Resource::lock)
    }

    /// Takes the leadership of that name from the leader, as [`lose`](Self::lose) does with locks.
    /// Observers do not see it resign.
    pub fn lose_leader(&self, name: &str) -> usize {
        self.lose_resource(name, Resource::election)
    }

    fn lose_resource(&self, name: &str, resource: impl Fn(Name) -> Resource) -> usize {
        // What is no name cannot be held either.
        let Ok(name) = Name::new(name) else { return 0 };
        self.state().evict(&resource(name), &Target::Holders, &Loss::Expired).holders.len()
    }

    /// Cuts the way between callers and engine, or opens it again. All clones are cut off at once.
    ///
    /// While it is cut:
    /// - The engine gets nothing and answers nothing. Its clock goes on, and so do
    ///   [`lose`](Self::lose) and [`revoke`](Engine::revoke): somebody in the queue may be
    ///   granted, and does not hear of it.
    /// - A request with limited patience ends with [`Error::Unknown`] when the clock has moved so
    ///   far; one without any ends so at once; others wait.
    /// - [`publish`](Hold::publish) waits.
    /// - [`release`](Hold::release) ends with [`Error::Unknown`] at once, and dropping is silent.
    ///   The lock stays taken.
    /// - A loss is known to its holder all the same, and [`Error::Lost`] comes first.
    /// - [`inspect`](Engine::inspect), [`list`](Engine::list) and [`changed`](Engine::changed) go
    ///   on: they are the eyes of your test.
    ///
    /// When it opens, what was ready is answered; then what was sent meanwhile arrives in the
    /// order in which it was sent. So a request that ended with [`Error::Unknown`] leaves the
    /// queue, or lets go, now; one that had not arrived before never does.
    pub fn set_reachable(&self, is_reachable: bool) {
        self.state().set_reachable(is_reachable);
    }

    /// A line for every [`revoke`](Engine::revoke): when, by whom, and from whom.
    pub fn audit(&self) -> Vec<String> {
        self.state().audit()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic can only come before a change: what is there is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn at(&self) -> String {
        "memory:".to_owned()
    }

    fn acquire<'a>(
        &'a self,
        request: &'a Request,
        patience: Patience,
    ) -> Answer<'a, Box<dyn Hold>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let ticket = self.state().ask(request, patience, reply);
            // Wherever this future is dropped from here on, the seat is left.
            let seat = Seat { memory: self.clone(), resource: request.resource.clone(), ticket };
            let answer = answer.await;
            let Grant { fence, loss } = answer.expect("the engine answers as long as one waits")?;
            let hold: Box<dyn Hold> = Box::new(MemoryHold { seat, fence, loss });
            Ok(hold)
        })
    }

    fn inspect<'a>(&'a self, resource: &'a Resource) -> Answer<'a, Status> {
        Box::pin(async move { Ok(self.state().status(resource)) })
    }

    fn list(&self) -> Answer<'_, Vec<Result<Status, Error>>> {
        Box::pin(async move { Ok(self.state().list().into_iter().map(Ok).collect()) })
    }

    fn changed<'a>(&'a self, resource: &'a Resource, version: u64) -> Answer<'a, ()> {
        Box::pin(async move {
            let bell = self.state().bell(resource);
            loop {
                let mut rung = std::pin::pin!(bell.notified());
                // Listen first, look second: a change in between is not missed.
                rung.as_mut().enable();
                if self.state().version(resource) != version {
                    return Ok(());
                }
                rung.await;
            }
        })
    }

    /// Whoever held it is gone from the engine at once: unlike a process, nothing here can keep it.
    fn revoke<'a>(
        &'a self,
        resource: &'a Resource,
        target: &'a Target,
        by: &'a str,
    ) -> Answer<'a, Evicted> {
        Box::pin(async move { Ok(self.state().revoke(resource, target, by)) })
    }
}

/// A place in a queue, from the first moment to the last. Dropping it leaves.
struct Seat {
    memory: Memory,
    resource: Resource,
    ticket: Ticket,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.memory.state().leave(self.ticket, &self.resource, false);
    }
}

struct MemoryHold {
    seat: Seat,
    fence: Fence,
    loss: LossSignal,
}

impl MemoryHold {
    fn check_held(&self) -> Result<(), Error> {
        match self.loss.get() {
            Some(loss) => Err(self.lost(loss.clone())),
            None => Ok(()),
        }
    }

    fn lost(&self, loss: Loss) -> Error {
        Error::Lost { resource: self.seat.resource.clone(), loss }
    }
}

impl Hold for MemoryHold {
    fn fence(&self) -> Fence {
        self.fence
    }

    fn loss(&self) -> &LossSignal {
        &self.loss
    }

    fn publish<'a>(&'a self, value: &'a [u8]) -> Answer<'a, ()> {
        Box::pin(async move {
            self.check_held()?;
            let Seat { memory, resource, ticket } = &self.seat;
            let answer = memory.state().publish(*ticket, resource, value);
            match answer.await {
                Ok(true) => Ok(()),
                // Only a loss empties a seat whose hold still lives.
                _ => Err(self.lost(self.loss.wait().await)),
            }
        })
    }

    fn release(self: Box<Self>) -> Answer<'static, ()> {
        Box::pin(async move {
            let Seat { memory, resource, ticket } = &self.seat;
            let mut state = memory.state();
            self.check_held()?;
            state.leave(*ticket, resource, resource.kind == Kind::Election);
            if state.is_reachable() {
                Ok(())
            } else {
                Err(Error::Unknown { resource: resource.clone() })
            }
        })
    }
}
