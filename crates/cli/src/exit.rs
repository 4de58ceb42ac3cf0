//! What a command tells the program that called it.

use std::process::ExitCode;

use conclave_observe::Verdict;

/// Bad input: one line on standard error says what was wrong and what would be right.
pub const BAD_INPUT: u8 = 2;

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

/// The same, to end a process with.
pub fn exit_code(verdict: Verdict) -> ExitCode {
    ExitCode::from(code(verdict))
}
