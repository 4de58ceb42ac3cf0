//! What is told of a run of elections.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_observe::Time;
use conclave_observe::family::elections::ElectionPanel;
use serde_json::{Value, json};

use super::{Account, handled, load_line, sent, times};
use crate::plan::Done;
use crate::sentence::counted;
use crate::unit::{Unit, spread};

/// What is told of it.
pub(crate) const ACCOUNT: Account = Account { work, lines, by_process: handled, fields };

/// Who called the election, for the first line.
fn work(done: &Done) -> String {
    let (came, never) = done.calls();
    let ids: Vec<_> = came.iter().map(|(id, _)| id.to_string()).collect();
    match ids.len() {
        0 if !never.is_empty() => "called by nobody, ".into(),
        0 => String::new(),
        1..=10 => format!("called by {}, ", ids.join(", ")),
        count => format!("called by {count}, "),
    }
}

/// Every figure, by its name.
fn lines(done: &Done) -> Vec<(&'static str, String)> {
    let report = &done.outcome.report;
    let Some(elections) = report.elections() else { return Vec::new() };
    let unit = Unit::of(done.plan.network);
    let mut lines = vec![
        ("leader", leader(done, elections)),
        ("messages", sent(report)),
        ("turnaround", turnaround(elections, unit)),
        ("load", load_line(report)),
    ];
    let terms = elections.per_term.terms();
    if terms > 0 {
        lines.insert(1, ("terms", format!("{terms} with a leader")));
    }
    if report.bandwidth.herd() > 0 {
        lines.push(("herd", format!("at most {} woken at once", report.bandwidth.herd())));
    }
    let (reads, writes, refused) = elections.versions.counts();
    if reads + writes + refused > 0 {
        let (reads, writes) = (counted(reads, "read", "reads"), counted(writes, "write", "writes"));
        lines.push(("value", format!("{reads}, {writes}, {refused} refused")));
    }
    lines.push(("safety", safety(elections).into()));
    lines.push(("liveness", liveness(done, elections)));
    lines
}

fn leader(done: &Done, elections: &ElectionPanel) -> String {
    match elections.leader() {
        Some(seat) => match done.outcome.report.crashed[seat.index()] {
            None => done.view.at(seat).to_string(),
            Some(_) => format!("{}, which is down", done.view.at(seat)),
        },
        None if elections.deciding.beliefs().next().is_none() => "nobody is up".into(),
        None if elections.decisions == 0 => "nobody was elected".into(),
        None => "not all that are up agree".into(),
    }
}

fn turnaround(elections: &ElectionPanel, unit: Unit) -> String {
    let Some(last) = elections.last_turnaround else {
        return "no election came to its end".into();
    };
    match elections.turnaround.count() {
        1 => unit.show(last),
        count => format!("{count} elections: {}", spread(&elections.turnaround, unit, "none")),
    }
}

/// Which promise was broken, if one was.
fn safety(elections: &ElectionPanel) -> &'static str {
    if elections.largest.as_ref().is_some_and(|it| it.broken().is_some()) {
        "BROKEN: the wrong one was elected"
    } else if elections.agreement.broken().is_some() {
        "BROKEN: not all agreed"
    } else if elections.per_term.broken().is_some() {
        "BROKEN: two leaders in one term"
    } else if elections.one_at_a_time.as_ref().is_some_and(|it| it.broken().is_some()) {
        "BROKEN: two led at once"
    } else if elections.versions.broken().is_some() || elections.register.broken().is_some() {
        "BROKEN: an answer was too old"
    } else {
        "kept"
    }
}

fn liveness(done: &Done, elections: &ElectionPanel) -> String {
    let undecided: Vec<String> =
        elections.deciding.iter().take(10).map(|seat| done.view.at(seat).to_string()).collect();
    match elections.deciding.undecided() {
        0 => "kept: nobody is left undecided".into(),
        count => {
            let more = if count > 10 { ", ..." } else { "" };
            format!("{count} still undecided: {}{more}", undecided.join(", "))
        }
    }
}

/// What is told of the run, as fields of JSON.
fn fields(done: &Done) -> Value {
    let report = &done.outcome.report;
    let Some(elections) = report.elections() else { return Value::Null };
    let unit = Unit::of(done.plan.network);
    let id = |seat: Seat| done.view.at(seat).0;
    let count = |time: Time| unit.count(time.0 as f64);
    let (reads, writes, refused) = elections.versions.counts();
    let (came, never) = done.calls();
    json!({
        "leader": elections.leader().map(id),
        "turnaround": elections.last_turnaround.map(count),
        "turnarounds": times(&elections.turnaround, unit),
        "terms": elections.per_term.terms(),
        "decisions": elections.decisions,
        "undecided": elections.deciding.iter().map(id).collect::<Vec<_>>(),
        "initiators": came.iter().map(|(id, _)| id.0).collect::<Vec<_>>(),
        "never_called": never.iter().map(|(id, _)| id.0).collect::<Vec<_>>(),
        "herd": report.bandwidth.herd(),
        "value": { "reads": reads, "writes": writes, "refused": refused },
        "safety": if elections.is_broken() { "violated" } else { "ok" },
        "liveness": if elections.deciding.undecided() == 0 { "ok" } else { report.verdict.name() },
    })
}
