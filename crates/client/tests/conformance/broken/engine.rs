//! A small engine that keeps every promise, but for the one that it is told to break.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use conclave_client::{
    Answer, BootTime, Engine, Error, Evicted, Fence, Hold, Holder, Kind, Loss, LossSignal, Mode,
    Name, Owner, Patience, Request, Resource, Status, Target, Usage, Value, Waiter,
};
use tokio::sync::Notify;

use super::Fault;

/// How long a session lasts from any moment at which one looks.
const TTL: Duration = Duration::from_millis(300);

/// One client's engine: a session with the store.
pub struct Breakable {
    store: Arc<Store>,
    session: u64,
    /// What elections looked like before their leader changed, for one that looks into the past.
    past: Mutex<BTreeMap<Resource, (Status, Status)>>,
    looks: AtomicU64,
}

/// What all clients share.
pub struct Store {
    fault: Option<Fault>,
    has_deadlines: bool,
    state: Mutex<State>,
    bell: Notify,
}

#[derive(Default)]
struct State {
    now: Duration,
    last_session: u64,
    last_id: u64,
    places: BTreeMap<Resource, Place>,
    /// What those get who asked, until they hear of it.
    answers: BTreeMap<u64, Result<Entry, Error>>,
    audit: Vec<String>,
    /// Let go of, but not gone yet.
    lingering: Vec<(Resource, u64)>,
}

#[derive(Default)]
struct Place {
    /// Holders and waiters, in the order in which they came.
    queue: Vec<Entry>,
    last_fence: u64,
    fences_of_sessions: BTreeMap<u64, u64>,
    value: Option<Value>,
    resigned: Option<Fence>,
    version: u64,
}

#[derive(Clone)]
struct Entry {
    id: u64,
    session: u64,
    request: Request,
    owner: Owner,
    patience: Duration,
    deadline: Option<Duration>,
    /// Without one it waits.
    fence: Option<Fence>,
    loss: LossSignal,
}

impl Store {
    pub fn new(fault: Option<Fault>, has_deadlines: bool) -> Arc<Self> {
        let (state, bell) = (Mutex::default(), Notify::new());
        Arc::new(Self { fault, has_deadlines, state, bell })
    }

    pub fn engine(self: &Arc<Self>) -> Breakable {
        let mut state = self.state();
        state.last_session += 1;
        let session = state.last_session;
        drop(state);
        let (past, looks) = (Mutex::default(), AtomicU64::new(0));
        Breakable { store: Arc::clone(self), session, past, looks }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the store keeps what is known by that name.
    fn place_of(&self, resource: &Resource) -> Resource {
        let mut place = resource.clone();
        if self.has(Fault::TakesElectionsForLocks) {
            place.kind = Kind::Lock;
        }
        if self.has(Fault::CutsNamesAtSlashes)
            && let Some((start, _)) = resource.name.as_str().split_once('/')
            && let Ok(name) = Name::new(start)
        {
            place.name = name;
        }
        place
    }

    /// Lets time pass: those go whose patience is at an end.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state();
        state.now += by;
        for (resource, id) in std::mem::take(&mut state.lingering) {
            self.leave(&mut state, &resource, id);
        }
        let now = state.now;
        let State { places, answers, .. } = &mut *state;
        let mut touched = Vec::new();
        for (resource, place) in places {
            let before = place.queue.len();
            place.queue.retain_mut(|entry| {
                let is_over = entry.deadline.is_some_and(|it| it <= now) && entry.fence.is_none();
                if !is_over {
                    return true;
                }

                let resource = entry.request.resource().clone();
                let waited = entry.patience;
                answers.insert(entry.id, Err(Error::TimedOut { resource, waited }));
                if self.has(Fault::GrantsToThoseWhoGaveUp) {
                    (entry.deadline, entry.id) = (None, 0);
                    return true;
                }
                false
            });
            if place.queue.len() < before {
                touched.push(resource.clone());
            }
        }
        for resource in touched {
            self.move_up(&mut state, &resource);
        }
        self.bell.notify_waiters();
    }

    /// Takes it away from those whose sessions are over.
    pub fn expire(&self, resource: &Resource) {
        self.evict(&mut self.state(), resource, &Target::Holders, &Loss::Expired);
    }

