//! One line of a trace, as it is written, and its way to and from what it means.

use alloc::borrow::{Cow, ToOwned};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use conclave_core::election::{Term, Version};
use conclave_core::{Fence, KindIndex, ProcessId, Promises, Seat, View};
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use super::error::{Flaw, Words, excerpt};
use super::words::{
    EVENTS, cause_name, cause_of, event_name, fields_of, keeps_of, kind_of, phase_name, phase_of,
    promises_of, side_name, side_of,
};
use super::{KINDS_MAX, MEMBERS_MAX, VERSION};
use crate::trace::{Header, Record, TraceKind};
use crate::{Event, MessageId, Time, What};

/// As much of the first line as every version has.
#[derive(Deserialize)]
struct VersionLine {
    conclave_trace: u64,
}

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeaderLine<'a> {
    conclave_trace: u64,
    algorithm: Cow<'a, str>,
    seed: u64,
    network: Cow<'a, str>,
    promises_order: bool,
    /// What the algorithm is for; left out for mutual exclusion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<Cow<'a, str>>,
    /// What an election promises.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    keeps: Vec<Cow<'a, str>>,
    members: Vec<u32>,
    kinds: Vec<KindLine<'a>>,
    /// What the processes were told besides, each as `["bound","5ms"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    options: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// Where the loop begins, if the run ends in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeats_from: Option<u64>,
    /// Whether whoever waited at the end did so in vain.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    stuck: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a kind as {\"name\":\"request\",\"phase\":\"enter\"}")]
struct KindLine<'a> {
    name: Cow<'a, str>,
    phase: Cow<'a, str>,
}

/// Any other line. Which of the optional fields there are depends on the event, see [`fields_of`].
#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordLine<'a> {
    at: u64,
    process: u32,
    event: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    copy: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    side: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    whom: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leader: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    term: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    rules: Cow<'a, [Cow<'static, str>]>,
}

/// The line's text.
pub(super) fn write(line: &impl Serialize) -> String {
    // Writing can fail only in a sink or on a map with strange keys; here is neither.
    serde_json::to_string(line).unwrap_or_default()
}

impl<'a> HeaderLine<'a> {
    pub(super) fn of(header: &'a Header) -> Self {
        let kinds = header.kinds.iter().map(|TraceKind { name, phase }| KindLine {
            name: Cow::Borrowed(name),
            phase: phase_name(*phase).into(),
        });
        Self {
            conclave_trace: VERSION,
            algorithm: Cow::Borrowed(&header.algorithm),
            seed: header.seed,
            network: Cow::Borrowed(&header.network),
            promises_order: header.promises.ordering(),
            kind: kind_of(header.promises).map(Cow::Borrowed),
            keeps: keeps_of(header.promises).into_iter().map(Cow::Borrowed).collect(),
            members: header.members.iter().map(|id| id.0).collect(),
            kinds: kinds.collect(),
            options: header
                .options
                .iter()
                .map(|(name, value)| (Cow::Borrowed(&**name), Cow::Borrowed(&**value)))
                .collect(),
            repeats_from: header.repeats_from,
            stuck: header.is_stuck,
        }
    }
}

impl<'a> RecordLine<'a> {
    pub(super) fn of(header: &'a Header, record: &'a Record) -> Self {
        let id = |seat: Seat| header.members[seat.index()].0;
        let Event { at, seat, what } = record.event;
        let mut line = Self {
            at: at.0,
            process: id(seat),
            event: event_name(what).into(),
            text: record.text.as_deref().filter(|text| !text.is_empty()).map(Cow::Borrowed),
            rules: Cow::Borrowed(&record.rules),
            ..Self::default()
        };
        match what {
            What::Entered { fence } => line.fence = Some(fence.0),
            What::Sent { message, to, kind, copy } => {
                line.message = Some(message.0);
                line.to = Some(id(to));
                line.kind = Some(Cow::Borrowed(&header.kinds[usize::from(kind)].name));
                line.copy = copy.then_some(true);
            }
            What::Received { message, from, kind } => {
                line.message = Some(message.0);
                line.from = Some(id(from));
                line.kind = Some(Cow::Borrowed(&header.kinds[usize::from(kind)].name));
            }
            What::Lost { message, to, cause } => {
                line.message = Some(message.0);
                line.to = Some(id(to));
                line.cause = Some(cause_name(cause).into());
            }
            What::Duplicated { message, to } => {
                line.message = Some(message.0);
                line.to = Some(id(to));
            }
            What::Cut { partition, side } => {
                line.partition = Some(partition);
                line.side = Some(side_name(side).into());
            }
            What::Healed { partition } => line.partition = Some(partition),
            What::WaitsFor { whom } | What::Suspected { whom } | What::Trusted { whom } => {
                line.whom = Some(id(whom));
            }
            What::Elected { leader, term } => {
                line.leader = Some(id(leader));
                line.term = Some(term.0);
            }
            What::Read { version, value } => {
                line.version = Some(version.0);
                line.value = Some(value);
            }
            What::Wrote { version } => line.version = Some(version.0),
            What::Writing { value } => line.value = Some(value),
            What::Requested
            | What::Leaving
            | What::Left
            | What::TimerFired
            | What::Crashed
            | What::Returned
            | What::Replaced
            | What::Paused
            | What::Resumed
            | What::Called
            | What::Electing
            | What::Vacant
            | What::Reading
            | What::Refused => {}
        }
        line
    }
}

