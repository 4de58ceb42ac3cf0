//! A session: a lease, and how it is kept.
//!
//! All that one client holds and waits for hangs on one lease. The server ends it when it hears
//! nothing for its time to live; then all keys are gone, and others are served.
//!
//! # Why the deadline holds
//!
//! The lease is counted by the leader, in its memory. A grant goes through the log: a majority
//! stands behind it, and it is counted from later than the moment at which we sent it. A renewal
//! is answered by whoever *takes itself* for the leader: a deposed one, stopped or cut off, answers
//! as well, and its successor knows nothing of it. So a renewal counts only when confirmed:
//!
//! 1. at `sent` we send the keep-alive; the answer carries term T, as the server that we talk to
//!    knew it *before* it asked the leader;
//! 2. after that answer we send a linearizable read, and its answer carries term T too.
//!
//! The read was confirmed by a majority, and no later term than T had a leader then. So it was T's
//! leader that renewed the lease, in office, after `sent`. It counts from there; a successor begins
//! with a whole time to live when it takes office, which is later still. So nobody ends the lease
//! before `sent` + time to live, and that is the new deadline (less a margin for clocks that do not
//! run at the same rate, see [`Tenure`]). If the terms differ, nothing is concluded and it is tried
//! again.
//!
//! (A term that a server tells is that of the last entry it has applied. The leader of T serves no
//! read before it has committed an entry of T, and whoever answers has applied that.)
//!
//! After each renewal all keys that are held are read, which shows what was taken away.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use conclave_core::Fence;
use conclave_etcd_api::kv_client::KvClient;
use conclave_etcd_api::lease_client::LeaseClient;
use conclave_etcd_api::{
    LeaseGrantRequest, LeaseKeepAliveRequest, LeaseRevokeRequest, RangeRequest, RequestOp,
    TxnRequest, TxnResponse, request_op, response_op,
};

use super::Core;
use super::options::PlantedBug;
use super::servers::{Link, Servers, Trouble};
use super::timer::sleep_until;
use crate::{BootTime, Error, Loss, LossSignal, Tenure};

/// A session is renewed so many times in its time to live.
const RENEWALS: u32 = 5;

/// One attempt to renew may take this part of the time to live; then the next server is asked.
const ATTEMPTS: u32 = 6;

/// How many keys are read at once; the server takes 128.
const KEYS_AT_ONCE: usize = 100;

/// A lease, and what hangs on it.
pub struct Session {
    pub lease: i64,
    pub tenure: Tenure,
    /// The smaller of what was asked for and what was granted.
    ttl: Duration,
    /// Raised once, when the session is over.
    pub over: LossSignal,
    /// What is held, by key.
    held: Mutex<BTreeMap<Vec<u8>, Held>>,
}

/// A lock or an office that this session holds.
#[derive(Clone)]
struct Held {
    fence: Fence,
    loss: LossSignal,
}

/// What came of the first transaction of a session, which is sent together with its opening.
pub enum First {
    /// This.
    Answered(TxnResponse),
    /// Nothing: it was not sent, or refused.
    NotDone,
    /// It may have been done, or may yet be.
    Unknown,
}

impl Session {
    /// Opens a session; its renewals go out from now on until it is over.
    ///
    /// `first` says the first transaction in it, given its lease. Both are sent before either is
    /// answered, which saves a round trip: so we choose the lease's number, not the server. If the
    /// transaction gets ahead of the grant, it is refused, as one with a lease that is not there.
    /// Nothing is held before both are answered. If the grant is not, the lease is given back,
    /// whether it was granted or not, and what hangs on it is gone with it; another attempt has
    /// another one.
    pub async fn open(
        core: &Arc<Core>,
        limit: BootTime,
        first: impl Fn(i64) -> TxnRequest,
    ) -> Result<(Arc<Self>, First), Error> {
        let asked = core.options.ttl;
        // A time to live of the store is of whole seconds.
        let seconds = asked.as_secs() + u64::from(asked.subsec_nanos() > 0);
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        let opened = core
            .servers
            .call(Some(limit), async |link: Link| {
                let asked_for = AskedFor { core, lease: any_lease(), is_settled: false };
                let grant = LeaseGrantRequest { ttl: seconds, id: asked_for.lease };
                let sent = BootTime::now();
                let mut leases = LeaseClient::new(link.channel.clone());
                let mut keys = KvClient::new(link.channel.clone());
                keys = keys.max_decoding_message_size(usize::MAX);
                // The one that is to be done first is sent last: of two that arrive together, etcd
                // most often begins with the second.
                let (first, granted) = tokio::join!(
                    biased;
                    keys.txn(link.request(first(asked_for.lease))),
                    leases.lease_grant(link.request(grant)),
                );
                let granted = asked_for.settle(granted)?.into_inner();
                Ok((core.moment_of(sent), granted, First::of(first)))
            })
            .await?;
        let (sent, granted, first) = opened.value;
        let ttl = asked.min(seconds_of(granted.ttl));
        let session = Arc::new(Self {
            lease: granted.id,
            tenure: Tenure::begin(sent, ttl),
            ttl,
            over: LossSignal::default(),
            held: Mutex::default(),
        });
        core.runtime.spawn(keep(Arc::downgrade(core), Arc::clone(&session), sent));
        Ok((session, first))
    }

