//! Shell completions and man pages, made from the command line's own words.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory, Subcommand};
use clap_mangen::Man;

use crate::cli::Cli;
use crate::output;

/// The commands about the command line itself.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Print the man page, or write those of all commands
    Man(ManArgs),
}

/// `conclave completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// For which shell
    pub shell: clap_complete::Shell,
}

/// `conclave man`
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write the pages of all commands into this directory, instead of the main one to the output
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

/// Does what was asked.
///
/// # Errors
/// If a file cannot be written.
pub fn execute(command: &Command) -> Result<ExitCode> {
    match command {
        Command::Completions(args) => completions(args),
        Command::Man(args) => man(args),
    }
}

/// Writes the completions of one shell.
fn completions(args: &CompletionsArgs) -> Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "conclave", &mut text);
    output::say(|out| out.write_all(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the main page, or all of them.
fn man(args: &ManArgs) -> Result<ExitCode> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let Some(directory) = &args.directory else {
        let mut text = Vec::new();
        Man::new(command).render(&mut text)?;
        output::say(|out| out.write_all(&text))?;
        return Ok(ExitCode::SUCCESS);
    };
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    clap_mangen::generate_to(command, directory)
        .with_context(|| format!("cannot write to {}", directory.display()))?;
    Ok(ExitCode::SUCCESS)
}
