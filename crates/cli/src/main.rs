//! The `conclave` command.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Subcommand};
use conclave_cli::cli::{Cli, understand};
use conclave_cli::{execute, exit, lab, wrapper};

fn main() -> ExitCode {
    // The guard of a running command: started often, so it does not wait for the rest.
    let words: Vec<OsString> = std::env::args_os().collect();
    let mut arguments = words.iter().skip(1).cloned();
    if arguments.next().is_some_and(|first| first == wrapper::GUARD_WORD) {
        return wrapper::guard_main(arguments);
    }
    let command = match understand(&words) {
        Ok(command) => command,
        Err(error) => return refuse_usage(&error),
    };
    match execute(&command) {
        Ok(code) => code,
        Err(failure) => {
            if let Some(line) = failure.line() {
                anstream::eprintln!("conclave: {line}");
            }
            ExitCode::from(failure.code())
        }
    }
}

/// Bad input is answered in one line: what was wrong, and what would be right.
fn refuse(line: &str) -> ExitCode {
    anstream::eprintln!("conclave: {line}");
    ExitCode::from(bad_input())
}

/// The lab has a code of its own. Everywhere else, and where no command was understood, it is the
/// code that scripts know from flock(1): it could have been a lock that they asked for.
fn bad_input() -> u8 {
    if is_lab() { exit::BAD_INPUT } else { exit::USAGE }
}

/// Whether words that were not understood are, as far as they were, a command of the lab.
fn is_lab() -> bool {
    let understood = Cli::command().ignore_errors(true).try_get_matches();
    let is_ours =
        |it: clap::ArgMatches| it.subcommand_name().is_some_and(lab::Command::has_subcommand);
    understood.is_ok_and(is_ours)
}

/// Answers words that the command line does not have, in one line. Help and version are no errors.
fn refuse_usage(error: &clap::Error) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        let _ = error.print();
        return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or_else(|_| bad_input()));
    }
    let text = error.to_string();
    let lines = text.lines().map(str::trim);
    let said: Vec<&str> = lines
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        // How to pass a word that looks like an option is not what anybody wanted to know.
        .filter(|line| !line.is_empty() && !line.contains("as a value, use '--"))
        .map(|line| line.trim_start_matches("error: "))
        .collect();
    refuse(&format!("{}; try --help", said.join(" ").replace(" tip: ", "; ")))
}
