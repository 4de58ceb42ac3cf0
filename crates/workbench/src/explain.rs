//! A run, event by event.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_observe::trace::{Record, Trace, brief};
use conclave_observe::{Ending, LossCause, Part, Side, Time, What};

/// Every step, line by line: when, who, what happened to it, which rule fired, and what it sent.
pub fn lines(trace: &Trace) -> impl Iterator<Item = String> {
    let widths = Widths::of(trace);
    let mut subject = None;
    let records = trace.records.iter().enumerate();
    let steps = records.flat_map(move |(index, _)| widths.record(trace, index, &mut subject));
    let rests = trace.endless() == Some(Ending::Rests);
    let end = rests.then(|| widths.line("", "", "FROM HERE NOTHING HAS TO HAPPEN"));
    [widths.line("time", "p", "what happened")].into_iter().chain(steps).chain(end)
}

/// How wide the columns are.
#[derive(Clone, Copy)]
struct Widths {
    time: usize,
    id: usize,
}

impl Widths {
    fn of(trace: &Trace) -> Self {
        let times = trace.records.iter().map(|record| record.event.at.to_string().len());
        let ids = trace.header.members.iter().map(|id| id.to_string().len());
        Self { time: times.max().unwrap_or_default().max(4), id: ids.max().unwrap_or(1) }
    }

    fn line(self, time: &str, id: &str, said: &str) -> String {
        format!("{time:>0$}  {id:>1$}  {said}", self.time, self.id)
    }

    /// The lines of one record. `subject` is who took the step that is under way.
    fn record(self, trace: &Trace, index: usize, subject: &mut Option<Seat>) -> Vec<String> {
        let record = &trace.records[index];
        let seat = record.event.seat;
        let (at, id) = (record.event.at.to_string(), trace.id(seat).to_string());
        let mut lines = Vec::new();
        if trace.header.repeats_from == Some(index as u64) {
            lines.push(self.line("", "", "FROM HERE AGAIN AND AGAIN"));
            *subject = None;
        }
        if let Some(line) = self.missed(trace, index) {
            *subject = None;
            lines.push(line);
            return lines;
        }
        if let Some(said) = consequence(trace, record) {
            // What is done before anything happened is done at the start.
            if subject.is_none_or(|it| it != seat) && is_deed(record) {
                lines.push(self.line(&at, &id, "starts"));
                *subject = Some(seat);
            }
            lines.push(self.line("", "", &format!("  -> {said}")));
            return lines;
        }
        *subject = Some(seat);
        let text = match record.event.what {
            What::Crashed if is_down_from_the_start(trace, index) => {
                "is DOWN FROM THE START".into()
            }
            _ => cause(trace, record),
        };
        lines.push(self.line(&at, &id, &with_rules(text, &record.rules.join("; it "))));
        lines
    }

    /// The line of a message that is lost where and when it would have arrived. One that is lost as
    /// it is sent is told with its sending.
    fn missed(self, trace: &Trace, index: usize) -> Option<String> {
        let record = &trace.records[index];
        let What::Lost { message, to, cause } = record.event.what else { return None };
        let before = &trace.records[..index];
        let is_sending =
            |it: &Record| matches!(it.event.what, What::Sent { message: id, .. } if id == message);
        if before.last().is_some_and(is_sending) {
            return None;
        }
        let sending = before.iter().rev().find(|it| is_sending(it));
        let text = sending.map_or_else(|| "a message".into(), said);
        let said = format!(
            "misses {text} from {}, which is lost: {}",
            trace.id(record.event.seat),
            why(cause)
        );
        Some(self.line(&record.event.at.to_string(), &trace.id(to).to_string(), &said))
    }
}

/// What the message of a record says.
fn said(record: &Record) -> String {
    record.text.as_deref().map_or_else(|| "a message".into(), brief::plain)
}

/// Why a message is lost.
fn why(cause: LossCause) -> &'static str {
    match cause {
        LossCause::Network => "the network loses it",
        LossCause::Partition => "a partition is in the way",
        LossCause::ReceiverDown => "its receiver is down",
    }
}

/// What happened and by which rules it was answered; what these say of it is not said twice.
fn with_rules(what: String, rules: &str) -> String {
    match rules.strip_prefix(&*what) {
        _ if rules.is_empty() => what,
        Some(rest) if rest.is_empty() || rest.starts_with([':', ';', ',']) => {
            format!("{what}{rest}")
        }
        _ => format!("{what}: it {rules}"),
    }
}

/// Whether who crashes there was never up: it did nothing before, and time has not begun.
fn is_down_from_the_start(trace: &Trace, index: usize) -> bool {
    let event = &trace.records[index].event;
    event.at == Time::ZERO && trace.records[..index].iter().all(|it| it.event.seat != event.seat)
}

/// Whether a process did this itself; what becomes of its messages is none of its doing.
fn is_deed(record: &Record) -> bool {
    record.event.what.part() == Part::Deed
}

/// What a step did.
fn consequence(trace: &Trace, record: &Record) -> Option<String> {
    let text = said(record);
    let itself = |seat: Seat| {
        if seat == record.event.seat { "itself".into() } else { trace.id(seat).to_string() }
    };
    match record.event.what {
        What::Sent { to, .. } => Some(format!("{text} to {}", itself(to))),
        What::Told(said) => {
            Some((said.word.step)(&said, record.event.seat, &|seat| trace.id(seat)))
        }
        What::Lost { to, cause, .. } => {
            Some(format!("that is lost on its way to {}: {}", trace.id(to), why(cause)))
        }
        What::Duplicated { to, .. } => {
            Some(format!("the network will deliver that twice to {}", trace.id(to)))
        }
        _ => None,
    }
}

/// What happened to a process.
fn cause(trace: &Trace, record: &Record) -> String {
    let text = said(record);
    match record.event.what {
        What::Asked(said) => (said.word.step)(&said, record.event.seat, &|seat| trace.id(seat)),
        What::Received { from, .. } if from == record.event.seat => {
            format!("receives {text} from itself")
        }
        What::Received { from, .. } => format!("receives {text} from {}", trace.id(from)),
        What::TimerFired => "its timer runs out".into(),
        What::Crashed => "CRASHES".into(),
        What::Returned => "RETURNS, without its memory".into(),
        What::Replaced => "is REPLACED by another process of the same name".into(),
        What::Paused => "PAUSES".into(),
        What::Resumed => "RESUMES".into(),
        What::Cut { side, .. } => {
            let side = if side == Side::Left { "first" } else { "second" };
            format!("is on the {side} side of a PARTITION")
        }
        What::Healed { .. } => "is no longer cut off".into(),
        What::WaitsFor { whom } => format!("waits for {}", trace.id(whom)),
        What::Told(_) | What::Sent { .. } | What::Lost { .. } | What::Duplicated { .. } => {
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rule_says_again_is_said_once() {
        for (what, rules, said) in [
            ("calls an election", "calls an election: it asks", "calls an election: it asks"),
            ("calls an election", "asks", "calls an election: it asks"),
            ("calls", "calls", "calls"),
            ("calls", "calls an election", "calls: it calls an election"),
            ("PAUSES", "", "PAUSES"),
        ] {
            assert_eq!(with_rules(what.into(), rules), said);
        }
    }
}
