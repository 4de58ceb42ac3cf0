//! `conclave check --all`: every algorithm within the bounds it is known for, in one table.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use conclave_algorithms::catalogue;
use conclave_check::Verdict;
use conclave_check::system::Flaw;
use serde_json::Value;

use super::super::output;
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
    /// What the catalogue knows of it.
    bounds: &'static catalogue::Bounds,
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
    let max_states = super::max_states(args)?;
    let mut rows = Vec::new();
    for entry in catalogue::all().take_while(|_| !is_interrupted()) {
        for bounds in entry.searches.iter().filter(|it| !(args.quick && it.is_large)) {
            let mut plan = SearchPlan::within(entry, bounds);
            let options = &mut plan.options;
            options.is_exact = args.exact;
            options.threads = args.threads.map_or(options.threads, usize::from);
            options.budget.bytes = args.max_memory;
            options.budget.states = max_states.unwrap_or(options.budget.states);
            options.liveness &= !args.safety;
            let (searched, took) = search(&plan, args.max_time)?;
            rows.push(Row { plan, searched, took, bounds });
            if is_interrupted() {
                break;
            }
        }
    }
    let as_json = |row: &Row| to_json(&row.plan, &row.searched, row.took, &reason_of(row));
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
        Some(row) if *verdict(row) == Verdict::Proved => ExitCode::FAILURE,
        Some(row) => ExitCode::from(code(verdict(row))),
        None => ExitCode::SUCCESS,
    }
}

fn is_as_known(row: &Row) -> bool {
    match verdict(row) {
        Verdict::Proved => !row.bounds.is_refuted,
        Verdict::Refuted(_) => row.bounds.is_refuted,
        Verdict::Budget(_) => row.bounds.is_beyond,
        Verdict::Vacuous(_) | Verdict::Inexact => false,
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
            let leads = is_asked(properties::ONE_LEADS);
            match (leads, plan.is_complete(), plan.options.liveness) {
                (true, true, true) => "proved: safe and live",
                (true, true, false) => "proved: safe; liveness not asked",
                // Nobody knows what comes at last beyond the bounds.
                (true, false, _) => "proved: safe; left to simulation: liveness",
                (false, ..) => "proved: safe; left to simulation: one leader at a time, liveness",
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
