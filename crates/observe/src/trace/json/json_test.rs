//! Claims about what is written and what is read.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::mutex::{LIVENESS, ORDERING};
use conclave_core::{Fence, Phase, ProcessId, Promises, Seat};

use super::*;
use crate::family::locks::Seen;
use crate::trace::TraceKind;
use crate::{
    Ending, Event, JudgeOrdering, LockName, LossCause, MessageId, Said, Side, Time, Verdict, What,
};

pub(super) const HEADER: &str = concat!(
    r#"{"conclave_trace":2,"algorithm":"ricart-agrawala","seed":1,"network":"unit","#,
    r#""family":"mutex","keeps":["liveness","ordering"],"members":[3,12,5],"#,
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
        vocabulary: &family::locks::VOCABULARY,
        promises: LIVENESS.and(ORDERING),
        options: Vec::new(),
        repeats_from: None,
        is_stuck: false,
        starts: Vec::new(),
    }
}

pub(super) fn record(at: u64, seat: u32, what: What) -> Record {
    let event = Event { at: Time(at), seat: Seat(seat), what };
    Record::of(event)
}

/// The message of that count among those that `from` sent.
pub(super) fn message(from: u32, count: u64) -> MessageId {
    MessageId::new(Seat(from), count)
}

pub(super) fn sent(message: MessageId, to: u32, kind: u8, copy: bool) -> What {
    What::Sent { message, to: Seat(to), kind, copy }
}

pub(super) fn received(message: MessageId, kind: u8) -> What {
    What::Received { message, from: message.from(), kind }
}

pub(super) fn lost(message: MessageId, to: u32, cause: LossCause) -> What {
    What::Lost { message, to: Seat(to), cause }
}

pub(super) fn duplicated(message: MessageId, to: u32) -> What {
    What::Duplicated { message, to: Seat(to) }
}

pub(super) fn enter(fence: u64) -> What {
    Seen::Entered { fence: Fence(fence) }.what()
}

