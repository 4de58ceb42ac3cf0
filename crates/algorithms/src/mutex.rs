//! Mutual exclusion: at most one process at a time.
//!
//! Every file here is one algorithm, always in the same order: the problem, the idea, what it
//! assumes, its messages, its cost, its paper; then messages, state, the transition with one arm
//! per rule, one function per rule, and one test per rule.

mod census;
pub mod central;
pub mod central_elected;
pub mod lamport;
pub mod maekawa;
pub mod ricart_agrawala;
pub mod token_ring;
pub mod token_ring_repaired;
pub mod token_ring_resting;

#[cfg(test)]
mod testing;

pub use central::Central;
pub use central_elected::{CentralElected, CentralElectedByHeartbeat};
pub use lamport::Lamport;
pub use maekawa::{Maekawa, MaekawaPlain};
pub use ricart_agrawala::{Answers, RicartAgrawala};
pub use token_ring::TokenRing;
pub use token_ring_repaired::TokenRingRepaired;
pub use token_ring_resting::RestingTokenRing;
