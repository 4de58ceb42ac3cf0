//! `conclave sweep`: what failure detectors trade, in figures and as curves.

use std::io::Write;
use std::process::ExitCode;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use conclave_diagram::plot::{Curve, Panel, Plot, Value, plot};
use conclave_observe::Time;
use conclave_sim::Network;
use serde_json::{Value as Json, json};

use super::output::{self, number};
use crate::cli::SweepArgs;
use crate::progress::Progress;
use crate::sweep::{Point, Setting, Sweep};

pub fn execute(args: &SweepArgs) -> anyhow::Result<ExitCode> {
    let sweep = sweep_of(args);
    sweep.check()?;
    // Better to be told before a long sweep than after it.
    if let Some(path) = &args.svg {
        output::check_writable(path)?;
    }
    let progress = Progress::new(sweep.len() as u64, "points");
    let points = sweep.measure(&mut |done| progress.set(done as u64))?;
    drop(progress);
    output::say(|out| match args.json {
        true => writeln!(out, "{:#}", as_json(&sweep, &points)),
        false => print(&sweep, &points, out),
    })?;
    if let Some(path) = &args.svg {
        let picture = plot(&as_plot(&sweep, &points));
        output::write_file(path, |file| file.write_all(picture.as_bytes()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn sweep_of(args: &SweepArgs) -> Sweep {
    let five = Time::delays(5);
    let mut networks: Vec<Network> = Vec::new();
    for &network in &args.network {
        if !networks.contains(&network) {
            networks.push(network);
        }
    }
    if networks.is_empty() {
        networks = vec![Network::Sync { bound: five }, Network::Exponential { mean: five }];
    }
    Sweep {
        n: args.n,
        networks,
        bounds: args.bounds.clone(),
        thresholds: args.thresholds.clone(),
        runs: args.runs,
        beat: args.beat,
        until: args.until,
        seed: args.seed,
    }
}

/// What all points have in common.
fn conditions(sweep: &Sweep) -> String {
    let Sweep { n, runs, beat, until, seed, .. } = sweep;
    let runs = match runs {
        1 => format!("1 run of {until} ms"),
        _ => format!("{runs} runs of {until} ms each"),
    };
    format!("{n} processes, a beat every {beat} ms, {runs}, seed {seed}")
}

const EXPLANATION: &str = "In each run one process crashes, at a random time. Wrong suspicions are \
     counted for each process and second; a death is not noticed if somebody does not suspect the \
     dead process when the run ends, counted for each who does not.";

fn in_network(points: &[Point], network: Network) -> impl Iterator<Item = &Point> {
    points.iter().filter(move |point| point.network == network)
}

/// A network in words.
fn kind(network: Network) -> String {
    match network {
        Network::Unit | Network::Sync { .. } => "synchronous".into(),
        Network::Uniform { high, .. } => format!("synchronous: at most {high} ms"),
        Network::Exponential { .. } => "asynchronous".into(),
    }
}

fn setting(setting: Setting) -> String {
    match setting {
        Setting::Bound(bound) => format!("D = {bound} ms"),
        Setting::Threshold(phi) => format!("phi = {}", number(f64::from(phi) / 100.0)),
    }
}

fn milliseconds(nanoseconds: f64) -> f64 {
    nanoseconds / Time::DELAY.0 as f64
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
                point.setting.detector().into(),
                setting(point.setting),
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

/// Zero is told from what is merely small.
fn rate(point: &Point) -> String {
    if point.wrong == 0 { "0".into() } else { format!("{:.4}", point.wrong_rate()) }
}

fn as_json(sweep: &Sweep, points: &[Point]) -> Json {
    let points: Vec<Json> = points
        .iter()
        .map(|point| {
            let (bound, phi) = match point.setting {
                Setting::Bound(bound) => (Some(bound.0), None),
                Setting::Threshold(phi) => (None, Some(f64::from(phi) / 100.0)),
            };
            json!({
                "network": point.network.to_string(),
                "detector": point.setting.detector(),
                "bound": bound,
                "phi": phi,
                "time_to_detect": { "mean": point.mean, "max": point.max.map(|max| max.0) },
                "wrong_suspicions": point.wrong,
                "process_seconds": point.up,
                "wrong_per_process_second": point.wrong_rate(),
                "missed_deaths": point.missed,
                "deaths": point.deaths,
                "beats": point.beats,
            })
        })
        .collect();
    json!({
        "n": sweep.n,
        "seed": sweep.seed,
        "runs": sweep.runs,
        "time_unit": "ns",
        "beat": sweep.beat.0,
        "for": sweep.until.0,
        "points": points,
    })
}

fn as_plot(sweep: &Sweep, points: &[Point]) -> Plot {
    let panel = |&network: &Network| {
        let curve = |detector: &str, name: &str| Curve {
            name: name.into(),
            points: in_network(points, network)
                .filter(|point| point.setting.detector() == detector)
                .map(value)
                .collect(),
        };
        Panel {
            title: format!("{network} ({})", kind(network)),
            curves: vec![
                curve("heartbeat", "heartbeat, assumed bound D in ms"),
                curve("phi", "phi accrual, threshold phi"),
            ],
        }
    };
    Plot {
        title: "Failure detectors: how soon a death is noticed, and how often that is wrong".into(),
        across: "mean time to detect, in ms".into(),
        up: "wrong suspicions per process and second".into(),
        beyond: "no death was noticed".into(),
        ringed: "ringed: deaths went unnoticed, which the mean does not count".into(),
        panels: sweep.networks.iter().map(panel).collect(),
        caption: vec![format!("{}.", conditions(sweep))],
    }
}

/// A point of a curve. What nobody noticed has no time to detect; that it was missed is said.
fn value(point: &Point) -> Value {
    let setting = match point.setting {
        Setting::Bound(bound) => format!("D={bound}"),
        Setting::Threshold(phi) => format!("phi={}", number(f64::from(phi) / 100.0)),
    };
    let up = millionths(point.wrong_rate());
    // However rare, it is not never.
    let up = if point.wrong > 0 { up.max(1) } else { up };
    let across = point.mean.map(|mean| millionths(milliseconds(mean)));
    let label = match across {
        Some(_) => setting,
        None => format!("{setting}: {} of {} missed", point.missed, point.deaths),
    };
    Value { across, up, label, is_ringed: point.missed > 0 && across.is_some() }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is positive, and what does not fit saturates"
)]
fn millionths(value: f64) -> u64 {
    (value * 1e6).round() as u64
}
