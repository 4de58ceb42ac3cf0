//! `conclave check --all`: every algorithm within the bounds it is known for, in one table.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use conclave_algorithms::catalogue;
use conclave_check::Conclusion;
use conclave_workbench::search::account::{self, HEADS};
use conclave_workbench::search::draft::check_states;
use conclave_workbench::search::{SearchPlan, Searched};
use serde_json::Value;

use super::{checked, code, reason, search, spend};
use crate::exit;
use crate::lab::interrupt::is_interrupted;
use crate::lab::words::{CheckArgs, Format};
use crate::output;

/// One search and what came of it.
struct Row {
    plan: SearchPlan,
    searched: Searched,
    took: Duration,
    /// What the catalogue knows of it.
    bounds: &'static catalogue::Bounds,
}

pub fn execute(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let max_states = check_states(args.max_states)?;
    let mut rows = Vec::new();
    for entry in catalogue::all().take_while(|_| !is_interrupted()) {
        for bounds in entry.searches.iter().filter(|it| !(args.quick && it.is_large)) {
            let mut plan = SearchPlan::within(entry, bounds);
            spend(&mut plan, args);
            let options = &mut plan.options;
            options.budget.states = max_states.unwrap_or(options.budget.states);
            options.liveness &= !args.safety;
            let (searched, took) = search(&plan, args.max_time)?;
            rows.push(Row { plan, searched, took, bounds });
            if is_interrupted() {
                break;
            }
        }
    }
    let as_json = |row: &Row| account::to_json(&row.plan, &row.searched, row.took, &reason_of(row));
    output::say(|out| match args.format {
        _ if args.json => writeln!(out, "{}", Value::from_iter(rows.iter().map(as_json))),
        Format::Text => print_text(&rows, out),
        Format::Markdown => print_markdown(&rows, out),
        Format::Csv => print_separated(&rows, ",", out),
        Format::Latex => print_separated(&rows, " & ", out),
    })?;
    Ok(code_of(&rows))
}

fn reason_of(row: &Row) -> String {
    reason(&row.plan, &row.searched)
}

/// A row that ends otherwise than it is known to is news: what was proved is refuted, what was
/// refuted is proved, a budget ended it, or it proves nothing.
fn code_of(rows: &[Row]) -> ExitCode {
    // The table is not whole then, whatever its rows say.
    if is_interrupted() {
        return ExitCode::from(exit::INTERRUPTED);
    }
    match rows.iter().find(|row| !is_as_known(row)) {
        // What is refuted as a rule, and now is not, has no code of its own.
        Some(row) if *verdict(row) == Conclusion::Proved => ExitCode::FAILURE,
        Some(row) => ExitCode::from(code(verdict(row))),
        None => ExitCode::SUCCESS,
    }
}

fn is_as_known(row: &Row) -> bool {
    match verdict(row) {
        Conclusion::Proved => !row.bounds.is_refuted,
        Conclusion::Refuted(_) => row.bounds.is_refuted,
        Conclusion::Budget(_) => row.bounds.is_beyond,
        Conclusion::Vacuous(_) | Conclusion::Inexact => false,
    }
}

fn verdict(row: &Row) -> &Conclusion {
    &row.searched.finding.verdict
}

fn fields(row: &Row) -> [String; 11] {
    checked(&row.plan, &row.searched, row.took)
}

fn print_text(rows: &[Row], out: &mut impl Write) -> std::io::Result<()> {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(HEADS);
    for row in rows {
        table.add_row(fields(row));
    }
    match output::screen() {
        None => writeln!(out, "{table}"),
        screen => writeln!(out, "{}", output::shown(table, screen)),
    }
}

fn print_markdown(rows: &[Row], out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "| {} |", HEADS.join(" | "))?;
    writeln!(out, "|{}", " --- |".repeat(HEADS.len()))?;
    for row in rows {
        writeln!(out, "| {} |", fields(row).join(" | "))?;
    }
    Ok(())
}

fn print_separated(rows: &[Row], by: &str, out: &mut impl Write) -> std::io::Result<()> {
    let is_csv = by == ",";
    let line = |fields: &[String]| {
        let quoted = fields.iter().map(|field| match is_csv && field.contains([',', '"']) {
            true => format!("\"{}\"", field.replace('"', "\"\"")),
            false => field.clone(),
        });
        let end = if is_csv { "" } else { r" \\" };
        format!("{}{end}", quoted.collect::<Vec<_>>().join(by))
    };
    writeln!(out, "{}", line(&HEADS.map(String::from)))?;
    for row in rows {
        writeln!(out, "{}", line(&fields(row)))?;
    }
    Ok(())
}
