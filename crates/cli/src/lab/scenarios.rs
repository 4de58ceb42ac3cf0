//! `conclave scenarios`: those that come with the program.

use std::io::Write;
use std::process::ExitCode;

use conclave_workbench::bundled::{self, Bundled, SCENARIOS};
use serde_json::{Value, json};

use crate::lab::words::ScenariosArgs;
use crate::output;

pub fn execute(args: &ScenariosArgs) -> anyhow::Result<ExitCode> {
    let one = args.name.as_deref().map(bundled::find).transpose()?;
    output::say(|out| match (one, args.json) {
        (Some(scenario), true) => writeln!(out, "{:#}", as_json(scenario)),
        (Some(scenario), false) => write!(out, "{}", scenario.text),
        (None, true) => writeln!(out, "{:#}", Value::from_iter(SCENARIOS.iter().map(as_json))),
        (None, false) => print(out),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut impl Write) -> std::io::Result<()> {
    let width = SCENARIOS.iter().map(|scenario| scenario.name.len()).max().unwrap_or_default();
    for scenario in SCENARIOS {
        writeln!(out, "{:width$}  {}", scenario.name, scenario.summary())?;
    }
    Ok(())
}

fn as_json(scenario: &Bundled) -> Value {
    json!({ "name": scenario.name, "summary": scenario.summary(), "text": scenario.text })
}
