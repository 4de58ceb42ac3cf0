//! The engine `etcd`: locks of many machines, kept by etcd servers that are there already.
//!
//! A lock is a queue of keys (see `keys`), each of which hangs on the lease of its owner's session
//! (see `session`). Whoever created its key first holds; the revision that created it is the fence.
//! A mirror of the queue says whose turn it is (see `mirror`).
//!
//! What is assumed: the servers are linearizable and keep what they have acknowledged; clocks run
//! at rates that differ by less than a fiftieth; nobody restores an old backup, which would take
//! fences back; no lease is ended before its time (etcd before 3.4.31 and 3.5.13 does that when a
//! leader hangs, is replaced and goes on: it ends what its successor has renewed). Not assumed:
//! that any message arrives, that a server which answers is in office, that clocks show the same
//! time.
//!
//! What is promised: before its deadline, a holder is the only one; fences grow with every grant,
//! whatever dies. A holder that acts after its deadline is stopped by nothing but its fence.
//!
//! What costs what: an uncontended lock is one transaction, its release another, and both are one
//! round trip and one round of the servers' log. Who waits sends nothing.
//!
//! Everything runs on one thread of the engine's own, which takes no signals: whatever the
//! application does, renewals go out. Only the first step of a request, which sends it, is taken by
//! whoever asks (see `task`); and renewals have a connection of their own, which no thread of the
//! application ever drives.

mod acquire;
mod connection;
mod hold;
mod keys;
mod mirror;
mod options;
mod place;
mod queue;
mod requests;
mod servers;
mod session;
mod task;
mod timer;
mod tls;
mod wire;
mod young;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use conclave_etcd_api::kv_client::KvClient;
use conclave_etcd_api::{KeyValue, RangeRequest, TxnRequest};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use self::acquire::acquire;
use self::hold::{Grip, Held};
use self::keys::{Entrant, Keys, Range, decode_value};
use self::mirror::{InUse, Mirror};
pub use self::options::{EtcdOptions, PlantedBug};
use self::queue::Queue;
use self::requests::{created_in, delete, found, put, range, range_of_key};
use self::servers::{Link, Servers};
use self::session::{First, Session};
use self::young::Young;
use crate::threads::start_thread;
use crate::{
    Answer, BootTime, Engine, Error, Evicted, Fence, Hold, Kind, Name, Patience, Request, Resource,
    Status, Target, utc,
};

/// How many keys are listed at once.
const PAGE: i64 = 1000;

/// The engine `etcd`: locks of all machines that reach the same servers.
///
/// `etcdctl lock`, `etcdctl elect` and programs that use Go's package `concurrency` stand in the
/// same queues.
///
/// ```no_run
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), conclave_client::Error> {
/// use conclave_client::{Client, Etcd, EtcdOptions};
///
/// let client = Client::new(Etcd::new(EtcdOptions::new(["db1:2379", "db2:2379", "db3:2379"]))?);
/// let guard = client.lock("nightly").await?;
/// println!("mine for {:?} more at least", guard.deadline().unwrap().left());
/// guard.release().await?;
/// # Ok(())
/// # }
/// ```
pub struct Etcd {
    core: Arc<Core>,
    /// Ends the thread when it is dropped.
    _end: oneshot::Sender<()>,
}

/// What the tasks of one engine share.
pub struct Core {
    options: EtcdOptions,
    keys: Keys,
    host: String,
    servers: Servers,
    runtime: Handle,
    session: tokio::sync::Mutex<Option<Arc<Session>>>,
    mirrors: Mutex<BTreeMap<Name, Arc<Mirror>>>,
    /// The largest number that was given to a request of this engine.
    last_number: AtomicU64,
    /// Numbers of requests of which nothing is left, here or on its way.
    free_numbers: Mutex<Vec<u64>>,
    young: Mutex<Young>,
    /// Everything that needs the session has a share in it.
    business: Arc<()>,
}

impl Etcd {
    /// With those options. No server is asked before the first request.
    ///
    /// # Errors
    /// If an option makes no sense, a file cannot be read, or no thread can be started.
    pub fn new(options: EtcdOptions) -> Result<Self, Error> {
        let servers = Servers::new(&options)?;
        let failed = |error| Error::io("cannot start a thread for etcd", error);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(failed)?;
        let host = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
        let core = Arc::new(Core {
            keys: Keys::new(&options.prefix),
            host,
            servers,
            runtime: runtime.handle().clone(),
            session: tokio::sync::Mutex::new(None),
            mirrors: Mutex::default(),
            last_number: AtomicU64::new(0),
            free_numbers: Mutex::default(),
            young: Mutex::default(),
            business: Arc::default(),
            options,
        });
        let (end, ended) = oneshot::channel();
        let shared = Arc::clone(&core);
        let run = move || {
            runtime.block_on(async move {
                let _: Result<(), _> = ended.await;
                shared.retire().await;
            });
        };
        start_thread("conclave-etcd", run).map_err(failed)?;
        Ok(Self { core, _end: end })
    }

    /// Does it to its end, even if nobody waits for it any more.
    fn task<T, F>(&self, what: impl FnOnce(Arc<Core>) -> F) -> Answer<'static, T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let core = Arc::clone(&self.core);
        let task = what(Arc::clone(&core));
        Box::pin(async move { core.begin(task).await.unwrap_or_else(|_| Err(ended())) })
    }
}

