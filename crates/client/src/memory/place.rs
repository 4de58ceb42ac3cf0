//! One lock or election: its queue, and whose turn it is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use conclave_core::Fence;
use tokio::sync::Notify;

use crate::order::{Before, usage};
use crate::{
    Evicted, Holder, Kind, Loss, LossSignal, Mode, Owner, Resource, Status, Target, Usage, Value,
    Waiter,
};

/// The number of a request. It grows with every request, so it is also the order of arrival.
pub(super) type Ticket = u64;

/// What a request gets in the end.
#[derive(Clone)]
pub(super) struct Grant {
    pub(super) fence: Fence,
    pub(super) loss: LossSignal,
}

/// One who holds or waits.
pub(super) struct QueueEntry {
    pub(super) owner: Owner,
    pub(super) mode: Mode,
    /// What a leader publishes from its first moment on.
    pub(super) value: Vec<u8>,
    /// Without one it waits.
    pub(super) grant: Option<Grant>,
}

/// One lock or election. It stays when all have left: fences and versions go on.
#[derive(Default)]
pub(super) struct NameState {
    /// Holders and waiters alike, in the order in which they came.
    pub(super) queue: BTreeMap<Ticket, QueueEntry>,
    last_fence: u64,
    pub(super) value: Option<Value>,
    pub(super) resigned: Option<Fence>,
    pub(super) version: u64,
    pub(super) changed: Arc<Notify>,
}

impl NameState {
    pub(super) fn touch(&mut self) {
        self.version += 1;
        self.changed.notify_waiters();
    }

    /// How the name is in use, if anybody uses it.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.queue.values().next().map(|entry| usage(entry.mode))
    }

    pub(super) fn would_let_in(&self, mode: Mode) -> bool {
        let mut before = Before::default();
        for entry in self.queue.values() {
            before.add(entry.mode);
        }
        before.lets_in(mode)
    }

    /// Grants all whose turn it is. Whoever is granted late comes after whoever was granted early
    /// in the queue too, so that fences grow along the queue.
    pub(super) fn grant_next(&mut self, kind: Kind, now: SystemTime) -> Vec<(Ticket, Grant)> {
        let mut before = Before::default();
        let mut granted = Vec::new();
        for (ticket, entry) in &mut self.queue {
            if !before.lets_in(entry.mode) {
                break;
            }
            before.add(entry.mode);
            if entry.grant.is_some() {
                continue;
            }
            self.last_fence += 1;
            let grant = Grant { fence: Fence(self.last_fence), loss: LossSignal::default() };
            entry.grant = Some(grant.clone());
            entry.owner.since = now;
            if kind == Kind::Election {
                let bytes = std::mem::take(&mut entry.value);
                self.value = Some(Value { fence: grant.fence, bytes });
            }
            granted.push((*ticket, grant));
        }
        if !granted.is_empty() {
            self.touch();
        }
        granted
    }

    /// Takes it away from all who are meant. Tells whom, and with which tickets those waited who
    /// did.
    pub(super) fn evict(&mut self, target: &Target, loss: &Loss) -> (Evicted, Vec<Ticket>) {
        let (mut evicted, mut tickets) = (Evicted::default(), Vec::new());
        self.queue.retain(|ticket, entry| match &entry.grant {
            Some(grant) => {
                let holder = holder(entry, grant);
                if !target.is_holder(&holder) {
                    return true;
                }
                grant.loss.raise(loss.clone());
                evicted.holders.push(holder);
                false
            }
            None => {
                let waiter = waiter(entry);
                if !target.is_waiter(&waiter) {
                    return true;
                }
                tickets.push(*ticket);
                evicted.waiters.push(waiter);
                false
            }
        });
        if !evicted.is_empty() {
            self.touch();
        }
        (evicted, tickets)
    }

    pub(super) fn holders(&self) -> Vec<Holder> {
        let held = self.queue.values().filter_map(|it| Some((it, it.grant.as_ref()?)));
        held.map(|(entry, grant)| holder(entry, grant)).collect()
    }

    pub(super) fn status(&self, resource: &Resource) -> Status {
        let waiting = self.queue.values().filter(|entry| entry.grant.is_none());
        Status {
            holders: self.holders(),
            waiters: waiting.map(waiter).collect(),
            last_fence: Fence(self.last_fence),
            value: self.value.clone(),
            resigned: self.resigned,
            version: self.version,
            ..Status::new(resource.clone())
        }
    }
}

fn holder(entry: &QueueEntry, grant: &Grant) -> Holder {
    Holder {
        owner: entry.owner.clone(),
        mode: entry.mode,
        fence: grant.fence,
        revoked: false,
        processes: Vec::new(),
    }
}

fn waiter(entry: &QueueEntry) -> Waiter {
    Waiter { owner: entry.owner.clone(), mode: entry.mode, processes: Vec::new() }
}
