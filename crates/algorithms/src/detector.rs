//! Failure detection: who is dead, as far as one can tell from outside.
//!
//! A detector is a protocol like any other, and runs alone. It also is a piece that others are
//! composed with, see [`With`].

use conclave_core::detector::Detectors;

use crate::catalogue::shelf;

pub mod heartbeat;
pub mod phi;
pub mod with;

pub use with::With;

// The catalogue of detectors, in the order in which they are shown.
shelf! {
    Detectors:
    heartbeat::Heartbeat {
        ENTRY => |seating| Ok(seating.all(heartbeat::Config::new(&seating.timing))),
    }
    phi::Phi { ENTRY => |seating| Ok(seating.all(phi::Config::new(&seating.timing))) }
}
