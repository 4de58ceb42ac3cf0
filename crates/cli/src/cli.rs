//! The words of the command line.

use clap::{Parser, Subcommand};

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