pub(super) const ASK: What = Seen::Requested.what();
pub(super) const LEAVE: What = Seen::Leaving.what();
pub(super) const LEFT: What = Seen::Left.what();

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
            said(0, 0, ASK, "", &["stamps its request", "asks \"all\"\n"]),
            r#"{"at":0,"process":3,"event":"requested","rules":["stamps its request","asks \"all\"\n"]}"#,
        ),
        (
            said(0, 0, sent(message(0, 17), 1, 0, false), "Request(#0) → ü", &[]),
            r#"{"at":0,"process":3,"event":"sent","message":17,"to":12,"kind":"request","text":"Request(#0) → ü"}"#,
        ),
        (
            record(0, 0, sent(message(0, 18), 2, 0, true)),
            r#"{"at":0,"process":3,"event":"sent","message":18,"to":5,"kind":"request","copy":true}"#,
        ),
        (
            record(0, 0, duplicated(message(0, 17), 1)),
            r#"{"at":0,"process":3,"event":"duplicated","message":17,"to":12}"#,
        ),
        (
            said(1_000_000, 1, received(message(0, 17), 0), "Request(#0)", &["answers"]),
            r#"{"at":1000000,"process":12,"event":"received","message":17,"from":3,"kind":"request","text":"Request(#0)","rules":["answers"]}"#,
        ),
        (
            record(1_000_000, 0, lost(message(0, 17), 1, LossCause::Network)),
            r#"{"at":1000000,"process":3,"event":"lost","message":17,"to":12,"cause":"network"}"#,
        ),
        (record(1_000_000, 2, What::Crashed), r#"{"at":1000000,"process":5,"event":"crashed"}"#),
        (
            record(1_000_000, 0, lost(message(0, 18), 2, LossCause::ReceiverDown)),
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
            record(1_000_001, 0, enter(4)),
            r#"{"at":1000001,"process":3,"event":"entered","fence":4}"#,
        ),
        (record(1_000_002, 0, LEAVE), r#"{"at":1000002,"process":3,"event":"leaving"}"#),
        (
            record(1_000_002, 0, sent(message(0, MessageId::COUNT_MAX), 2, 1, false)),
            r#"{"at":1000002,"process":3,"event":"sent","message":1099511627775,"to":5,"kind":"release"}"#,
        ),
        (
            record(1_000_002, 0, lost(message(0, MessageId::COUNT_MAX), 2, LossCause::Partition)),
            r#"{"at":1000002,"process":3,"event":"lost","message":1099511627775,"to":5,"cause":"partition"}"#,
        ),
        (record(1_000_002, 0, LEFT), r#"{"at":1000002,"process":3,"event":"left"}"#),
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
            record(1_000_004, 2, sent(message(2, 2), 2, 2, false)),
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

/// Every word of a family, each with all that it can say, about some lock, in the order in which
/// the family has them.
fn all_words(vocabulary: &'static Vocabulary) -> Trace {
    let said = vocabulary.words.iter().map(|&word| {
        let numbers = [(1 << 33) + 1, u64::MAX];
        let numbers = core::array::from_fn(|n| if n < word.numbers.len() { numbers[n] } else { 0 });
        Said { lock: LockName(7), whom: word.whom.map(|_| Seat(2)), numbers, ..Said::new(word) }
    });
    let header = Header { vocabulary, promises: Promises::NONE, ..header() };
    Trace { header, records: said.map(|said| record(0, 1, said.what())).collect() }
}

/// A judge hears all of it and is asked all that it can be asked.
pub(super) fn judge(trace: &Trace) {
    for ending in [Ending::Finished, Ending::Quiet, Ending::PatienceLost] {
        let judge = trace.judge(JudgeOrdering::Yes);
        let (waiting, served) = (judge.waiting(), judge.served());
        let report = judge.finish(ending);
        assert_eq!((report.waiting(), report.waiting_seats().len()), (waiting, waiting));
        let by_kind: u64 = report.bandwidth.by_kind().map(|(_, sent)| sent).sum();
        assert_eq!(report.bandwidth.sent(), by_kind);
        assert_eq!(report.crashed.len(), trace.header.members.len());
        match (report.locks(), report.elections(), report.detection()) {
            (Some(locks), None, None) => {
                assert_eq!(locks.waiting.iter().count(), waiting);
                assert!(locks.delays.wait.count() <= served);
                let _ = (locks.fairness.jain(), locks.delays.throughput());
                let _ = (locks.exclusion.holders(), locks.overtakings());
                let _ = (locks.delays.sync.percentile(99), locks.delays.client.mean());
            }
            (None, Some(elections), None) => {
                assert_eq!(elections.deciding.undecided(), waiting);
                assert!(elections.turnaround.count() <= served);
                let _ = (elections.leader(), elections.is_broken());
            }
            (None, None, Some(detection)) => {
                let _ = (detection.wrong(), detection.missed().count());
                let _ = detection.time_to_detect().percentile(99);
            }
            (None, None, None) => {
                let processes = report.processes().expect("the one family that is left");
                let events = processes.clocks.as_ref().map_or(0, |clocks| clocks.events().len());
                let printed: u64 = processes.printed.iter().sum();
                assert_eq!(printed + events as u64, served);
                let _ = (processes.is_broken(), report.wrongs());
            }
            found => panic!("a run is judged as one of a single family: {found:?}"),
        }
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
fn every_word_of_every_family_is_written_as_the_format_says_and_read_back_the_same() {
    let written = [
        &[
            r#""event":"requested","lock":7"#,
            r#""event":"entered","lock":7,"fence":8589934593"#,
            r#""event":"leaving","lock":7"#,
            r#""event":"left","lock":7"#,
        ][..],
        &[
            r#""event":"called","lock":7"#,
            r#""event":"electing","lock":7"#,
            r#""event":"elected","lock":7,"leader":5,"term":8589934593"#,
            r#""event":"vacant","lock":7"#,
            r#""event":"reading","lock":7"#,
            r#""event":"read","lock":7,"version":8589934593,"value":18446744073709551615"#,
            r#""event":"writing","lock":7,"value":8589934593"#,
            r#""event":"wrote","lock":7,"version":8589934593"#,
            r#""event":"refused","lock":7"#,
        ],
        &[r#""event":"suspected","lock":7,"whom":5"#, r#""event":"trusted","lock":7,"whom":5"#],
        &[
            r#""event":"working","lock":7"#,
            r#""event":"sending","lock":7,"whom":5"#,
            r#""event":"printed","lock":7,"ping":8589934593"#,
            r#""event":"stamped-work","lock":7,"clock":8589934593,"number":18446744073709551615"#,
            r#""event":"stamped-send","lock":7,"whom":5,"clock":8589934593,"number":18446744073709551615"#,
            r#""event":"stamped-receipt","lock":7,"whom":5,"clock":8589934593,"number":18446744073709551615"#,
        ],
    ];
    assert_eq!(family::ALL.len(), written.len());
    for (vocabulary, written) in family::ALL.iter().zip(written) {
        let trace = all_words(vocabulary);
        let text = write(&trace);
        let lines = written.iter().map(|said| format!(r#"{{"at":0,"process":12,{said}}}"#));
        assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), lines.collect::<Vec<_>>());
        assert_eq!(read(&text), Ok(trace.clone()));
        judge(&trace);
    }
}

#[test]
fn promises_are_written_in_the_words_of_the_family() {
    for &vocabulary in family::ALL {
        for set in 0..1_u32 << vocabulary.promises.len() {
            let numbers = (0..u32::BITS).filter(|number| set >> number & 1 == 1);
            let promises = numbers.map(Promises::number).fold(Promises::NONE, Promises::and);
            let header = Header { vocabulary, promises, ..header() };
            let line = write_header(&header);
            assert_eq!(read(&line).map(|trace| trace.header), Ok(header));
            for (number, word) in (0..).zip(vocabulary.promises) {
                let promised = promises.keeps(Promises::number(number));
                assert_eq!(line.contains(&format!("{word:?}")), promised, "{line}");
            }
            assert_eq!(line.contains("keeps"), set != 0, "{line}");
        }
    }
}

#[test]
fn a_trace_with_two_locks_tells_them_apart() {
    let said =
        |seat, what: What, lock| record(0, seat, what.said().unwrap().about(LockName(lock)).what());
    let records = vec![
        said(0, ASK, 1),
        said(1, ASK, 2),
        said(0, enter(1), 1),
        said(1, enter(1), 2),
        said(0, LEFT, 1),
        said(2, ASK, 0),
    ];
    let lines = [
        r#"{"at":0,"process":3,"event":"requested","lock":1}"#,
        r#"{"at":0,"process":12,"event":"requested","lock":2}"#,
        r#"{"at":0,"process":3,"event":"entered","lock":1,"fence":1}"#,
        r#"{"at":0,"process":12,"event":"entered","lock":2,"fence":1}"#,
        r#"{"at":0,"process":3,"event":"left","lock":1}"#,
        r#"{"at":0,"process":5,"event":"requested"}"#,
    ];
    let trace = Trace { header: header(), records };
    let text = write(&trace);
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), lines);
    let found = read(&text).unwrap();
    assert_eq!(found, trace);
    let locks = found.records.iter().map(|record| record.event.what.said().unwrap().lock.0);
    assert_eq!(locks.collect::<Vec<_>>(), [1, 2, 1, 2, 1, 0]);
    let none = text.replace(r#""event":"requested"}"#, r#""event":"requested","lock":0}"#);
    assert_eq!(read(&none), Ok(trace), "the lock without a name can be named, too");
}

#[test]
fn line_ends_spaces_and_the_order_of_fields_do_not_matter() {
    let text = format!("  {HEADER}\r\n{}", r#"{ "event" : "requested", "process":3, "at":0 } "#);
    let trace = Trace { header: header(), records: vec![record(0, 0, ASK)] };
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
    let leave = [record(0, 1, LEAVE), record(0, 1, LEFT)];
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
    let enter = enter(0);
    let first = vec![record(0, 0, sent(message(0, 1), 1, 0, false)), record(0, 1, enter)];
    let trace = Trace { header: header(), records: first.clone() };
    assert_eq!(read(&write(&trace)), Ok(trace));
    for before in [ASK, enter, What::Paused] {
        let records = vec![record(0, 0, before), record(0, 1, enter)];
        let told = read(&write(&Trace { header: header(), records })).unwrap_err().to_string();
        assert!(told.starts_with("line 3: process 12 enters without asking;"), "{told}");
    }
}

#[test]
fn what_becomes_of_the_messages_of_the_dead_can_still_be_told() {
    let records = vec![
        record(0, 0, sent(message(0, 1), 1, 0, false)),
        record(1, 0, What::Crashed),
        record(2, 0, duplicated(message(0, 1), 1)),
        record(3, 0, lost(message(0, 1), 1, LossCause::Partition)),
        record(4, 1, received(message(0, 1), 0)),
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
    let records = vec![record(0, 0, ASK), record(1, 1, What::TimerFired)];
    let trace = Trace { header, records };
    assert_eq!(read(&write(&trace)), Ok(trace));
}

#[test]
fn whoever_waits_in_all_of_a_loop_is_starved() {
    let records = vec![
        record(0, 0, ASK),
        record(1, 1, ASK),
        record(2, 1, enter(1)),
        record(3, 1, LEAVE),
        record(3, 1, LEFT),
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
