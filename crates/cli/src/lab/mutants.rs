//! `conclave mutants`: algorithms with one rule broken, by name.

use std::io::Write;
use std::process::ExitCode;

use conclave_algorithms::mutants::{self, Breaks, MUTANTS, Mutant};
use serde_json::{Value, json};

use crate::lab::spelling::option;
use crate::lab::words::MutantsArgs;
use crate::output;

pub fn execute(args: &MutantsArgs) -> anyhow::Result<ExitCode> {
    let one = args.name.as_deref().map(mutants::find).transpose()?;
    let all = one.map_or(MUTANTS, std::slice::from_ref);
    output::say(|out| match (one, args.json) {
        (_, true) => writeln!(out, "{:#}", Value::from_iter(all.iter().map(as_json))),
        (Some(mutant), false) => print_one(mutant, out),
        (None, false) => print(out),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut impl Write) -> std::io::Result<()> {
    let width = MUTANTS.iter().map(|mutant| mutant.name.len()).max().unwrap_or_default();
    for mutant in MUTANTS {
        let slip = if mutant.is_slip { " (a slip of the notes)" } else { "" };
        writeln!(out, "{:width$}  {}{slip}", mutant.name, mutant.what)?;
    }
    Ok(())
}

fn print_one(mutant: &Mutant, out: &mut impl Write) -> std::io::Result<()> {
    let bold = anstyle::Style::new().bold();
    let Mutant { name, entry, what, rule, .. } = mutant;
    writeln!(out, "{bold}{name}{bold:#}  {what}")?;
    writeln!(out, "    breaks  {rule}")?;
    if is_run(mutant) {
        writeln!(out, "    run     conclave run {} --mutant {name}", entry.name)?;
    }
    writeln!(out, "    search  {}", search(mutant))
}

/// The command that catches it.
fn search(Mutant { name, entry, caught, .. }: &Mutant) -> String {
    let mut words = format!("conclave check {} --mutant {name}", entry.name);
    for (setting, value) in *caught {
        words = format!("{words} {} {value}", option(setting)).trim_end().to_owned();
    }
    words
}

/// Whether it can be seen in a run: what need not happen for ever is only searched.
fn is_run(mutant: &Mutant) -> bool {
    !matches!(mutant.breaks, Breaks::Leaves | Breaks::Arrivals)
}

fn as_json(mutant: &Mutant) -> Value {
    json!({
        "name": mutant.name,
        "algorithm": mutant.entry.name,
        "what": mutant.what,
        "rule": mutant.rule,
        "search": search(mutant),
        "slip": mutant.is_slip,
        "runs": is_run(mutant),
    })
}
