//! A key in the queue, from the request that puts it there to its removal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use conclave_etcd_api::{RequestOp, TxnRequest, TxnResponse, response_op};

use super::Core;
use super::hold::Grip;
use super::options::PlantedBug;
use super::requests::{delete, put};
use super::session::{Session, fence_of};
use crate::{BootTime, Error, Kind, Loss, Resource};

/// A removal that is refused so often will be refused for ever.
const REFUSALS_MAX: u32 = 10;

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
    pub fn new(
        core: &Arc<Core>,
        session: &Arc<Session>,
        resource: &Resource,
        key: Vec<u8>,
        number: u64,
    ) -> Self {
        let (core, session) = (Arc::clone(core), Arc::clone(session));
        let _business = Arc::clone(&core.business);
        let resource = resource.clone();
        let is_there = AtomicBool::new(true);
        Self { core, session, resource, key, number, is_doubtful: false, is_there, _business }
    }

    /// Sends what puts the key there.
    pub async fn send(&mut self, limit: BootTime, txn: TxnRequest) -> Result<TxnResponse, Error> {
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

    pub fn grip(self, revision: i64) -> Grip {
        let fence = match self.core.options.has(PlantedBug::FenceOfLease) {
            true => fence_of(self.session.lease),
            false => fence_of(revision),
        };
        Grip::new(self, fence)
    }

    /// The key is not there.
    pub fn discard(self) {
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
    pub async fn leave(self) -> bool {
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
