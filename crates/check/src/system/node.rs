//! One process and what belongs to it: its application, its timers, what it has stored.

use std::collections::VecDeque;
use std::hash::Hash;

use conclave_core::{Arrival, Effect, Effects, Input, Protocol, Renaming, Seat, Start};
use conclave_observe::{Observable, What};
use smallvec::SmallVec;

use super::{Client, Setup};

/// A process, or its place while it is down.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Node<P: Protocol, S> {
    pub(crate) seat: Seat,
    /// None while it is down.
    pub(crate) process: Option<P>,
    pub(crate) client: S,
    /// Those that are set, in their order.
    pub(crate) timers: SmallVec<[Timer<P::Timer>; 4]>,
    /// What it persisted last.
    pub(crate) stored: Option<P::Stored>,
}

/// A timer that is set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Timer<T> {
    pub(crate) name: T,
    /// How many ticks from now it may run out; 0 where time is not counted.
    pub(crate) after: u16,
    /// How many ticks from now it must have.
    pub(crate) at_most: u16,
    /// Whether it is another one than before: it could have run out, and was set anew. Whoever does
    /// that again and again never has to let it run out.
    pub(crate) is_other: bool,
}

/// Whoever wants to know what a step does, in order.
pub(crate) trait Witness<M> {
    /// It sent a message; one to itself is taken in by the same step.
    fn sent(&mut self, to: Seat, message: &M, copy: bool);
    /// It took in a message of its own.
    fn took_own(&mut self, message: &M);
    /// It told its application something.
    fn told(&mut self, what: What);
    /// It set a timer to what is no whole number of ticks.
    fn rounded(&mut self) {}
    /// The rules that fired since this was last said.
    fn rules(&mut self, _: Vec<&'static str>) {}
}

impl<P, S> Node<P, S>
where
    P: Protocol<Notice: Observable>,
    S: Clone + Eq + Hash,
{
    /// Makes the process and does what it wants done at once.
    pub(crate) fn start<C: Client<P, State = S>>(
        &mut self,
        setup: &Setup<'_, P, C>,
        arrival: Arrival,
        out: &mut Effects<P>,
        witness: &mut impl Witness<P::Message>,
    ) {
        let start = Start {
            me: setup.view.at(self.seat),
            view: setup.view,
            holder: setup.holder.filter(|_| arrival == Arrival::Founding),
            clock: Default::default(),
            arrival,
            stored: self.stored.as_ref(),
            config: setup.config,
        };
        self.process = Some(P::start(start, out));
        self.perform(setup, out, witness);
    }

    /// Takes an input and does what the process wants done about it.
    pub(crate) fn take<C: Client<P, State = S>>(
        &mut self,
        setup: &Setup<'_, P, C>,
        input: Input<P>,
        out: &mut Effects<P>,
        witness: &mut impl Witness<P::Message>,
    ) {
        if let Some(process) = &mut self.process {
            process.on(input, out);
            self.perform(setup, out, witness);
        }
    }

    /// A timer ran out: it is no longer set.
    pub(crate) fn run_out(&mut self, index: usize) -> P::Timer {
        self.timers.remove(index).name
    }

    /// It dies, and with it all but what it stored.
    pub(crate) fn crash<C: Client<P, State = S>>(&mut self, client: &C) {
        self.process = None;
        self.timers.clear();
        client.crashed(&mut self.client);
    }

    /// A tick passes.
    pub(crate) fn tick(&mut self) {
        for timer in &mut self.timers {
            timer.after = timer.after.saturating_sub(1);
            timer.at_most = timer.at_most.saturating_sub(1);
        }
    }

    /// The same among others by other names, if names mean no more than that.
    pub(crate) fn renamed<C>(&self, names: &Renaming, client: &C) -> Option<Self>
    where
        C: Client<P, State = S>,
    {
        let renamed =
            |timer: &Timer<_>| Timer { name: P::renamed_timer(timer.name, names), ..*timer };
        let mut timers: SmallVec<[_; 4]> = self.timers.iter().map(renamed).collect();
        timers.sort_by_key(|timer| timer.name);
        Some(Self {
            seat: names.seat(self.seat),
            process: match &self.process {
                Some(process) => Some(process.renamed(names)?),
                None => None,
            },
            client: client.renamed(&self.client, names),
            timers,
            stored: self.stored.as_ref().map(|stored| P::renamed_stored(stored, names)),
        })
    }

    fn perform<C: Client<P, State = S>>(
        &mut self,
        setup: &Setup<'_, P, C>,
        out: &mut Effects<P>,
        witness: &mut impl Witness<P::Message>,
    ) {
        let mut own = VecDeque::new();
        let before = self.timers.clone();
        loop {
            witness.rules(out.take_rules());
            // A multicast is one transmission, however many copies leave this process.
            let mut is_transmitted = false;
            for effect in out.drain() {
                match effect {
                    Effect::Send { to, message, continues } => {
                        let Some(to) = setup.view.seat(to) else { continue };
                        is_transmitted &= continues;
                        witness.sent(to, &message, is_transmitted);
                        is_transmitted |= to != self.seat;
                        if to == self.seat {
                            own.push_back(message);
                        }
                    }
                    Effect::Notify(notice) => {
                        if let Some(what) = notice.what(setup.view) {
                            witness.told(what);
                        }
                        setup.client.told(&mut self.client, &notice);
                    }
                    Effect::SetTimer { timer, after, at_most } => {
                        let (after, at_most) = (setup.time.ticks(after), setup.time.ticks(at_most));
                        if after.is_rounded || at_most.is_rounded {
                            witness.rounded();
                        }
                        let mut is_other = false;
                        if setup.tells_renewals && after.count == 0 {
                            let old = before.iter().find(|set| set.name == timer);
                            is_other = old.is_some_and(|old| !old.is_other);
                        }
                        let (after, at_most) = (after.count, at_most.count);
                        self.set(Timer { name: timer, after, at_most, is_other });
                    }
                    Effect::CancelTimer(timer) => self.timers.retain(|set| set.name != timer),
                    Effect::Persist(stored) => self.stored = Some(stored),
                }
            }
            let (Some(message), Some(process)) = (own.pop_front(), &mut self.process) else {
                return;
            };
            witness.took_own(&message);
            process.on(Input::Message { from: setup.view.at(self.seat), message }, out);
        }
    }

    fn set(&mut self, timer: Timer<P::Timer>) {
        self.timers.retain(|set| set.name != timer.name);
        let place = self.timers.iter().position(|set| set.name > timer.name);
        self.timers.insert(place.unwrap_or(self.timers.len()), timer);
    }
}