fn ended() -> Error {
    Error::io("the thread for etcd ended early", std::io::Error::other("it panicked"))
}

impl Engine for Etcd {
    fn name(&self) -> &'static str {
        "etcd"
    }

    fn at(&self) -> String {
        let options = &self.core.options;
        format!("etcd://{}/{}", options.endpoints.join(","), options.prefix)
    }

    fn acquire<'a>(
        &'a self,
        request: &'a Request,
        patience: Patience,
    ) -> Answer<'a, Box<dyn Hold>> {
        let (reply, answer) = oneshot::channel::<Result<Grip, Error>>();
        let (core, request) = (Arc::clone(&self.core), request.clone());
        Box::pin(async move {
            let business = Arc::clone(&core.business);
            task::begin_alone(&core.runtime.clone(), async move {
                acquire(core, request, patience, reply).await;
                drop(business);
            });
            let grip = answer.await.unwrap_or_else(|_| Err(ended()))?;
            Ok(Box::new(Held::new(grip)) as Box<dyn Hold>)
        })
    }

    fn inspect<'a>(&'a self, resource: &'a Resource) -> Answer<'a, Status> {
        let resource = resource.clone();
        self.task(|core| async move { core.inspect(&resource).await })
    }

    fn list(&self) -> Answer<'_, Vec<Result<Status, Error>>> {
        self.task(|core| async move { core.list().await })
    }

    fn changed<'a>(&'a self, resource: &'a Resource, version: u64) -> Answer<'a, ()> {
        let mirror = InUse::of(&self.core, &resource.name);
        Box::pin(async move {
            mirror.changed(i64::try_from(version).unwrap_or(i64::MAX)).await;
            Ok(())
        })
    }

    fn revoke<'a>(
        &'a self,
        resource: &'a Resource,
        target: &'a Target,
        by: &'a str,
    ) -> Answer<'a, Evicted> {
        let (resource, target, by) = (resource.clone(), target.clone(), by.to_owned());
        self.task(|core| async move { core.revoke(&resource, &target, &by).await })
    }

    fn close(&self) -> Answer<'_, ()> {
        self.task(|core| async move { core.close().await })
    }
}

