//! The words of the command line.

use std::ffi::OsString;

use clap::{Args, FromArgMatches, Parser, Subcommand};

use crate::service::words::LockArgs;
use crate::{lab, manual, service};

/// A lock that only one holds and a leader that only one is, on THIS MACHINE ONLY unless --at says
/// otherwise; and a lab for the algorithms behind them.
///
/// Locks need no server (they are at local:): they are kernel locks below a directory of yours. At
/// etcd://... they are for all machines that reach these servers.
#[derive(Debug, Parser)]
#[command(name = "conclave", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "Locks, of this machine unless --at (or CONCLAVE_AT) says otherwise:
  conclave lock nightly -- ./backup.sh          wait for your turn, run, let go
  conclave lock -n nightly -- ./backup.sh       ... or exit with 1 if somebody runs it
  conclave lock --once 1d nightly -- ./job.sh   once a day, whoever comes first
  conclave elect primary --value db1 -- ./serve one leader; `conclave observe primary` follows
  conclave locks                                who holds what, and who waits

The lab:
  conclave algorithms                           all of them in one table, with their problems
  conclave table                                every algorithm's cost, measured beside its formula
  conclave run maekawa-plain -n 3               watch it deadlock, and be told why
  conclave run ricart-agrawala -n 3 --explain   every event, with the rule that fired
  conclave run bully --dead 5 --svg run.svg     an election as a space-time diagram
  conclave check maekawa -n 3                   prove it, in every interleaving
  conclave sweep --svg trade.svg                what failure detectors trade for accuracy
  conclave voting-sets grid -n 36               who votes for whom

Exit codes of the lab: 0 ok, 2 bad input, 10 violated, 11 deadlock, 12 starved, 13 stalled, 14
budget, 15 vacuous, 64 no such command, 74 the output cannot be written. Those of locks are in
`conclave lock --help`.";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A command that holds or shows real locks.
    #[command(flatten)]
    Service(service::Command),
    /// A command that runs or checks algorithms.
    #[command(flatten)]
    Lab(lab::Command),
    /// With these words themselves.
    #[command(flatten)]
    Manual(manual::Command),
}

/// What `words` ask for, the program's name first.
///
/// # Errors
/// If they are not understood, or ask for help or the version: what to say then.
pub fn understand(words: &[OsString]) -> Result<Command, clap::Error> {
    match understand_lock(words) {
        Some(lock) => Ok(Command::Service(lock)),
        None => Cli::try_parse_from(words).map(|cli| cli.command),
    }
}

/// `conclave lock` starts often, and mostly for a moment. So its words are understood without the
/// words of all other commands. Whatever else is meant, help too, is left to [`Cli`].
fn understand_lock(words: &[OsString]) -> Option<service::Command> {
    let words = words.get(1..).filter(|words| words.first().is_some_and(|it| it == "lock"))?;
    let lock = LockArgs::augment_args(clap::Command::new("lock"));
    let args = LockArgs::from_arg_matches(&lock.try_get_matches_from(words).ok()?).ok()?;
    Some(service::Command::Lock(Box::new(args)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn lock_alone_means_what_it_means_among_all_commands() {
        let lines = [
            "conclave lock x true",
            "conclave lock --at etcd://h1,h2/p --ttl 5 -n x -- true -V --help",
            "conclave lock -w 1.5 -E 3 -s -v x sh -c exit",
            "conclave lock --once 1d --min-hold 2 --on-lost kill x ./job -n",
            "conclave lock --slots 3 x true",
            "conclave lock x --hold",
            "conclave lock lock lock",
        ];
        for line in lines {
            let alone = understand_lock(&words(line)).map(Command::Service);
            let among_all = Cli::try_parse_from(words(line)).map(|cli| cli.command);
            assert_eq!(
                format!("{:?}", alone.expect(line)),
                format!("{:?}", among_all.expect(line))
            );
        }
    }

    #[test]
    fn what_is_not_understood_alone_is_answered_by_the_whole() {
        let lines = ["lock", "lock --help", "lock -V", "lock --no x true", "locks", "elect", "-V"];
        for line in lines.map(|line| format!("conclave {line}")) {
            assert!(understand_lock(&words(&line)).is_none(), "{line}");
        }
        assert!(understand_lock(&[]).is_none());
    }
}
