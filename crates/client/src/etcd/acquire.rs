//! From a request to a hold: a key in the queue, and the wait until it is its turn.
//!
//! All of this is a [task](super::task) of the engine, which only begins on the caller's thread.
//! The caller may drop its future at any moment; the task then finishes what it sent, and removes
//! its key. So a request that is given up never leaves anything behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use conclave_etcd_api::kv_client::KvClient;
use conclave_etcd_api::{
    Compare, DeleteRangeRequest, KeyValue, PutRequest, RangeRequest, RequestOp, TxnRequest,
    TxnResponse, compare, range_request, request_op, response_op,
};
use tokio::sync::oneshot;

use super::Core;
use super::hold::Grip;
use super::keys::{Entrant, Range};
use super::mirror::{InUse, Turn};
use super::options::{PlantedBug, server};
use super::queue::Queue;
use super::servers::{Answered, Failed, Link};
use super::session::{Session, fence_of};
use super::timer::sleep_until;
use crate::order::usage;
use crate::{BootTime, Error, Kind, Loss, Patience, Request, Resource};

/// Where the outcome goes; closed when nobody wants it any more.
pub type Reply = oneshot::Sender<Result<Grip, Error>>;

/// Asks, waits, and tells the caller.
pub async fn acquire(core: Arc<Core>, request: Request, patience: Patience, mut reply: Reply) {
    let limit = match patience {
        Patience::Forever => None,
        Patience::AtMost(limit) => Some(BootTime::now().plus(limit)),
    };
    let asker = Asker { core, request, patience, limit };
    loop {
        match asker.ask(&mut reply).await {
            // Its session was over before its turn came: there is another one, and a new place. But
            // nobody is put there for whom nobody waits.
            Ok(None) if reply.is_closed() => return,
            Ok(None) => {}
            Ok(Some(grip)) => {
                // If nobody wants it any more, it is dropped, and thereby let go.
                drop(reply.send(Ok(grip)));
                return;
            }
            Err(error) => {
                drop(reply.send(Err(error)));
                return;
            }
        }
    }
}

struct Asker {
    core: Arc<Core>,
    request: Request,
    patience: Patience,
    limit: Option<BootTime>,
}

/// What became of a key that was put into the queue.
enum Arrival {
    /// First of all: it holds.
    First(i64),
    /// Behind others, created in that revision.
    Behind(i64),
    /// Not put there: it would have had to wait.
    Busy(Queue),
}

impl Asker {
    /// `None` if it must be tried again with another session.
    async fn ask(&self, reply: &mut Reply) -> Result<Option<Grip>, Error> {
        let session = self.core.session(self.limit_of_connecting()).await?;
        let mut place = Place::new(&self.core, &session, &self.request.resource);
        let may_wait = self.patience != Patience::AtMost(Duration::ZERO);
        let arrival = match may_wait {
            true => self.arrive(&mut place).await,
            false => self.try_it(&mut place).await,
        };
        if arrival.is_err() && !session.is_over() {
            session.look(&self.core).await;
        }
        match arrival {
            _ if session.is_over() => Ok(None),
            Err(error) => Err(error),
            Ok(Arrival::First(revision)) => Ok(Some(place.grip(revision))),
            Ok(Arrival::Busy(queue)) => {
                let error = self.busy(&queue).await;
                // What was sent in vain may yet put the key there.
                if place.is_doubtful {
                    place.leave().await;
                } else {
                    place.discard();
                }
                Err(error)
            }
            Ok(Arrival::Behind(revision)) => self.wait(place, revision, may_wait, reply).await,
        }
    }

    /// How long to try to enter the queue: no longer than the caller wants to wait, nor than the
    /// session lasts.
    fn limit_of_arriving(&self, session: &Session) -> BootTime {
        let deadline = session.tenure.deadline();
        let limit = self.limit.map(|it| it.max(BootTime::now().plus(Duration::from_secs(1))));
        limit.map_or(deadline, |limit| limit.min(deadline))
    }

    /// A caller that has little patience does not want to wait for dead servers either; but it
    /// gives them the time that an answer takes.
    fn limit_of_connecting(&self) -> BootTime {
        let connecting = BootTime::now().plus(self.core.options.connect_timeout);
        let limit = self.limit.map(|it| it.max(BootTime::now().plus(Duration::from_secs(1))));
        limit.map_or(connecting, |limit| limit.min(connecting))
    }

