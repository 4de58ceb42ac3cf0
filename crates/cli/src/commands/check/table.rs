//! `conclave check --all`: every algorithm within the bounds it is known for, in one table.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{ContentArrangement, Table};
use conclave_algorithms::catalogue;
use conclave_check::Verdict;
use conclave_check::system::Flaw;
use serde_json::Value;

use super::properties::{self, Result};
use super::{bounds, channels_word, code, grouped, reason, search, to_json, word};
use crate::cli::{CheckArgs, Format};
use crate::exit;
use crate::interrupt::is_interrupted;
use crate::search::{SearchPlan, Searched, time_word};

/// One search and what came of it.
struct Row {
    plan: SearchPlan,
    searched: Searched,
    took: Duration,
    /// Whether it is known that the usual budget ends it.
    is_beyond: bool,
}

/// The columns.
pub const HEADS: [&str; 11] = [
    "algorithm",
    "N",
    "bounds",
    "channels",
    "time",
    "states",
    "generated",
    "depth",
    "seconds",
    "B/state",
    "found",
];

pub fn execute(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let mut rows = Vec::new();
    let mut out = anstream::stdout().lock();
    for entry in catalogue::all().take_while(|_| !is_interrupted()) {
        for bounds in entry.searches.iter().filter(|it| !(args.quick && it.is_large)) {
            let mut plan = SearchPlan::within(entry, bounds);
            let options = &mut plan.options;
            options.is_exact = args.exact;
            options.threads = args.threads.map_or(options.threads, usize::from);
            options.budget.bytes = args.max_memory;
            options.budget.states = args.max_states.unwrap_or(options.budget.states);
            options.liveness &= !args.safety;
            let (searched, took) = search(&plan, args.max_time)?;
            rows.push(Row { plan, searched, took, is_beyond: bounds.is_beyond });
            if is_interrupted() {
                break;
            }
        }
    }
    if args.json {
        let all =
            rows.iter().map(|row| to_json(&row.plan, &row.searched, row.took, &reason_of(row)));
        writeln!(out, "{}", Value::Array(all.collect()))?;
        return Ok(code_of(&rows));
    }
    match args.format {
        Format::Text => print_text(&rows, &mut out)?,
        Format::Markdown => print_markdown(&rows, &mut out)?,
        Format::Csv => print_separated(&rows, ",", &mut out)?,
        Format::Latex => print_separated(&rows, " & ", &mut out)?,
    }
    Ok(code_of(&rows))
}

fn reason_of(row: &Row) -> String {
    reason(&row.plan, &row.searched)
}

/// What is refuted here is known to be; but a row that a budget ended says nothing, unless that is
/// known, too.
fn code_of(rows: &[Row]) -> ExitCode {
    // The table is not whole then, whatever its rows say.
    if is_interrupted() {
        return ExitCode::from(exit::INTERRUPTED);
    }
    let is_short = |row: &Row| !row.is_beyond && matches!(verdict(row), Verdict::Budget(_));
    match rows.iter().find(|row| is_short(row) || matches!(verdict(row), Verdict::Vacuous(_))) {
        Some(row) => ExitCode::from(code(verdict(row))),
        None => ExitCode::SUCCESS,
    }
}

fn verdict(row: &Row) -> &Verdict {
    &row.searched.finding.verdict
}

fn fields(row: &Row) -> [String; 11] {
    fields_of(&row.plan, &row.searched, row.took)
}

/// What is said of one search, by column.
pub fn fields_of(plan: &SearchPlan, searched: &Searched, took: Duration) -> [String; 11] {
    let far = searched.finding.progress;
    [
        plan.entry.name.into(),
        plan.clients.len().to_string(),
        bounds(plan).join(", "),
        channels_word(plan.channels).into(),
        time_word(plan.time),
        grouped(far.distinct),
        grouped(far.generated),
        far.depth.to_string(),
        format!("{:.2}", took.as_secs_f64()),
        (far.bytes / far.distinct.max(1)).to_string(),
        found(plan, searched),
    ]
}

/// What was found, in a few words.
fn found(plan: &SearchPlan, searched: &Searched) -> String {
    let finding = &searched.finding;
    let results = properties::of(plan, finding);
    match &finding.verdict {
        Verdict::Proved => {
            let is_asked = |words| {
                results.iter().all(|&(of, result)| of != words || result != Result::NotAsked)
            };
            let (leads, is_live) = (is_asked(properties::ONE_LEADS), plan.options.liveness);
            match (leads, is_live) {
                (true, true) => "proved: safe and live",
                (true, false) => "proved: safe; left to simulation: liveness",
                (false, _) => "proved: safe; left to simulation: one leader at a time, liveness",
            }
            .into()
        }
        Verdict::Refuted(flaw) => {
            let steps = finding.counterexample.as_ref().map_or((0, None), |found| found.steps);
            let steps = match steps {
                (stem, Some(turn)) => format!("{} and a loop of {turn}", super::steps(stem)),
                (way, None) => super::steps(way),
            };
            let what = match flaw {
                Flaw::Breach(_) => {
                    let refuted = results.iter().find(|(_, result)| *result == Result::Refuted);
                    refuted.map_or("a promise", |(words, _)| words)
                }
                _ => word(&finding.verdict),
            };
            format!("refuted in {steps}: {what}")
        }
        Verdict::Vacuous(_) | Verdict::Inexact | Verdict::Budget(_) => {
            format!("{}: {}", word(&finding.verdict), reason(plan, searched))
        }
    }
}

fn print_text(rows: &[Row], out: &mut impl Write) -> std::io::Result<()> {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(HEADS);
    if std::io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    for row in rows {
        table.add_row(fields(row));
    }
    writeln!(out, "{table}")
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
