//! What is told of a run of a failure detector.

use conclave_core::{Phase, Seat};
use conclave_observe::property::Detection;
use serde_json::{Value, json};

use super::super::output::{Unit, spread};
use super::{load_line, sent, times};
use crate::plan::Done;
use crate::sentence::plural;

/// For how long.
pub fn work(done: &Done) -> String {
    format!("for {}ms, ", done.plan.until)
}

/// Every figure, by its name.
pub fn lines(done: &Done) -> Vec<(&'static str, String)> {
    let report = &done.outcome.report;
    let Some(detection) = &report.detection else { return Vec::new() };
    vec![
        ("detected", spread(&detection.time_to_detect, "nobody died, or nobody noticed")),
        ("wrong", wrong(done, detection)),
        ("missed", missed(done, detection)),
        ("messages", sent(report)),
        ("load", load_line(report)),
    ]
}

fn wrong(done: &Done, detection: &Detection) -> String {
    let id = |seat: Seat| done.view.at(seat);
    match detection.first_wrong() {
        None => "nobody was suspected that was up".into(),
        Some(first) => {
            let (count, who, whom) = (detection.wrong(), id(first.seat), id(first.whom));
            let word = plural(count, "suspicion", "suspicions");
            format!("{count} {word}; the first: {who} suspected {whom} at {} ms", first.at)
        }
    }
}

fn missed(done: &Done, detection: &Detection) -> String {
    let count = detection.missed().count() as u64;
    match detection.missed().next() {
        None => "no death went unnoticed".into(),
        Some((who, whom)) => {
            let (who, whom) = (done.view.at(who), done.view.at(whom));
            let word = plural(count, "death", "deaths");
            format!("{count} {word} unnoticed, by one each; the first: that of {whom}, by {who}")
        }
    }
}

/// The same, for programs.
pub fn fields(done: &Done) -> Value {
    let report = &done.outcome.report;
    let Some(detection) = &report.detection else { return Value::Null };
    let unit = Unit::of(done.plan.network);
    json!({
        "time_to_detect": times(&detection.time_to_detect, unit),
        "wrong_suspicions": detection.wrong(),
        "missed_deaths": detection.missed().count(),
        "beats": report.bandwidth.in_phase(Phase::Upkeep),
        "until": unit.count(done.plan.until.0 as f64),
    })
}
