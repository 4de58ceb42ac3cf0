//! What a run must keep: one file per property.
//!
//! Each has a test with a history that it must reject, and the simulator's tests hold a tiny broken
//! algorithm against each.

mod agreement;
mod aside;
mod clock_condition;
mod deciding;
mod detection;
mod fences;
mod forever;
mod largest_id;
mod mutual_exclusion;
mod one_at_a_time;
mod one_per_term;
mod ordering;
mod register;
mod turns;
mod versions;
mod waiting;

pub use agreement::{Agreement, Disagreement};
pub use clock_condition::{ClockCondition, Relation, StampedEvent, WrongReading};
pub(crate) use clock_condition::{Mismatch, compare};
pub use deciding::{Deciding, Wave};
pub use detection::{Detection, Suspicions, WrongSuspicion};
pub use fences::{FenceFell, Fences};
pub use forever::Forever;
pub use largest_id::{LargestId, WrongLeader};
pub use mutual_exclusion::{MutualExclusion, TwoHolders};
pub use one_at_a_time::{OneAtATime, TwoLeaders};
pub use one_per_term::{OnePerTerm, TwoInATerm};
pub use ordering::{Ordering, Overtaking};
pub use register::{NoOrder, Register};
pub use turns::{Turns, WrongPrint};
pub use versions::{Versions, WentBack};
pub use waiting::{Starved, Waiting};
