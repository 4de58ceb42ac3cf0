//! Failure detection: who is dead, as far as one can tell from outside.
//!
//! A detector is a protocol like any other, and runs alone. It also is a piece that others are
//! composed with, see [`With`].

pub mod heartbeat;
pub mod phi;
pub mod with;

pub use heartbeat::Heartbeat;
pub use phi::Phi;
pub use with::With;
