//! What can happen to a process.

use crate::{ProcessId, Protocol};

/// The one way in: everything that can happen to a process after its start.
///
/// Word from a failure detector, answers to random choices and completed writes get variants of
/// their own with the first algorithm that needs them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Input<P: Protocol> {
    /// The application asks for something.
    Command(P::Command),
    /// A message arrived.
    Message {
        /// Who sent it.
        from: ProcessId,
        /// What it says.
        message: P::Message,
    },
    /// A timer that was set, and not cancelled since, ran out.
    Timer(P::Timer),
}
