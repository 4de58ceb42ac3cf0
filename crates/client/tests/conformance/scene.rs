//! What the claims are written with. Nothing in here waits for ever, and nothing reads a clock but
//! the world's.

use std::fmt::Debug;
use std::pin::pin;
use std::time::Duration;

use conclave_client::{
    Client, Error, Evicted, Fence, Guard, Leadership, Name, Request, Resource, Status, Target,
};
use tokio::task::JoinHandle;

use crate::world::World;

/// How often to look, in the engine's time.
const TICK: Duration = Duration::from_millis(2);

/// A world in which one claim is tried.
pub struct Scene {
    pub world: Box<dyn World>,
    /// One who only looks.
    onlooker: Client,
}

/// A request on its way, in a task of its own.
pub struct Waiting<T> {
    what: String,
    task: JoinHandle<Result<T, Error>>,
}

impl<T> Waiting<T> {
    /// Whether there is an answer.
    pub fn is_answered(&self) -> bool {
        self.task.is_finished()
    }
}

impl Scene {
    pub fn new(world: Box<dyn World>) -> Self {
        let onlooker = world.client();
        Self { world, onlooker }
    }

    /// Another client, with a session of its own.
    pub fn client(&self) -> Client {
        self.world.client()
    }

    /// The client of one who only looks.
    pub fn onlooker(&self) -> &Client {
        &self.onlooker
    }

    // Time.

    /// What must happen.
    pub async fn soon<T>(&self, what: &str, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut passed = Duration::ZERO;
        while passed < self.world.patience() {
            tokio::select! {
                biased;
                output = &mut future => return output,
                () = self.world.pass(TICK) => passed += TICK,
            }
        }
        panic!("this did not happen within {passed:?}: {what}")
    }

    /// What must succeed.
    pub async fn ok<T>(&self, what: &str, call: impl Future<Output = Result<T, Error>>) -> T {
        match self.soon(what, call).await {
            Ok(it) => it,
            Err(error) => panic!("{what}: {error}"),
        }
    }

