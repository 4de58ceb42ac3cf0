//! Behind the `conclave` command: real locks around real commands, runs of any algorithm of the
//! catalogue, and what is said of them.
//!
//! A library so that tests and benchmarks drive the same code as the command line does.

pub mod cell;
pub mod cli;
pub mod commands;
pub mod engine;
pub mod exit;
pub mod experiment;
pub mod family;
pub mod once;
pub mod plan;
pub mod search;
pub mod sentence;
pub mod sweep;
pub mod wrapper;

mod interrupt;
mod progress;
