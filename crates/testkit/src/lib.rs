//! What tests need beside the simulator: the same state machines in two more worlds.
//!
//! Small on purpose. They show that a protocol needs nothing from its runner but the contract
//! beside [`Protocol`](conclave_core::Protocol), and they find what a simulator's schedules do not
//! reach. A dependency of tests only.

pub mod mutant;
pub mod search;
pub mod tcp;
