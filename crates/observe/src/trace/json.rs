//! Traces as JSON lines: the first line says what was run, every other line is one record.
//!
//! ```
//! # use conclave_observe::trace::json;
//! let text = r#"{"conclave_trace":2,"algorithm":"ricart-agrawala","seed":1,"network":"unit","family":"mutex","keeps":["liveness","ordering"],"members":[1,2],"kinds":[{"name":"request","phase":"enter"}]}
//! {"at":0,"process":1,"event":"requested","rules":["asks everybody"]}
//! {"at":0,"process":1,"event":"sent","message":1,"to":2,"kind":"request","text":"Request(1, 1)"}
//! {"at":1000000,"process":2,"event":"received","message":1,"from":1,"kind":"request"}
//! "#;
//! let trace = json::read(text)?;
//! assert_eq!(json::write(&trace), text);
//! # Ok::<(), json::TraceError>(())
//! ```
//!
//! Times are nanoseconds; processes are named by their ids, never by their seats; kinds by their
//! names. A message has a number that no other message of its sender has. `family` says what the
//! algorithm is for, `keeps` what it promises, and the family's own events follow from it; in a run
//! with several locks, `lock` says which one such an event is about. `text`, `rules` and `copy` are
//! left out where there is nothing to say; of a timer, `text` says which it was.
//!
//! If states were recorded, the last record of each step has `after`: how its process stands then.
//! `state` is what the process knows, and differs from algorithm to algorithm; `timers` are those
//! that it has set, each with the time at which it runs out, and `"deadline":true` if it is a
//! deadline. It is left out if there are none. The first line then has `starts`: the same by
//! member, as they started, or `null` for one that was dead.
//! `"after":{"state":{"role":"Idle"},"timers":[{"timer":"Lease","due":5000000}]}` is one of them.
//!
//! Three more fields of the first line are rarely there. `options` has what the processes were
//! told beside who takes part, by the names of settings, so that the run can be taken
//! again: `"options":[["bound","5ms"],["skip-dead",""]]`. `repeats_from` is the index of a record,
//! counted from 0: the records from there to the last are one turn of a loop that goes on for
//! ever. If it is the number of all records, nothing more has to happen, though it could.
//! `"stuck":true` says that the run ended because whoever waited did so in vain, and was not merely
//! cut off.
//!
//! | event | fields besides `at`, `process`, `event`, `text`, `rules` |
//! | --- | --- |
//! | `sent` | `message`, `to`, `kind`, `copy` |
//! | `received` | `message`, `from`, `kind` |
//! | `lost` | `message`, `to`, `cause`: `network`, `partition` or `receiver-down` |
//! | `duplicated` | `message`, `to` |
//! | `cut` | `partition`, `side`: `left` or `right` |
//! | `healed` | `partition` |
//! | `waits-for` | `whom` |
//! | `timer-fired`, `crashed`, `returned`, `replaced`, `paused`, `resumed` | none |
//! | of `mutex`: `entered` | `fence` |
//! | `requested`, `leaving`, `left` | none |
//! | of `election`: `elected` | `leader`, `term` |
//! | `read` | `version`, `value` |
//! | `wrote` | `version` |
//! | `writing` | `value` |
//! | `called`, `electing`, `vacant`, `reading`, `refused` | none |
//! | of `detector`: `suspected`, `trusted` | `whom` |
//!
//! A trace that [`read`] returns holds together: whoever it names takes part, whatever arrives was
//! sent, the dead do nothing. So a judge or a drawing need not ask again.

mod error;
mod history;
mod line;
mod words;

#[cfg(test)]
mod json_test;
#[cfg(test)]
mod random_test;
#[cfg(test)]
mod refusal_test;

use alloc::string::String;
use alloc::vec::Vec;

use self::error::LineError;
use self::history::History;
use self::line::{HeaderLine, RecordLine};
use super::{Header, Record, Trace, begins_a_loop};
use crate::{Vocabulary, family};

pub use self::error::TraceError;

/// The version of the format that is written, and the only one that can be read.
pub const VERSION: u64 = 2;
/// The most members that a trace may have.
pub const TRACE_MEMBERS_MAX: usize = 1_000_000;
/// The most kinds of messages that a trace may have: as many as a kind's index can tell apart.
pub const KINDS_MAX: usize = 256;

/// The first line, without its end.
pub fn write_header(header: &Header) -> String {
    line::write(&HeaderLine::of(header))
}

/// The line of one record, without its end. Seats and kinds are those of the header: as with
/// [`Trace::id`], others are a bug of the caller and panic.
pub fn write_record(header: &Header, record: &Record) -> String {
    line::write(&RecordLine::of(header, record))
}

/// All lines, each with its end.
pub fn write(trace: &Trace) -> String {
    let mut text = write_header(&trace.header);
    text.push('\n');
    for record in &trace.records {
        text.push_str(&write_record(&trace.header, record));
        text.push('\n');
    }
    text
}

/// Reads what [`write()`] wrote, or what a person wrote by hand.
pub fn read(text: &str) -> Result<Trace, TraceError> {
    read_of(text, family::ALL)
}

/// Reads a trace as [`read`] does, of an algorithm of one of these families.
pub fn read_of(text: &str, families: &[&'static Vocabulary]) -> Result<Trace, TraceError> {
    if text.trim().is_empty() {
        return Err(TraceError { line: 1, flaw: LineError::Empty });
    }
    let mut lines = (1..).zip(text.lines());
    let first = lines.next().map_or("", |(_, line)| line);
    let header = line::read_header(first, families);
    let (header, view) = header.map_err(|flaw| TraceError { line: 1, flaw })?;

    let mut history = History::new(view, header.vocabulary);
    let mut records = Vec::new();
    for (line, text) in lines {
        let record = read_record(&header, &mut history, text);
        records.push(record.map_err(|flaw| TraceError { line, flaw })?);
    }
    check_loop(&header, &records).map_err(|flaw| TraceError { line: 1, flaw })?;
    Ok(Trace { header, records })
}

fn check_loop(header: &Header, records: &[Record]) -> Result<(), LineError> {
    let Some(from) = header.repeats_from else { return Ok(()) };
    let first = usize::try_from(from).ok().and_then(|index| records.get(index));
    match first {
        None if from == records.len() as u64 => Ok(()),
        None => Err(LineError::LoopBeyondEnd { from, records: records.len() }),
        Some(first) if !begins_a_loop(&first.event) => Err(LineError::LoopWithinStep(from)),
        Some(_) => Ok(()),
    }
}

fn read_record(header: &Header, history: &mut History, text: &str) -> Result<Record, LineError> {
    let record = line::read_record(header, history.view(), text)?;
    history.on(&record.event)?;
    Ok(record)
}
