//! Election: one process leads, and all know which.
//!
//! Every file here is one algorithm, always in the same order: the problem, the idea, what it
//! assumes, its messages, its cost, its paper; then messages, timers, state, the transition with
//! one arm per rule, one function per rule, and one test per rule.

pub mod bully;
pub mod chang_roberts;
pub mod chang_roberts_repaired;
pub mod chubby;
pub mod zookeeper;

#[cfg(test)]
mod rehearsal;

pub use bully::Bully;
pub use chang_roberts::ChangRoberts;
pub use chang_roberts_repaired::ChangRobertsRepaired;
pub use chubby::Chubby;
pub use zookeeper::ZooKeeper;
