//! What is told of a run of bare processes.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::ProcessId;
use conclave_observe::property::{ClockCondition, Relation, StampedEvent};
use serde_json::{Value, json};

use super::{Account, handled, load_line, sent};
use crate::plan::Done;
use crate::sentence::counted;
use crate::unit::Unit;

/// What is told of it.
pub(crate) const ACCOUNT: Account = Account { work, lines, by_process, fields };

/// How many events are shown in a table, one against the other.
const TABLED_MOST: usize = 30;

fn work(done: &Done) -> String {
    match done.plan.steps.len() {
        0 => String::new(),
        steps => format!("{}, ", counted(steps as u64, "step", "steps")),
    }
}

fn clocks(done: &Done) -> Option<&ClockCondition> {
    done.outcome.report.processes()?.clocks.as_ref()
}

/// Every figure, by its name.
fn lines(done: &Done) -> Vec<(&'static str, String)> {
    let report = &done.outcome.report;
    let Some(panel) = report.processes() else { return Vec::new() };
    let mut lines = match &panel.clocks {
        Some(clocks) => {
            let (concurrent, pairs) = concurrent(clocks.events());
            vec![
                ("events", clocks.events().len().to_string()),
                ("concurrent", format!("{concurrent} of {}", counted(pairs, "pair", "pairs"))),
            ]
        }
        None => vec![("printed", printed(done, &panel.printed))],
    };
    lines.extend([("messages", sent(report)), ("load", load_line(report))]);
    lines
}

fn printed(done: &Done, printed: &[u64]) -> String {
    let each = done.view.members().iter().zip(printed);
    let each: Vec<String> = each.map(|(id, count)| format!("{id}: {count}")).take(20).collect();
    let all = counted(printed.iter().sum(), "word", "words");
    format!("{all} ({})", each.join(", "))
}

/// How many pairs of events are concurrent, and how many there are.
fn concurrent(events: &[StampedEvent]) -> (u64, u64) {
    let mut count = (0, 0);
    for (at, one) in events.iter().enumerate() {
        for other in &events[..at] {
            count.0 += u64::from(one.relation(other) == Relation::Concurrent);
            count.1 += 1;
        }
    }
    count
}

/// Event by event, and each against every other.
fn by_process(done: &Done) -> Vec<String> {
    let Some(clocks) = clocks(done) else { return handled(done) };
    let mut events: Vec<&StampedEvent> = clocks.events().iter().collect();
    events.sort_by_key(|it| (it.seat, it.number));
    let name = |it: &StampedEvent| format!("{}.{}", done.view.at(it.seat), it.number);
    let id = |seat| -> ProcessId { done.view.at(seat) };
    let width = events.iter().map(|it| it.reading.text().len()).max().unwrap_or(0).max(5);
    let row = |it: &&StampedEvent| {
        let (event, at) = (name(it), it.at.to_string());
        let what = (it.said.word.sentence)(&it.said, it.seat, &id);
        format!("  {event:>7}  {at:>8}  {:<width$}  {what}", it.reading.text())
    };
    let head = format!("  {:>7}  {:>8}  {:<width$}  what", "event", "ms", "clock");
    let mut lines: Vec<String> = [head].into_iter().chain(events.iter().map(row)).collect();
    if events.len() > TABLED_MOST {
        lines.push(format!("(each against every other: only of {TABLED_MOST} events or fewer)"));
        return lines;
    }
    lines.push("< happened before, > happened after, | concurrent".into());
    let names = events.iter().map(|it| format!("{:>5}", name(it))).collect::<String>();
    lines.push(format!("  {:>7}{names}", ""));
    lines.extend(events.iter().map(|one| {
        let cells = events.iter().map(|other| format!("{:>5}", sign(one, other)));
        format!("  {:>7}{}", name(one), cells.collect::<String>())
    }));
    lines
}

fn sign(one: &StampedEvent, other: &StampedEvent) -> &'static str {
    match one.relation(other) {
        _ if (one.seat, one.number) == (other.seat, other.number) => "=",
        Relation::Before => "<",
        Relation::After => ">",
        Relation::Concurrent => "|",
    }
}

/// What is told of the run, as fields of JSON.
fn fields(done: &Done) -> Value {
    let Some(panel) = done.outcome.report.processes() else { return Value::Null };
    let Some(clocks) = &panel.clocks else { return json!({ "printed": panel.printed }) };
    let unit = Unit::of(done.plan.network);
    let event = |it: &StampedEvent| {
        json!({
            "event": format!("{}.{}", done.view.at(it.seat), it.number),
            "at": unit.count(it.at.0 as f64),
            "clock": it.reading.text(),
        })
    };
    let (concurrent, pairs) = concurrent(clocks.events());
    json!({
        "stamped": clocks.events().iter().map(event).collect::<Vec<_>>(),
        "concurrent_pairs": concurrent,
        "pairs": pairs,
    })
}
