//! What the engine knows: all queues, the clock, and what is on its way. It never waits.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{Notify, oneshot};

use super::place::{Grant, NameState, QueueEntry, Ticket};
use crate::order::usage;
use crate::{
    Error, Evicted, Holder, Loss, Owner, Patience, Request, Resource, Status, Target, Value, Waiter,
};

/// The way back to whoever asked.
pub(super) type Reply = oneshot::Sender<Result<Grant, Error>>;

/// A request that has no answer yet.
struct Call {
    resource: Resource,
    asked_at: Duration,
    patience: Patience,
    /// An answer that cannot be given while the engine is out of reach.
    granted: Option<Grant>,
    reply: Reply,
}

/// What callers send to the engine.
enum Message {
    Arrive { ticket: Ticket, request: Request },
    Leave { ticket: Ticket, resource: Resource, resigns: bool },
    Publish { ticket: Ticket, resource: Resource, bytes: Vec<u8>, reply: oneshot::Sender<bool> },
}

/// Everything, behind one mutex.
pub(super) struct State {
    /// Since the engine was made.
    clock: Duration,
    is_reachable: bool,
    last_ticket: Ticket,
    places: BTreeMap<Resource, NameState>,
    calls: BTreeMap<Ticket, Call>,
    /// Sent while the engine was out of reach.
    on_the_way: VecDeque<Message>,
    audit: Vec<String>,
}

