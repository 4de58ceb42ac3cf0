//! A mirror of one name's queue, fed by a watch.
//!
//! A watch that begins in the past is served by a loop of the server that runs ten times a second:
//! whoever opens one when it has to wait waits for that loop too. So a watch without a beginning is
//! opened once, stands, and is kept for a while after its last use. Those who wait send nothing:
//! when somebody leaves, each client hears of it once and sees for itself whose turn it is.
//!
//! Nothing is missed: the watch is opened first, then everything is read, linearizably, at revision
//! g; what the watch brings is applied if it is newer than g. A key whose creation is in the mirror
//! and whose end is not is there, as far as anybody can know; that its lease may be over is a
//! matter of the deadline (see `session`).

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use conclave_core::Fence;
use conclave_etcd_api::event::EventType;
use conclave_etcd_api::kv_client::KvClient;
use conclave_etcd_api::watch_client::WatchClient;
use conclave_etcd_api::{
    KeyValue, RangeRequest, WatchCreateRequest, WatchRequest, WatchResponse, watch_request,
};
use tokio::sync::{oneshot, watch};
use tokio_stream::StreamExt as _;
use tonic::Streaming;

use super::Core;
use super::queue::Queue;
use super::servers::Link;
use super::session::fence_of;
use crate::{BootTime, Kind, Loss, LossSignal, Name};

/// How long a mirror is kept after its last use.
const KEPT: Duration = Duration::from_secs(5);

/// What one who waits is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// It holds the lock.
    Granted,
    /// Its key is gone.
    Gone,
}

/// The queue of one name, as far as it is known here.
pub struct Mirror {
    name: Name,
    users: AtomicUsize,
    state: Mutex<State>,
    /// The last revision that changed the queue; negative while nothing is known.
    changes: watch::Sender<i64>,
}

#[derive(Default)]
struct State {
    queue: Queue,
    /// Everything up to here is in it; none while nothing is known.
    revision: Option<i64>,
    waiting: BTreeMap<Vec<u8>, Waiting>,
    held: BTreeMap<Vec<u8>, Watched>,
}

struct Waiting {
    kind: Kind,
    /// The revision that created its key.
    created: i64,
    tell: oneshot::Sender<Turn>,
}

struct Watched {
    /// The revision that created its key.
    created: i64,
    loss: LossSignal,
}

/// Keeps a mirror up to date as long as it lives, and for a while after.
pub struct InUse(Arc<Mirror>);

impl InUse {
    /// Of the mirror of `name`, which is made if there is none.
    pub fn of(core: &Arc<Core>, name: &Name) -> Self {
        let mut mirrors = core.mirrors.lock().unwrap_or_else(PoisonError::into_inner);
        let mirror = mirrors.entry(name.clone()).or_insert_with(|| {
            let mirror = Arc::new(Mirror {
                name: name.clone(),
                users: AtomicUsize::new(0),
                state: Mutex::default(),
                changes: watch::Sender::new(-1),
            });
            core.runtime.spawn(keep(Arc::downgrade(core), Arc::clone(&mirror)));
            mirror
        });
        mirror.users.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(mirror))
    }

    /// Tells when it is the turn of `key`, which was created in that revision.
    pub fn wait(&self, kind: Kind, key: &[u8], created: i64) -> oneshot::Receiver<Turn> {
        let (tell, turn) = oneshot::channel();
        let mut state = self.0.state();
        state.waiting.insert(key.to_vec(), Waiting { kind, created, tell });
        state.settle();
        turn
    }

    /// Raises `loss` when `key`, which was created in that revision, is gone.
    pub fn watch_over(&self, key: &[u8], created: i64, loss: &LossSignal) {
        let mut state = self.0.state();
        state.held.insert(key.to_vec(), Watched { created, loss: loss.clone() });
        state.notice_losses();
    }

    /// Nobody wants to hear of `key` any more.
    pub fn forget(&self, key: &[u8]) {
        let mut state = self.0.state();
        state.waiting.remove(key);
        state.held.remove(key);
    }

    /// The queue, once everything up to `revision` is in it.
    pub async fn queue(&self, revision: i64) -> Queue {
        let mut changes = self.0.changes.subscribe();
        loop {
            changes.mark_unchanged();
            {
                let state = self.0.state();
                if state.revision.is_some_and(|seen| seen >= revision) {
                    return state.queue.clone();
                }
            }
            // The sender lives as long as we do.
            let _ = changes.changed().await;
        }
    }

    /// What a recipe would do that waits for the one right in front and then looks no further:
    /// wrong as soon as that one gives up.
    pub async fn wait_for_neighbour(&self, queue: &Queue, kind: Kind, key: &[u8]) -> Turn {
        let before = queue.of(kind).take_while(|(_, entry)| entry.key != key);
        let Some(neighbour) = before.last().map(|(_, entry)| entry.key.clone()) else {
            return Turn::Granted;
        };
        let mut changes = self.0.changes.subscribe();
        while self.0.state().queue.contains(&neighbour) {
            let _ = changes.changed().await;
        }
        Turn::Granted
    }

    /// Returns when something was changed after `revision`.
    pub async fn changed(&self, revision: i64) {
        let mut changes = self.0.changes.subscribe();
        let _ = changes.wait_for(|last| *last > revision).await;
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Mirror {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything anew, as it was at `revision`.
    fn reset(&self, queue: Queue, revision: i64) {
        let mut state = self.state();
        state.queue = queue;
        state.revision = Some(revision);
        state.notice_losses();
        state.settle();
        drop(state);
        self.changes.send_replace(revision);
    }

    /// What the watch brings.
    fn apply(&self, core: &Core, answer: &WatchResponse) {
        let mut state = self.state();
        let Some(read_at) = state.revision else { return };
        let mut last = read_at;
        for event in &answer.events {
            let Some(it) = event.kv.as_ref().filter(|it| it.mod_revision > read_at) else {
                continue;
            };
            last = last.max(it.mod_revision);
            if event.r#type() == EventType::Delete {
                state.lose(&it.key, it.mod_revision);
            } else {
                state.queue.put(&core.keys, &self.name, it);
            }
        }
        state.revision = Some(last);
        state.settle();
        drop(state);
        if last > read_at {
            self.changes.send_replace(last);
        }
    }

    fn forget_all(&self) {
        self.state().revision = None;
    }
}

