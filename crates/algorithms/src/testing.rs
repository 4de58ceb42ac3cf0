//! One process on its own, for rule tests: it is started, something happens to it, and what it does
//! about it is compared.

#[path = "../tests/checked/mod.rs"]
pub(crate) mod checked;
pub(crate) mod trials;

use alloc::vec::Vec;
use core::time::Duration;

use conclave_core::{
    CommandOf, Due, Effects, Environment, Host, Input, NoticeOf, ProcessId, Protocol, Seat, Start,
    View,
};

/// A process under observation. Its invariants are asked for after every step.
pub(crate) struct Probe<P: Protocol> {
    process: P,
    host: Host<P>,
    surroundings: Surroundings<P>,
    /// What it did at its start.
    pub(crate) began: Vec<Deed<P>>,
}

/// What can be seen of a step from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Deed<P: Protocol> {
    /// It sent this to another.
    Sent(u32, P::Message),
    /// It told its application.
    Told(NoticeOf<P>),
    /// It set a timer, to run out after that time or, if it may vary, at the latest after the
    /// other.
    Set(P::Timer, Duration, Duration),
    /// It set a deadline.
    SetDeadline(P::Timer, Duration),
    /// It cancelled a timer.
    Cancelled(P::Timer),
    /// It persisted this.
    Persisted(P::Stored),
}

/// A world that notes what is done in it.
struct Surroundings<P: Protocol> {
    view: View,
    seat: Seat,
    clock: Duration,
    deeds: Vec<Deed<P>>,
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
        Self::start(Start::returning(ProcessId(me), view, config, stored))
    }

    pub(crate) fn start(start: Start<'_, P>) -> Self {
        let (view, seat) = (start.view.clone(), start.view.seat(start.me).unwrap());
        let mut surroundings =
            Surroundings { view, seat, clock: Duration::ZERO, deeds: Vec::new() };
        let mut host = Host::new();
        let process = host.start(start, &mut surroundings);
        let began = core::mem::take(&mut surroundings.deeds);
        Self { process, host, surroundings, began }
    }

    /// The application asks for something.
    pub(crate) fn command(&mut self, command: CommandOf<P>) -> Vec<Deed<P>> {
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

    /// A service that it stands on says something.
    pub(crate) fn hear(&mut self, word: P::Word) -> Vec<Deed<P>> {
        self.on(Input::Word(word))
    }

    /// Its clock goes on to that reading.
    pub(crate) fn clock_shows(&mut self, now: Duration) {
        self.surroundings.clock = now;
    }

    /// Whether an input would change nothing at all.
    pub(crate) fn ignores(&self, input: Input<P>) -> bool {
        let (mut process, mut out) = (self.process.clone(), Effects::new());
        process.on(input, &mut out);
        process == self.process && out.is_empty()
    }

    /// Whose word it needs.
    pub(crate) fn waits_for(&self) -> Vec<u32> {
        self.process.waits_for().iter().map(|id| id.0).collect()
    }

    pub(crate) fn on(&mut self, input: Input<P>) -> Vec<Deed<P>> {
        self.host.take(&mut self.process, input, &mut self.surroundings);
        core::mem::take(&mut self.surroundings.deeds)
    }
}

impl<P: Protocol> Environment<P> for Surroundings<P> {
    fn view(&self) -> &View {
        &self.view
    }

    fn seat(&self) -> Seat {
        self.seat
    }

    fn reading(&self) -> Option<Duration> {
        Some(self.clock)
    }

    fn stepped(&mut self, process: &P, _: Vec<&'static str>) {
        assert_eq!(process.invariants(), Ok(()));
    }

    fn send(&mut self, to: Seat, message: P::Message, _: bool) {
        self.deeds.push(Deed::Sent(self.view.at(to).0, message));
    }

    fn send_own(&mut self, _: &P::Message, _: bool) {}

    fn take_own(&mut self, _: &P::Message) {}

    fn notify(&mut self, notice: NoticeOf<P>) {
        self.deeds.push(Deed::Told(notice));
    }

    fn set_timer(&mut self, timer: P::Timer, due: Due) {
        self.deeds.push(match due {
            Due::Within { after, at_most } => Deed::Set(timer, after, at_most),
            Due::Deadline(after) => Deed::SetDeadline(timer, after),
        });
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.deeds.push(Deed::Cancelled(timer));
    }

    fn persist(&mut self, stored: P::Stored) {
        self.deeds.push(Deed::Persisted(stored));
    }
}
