//! What a command tells the program that called it.

use std::fmt;
use std::process::ExitCode;

use conclave_observe::Verdict;

/// Bad input to the lab: one line on standard error says what was wrong and what would be right.
pub const BAD_INPUT: u8 = 2;

/// Somebody else had the lock, and the caller did not want to wait longer.
pub const NOT_ACQUIRED: u8 = 1;

/// The real processes did something else than a recorded run says.
pub const NOT_REPLAYED: u8 = 1;

/// Bad input to the commands that hold real locks, as flock(1) and sysexits(3) have it.
pub const USAGE: u8 = 64;

/// The engine cannot be used.
pub const UNAVAILABLE: u8 = 69;

/// The output, or a file, could not be written to its end, as sysexits(3) has it.
pub const UNWRITTEN: u8 = 74;

/// The lock was lost while the command ran.
pub const LOST: u8 = 75;

/// The command cannot be executed, as shells have it.
pub const NOT_EXECUTABLE: u8 = 126;

/// The command was not found, as shells have it.
pub const NOT_FOUND: u8 = 127;

/// Ctrl-C came first, as shells have it.
pub const INTERRUPTED: u8 = 130;

/// Nobody read the output any more before there was a verdict: what a shell says of SIGPIPE.
pub const BROKEN_PIPE: u8 = 141;

/// A search found nothing wrong, but something that a proof rests on never happened.
pub const VACUOUS: u8 = 15;

/// What could not be written, to its end: no fault of whoever asked for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unwritten(pub String);

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}", self.0)
    }
}

/// The exit code of a verdict, the same for all commands of the lab.
pub const fn code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Ok => 0,
        Verdict::Violated => 10,
        Verdict::Deadlock => 11,
        Verdict::Starved => 12,
        Verdict::Stalled => 13,
        Verdict::Budget => 14,
    }
}

/// The exit code of a verdict, as `main` returns it.
pub fn exit_code(verdict: Verdict) -> ExitCode {
    ExitCode::from(code(verdict))
}

/// The exit code of an engine's error. What is not acquired has a code of the caller's choice.
pub fn of_engine(error: &conclave_client::Error, not_acquired: u8) -> u8 {
    use conclave_client::Error;
    match error {
        Error::Busy { .. } | Error::TimedOut { .. } | Error::Evicted { .. } => not_acquired,
        Error::Lost { .. } => LOST,
        Error::Name(_)
        | Error::At(_)
        | Error::LabelTooLong(_)
        | Error::ValueTooLong(_)
        | Error::NoSlots
        | Error::NoElection(_)
        | Error::Twice(_)
        | Error::Mismatch { .. } => USAGE,
        _ => UNAVAILABLE,
    }
}
