//! What can happen to a process.

use crate::{ProcessId, Protocol, detector};

/// The one way in: everything that can happen to a process after its start.
///
/// Chance comes in as a timer that runs out at any time of a range, see
/// [`Effects::set_timer_within`](crate::Effects::set_timer_within).
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
    /// Word from a failure detector, where the protocol is composed with one.
    Detector(detector::Notice),
}