    /// Enters the queue.
    async fn arrive(&self, place: &mut Place) -> Result<Arrival, Error> {
        let queue = self.core.keys.queue(self.request.name());
        let first = range(&queue, |it| {
            it.limit = 1;
            it.keys_only = true;
            it.sort_order = range_request::SortOrder::Ascend.into();
            it.sort_target = range_request::SortTarget::Create.into();
        });
        let mut success = self.puts(place);
        success.push(first.clone());
        let txn = TxnRequest {
            compare: vec![created_in(&place.key, 0), created_in(&place.tombstone(), 0)],
            success,
            // Sent twice, because the answer to the first was lost.
            failure: vec![range_of_key(&place.key), first],
        };
        let answer = place.send(self.limit_of_arriving(&place.session), txn).await?;
        let revision = match answer.succeeded {
            true => answer.header.unwrap_or_default().revision,
            false => found(&answer, 0).first().map_or(0, |it| it.create_revision),
        };
        let first = found(&answer, answer.responses.len().saturating_sub(1)).first();
        let is_first = first.is_some_and(|it| it.key == place.key);
        Ok(if is_first { Arrival::First(revision) } else { Arrival::Behind(revision) })
    }

    /// Enters the queue if it is empty, in one step. If it is not but would let us in (as one more
    /// reader, say), it is entered as usual.
    async fn try_it(&self, place: &mut Place) -> Result<Arrival, Error> {
        let range = self.core.keys.queue(self.request.name());
        let txn = TxnRequest {
            compare: vec![all_created_in(&range, 0), created_in(&place.tombstone(), 0)],
            success: self.puts(place),
            failure: vec![self::range(&range, |_| {})],
        };
        let answer = place.send(self.limit_of_arriving(&place.session), txn).await?;
        if answer.succeeded {
            return Ok(Arrival::First(answer.header.unwrap_or_default().revision));
        }
        let found = found(&answer, 0);
        if let Some(own) = found.iter().find(|it| it.key == place.key) {
            // Sent twice, because the answer to the first was lost.
            return Ok(Arrival::First(own.create_revision));
        }
        let queue = Queue::read(&self.core.keys, self.request.name(), found);
        self.check(&queue, &place.key)?;
        if queue.would_let_in(self.request.kind(), self.request.mode) {
            self.arrive(place).await
        } else {
            Ok(Arrival::Busy(queue))
        }
    }

    fn puts(&self, place: &Place) -> Vec<RequestOp> {
        let (name, lease) = (self.request.name(), place.session.lease);
        let entrant = Entrant::new(&self.request, &self.core.host, SystemTime::now()).encode();
        match self.request.kind() {
            Kind::Lock => vec![put(&place.key, entrant, lease)],
            Kind::Election => vec![
                put(&place.key, self.request.value.clone(), lease),
                put(&self.core.keys.owner(name, &place.key), entrant, lease),
            ],
        }
    }

    /// Others may use the name in a way that does not go together with ours.
    fn check(&self, queue: &Queue, key: &[u8]) -> Result<(), Error> {
        if let Some(foreign) = queue.foreign(key) {
            let key = String::from_utf8_lossy(&foreign.key);
            let what = format!(
                "the key {key} is in the way of {}, and is none of a lock; remove it, or use \
                 another prefix",
                self.request.resource
            );
            return Err(server("etcd", what));
        }
        let (kind, mode) = (self.request.kind(), self.request.mode);
        match queue.mismatch(kind, mode, key) {
            None => Ok(()),
            Some(theirs) => {
                let resource = self.request.resource.clone();
                Err(Error::Mismatch { resource, ours: usage(mode), theirs })
            }
        }
    }

    async fn busy(&self, queue: &Queue) -> Error {
        let resource = self.request.resource.clone();
        let status = self.core.describe(&resource, queue).await;
        let holders = status.map(|it| it.holders).unwrap_or_default();
        let holders = holders.into_iter().map(|holder| holder.owner).collect();
        Error::Busy { resource, holders }
    }

    /// Waits for its turn. Whoever gives up has left the queue when this returns.
    async fn wait(
        &self,
        place: Place,
        revision: i64,
        may_wait: bool,
        reply: &mut Reply,
    ) -> Result<Option<Grip>, Error> {
        let (resource, kind) = (&self.request.resource, self.request.kind());
        let mirror = InUse::of(&self.core, self.request.name());
        let patience = async {
            match self.limit.filter(|_| may_wait) {
                Some(limit) => sleep_until(limit).await,
                // Who does not wait for its turn waits for the answer whether it is.
                None => std::future::pending().await,
            }
        };
        let turn = async {
            let queue = mirror.queue(revision).await;
            self.check(&queue, &place.key)?;
            if self.core.options.has(PlantedBug::WrongNeighbour) {
                return Ok(mirror.wait_for_neighbour(&queue, kind, &place.key).await);
            }
            let turn = mirror.wait(kind, &place.key, revision);
            if !may_wait && !queue.granted(kind).any(|(_, it)| it.key == place.key) {
                return Err(self.busy(&queue).await);
            }
            // The mirror lives as long as we use it.
            Ok(turn.await.unwrap_or(Turn::Gone))
        };
        let turn = tokio::select! {
            biased;
            turn = turn => turn,
            // Whatever it says, nobody hears it.
            () = reply.closed() => Err(Error::Unknown { resource: resource.clone() }),
            _ = place.session.over.wait() => Ok(Turn::Gone),
            () = patience => {
                let waited = self.limit_asked();
                Err(Error::TimedOut { resource: resource.clone(), waited })
            }
        };
        mirror.forget(&place.key);
        if matches!(turn, Ok(Turn::Gone)) && !place.session.is_over() {
            // Taken away alone, or with everything else that hangs on its lease?
            place.session.look(&self.core).await;
        }
        match turn {
            Ok(_) if place.session.is_over() => Ok(None),
            Ok(Turn::Granted) => Ok(Some(place.grip(revision))),
            Ok(Turn::Gone) => {
                place.discard();
                Err(Error::Evicted { resource: resource.clone() })
            }
            Err(error) => {
                // Only a key that is gone for sure holds nothing.
                if place.leave().await { Err(error) } else { Err(self.unknown()) }
            }
        }
    }

