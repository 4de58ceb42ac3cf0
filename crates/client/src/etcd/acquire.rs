//! From a request to a hold: a key in the queue, and the wait until it is its turn.
//!
//! All of this is a [task](super::task) of the engine, which only begins on the caller's thread.
//! The caller may drop its future at any moment; the task then finishes what it sent, and removes
//! its key. So a request that is given up never leaves anything behind.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use conclave_etcd_api::{RequestOp, TxnRequest, TxnResponse, range_request};
use tokio::sync::oneshot;

use super::Core;
use super::hold::Grip;
use super::keys::Entrant;
use super::mirror::{InUse, Turn};
use super::options::{PlantedBug, server};
use super::place::Place;
use super::queue::Queue;
use super::requests::{all_created_in, created_in, found, put, range, range_of_key};
use super::session::{First, Session};
use super::timer::sleep_until;
use crate::order::usage;
use crate::{BootTime, Error, Kind, Patience, Request};

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
        let number = self.core.take_number();
        let key_of = |lease| self.core.keys.entry(&self.request.resource, lease, number);
        let limit = self.limit_of_connecting();
        let opened = self.core.session(limit, |lease| self.entry(&key_of(lease), lease)).await;
        let (session, first) = opened.inspect_err(|_| {
            // What may have been sent hung on a lease that nobody uses again.
            self.core.give_number_back(number);
        })?;
        let key = key_of(session.lease);
        let mut place = Place::new(&self.core, &session, &self.request.resource, key, number);
        let arrival = self.enter(&mut place, first).await;
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
            Ok(Arrival::Behind(revision)) => self.wait(place, revision, reply).await,
        }
    }

    /// Whether it may stand in the queue until its turn comes.
    fn may_wait(&self) -> bool {
        self.patience != Patience::AtMost(Duration::ZERO)
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

    /// Enters the queue, or has entered it already by what was sent together with the session's
    /// opening.
    async fn enter(&self, place: &mut Place, first: First) -> Result<Arrival, Error> {
        let entry = || self.entry(&place.key, place.session.lease);
        let answer = match first {
            First::Answered(answer) => answer,
            First::NotDone => place.send(self.limit_of_arriving(&place.session), entry()).await?,
            First::Unknown => {
                let entry = entry();
                place.is_doubtful = true;
                place.send(self.limit_of_arriving(&place.session), entry).await?
            }
        };
        match self.may_wait() {
            true => Ok(arrived(&answer, &place.key)),
            false => self.tried(place, &answer).await,
        }
    }

    /// What enters the queue under that key.
    fn entry(&self, key: &[u8], lease: i64) -> TxnRequest {
        match self.may_wait() {
            true => self.arrival(key, lease),
            false => self.trial(key, lease),
        }
    }

    /// Enters the queue.
    fn arrival(&self, key: &[u8], lease: i64) -> TxnRequest {
        let queue = self.core.keys.queue(self.request.name());
        let first = range(&queue, |it| {
            it.limit = 1;
            it.keys_only = true;
            it.sort_order = range_request::SortOrder::Ascend.into();
            it.sort_target = range_request::SortTarget::Create.into();
        });
        let mut success = self.puts(key, lease);
        success.push(first.clone());
        TxnRequest {
            compare: vec![created_in(key, 0), created_in(&self.tombstone(key), 0)],
            success,
            // Sent twice, because the answer to the first was lost.
            failure: vec![range_of_key(key), first],
        }
    }

    /// Enters the queue if it is empty, in one step.
    fn trial(&self, key: &[u8], lease: i64) -> TxnRequest {
        let range = self.core.keys.queue(self.request.name());
        TxnRequest {
            compare: vec![all_created_in(&range, 0), created_in(&self.tombstone(key), 0)],
            success: self.puts(key, lease),
            failure: vec![self::range(&range, |_| {})],
        }
    }

    /// What came of a trial. If the queue is not empty but would let us in (as one more reader,
    /// say), it is entered as usual.
    async fn tried(&self, place: &mut Place, answer: &TxnResponse) -> Result<Arrival, Error> {
        if answer.succeeded {
            return Ok(Arrival::First(answer.header.unwrap_or_default().revision));
        }
        let found = found(answer, 0);
        if let Some(own) = found.iter().find(|it| it.key == place.key) {
            // Sent twice, because the answer to the first was lost.
            return Ok(Arrival::First(own.create_revision));
        }
        let queue = Queue::read(&self.core.keys, self.request.name(), found);
        self.check(&queue, &place.key)?;
        if !queue.would_let_in(self.request.kind(), self.request.mode) {
            return Ok(Arrival::Busy(queue));
        }
        let arrival = self.arrival(&place.key, place.session.lease);
        let answer = place.send(self.limit_of_arriving(&place.session), arrival).await?;
        Ok(arrived(&answer, &place.key))
    }

    fn tombstone(&self, key: &[u8]) -> Vec<u8> {
        self.core.keys.tombstone(self.request.name(), key)
    }

    fn puts(&self, key: &[u8], lease: i64) -> Vec<RequestOp> {
        let name = self.request.name();
        let entrant = Entrant::new(&self.request, &self.core.host, SystemTime::now()).encode();
        match self.request.kind() {
            Kind::Lock => vec![put(key, entrant, lease)],
            Kind::Election => vec![
                put(key, self.request.value.clone(), lease),
                put(&self.core.keys.owner(name, key), entrant, lease),
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
        reply: &mut Reply,
    ) -> Result<Option<Grip>, Error> {
        let (resource, kind) = (&self.request.resource, self.request.kind());
        let may_wait = self.may_wait();
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

/// What came of an arrival under that key.
fn arrived(answer: &TxnResponse, key: &[u8]) -> Arrival {
    let revision = match answer.succeeded {
        true => answer.header.unwrap_or_default().revision,
        false => found(answer, 0).first().map_or(0, |it| it.create_revision),
    };
    let first = found(answer, answer.responses.len().saturating_sub(1)).first();
    let is_first = first.is_some_and(|it| it.key == key);
    if is_first { Arrival::First(revision) } else { Arrival::Behind(revision) }
}
