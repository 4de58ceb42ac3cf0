//! What is told of a run of a failure detector.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{Phase, Seat};
use conclave_observe::property::Detection;
use serde_json::{Value, json};

use super::{Account, handled, load_line, sent, times};
use crate::plan::Done;
use crate::sentence::{counted, is_nobody_left};
use crate::unit::{Unit, spread};

/// What is told of it.
pub(crate) const ACCOUNT: Account = Account { work, lines, by_process: handled, fields };

/// How many are named before the rest is left out.
const NAMED_MOST: usize = 10;

/// Where all are down in the end.
const NOBODY_LEFT: &str = "nobody was left to notice";

/// For how long.
fn work(done: &Done) -> String {
    format!("for {}ms, ", done.plan.until)
}

/// Every figure, by its name.
fn lines(done: &Done) -> Vec<(&'static str, String)> {
    let report = &done.outcome.report;
    let Some(detection) = report.detection() else { return Vec::new() };
    vec![
        ("detected", detected(done, detection)),
        ("wrong", wrong(done, detection)),
        ("missed", missed(done, detection)),
        ("messages", sent(report)),
        ("load", load_line(report)),
    ]
}

fn detected(done: &Done, detection: &Detection) -> String {
    let none = match detection.deaths() {
        0 => "nobody died",
        _ if is_nobody_left(&done.outcome.report) => NOBODY_LEFT,
        _ => "nobody noticed",
    };
    spread(&detection.time_to_detect(), Unit::of(done.plan.network), none)
}

fn wrong(done: &Done, detection: &Detection) -> String {
    let id = |seat: Seat| done.view.at(seat);
    match detection.first_wrong() {
        None => "nobody was suspected that was up".into(),
        Some(first) => {
            let (who, whom) = (id(first.seat), id(first.whom));
            let count = counted(detection.wrong(), "suspicion", "suspicions");
            format!("{count}; the first: {who} suspected {whom} at {} ms", first.at)
        }
    }
}

fn missed(done: &Done, detection: &Detection) -> String {
    let mut by_death: BTreeMap<Seat, Vec<String>> = BTreeMap::new();
    for (who, whom) in detection.missed() {
        by_death.entry(whom).or_default().push(done.view.at(who).to_string());
    }
    if by_death.is_empty() {
        let none = match detection.deaths() {
            0 => "nobody died",
            _ if is_nobody_left(&done.outcome.report) => NOBODY_LEFT,
            _ => "no death went unnoticed",
        };
        return none.into();
    }
    let few = |mut names: Vec<String>, joint: &str| {
        if names.len() > NAMED_MOST {
            names.truncate(NAMED_MOST);
            names.push("...".into());
        }
        names.join(joint)
    };
    let deaths = by_death
        .into_iter()
        .map(|(whom, who)| format!("the death of {}, by {}", done.view.at(whom), few(who, ", ")));
    format!("unnoticed: {}", few(deaths.collect(), "; "))
}

/// What is told of the run, as fields of JSON.
fn fields(done: &Done) -> Value {
    let report = &done.outcome.report;
    let Some(detection) = report.detection() else { return Value::Null };
    let unit = Unit::of(done.plan.network);
    json!({
        "time_to_detect": times(&detection.time_to_detect(), unit),
        "wrong_suspicions": detection.wrong(),
        "missed_deaths": detection.missed().count(),
        "beats": report.bandwidth.in_phase(Phase::Upkeep),
        "until": unit.count(done.plan.until.0 as f64),
    })
}
