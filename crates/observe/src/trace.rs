//! What happened, event by event: the one trace that every runner writes and every tool reads.

#[cfg(feature = "json")]
pub mod json;

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use conclave_core::{Kind, Phase, ProcessId, Promises, Seat};

use crate::{Event, Judge, JudgeOrdering, MessageId, Time, What};

/// A recorded run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// What was run.
    pub header: Header,
    /// What happened, in the order in which it happened; times never fall.
    pub records: Vec<Record>,
}

/// What was run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// The algorithm's name in the catalogue.
    pub algorithm: String,
    /// The seed that decided everything.
    pub seed: u64,
    /// The network, as it is written on the command line.
    pub network: String,
    /// Who took part, by seat.
    pub members: Vec<ProcessId>,
    /// The kinds of messages, by index.
    pub kinds: Vec<TraceKind>,
    /// What the algorithm promises.
    pub promises: Promises,
}

/// A kind of message, as a trace names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceKind {
    /// The paper's name.
    pub name: Cow<'static, str>,
    /// What it is spent on.
    pub phase: Phase,
}

/// An event with what a person wants to know of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// What happened.
    pub event: Event,
    /// What the message says, where there is one.
    pub text: Option<String>,
    /// The rules that fired in the step that began with this event.
    pub rules: Vec<Cow<'static, str>>,
}

impl Trace {
    /// Who sits there.
    pub fn id(&self, seat: Seat) -> ProcessId {
        self.header.members[seat.index()]
    }

    /// A judge for this trace, that has heard all of it.
    pub fn judge(&self, ordering: JudgeOrdering) -> Judge {
        // Only what a kind is spent on matters to a judge; its name is the trace's.
        let kinds: Vec<Kind> =
            self.header.kinds.iter().map(|kind| Kind { name: "", phase: kind.phase }).collect();
        let Header { members, promises, .. } = &self.header;
        let mut judge = Judge::new(members, &kinds, ordering, *promises);
        let mut calls = CallsInFlight::default();
        let (mut paused, mut now) = (BTreeSet::new(), Time::ZERO);
        for record in &self.records {
            // What a step does is not over before the next one begins.
            if begins_a_step(&record.event) && calls.is_empty() && paused.is_empty() {
                judge.on_quiet(now);
            }
            now = record.event.at;
            judge.on(&record.event);
            match record.event.what {
                What::Paused => drop(paused.insert(record.event.seat)),
                What::Resumed | What::Crashed => drop(paused.remove(&record.event.seat)),
                what => calls.on(what, record.event.seat, &self.header.kinds),
            }
        }
        if calls.is_empty() && paused.is_empty() {
            judge.on_quiet(now);
        }
        judge
    }
}

/// Whether something happened to a process, as opposed to what it did about it; what it says to
/// itself belongs to the step before.
fn begins_a_step(event: &Event) -> bool {
    match event.what {
        What::Received { from, .. } => from != event.seat,
        What::Requested
        | What::Leaving
        | What::Called
        | What::Reading
        | What::Writing { .. }
        | What::TimerFired
        | What::Crashed
        | What::Returned
        | What::Replaced
        | What::Paused
        | What::Resumed
        | What::Cut { .. }
        | What::Healed { .. } => true,
        _ => false,
    }
}

/// The messages of calls that are on their way, by number, with how many copies.
#[derive(Default)]
struct CallsInFlight(BTreeMap<MessageId, u32>);

impl CallsInFlight {
    fn on(&mut self, what: What, seat: Seat, kinds: &[TraceKind]) {
        match what {
            What::Sent { message, to, kind, .. }
                if to != seat && kinds[usize::from(kind)].phase != Phase::Upkeep =>
            {
                self.0.insert(message, 1);
            }
            What::Duplicated { message, .. } => {
                self.0.entry(message).and_modify(|copies| *copies += 1);
            }
            What::Received { message, .. } | What::Lost { message, .. } => {
                if let Some(copies) = self.0.get_mut(&message) {
                    *copies -= 1;
                    if *copies == 0 {
                        self.0.remove(&message);
                    }
                }
            }
            _ => {}
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Kind> for TraceKind {
    fn from(kind: Kind) -> Self {
        Self { name: Cow::Borrowed(kind.name), phase: kind.phase }
    }
}
