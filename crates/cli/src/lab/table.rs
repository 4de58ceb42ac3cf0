//! `conclave table`: every algorithm, measured beside its formula.

use std::io::Write;
use std::process::ExitCode;

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use conclave_observe::Verdict;
use conclave_workbench::sentence::counted;
use conclave_workbench::table::{self, Row, TableKind, TablePlan, fields, heads, legend, rows};

use crate::exit;
use crate::lab::progress::Progress;
use crate::lab::spelling::refused;
use crate::lab::words::{Format, TableArgs};
use crate::output;

pub fn execute(args: &TableArgs) -> anyhow::Result<ExitCode> {
    let plan = args.settings.plan()?;
    plan.check().map_err(refused)?;
    plan.check_memory(args.memory.limit()).map_err(refused)?;
    let TablePlan { kind: TableKind { explanation, .. }, sizes, .. } = &plan;
    let progress = Progress::new(plan.experiments(), "experiments");
    let measured = plan.measure(&mut |done| progress.set(done))?;
    drop(progress);
    let rows: Vec<Row> =
        measured.iter().flat_map(|(entry, figures)| rows(entry, figures)).collect();
    output::say(|out| match (args.json, args.format) {
        (true, _) => writeln!(out, "{:#}", table::as_json(&measured)),
        (_, Format::Text) => print_text(&rows, sizes, explanation, out),
        (_, Format::Markdown) => print_markdown(&rows, sizes, explanation, out),
        (_, Format::Latex) => print_latex(&rows, sizes, explanation, out),
        (_, Format::Csv) => print_csv(&rows, sizes, out),
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
