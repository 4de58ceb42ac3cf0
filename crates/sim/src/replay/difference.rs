//! Where processes do something else than a trace says, in one line.

use alloc::format;
use alloc::string::String;

use conclave_core::{ProcessId, Seat, View};
use conclave_observe::trace::{Record, Trace};
use conclave_observe::{Part, What};

/// Why a trace could not be taken again.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReplayError {
    /// The processes read their clocks, and the times of the trace are none that clocks showed.
    #[error("its processes read their clocks, and a trace does not say what those showed")]
    NoClock,
    /// It is a trace of others.
    #[error("the trace has other members than this run")]
    Members,
    /// A process starts in another state.
    #[error("line 1: process {0} starts in another state: {1}")]
    StartsOtherwise(ProcessId, String),
    /// A process does something else.
    #[error("line {line}: {difference}")]
    Differs {
        /// The first line that differs, as the trace is written: its header is line 1.
        line: usize,
        /// What the trace says, and what the process does instead.
        difference: String,
    },
    /// The loop does not lead back to its beginning.
    #[error("the loop does not close: {0}")]
    LoopOpen(String),
    /// The loop begins where no step does.
    #[error("the loop does not begin with a step of the trace")]
    NoLoop,
}

/// Finds the words.
pub(super) struct Differ<'a> {
    pub view: &'a View,
    pub trace: &'a Trace,
}

impl Differ<'_> {
    /// The record of that index cannot be.
    pub fn at(&self, index: usize, instead: &str) -> ReplayError {
        let says = self.says(index);
        self.differs(index, format!("{says}; but {instead}"))
    }

    /// In place of the record of that index, this process does something else.
    pub fn by(&self, index: usize, id: ProcessId, does: &str) -> ReplayError {
        let difference = match self.trace.records.get(index) {
            Some(record) if is_deed(record) => {
                format!("{}; but {id} {does}", self.says(index))
            }
            Some(_) => format!("a step begins before the last one is over; {id} {does} before"),
            None => format!("the trace ends in the middle of a step; {id} {does} before"),
        };
        self.differs(index, difference)
    }

    fn differs(&self, index: usize, difference: String) -> ReplayError {
        ReplayError::Differs { line: index + 2, difference }
    }

    fn says(&self, index: usize) -> String {
        let record = &self.trace.records[index];
        let id = self.view.at(record.event.seat);
        format!("the trace says that {id} {}", self.deed(record))
    }

    fn deed(&self, record: &Record) -> String {
        let (text, what) = (record.text.as_deref(), record.event.what);
        let id = |seat| self.view.at(seat);
        match what {
            What::Sent { kind, copy, .. } => {
                let kind = self.trace.header.kinds.get(usize::from(kind));
                let name = kind.map_or("a message", |kind| &kind.name);
                let copy = if copy { ", as one more copy" } else { "" };
                format!(
                    "{}{copy}",
                    deed(what, record.event.seat, Some(text.unwrap_or(name)), self.view)
                )
            }
            What::Received { from, message, .. } => {
                let text = text.map_or_else(String::new, |text| format!(", {text}"));
                format!("receives message {} from {}{text}", message.count(), id(from))
            }
            What::Lost { message, to, .. } => {
                format!("loses message {} to {}", message.count(), id(to))
            }
            What::Duplicated { message, to } => {
                format!("has message {} to {} doubled", message.count(), id(to))
            }
            What::WaitsFor { whom } => format!("waits for {}", id(whom)),
            What::TimerFired => {
                let name = text.map_or_else(String::new, |text| format!(" {text}"));
                format!("has its timer{name} run out")
            }
            _ => deed(what, record.event.seat, None, self.view),
        }
    }
}

/// What a process does, as a sentence whose subject it is.
pub(super) fn deed(what: What, seat: Seat, text: Option<&str>, view: &View) -> String {
    match what {
        What::Asked(said) | What::Told(said) => {
            (said.word.sentence)(&said, seat, &|seat| view.at(seat))
        }
        What::Sent { to, .. } => {
            format!("sends {} to {}", text.unwrap_or("a message"), view.at(to))
        }
        What::Crashed => "crashes".into(),
        What::Returned => "returns".into(),
        What::Replaced => "is replaced".into(),
        What::Paused => "pauses".into(),
        What::Resumed => "goes on".into(),
        _ => "takes part".into(),
    }
}

/// Whether a process did this in a step that had begun before.
pub(super) fn is_deed(record: &Record) -> bool {
    record.event.what.part() == Part::Deed
}
