//! Something held.

use std::sync::{Arc, Mutex, PoisonError};

use conclave_core::Fence;
use conclave_etcd_api::{Compare, PutRequest, RequestOp, TxnRequest, request_op};

use super::keys::encode_value;
use super::mirror::InUse;
use super::place::Place;
use super::requests::{created_in, found, operation, put, range_of_key, written_in};
use super::session::fence_of;
use super::young::Young;
use crate::{Answer, BootTime, Error, Hold, Kind, Loss, LossSignal, Resource};

/// A lock that is held: its key is the first of the queue, or goes together with those before it.
/// Dropping it removes the key.
pub struct Grip {
    place: Place,
    fence: Fence,
    loss: LossSignal,
    mirror: Arc<Mutex<Watching>>,
    /// The revision that last wrote the key. One writes at a time.
    written: tokio::sync::Mutex<i64>,
}

/// Whether a mirror watches over the key.
pub enum Watching {
    NotYet,
    Now(InUse),
    Over,
}

impl Grip {
    pub fn new(place: Place, fence: Fence) -> Self {
        let loss = LossSignal::default();
        place.session.watch_over(&place.key, fence, &loss);
        let mirror = Arc::new(Mutex::new(Watching::NotYet));
        Young::add(&place, fence, &loss, &mirror);
        Self { place, fence, loss, mirror, written: tokio::sync::Mutex::new(revision_of(fence)) }
    }

    fn resource(&self) -> &Resource {
        &self.place.resource
    }

    fn check(&self) -> Result<(), Error> {
        let told = self.loss.get().cloned();
        let expired = || self.place.session.tenure.deadline().is_past().then_some(Loss::Expired);
        match told.or_else(expired) {
            None => Ok(()),
            Some(loss) => Err(self.lost(loss)),
        }
    }

    fn lost(&self, loss: Loss) -> Error {
        Error::Lost { resource: self.resource().clone(), loss }
    }

    fn unknown(&self) -> Error {
        Error::Unknown { resource: self.resource().clone() }
    }

    /// Holds if the key is still ours.
    fn is_ours(&self) -> Compare {
        created_in(&self.place.key, revision_of(self.fence))
    }

    /// Where the value lies, and what is to be written when `value` becomes it.
    fn writes(&self, value: &[u8]) -> (Vec<u8>, Vec<u8>, Vec<RequestOp>) {
        let (core, key) = (&self.place.core, &self.place.key);
        // Without a word about the lease, writing the key would part it from its lease for good.
        let rewrite = |value: Option<&[u8]>| {
            operation(request_op::Request::RequestPut(PutRequest {
                key: key.clone(),
                value: value.unwrap_or_default().to_vec(),
                ignore_value: value.is_none(),
                ignore_lease: true,
                ..PutRequest::default()
            }))
        };
        match self.resource().kind {
            Kind::Election => (key.clone(), value.to_vec(), vec![rewrite(Some(value))]),
            // The key is touched as well, so that whoever watches the queue hears of it.
            Kind::Lock => {
                let (place, stored) =
                    (core.keys.value(&self.resource().name), encode_value(self.fence, value));
                let writes = vec![put(&place, stored.clone(), 0), rewrite(None)];
                (place, stored, writes)
            }
        }
    }

    /// Nobody shall take its end for a loss. Done once only: the key may soon be that of another
    /// request.
    fn stop_watching(&self) {
        let mut mirror = self.mirror.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *mirror, Watching::Over) {
            Watching::Over => return,
            Watching::NotYet => {}
            Watching::Now(mirror) => mirror.forget(&self.place.key),
        }
        self.place.session.forget(&self.place.key);
    }

    /// Writes only over what it knows to be there: else one that was sent twice and comes late
    /// would take a newer value back.
    async fn publish(&self, value: &[u8]) -> Result<(), Error> {
        let mut written = self.written.lock().await;
        let (place, stored, success) = self.writes(value);
        loop {
            self.check()?;
            let txn = TxnRequest {
                compare: vec![self.is_ours(), written_in(&self.place.key, *written)],
                success: success.clone(),
                failure: vec![range_of_key(&self.place.key), range_of_key(&place)],
            };
            let limit = Some(self.place.session.tenure.deadline());
            let Ok(answer) = self.place.core.txn(limit, txn).await else {
                // It may have been written, and may yet be.
                return Err(self.unknown());
            };
            if answer.value.succeeded {
                *written = answer.value.header.unwrap_or_default().revision;
                return Ok(());
            }
            let key = found(&answer.value, 0).first();
            let Some(key) = key.filter(|it| fence_of(it.create_revision) == self.fence) else {
                self.loss.raise(Loss::Forced);
                return self.check();
            };
            *written = key.mod_revision;
            if answer.is_repeated
                && found(&answer.value, 1).first().is_some_and(|it| it.value == stored)
            {
                return Ok(());
            }
        }
    }

    async fn release(&self) -> Result<(), Error> {
        self.check()?;
        self.stop_watching();
        // What is on its way must not be written after this.
        let _written = self.written.lock().await;
        let removed = match self.resource().kind {
            Kind::Lock => self.place.remove().await.map(|it| (it.was_there(), it.is_repeated)),
            Kind::Election => self.resign().await,
        };
        match removed {
            Some((true, _)) => Ok(()),
            Some((false, false)) => Err(self.lost(Loss::Forced)),
            // Perhaps it was there the first time.
            Some((false, true)) | None => Err(self.unknown()),
        }
    }

    /// Whether it was still in office, and whether that was asked more than once.
    async fn resign(&self) -> Option<(bool, bool)> {
        let resigned = self.place.core.keys.resigned(&self.resource().name);
        let word = self.fence.to_string().into_bytes();
        let mut success = vec![put(&resigned, word.clone(), 0)];
        success.extend(self.place.removal());
        let failure = vec![range_of_key(&resigned)];
        let txn = TxnRequest { compare: vec![self.is_ours()], success, failure };
        let done = self.place.until_over(txn).await?;
        let said = || found(&done.answer, 0).first().is_some_and(|it| it.value == word);
        Some((done.answer.succeeded || said(), done.is_repeated))
    }
}

impl Drop for Grip {
    fn drop(&mut self) {
        self.stop_watching();
    }
}

/// The revision that created the key of whoever has that fence.
pub fn revision_of(fence: Fence) -> i64 {
    i64::try_from(fence.0).unwrap_or(i64::MAX)
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
        let (core, unknown) = (Arc::clone(&grip.place.core), grip.unknown());
        Box::pin(async move {
            let published = core.begin(async move { grip.publish(&value).await });
            published.await.unwrap_or(Err(unknown))
        })
    }

    fn release(mut self: Box<Self>) -> Answer<'static, ()> {
        let grip = self.0.take().expect("a hold has its grip until it is released");
        let (core, unknown) = (Arc::clone(&grip.place.core), grip.unknown());
        Box::pin(async move {
            let released = core.begin(async move { grip.release().await });
            released.await.unwrap_or(Err(unknown))
        })
    }

    fn deadline(&self) -> Option<BootTime> {
        Some(self.grip().place.session.tenure.deadline())
    }

    fn is_in_jeopardy(&self) -> bool {
        self.grip().place.session.tenure.is_in_jeopardy()
    }
}
