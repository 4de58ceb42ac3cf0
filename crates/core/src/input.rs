//! What can happen to a process.

use core::convert::Infallible;
use core::time::Duration;

use crate::{CommandOf, ProcessId, Protocol};

/// The one way in: everything that can happen to a process after its start.
///
/// Chance comes in as a timer that runs out at any time of a range, see
/// [`Effects::set_timer_within`](crate::Effects::set_timer_within).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Input<P: Protocol> {
    /// The application asks for something.
    Command(CommandOf<P>),
    /// A message arrived.
    Message {
        /// Who sent it.
        from: ProcessId,
        /// What it says.
        message: P::Message,
    },
    /// A timer or a deadline that was set, and not cancelled since, ran out.
    Timer(P::Timer),
    /// Word from a service that the protocol stands on, such as a failure detector.
    Word(P::Word),
    /// What the clock of this process shows as the next input comes in. Only a protocol that
    /// [reads its clock](Protocol::READS_CLOCK) gets this, before every other input. Clocks differ
    /// and drift, so only differences of one process's own readings mean anything.
    Reading(Duration),
}

/// The [word](Protocol::Word) of a protocol that stands on no service: there is none.
pub type NoWord = Infallible;
