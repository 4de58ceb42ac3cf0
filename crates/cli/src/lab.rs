//! The lab: algorithms simulated, searched and measured, and what is said of it.
//!
//! What is run and judged is in the workbench. Here are the words that ask for it, files, progress
//! and the way it is printed. Nothing here holds a real lock.

mod algorithms;
mod check;
mod interrupt;
mod memory;
mod mutants;
mod progress;
mod run;
mod scenarios;
mod spelling;
mod sweep;
mod table;
mod trace;
mod voting_sets;
pub mod words;

use std::process::ExitCode;

pub use algorithms::needs;
pub use check::{CHECKED, checked};
pub use run::plan_of;
pub use spelling::command;
pub use words::Command;

/// Does what was asked; an error is bad input, or something that cannot be written.
///
/// # Errors
/// If it makes no sense, or a file cannot be read or written.
pub fn execute(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Algorithms(args) => algorithms::execute(args),
        Command::Run(args) => run::execute(args),
        Command::Check(args) => check::execute(args),
        Command::Mutants(args) => mutants::execute(args),
        Command::Scenarios(args) => scenarios::execute(args),
        Command::Table(args) => table::execute(args),
        Command::Sweep(args) => sweep::execute(args),
        Command::VotingSets(args) => voting_sets::execute(args),
        Command::Trace(args) => trace::execute(args),
    }
}
