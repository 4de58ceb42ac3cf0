//! `conclave table`: every algorithm, measured beside its formula.

use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use conclave_algorithms::catalogue::{Document, ELECTIONS, Entry, MUTEXES, SeatingError};
use conclave_algorithms::quorum::Construction;
use conclave_observe::Verdict;
use serde_json::{Value, json};

use super::output::{self, number};
use crate::cell::Cell;
use crate::cli::{Format, Kind, TableArgs};
use crate::progress::Progress;
use crate::sentence::counted;
use crate::{exit, experiment};

pub fn execute(args: &TableArgs) -> anyhow::Result<ExitCode> {
    if args.kind == Kind::Election && args.voting_sets.is_some() {
        bail!("no election uses voting sets; leave --voting-sets out, or choose --kind mutex");
    }
    let construction = args.voting_sets.unwrap_or(Construction::Grid);
    let mut sizes = args.n.clone();
    sizes.sort_unstable();
    sizes.dedup();
    let entries = match args.kind {
        Kind::Mutex => MUTEXES,
        Kind::Election => ELECTIONS,
    };
    let explanation = explanation(args.kind);
    let progress = Progress::new((entries.len() * sizes.len()) as u64, "experiments");
    let measured = measure(entries, &sizes, construction, &mut |done| progress.set(done))?;
    drop(progress);
    let rows: Vec<Row> = measured.iter().flat_map(|(entry, cells)| rows(entry, cells)).collect();
    output::say(|out| match (args.json, args.format) {
        (true, _) => print_json(&measured, out),
        (_, Format::Text) => print_text(&rows, &sizes, explanation, out),
        (_, Format::Markdown) => print_markdown(&rows, &sizes, explanation, out),
        (_, Format::Latex) => print_latex(&rows, &sizes, explanation, out),
        (_, Format::Csv) => print_csv(&rows, &sizes, out),
    })?;
    let wrong = measured.iter().flat_map(|(_, cells)| cells).filter(|cell| !cell.holds()).count();
    if wrong > 0 {
        let one = "figure is not what it must be; it is";
        let many = "figures are not what they must be; they are";
        anstream::eprintln!("{} marked with !", counted(wrong as u64, one, many));
        return Ok(exit::exit_code(Verdict::Violated));
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures each algorithm with each number of processes, which is an experiment; `progress` is
/// told how many are done.
fn measure(
    entries: &[&'static Entry],
    sizes: &[u32],
    construction: Construction,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<(&'static Entry, Vec<Cell>)>, SeatingError> {
    let mut done = 0;
    let mut measured = Vec::new();
    for &entry in entries {
        let mut cells = Vec::new();
        for &n in sizes {
            cells.extend(experiment::measure(entry, n, construction)?);
            done += 1;
            progress(done);
        }
        measured.push((entry, cells));
    }
    Ok(measured)
}

/// One measure of one algorithm, for all sizes.
struct Row {
    entry: &'static Entry,
    measure: &'static str,
    formula: String,
    figures: Vec<String>,
    notes: String,
}

fn rows(entry: &'static Entry, cells: &[Cell]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for cell in cells {
        let measure = cell.measure.name();
        let at = rows.iter().position(|row| row.measure == measure).unwrap_or_else(|| {
            rows.push(Row {
                entry,
                measure,
                formula: cell.formula.unwrap_or_default().to_owned(),
                figures: Vec::new(),
                notes: cell.notes(entry),
            });
            rows.len() - 1
        });
        let nothing = if entry.promises.liveness() { "none" } else { "deadlock" };
        let mark = if cell.holds() { "" } else { " !" };
        let figure = cell.measured.map_or(nothing.into(), number);
        rows[at].figures.push(format!("{figure}{mark}"));
    }
    rows
}

fn heads(sizes: &[u32]) -> Vec<String> {
    let names = ["measure", "formula"].map(String::from).into_iter();
    let sizes = sizes.iter().map(|n| format!("N={n}"));
    names.chain(sizes).chain(["the notes say".into()]).collect()
}

fn fields(row: &Row) -> Vec<String> {
    let names = [row.measure.to_owned(), row.formula.clone()];
    names.into_iter().chain(row.figures.iter().cloned()).chain([row.notes.clone()]).collect()
}

fn legend() -> String {
    let documents = Document::ALL.map(|it| format!("{} = {}", it.letter(), it.title()));
    format!(
        "\"The notes say\" what four sets of lecture notes give, with why where it differs: {}.",
        documents.join("; ")
    )
}

fn explanation(kind: Kind) -> &'static str {
    match kind {
        Kind::Mutex => EXPLANATION,
        Kind::Election => EXPLANATION_OF_ELECTIONS,
    }
}

const EXPLANATION_OF_ELECTIONS: &str = "Messages and delays of the unit network: every message \
     takes one delay, one to oneself takes none and is not counted. N processes take part. Best \
     and worst: who calls is best or worst placed; for the bully, N is dead. Turnaround: from \
     the call to the last process knowing. Messages that keep an office or go to a store are \
     counted apart.";

const EXPLANATION: &str = "Messages and delays of the unit network: every message takes one delay, \
     one to oneself takes none and is not counted. N processes ask for the lock; K is the mean \
     size of a voting set. Loads are messages handled per entry, at saturation; holders stay for \
     one delay.";

fn print_text(
    rows: &[Row],
    sizes: &[u32],
    explanation: &str,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let screen = output::screen();
    for prose in [explanation, &legend()] {
        writeln!(out, "{}", output::wrapped(prose, screen, ""))?;
    }
    writeln!(out)?;
    for entry_rows in rows.chunk_by(|a, b| a.entry.name == b.entry.name) {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(heads(sizes));
        for row in entry_rows {
            table.add_row(fields(row));
        }
        let table = output::shown(table, screen);
        let (bold, entry) = (anstyle::Style::new().bold(), entry_rows[0].entry);
        writeln!(out, "{bold}{}{bold:#} ({})\n{table}\n", entry.title, entry.name)?;
    }
    Ok(())
}

fn print_markdown(
    rows: &[Row],
    sizes: &[u32],
    explanation: &str,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let heads = heads(sizes);
    writeln!(out, "| algorithm | {} |", heads.join(" | "))?;
    writeln!(out, "|{}", " --- |".repeat(heads.len() + 1))?;
    for row in rows {
        writeln!(out, "| {} | {} |", row.entry.name, fields(row).join(" | "))?;
    }
    writeln!(out, "\n{explanation}\n\n{}", legend())
}

fn print_latex(
    rows: &[Row],
    sizes: &[u32],
    explanation: &str,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let columns = format!("lll{}p{{6cm}}", "r".repeat(sizes.len()));
    writeln!(out, "\\begin{{tabular}}{{{columns}}}\n\\hline")?;
    let escape = |text: &str| text.replace('_', "\\_").replace('&', "\\&").replace('%', "\\%");
    let line = |fields: Vec<String>| {
        fields.iter().map(|field| escape(field)).collect::<Vec<_>>().join(" & ")
    };
    writeln!(out, "algorithm & {} \\\\\n\\hline", line(heads(sizes)))?;
    for row in rows {
        writeln!(out, "{} & {} \\\\", row.entry.name, line(fields(row)))?;
    }
    writeln!(out, "\\hline\n\\end{{tabular}}\n% {explanation}\n% {}", legend())
}

fn print_csv(rows: &[Row], sizes: &[u32], out: &mut impl Write) -> std::io::Result<()> {
    let quote = |field: &String| {
        if field.contains([',', '"']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.clone()
        }
    };
    let line = |fields: &[String]| fields.iter().map(quote).collect::<Vec<_>>().join(",");
    writeln!(out, "algorithm,{}", line(&heads(sizes)))?;
    for row in rows {
        writeln!(out, "{},{}", row.entry.name, line(&fields(row)))?;
    }
    Ok(())
}

fn print_json(measured: &[(&Entry, Vec<Cell>)], out: &mut impl Write) -> std::io::Result<()> {
    let cells = measured.iter().flat_map(|(entry, cells)| {
        cells.iter().map(|cell| {
            json!({
                "algorithm": cell.algorithm,
                "n": cell.n,
                "measure": cell.measure.name(),
                "measured": cell.measured,
                "formula": cell.formula,
                "expected": cell.expected,
                "exact": cell.exact,
                "holds": cell.holds(),
                "notes": cell.notes(entry),
            })
        })
    });
    writeln!(out, "{:#}", Value::from_iter(cells))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_counts_experiments_and_ends_with_the_last() {
        let (entries, sizes) = (&MUTEXES[..2], [2, 3, 4]);
        let mut told = Vec::new();
        measure(entries, &sizes, Construction::Grid, &mut |done| told.push(done)).unwrap();
        assert_eq!(told, [1, 2, 3, 4, 5, 6]);
    }
}
