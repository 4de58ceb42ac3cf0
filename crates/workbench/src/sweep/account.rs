//! What is told of a sweep: in words, for programs, and as curves.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use conclave_diagram::plot::{Curve, Panel, Plot, Value};
use conclave_observe::Time;
use conclave_sim::Network;
use serde_json::{Value as Json, json};

use super::{Point, Sweep, Tuning};
use crate::unit::number;

/// What all points have in common.
pub fn conditions(sweep: &Sweep) -> String {
    let Sweep { n, runs, beat, until, seed, .. } = sweep;
    let runs = match runs {
        1 => format!("1 run of {until} ms"),
        _ => format!("{runs} runs of {until} ms each"),
    };
    format!("{n} processes, a beat every {beat} ms, {runs}, seed {seed}")
}

/// What the figures are.
pub const EXPLANATION: &str = "In each run one process crashes, at a random time. Wrong suspicions are \
     counted for each process and second; a death is not noticed if somebody does not suspect the \
     dead process when the run ends, counted for each who does not.";

/// The points of one network.
pub fn in_network(points: &[Point], network: Network) -> impl Iterator<Item = &Point> {
    points.iter().filter(move |point| point.network == network)
}

/// A network in words.
pub fn kind(network: Network) -> String {
    match network {
        Network::Unit | Network::Sync { .. } => "synchronous".into(),
        Network::Uniform { high, .. } => format!("synchronous: at most {high} ms"),
        Network::Exponential { .. } => "asynchronous".into(),
    }
}

/// What a detector is set to, in words.
pub fn tuning(tuning: Tuning) -> String {
    match tuning {
        Tuning::Bound(bound) => format!("D = {bound} ms"),
        Tuning::Threshold(phi) => format!("phi = {}", number(f64::from(phi) / 100.0)),
    }
}

/// So many nanoseconds, in milliseconds.
pub fn milliseconds(nanoseconds: f64) -> f64 {
    nanoseconds / Time::DELAY.0 as f64
}

/// How often a process suspected somebody wrongly, in a second. Zero is told from what is merely
/// small.
pub fn rate(point: &Point) -> String {
    if point.wrong == 0 { "0".into() } else { format!("{:.4}", point.wrong_rate()) }
}

/// All points for programs.
pub fn as_json(sweep: &Sweep, points: &[Point]) -> Json {
    let points: Vec<Json> = points
        .iter()
        .map(|point| {
            let (bound, phi) = match point.tuning {
                Tuning::Bound(bound) => (Some(bound.0), None),
                Tuning::Threshold(phi) => (None, Some(f64::from(phi) / 100.0)),
            };
            json!({
                "network": point.network.to_string(),
                "detector": point.tuning.detector(),
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

/// All points as curves, one panel for each network.
pub fn as_plot(sweep: &Sweep, points: &[Point]) -> Plot {
    let panel = |&network: &Network| {
        let curve = |detector: &str, name: &str| Curve {
            name: name.into(),
            points: in_network(points, network)
                .filter(|point| point.tuning.detector() == detector)
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
    let setting = match point.tuning {
        Tuning::Bound(bound) => format!("D={bound}"),
        Tuning::Threshold(phi) => format!("phi={}", number(f64::from(phi) / 100.0)),
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
    libm::round(value * 1e6) as u64
}
