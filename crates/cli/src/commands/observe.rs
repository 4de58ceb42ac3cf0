//! `conclave observe`: follow who leads.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use conclave_client::{Office, blocking, utc};
use serde_json::json;

use super::service_failure;
use crate::cli::ObserveArgs;
use crate::{engine, exit, once};

/// Prints what happens until it is stopped.
pub fn execute(args: &ObserveArgs) -> Result<ExitCode> {
    let engine = match engine::open(&args.engine) {
        Ok(engine) => engine,
        Err(refused) => return Ok(refused.exit()),
    };
    let client = blocking::Client::new(engine);
    let offices = match client.observe(args.name.as_str()) {
        Ok(offices) => offices,
        Err(error) => return Ok(service_failure(&error)),
    };
    for office in offices {
        let office = match office {
            Ok(office) => office,
            Err(error) => return Ok(service_failure(&error)),
        };
        let line = if args.json { as_json(&office) } else { as_text(&office) };
        let mut out = anstream::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()?;
        if args.now {
            let leads = matches!(office, Office::Elected { .. });
            return Ok(ExitCode::from(if leads { 0 } else { exit::NOT_ACQUIRED }));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn as_text(office: &Office) -> String {
    let now = utc(once::now());
    match office {
        Office::Vacant => format!("{now} vacant"),
        Office::Resigned { fence } => format!("{now} resigned, fence {fence}"),
        Office::Elected { fence, value, owner } => {
            let value = String::from_utf8_lossy(value);
            let value: String = value.chars().flat_map(printable).collect();
            let value = if value.is_empty() { value } else { format!(", value {value}") };
            format!("{now} elected {owner}, fence {fence}{value}")
        }
        other => format!("{now} {other:?}"),
    }
}

/// Control characters would play tricks on a terminal.
fn printable(letter: char) -> Vec<char> {
    if letter.is_control() { letter.escape_default().collect() } else { vec![letter] }
}

fn as_json(office: &Office) -> String {
    let at = utc(once::now());
    let object = match office {
        Office::Vacant => json!({ "event": "vacant", "at": at }),
        Office::Resigned { fence } => {
            json!({ "event": "resigned", "at": at, "fence": fence.to_string() })
        }
        Office::Elected { fence, value, owner } => json!({
            "event": "elected",
            "at": at,
            "fence": fence.to_string(),
            "value": String::from_utf8_lossy(value),
            "label": owner.label,
            "host": owner.host,
            "pid": owner.pid,
            "since": utc(owner.since),
        }),
        other => json!({ "event": format!("{other:?}"), "at": at }),
    };
    object.to_string()
}
