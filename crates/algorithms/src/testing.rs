//! One process on its own, for rule tests: it is started, something happens to it, and what it does
//! about it is compared.

use alloc::vec::Vec;
use core::time::Duration;

use conclave_core::{Arrival, Effect, Effects, Input, ProcessId, Protocol, Start, View, detector};

/// A process under observation. What it says to itself it hears at once, as every runner promises;
/// its invariants are asked for after every step.
pub(crate) struct Probe<P: Protocol> {
    me: ProcessId,
    process: P,
    out: Effects<P>,
    /// What it did at its start.
    pub(crate) began: Vec<Deed<P>>,
}

/// What can be seen of a step from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Deed<P: Protocol> {
    /// It sent this to another.
    Sent(u32, P::Message),
    /// It told its application.
    Told(P::Notice),
    /// It set a timer, to run out after that time or, if it may vary, at the latest after the
    /// other.
    Set(P::Timer, Duration, Duration),
    /// It cancelled a timer.
    Cancelled(P::Timer),
    /// It persisted this.
    Persisted(P::Stored),
}

impl<P: Protocol> Probe<P> {
    /// A process that founds the system with all others.
    pub(crate) fn founding(me: u32, view: &View, config: &P::Config) -> Self {
        Self::start(Start::founding(ProcessId(me), view, config))
    }

    /// A process that comes back after a crash, with what it had persisted.
    pub(crate) fn returning(
        me: u32,
        view: &View,
        config: &P::Config,
        stored: Option<&P::Stored>,
    ) -> Self {
        let arrival = Arrival::Returning;
        Self::start(Start { arrival, stored, ..Start::founding(ProcessId(me), view, config) })
    }

    pub(crate) fn start(start: Start<'_, P::Config, P::Stored>) -> Self {
        let mut out = Effects::new();
        let me = start.me;
        let process = P::start(start, &mut out);
        let mut probe = Self { me, process, out, began: Vec::new() };
        probe.began = probe.deeds();
        probe
    }

    /// The application asks for something.
    pub(crate) fn command(&mut self, command: P::Command) -> Vec<Deed<P>> {
        self.on(Input::Command(command))
    }

    /// A message arrives.
    pub(crate) fn receive(&mut self, from: u32, message: P::Message) -> Vec<Deed<P>> {
        self.on(Input::Message { from: ProcessId(from), message })
    }

    /// A timer runs out.
    pub(crate) fn timer(&mut self, timer: P::Timer) -> Vec<Deed<P>> {
        self.on(Input::Timer(timer))
    }

    /// A detector says something.
    pub(crate) fn hear(&mut self, word: detector::Notice) -> Vec<Deed<P>> {
        self.on(Input::Detector(word))
    }

    /// Its clock goes on to that reading.
    pub(crate) fn clock_shows(&mut self, now: Duration) {
        self.out.set_now(u64::try_from(now.as_nanos()).unwrap());
    }

    /// Whether an input would change nothing at all.
    pub(crate) fn ignores(&self, input: Input<P>) -> bool {
        let (mut process, mut out) = (self.process.clone(), self.out.inner());
        process.on(input, &mut out);
        process == self.process && out.is_empty()
    }

    /// Whose word it needs.
    pub(crate) fn waits_for(&self) -> Vec<u32> {
        self.process.waits_for().iter().map(|id| id.0).collect()
    }

    fn on(&mut self, input: Input<P>) -> Vec<Deed<P>> {
        self.process.on(input, &mut self.out);
        self.deeds()
    }

    fn deeds(&mut self) -> Vec<Deed<P>> {
        assert_eq!(self.process.invariants(), Ok(()));
        let (mut deeds, mut to_self) = (Vec::new(), Vec::new());
        for effect in self.out.drain() {
            match effect {
                Effect::Send { to, message, .. } if to == self.me => to_self.push(message),
                Effect::Send { to, message, .. } => deeds.push(Deed::Sent(to.0, message)),
                Effect::Notify(notice) => deeds.push(Deed::Told(notice)),
                Effect::SetTimer { timer, after, at_most } => {
                    deeds.push(Deed::Set(timer, after, at_most));
                }
                Effect::CancelTimer(timer) => deeds.push(Deed::Cancelled(timer)),
                Effect::Persist(stored) => deeds.push(Deed::Persisted(stored)),
            }
        }
        for message in to_self {
            deeds.extend(self.on(Input::Message { from: self.me, message }));
        }
        deeds
    }
}
