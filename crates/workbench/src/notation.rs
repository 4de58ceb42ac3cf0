//! How times, networks, workloads, faults and interventions are written: `40ms`, `sync:5ms`,
//! `think:20ms`, `3@40ms`, `12:crash:3`.
//!
//! The same notation is used by the command line, by scenarios and in the header of a trace. The
//! simulator knows nothing of it but how to show its own values.

mod fault;
mod intervention;
mod network;
mod script;
mod step;
mod time;
mod voting;
mod workload;

pub use fault::ParseFaultError;
pub use intervention::ParseInterventionError;
pub use network::ParseNetworkError;
pub use script::{Death, Doubling, read_delay, read_drop, read_hurry};
pub use step::ParseStepError;
pub use time::{ParseTimeError, parse_time};
pub use voting::{ParseVotingError, Voting};
pub use workload::ParseWorkloadError;

/// A value that can be written in one word. What [`Display`](core::fmt::Display) shows of it can be
/// read again.
pub trait Notation: Sized {
    /// What is wrong with a text that cannot be read, and what would be right.
    type Error;

    /// The value that is written there.
    fn read(text: &str) -> Result<Self, Self::Error>;
}

/// The value that is written there.
pub fn read<T: Notation>(text: &str) -> Result<T, T::Error> {
    T::read(text)
}