    pub fn restart(&self) {
        for place in self.state().places.values_mut() {
            if self.has(Fault::ForgetsFencesAtARestart) {
                place.last_fence = 0;
            }
            if self.has(Fault::ForgetsValuesAtARestart) {
                place.value = None;
            }
        }
    }

    pub fn audit(&self) -> Vec<String> {
        self.state().audit.clone()
    }

    fn lets_in(&self, before: &[Entry], entry: &Entry) -> bool {
        let counts = |it: &&Entry| {
            let is_same = self.has(Fault::TakesTwoTasksForOne) && it.session == entry.session;
            let is_passed = self.has(Fault::LetsReadersPass)
                && entry.request.mode() == Mode::Shared
                && it.fence.is_none();
            !is_same && !is_passed
        };
        let before: Vec<&Entry> = before.iter().filter(counts).collect();
        let one_more = u32::from(self.has(Fault::HasOneSlotTooMany));
        match entry.request.mode() {
            Mode::Exclusive if self.has(Fault::LetsTwoIn) => before.len() < 2,
            Mode::Exclusive if self.has(Fault::ElectsEverybody) => {
                before.is_empty() || entry.request.kind() == Kind::Election
            }
            Mode::Shared if !self.has(Fault::LetsReadersInOneByOne) => {
                before.iter().all(|it| it.request.mode() == Mode::Shared)
            }
            Mode::Slot { of } => before.len() < (of.get() + one_more) as usize,
            _ => before.is_empty(),
        }
    }

    /// Grants all whose turn it is.
    fn move_up(&self, state: &mut State, resource: &Resource) {
        let Some(place) = state.places.get_mut(resource) else { return };
        for index in 0..place.queue.len() {
            let (before, rest) = place.queue.split_at_mut(index);
            let entry = &mut rest[0];
            if entry.fence.is_some() || !self.lets_in(before, entry) {
                continue;
            }
            let is_writer = entry.request.mode() == Mode::Exclusive;
            let fence = if self.has(Fault::CountsFencesByClient) {
                let last = place.fences_of_sessions.entry(entry.session).or_default();
                *last += 1;
                *last
            } else if self.has(Fault::GivesReadersOneFence) && !is_writer && place.last_fence > 0 {
                place.last_fence
            } else {
                place.last_fence + 1
            };
            place.last_fence = fence;
            entry.fence = Some(Fence(fence));
            if entry.request.kind() == Kind::Election && !self.has(Fault::ElectsWithoutAValue) {
                let bytes = entry.request.value().to_vec();
                place.value = Some(Value { fence: Fence(fence), bytes });
            }
            place.version += 1;
            state.answers.insert(entry.id, Ok(entry.clone()));
        }
        self.bell.notify_waiters();
    }

    /// Enters the queue, or is refused.
    fn arrive(&self, session: u64, request: &Request, patience: Patience) -> Result<u64, Error> {
        let mut state = self.state();
        let resource = self.place_of(request.resource());
        state.last_id += 1;
        let (id, now) = (state.last_id, state.now);
        let (patience, deadline) = match patience {
            Patience::Forever => (Duration::MAX, None),
            Patience::AtMost(limit) => (limit, Some(now.saturating_add(limit))),
        };
        let owner = Owner {
            label: request.label().to_owned(),
            host: "breakable".to_owned(),
            pid: std::process::id(),
            since: SystemTime::UNIX_EPOCH + now,
        };
        let (request, loss) = (request.clone(), LossSignal::default());
        let entry = Entry { id, session, request, owner, patience, deadline, fence: None, loss };
        let place = state.places.entry(resource.clone()).or_default();
        let (ours, theirs) = (
            self.usage(entry.request.mode()),
            place.queue.first().map(|it| self.usage(it.request.mode())),
        );
        if let Some(theirs) = theirs.filter(|it| *it != ours) {
            let resource = entry.request.resource().clone();
            return Err(Error::Mismatch { resource, ours, theirs });
        }
        let is_free = self.lets_in(&place.queue, &entry) && !self.has(Fault::RefusesEveryTry);
        if deadline == Some(now) && !is_free {
            let holders = place.queue.iter().filter(|it| it.fence.is_some());
            let mut holders: Vec<Owner> = holders.map(|it| it.owner.clone()).collect();
            if self.has(Fault::NamesNoHolder) {
                holders.clear();
            }
            let resource = entry.request.resource().clone();
            return Err(Error::Busy { resource, holders });
        }
        let end = place.queue.len();
        let first_waiter = place.queue.iter().position(|it| it.fence.is_none()).unwrap_or(end);
        let index = if self.has(Fault::ServesTheNewestFirst) { first_waiter } else { end };
        place.queue.insert(index, entry);
        place.version += 1;
        self.move_up(&mut state, &resource);
        Ok(id)
    }

