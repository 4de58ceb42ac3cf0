//! The service: real locks and leaders, for scripts.
//!
//! Each command opens the engine that is meant ([`engine`]), asks it one thing, and answers with an
//! exit code. `lock` and `elect` hold what they got while a command runs, which the
//! [wrapper](crate::wrapper) watches over.

pub mod engine;
mod fence;
mod hold;
mod locks;
mod observe;
mod once;
pub mod period;
mod unlock;
pub mod words;

use std::process::ExitCode;

use crate::exit;
use engine::Refused;
pub use words::Command;
use words::FenceCommand;

/// Does what was asked.
///
/// # Errors
/// If the output cannot be written.
pub fn execute(command: &Command) -> std::io::Result<ExitCode> {
    match command {
        Command::Lock(args) => Ok(hold::lock(args)),
        Command::Elect(args) => Ok(hold::elect(args)),
        Command::Observe(args) => observe::execute(args),
        Command::Once(args) => once::execute(args),
        Command::Locks(args) => locks::execute(args),
        Command::Unlock(args) => Ok(unlock::execute(args)),
        Command::Fence(FenceCommand::Check(args)) => Ok(fence::check(args)),
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
    /// Says why on standard error; the code to exit with.
    fn exit(&self) -> ExitCode {
        anstream::eprintln!("conclave: {}", self.line);
        ExitCode::from(self.code)
    }
}
