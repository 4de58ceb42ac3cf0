//! The model itself: processes that solve no problem, and show what a process, a message and an
//! event are.

use conclave_core::process::{Processes, Reading};

use crate::catalogue::shelf;

pub mod clocks;
pub mod pinger;

// The catalogue of bare processes, in the order in which they are shown.
shelf! {
    Processes:
    pinger::Pinger { ENTRY => |seating| Ok(seating.all(())) }
    clocks::Clocks {
        LAMPORT => |seating| Ok(seating.all(clocks::Sort::Lamport)),
        VECTOR => |seating| {
            let (name, max) = (clocks::VECTOR.name, Reading::MEMBERS_MAX);
            match seating.view.len() > max {
                true => Err(SeatingError::TooMany { name, max }),
                false => Ok(seating.all(clocks::Sort::Vector)),
            }
        },
    }
}
