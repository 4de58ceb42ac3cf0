//! `conclave table`: every algorithm, measured beside its formula.

use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use conclave_algorithms::catalogue::{ELECTIONS, MUTEXES};
use conclave_algorithms::quorum::Construction;
use conclave_observe::Verdict;
use conclave_workbench::sentence::counted;
use conclave_workbench::table::{self, Row, fields, heads, legend, measure, rows};

use crate::exit;
use crate::lab::progress::Progress;
use crate::lab::words::{Format, Kind, TableArgs};
use crate::output;

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
    let rows: Vec<Row> =
        measured.iter().flat_map(|(entry, figures)| rows(entry, figures)).collect();
    output::say(|out| match (args.json, args.format) {
        (true, _) => writeln!(out, "{:#}", table::as_json(&measured)),
        (_, Format::Text) => print_text(&rows, &sizes, explanation, out),
        (_, Format::Markdown) => print_markdown(&rows, &sizes, explanation, out),
        (_, Format::Latex) => print_latex(&rows, &sizes, explanation, out),
        (_, Format::Csv) => print_csv(&rows, &sizes, out),
    })?;
    let figures = measured.iter().flat_map(|(_, figures)| figures);
    let wrong = figures.filter(|figure| !figure.holds()).count();
    if wrong > 0 {
        let one = "figure is not what it must be; it is";
        let many = "figures are not what they must be; they are";
        anstream::eprintln!("{} marked with !", counted(wrong as u64, one, many));
        return Ok(exit::exit_code(Verdict::Violated));
    }
    Ok(ExitCode::SUCCESS)
}

fn explanation(kind: Kind) -> &'static str {
    match kind {
        Kind::Mutex => table::EXPLANATION,
        Kind::Election => table::EXPLANATION_OF_ELECTIONS,
    }
}

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
