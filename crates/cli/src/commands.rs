//! One file per command.

mod algorithms;
mod check;
mod fence;
mod hold;
mod locks;
mod manual;
mod observe;
mod once;
mod output;
mod run;
mod sweep;
mod table;
mod trace;
mod unlock;
mod voting_sets;

pub use check::{CHECKED, checked};
pub use conclave_workbench::recorded::{judge_again, plan_of_trace};
pub use run::plan_of;

use std::process::ExitCode;

use crate::cli::{Command, FenceCommand};
use crate::engine::Refused;
use crate::exit;

/// Does what was asked; an error is bad input.
pub fn execute(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Lock(args) => Ok(hold::lock(args)),
        Command::Elect(args) => Ok(hold::elect(args)),
        Command::Observe(args) => observe::execute(args),
        Command::Once(args) => once::execute(args),
        Command::Locks(args) => locks::execute(args),
        Command::Unlock(args) => Ok(unlock::execute(args)),
        Command::Fence(FenceCommand::Check(args)) => Ok(fence::check(args)),
        Command::Completions(args) => manual::completions(args),
        Command::Man(args) => manual::man(args),
        Command::Algorithms(args) => algorithms::execute(args),
        Command::Run(args) => run::execute(args),
        Command::Check(args) => check::execute(args),
        Command::Table(args) => table::execute(args),
        Command::Sweep(args) => sweep::execute(args),
        Command::VotingSets(args) => voting_sets::execute(args),
        Command::Trace(args) => trace::execute(args),
    }
}

/// What was asked of the engine failed.
fn service_failure(error: &conclave_client::Error) -> ExitCode {
    anstream::eprintln!("conclave: {error}");
    ExitCode::from(exit::of_engine(error, exit::NOT_ACQUIRED))
}

/// What was asked makes no sense.
fn service_refusal(line: &str) -> ExitCode {
    anstream::eprintln!("conclave: {line}");
    ExitCode::from(exit::USAGE)
}

impl Refused {
    /// Says so.
    fn exit(&self) -> ExitCode {
        anstream::eprintln!("conclave: {}", self.line);
        ExitCode::from(self.code)
    }
}
