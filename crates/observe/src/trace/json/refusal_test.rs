//! Claims about what is not read, and what is said of it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{Phase, ProcessId};

use super::json_test::{
    ASK, HEADER, LEAVE, LEFT, duplicated, enter, everything_trace, header, lost, message, received,
    record, sent,
};
use super::*;
use crate::trace::TraceKind;
use crate::{LossCause, What};

#[test]
fn a_million_members_and_256_kinds_are_read_and_not_one_more() {
    let with = |members: u32, kinds: u32| {
        let kind = |index| TraceKind { name: format!("k{index}").into(), phase: Phase::Enter };
        let members = (0..members).map(ProcessId).collect();
        let header = Header { members, kinds: (0..kinds).map(kind).collect(), ..header() };
        read(&write_header(&header)).map(|trace| assert_eq!(trace.header, header))
    };
    let told = |members, kinds| with(members, kinds).unwrap_err().to_string();
    assert_eq!(with(1_000_000, 256), Ok(()));
    assert_eq!(told(1_000_001, 0), "line 1: 1000001 members; at most 1000000 can be read");
    assert_eq!(told(1, 257), "line 1: 257 kinds; at most 256 can be read");
}

#[test]
fn a_text_that_is_no_trace_is_refused_with_what_would_be_right() {
    const FIRST: &str = "the first line has `conclave_trace`, `algorithm`, `seed`, `network`, \
        `family`, `members` and `kinds`, each once";
    /// As it was written once.
    const VERSION_1: &str = concat!(
        r#"{"conclave_trace":1,"algorithm":"lamport","seed":1,"network":"unit","#,
        r#""promises_order":true,"members":[1,2],"kinds":[]}"#
    );
    let first = |from: &str, to: &str| {
        assert!(HEADER.contains(from));
        HEADER.replacen(from, to, 1)
    };
    let nothing =
        r#"line 1: nothing is here; the first line of a trace begins with {"conclave_trace":2,"#;
    let table: Vec<(String, String)> = [
        (String::new(), nothing),
        ("\n \n".into(), nothing),
        (format!("\n{HEADER}"), "line 1: an empty line; every line is a JSON object"),
        ("# a trace".into(), "line 1: not a JSON object; every line is one, from { to }"),
        ("[1,\"bully\"]".into(), "line 1: not a JSON object; every line is one, from { to }"),
        (
            first("\"seed\":1,", "\"seed\":1"),
            "line 1: not JSON at column 59: expected `,` or `}`; every line is one JSON object",
        ),
        (
            first("_trace\":2", "_trace\":3"),
            "line 1: version 3 of the trace format; only version 2 can be read",
        ),
        (VERSION_1.into(), "line 1: version 1 of the trace format; only version 2 can be read"),
        (first("_trace\":2", "_trace\":\"2\""), "line 1: invalid type: string \"2\"; expected u64"),
        (first("conclave_trace", "trace"), "line 1: missing field `conclave_trace`; FIRST"),
        (first("\"seed\":1,", ""), "line 1: missing field `seed`; FIRST"),
        (first("\"seed\":1", "\"seed\":1,\"seed\":2"), "line 1: duplicate field `seed`; FIRST"),
        (
            first("seed", "sead\\n"),
            "line 1: unknown field `sead\\n`; expected one of `conclave_trace`, `algorithm`, \
             `seed`, `network`, `family`, `keeps`, `members`, `kinds`, `options`, `repeats_from`, \
             `stuck`, `starts`",
        ),
        (first(r#""family":"mutex","#, ""), "line 1: missing field `family`; FIRST"),
        (
            first(r#""family":"mutex""#, r#""family":"barrier""#),
            "line 1: `family` is `barrier`; it is one of `mutex`, `election`, `detector`, `process`",
        ),
        (
            first(r#""ordering""#, r#""one-per-term""#),
            "line 1: `keeps` is `one-per-term`; it is one of `liveness`, `ordering`",
        ),
        (
            first(
                r#""mutex","keeps":["liveness","ordering"]"#,
                r#""detector","keeps":["liveness"]"#,
            ),
            "line 1: `keeps` is `liveness`; \
             a `detector` keeps what all of its family do, and nothing else",
        ),
        (first("\"seed\":1", "\"seed\":-1"), "line 1: invalid value: integer `-1`; expected u64"),
        (first("[3,12,5]", "[]"), "line 1: `members` is empty; a trace has at least one member"),
        (first("12", "5"), "line 1: member 5 is named twice; every id is unique"),
        (first("12", "4294967296"), "line 1: invalid value: integer `4294967296`; expected u32"),
        (first("beat", "request"), "line 1: kind `request` is named twice; every name is unique"),
        (
            first("upkeep", "rest"),
            "line 1: `phase` is `rest`; it is one of `enter`, `leave`, `upkeep`, \
             `elect`, `store`, `wake`, `repair`",
        ),
        (
            first(r#"{"name":"beat","phase":"upkeep"}"#, "\"beat\""),
            "line 1: invalid type: string \"beat\"; \
             expected a kind as {\"name\":\"request\",\"phase\":\"enter\"}",
        ),
    ]
    .map(|(text, told)| (text, told.replace("FIRST", FIRST)))
    .into();
    for (text, told) in table {
        let error = read(&text).unwrap_err();
        assert_eq!(error.to_string(), told, "{text}");
    }
}

#[test]
fn a_line_that_is_no_record_is_refused_with_what_would_be_right() {
    const RIGHT: &str =
        "a record has `at`, `process` and `event`, each once, and the fields of that event";
    let table = [
        ("", "an empty line; every line is a JSON object"),
        (r#"[0,3,"left"]"#, "not a JSON object; every line is one, from { to }"),
        (
            r#"{"at":0,"process":3,"ev"#,
            "cut short after 23 bytes; every line is a whole JSON object",
        ),
        (
            r#"{"at":0,"process":3,"event":"left"} {}"#,
            "not JSON at column 37: trailing characters; every line is one JSON object",
        ),
        (r#"{"process":3,"event":"left"}"#, "missing field `at`; RIGHT"),
        (r#"{"at":0,"at":1,"process":3,"event":"left"}"#, "duplicate field `at`; RIGHT"),
        (
            r#"{"at":0.5,"process":3,"event":"left"}"#,
            "invalid type: floating point `0.5`; expected u64",
        ),
        (
            r#"{"at":18446744073709551615,"process":3,"event":"left"}"#,
            "`at` is 18446744073709551615, the end of all times; every event comes before it",
        ),
        (
            r#"{"at":0,"process":3,"event":"left","rule":[]}"#,
            "`left` with `rule`; it has none of its own",
        ),
        (r#"{"at":0,"process":3,"event":7}"#, "invalid type: integer `7`; expected a string"),
        (
            r#"{"at":0,"process":3,"event":"leave"}"#,
            "`event` is `leave`; it is one of `requested`, `entered`, `leaving`, `left`, `sent`, \
             `received`, `lost`, `duplicated`, `timer-fired`, `crashed`, `returned`, `replaced`, \
             `paused`, `resumed`, `cut`, `healed`, `waits-for`",
        ),
        (
            r#"{"at":0,"process":3,"event":"called"}"#,
            "`event` is `called`; it is one of `requested`, `entered`, `leaving`, `left`, `sent`, \
             `received`, `lost`, `duplicated`, `timer-fired`, `crashed`, `returned`, `replaced`, \
             `paused`, `resumed`, `cut`, `healed`, `waits-for`",
        ),
        (
            r#"{"at":0,"process":3,"event":"sent","message":9,"kind":"beat"}"#,
            "`sent` without `to`; it has `message`, `to`, `kind`, `copy`",
        ),
        (
            r#"{"at":0,"process":3,"event":"cut","partition":0}"#,
            "`cut` without `side`; it has `partition`, `side`",
        ),
        (
            r#"{"at":0,"process":3,"event":"healed","partition":0,"side":"left"}"#,
            "`healed` with `side`; it has `partition`",
        ),
        (
            r#"{"at":0,"process":3,"event":"requested","fence":1}"#,
            "`requested` with `fence`; it has none of its own",
        ),
        (
            r#"{"at":0,"process":3,"event":"entered","fence":1,"term":1}"#,
            "`entered` with `term`; it has `fence`",
        ),
        (
            r#"{"at":0,"process":3,"event":"entered","fence":1,"to":5}"#,
            "`entered` with `to`; it has `fence`",
        ),
        (
            r#"{"at":0,"process":3,"event":"entered","lock":1}"#,
            "`entered` without `fence`; it has `fence`",
        ),
        (
            r#"{"at":0,"process":3,"event":"crashed","lock":1}"#,
            "`crashed` with `lock`; it has none of its own",
        ),
        (
            r#"{"at":0,"process":3,"event":"sent","message":9,"to":5,"kind":"beat","lock":1}"#,
            "`sent` with `lock`; it has `message`, `to`, `kind`, `copy`",
        ),
        (
            r#"{"at":0,"process":3,"event":"entered","fence":1,"fence":2}"#,
            "`fence` is there twice; every field is there once",
        ),
        (
            r#"{"at":0,"process":3,"event":"requested","lock":1,"lock":1}"#,
            "`lock` is there twice; every field is there once",
        ),
        (
            r#"{"at":0,"process":3,"event":"waits-for","whom":5,"whom":5}"#,
            "`whom` is there twice; every field is there once",
        ),
        (
            r#"{"at":0,"process":3,"event":"entered","fence":"1"}"#,
            "`fence` is not a number that it can be; \
             it is a whole one, at most 18446744073709551615",
        ),
        (
            r#"{"at":0,"process":3,"event":"entered","fence":null}"#,
            "`fence` is not a number that it can be; \
             it is a whole one, at most 18446744073709551615",
        ),
        (
            r#"{"at":0,"process":3,"event":"requested","lock":4294967296}"#,
            "`lock` is not a number that it can be; it is a whole one, at most 4294967295",
        ),
        (
            r#"{"at":0,"process":3,"event":"waits-for","whom":4294967296}"#,
            "`whom` is not a number that it can be; it is a whole one, at most 4294967295",
        ),
        (
            r#"{"at":0,"process":3,"event":"sent","message":1099511627776,"to":5,"kind":"beat"}"#,
            "`message` is not a number that it can be; it is a whole one, at most 1099511627775",
        ),
        (
            r#"{"at":0,"process":3,"event":"received","message":1,"from":4,"kind":"beat"}"#,
            "`from` is 4, who is not a member; `members` in line 1 names them all",
        ),
        (
            r#"{"at":0,"process":3,"event":"cut","partition":65536,"side":"left"}"#,
            "invalid value: integer `65536`; expected u16",
        ),
        (
            r#"{"at":0,"process":3,"event":"cut","partition":0,"side":"up"}"#,
            "`side` is `up`; it is one of `left`, `right`",
        ),
        (
            r#"{"at":0,"process":3,"event":"lost","message":1,"to":12,"cause":"rain"}"#,
            "`cause` is `rain`; it is one of `network`, `partition`, `receiver-down`",
        ),
        (
            r#"{"at":0,"process":4,"event":"left"}"#,
            "`process` is 4, who is not a member; `members` in line 1 names them all",
        ),
        (
            r#"{"at":0,"process":3,"event":"waits-for","whom":1}"#,
            "`whom` is 1, who is not a member; `members` in line 1 names them all",
        ),
        (
            r#"{"at":0,"process":3,"event":"sent","message":9,"to":5,"kind":"bet"}"#,
            "`kind` is `bet`, which is unknown; `kinds` in line 1 names them all",
        ),
    ];
    for (line, told) in table {
        let error = read(&format!("{HEADER}\n{line}\n")).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("line 2: {}", told.replace("RIGHT", RIGHT)),
            "{line}"
        );
        assert_eq!(error.line, 2);
    }
}

/// What happens, then what cannot happen after it, and what is said of that.
type Refusal<'a> = (&'a [(u32, What)], What, u32, &'a str);

#[test]
fn a_record_that_cannot_follow_those_before_it_is_refused() {
    let seven = message(0, 7);
    let sending = sent(seven, 1, 0, false);
    let inside = [(0, ASK), (0, enter(1))];
    let down = "process 3 does something while it is down; it has to have `returned` first";
    let asking = "enters without asking; each `entered` has a `requested` of its own before it";
    let table: &[Refusal<'_>] = &[
        (
            &[(0, sending)],
            sending,
            0,
            "message 7 is sent twice; every sending of a process has a number of its own",
        ),
        (&[], received(seven, 0), 1, "message 7 was never sent; its `sent` has to come before"),
        (
            &[(0, sending)],
            received(seven, 0),
            2,
            "message 7 goes from 3 to 5; it was sent from 3 to 12",
        ),
        (
            &[(0, sending)],
            lost(seven, 2, LossCause::Network),
            0,
            "message 7 goes from 3 to 5; it was sent from 3 to 12",
        ),
        (
            &[(0, sending)],
            duplicated(seven, 2),
            0,
            "message 7 goes from 3 to 5; it was sent from 3 to 12",
        ),
        (
            &[(0, sending)],
            duplicated(message(1, 7), 1),
            1,
            "message 7 was never sent; its `sent` has to come before",
        ),
        (
            &[(0, sending), (1, sent(message(1, 7), 2, 0, false))],
            received(message(1, 7), 0),
            0,
            "message 7 goes from 12 to 3; it was sent from 12 to 5",
        ),
        (
            &[(0, sending)],
            received(seven, 1),
            1,
            "message 7 has another kind than before; it arrives as what it was sent as",
        ),
        (
            &[(0, sending), (0, lost(seven, 1, LossCause::Network))],
            received(seven, 0),
            1,
            "message 7 is not on its way any more; \
             it is `received` or `lost` once, and once more for each `duplicated`",
        ),
        (&[(0, What::Crashed)], What::TimerFired, 0, down),
        (&[(0, What::Crashed)], What::Crashed, 0, down),
        (&[(0, What::Crashed)], sending, 0, down),
        (
            &[],
            What::Returned,
            0,
            "process 3 returns without having been down; it has to have `crashed` first",
        ),
        (&[inside[0]], inside[1].1, 1, &format!("process 12 {asking}")),
        (&inside, inside[1].1, 0, &format!("process 3 {asking}")),
        (
            &[(0, ASK), (0, What::Crashed), (0, What::Returned)],
            inside[1].1,
            0,
            &format!("process 3 {asking}"),
        ),
        (
            &[inside[0], inside[1], (0, LEFT)],
            LEAVE,
            0,
            "process 3 leaves without being inside; it has to have `entered` first",
        ),
    ];
    for &(before, what, seat, told) in table {
        let mut records: Vec<Record> =
            before.iter().map(|&(seat, what)| record(0, seat, what)).collect();
        let good = Trace { header: header(), records: records.clone() };
        assert_eq!(read(&write(&good)), Ok(good), "what comes before {told}");
        records.push(record(0, seat, what));
        let line = records.len() + 1;
        let told_now = read(&write(&Trace { header: header(), records })).unwrap_err().to_string();
        assert_eq!(told_now, format!("line {line}: {told}"));
    }
}

#[test]
fn time_that_falls_is_refused() {
    let records = vec![record(2_000_000, 0, ASK), record(1_999_999, 1, ASK)];
    let told = read(&write(&Trace { header: header(), records })).unwrap_err().to_string();
    assert_eq!(told, "line 3: `at` falls from 2000000 to 1999999; times never fall");
}

#[test]
fn a_trace_cut_short_is_read_up_to_a_whole_line_and_refused_within_one() {
    let text = write(&everything_trace());
    for (end, _) in text.char_indices().skip(1) {
        let cut = &text[..end];
        let line = cut.lines().count();
        let begun = cut.lines().last().unwrap_or_default();
        let whole = text.lines().nth(line - 1) == Some(begun);
        match read(cut) {
            Ok(trace) => assert!(whole && trace.records.len() == line - 1, "{begun}"),
            Err(error) => {
                let length = begun.len();
                let told =
                    format!("cut short after {length} bytes; every line is a whole JSON object");
                assert!(!whole);
                assert_eq!(error.to_string(), format!("line {line}: {told}"));
            }
        }
    }
}

#[test]
fn a_message_quotes_little_of_a_text_and_stays_on_one_line() {
    let field = "x\\n".repeat(10_000);
    let record = format!(r#"{{"at":0,"process":3,"event":"left","{field}":1}}"#);
    let told = read(&format!("{HEADER}\n{record}")).unwrap_err().to_string();
    assert!(told.starts_with(r"line 2: `left` with `x\nx\n") && told.contains("...`; it has"));
    assert!(told.len() < 400 && !told.contains('\n'), "{told}");
    let first = HEADER.replacen("seed", &field, 1);
    let told = read(&first).unwrap_err().to_string();
    assert!(told.starts_with(r"line 1: unknown field `x\nx\n") && told.contains("...; expected"));
    assert!(told.len() < 400 && !told.contains('\n'), "{told}");
}

#[test]
fn a_loop_that_begins_nowhere_or_within_a_step_is_refused() {
    let told = |from| {
        let header = Header { repeats_from: Some(from), ..header() };
        let records = vec![record(0, 0, ASK), record(0, 0, sent(message(0, 1), 1, 0, false))];
        read(&write(&Trace { header, records })).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(told(0), Ok(()));
    assert_eq!(told(2), Ok(()), "from its end on, nothing has to happen");
    assert_eq!(
        told(1).unwrap_err(),
        "line 1: `repeats_from` is 1, which is in the middle of a step; a loop begins with a step"
    );
    for from in [3, u64::MAX] {
        assert_eq!(
            told(from).unwrap_err(),
            format!(
                "line 1: `repeats_from` is {from}, but there are 2 records; it is the index of \
                 the record that begins the loop, and the first is 0"
            )
        );
    }
}

#[test]
fn how_processes_stand_is_read_or_refused_with_its_line() {
    let ask = |after: &str| {
        let line = write_record(&header(), &record(0, 0, ASK));
        let line = line.strip_suffix('}').unwrap();
        format!("{HEADER}\n{line},\"after\":{after}}}\n")
    };
    let told = |text: &str| read(text).unwrap_err().to_string();
    let trace = read(&ask(r#"{"state":{"b":1,"a":[]},"timers":[{"timer":"T","due":5}]}"#)).unwrap();
    let after = trace.records[0].after.as_deref().unwrap();
    assert_eq!(after.state, r#"{"a":[],"b":1}"#);
    assert_eq!((&*after.timers[0].name, after.timers[0].is_deadline), ("T", false));
    for after in ["7", "{}", r#"{"state":1,"more":2}"#, r#"{"state":1,"timers":[{"due":5}]}"#] {
        let told = told(&ask(after));
        assert!(told.starts_with("line 2: "), "{after}: {told}");
    }
    let starts = format!("{},\"starts\":[null]}}", HEADER.strip_suffix('}').unwrap());
    let members = read(&format!("{HEADER}\n")).unwrap().header.members.len();
    assert_eq!(
        told(&starts),
        format!(
            "line 1: 1 starts for {members} members; each has one, or `null`, or there are none"
        )
    );
}
