//! Behind the `conclave` command: runs of any algorithm of the catalogue, and what is said of them.
//!
//! A library so that tests and benchmarks drive the same code as the command line does.

pub mod cell;
pub mod cli;
pub mod commands;
pub mod exit;
pub mod experiment;
pub mod plan;

mod progress;
mod sentence;
