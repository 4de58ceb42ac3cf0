//! What is told of a run that is over: every figure in words, and the same for programs.

mod detector;
mod election;
mod mutex;
mod process;

pub(crate) use detector::ACCOUNT as DETECTORS;
pub(crate) use election::ACCOUNT as ELECTIONS;
pub(crate) use mutex::ACCOUNT as LOCKS;
pub(crate) use process::ACCOUNT as PROCESSES;

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_observe::measure::Histogram;
use conclave_observe::{Report, Time};
use conclave_sim::AfterViolation;
use serde_json::{Map, Value, json};

use crate::family;
use crate::plan::Done;
use crate::scenario::Expected;
use crate::sentence::{counted, reason};
use crate::unit::{Unit, number};

/// What is told of a run of one family.
pub(crate) struct Account {
    /// What its applications were to do, in a few words that end with a comma.
    work: fn(&Done) -> String,
    /// Every figure, by its name.
    lines: fn(&Done) -> Vec<(&'static str, String)>,
    /// Process by process, line by line.
    by_process: fn(&Done) -> Vec<String>,
    /// All of it, for programs.
    fields: fn(&Done) -> Value,
}

fn of(done: &Done) -> &'static Account {
    &family::profile(done.plan.entry).account
}

/// The settings that what is told may name, in backticks.
pub const NAMED: [&str; 1] = ["ordering"];

/// What was run, in a line: `bully, 5 processes, network unit, called by 1, seed 1`.
pub fn head(done: &Done) -> String {
    let Done { plan, .. } = done;
    let n = counted(plan.clients.len() as u64, "process", "processes");
    let (name, network, seed) = (plan.entry.name, done.network(), plan.seed);
    let work = (of(done).work)(done);
    let mutant = plan.mutant.map(|it| format!("mutant {}, ", it.name)).unwrap_or_default();
    format!("{name}, {mutant}{n}, network {network}, {work}seed {seed}")
}

/// That a recorded run was taken again, if this is one.
pub fn replayed(done: &Done) -> Option<String> {
    done.replayed.as_ref()?;
    let events = counted(done.outcome.events, "event", "events");
    let records = counted(done.outcome.records.len() as u64, "record", "records");
    Some(format!("the real processes did all that the file says: {events}, {records}"))
}

/// Every figure by its name, what became of the faults, and the hash of all that happened.
pub fn lines(done: &Done) -> Vec<(&'static str, String)> {
    let mut lines = (of(done).lines)(done);
    if done.plan.after_violation == AfterViolation::GoOn {
        lines.push(("violations", violations(&done.outcome.report)));
    }
    for fault in &done.outcome.faults {
        let label = &fault.label;
        let text = match fault.count {
            0 => format!("{label} NEVER FIRED: the run was over, or there was nothing to hit"),
            1 => format!("{label} fired"),
            count => format!("{label} fired {count} times"),
        };
        lines.push(("fault", text));
    }
    for (id, at) in done.calls().1 {
        let text = format!("{id}@{at}ms NEVER CAME: {id} had died by then, or the run was over");
        lines.push(("call", text));
    }
    let (typical, unit) = (done.plan.network.typical(), Unit::of(done.plan.network));
    for slow in &done.plan.faults.slow {
        let longer = unit.show(slow.extra(typical));
        lines.push(("slow", format!("each step of {} takes {longer} longer", slow.process)));
    }
    for drift in &done.plan.faults.drifts {
        let text = format!("the clock of {} runs at {}", drift.process, drift.rate);
        lines.push(("drift", text));
    }
    lines.push(("trace hash", format!("{:016x}", done.outcome.report.fingerprint)));
    lines
}

/// What was to come of the run and did not, as its scenario has it.
pub fn unmet(done: &Done, expects: &[Expected]) -> Vec<String> {
    if expects.is_empty() {
        return Vec::new();
    }
    let verdict = format!("{}: {}", done.outcome.report.verdict, reason(done));
    let lines = [("verdict", verdict)].into_iter().chain(lines(done)).collect::<Vec<_>>();
    let is_met = |expected: &&Expected| {
        lines.iter().any(|(name, text)| *name == expected.name && text.starts_with(&expected.text))
    };
    let unmet = expects.iter().filter(|expected| !is_met(expected));
    unmet.map(|Expected { name, text }| format!("{name} {text} was expected")).collect()
}