    /// What must be refused.
    pub async fn refused<T: Debug>(
        &self,
        what: &str,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Error {
        match self.soon(what, call).await {
            Ok(it) => panic!("{what} is not refused: {it:?}"),
            Err(error) => error,
        }
    }

    /// What must become true.
    pub async fn eventually(&self, what: &str, is_true: impl AsyncFn() -> bool) {
        let mut passed = Duration::ZERO;
        while !is_true().await {
            assert!(passed < self.world.patience(), "not so within {passed:?}: {what}");
            self.world.pass(TICK).await;
            passed += TICK;
        }
    }

    /// As long as it takes to see what must not happen.
    pub async fn stay_quiet(&self) {
        self.world.pass(self.world.quiet()).await;
    }

    // Taking and asking.

    /// Takes what must be free, or become so.
    pub async fn take(&self, client: &Client, request: &Request) -> Guard {
        let what = format!("{} is taken", request.resource());
        self.ok(&what, client.lock(request)).await
    }

    /// Takes what must be free at once.
    pub async fn take_free(&self, client: &Client, request: &Request) -> Guard {
        let what = format!("{} is free, and taken", request.resource());
        self.ok(&what, client.try_lock(request)).await
    }

    /// Asserts that it cannot be had now.
    pub async fn assert_busy(&self, client: &Client, request: &Request) {
        let what = format!("to try {} when it is not to be had", request.resource());
        let error = self.refused(&what, client.try_lock(request)).await;
        assert!(matches!(error, Error::Busy { .. }), "{what}: {error}");
    }

    pub async fn lead(&self, client: &Client, name: &str, value: &str) -> Leadership {
        self.ok(&format!("{value} leads {name}"), client.campaign(name, value)).await
    }

    pub async fn release(&self, guard: Guard) {
        let what = format!("{} is released", guard.resource());
        self.ok(&what, guard.release()).await;
    }

    pub async fn resign(&self, leader: Leadership) {
        self.ok("the leader resigns", leader.resign()).await;
    }

    pub async fn record(&self, guard: &Guard, value: &[u8]) {
        self.ok("a value is recorded", guard.record(value)).await;
    }

    /// Asks for a lock, in a task of its own.
    pub fn ask(&self, client: &Client, request: &Request) -> Waiting<Guard> {
        let what = format!("{} in mode {:?}", request.resource(), request.mode());
        let (client, request) = (client.clone(), request.clone());
        Waiting { what, task: tokio::spawn(async move { client.lock(request).await }) }
    }

    /// Runs for an office, in a task of its own.
    pub fn campaign(&self, client: &Client, name: &str, value: &str) -> Waiting<Leadership> {
        let what = format!("the leadership of {name} by {value}");
        let (client, name, value) = (client.clone(), name.to_owned(), value.to_owned());
        Waiting { what, task: tokio::spawn(async move { client.campaign(&name, value).await }) }
    }

    /// Asks for what is not to be had, and returns when the request is seen to wait.
    pub async fn queue(&self, client: &Client, request: &Request) -> Waiting<Guard> {
        let before = self.status(request.resource()).await.waiters.len();
        let waiting = self.ask(client, request);
        self.waiters(request.resource(), before + 1, &[&waiting]).await;
        waiting
    }

    /// Waits until so many are seen to wait, while none of `who` is answered.
    pub async fn waiters<T>(&self, resource: &Resource, count: usize, who: &[&Waiting<T>]) {
        self.eventually(&format!("{count} wait for {resource}"), async || {
            for it in who {
                assert!(!it.is_answered(), "{} did not have to wait", it.what);
            }
            self.status(resource).await.waiters.len() == count
        })
        .await;
    }

    /// What a request gets whose turn has come.
    pub async fn granted<T>(&self, waiting: Waiting<T>) -> T {
        let task = self.soon(&format!("{} is granted", waiting.what), waiting.task).await;
        match task.expect("nobody cancelled it") {
            Ok(it) => it,
            Err(error) => panic!("{} is granted: {error}", waiting.what),
        }
    }

    /// What a request gets that is refused in the end.
    pub async fn turned_away<T: Debug>(&self, waiting: Waiting<T>) -> Error {
        let what = format!("{} is turned away", waiting.what);
        self.refused(&what, async { waiting.task.await.expect("nobody cancelled it") }).await
    }

    /// Asserts that a request waits, now and for a while.
    pub async fn assert_waits<T>(&self, waiting: &Waiting<T>) {
        self.stay_quiet().await;
        assert!(!waiting.is_answered(), "{} does not wait for its turn", waiting.what);
    }

    /// Drops the future of a request that waits.
    pub async fn cancel<T>(&self, waiting: Waiting<T>) {
        waiting.task.abort();
        let ended = self.soon("a dropped request ends", waiting.task).await;
        assert!(ended.is_err(), "{} does not wait", waiting.what);
    }

    /// Drops a request whatever came of it, be it a grant of this very moment.
    pub async fn cancel_anyway<T>(&self, waiting: Waiting<T>) {
        waiting.task.abort();
        drop(self.soon("a dropped request ends", waiting.task).await);
    }

    // Looking.

    pub async fn status(&self, resource: &Resource) -> Status {
        self.ok(&format!("{resource} is inspected"), self.onlooker.inspect(resource)).await
    }

    /// Asserts that nobody holds it or waits for it, soon: who just goes may take a moment.
    pub async fn becomes_idle(&self, resource: &Resource) {
        let what = format!("nobody holds {resource} or waits for it");
        self.eventually(&what, async || self.status(resource).await.is_idle()).await;
    }

    pub async fn is_current(&self, resource: &Resource, fence: Fence) -> bool {
        self.status(resource).await.is_current(fence)
    }

    // Force.

    /// Somebody called `root` takes it away.
    pub async fn force(&self, resource: &Resource, target: &Target) -> Evicted {
        let engine = self.onlooker.engine();
        self.ok(&format!("{resource} is forced"), engine.revoke(resource, target, "root")).await
    }
}

pub fn lock(name: &str) -> Request {
    Request::lock(name).unwrap()
}

pub fn labelled(name: &str, label: &str) -> Request {
    lock(name).labelled(label).unwrap()
}

pub fn slot(name: &str, of: u32) -> Request {
    lock(name).slots(of).unwrap()
}

pub fn lock_named(name: &str) -> Resource {
    Resource::lock(Name::new(name).unwrap())
}

pub fn election_named(name: &str) -> Resource {
    Resource::election(Name::new(name).unwrap())
}
