//! What can be wrong with a trace, in one line that also says what would be right.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use conclave_core::ProcessId;
use thiserror::Error;

use super::{KINDS_MAX, TRACE_MEMBERS_MAX, VERSION};
use crate::{MessageId, Time};

/// Why a text is not a trace. Whoever wrote the text has to mend it; nothing of it was taken in.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {line}: {flaw}")]
pub struct TraceError {
    /// Where, counted from 1.
    pub line: usize,
    pub(super) flaw: LineError,
}

/// What is wrong with a line. Words of the text are quoted by [`excerpt`], so that none of them can
/// break the message.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub(super) enum LineError {
    /// There is no text.
    #[error(
        "nothing is here; the first line of a trace begins with {{\"conclave_trace\":{VERSION},"
    )]
    Empty,
    /// A line with nothing in it.
    #[error("an empty line; every line is a JSON object")]
    Blank,
    /// Something other than an object.
    #[error("not a JSON object; every line is one, from {{ to }}")]
    NotAnObject,
    /// The text ends in the middle of a line.
    #[error("cut short after {length} bytes; every line is a whole JSON object")]
    CutShort { length: usize },
    /// A line that is not JSON.
    #[error("not JSON at column {column}: {problem}; every line is one JSON object")]
    NotJson { column: usize, problem: String },
    /// JSON, but with other fields, or with something else in them.
    #[error("{problem}; {right}")]
    Shape { problem: String, right: String },
    /// A version of the format that did not exist when this was written.
    #[error("version {found} of the trace format; only version {VERSION} can be read")]
    Version { found: u64 },

    /// Nobody takes part.
    #[error("`members` is empty; a trace has at least one member")]
    NoMembers,
    /// Too many take part.
    #[error("{count} members; at most {TRACE_MEMBERS_MAX} can be read")]
    TooManyMembers { count: usize },
    /// Some members have a first state, others not.
    #[error("{count} starts for {members} members; each has one, or `null`, or there are none")]
    Starts { count: usize, members: usize },
    /// Two members have the same name.
    #[error("member {0} is named twice; every id is unique")]
    MemberTwice(ProcessId),
    /// Too many kinds of messages.
    #[error("{count} kinds; at most {KINDS_MAX} can be read")]
    TooManyKinds { count: usize },
    /// Two kinds have the same name.
    #[error("kind `{0}` is named twice; every name is unique")]
    KindTwice(String),

    /// A loop that begins where there is nothing.
    #[error(
        "`repeats_from` is {from}, but there are {records} records; it is the index of the \
        record that begins the loop, and the first is 0"
    )]
    LoopBeyondEnd { from: u64, records: usize },
    /// A loop that begins in the middle of a step.
    #[error("`repeats_from` is {0}, which is in the middle of a step; a loop begins with a step")]
    LoopWithinStep(u64),

    /// A word that is none of those that a field can hold.
    #[error("`{field}` is `{word}`; it is one of {known}")]
    UnknownWord { field: &'static str, word: String, known: Words },
    /// A promise where there are none to be made.
    #[error("`keeps` is `{word}`; a `{family}` keeps what all of its family do, and nothing else")]
    NothingToKeep { word: String, family: &'static str },
    /// An event without one of its fields.
    #[error("`{event}` without `{field}`; it has {fields}")]
    Missing { event: String, field: &'static str, fields: Words },
    /// An event with a field of another.
    #[error("`{event}` with `{field}`; it has {fields}")]
    Foreign { event: &'static str, field: String, fields: Words },
    /// Something other than a number, or one that is too large.
    #[error("`{field}` is not a number that it can be; it is a whole one, at most {most}")]
    OutOfRange { field: &'static str, most: u64 },
    /// An event with one of its fields twice.
    #[error("`{field}` is there twice; every field is there once")]
    Twice { field: String },
    /// Somebody who does not take part.
    #[error("`{field}` is {id}, who is not a member; `members` in line 1 names them all")]
    UnknownProcess { field: &'static str, id: ProcessId },
    /// A kind that the header does not name.
    #[error("`kind` is `{0}`, which is unknown; `kinds` in line 1 names them all")]
    UnknownKind(String),

    /// Time ran backwards.
    #[error("`at` falls from {} to {}; times never fall", before.0, at.0)]
    TimeFell { before: Time, at: Time },
    /// A time that no event has.
    #[error("`at` is {}, the end of all times; every event comes before it", Time::NEVER.0)]
    Never,
    /// Something happened where nothing can.
    #[error("process {0} does something while it is down; it has to have `returned` first")]
    Down(ProcessId),
    /// A return of one that was there.
    #[error("process {0} returns without having been down; it has to have `crashed` first")]
    NotDown(ProcessId),
    /// Something that cannot follow what was said before.
    #[error("process {id} {problem}")]
    Incoherent { id: ProcessId, problem: &'static str },

    /// A message sent once more.
    #[error("message {} is sent twice; every sending of a process has a number of its own", .0.count())]
    SentTwice(MessageId),
    /// A message from nowhere.
    #[error("message {} was never sent; its `sent` has to come before", .0.count())]
    NeverSent(MessageId),
    /// A message on another channel than its own.
    #[error("message {} goes from {} to {}; it was sent from {} to {}",
        message.count(), here.0, here.1, sent.0, sent.1)]
    OtherChannel { message: MessageId, here: (ProcessId, ProcessId), sent: (ProcessId, ProcessId) },
    /// A message that changed its kind.
    #[error("message {} has another kind than before; it arrives as what it was sent as", .0.count())]
    OtherKind(MessageId),
    /// More arrivals and losses than copies.
    #[error("message {} is not on its way any more; it is `received` or `lost` once, \
        and once more for each `duplicated`", .0.count())]
    Arrived(MessageId),
}

/// Names, as a message lists them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Words(pub(super) Vec<&'static str>);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none of its own");
        }
        for (index, word) in self.0.iter().enumerate() {
            write!(f, "{}`{word}`", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// How many characters of a text are quoted.
const EXCERPT_MAX: usize = 80;

/// What a message quotes of a text: its beginning, on one line.
pub(super) fn excerpt(text: &str) -> String {
    let mut quoted = String::new();
    for (index, c) in text.chars().enumerate() {
        if index == EXCERPT_MAX {
            quoted.push_str("...");
            break;
        }
        match c {
            '"' | '\'' | '\\' => quoted.push(c),
            _ => quoted.extend(c.escape_debug()),
        }
    }
    quoted
}
