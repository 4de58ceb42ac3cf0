//! What a run cost: one file per measure. All are taken from events, none is computed from N.
//!
//! Memory grows with the number of processes, not with the length of the run.

mod bandwidth;
mod delays;
mod fairness;
mod herd;
mod histogram;

pub use bandwidth::Bandwidth;
pub use delays::Delays;
pub use fairness::Fairness;
pub use herd::Herd;
pub use histogram::Histogram;