    /// How a mode uses its name, as far as this engine minds.
    fn usage(&self, mode: Mode) -> Usage {
        match mode {
            Mode::Slot { .. } if self.has(Fault::MixesLocksAndSemaphores) => Usage::Lock,
            Mode::Slot { .. } if self.has(Fault::MindsNoNumberOfSlots) => {
                Usage::Semaphore(2.try_into().expect("it is not zero"))
            }
            Mode::Slot { of } => Usage::Semaphore(of),
            _ => Usage::Lock,
        }
    }

    fn leave(&self, state: &mut State, resource: &Resource, id: u64) {
        state.answers.remove(&id);
        let Some(place) = state.places.get_mut(resource) else { return };
        let Some(index) = place.queue.iter().position(|it| it.id == id) else { return };
        place.queue.remove(index);
        place.version += 1;
        if !self.has(Fault::WakesNobody) {
            self.move_up(state, resource);
        }
    }

    fn evict(
        &self,
        state: &mut State,
        resource: &Resource,
        target: &Target,
        loss: &Loss,
    ) -> Evicted {
        let mut evicted = Evicted::default();
        let by_fence = matches!(target, Target::Fence(_));
        let target =
            if by_fence && self.has(Fault::ForcesEverybody) { &Target::Holders } else { target };
        let resource = self.place_of(resource);
        let State { places, answers, .. } = state;
        let Some(place) = places.get_mut(&resource) else { return evicted };
        place.queue.retain(|entry| match entry.fence {
            Some(fence) => {
                let holder = entry.holder(fence);
                let is_enough = self.has(Fault::ForcesOneOfSeveral) && !evicted.holders.is_empty();
                if is_enough || !target.is_holder(&holder) {
                    return true;
                }
                if !self.has(Fault::TellsNobodyOfALoss) {
                    entry.loss.raise(loss.clone());
                }
                evicted.holders.push(holder);
                false
            }
            None => {
                let waiter = entry.waiter();
                if self.has(Fault::LeavesWaitersAlone) || !target.is_waiter(&waiter) {
                    return true;
                }
                let resource = entry.request.resource().clone();
                answers.insert(entry.id, Err(Error::Evicted { resource }));
                evicted.waiters.push(waiter);
                false
            }
        });
        place.version += 1;
        self.move_up(state, &resource);
        evicted
    }

    fn status(&self, state: &State, resource: &Resource) -> Status {
        let mut status = Status::new(resource.clone());
        let Some(place) = state.places.get(&self.place_of(resource)) else { return status };
        let held = place.queue.iter().filter_map(|it| Some(it.holder(it.fence?)));
        status.holders = held.collect();
        let waiting = place.queue.iter().filter(|it| it.fence.is_none());
        status.waiters = waiting.map(Entry::waiter).collect();
        status.last_fence = Fence(place.last_fence);
        status.value = place.value.clone();
        status.resigned = place.resigned;
        status.version = place.version;
        if self.has(Fault::ForgetsLabels) {
            status.holders.iter_mut().for_each(|it| it.owner.label.clear());
        }
        if self.has(Fault::TellsWaitersBackwards) {
            status.waiters.reverse();
        }
        if self.has(Fault::ForgetsTheLastFence) {
            status.last_fence = status.holders.last().map_or(Fence(0), |it| it.fence);
        }
        if self.has(Fault::GivesValuesToTheHolder)
            && let (Some(value), Some(holder)) = (&mut status.value, status.holders.last())
        {
            value.fence = holder.fence;
        }
        status
    }
}

