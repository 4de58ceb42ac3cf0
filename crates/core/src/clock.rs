//! Logical clocks, as pieces of their own: what orders events when no two processes share a time.

mod lamport;
mod vector;

pub use lamport::{LamportClock, Stamp, Timestamp};
pub use vector::VectorClock;