impl Core {
    /// Takes the first step of a request here; the engine's thread does the rest, and tells what
    /// came of it.
    fn begin<T, F>(&self, task: F) -> oneshot::Receiver<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let business = Arc::clone(&self.business);
        task::begin(&self.runtime, async move {
            let done = task.await;
            drop(business);
            done
        })
    }

    /// The session; or a new one, and what came of the transaction that was sent together with its
    /// opening.
    async fn session(
        self: &Arc<Self>,
        limit: BootTime,
        first: impl Fn(i64) -> TxnRequest,
    ) -> Result<(Arc<Session>, First), Error> {
        let mut session = self.session.lock().await;
        if let Some(session) = session.as_ref().filter(|it| !it.is_over()) {
            return Ok((Arc::clone(session), First::NotDone));
        }
        let (opened, first) = Session::open(self, limit, first).await?;
        *session = Some(Arc::clone(&opened));
        Ok((opened, first))
    }

    /// A number that no request has. Those of the past are used again: the servers keep every key
    /// that there ever was in their index until they compact it, and whoever reads a queue passes
    /// all of them.
    fn take_number(&self) -> u64 {
        if self.options.has(PlantedBug::SameKey) {
            return 0;
        }
        let free = self.free_numbers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.unwrap_or_else(|| self.next_number())
    }

    /// Nothing of the request with that number is left.
    fn give_number_back(&self, number: u64) {
        self.free_numbers.lock().unwrap_or_else(PoisonError::into_inner).push(number);
    }

    /// A number that was never used before.
    fn next_number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Ends the session.
    async fn close(&self) -> Result<(), Error> {
        let session = self.session.lock().await.take();
        let Some(session) = session.filter(|it| !it.is_over()) else { return Ok(()) };
        session.end(&crate::Loss::Closed);
        session.revoke(&self.servers).await
    }

    /// The engine was dropped: what is held stays held, and then the lease is given back.
    async fn retire(&self) {
        while Arc::strong_count(&self.business) > 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let _ = self.close().await;
    }

    async fn inspect(&self, resource: &Resource) -> Result<Status, Error> {
        let name = &resource.name;
        let txn = TxnRequest {
            success: vec![
                range(&self.keys.queue(name), |_| {}),
                range(&self.keys.owners(name), |_| {}),
                range_of_key(&self.keys.value(name)),
                range_of_key(&self.keys.resigned(name)),
            ],
            ..TxnRequest::default()
        };
        let answer = self.txn(None, txn).await?.value;
        let revision = answer.header.unwrap_or_default().revision;
        let queue = Queue::read(&self.keys, name, found(&answer, 0));
        let owners = self.owners(name, found(&answer, 1));
        let mut status = Status::new(resource.clone());
        match resource.kind {
            Kind::Lock => {
                let value = found(&answer, 2).first();
                status.value = value.and_then(|it| decode_value(&it.value));
            }
            Kind::Election => {
                let resigned = found(&answer, 3).first();
                let resigned = resigned.and_then(|it| std::str::from_utf8(&it.value).ok());
                status.resigned = resigned.and_then(|it| it.parse().ok()).map(Fence);
            }
        }
        queue.describe(&mut status, &owners);
        // A fence is the revision of a grant: no higher one can have been given out.
        status.last_fence = session::fence_of(revision);
        status.version = u64::try_from(revision).unwrap_or_default();
        Ok(status)
    }

    /// Who holds and waits, by a queue that was read already.
    async fn describe(&self, resource: &Resource, queue: &Queue) -> Result<Status, Error> {
        let mut owners = BTreeMap::new();
        if resource.kind == Kind::Election {
            let success = vec![range(&self.keys.owners(&resource.name), |_| {})];
            let read = TxnRequest { success, ..TxnRequest::default() };
            let answer = self.txn(None, read).await?.value;
            owners = self.owners(&resource.name, found(&answer, 0));
        }
        let mut status = Status::new(resource.clone());
        queue.describe(&mut status, &owners);
        Ok(status)
    }

    /// The owners of candidates, by the candidates' keys.
    fn owners(&self, name: &Name, found: &[KeyValue]) -> BTreeMap<Vec<u8>, Entrant> {
        let (queue, owners) = (self.keys.queue(name).start, self.keys.owners(name).start);
        let owner = |it: &KeyValue| {
            let entry = it.key.strip_prefix(&owners[..])?;
            Some(([&queue[..], entry].concat(), Entrant::decode(&it.value)?))
        };
        found.iter().filter_map(owner).collect()
    }

    async fn list(&self) -> Result<Vec<Result<Status, Error>>, Error> {
        let mut names: BTreeMap<Name, Vec<KeyValue>> = BTreeMap::new();
        for it in self.keys_of(&self.keys.all()).await? {
            let name = self.keys.read_name(&it.key).or_else(|| self.keys.read_value_name(&it.key));
            if let Some(name) = name {
                names.entry(name).or_default().push(it);
            }
        }
        let mut all = Vec::new();
        for name in names.into_keys() {
            for kind in [Kind::Lock, Kind::Election] {
                let status = self.inspect(&Resource { kind, name: name.clone() }).await;
                all.extend(status.map(|it| Some(it).filter(Self::is_of_interest)).transpose());
            }
        }
        Ok(all)
    }

    /// Whether a status of a name that is in use is of the kind that uses it. A key of Go's recipes
    /// is of an election if it has a value.
    fn is_of_interest(status: &Status) -> bool {
        let is_stranger = |owner: &crate::Owner| owner.host.is_empty();
        let strangers_only = status.holders.iter().all(|it| is_stranger(&it.owner))
            && status.waiters.iter().all(|it| is_stranger(&it.owner));
        if status.is_idle() {
            return status.value.is_some();
        }
        let proposes = status.value.as_ref().is_some_and(|it| !it.bytes.is_empty());
        match status.resource.kind {
            Kind::Election => !strangers_only || proposes,
            Kind::Lock => !strangers_only || !proposes,
        }
    }

    /// All keys of a range, without their values, some at a time.
    async fn keys_of(&self, range: &Range) -> Result<Vec<KeyValue>, Error> {
        let mut all: Vec<KeyValue> = Vec::new();
        let mut start = range.start.clone();
        loop {
            let read = RangeRequest {
                // All keys there are begin with the empty one, which etcd writes as a zero.
                key: if start.is_empty() { vec![0] } else { start.clone() },
                range_end: range.end.clone(),
                limit: PAGE,
                keys_only: true,
                ..RangeRequest::default()
            };
            let page = self.servers.call(None, async |link: Link| {
                let answer = KvClient::new(link.channel.clone());
                let answer = answer.clone().range(link.request(read.clone())).await;
                answer.map_err(|status| self.servers.judge(&status))
            });
            let page = page.await?.value.into_inner();
            let Some(last) = page.kvs.last() else { return Ok(all) };
            start.clone_from(&last.key);
            start.push(0);
            all.extend(page.kvs);
            if !page.more {
                return Ok(all);
            }
        }
    }

    async fn revoke(
        &self,
        resource: &Resource,
        target: &Target,
        by: &str,
    ) -> Result<Evicted, Error> {
        let name = &resource.name;
        let read =
            vec![range(&self.keys.queue(name), |_| {}), range(&self.keys.owners(name), |_| {})];
        let read = TxnRequest { success: read, ..TxnRequest::default() };
        let answer = self.txn(None, read).await?.value;
        let queue = Queue::read(&self.keys, name, found(&answer, 0));
        let mut status = Status::new(resource.clone());
        queue.describe(&mut status, &self.owners(name, found(&answer, 1)));
        let keys: Vec<(Fence, Vec<u8>)> =
            queue.of(resource.kind).map(|(fence, entry)| (fence, entry.key.clone())).collect();
        let (holding, waiting) = keys.split_at(status.holders.len());
        let mut evicted = Evicted::default();
        // The last one first: nobody who is meant moves up meanwhile.
        for (waiter, (fence, key)) in status.waiters.into_iter().zip(waiting).rev() {
            let what = format!("the place of {}", waiter.owner);
            if target.is_waiter(&waiter) && self.take(resource, *fence, key, by, &what).await? {
                evicted.waiters.insert(0, waiter);
            }
        }
        for (holder, (fence, key)) in status.holders.into_iter().zip(holding).rev() {
            let what = format!("fence {fence} of {}", holder.owner);
            if target.is_holder(&holder) && self.take(resource, *fence, key, by, &what).await? {
                evicted.holders.insert(0, holder);
            }
        }
        Ok(evicted)
    }

    /// Deletes a key and says so in the audit log, in one step. False if it was gone already.
    async fn take(
        &self,
        resource: &Resource,
        fence: Fence,
        key: &[u8],
        by: &str,
        what: &str,
    ) -> Result<bool, Error> {
        let now = SystemTime::now();
        let line = format!("{} {by} forced {resource}: {what}", utc(now));
        let audit = self.keys.audit(now, i64::from(std::process::id()), self.next_number());
        let mut success = vec![delete(key), put(&audit, line.into_bytes(), 0)];
        if resource.kind == Kind::Election {
            success.push(delete(&self.keys.owner(&resource.name, key)));
        }
        let revision = i64::try_from(fence.0).unwrap_or(i64::MAX);
        let compare = vec![created_in(key, revision)];
        // Its line in the log tells if it was done by a first request that went unanswered.
        let failure = vec![range_of_key(&audit)];
        let taken = self.txn(None, TxnRequest { compare, success, failure }).await?.value;
        Ok(taken.succeeded || !found(&taken, 0).is_empty())
    }
}