impl Entry {
    fn holder(&self, fence: Fence) -> Holder {
        let (owner, mode) = (self.owner.clone(), self.request.mode());
        Holder { owner, mode, fence, revoked: false, processes: Vec::new() }
    }

    fn waiter(&self) -> Waiter {
        let (owner, mode) = (self.owner.clone(), self.request.mode());
        Waiter { owner, mode, processes: Vec::new() }
    }
}

impl Breakable {
    /// Now and then, what an election looked like under the leader before.
    fn look_into_the_past(&self, now: Status) -> Status {
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        let first = || (now.clone(), now.clone());
        let (before, last) = past.entry(now.resource.clone()).or_insert_with(first);
        let leader = |status: &Status| status.holder().map(|it| it.fence);
        if leader(last) != leader(&now) {
            before.clone_from(last);
        }
        last.clone_from(&now);
        if self.looks.fetch_add(1, Ordering::Relaxed) % 3 == 2 { before.clone() } else { now }
    }
}

impl Engine for Breakable {
    fn name(&self) -> &'static str {
        "breakable"
    }

    fn at(&self) -> String {
        "breakable:".to_owned()
    }

    fn acquire<'a>(
        &'a self,
        request: &'a Request,
        patience: Patience,
    ) -> Answer<'a, Box<dyn Hold>> {
        Box::pin(async move {
            let id = self.store.arrive(self.session, request, patience)?;
            let resource = self.store.place_of(request.resource());
            let seat = Seat { store: Arc::clone(&self.store), session: self.session, resource, id };
            loop {
                let mut rung = pin!(self.store.bell.notified());
                rung.as_mut().enable();
                let answer = self.store.state().answers.remove(&id);
                if let Some(answer) = answer {
                    let began = BootTime::now();
                    let hold: Box<dyn Hold> = Box::new(Held { entry: answer?, seat, began });
                    return Ok(hold);
                }
                rung.await;
            }
        })
    }

    fn inspect<'a>(&'a self, resource: &'a Resource) -> Answer<'a, Status> {
        Box::pin(async move {
            let mut state = self.store.state();
            if self.store.has(Fault::LeavesATraceOfALook) {
                state.places.entry(resource.clone()).or_default();
            }
            let status = self.store.status(&state, resource);
            let looks_back =
                self.store.has(Fault::LooksIntoThePast) && resource.kind == Kind::Election;
            Ok(if looks_back { self.look_into_the_past(status) } else { status })
        })
    }

    fn list(&self) -> Answer<'_, Vec<Result<Status, Error>>> {
        Box::pin(async move {
            let state = self.store.state();
            let mut all: Vec<Status> =
                state.places.keys().map(|it| self.store.status(&state, it)).collect();
            if self.store.has(Fault::ListsNoWaiters) {
                all.iter_mut().for_each(|it| it.waiters.clear());
            }
            Ok(all.into_iter().map(Ok).collect())
        })
    }

    fn changed<'a>(&'a self, resource: &'a Resource, version: u64) -> Answer<'a, ()> {
        Box::pin(async move {
            if self.store.has(Fault::NoticesWhatDidNotHappen) {
                tokio::task::yield_now().await;
                return Ok(());
            }
            if self.store.has(Fault::NoticesNothing) {
                std::future::pending::<()>().await;
            }
            let now = || self.store.status(&self.store.state(), resource).version;
            let misses = self.store.has(Fault::MissesWhatCameBefore);
            let version = if misses { now() } else { version };
            loop {
                let mut rung = pin!(self.store.bell.notified());
                rung.as_mut().enable();
                if now() != version {
                    return Ok(());
                }
                rung.await;
            }
        })
    }

    fn revoke<'a>(
        &'a self,
        resource: &'a Resource,
        target: &'a Target,
        by: &'a str,
    ) -> Answer<'a, Evicted> {
        Box::pin(async move {
            let mut state = self.store.state();
            let evicted = self.store.evict(&mut state, resource, target, &Loss::Forced);
            if !self.store.has(Fault::PutsNothingDown) {
                for holder in &evicted.holders {
                    let (fence, owner) = (holder.fence, &holder.owner);
                    state.audit.push(format!("{by} forced {resource}: fence {fence} of {owner}"));
                }
            }
            Ok(evicted)
        })
    }
}

