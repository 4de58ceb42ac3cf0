//! What is told of a run of mutual exclusion.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{Phase, Seat, View};
use conclave_observe::family::locks::LockPanel;
use conclave_observe::{Report, Time};
use serde_json::{Value, json};

use super::{Account, load_line, sent, times};
use crate::plan::Done;
use crate::sentence::{counted, plural};
use crate::unit::{Unit, number, spread};

/// What is told of it.
pub(crate) const ACCOUNT: Account = Account { work, lines, by_process, fields };

/// What was to be done; a recorded run does not tell.
fn work(done: &Done) -> String {
    match done.replayed {
        Some(_) => String::new(),
        None => format!("workload {}, ", done.plan.workload),
    }
}

/// Every figure, by its name.
fn lines(done: &Done) -> Vec<(&'static str, String)> {
    let (report, unit) = (&done.outcome.report, Unit::of(done.plan.network));
    let Some(locks) = report.locks() else { return Vec::new() };
    let throughput = match locks.delays.throughput() {
        Some(rate) => {
            let rate = number(rate);
            let word = if rate == "1" { "entry" } else { "entries" };
            format!("{rate} {word} per {}", unit.one())
        }
        None => "too few entries to tell".into(),
    };
    vec![
        ("entries", format!("{} in {}", locks.delays.entries(), unit.show(report.end))),
        ("messages", messages(report)),
        ("client delay", spread(&locks.delays.client, unit, "nobody was alone")),
        ("sync delay", spread(&locks.delays.sync, unit, "nobody waited for another to leave")),
        ("wait", spread(&locks.delays.wait, unit, "nobody entered")),
        ("throughput", throughput),
        ("load", load_line(report)),
        ("fairness", fairness(locks)),
        ("safety", safety(locks)),
        ("liveness", liveness(locks, &done.view)),
        ("ordering", ordering(locks)),
        ("fences", fences(locks)),
    ]
}

/// What is told of the run, as fields of JSON.
fn fields(done: &Done) -> Value {
    let Done { plan, outcome, view, replayed } = done;
    let report = &outcome.report;
    let Some(locks) = report.locks() else { return Value::Null };
    let unit = Unit::of(plan.network);
    let (enter, leave) = per_entry(report);
    let ids = |seats: &mut dyn Iterator<Item = Seat>| -> Vec<u32> {
        seats.map(|seat| view.at(seat).0).collect()
    };
    json!({
        "workload": replayed.is_none().then(|| plan.workload.to_string()),
        "entries": locks.delays.entries(),
        "messages_per_entry": { "enter": enter, "leave": leave },
        "client_delay": times(&locks.delays.client, unit),
        "leave_delay": times(&locks.delays.leave, unit),
        "sync_delay": times(&locks.delays.sync, unit),
        "wait": times(&locks.delays.wait, unit),
        "throughput": locks.delays.throughput().map(|per_delay| match unit {
            Unit::Delays => per_delay,
            Unit::Nanoseconds => per_delay / Time::DELAY.0 as f64,
        }),
        "fairness": {
            "jain": locks.fairness.jain(),
            "overtakes": locks.overtakings(),
            "passed_by_later_requests_max": locks.waiting.overtaken_most(),
        },
        "safety": if locks.exclusion.broken().is_none() { "ok" } else { "violated" },
        "liveness": if locks.waiting.count() == 0 { "ok" } else { report.verdict.name() },
        "processes": processes(done, unit),
        "waiting": ids(&mut locks.waiting.iter()),
        "ordering": match locks.overtakings() {
            None => "not judged",
            Some(0) => "ok",
            Some(_) => "violated",
        },
        "fences": if locks.fences.broken().is_none() { "ok" } else { "violated" },
    })
}

fn messages(report: &Report) -> String {
    let (enter, leave) = per_entry(report);
    format!(
        "{}; per entry {} to enter, {} to leave; {} with a multicast as one",
        sent(report),
        enter.map_or("-".into(), number),
        leave.map_or("-".into(), number),
        report.bandwidth.transmissions(),
    )
}

fn per_entry(report: &Report) -> (Option<f64>, Option<f64>) {
    let entries = report.locks().map_or(0, |locks| locks.delays.entries());
    let share =
        |phase| (entries > 0).then(|| report.bandwidth.in_phase(phase) as f64 / entries as f64);
    (share(Phase::Enter), share(Phase::Leave))
}

fn fairness(locks: &LockPanel) -> String {
    let jain = locks.fairness.jain().map_or("-".into(), number);
    let passed = match locks.waiting.overtaken_most() {
        0 => "nobody was passed by a later request".into(),
        most => {
            let requests = counted(most, "later request", "later requests");
            format!("nobody was passed by more than {requests}")
        }
    };
    format!("Jain's index {jain}; {passed}")
}

fn safety(locks: &LockPanel) -> String {
    match locks.exclusion.broken() {
        None => "kept: never two holders".into(),
        Some(_) => "BROKEN: two holders".into(),
    }
}

fn liveness(locks: &LockPanel, view: &View) -> String {
    let waiting: Vec<String> =
        locks.waiting.iter().take(10).map(|seat| view.at(seat).to_string()).collect();
    match locks.waiting.count() {
        0 => "kept: nobody is left waiting".into(),
        count => {
            let more = if count > 10 { ", ..." } else { "" };
            format!(
                "{count} still {}: {}{more}",
                plural(count as u64, "waits", "wait"),
                waiting.join(", ")
            )
        }
    }
}

fn ordering(locks: &LockPanel) -> String {
    match locks.overtakings() {
        None => "not judged; ask for it with `ordering`".into(),
        Some(0) => "kept: no grant passed a request that had happened before".into(),
        Some(count) => {
            let grants = counted(count, "grant", "grants");
            format!("{grants} passed a request that had happened before")
        }
    }
}

fn fences(locks: &LockPanel) -> String {
    match locks.fences.broken() {
        None => "kept: every entry had a higher one".into(),
        Some(_) => "BROKEN: a fence did not grow".into(),
    }
}

/// How often each entered, how much it had to do, and how long it waited, line by line.
fn by_process(done: &Done) -> Vec<String> {
    let (report, unit) = (&done.outcome.report, Unit::of(done.plan.network));
    let Some(locks) = report.locks() else { return Vec::new() };
    let mut lines = vec![format!("  {:>6}  {:>8}  {:>8}  wait", "p", "entries", "handled")];
    for (index, waits) in locks.fairness.waits().iter().enumerate() {
        let (id, handled) = (done.view.at(Seat::at(index)), report.bandwidth.handled()[index]);
        let spread = spread(waits, unit, "-");
        lines.push(format!("  {:>6}  {:>8}  {handled:>8}  {spread}", id.0, waits.count()));
    }
    let leave = spread(&locks.delays.leave, unit, "nobody left");
    lines.push(format!("leave keeps the caller: {leave}"));
    lines
}

/// The figures of each process, as JSON.
fn processes(done: &Done, unit: Unit) -> Vec<Value> {
    let report = &done.outcome.report;
    let Some(locks) = report.locks() else { return Vec::new() };
    let waits = locks.fairness.waits().iter().zip(report.bandwidth.handled());
    let rows = waits.zip(done.view.members()).map(|((wait, handled), id)| {
        let entries = wait.count();
        json!({ "id": id.0, "entries": entries, "handled": handled, "wait": times(wait, unit) })
    });
    rows.collect()
}
