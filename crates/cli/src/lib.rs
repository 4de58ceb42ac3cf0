//! Behind the `conclave` command: real locks around real commands, runs of any algorithm of the
//! catalogue, and what is said of them.
//!
//! A library so that tests and benchmarks drive the same code as the command line does.

pub mod cli;
pub mod commands;
pub mod engine;
pub mod exit;
pub mod once;
pub mod wrapper;

pub use conclave_workbench::{experiment, plan, search, sentence, sweep};

mod interrupt;
mod progress;
