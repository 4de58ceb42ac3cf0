//! What tests need beside the simulator and the checker: the same state machines between real
//! processes, and in the hands of somebody who tampers with them.
//!
//! Small on purpose. A dependency of tests only.

pub mod mutant;
pub mod tcp;
