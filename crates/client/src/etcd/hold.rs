//! Something held.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use conclave_core::Fence;
use conclave_etcd_api::{PutRequest, RequestOp, TxnRequest, request_op};
use tokio::sync::oneshot;

use super::Core;
use super::acquire::{created_in, delete, operation, put, remove, remove_later};
use super::keys::encode_value;
use super::mirror::InUse;
use super::session::Session;
use crate::{Answer, BootTime, Error, Hold, Kind, Loss, LossSignal, Resource};

/// Who holds something for longer than this is told at once when it is taken away; before, at the
/// next renewal. A watch for each of a thousand short holds would cost more than it brings.
const SHORT: Duration = Duration::from_millis(50);

/// A lock that is held: its key is the first of the queue, or goes together with those before it.
pub struct Grip {
    core: Arc<Core>,
    session: Arc<Session>,
    resource: Resource,
    key: Vec<u8>,
    fence: Fence,
    loss: LossSignal,
    /// Whether the key is ours to remove.
    is_held: bool,
    mirror: Arc<Mutex<Watching>>,
    _business: Arc<()>,
}

/// Whether a mirror watches over the key.
enum Watching {
    NotYet,
    Now(InUse),
    Over,
}

impl Grip {
    pub fn new(
        core: Arc<Core>,
        session: Arc<Session>,
        resource: Resource,
        key: Vec<u8>,
        fence: Fence,
    ) -> Self {
        let loss = LossSignal::default();
        session.watch_over(&key, fence, &loss);
        let mirror = Arc::new(Mutex::new(Watching::NotYet));
        watch_soon(&core, &resource, &key, &loss, &mirror);
        let _business = Arc::clone(&core.business);
        Self { core, session, resource, key, fence, loss, is_held: true, mirror, _business }
    }

    fn check(&self) -> Result<(), Error> {
        let told = self.loss.get().cloned();
        let expired = || self.session.tenure.deadline().is_past().then_some(Loss::Expired);
        match told.or_else(expired) {
            None => Ok(()),
            Some(loss) => Err(self.lost(loss)),
        }
    }

    fn lost(&self, loss: Loss) -> Error {
        Error::Lost { resource: self.resource.clone(), loss }
    }

    /// Done only if the key is still ours.
    fn guarded(&self, success: Vec<RequestOp>) -> TxnRequest {
        let revision = i64::try_from(self.fence.0).unwrap_or(i64::MAX);
        let compare = vec![created_in(&self.key, revision)];
        TxnRequest { compare, success, failure: Vec::new() }
    }

    /// What is to be written when that becomes the value.
    fn writes(&self, value: &[u8]) -> Vec<RequestOp> {
        let name = &self.resource.name;
        // Without a word about the lease, writing the key would part it from its lease for good.
        let rewrite = |value: Option<&[u8]>| {
            operation(request_op::Request::RequestPut(PutRequest {
                key: self.key.clone(),
                value: value.unwrap_or_default().to_vec(),
                ignore_value: value.is_none(),
                ignore_lease: true,
                ..PutRequest::default()
            }))
        };
        match self.resource.kind {
            Kind::Election => vec![rewrite(Some(value))],
            // The key is touched as well, so that whoever watches the queue hears of it.
            Kind::Lock => vec![
                put(&self.core.keys.value(name), encode_value(self.fence, value), 0),
                rewrite(None),
            ],
        }
    }

    /// Nobody shall take its end for a loss.
    fn stop_watching(&self) {
        self.session.forget(&self.key);
        let mut mirror = self.mirror.lock().unwrap_or_else(PoisonError::into_inner);
        if let Watching::Now(mirror) = std::mem::replace(&mut *mirror, Watching::Over) {
            mirror.forget(&self.key);
        }
    }

    async fn publish(self: &Arc<Self>, value: &[u8]) -> Result<(), Error> {
        self.check()?;
        let txn = self.guarded(self.writes(value));
        let answer = self.core.txn(Some(self.session.tenure.deadline()), txn).await;
        match answer {
            Ok(answer) if answer.succeeded => Ok(()),
            Ok(_) => {
                self.loss.raise(Loss::Forced);
                self.check()
            }
            // It may have been written, and may yet be.
            Err(_) => Err(Error::Unknown { resource: self.resource.clone() }),
        }
    }