/// Reads the first line; the view has its members.
pub(super) fn read_header(text: &str) -> Result<(Header, View), Flaw> {
    const RIGHT: &str = "the first line has `conclave_trace`, `algorithm`, `seed`, `network`, \
        `promises_order`, `members` and `kinds`, each once";
    let VersionLine { conclave_trace: found } = parse(text, RIGHT)?;
    if found != VERSION {
        return Err(Flaw::Version { found });
    }
    let line: HeaderLine<'_> = parse(text, RIGHT)?;
    let view = read_members(&line.members)?;
    let promises = read_promises(&line)?;
    let header = Header {
        algorithm: line.algorithm.into_owned(),
        seed: line.seed,
        network: line.network.into_owned(),
        members: view.members().to_owned(),
        kinds: read_kinds(line.kinds)?,
        promises,
        options: line
            .options
            .into_iter()
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect(),
        repeats_from: line.repeats_from,
        is_stuck: line.stuck,
    };
    Ok((header, view))
}

fn read_promises(line: &HeaderLine<'_>) -> Result<Promises, Flaw> {
    let keeps: Vec<&str> = line.keeps.iter().map(|word| &**word).collect();
    promises_of(line.kind.as_deref(), &keeps, line.promises_order)
}

fn read_members(members: &[u32]) -> Result<View, Flaw> {
    match members.len() {
        0 => return Err(Flaw::NoMembers),
        count if count > MEMBERS_MAX => return Err(Flaw::TooManyMembers { count }),
        _ => {}
    }
    View::new(members.iter().copied().map(ProcessId)).map_err(|twice| Flaw::MemberTwice(twice.0))
}

fn read_kinds(kinds: Vec<KindLine<'_>>) -> Result<Vec<TraceKind>, Flaw> {
    if kinds.len() > KINDS_MAX {
        return Err(Flaw::TooManyKinds { count: kinds.len() });
    }
    let mut names = BTreeSet::new();
    if let Some(kind) = kinds.iter().find(|kind| !names.insert(&kind.name)) {
        return Err(Flaw::KindTwice(excerpt(&kind.name)));
    }
    let read = |KindLine { name, phase }| {
        Ok(TraceKind { name: Cow::Owned(name.into_owned()), phase: phase_of(&phase)? })
    };
    kinds.into_iter().map(read).collect()
}

/// Reads any other line.
pub(super) fn read_record(header: &Header, view: &View, text: &str) -> Result<Record, Flaw> {
    const RIGHT: &str =
        "a record has `at`, `process` and `event`, each once, and the fields of that event";
    let line: RecordLine<'_> = parse(text, RIGHT)?;
    let names = Names { header, view };
    let what = names.what(&line)?;
    let seat = names.seat("process", line.process)?;
    Ok(Record {
        event: Event { at: Time(line.at), seat, what },
        text: line.text.map(Cow::into_owned).filter(|text| !text.is_empty()),
        rules: line.rules.into_owned(),
    })
}

/// What the names in a line mean.
struct Names<'a> {
    header: &'a Header,
    view: &'a View,
}