/// A place in a queue. Dropping it leaves.
struct Seat {
    store: Arc<Store>,
    session: u64,
    resource: Resource,
    id: u64,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.store.state();
        let is_unheard = state.answers.contains_key(&self.id);
        let place = state.places.get(&self.resource);
        let entry = place.and_then(|place| place.queue.iter().find(|it| it.id == self.id));
        let Some(entry) = entry else {
            // Lost, or let go before.
            if self.store.has(Fault::LetsGoOfWhatTheNextOneHolds)
                && let Some(next) = place.and_then(|it| it.queue.first())
                && next.session == self.session
            {
                let id = next.id;
                self.store.leave(&mut state, &self.resource, id);
            }
            return;
        };
        let stays = match (entry.fence, is_unheard) {
            (None, _) => self.store.has(Fault::LeavesDroppedWaitersInTheQueue),
            (Some(_), true) => self.store.has(Fault::LeaksAGrantThatNobodyHeardOf),
            (Some(_), false) => self.store.has(Fault::KeepsWhatIsDropped),
        };
        if stays {
            return;
        }
        if let Some(fence) = entry.fence
            && self.resource.kind == Kind::Election
            && self.store.has(Fault::TakesDroppedForResigned)
            && let Some(place) = state.places.get_mut(&self.resource)
        {
            place.resigned = Some(fence);
        }
        self.store.leave(&mut state, &self.resource, self.id);
    }
}

struct Held {
    entry: Entry,
    seat: Seat,
    began: BootTime,
}

impl Held {
    fn has(&self, fault: Fault) -> bool {
        self.seat.store.has(fault)
    }

    /// Whether it is still held.
    fn check(&self, state: &State) -> Result<(), Error> {
        let place = state.places.get(&self.seat.resource);
        if place.is_some_and(|it| it.queue.iter().any(|entry| entry.id == self.entry.id)) {
            return Ok(());
        }
        let loss = self.entry.loss.get().cloned().unwrap_or(Loss::Forced);
        Err(Error::Lost { resource: self.entry.request.resource().clone(), loss })
    }
}

impl Hold for Held {
    fn fence(&self) -> Fence {
        self.entry.fence.expect("it was granted")
    }

    fn loss(&self) -> &LossSignal {
        &self.entry.loss
    }

    fn publish<'a>(&'a self, value: &'a [u8]) -> Answer<'a, ()> {
        Box::pin(async move {
            let mut state = self.seat.store.state();
            if !self.has(Fault::TakesValuesFromTheLost) {
                self.check(&state)?;
            }
            let bytes = if self.has(Fault::TakesValuesForText) {
                String::from_utf8_lossy(value).into_owned().into_bytes()
            } else {
                value.to_vec()
            };
            let place = state.places.entry(self.seat.resource.clone()).or_default();
            place.value = Some(Value { fence: self.fence(), bytes });
            if !self.has(Fault::ChangesValuesInSilence) {
                place.version += 1;
            }
            drop(state);
            self.seat.store.bell.notify_waiters();
            Ok(())
        })
    }

    fn release(mut self: Box<Self>) -> Answer<'static, ()> {
        Box::pin(async move {
            let store = Arc::clone(&self.seat.store);
            let mut state = store.state();
            match self.check(&state) {
                Err(_) if self.has(Fault::ReleasesWhatWasLost) => return Ok(()),
                held => held?,
            }
            let resource = self.seat.resource.clone();
            if let Some(place) = state.places.get_mut(&resource) {
                if resource.kind == Kind::Election && !self.has(Fault::ResignsInSilence) {
                    place.resigned = self.entry.fence;
                }
                if self.has(Fault::ForgetsValuesAtARelease) {
                    place.value = None;
                }
            }
            if self.has(Fault::ReleasesLater) {
                state.lingering.push((resource, self.entry.id));
                self.seat.id = 0;
            } else {
                store.leave(&mut state, &resource, self.entry.id);
            }
            Ok(())
        })
    }

    fn deadline(&self) -> Option<BootTime> {
        let from = if self.has(Fault::NeverRenews) { self.began } else { BootTime::now() };
        self.seat.store.has_deadlines.then(|| from.plus(TTL))
    }
}