    fn unknown(&self) -> Error {
        Error::Unknown { resource: self.request.resource.clone() }
    }

    fn limit_asked(&self) -> Duration {
        match self.patience {
            Patience::AtMost(limit) => limit,
            Patience::Forever => Duration::MAX,
        }
    }
}

/// A key in the queue, or on its way there. Dropping it removes the key.
pub struct Place {
    pub core: Arc<Core>,
    pub session: Arc<Session>,
    pub resource: Resource,
    pub key: Vec<u8>,
    /// Its number, which is in the key.
    number: u64,
    /// Whether it was sent more than once: then one that is still on its way may put the key there
    /// again after it was removed.
    pub is_doubtful: bool,
    /// Whether the key is still to be removed.
    is_there: AtomicBool,
    _business: Arc<()>,
}

impl Place {
    fn new(core: &Arc<Core>, session: &Arc<Session>, resource: &Resource) -> Self {
        let (core, session) = (Arc::clone(core), Arc::clone(session));
        let _business = Arc::clone(&core.business);
        let resource = resource.clone();
        let number = core.take_number();
        let key = core.keys.entry(&resource, session.lease, number);
        let is_there = AtomicBool::new(true);
        Self { core, session, resource, key, number, is_doubtful: false, is_there, _business }
    }

    /// Sends what puts the key there.
    async fn send(&mut self, limit: BootTime, txn: TxnRequest) -> Result<TxnResponse, Error> {
        match self.core.txn(Some(limit), txn).await {
            Ok(answer) => {
                self.is_doubtful |= answer.is_repeated;
                Ok(answer.value)
            }
            Err(failed) => {
                self.is_doubtful |= failed.was_sent;
                Err(failed.error)
            }
        }
    }

    fn grip(self, revision: i64) -> Grip {
        let fence = match self.core.options.has(PlantedBug::FenceOfLease) {
            true => fence_of(self.session.lease),
            false => fence_of(revision),
        };
        Grip::new(self, fence)
    }

    /// The key is not there.
    fn discard(self) {
        self.is_there.store(false, Ordering::Relaxed);
        self.free_number(false);
    }

    /// Others may have its number, unless something that was sent twice may come a second time:
    /// it would take the key for its own.
    fn free_number(&self, is_repeated: bool) {
        if !is_repeated && !self.is_doubtful {
            self.core.give_number_back(self.number);
        }
    }

    /// Removes the key; false if nobody knows whether it is gone.
    async fn leave(self) -> bool {
        self.remove().await.is_some()
    }

    /// A mark that this key is gone for good, whatever of it is still on its way.
    fn tombstone(&self) -> Vec<u8> {
        self.core.keys.tombstone(&self.resource.name, &self.key)
    }

    /// The operations that remove it.
    pub fn removal(&self) -> Vec<RequestOp> {
        let mut removal = vec![delete(&self.key)];
        if self.resource.kind == Kind::Election {
            removal.push(delete(&self.core.keys.owner(&self.resource.name, &self.key)));
        }
        if self.is_doubtful {
            removal.push(put(&self.tombstone(), Vec::new(), self.session.lease));
        }
        removal
    }

    /// Removes the key, and tells whether it was there and the removal was sent once only. Tried
    /// until the session is over: then it is gone anyway, but nobody knows since when.
    pub async fn remove(&self) -> Option<Removed> {
        self.until_over(TxnRequest { success: self.removal(), ..TxnRequest::default() }).await
    }

