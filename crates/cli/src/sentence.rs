//! A finished run in words.

use conclave_core::{ProcessId, Seat};
use conclave_observe::property::Ordering;
use conclave_observe::{Ending, Report, Verdict};

use crate::plan::Done;

/// What came of it, in one sentence that a student understands.
pub fn reason(done: &Done) -> String {
    let id = |seat: Seat| done.view.at(seat);
    judged(&done.outcome.report, done.plan.entry.promises.ordering(), id)
        .or_else(|| done.outcome.diagnosis.as_ref().map(|diagnosis| diagnosis.sentence(id)))
        .unwrap_or_else(|| ended(&done.outcome.report))
}

/// The sentence of a report by itself; `None` where only a diagnosis can tell more.
pub fn judged(
    report: &Report,
    promises_order: bool,
    id: impl Fn(Seat) -> ProcessId,
) -> Option<String> {
    if let Some(broken) = report.exclusion.broken() {
        let (entered, inside, at) = (id(broken.entered), id(broken.inside), broken.at);
        return Some(format!("{entered} entered at {at} ms while {inside} was still in"));
    }
    if let Some(fell) = report.fences.broken() {
        let (who, at, before, got) = (id(fell.seat), fell.at, fell.before, fell.got);
        return Some(format!("{who} entered at {at} ms with fence {got}, after fence {before}"));
    }
    if let Some(first) =
        report.ordering.as_ref().and_then(Ordering::first).filter(|_| promises_order)
    {
        let (granted, passed, at) = (id(first.granted), id(first.passed), first.at);
        return Some(format!(
            "{granted} entered at {at} ms before {passed}, whose request had happened before its own"
        ));
    }
    if let Some(starved) = report.waiting.starved() {
        let (who, times) = (id(starved.seat), starved.overtaken);
        return Some(format!("{who} was passed {times} times by requests made later"));
    }
    None
}

/// What there is to say when nothing went wrong, or nobody knows why.
pub fn ended(report: &Report) -> String {
    let entries = report.delays.entries();
    match (report.verdict, report.ending) {
        (Verdict::Ok, Ending::Finished) => {
            format!("{entries} {}, one at a time", plural(entries, "entry", "entries"))
        }
        (Verdict::Ok, _) => format!("{entries} entries, and nobody is left who could ask"),
        (Verdict::Budget, _) => {
            let word = plural(entries, "entry", "entries");
            format!("the limit came first, after {entries} {word}; nothing is shown by that")
        }
        _ => still_waiting(report),
    }
}

/// What there is to say of a trace that is not a whole run.
pub fn cut_off(report: &Report) -> String {
    format!("the trace ends before the run does: {}", still_waiting(report))
}

fn still_waiting(report: &Report) -> String {
    let count = report.waiting.count() as u64;
    format!("{count} still {}", plural(count, "waits", "wait"))
}

/// The word for that many.
pub fn plural(count: u64, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}
