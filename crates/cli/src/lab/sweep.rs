//! `conclave sweep`: what failure detectors trade, in figures and as curves.

use std::io::Write;
use std::process::ExitCode;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use conclave_diagram::plot::plot;
use conclave_workbench::sweep::account::{
    self, EXPLANATION, conditions, in_network, kind, milliseconds, rate, tuning,
};
use conclave_workbench::sweep::{Point, Sweep};

use crate::lab::progress::Progress;
use crate::lab::spelling::refused;
use crate::lab::words::SweepArgs;
use crate::output;

pub fn execute(args: &SweepArgs) -> anyhow::Result<ExitCode> {
    let sweep = args.settings.plan()?;
    sweep.check().map_err(refused)?;
    sweep.check_memory(args.memory.limit()).map_err(refused)?;
    // Better to be told before a long sweep than after it.
    if let Some(path) = &args.svg {
        output::check_writable(path)?;
    }
    let progress = Progress::new(sweep.len() as u64, "points");
    let points = sweep.measure(&mut |done| progress.set(done as u64))?;
    drop(progress);
    output::say(|out| match args.json {
        true => writeln!(out, "{:#}", account::as_json(&sweep, &points)),
        false => print(&sweep, &points, out),
    })?;
    if let Some(path) = &args.svg {
        let picture = plot(&account::as_plot(&sweep, &points));
        output::write_file(path, |file| file.write_all(picture.as_bytes()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A time with few digits; a dash where there is none.
fn show(nanoseconds: Option<f64>) -> String {
    nanoseconds.map_or_else(|| "-".into(), |it| format!("{:.2}", milliseconds(it)))
}

fn print(sweep: &Sweep, points: &[Point], out: &mut impl Write) -> std::io::Result<()> {
    let screen = output::screen();
    let head = format!("failure detectors: {}", conditions(sweep));
    writeln!(out, "{}", output::wrapped(&head, screen, ""))?;
    writeln!(out, "{}", output::wrapped(EXPLANATION, screen, ""))?;
    for &network in &sweep.networks {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header([
            "detector",
            "set to",
            "detected after, mean ms",
            "max ms",
            "wrong / process / s",
            "deaths not noticed",
            "beats sent",
        ]);
        for point in in_network(points, network) {
            table.add_row([
                point.tuning.detector().into(),
                tuning(point.tuning),
                show(point.mean),
                show(point.max.map(|max| max.0 as f64)),
                rate(point),
                format!("{} of {}", point.missed, point.deaths),
                point.beats.to_string(),
            ]);
        }
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let (bold, table) = (anstyle::Style::new().bold(), output::shown(table, screen));
        writeln!(out, "\n{bold}{network}{bold:#} ({})\n{table}", kind(network))?;
    }
    Ok(())
}
