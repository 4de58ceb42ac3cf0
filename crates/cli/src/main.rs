//! The `conclave` command.

use std::ffi::OsStr;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use conclave_cli::cli::Cli;
use conclave_cli::{commands, exit, wrapper};

fn main() -> ExitCode {
    // The guard of a running command: started often, so it does not wait for the rest.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == wrapper::GUARD_WORD) {
        return wrapper::guard_main(arguments);
    }
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return refuse_usage(&error),
    };
    match commands::execute(&command) {
        Ok(code) => code,
        // Who follows something goes on until nobody reads any more, which is no error.
        Err(error) if is_broken_pipe(&error) && is_service() => ExitCode::SUCCESS,
        // What came of it is not known here: it must not look as if all were well.
        Err(error) if is_broken_pipe(&error) => ExitCode::from(exit::BROKEN_PIPE),
        // Of the commands that hold locks, what fails so late is the output.
        Err(error) if is_service() => {
            anstream::eprintln!("conclave: cannot write the output: {error:#}");
            ExitCode::from(exit::UNAVAILABLE)
        }
        Err(error) if error.is::<exit::Unwritten>() => {
            anstream::eprintln!("conclave: {error:#}");
            ExitCode::from(exit::UNWRITTEN)
        }
        Err(error) if is_output(&error) => {
            anstream::eprintln!("conclave: cannot write the output: {error:#}");
            ExitCode::from(exit::UNWRITTEN)
        }
        Err(error) => refuse(&format!("{error:#}")),
    }
}

/// Bad input is answered in one line: what was wrong, and what would be right.
fn refuse(line: &str) -> ExitCode {
    anstream::eprintln!("conclave: {line}");
    ExitCode::from(bad_input())
}

/// Scripts that know flock(1) expect its code where a lock is asked for; the lab has its own.
fn bad_input() -> u8 {
    if is_service() { exit::USAGE } else { exit::BAD_INPUT }
}

fn is_service() -> bool {
    const SERVICE: [&str; 7] = ["lock", "elect", "once", "observe", "locks", "unlock", "fence"];
    let first = std::env::args_os().nth(1);
    first.as_deref().and_then(OsStr::to_str).is_some_and(|word| SERVICE.contains(&word))
}

/// The same for words that the command line does not have. Help and version are not errors.
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

/// Whether that is an error of the standard output: all others say which file they are of.
fn is_output(error: &anyhow::Error) -> bool {
    error.chain().count() == 1 && error.is::<std::io::Error>()
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    causes.any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
