//! What a run must keep: one file per property.
//!
//! Each has a test with a history that it must reject, and the simulator's tests hold a tiny broken
//! algorithm against each.

mod fences;
mod mutual_exclusion;
mod ordering;
mod waiting;

pub use fences::{FenceFell, Fences};
pub use mutual_exclusion::{MutualExclusion, TwoHolders};
pub use ordering::{Ordering, Overtaking};
pub use waiting::{Starved, Waiting};