    /// Whether something can still be held in it.
    pub fn is_over(&self) -> bool {
        self.over.get().is_some() || self.tenure.deadline().is_past()
    }

    /// From now on `loss` is raised when that key is gone.
    pub fn watch_over(&self, key: &[u8], fence: Fence, loss: &LossSignal) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert(key.to_vec(), Held { fence, loss: loss.clone() });
        drop(held);
        if let Some(reason) = self.over.get() {
            loss.raise(reason.clone());
        }
    }

    /// Its holder lets go of it.
    pub fn forget(&self, key: &[u8]) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    fn holds(&self, key: &[u8], fence: Fence) -> bool {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.get(key).is_some_and(|it| it.fence == fence)
    }

    fn held(&self) -> Vec<(Vec<u8>, Held)> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter().map(|(key, it)| (key.clone(), it.clone())).collect()
    }

    /// Everything that was held in it is lost.
    pub fn end(&self, reason: &Loss) {
        self.over.raise(reason.clone());
        for (_, held) in self.held() {
            held.loss.raise(reason.clone());
        }
    }

    /// Asks the servers whether it is over, before it is time to renew it.
    pub async fn look(&self, core: &Core) {
        let renewal = renew(core, self).await;
        self.conclude(&renewal);
    }

    /// What follows from an attempt to renew it.
    fn conclude(&self, renewal: &Renewal) {
        let goes_on = match renewal {
            Renewal::Confirmed(sent) => self.tenure.extend(*sent, self.ttl),
            Renewal::Unanswered => !self.tenure.deadline().is_past(),
            Renewal::Gone => false,
        };
        if !goes_on {
            self.end(&Loss::Expired);
        }
    }

    /// Asks the servers to end it. All its keys are gone then.
    pub async fn revoke(&self, servers: &Servers) -> Result<(), Error> {
        revoke(self.lease, self.tenure.deadline(), servers).await
    }
}

async fn revoke(lease: i64, limit: BootTime, servers: &Servers) -> Result<(), Error> {
    let done = servers.call(Some(limit), async |link: Link| {
        let revoke = link.request(LeaseRevokeRequest { id: lease });
        match LeaseClient::new(link.channel.clone()).lease_revoke(revoke).await {
            Err(status) if status.code() != tonic::Code::NotFound => Err(servers.judge(&status)),
            _ => Ok(()),
        }
    });
    done.await?;
    Ok(())
}

impl First {
    fn of(answer: Result<tonic::Response<TxnResponse>, tonic::Status>) -> Self {
        match answer {
            Ok(answer) => Self::Answered(answer.into_inner()),
            // It came before the grant.
            Err(status) if status.code() == tonic::Code::NotFound => Self::NotDone,
            Err(_) => Self::Unknown,
        }
    }
}

/// A number that no lease has, as far as chance goes: of 63 bits, and not 0, which means none.
fn any_lease() -> i64 {
    // Its keys are random, of the operating system.
    let random = RandomState::new().hash_one(BootTime::now().to_duration());
    i64::try_from(random >> 1).unwrap_or(i64::MAX).max(1)
}

/// A lease that was asked for. What became of it must not stay open: dropping it gives it back.
struct AskedFor<'a> {
    core: &'a Arc<Core>,
    lease: i64,
    is_settled: bool,
}

impl AskedFor<'_> {
    fn settle<T>(mut self, answer: Result<T, tonic::Status>) -> Result<T, Trouble> {
        let answer = answer.map_err(|status| self.core.servers.judge(&status));
        self.is_settled = !matches!(answer, Err(Trouble::Passing(_)));
        answer
    }
}

impl Drop for AskedFor<'_> {
    fn drop(&mut self) {
        if self.is_settled {
            return;
        }
        let (core, lease) = (Arc::clone(self.core), self.lease);
        let limit = BootTime::now().plus(core.options.ttl);
        self.core.runtime.spawn(async move { revoke(lease, limit, &core.servers).await });
    }
}

/// What a renewal brought.
enum Renewal {
    /// Proved: it counts from when it was sent.
    Confirmed(BootTime),
    /// Nothing is known.
    Unanswered,
    /// The session is over.
    Gone,
}

