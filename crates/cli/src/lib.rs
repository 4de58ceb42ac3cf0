//! Behind the `conclave` command: three rooms, and what they share.
//!
//! - [`lab`]: algorithms simulated, searched and measured.
//! - [`service`]: real locks and leaders.
//! - [`wrapper`]: a command that runs while a lock is held. It knows nothing of the other two.
//!
//! A library so that tests and benchmarks drive the same code as the command line does.

pub mod cli;
pub mod exit;
pub mod failure;
pub mod lab;
pub mod manual;
pub mod service;
pub mod wrapper;

mod output;

use std::process::ExitCode;

use cli::Command;
use failure::Failure;

/// Does what was asked.
///
/// # Errors
/// If it makes no sense, or a file or the output cannot be written.
pub fn execute(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Service(command) => service::execute(command).map_err(Failure::of_service),
        Command::Lab(command) => lab::execute(command).map_err(Failure::of_lab),
        Command::Manual(command) => manual::execute(command).map_err(Failure::of_lab),
    }
}
