//! One file per command.

mod algorithms;
mod explain;
mod output;
mod run;
mod table;
mod trace;
mod voting_sets;

pub use run::plan_of;

use std::process::ExitCode;

use crate::cli::Command;

/// Does what was asked; an error is bad input.
pub fn execute(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Algorithms(args) => algorithms::execute(args),
        Command::Run(args) => run::execute(args),
        Command::Table(args) => table::execute(args),
        Command::VotingSets(args) => voting_sets::execute(args),
        Command::Trace(args) => trace::execute(args),
    }
}