impl State {
    /// A key is gone since that revision. One of the same name that was created after is not.
    fn lose(&mut self, key: &[u8], since: i64) {
        self.queue.delete(key);
        if self.waiting.get(key).is_some_and(|it| it.created < since)
            && let Some(waiting) = self.waiting.remove(key)
        {
            let _ = waiting.tell.send(Turn::Gone);
        }
        if self.held.get(key).is_some_and(|it| it.created < since)
            && let Some(held) = self.held.remove(key)
        {
            held.loss.raise(Loss::Forced);
        }
    }

    /// What was created before the last revision that is known, and is not there, is gone.
    fn notice_losses(&mut self) {
        let Some(revision) = self.revision else { return };
        let is_gone =
            |(key, it): &(&Vec<u8>, &Watched)| it.created <= revision && !self.queue.contains(key);
        let gone: Vec<_> = self.held.iter().filter(is_gone).map(|(key, _)| key.clone()).collect();
        gone.iter().for_each(|key| self.lose(key, i64::MAX));
    }

    /// Tells those whose turn it is, and those who are not there any more.
    fn settle(&mut self) {
        let Some(revision) = self.revision.filter(|_| !self.waiting.is_empty()) else { return };
        for kind in [Kind::Lock, Kind::Election] {
            let granted = self.queue.granted(kind);
            let is_waiting = |fence: Fence, key: &Vec<u8>| {
                // A stranger's key is in both queues, but nobody waits here with that. And a key
                // that is used again may be known here by its past alone.
                let waiting = self.waiting.get(key).filter(|it| it.kind == kind);
                waiting.is_some_and(|it| fence_of(it.created) == fence)
            };
            let ours = granted.filter(|(fence, entry)| is_waiting(*fence, &entry.key));
            let ours: Vec<_> = ours.map(|(_, entry)| entry.key.clone()).collect();
            for key in ours {
                if let Some(waiting) = self.waiting.remove(&key) {
                    let _ = waiting.tell.send(Turn::Granted);
                }
            }
        }
        let is_gone =
            |(key, it): &(&Vec<u8>, &Waiting)| it.created <= revision && !self.queue.contains(key);
        let gone: Vec<_> =
            self.waiting.iter().filter(is_gone).map(|(key, _)| key.clone()).collect();
        gone.iter().for_each(|key| self.lose(key, i64::MAX));
    }
}

/// Keeps the mirror up to date until nobody uses it.
async fn keep(core: Weak<Core>, mirror: Arc<Mirror>) {
    let mut pause = Duration::ZERO;
    loop {
        tokio::time::sleep(pause).await;
        pause = (2 * pause).clamp(Duration::from_millis(20), Duration::from_secs(1));
        let Some(core) = core.upgrade() else { return };
        let limit = BootTime::now().plus(core.options.connect_timeout);
        if let Ok(link) = core.servers.link(limit).await {
            match follow(&core, &mirror, &link, &mut pause).await {
                Over::Unused => return,
                Over::Broken => core.servers.leave(link.number),
                Over::Left => pause = Duration::ZERO,
            }
        }
        mirror.forget_all();
        if retire(&core, &mirror) {
            return;
        }
    }
}

/// Why a watch came to its end.
enum Over {
    /// The server ended it, or did not answer.
    Broken,
    /// Another server is used now.
    Left,
    /// Nobody needs it.
    Unused,
}

