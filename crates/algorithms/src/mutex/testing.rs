//! One process on its own, for rule tests: it is started, it is told something, and what it does
//! about it is compared.

use alloc::vec::Vec;

use conclave_core::mutex::{Command, Mutex, Notice};
use conclave_core::{Arrival, Effect, Effects, Fence, Input, ProcessId, Start, View};

/// A process under observation. What it says to itself it hears at once, as every runner promises;
/// its invariants are asked for after every step.
pub(super) struct Probe<P: Mutex> {
    me: ProcessId,
    process: P,
    out: Effects<P>,
    /// What it did at its start.
    pub(super) began: Vec<Deed<P::Message>>,
}

/// What can be seen of a step from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Deed<M> {
    /// It sent this to another.
    Sent(u32, M),
    /// It entered with this fence.
    Entered(u64),
    /// It left.
    Left,
}

/// For whom a process waits that does not wait.
pub(super) const NOBODY: [u32; 0] = [];

impl<P: Mutex> Probe<P> {
    /// A process that founds the system with all others; nobody holds.
    pub(super) fn founding(me: u32, view: &View, config: &P::Config) -> Self {
        Self::start(Start::founding(ProcessId(me), view, config))
    }

    /// The same, while `holder` is in the critical section.
    pub(super) fn held_by(holder: u32, me: u32, view: &View, config: &P::Config) -> Self {
        let holder = Some(ProcessId(holder));
        Self::start(Start { holder, ..Start::founding(ProcessId(me), view, config) })
    }

    /// A process that comes back after a crash.
    pub(super) fn returning(me: u32, view: &View, config: &P::Config) -> Self {
        let arrival = Arrival::Returning;
        Self::start(Start { arrival, ..Start::founding(ProcessId(me), view, config) })
    }

    pub(super) fn start(start: Start<'_, P::Config, P::Stored>) -> Self {
        let mut out = Effects::new();
        let me = start.me;
        let process = P::start(start, &mut out);
        let mut probe = Self { me, process, out, began: Vec::new() };
        probe.began = probe.deeds();
        probe
    }

    /// The application wants in.
    pub(super) fn enter(&mut self) -> Vec<Deed<P::Message>> {
        self.on(Input::Command(Command::Enter))
    }

    /// The application is done.
    pub(super) fn leave(&mut self) -> Vec<Deed<P::Message>> {
        self.on(Input::Command(Command::Leave))
    }

    /// A message arrives.
    pub(super) fn receive(&mut self, from: u32, message: P::Message) -> Vec<Deed<P::Message>> {
        self.on(Input::Message { from: ProcessId(from), message })
    }

    /// Whether a command would change nothing at all.
    pub(super) fn ignores(&self, command: Command) -> bool {
        self.is_unmoved_by(Input::Command(command))
    }

    /// Whether a message would change nothing at all.
    pub(super) fn ignores_message(&self, from: u32, message: P::Message) -> bool {
        self.is_unmoved_by(Input::Message { from: ProcessId(from), message })
    }

    /// Whose word it needs.
    pub(super) fn waits_for(&self) -> Vec<u32> {
        self.process.waits_for().iter().map(|id| id.0).collect()
    }

    fn is_unmoved_by(&self, input: Input<P>) -> bool {
        let (mut process, mut out) = (self.process.clone(), Effects::new());
        process.on(input, &mut out);
        process == self.process && out.is_empty()
    }

    fn on(&mut self, input: Input<P>) -> Vec<Deed<P::Message>> {
        self.process.on(input, &mut self.out);
        self.deeds()
    }

    fn deeds(&mut self) -> Vec<Deed<P::Message>> {
        assert_eq!(self.process.invariants(), Ok(()));
        let (mut deeds, mut to_self) = (Vec::new(), Vec::new());
        for effect in self.out.drain() {
            match effect {
                Effect::Send { to, message, .. } if to == self.me => to_self.push(message),
                Effect::Send { to, message, .. } => deeds.push(Deed::Sent(to.0, message)),
                Effect::Notify(Notice::Entered { fence: Fence(fence) }) => {
                    deeds.push(Deed::Entered(fence));
                }
                Effect::Notify(Notice::Left) => deeds.push(Deed::Left),
                Effect::SetTimer { .. } | Effect::CancelTimer(_) | Effect::Persist(_) => {}
            }
        }
        for message in to_self {
            deeds.extend(self.on(Input::Message { from: self.me, message }));
        }
        deeds
    }
}
