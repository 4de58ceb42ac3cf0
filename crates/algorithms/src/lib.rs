//! The textbook shelf: one file per algorithm, in the words of the paper that introduced it.
//!
//! Pure, like the core: an algorithm here is a state machine and nothing else.

#![no_std]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

extern crate alloc;
/// What tests of all kinds share calls this crate by its name.
#[cfg(test)]
extern crate self as conclave_algorithms;

pub mod catalogue;
pub mod detector;
pub mod election;
pub mod mutants;
pub mod mutex;
pub mod process;
pub mod quorum;

#[cfg(test)]
#[allow(dead_code, reason = "each file uses what it needs of it")]
mod testing;