async fn follow(core: &Arc<Core>, mirror: &Arc<Mirror>, link: &Link, pause: &mut Duration) -> Over {
    let patience = core.options.ttl / 6;
    let begun =
        tokio::time::timeout(patience.max(Duration::from_secs(1)), begin(core, mirror, link));
    let Ok(Some(mut answers)) = begun.await else { return Over::Broken };
    *pause = Duration::ZERO;
    let mut left = pin!(core.servers.left(link.number));
    let mut looks = tokio::time::interval(KEPT);
    let mut is_idle = false;
    loop {
        tokio::select! {
            answer = answers.message() => match answer {
                Ok(Some(answer)) if !answer.canceled => mirror.apply(core, &answer),
                _ => return Over::Broken,
            },
            () = &mut left => return Over::Left,
            _ = looks.tick() => {
                if is_idle && retire(core, mirror) {
                    return Over::Unused;
                }
                is_idle = mirror.users.load(Ordering::Relaxed) == 0;
            }
        }
    }
}

/// Opens the watch, then reads everything.
async fn begin(core: &Core, mirror: &Mirror, link: &Link) -> Option<Streaming<WatchResponse>> {
    let range = core.keys.queue(&mirror.name);
    let (key, range_end) = (range.start, range.end);
    let create = WatchCreateRequest {
        key: key.clone(),
        range_end: range_end.clone(),
        ..WatchCreateRequest::default()
    };
    let create = watch_request::RequestUnion::CreateRequest(create);
    let create = WatchRequest { request_union: Some(create) };
    // The end of our requests would be the end of the watch.
    let requests = tokio_stream::once(create).chain(tokio_stream::pending());
    let mut client = WatchClient::new(link.channel.clone());
    client = client.max_decoding_message_size(usize::MAX);
    let mut answers = client.watch(link.request(requests)).await.ok()?.into_inner();
    let first = answers.message().await.ok()??;
    if !first.created || first.canceled {
        return None;
    }
    let read = RangeRequest { key, range_end, ..RangeRequest::default() };
    let mut client = KvClient::new(link.channel.clone());
    client = client.max_decoding_message_size(usize::MAX);
    let found = client.range(link.request(read)).await.ok()?.into_inner();
    let revision = found.header.map_or(0, |header| header.revision);
    let found: &[KeyValue] = &found.kvs;
    mirror.reset(Queue::read(&core.keys, &mirror.name, found), revision);
    Some(answers)
}

/// Gives the mirror up if nobody uses it.
fn retire(core: &Core, mirror: &Mirror) -> bool {
    let mut mirrors = core.mirrors.lock().unwrap_or_else(PoisonError::into_inner);
    // Looked at under the lock under which users are added.
    let is_unused = mirror.users.load(Ordering::Relaxed) == 0;
    if is_unused {
        mirrors.remove(&mirror.name);
    }
    is_unused
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::keys::Keys;

    /// What is known of lock `x`: one key, created in that revision, and all up to another.
    fn state(created: i64, revision: i64) -> State {
        let mut state = State { revision: Some(revision), ..State::default() };
        let it = KeyValue { key: KEY.to_vec(), create_revision: created, ..KeyValue::default() };
        state.queue.put(&Keys::new(""), &Name::new("x").unwrap(), &it);
        state
    }

    fn wait(state: &mut State, created: i64) -> oneshot::Receiver<Turn> {
        let (tell, turn) = oneshot::channel();
        state.waiting.insert(KEY.to_vec(), Waiting { kind: Kind::Lock, created, tell });
        state.settle();
        turn
    }

    const KEY: &[u8] = b"x/1-1";

    #[test]
    fn a_key_that_is_used_again_is_not_taken_for_what_it_was() {
        // Created in 5, deleted in 7 and created again in 8; what is known ends before that.
        let mut state = state(5, 6);
        let mut turn = wait(&mut state, 8);
        assert!(turn.try_recv().is_err(), "the first of the queue is another");
        state.lose(KEY, 7);
        assert!(turn.try_recv().is_err(), "it was another that is gone");
        state.lose(KEY, 9);
        assert_eq!(turn.try_recv(), Ok(Turn::Gone));
    }

    #[test]
    fn the_end_of_what_was_held_before_is_no_loss() {
        let mut state = state(5, 6);
        let loss = LossSignal::default();
        state.held.insert(KEY.to_vec(), Watched { created: 8, loss: loss.clone() });
        state.lose(KEY, 7);
        assert!(loss.get().is_none());
        state.lose(KEY, 9);
        assert!(loss.get().is_some());
    }

    #[test]
    fn whose_turn_it_is_hears_it() {
        assert_eq!(wait(&mut state(5, 6), 5).try_recv(), Ok(Turn::Granted));
    }
}
