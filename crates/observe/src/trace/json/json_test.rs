//! Claims about what is written and what is read.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{Fence, Phase, ProcessId, Promises, Seat};

use super::*;
use crate::trace::TraceKind;
use crate::{Ending, Event, JudgeOrdering, LossCause, MessageId, Side, Time, Verdict, What};

pub(super) const HEADER: &str = concat!(
    r#"{"conclave_trace":1,"algorithm":"ricart-agrawala","seed":1,"network":"unit","#,
    r#""promises_order":true,"members":[3,12,5],"#,
    r#""kinds":[{"name":"request","phase":"enter"},{"name":"release","phase":"leave"},"#,
    r#"{"name":"beat","phase":"upkeep"}]}"#
);

pub(super) fn header() -> Header {
    let kinds = [("request", Phase::Enter), ("release", Phase::Leave), ("beat", Phase::Upkeep)];
    Header {
        algorithm: "ricart-agrawala".into(),
        seed: 1,
        network: "unit".into(),
        members: [3, 12, 5].map(ProcessId).to_vec(),
        kinds: kinds.map(|(name, phase)| TraceKind { name: name.into(), phase }).to_vec(),
        promises: Promises::Mutex { liveness: true, ordering: true },
        options: Vec::new(),
        repeats_from: None,
        is_stuck: false,
    }
}

pub(super) fn record(at: u64, seat: u32, what: What) -> Record {
    let event = Event { at: Time(at), seat: Seat(seat), what };
    Record { event, text: None, rules: Vec::new() }
}

pub(super) fn sent(message: u64, to: u32, kind: u8, copy: bool) -> What {
    What::Sent { message: MessageId(message), to: Seat(to), kind, copy }
}

pub(super) fn received(message: u64, from: u32, kind: u8) -> What {
    What::Received { message: MessageId(message), from: Seat(from), kind }
}

pub(super) fn lost(message: u64, to: u32, cause: LossCause) -> What {
    What::Lost { message: MessageId(message), to: Seat(to), cause }
}

