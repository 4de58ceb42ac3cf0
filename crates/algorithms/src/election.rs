//! Election: one process leads, and all know which.
//!
//! Every file here is one algorithm, always in the same order: the problem, the idea, what it
//! assumes, its messages, its cost, its paper; then messages, timers, state, the transition with
//! one arm per rule, one function per rule, and one test per rule.

use conclave_core::election::Elections;

use crate::catalogue::shelf;
use crate::detector::heartbeat;

pub mod bully;
pub mod chang_roberts;
pub mod chang_roberts_repaired;
pub mod chubby;
pub mod hirschberg_sinclair;
pub mod peterson;
pub mod zookeeper;

#[cfg(test)]
#[allow(dead_code, reason = "each file uses what it needs of it")]
mod rehearsal;

// The catalogue of elections, in the order in which they are shown.
shelf! {
    Elections:
    chang_roberts::ChangRoberts {
        PLAIN => |seating| Ok(seating.all(chang_roberts::Variant::Plain)),
        SUPPRESS => |seating| Ok(seating.all(chang_roberts::Variant::Suppress)),
        NAIVE => |seating| Ok(seating.all(chang_roberts::Variant::Naive)),
    }
    chang_roberts_repaired::ChangRobertsRepaired {
        ENTRY => |seating| Ok(seating.all(((), heartbeat::Config::new(&seating.timing)))),
    }
    hirschberg_sinclair::HirschbergSinclair { ENTRY => |seating| Ok(seating.all(())) }
    peterson::Peterson { ENTRY => |seating| Ok(seating.all(())) }
    bully::Bully { ENTRY => |seating| Ok(seating.all(bully::Config::new(&seating.timing))) }
    chubby::Chubby {
        ENTRY => |seating| Ok(seating.all(chubby::Config { lease: seating.timing.lease() })),
    }
    zookeeper::ZooKeeper {
        PLAIN => |seating| Ok(zookeeper::configs(seating, zookeeper::Watch::NextLower)),
        HERD => |seating| Ok(zookeeper::configs(seating, zookeeper::Watch::Lowest)),
    }
}