    async fn release(&mut self) -> Result<(), Error> {
        self.check()?;
        self.stop_watching();
        self.is_held = false;
        let was_there = match self.resource.kind {
            Kind::Lock => {
                let removed = remove(&self.core, &self.session, std::slice::from_ref(&self.key));
                removed.await.map(|count| count > 0)
            }
            Kind::Election => self.resign().await,
        };
        match was_there {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.lost(Loss::Forced)),
            Err(_) => Err(Error::Unknown { resource: self.resource.clone() }),
        }
    }

    /// Whether it was still in office.
    async fn resign(&self) -> Result<bool, Error> {
        let (keys, name) = (&self.core.keys, &self.resource.name);
        let txn = self.guarded(vec![
            put(&keys.resigned(name), self.fence.to_string().into_bytes(), 0),
            delete(&self.key),
            delete(&keys.owner(name, &self.key)),
        ]);
        let limit = Some(self.session.tenure.deadline());
        Ok(self.core.txn(limit, txn).await?.succeeded)
    }
}

impl Drop for Grip {
    fn drop(&mut self) {
        if !self.is_held {
            return;
        }
        self.stop_watching();
        let mut keys = vec![std::mem::take(&mut self.key)];
        if self.resource.kind == Kind::Election {
            keys.push(self.core.keys.owner(&self.resource.name, &keys[0]));
        }
        remove_later(&self.core, &self.session, keys);
    }
}

/// Watches over the key if it is still held after a while.
fn watch_soon(
    core: &Arc<Core>,
    resource: &Resource,
    key: &[u8],
    loss: &LossSignal,
    watching: &Arc<Mutex<Watching>>,
) {
    let (owned, name) = (Arc::clone(core), resource.name.clone());
    let (key, loss) = (key.to_vec(), loss.clone());
    let watching = Arc::downgrade(watching);
    core.runtime.spawn(async move {
        tokio::time::sleep(SHORT).await;
        let Some(watching) = watching.upgrade() else { return };
        let mut watching = watching.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*watching, Watching::NotYet) {
            let mirror = InUse::of(&owned, &name);
            mirror.watch_over(&key, &loss);
            *watching = Watching::Now(mirror);
        }
    });
}

/// What the caller has.
pub struct Held(Option<Arc<Grip>>);

impl Held {
    pub fn new(grip: Grip) -> Self {
        Self(Some(Arc::new(grip)))
    }

    fn grip(&self) -> &Arc<Grip> {
        self.0.as_ref().expect("a hold has its grip until it is released")
    }
}

impl Hold for Held {
    fn fence(&self) -> Fence {
        self.grip().fence
    }

    fn loss(&self) -> &LossSignal {
        &self.grip().loss
    }

    fn publish<'a>(&'a self, value: &'a [u8]) -> Answer<'a, ()> {
        let (grip, value) = (Arc::clone(self.grip()), value.to_vec());
        let core = Arc::clone(&grip.core);
        let unknown = Error::Unknown { resource: grip.resource.clone() };
        Box::pin(async move {
            let (tell, told) = oneshot::channel();
            core.runtime.spawn(async move {
                let _ = tell.send(grip.publish(&value).await);
            });
            told.await.unwrap_or(Err(unknown))
        })
    }

    fn release(mut self: Box<Self>) -> Answer<'static, ()> {
        let grip = self.0.take().expect("a hold has its grip until it is released");
        let core = Arc::clone(&grip.core);
        let unknown = || Error::Unknown { resource: grip.resource.clone() };
        let unknown = unknown();
        Box::pin(async move {
            let (tell, told) = oneshot::channel();
            core.runtime.spawn(async move {
                // A value that is just being written has a share in it; the last one lets go.
                let released = match Arc::try_unwrap(grip) {
                    Ok(mut grip) => grip.release().await,
                    Err(shared) => Err(Error::Unknown { resource: shared.resource.clone() }),
                };
                let _ = tell.send(released);
            });
            told.await.unwrap_or(Err(unknown))
        })
    }

    fn deadline(&self) -> Option<BootTime> {
        Some(self.grip().session.tenure.deadline())
    }

    fn is_in_jeopardy(&self) -> bool {
        self.grip().session.tenure.is_in_jeopardy()
    }
}
