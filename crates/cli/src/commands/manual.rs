//! Shell completions and man pages, made from the command line's own words.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_mangen::Man;

use super::output;
use crate::cli::{Cli, CompletionsArgs, ManArgs};

/// Writes the completions of one shell.
pub fn completions(args: &CompletionsArgs) -> Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "conclave", &mut text);
    output::say(|out| out.write_all(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the main page, or all of them.
pub fn man(args: &ManArgs) -> Result<ExitCode> {
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