/// How often each promise was broken, in a run that went on after the first time.
fn violations(report: &Report) -> String {
    let violations = report.violations();
    let all: u64 = violations.iter().map(|(_, times)| times).sum();
    let each: Vec<String> =
        violations.iter().map(|(what, times)| format!("{what} {times}")).collect();
    if all == 0 { "none".into() } else { format!("{all}: {}", each.join(", ")) }
}

/// Process by process, line by line: how much each had to do, and how long it waited.
pub fn by_process(done: &Done) -> Vec<String> {
    let mut lines = (of(done).by_process)(done);
    let (events, delivered) = (done.outcome.events, done.outcome.report.bandwidth.delivered());
    lines.insert(0, "by process:".to_owned());
    lines.push(format!("events: {events}, messages delivered: {delivered}"));
    lines
}

/// How much each process had to do: where nobody enters, there is no more to tell of it.
fn handled(done: &Done) -> Vec<String> {
    let handled = done.outcome.report.bandwidth.handled();
    let rows = done.view.members().iter().zip(handled);
    let rows = rows.map(|(id, count)| format!("  {:>6}  {count:>8}", id.0));
    [format!("  {:>6}  {:>8}", "p", "handled")].into_iter().chain(rows).collect()
}

fn load(report: &Report) -> (u64, f64) {
    let handled = report.bandwidth.handled();
    let busiest = handled.iter().copied().max().unwrap_or_default();
    (busiest, handled.iter().sum::<u64>() as f64 / handled.len().max(1) as f64)
}

fn load_line(report: &Report) -> String {
    let (busiest, mean) = load(report);
    let messages = counted(busiest, "message", "messages");
    format!("busiest process {messages}, mean {}", number(mean))
}

/// How many messages were sent, by kind.
fn sent(report: &Report) -> String {
    let kinds: Vec<String> =
        report.bandwidth.by_kind().map(|(kind, count)| format!("{} {count}", kind.name)).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    format!("{}{kinds}", report.bandwidth.sent())
}

/// All of it for programs. `command` is what does the same again, as the caller says it.
pub fn as_json(done: &Done, command: &str) -> Value {
    let Done { plan, outcome, view, .. } = done;
    let report = &outcome.report;
    let unit = Unit::of(plan.network);
    let by_kind: Map<_, _> = report
        .bandwidth
        .by_kind()
        .map(|(kind, count)| (kind.name.to_owned(), count.into()))
        .collect();
    let (busiest, mean) = load(report);
    let faults: Vec<Value> = outcome
        .faults
        .iter()
        .map(|fault| json!({ "fault": fault.label, "fired": fault.count }))
        .collect();
    let ids = |seats: &mut dyn Iterator<Item = Seat>| -> Vec<u32> {
        seats.map(|seat| view.at(seat).0).collect()
    };
    let mut fields = json!({
        "algorithm": plan.entry.name,
        "n": plan.clients.len(),
        "seed": plan.seed,
        "network": done.network(),
        "time_unit": unit.name(),
        "end": unit.count(report.end.0 as f64),
        "events": outcome.events,
        "messages": {
            "total": report.bandwidth.sent(),
            "by_kind": by_kind,
            "delivered": report.bandwidth.delivered(),
            "multicast_as_one": report.bandwidth.transmissions(),
        },
        "load": { "max": busiest, "mean": mean },
        "waits_for": outcome.diagnosis.as_ref().map(|it| ids(&mut it.path.iter().copied())),
        "faults_fired": faults,
        "violations": report.violations().iter().map(|(what, times)| {
            json!({ "what": what, "times": times })
        }).collect::<Vec<_>>(),
        "verdict": report.verdict.name(),
        "reason": reason(done),
        "trace_hash": format!("{:016x}", report.fingerprint),
        "command": command,
    });
    if let (Some(mutant), Value::Object(fields)) = (plan.mutant, &mut fields) {
        fields.insert("mutant".to_owned(), mutant.name.into());
    }
    let more = (of(done).fields)(done);
    if let (Value::Object(fields), Value::Object(more)) = (&mut fields, more) {
        fields.extend(more);
    }
    fields
}

fn times(histogram: &Histogram, unit: Unit) -> Value {
    let time = |time: Option<Time>| time.map(|time| unit.count(time.0 as f64));
    json!({
        "count": histogram.count(),
        "mean": histogram.mean().map(|mean| unit.count(mean)),
        "p50": time(histogram.percentile(50)),
        "p99": time(histogram.percentile(99)),
        "max": time(histogram.max()),
    })
}