impl Call {
    fn deadline(&self) -> Option<Duration> {
        match self.patience {
            Patience::Forever => None,
            Patience::AtMost(limit) => Some(self.asked_at.saturating_add(limit)),
        }
    }
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            clock: Duration::ZERO,
            is_reachable: true,
            last_ticket: 0,
            places: BTreeMap::new(),
            calls: BTreeMap::new(),
            on_the_way: VecDeque::new(),
            audit: Vec::new(),
        }
    }

    pub(super) fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.clock
    }

    pub(super) fn is_reachable(&self) -> bool {
        self.is_reachable
    }

    pub(super) fn audit(&self) -> Vec<String> {
        self.audit.clone()
    }

    /// Moves the clock from deadline to deadline: who gives up early may let in somebody whose
    /// own deadline is later, though both lie within one step.
    pub(super) fn advance(&mut self, by: Duration) {
        let end = self.clock.checked_add(by);
        let end = end.filter(|end| SystemTime::UNIX_EPOCH.checked_add(*end).is_some());
        let end = end.expect("the clock cannot show a time so late");
        loop {
            let deadlines = self.calls.values().filter_map(Call::deadline);
            let Some(next) = deadlines.min().filter(|next| *next <= end) else { break };
            self.clock = next;
            self.give_up();
        }
        self.clock = end;
    }

    /// Ends the calls whose time is up. All of them leave before anybody moves up: nobody is let
    /// in at the very moment at which its own time is up.
    fn give_up(&mut self) {
        let clock = self.clock;
        let due = self.take_calls(|call| call.deadline().is_some_and(|it| it <= clock));
        let mut left = Vec::new();
        for (ticket, Call { resource, patience, reply, .. }) in due {
            let error = match patience {
                Patience::AtMost(waited) if self.is_reachable => {
                    if let Some(place) = self.places.get_mut(&resource) {
                        place.queue.remove(&ticket);
                        place.touch();
                    }
                    left.push(resource.clone());
                    Error::TimedOut { resource, waited }
                }
                _ => {
                    let leave =
                        Message::Leave { ticket, resource: resource.clone(), resigns: false };
                    self.on_the_way.push_back(leave);
                    Error::Unknown { resource }
                }
            };
            // Nobody listens any more if the caller is gone: its leaving is then on the way.
            let _ = reply.send(Err(error));
        }
        for resource in left {
            self.move_up(&resource);
        }
    }

    pub(super) fn set_reachable(&mut self, is_reachable: bool) {
        self.is_reachable = is_reachable;
        if !is_reachable {
            return;
        }
        for (_, Call { granted, reply, .. }) in self.take_calls(|call| call.granted.is_some()) {
            if let Some(grant) = granted {
                let _ = reply.send(Ok(grant));
            }
        }
        while let Some(message) = self.on_the_way.pop_front() {
            self.receive(message);
        }
    }

    fn take_calls(&mut self, which: impl Fn(&Call) -> bool) -> Vec<(Ticket, Call)> {
        let chosen = self.calls.iter().filter(|(_, call)| which(call));
        let tickets: Vec<Ticket> = chosen.map(|(ticket, _)| *ticket).collect();
        tickets.into_iter().filter_map(|it| self.calls.remove_entry(&it)).collect()
    }

    /// Numbers the request and sends it, in one: the number is the place in the queue.
    pub(super) fn ask(&mut self, request: &Request, patience: Patience, reply: Reply) -> Ticket {
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        let resource = request.resource.clone();
        let call = Call { resource, asked_at: self.clock, patience, granted: None, reply };
        self.calls.insert(ticket, call);
        self.send(Message::Arrive { ticket, request: request.clone() });
        // Without patience, no answer at once is no answer at all.
        self.give_up();
        ticket
    }

    pub(super) fn leave(&mut self, ticket: Ticket, resource: &Resource, resigns: bool) {
        self.calls.remove(&ticket);
        self.send(Message::Leave { ticket, resource: resource.clone(), resigns });
    }

    /// The receiver learns whether the value was written, or the lock was lost before.
    pub(super) fn publish(
        &mut self,
        ticket: Ticket,
        resource: &Resource,
        bytes: &[u8],
    ) -> oneshot::Receiver<bool> {
        let (reply, answer) = oneshot::channel();
        let (resource, bytes) = (resource.clone(), bytes.to_vec());
        self.send(Message::Publish { ticket, resource, bytes, reply });
        answer
    }

    fn send(&mut self, message: Message) {
        if self.is_reachable {
            self.receive(message);
        } else {
            self.on_the_way.push_back(message);
        }
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Arrive { ticket, request } => self.arrive(ticket, request),
            Message::Leave { ticket, resource, resigns } => {
                let Some(place) = self.places.get_mut(&resource) else { return };
                // Gone already: timed out, lost, or let go before.
                let Some(entry) = place.queue.remove(&ticket) else { return };
                if let Some(grant) = entry.grant.filter(|_| resigns) {
                    place.resigned = Some(grant.fence);
                }
                place.touch();
                self.move_up(&resource);
            }
            Message::Publish { ticket, resource, bytes, reply } => {
                let place = self.places.entry(resource).or_default();
                let grant = place.queue.get(&ticket).and_then(|entry| entry.grant.as_ref());
                let fence = grant.map(|grant| grant.fence);
                if let Some(fence) = fence {
                    place.value = Some(Value { fence, bytes });
                    place.touch();
                }
                let _ = reply.send(fence.is_some());
            }
        }
    }

    fn arrive(&mut self, ticket: Ticket, request: Request) {
        // Given up on the way: it never arrives.
        let Some(call) = self.calls.get(&ticket) else { return };
        let has_patience = call.patience != Patience::AtMost(Duration::ZERO);
        let since = self.now();
        let Request { resource, mode, label, value } = request;
        let place = self.places.entry(resource.clone()).or_default();
        let (ours, theirs) = (usage(mode), place.usage());
        if let Some(theirs) = theirs.filter(|theirs| *theirs != ours) {
            return self.refuse(ticket, Error::Mismatch { resource, ours, theirs });
        }
        if !has_patience && !place.would_let_in(mode) {
            let holders = place.holders().into_iter().map(|holder| holder.owner).collect();
            return self.refuse(ticket, Error::Busy { resource, holders });
        }
        let owner = Owner { label, host: "memory".to_owned(), pid: std::process::id(), since };
        place.queue.insert(ticket, QueueEntry { owner, mode, value, grant: None });
        place.touch();
        self.move_up(&resource);
    }

    fn refuse(&mut self, ticket: Ticket, error: Error) {
        if let Some(call) = self.calls.remove(&ticket) {
            let _ = call.reply.send(Err(error));
        }
    }

    /// Grants all whose turn it is, and tells those that can be reached.
    fn move_up(&mut self, resource: &Resource) {
        let now = self.now();
        let Some(place) = self.places.get_mut(resource) else { return };
        for (ticket, grant) in place.grant_next(resource.kind, now) {
            if self.is_reachable {
                if let Some(call) = self.calls.remove(&ticket) {
                    // A caller that goes just now lets go as soon as it has the mutex.
                    let _ = call.reply.send(Ok(grant));
                }
            } else if let Some(call) = self.calls.get_mut(&ticket) {
                call.granted = Some(grant);
            }
        }
    }

    pub(super) fn evict(&mut self, resource: &Resource, target: &Target, loss: &Loss) -> Evicted {
        let Some(place) = self.places.get_mut(resource) else { return Evicted::default() };
        let (evicted, waiting) = place.evict(target, loss);
        for ticket in waiting {
            self.refuse(ticket, Error::Evicted { resource: resource.clone() });
        }
        self.move_up(resource);
        evicted
    }

    pub(super) fn revoke(&mut self, resource: &Resource, target: &Target, by: &str) -> Evicted {
        let evicted = self.evict(resource, target, &Loss::Forced);
        let held = |holder: &Holder| format!("{} with fence {}", holder.owner, holder.fence);
        let waited = |waiter: &Waiter| format!("{}, who waited", waiter.owner);
        let holders = evicted.holders.iter().map(held);
        let all: Vec<String> = holders.chain(evicted.waiters.iter().map(waited)).collect();
        let from = if all.is_empty() { "nobody".to_owned() } else { all.join(", ") };
        self.audit.push(format!("after {:?}: {by} took {resource} from {from}", self.clock));
        evicted
    }

    pub(super) fn status(&self, resource: &Resource) -> Status {
        let place = self.places.get(resource);
        place.map_or_else(|| Status::new(resource.clone()), |place| place.status(resource))
    }

    /// All that were ever used. What was only looked at does not count.
    pub(super) fn list(&self) -> Vec<Status> {
        let used = self.places.iter().filter(|(_, place)| place.version > 0);
        used.map(|(resource, place)| place.status(resource)).collect()
    }

    pub(super) fn version(&self, resource: &Resource) -> u64 {
        self.places.get(resource).map_or(0, |place| place.version)
    }

    /// Rung with every change of that resource.
    pub(super) fn bell(&mut self, resource: &Resource) -> Arc<Notify> {
        Arc::clone(&self.places.entry(resource.clone()).or_default().changed)
    }
}
