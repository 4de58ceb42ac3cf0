//! What happened, event by event: the one trace that every runner writes and every tool reads.

pub mod brief;
#[cfg(feature = "json")]
pub mod json;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use conclave_core::{Kind, Phase, ProcessId, Promises, Seat};

use crate::{Brief, Ending, Event, Judge, JudgeOrdering, MessageId, Part, Time, Vocabulary, What};

/// A recorded run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// What was run: the first line of the file.
    pub header: Header,
    /// What happened, in the order in which it happened; times never fall.
    pub records: Vec<Record>,
}

/// What was run: algorithm, members, network, seed and what processes were told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// The algorithm's name in the catalogue.
    pub algorithm: String,
    /// The seed that decided everything.
    pub seed: u64,
    /// The network, as it is written: `uniform:1ms..9ms`.
    pub network: String,
    /// Who took part, by seat.
    pub members: Vec<ProcessId>,
    /// The kinds of messages, by index.
    pub kinds: Vec<TraceKind>,
    /// What is seen and said of the algorithm's family.
    pub vocabulary: &'static Vocabulary,
    /// What the algorithm promises.
    pub promises: Promises,
    /// What the processes were told beside who takes part, by the names of
    /// options: with these they can be started again. Only what is not as usual; an option without
    /// a value has an empty one.
    pub options: Vec<(String, String)>,
    /// The index of the record at which a loop begins, if the run ends in one: the records from
    /// there to the last are one turn of it, and it goes on for ever. The number of all records
    /// where nothing more has to happen, though it could.
    pub repeats_from: Option<u64>,
    /// Whether the run ended because whoever waited did so in vain. One that was merely cut off is
    /// not to blame for those who wait.
    pub is_stuck: bool,
    /// By seat: how each process started, if states were recorded; `None` if it was dead. Empty
    /// if they were not.
    pub starts: Vec<Option<Standing>>,
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
    /// What happened, when and where.
    pub event: Event,
    /// What the message says, where there is one; or which timer ran out.
    pub text: Option<String>,
    /// The rules that fired in the step that began with this event.
    pub rules: Vec<Cow<'static, str>>,
    /// How the process stood after the step that ended with this event, if states were recorded.
    pub after: Option<Box<Standing>>,
}

impl Record {
    /// The event alone, with nothing more to say of it.
    pub fn of(event: Event) -> Self {
        Self { event, text: None, rules: Vec::new(), after: None }
    }
}

/// How a process stands between two steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Its state as JSON, with the names of its fields in alphabetical order. Processes are named
    /// by their ids.
    pub state: String,
    /// The timers that it has set, by name.
    pub timers: Vec<PendingTimer>,
}

/// A timer that is set and has not run out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingTimer {
    /// The timer's name, as the algorithm calls it.
    pub name: String,
    /// When it runs out; in the past if its process is paused.
    pub due: Time,
    /// Whether it comes before anything else that happens to its process from then on.
    pub is_deadline: bool,
}

impl Trace {
    /// The id of the process at that seat.
    pub fn id(&self, seat: Seat) -> ProcessId {
        self.header.members[seat.index()]
    }

    /// How it goes on for ever, if it does.
    pub fn endless(&self) -> Option<Ending> {
        let from = self.header.repeats_from?;
        let is_rest = from == self.records.len() as u64;
        Some(if is_rest { Ending::Rests } else { Ending::Repeats })
    }

    /// How it ended, as far as a trace tells, to that judge who has heard all of it. A run that
    /// says who waits for whom was stuck, too.
    pub fn ending(&self, judge: &Judge) -> Ending {
        let is_wait = |record: &Record| matches!(record.event.what, What::WaitsFor { .. });
        self.endless().unwrap_or_else(|| match judge.waiting() {
            0 => Ending::Finished,
            _ if self.header.is_stuck || self.records.iter().any(is_wait) => Ending::Quiet,
            _ => Ending::BudgetSpent,
        })
    }

    /// A judge for this trace, that has heard all of it.
    pub fn judge(&self, ordering: JudgeOrdering) -> Judge {
        self.judge_with(&[], ordering, |_, _| {})
    }

    /// A judge that has heard all of it, for whoever knows more than a trace tells: the kinds that
    /// the algorithm itself names, and what else there is to say of the record of some index, just
    /// after it.
    pub fn judge_with(
        &self,
        named: &[Kind],
        ordering: JudgeOrdering,
        mut tell: impl FnMut(&mut Judge, usize),
    ) -> Judge {
        // Only what a kind is spent on matters to a judge; its name is for those who read.
        let name = |kind: &TraceKind| named.iter().find(|it| it.name == kind.name);
        let kind =
            |it: &TraceKind| Kind { name: name(it).map_or("", |it| it.name), phase: it.phase };
        let kinds: Vec<Kind> = self.header.kinds.iter().map(kind).collect();
        let Header { members, vocabulary, promises, .. } = &self.header;
        let brief = Brief { ids: members, promises: *promises, ordering };
        let mut judge = Judge::new(vocabulary, &kinds, &brief);
        let mut calls = CallsInFlight::default();
        let (mut paused, mut now) = (BTreeSet::new(), Time::ZERO);
        for (index, record) in self.records.iter().enumerate() {
            // What a step does is not over before the next one begins.
            if begins_a_step(&record.event) && calls.is_empty() && paused.is_empty() {
                judge.on_quiet(now);
            }
            if self.header.repeats_from == Some(index as u64) {
                judge.on_loop(record.event.at);
            }
            now = record.event.at;
            judge.on(&record.event);
            tell(&mut judge, index);
            match record.event.what {
                What::Paused => drop(paused.insert(record.event.seat)),
                What::Resumed | What::Crashed => drop(paused.remove(&record.event.seat)),
                what => calls.on(what, record.event.seat, &self.header.kinds),
            }
        }
        if calls.is_empty() && paused.is_empty() {
            judge.on_quiet(now);
        }
        if self.endless() == Some(Ending::Rests) {
            judge.on_loop(now);
        }
        judge
    }
}

/// Whether something happened to a process, as opposed to what it did about it; what it says to
/// itself belongs to the step before.
fn begins_a_step(event: &Event) -> bool {
    match event.what {
        What::Received { from, .. } => from != event.seat,
        what => matches!(what.part(), Part::Cause | Part::Circumstance),
    }
}

/// Whether a loop can begin with this event: it begins a step, or is what becomes of a message.
#[cfg(feature = "json")]
fn begins_a_loop(event: &Event) -> bool {
    begins_a_step(event) || event.what.part() == Part::Fate
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