impl Names<'_> {
    fn what(&self, line: &RecordLine<'_>) -> Result<What, Flaw> {
        let what = match &*line.event {
            "requested" => What::Requested,
            "entered" => What::Entered { fence: Fence(line.need("fence", line.fence)?) },
            "leaving" => What::Leaving,
            "left" => What::Left,
            "sent" => What::Sent {
                message: line.message()?,
                to: self.seat("to", line.need("to", line.to)?)?,
                kind: self.kind(line)?,
                copy: line.copy.unwrap_or(false),
            },
            "received" => What::Received {
                message: line.message()?,
                from: self.seat("from", line.need("from", line.from)?)?,
                kind: self.kind(line)?,
            },
            "lost" => What::Lost {
                message: line.message()?,
                to: self.seat("to", line.need("to", line.to)?)?,
                cause: cause_of(line.need("cause", line.cause.as_deref())?)?,
            },
            "duplicated" => What::Duplicated {
                message: line.message()?,
                to: self.seat("to", line.need("to", line.to)?)?,
            },
            "timer-fired" => What::TimerFired,
            "crashed" => What::Crashed,
            "returned" => What::Returned,
            "replaced" => What::Replaced,
            "paused" => What::Paused,
            "resumed" => What::Resumed,
            "cut" => What::Cut {
                partition: line.need("partition", line.partition)?,
                side: side_of(line.need("side", line.side.as_deref())?)?,
            },
            "healed" => What::Healed { partition: line.need("partition", line.partition)? },
            "waits-for" => {
                What::WaitsFor { whom: self.seat("whom", line.need("whom", line.whom)?)? }
            }
            "called" => What::Called,
            "electing" => What::Electing,
            "elected" => What::Elected {
                leader: self.seat("leader", line.need("leader", line.leader)?)?,
                term: Term(line.need("term", line.term)?),
            },
            "vacant" => What::Vacant,
            "reading" => What::Reading,
            "read" => What::Read {
                version: Version(line.need("version", line.version)?),
                value: line.need("value", line.value)?,
            },
            "writing" => What::Writing { value: line.need("value", line.value)? },
            "wrote" => What::Wrote { version: Version(line.need("version", line.version)?) },
            "refused" => What::Refused,
            "suspected" => {
                What::Suspected { whom: self.seat("whom", line.need("whom", line.whom)?)? }
            }
            "trusted" => What::Trusted { whom: self.seat("whom", line.need("whom", line.whom)?)? },
            word => {
                let known = Words(EVENTS.to_vec());
                return Err(Flaw::UnknownWord { field: "event", word: excerpt(word), known });
            }
        };
        line.refuse_foreign(event_name(what))?;
        Ok(what)
    }

    fn seat(&self, field: &'static str, id: u32) -> Result<Seat, Flaw> {
        let id = ProcessId(id);
        self.view.seat(id).ok_or(Flaw::UnknownProcess { field, id })
    }

    fn kind(&self, line: &RecordLine<'_>) -> Result<KindIndex, Flaw> {
        let name = line.need("kind", line.kind.as_deref())?;
        let index = self.header.kinds.iter().position(|kind| kind.name == name);
        // A header has no more kinds than an index can tell apart.
        let index = index.and_then(|index| KindIndex::try_from(index).ok());
        index.ok_or_else(|| Flaw::UnknownKind(excerpt(name)))
    }
}

impl RecordLine<'_> {
    fn message(&self) -> Result<MessageId, Flaw> {
        self.need("message", self.message).map(MessageId)
    }

    fn need<T>(&self, field: &'static str, value: Option<T>) -> Result<T, Flaw> {
        value.ok_or_else(|| {
            let event = self.event.to_string();
            let fields = Words(fields_of(&event).to_vec());
            Flaw::Missing { event, field, fields }
        })
    }

    /// A field that this event does not have is a mistake in one or the other.
    fn refuse_foreign(&self, event: &'static str) -> Result<(), Flaw> {
        let present = [
            ("message", self.message.is_some()),
            ("from", self.from.is_some()),
            ("to", self.to.is_some()),
            ("kind", self.kind.is_some()),
            ("copy", self.copy.is_some()),
            ("cause", self.cause.is_some()),
            ("fence", self.fence.is_some()),
            ("partition", self.partition.is_some()),
            ("side", self.side.is_some()),
            ("whom", self.whom.is_some()),
            ("leader", self.leader.is_some()),
            ("term", self.term.is_some()),
            ("version", self.version.is_some()),
            ("value", self.value.is_some()),
        ];
        let fields = fields_of(event);
        match present.iter().find(|(field, there)| *there && !fields.contains(field)) {
            Some(&(field, _)) => {
                Err(Flaw::Foreign { event, field, fields: Words(fields.to_vec()) })
            }
            None => Ok(()),
        }
    }
}

/// The JSON object that is this line; `right` says what one with all fields would be.
fn parse<'a, T: Deserialize<'a>>(text: &'a str, right: &'static str) -> Result<T, Flaw> {
    match text.trim_start().chars().next() {
        None => return Err(Flaw::Blank),
        Some('{') => {}
        // Serde would take an array, too, with the fields in their order.
        Some(_) => return Err(Flaw::NotAnObject),
    }
    serde_json::from_str(text).map_err(|error| {
        let told = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let told = told.strip_suffix(&place).unwrap_or(&told);
        match error.classify() {
            Category::Eof => Flaw::CutShort { length: text.len() },
            Category::Syntax | Category::Io => {
                Flaw::NotJson { column: error.column(), problem: excerpt(told) }
            }
            Category::Data => match told.rsplit_once(", expected ") {
                Some((problem, expected)) => {
                    Flaw::Shape { problem: excerpt(problem), right: format!("expected {expected}") }
                }
                None => Flaw::Shape { problem: excerpt(told), right: right.to_string() },
            },
        }
    })
}
