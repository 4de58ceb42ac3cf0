//! One process of a lock on its own, for rule tests, in the words of locks.

use alloc::vec::Vec;

use conclave_core::mutex::{Command, Mutex, Notice};
use conclave_core::{Fence, Input, ProcessId, Start, View};

use crate::testing;

/// A process under observation: see [`testing::Probe`].
pub(super) struct Probe<P: Mutex> {
    probe: testing::Probe<P>,
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
    /// It left the critical section.
    Left,
}

/// For whom a process waits that does not wait.
pub(super) const NOBODY: [u32; 0] = [];

impl<P: Mutex> Probe<P> {
    /// A process that founds the system with all others; nobody holds.
    pub(super) fn founding(me: u32, view: &View, config: &P::Config) -> Self {
        Self::start(Start::founding(ProcessId(me), view, config))
    }

    /// A process that founds the system with all others, while `holder` is in the critical section.
    pub(super) fn held_by(holder: u32, me: u32, view: &View, config: &P::Config) -> Self {
        let start = Start::founding(ProcessId(me), view, config);
        Self::start(start.held_by(Some(ProcessId(holder))))
    }

    /// A process that comes back after a crash.
    pub(super) fn returning(me: u32, view: &View, config: &P::Config) -> Self {
        Self::start(Start::returning(ProcessId(me), view, config, None))
    }

    pub(super) fn start(start: Start<'_, P>) -> Self {
        let mut probe = testing::Probe::start(start);
        let began = words(core::mem::take(&mut probe.began));
        Self { probe, began }
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
        self.probe.ignores(Input::Command(command))
    }

    /// Whether a message would change nothing at all.
    pub(super) fn ignores_message(&self, from: u32, message: P::Message) -> bool {
        self.probe.ignores(Input::Message { from: ProcessId(from), message })
    }

    /// Whose word it needs.
    pub(super) fn waits_for(&self) -> Vec<u32> {
        self.probe.waits_for()
    }

    fn on(&mut self, input: Input<P>) -> Vec<Deed<P::Message>> {
        words(self.probe.on(input))
    }
}

/// What was sent to others and told to the application.
fn words<P: Mutex>(deeds: Vec<testing::Deed<P>>) -> Vec<Deed<P::Message>> {
    let word = |deed| match deed {
        testing::Deed::Sent(to, message) => Some(Deed::Sent(to, message)),
        testing::Deed::Told(Notice::Entered { fence: Fence(fence) }) => Some(Deed::Entered(fence)),
        testing::Deed::Told(Notice::Left) => Some(Deed::Left),
        _ => None,
    };
    deeds.into_iter().filter_map(word).collect()
}