    /// Sends that until it is answered, or the session is over.
    pub async fn until_over(&self, txn: TxnRequest) -> Option<Removed> {
        // Done here, to its end: nobody else need do it.
        self.is_there.store(false, Ordering::Relaxed);
        let mut refusals = 0;
        let mut is_repeated = false;
        while !self.session.is_over() {
            let limit = Some(self.session.tenure.deadline());
            match self.core.txn(limit, txn.clone()).await {
                Ok(answer) => {
                    is_repeated |= answer.is_repeated;
                    self.free_number(is_repeated);
                    return Some(Removed { answer: answer.value, is_repeated });
                }
                Err(failed) => is_repeated |= failed.was_sent,
            }
            refusals += 1;
            if refusals >= REFUSALS_MAX {
                // It cannot be removed alone. To keep it would be to hold it for nobody.
                self.session.end(&Loss::Expired);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        None
    }
}

/// What came of a removal.
pub struct Removed {
    pub answer: TxnResponse,
    /// Whether it was sent more than once.
    pub is_repeated: bool,
}

impl Removed {
    /// Whether there was something to remove.
    pub fn was_there(&self) -> bool {
        let first = self.answer.responses.first().and_then(|it| it.response.as_ref());
        match first {
            Some(response_op::Response::ResponseDeleteRange(answer)) => answer.deleted > 0,
            _ => false,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_there.load(Ordering::Relaxed) || self.session.is_over() {
            return;
        }
        let later = Self {
            core: Arc::clone(&self.core),
            session: Arc::clone(&self.session),
            resource: self.resource.clone(),
            key: std::mem::take(&mut self.key),
            number: self.number,
            is_doubtful: self.is_doubtful,
            is_there: AtomicBool::new(false),
            _business: Arc::clone(&self._business),
        };
        self.core.runtime.spawn(async move { later.remove().await });
    }
}

/// A removal that is refused so often will be refused for ever.
const REFUSALS_MAX: u32 = 10;

impl Core {
    /// One transaction, sent again until there is an answer.
    pub async fn txn(
        &self,
        limit: Option<BootTime>,
        txn: TxnRequest,
    ) -> Result<Answered<TxnResponse>, Failed> {
        let call = async |link: Link| {
            let mut client = KvClient::new(link.channel.clone());
            client = client.max_decoding_message_size(usize::MAX);
            let answer = client.txn(link.request(txn.clone())).await;
            answer.map(tonic::Response::into_inner).map_err(|status| self.servers.judge(&status))
        };
        self.servers.call(limit, call).await
    }
}

/// What the range that was the `index`th operation has found.
pub fn found(answer: &TxnResponse, index: usize) -> &[KeyValue] {
    match answer.responses.get(index).and_then(|it| it.response.as_ref()) {
        Some(response_op::Response::ResponseRange(answer)) => &answer.kvs,
        _ => &[],
    }
}

pub fn put(key: &[u8], value: Vec<u8>, lease: i64) -> RequestOp {
    operation(request_op::Request::RequestPut(PutRequest {
        key: key.to_vec(),
        value,
        lease,
        ..PutRequest::default()
    }))
}

pub fn delete(key: &[u8]) -> RequestOp {
    let delete = DeleteRangeRequest { key: key.to_vec(), ..DeleteRangeRequest::default() };
    operation(request_op::Request::RequestDeleteRange(delete))
}

pub fn range(keys: &Range, how: impl FnOnce(&mut RangeRequest)) -> RequestOp {
    let (key, range_end) = (keys.start.clone(), keys.end.clone());
    let mut range = RangeRequest { key, range_end, ..RangeRequest::default() };
    how(&mut range);
    operation(request_op::Request::RequestRange(range))
}

pub fn range_of_key(key: &[u8]) -> RequestOp {
    let range = RangeRequest { key: key.to_vec(), ..RangeRequest::default() };
    operation(request_op::Request::RequestRange(range))
}

pub fn operation(request: request_op::Request) -> RequestOp {
    RequestOp { request: Some(request) }
}

/// Holds if that key was created in that revision; in revision 0, if it is not there.
pub fn created_in(key: &[u8], revision: i64) -> Compare {
    Compare {
        result: compare::CompareResult::Equal.into(),
        target: compare::CompareTarget::Create.into(),
        key: key.to_vec(),
        target_union: Some(compare::TargetUnion::CreateRevision(revision)),
        range_end: Vec::new(),
    }
}

/// Holds if that key was last written in that revision.
pub fn written_in(key: &[u8], revision: i64) -> Compare {
    Compare {
        target: compare::CompareTarget::Mod.into(),
        target_union: Some(compare::TargetUnion::ModRevision(revision)),
        ..created_in(key, 0)
    }
}

/// Holds if all keys of a range were created in that revision; in revision 0, if there are none.
fn all_created_in(range: &Range, revision: i64) -> Compare {
    Compare { range_end: range.end.clone(), ..created_in(&range.start, revision) }
}