/// Every kind of event, each with all that it can say, beside the line that says it.
fn everything() -> Vec<(Record, &'static str)> {
    let said = |at, seat, what, text: &str, rules: &[&'static str]| Record {
        text: Some(text.to_string()).filter(|text| !text.is_empty()),
        rules: rules.iter().copied().map(Cow::Borrowed).collect(),
        ..record(at, seat, what)
    };
    let (left, right) = (Side::Left, Side::Right);
    vec![
        (
            said(0, 0, What::Requested, "", &["stamps its request", "asks \"all\"\n"]),
            r#"{"at":0,"process":3,"event":"requested","rules":["stamps its request","asks \"all\"\n"]}"#,
        ),
        (
            said(0, 0, sent(17, 1, 0, false), "Request(#0) → ü", &[]),
            r#"{"at":0,"process":3,"event":"sent","message":17,"to":12,"kind":"request","text":"Request(#0) → ü"}"#,
        ),
        (
            record(0, 0, sent(18, 2, 0, true)),
            r#"{"at":0,"process":3,"event":"sent","message":18,"to":5,"kind":"request","copy":true}"#,
        ),
        (
            record(0, 0, What::Duplicated { message: MessageId(17), to: Seat(1) }),
            r#"{"at":0,"process":3,"event":"duplicated","message":17,"to":12}"#,
        ),
        (
            said(1_000_000, 1, received(17, 0, 0), "Request(#0)", &["answers"]),
            r#"{"at":1000000,"process":12,"event":"received","message":17,"from":3,"kind":"request","text":"Request(#0)","rules":["answers"]}"#,
        ),
        (
            record(1_000_000, 0, lost(17, 1, LossCause::Network)),
            r#"{"at":1000000,"process":3,"event":"lost","message":17,"to":12,"cause":"network"}"#,
        ),
        (record(1_000_000, 2, What::Crashed), r#"{"at":1000000,"process":5,"event":"crashed"}"#),
        (
            record(1_000_000, 0, lost(18, 2, LossCause::ReceiverDown)),
            r#"{"at":1000000,"process":3,"event":"lost","message":18,"to":5,"cause":"receiver-down"}"#,
        ),
        (
            record(1_000_000, 2, What::Cut { partition: 0, side: left }),
            r#"{"at":1000000,"process":5,"event":"cut","partition":0,"side":"left"}"#,
        ),
        (
            record(1_000_000, 0, What::Cut { partition: 0, side: right }),
            r#"{"at":1000000,"process":3,"event":"cut","partition":0,"side":"right"}"#,
        ),
        (
            record(1_000_001, 0, What::Entered { fence: Fence(4) }),
            r#"{"at":1000001,"process":3,"event":"entered","fence":4}"#,
        ),
        (record(1_000_002, 0, What::Leaving), r#"{"at":1000002,"process":3,"event":"leaving"}"#),
        (
            record(1_000_002, 0, sent(u64::MAX, 2, 1, false)),
            r#"{"at":1000002,"process":3,"event":"sent","message":18446744073709551615,"to":5,"kind":"release"}"#,
        ),
        (
            record(1_000_002, 0, lost(u64::MAX, 2, LossCause::Partition)),
            r#"{"at":1000002,"process":3,"event":"lost","message":18446744073709551615,"to":5,"cause":"partition"}"#,
        ),
        (record(1_000_002, 0, What::Left), r#"{"at":1000002,"process":3,"event":"left"}"#),
        (
            record(1_000_003, 2, What::Healed { partition: 0 }),
            r#"{"at":1000003,"process":5,"event":"healed","partition":0}"#,
        ),
        (record(1_000_003, 2, What::Returned), r#"{"at":1000003,"process":5,"event":"returned"}"#),
        (record(1_000_003, 1, What::Paused), r#"{"at":1000003,"process":12,"event":"paused"}"#),
        (record(1_000_003, 1, What::Resumed), r#"{"at":1000003,"process":12,"event":"resumed"}"#),
        (
            said(1_000_004, 2, What::TimerFired, "", &["beats"]),
            r#"{"at":1000004,"process":5,"event":"timer-fired","rules":["beats"]}"#,
        ),
        (
            record(1_000_004, 2, sent(2, 2, 2, false)),
            r#"{"at":1000004,"process":5,"event":"sent","message":2,"to":5,"kind":"beat"}"#,
        ),
        (
            record(u64::MAX - 1, 1, What::WaitsFor { whom: Seat(2) }),
            r#"{"at":18446744073709551614,"process":12,"event":"waits-for","whom":5}"#,
        ),
    ]
}

pub(super) fn everything_trace() -> Trace {
    let records = everything().into_iter().map(|(record, _)| record).collect();
    Trace { header: header(), records }
}

/// A judge hears all of it and is asked all that it can be asked.
pub(super) fn judge(trace: &Trace) {
    for ending in [Ending::Finished, Ending::Quiet, Ending::PatienceLost] {
        let judge = trace.judge(JudgeOrdering::Yes);
        let (waiting, entries) = (judge.waiting(), judge.entries());
        let report = judge.finish(ending);
        assert_eq!(report.waiting.iter().count(), waiting);
        assert!(report.delays.wait.count() <= entries);
        let by_kind: u64 = report.bandwidth.by_kind().map(|(_, sent)| sent).sum();
        assert_eq!(report.bandwidth.sent(), by_kind);
        let _ = (report.fairness.jain(), report.delays.throughput(), report.exclusion.holders());
        let _ = (report.delays.sync.percentile(99), report.delays.client.mean());
        assert_eq!(report.crashed.len(), trace.header.members.len());
    }
}

#[test]
fn a_trace_is_written_as_the_format_says() {
    assert_eq!(write_header(&header()), HEADER);
    let mut lines = String::from(HEADER) + "\n";
    for (record, line) in everything() {
        assert_eq!(write_record(&header(), &record), line);
        lines = lines + line + "\n";
    }
    assert_eq!(write(&everything_trace()), lines);
}

#[test]
fn every_event_that_is_written_is_read_back_the_same() {
    let trace = everything_trace();
    assert_eq!(read(&write(&trace)), Ok(trace.clone()));
    judge(&trace);
}

#[test]
fn line_ends_spaces_and_the_order_of_fields_do_not_matter() {
    let text = format!("  {HEADER}\r\n{}", r#"{ "event" : "requested", "process":3, "at":0 } "#);
    let trace = Trace { header: header(), records: vec![record(0, 0, What::Requested)] };
    assert_eq!(read(&text), Ok(trace));
}

#[test]
fn what_says_nothing_is_left_out_when_it_is_written_again() {
    let line = r#"{"at":0,"process":3,"event":"sent","message":1,"to":5,"kind":"beat"}"#;
    let more = line.replace('}', r#","copy":false,"text":"","rules":[]}"#);
    let trace = read(&format!("{HEADER}\n{more}\n")).unwrap();
    assert_eq!(write(&trace), format!("{HEADER}\n{line}\n"));
}

#[test]
fn whoever_is_inside_from_the_beginning_may_leave_once_without_having_entered() {
    let leave = [record(0, 1, What::Leaving), record(0, 1, What::Left)];
    let once = Trace { header: header(), records: leave.to_vec() };
    assert_eq!(read(&write(&once)), Ok(once));
    let twice = Trace { header: header(), records: [leave.clone(), leave].concat() };
    let told = read(&write(&twice)).unwrap_err().to_string();
    assert_eq!(
        told,
        "line 4: process 12 leaves without being inside; it has to have `entered` first"
    );
}

#[test]
fn whoever_is_inside_from_the_beginning_may_enter_without_asking_before_all_others() {
    let enter = What::Entered { fence: Fence(0) };
    let first = vec![record(0, 0, sent(1, 1, 0, false)), record(0, 1, enter)];
    let trace = Trace { header: header(), records: first.clone() };
    assert_eq!(read(&write(&trace)), Ok(trace));
    for before in [What::Requested, enter, What::Paused] {
        let records = vec![record(0, 0, before), record(0, 1, enter)];
        let told = read(&write(&Trace { header: header(), records })).unwrap_err().to_string();
        assert!(told.starts_with("line 3: process 12 enters without asking;"), "{told}");
    }
}

#[test]
fn what_becomes_of_the_messages_of_the_dead_can_still_be_told() {
    let records = vec![
        record(0, 0, sent(1, 1, 0, false)),
        record(1, 0, What::Crashed),
        record(2, 0, What::Duplicated { message: MessageId(1), to: Seat(1) }),
        record(3, 0, lost(1, 1, LossCause::Partition)),
        record(4, 1, received(1, 0, 0)),
    ];
    let trace = Trace { header: header(), records };
    assert_eq!(read(&write(&trace)), Ok(trace));
}

#[test]
fn what_processes_were_told_where_a_loop_begins_and_that_it_is_stuck_are_kept() {
    let options = [("bound", "5ms"), ("drift", "3=1.3"), ("drift", "5=0.9"), ("skip-dead", "")];
    let options = options.map(|(name, value)| (name.to_string(), value.to_string())).to_vec();
    let header = Header { options, repeats_from: Some(1), is_stuck: true, ..header() };
    let first = HEADER.strip_suffix('}').unwrap();
    let more = concat!(
        r#","options":[["bound","5ms"],["drift","3=1.3"],["drift","5=0.9"],["skip-dead",""]],"#,
        r#""repeats_from":1,"stuck":true}"#
    );
    let line = format!("{first}{more}");
    assert_eq!(write_header(&header), line);
    let records = vec![record(0, 0, What::Requested), record(1, 1, What::TimerFired)];
    let trace = Trace { header, records };
    assert_eq!(read(&write(&trace)), Ok(trace));
}

#[test]
fn whoever_waits_in_all_of_a_loop_is_starved() {
    let enter = |fence| What::Entered { fence: Fence(fence) };
    let records = vec![
        record(0, 0, What::Requested),
        record(1, 1, What::Requested),
        record(2, 1, enter(1)),
        record(3, 1, What::Leaving),
        record(3, 1, What::Left),
    ];
    let verdict = |repeats_from, records: &[Record]| {
        let header = Header { repeats_from, ..header() };
        let trace = Trace { header, records: records.to_vec() };
        let report = read(&write(&trace)).unwrap().judge(JudgeOrdering::No);
        let report = report.finish(trace.endless().unwrap());
        let seats = report.forever.map(|forever| forever.seats().to_vec());
        (report.verdict, seats.unwrap_or_default())
    };
    assert_eq!(verdict(Some(1), &records), (Verdict::Starved, vec![Seat(0)]));
    assert_eq!(verdict(Some(0), &records), (Verdict::Ok, vec![]), "it asks in the loop only");
    let rest = Some(records.len() as u64);
    assert_eq!(verdict(rest, &records), (Verdict::Starved, vec![Seat(0)]), "nothing has to come");
    let served = [records, vec![record(4, 2, What::TimerFired), record(4, 0, enter(2))]].concat();
    assert_eq!(verdict(Some(1), &served), (Verdict::Ok, vec![]));
}