/// Renews the session until it is over, or nobody wants it any more.
async fn keep(core: Weak<Core>, session: Arc<Session>, opened: BootTime) {
    let mut last = opened;
    loop {
        let next = last.plus(session.ttl / RENEWALS);
        tokio::select! {
            () = sleep_until(next) => {}
            _ = session.over.wait() => return,
        }
        let Some(core) = core.upgrade() else { return };
        loop {
            let renewal = tokio::select! {
                biased;
                renewal = renew(&core, &session) => renewal,
                () = sleep_until(session.tenure.deadline()) => Renewal::Unanswered,
            };
            session.conclude(&renewal);
            if session.is_over() {
                return;
            }
            match renewal {
                Renewal::Confirmed(sent) => {
                    last = sent;
                    break;
                }
                _ => {
                    session.tenure.endanger();
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
        check_held(&core, &session).await;
    }
}

async fn renew(core: &Core, session: &Session) -> Renewal {
    let patience = session.ttl / ATTEMPTS;
    let servers = &core.servers;
    let Ok(link) = servers.link(BootTime::now().plus(patience)).await else {
        return Renewal::Unanswered;
    };
    match tokio::time::timeout(patience, renew_by(&link, servers, core, session)).await {
        Ok(Ok(renewal)) => renewal,
        Ok(Err(_)) | Err(_) => {
            servers.leave(link.number);
            Renewal::Unanswered
        }
    }
}

/// A keep-alive and the read that confirms it, both by one server.
async fn renew_by(
    link: &Link,
    servers: &Servers,
    core: &Core,
    session: &Session,
) -> Result<Renewal, Trouble> {
    let judge = |status: tonic::Status| servers.judge(&status);
    let link = &servers.for_renewals(link).await?;
    let sent = BootTime::now();
    let request = link.request(tokio_stream::once(LeaseKeepAliveRequest { id: session.lease }));
    let mut answers = LeaseClient::new(link.channel.clone());
    let mut answers = answers.lease_keep_alive(request).await.map_err(judge)?.into_inner();
    let Some(answer) = answers.message().await.map_err(judge)? else {
        return Ok(Renewal::Unanswered);
    };
    let term = answer.header.unwrap_or_default().raft_term;
    if core.options.has(PlantedBug::Unconfirmed) {
        return Ok(Renewal::Confirmed(sent));
    }
    // A deposed leader knows nothing of what was granted after its time: what it says of a lease
    // that it does not know must be confirmed as well.
    let confirmed = confirm(link, servers, core, session, &[]).await?;
    Ok(match () {
        () if confirmed != term => Renewal::Unanswered,
        // Zero is how the server says that it knows no such lease.
        () if answer.ttl <= 0 => Renewal::Gone,
        () => Renewal::Confirmed(core.moment_of(sent)),
    })
}

/// Looks whether all that is held is still there. Not part of a renewal, so that much that is held
/// does not make it slow.
async fn check_held(core: &Core, session: &Session) {
    for some in session.held().chunks(KEYS_AT_ONCE) {
        let patience = session.ttl / ATTEMPTS;
        let Ok(link) = core.servers.link(BootTime::now().plus(patience)).await else { return };
        let look = async {
            let link = core.servers.for_renewals(&link).await?;
            confirm(&link, &core.servers, core, session, some).await
        };
        if !matches!(tokio::time::timeout(patience, look).await, Ok(Ok(_))) {
            return;
        }
    }
}

/// A linearizable read of what is held, or of nothing at all. Returns its term.
async fn confirm(
    link: &Link,
    servers: &Servers,
    core: &Core,
    session: &Session,
    held: &[(Vec<u8>, Held)],
) -> Result<u64, Trouble> {
    let nothing = [core.keys.nothing()];
    let keys: Vec<&Vec<u8>> = if held.is_empty() {
        nothing.iter().collect()
    } else {
        held.iter().map(|(key, _)| key).collect()
    };
    let read = |key: &Vec<u8>| RequestOp {
        request: Some(request_op::Request::RequestRange(RangeRequest {
            key: key.clone(),
            keys_only: true,
            ..RangeRequest::default()
        })),
    };
    let success = keys.into_iter().map(read).collect();
    let txn = link.request(TxnRequest { success, ..TxnRequest::default() });
    let answer = KvClient::new(link.channel.clone()).txn(txn).await;
    let answer = answer.map_err(|status| servers.judge(&status))?.into_inner();
    for ((key, held), answer) in held.iter().zip(&answer.responses) {
        let Some(response_op::Response::ResponseRange(found)) = &answer.response else { continue };
        let stands = found.kvs.first().is_some_and(|it| fence_of(it.create_revision) == held.fence);
        // Let go of meanwhile is not taken away.
        if !stands && session.holds(key, held.fence) {
            held.loss.raise(Loss::Forced);
        }
    }
    Ok(answer.header.unwrap_or_default().raft_term)
}

impl Core {
    /// The moment from which a request counts.
    fn moment_of(&self, sent: BootTime) -> BootTime {
        if self.options.has(PlantedBug::DeadlineFromAnswer) { BootTime::now() } else { sent }
    }
}

/// The fence of whoever created its key in that revision.
pub fn fence_of(revision: i64) -> Fence {
    Fence(u64::try_from(revision).unwrap_or_default())
}

fn seconds_of(ttl: i64) -> Duration {
    Duration::from_secs(u64::try_from(ttl).unwrap_or_default())
}
