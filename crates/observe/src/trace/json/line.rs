//! One line of a trace, as it is written, and its way to and from what it means.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use conclave_core::{KindIndex, ProcessId, Seat, View};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::error::Category;

use super::error::{LineError, Words, excerpt};
use super::words::{
    cause_name, cause_of, event_name, events, family_of, fields_of, keeps_of, phase_name, phase_of,
    promises_of, side_name, side_of,
};
use super::{KINDS_MAX, TRACE_MEMBERS_MAX, VERSION};
use crate::trace::{Header, PendingTimer, Record, Standing, TraceKind};
use crate::{Event, LockName, MessageId, Said, Time, Vocabulary, What, Word};

/// Which lock a word is about.
const LOCK: &str = "lock";

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
    /// What the algorithm is for.
    family: Cow<'a, str>,
    /// What it promises beyond what all of its family do.
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
    /// By member: how it started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    starts: Vec<Option<StandingLine<'a>>>,
}

/// How a process stands.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "`state` and `timers`")]
struct StandingLine<'a> {
    state: serde_json::Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    timers: Vec<TimerLine<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a timer as {\"timer\":\"Lease\",\"due\":5000000}")]
struct TimerLine<'a> {
    timer: Cow<'a, str>,
    due: u64,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    deadline: bool,
}

impl<'a> StandingLine<'a> {
    fn of(standing: &'a Standing) -> Self {
        // What is no JSON is a bug of whoever showed it; it is still better seen than lost.
        let state = serde_json::from_str(&standing.state);
        Self {
            state: state.unwrap_or_else(|_| serde_json::Value::String(standing.state.clone())),
            timers: standing
                .timers
                .iter()
                .map(|PendingTimer { name, due, is_deadline }| TimerLine {
                    timer: Cow::Borrowed(name),
                    due: due.0,
                    deadline: *is_deadline,
                })
                .collect(),
        }
    }

    fn read(self) -> Standing {
        let timers = self.timers.into_iter().map(|TimerLine { timer, due, deadline }| {
            PendingTimer { name: timer.into_owned(), due: Time(due), is_deadline: deadline }
        });
        Standing { state: self.state.to_string(), timers: timers.collect() }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a kind as {\"name\":\"request\",\"phase\":\"enter\"}")]
struct KindLine<'a> {
    name: Cow<'a, str>,
    phase: Cow<'a, str>,
}

/// Any other line. Which of the optional fields there are depends on the event, see [`fields_of`].
#[derive(Serialize, Deserialize, Default)]
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
    partition: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    side: Option<Cow<'a, str>>,
    /// Those of a family's word, and `whom` of `waits-for`.
    #[serde(flatten)]
    fields: Fields,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    rules: Cow<'a, [Cow<'static, str>]>,
    /// How the process stands after the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<StandingLine<'a>>,
}

/// Numbers by name, in the order in which they stand there; `None` is something else that a text
/// has in the place of a number.
#[derive(Default)]
struct Fields(Vec<(Cow<'static, str>, Option<u64>)>);

impl Fields {
    fn put(&mut self, name: &'static str, number: u64) {
        self.0.push((Cow::Borrowed(name), Some(number)));
    }

    /// The number of that name, if there is one.
    fn get(&self, name: &'static str, most: u64) -> Result<Option<u64>, LineError> {
        let field = self.0.iter().find(|(field, _)| field == name);
        match field.map(|(_, number)| number.filter(|&number| number <= most)) {
            Some(None) => Err(LineError::OutOfRange { field: name, most }),
            number => Ok(number.flatten()),
        }
    }

    /// The number in that field, if it is there; an error if it is more than a `u32` can hold.
    fn get_u32(&self, name: &'static str) -> Result<Option<u32>, LineError> {
        let number = self.get(name, u32::MAX.into())?;
        Ok(number.and_then(|number| u32::try_from(number).ok()))
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, number)| (name, number)))
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("numbers by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Fields::default();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            let number = match value {
                Value::Number(number) => Some(number),
                Value::Other(_) => None,
            };
            fields.0.push((Cow::Owned(name), number));
        }
        Ok(fields)
    }
}

/// Whether something else is a mistake can be told only when it is known whose field it is.
#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Number(u64),
    Other(IgnoredAny),
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
            family: Cow::Borrowed(header.vocabulary.family),
            keeps: keeps_of(header.vocabulary, header.promises)
                .into_iter()
                .map(Cow::Borrowed)
                .collect(),
            members: header.members.iter().map(|id| id.0).collect(),
            kinds: kinds.collect(),
            options: header
                .options
                .iter()
                .map(|(name, value)| (Cow::Borrowed(&**name), Cow::Borrowed(&**value)))
                .collect(),
            repeats_from: header.repeats_from,
            stuck: header.is_stuck,
            starts: header.starts.iter().map(|it| it.as_ref().map(StandingLine::of)).collect(),
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
            after: record.after.as_deref().map(StandingLine::of),
            ..Self::default()
        };
        match what {
            What::Asked(said) | What::Told(said) => {
                if said.lock != LockName::default() {
                    line.fields.put(LOCK, u64::from(said.lock.0));
                }
                if let (Some(field), Some(whom)) = (said.word.whom, said.whom) {
                    line.fields.put(field, u64::from(id(whom)));
                }
                for (field, number) in said.word.numbers.iter().zip(said.numbers) {
                    line.fields.put(field, number);
                }
            }
            What::Sent { message, to, kind, copy } => {
                line.message = Some(message.count());
                line.to = Some(id(to));
                line.kind = Some(Cow::Borrowed(&header.kinds[usize::from(kind)].name));
                line.copy = copy.then_some(true);
            }
            What::Received { message, from, kind } => {
                line.message = Some(message.count());
                line.from = Some(id(from));
                line.kind = Some(Cow::Borrowed(&header.kinds[usize::from(kind)].name));
            }
            What::Lost { message, to, cause } => {
                line.message = Some(message.count());
                line.to = Some(id(to));
                line.cause = Some(cause_name(cause).into());
            }
            What::Duplicated { message, to } => {
                line.message = Some(message.count());
                line.to = Some(id(to));
            }
            What::Cut { partition, side } => {
                line.partition = Some(partition);
                line.side = Some(side_name(side).into());
            }
            What::Healed { partition } => line.partition = Some(partition),
            What::WaitsFor { whom } => line.fields.put("whom", u64::from(id(whom))),
            What::TimerFired
            | What::Crashed
            | What::Returned
            | What::Replaced
            | What::Paused
            | What::Resumed => {}
        }
        line
    }
}

/// Reads the first line; the view has its members.
pub(super) fn read_header(
    text: &str,
    families: &[&'static Vocabulary],
) -> Result<(Header, View), LineError> {
    const RIGHT: &str = "the first line has `conclave_trace`, `algorithm`, `seed`, `network`, \
        `family`, `members` and `kinds`, each once";
    let VersionLine { conclave_trace: found } = parse(text, RIGHT)?;
    if found != VERSION {
        return Err(LineError::Version { found });
    }
    let line: HeaderLine<'_> = parse(text, RIGHT)?;
    let view = read_members(&line.members)?;
    let vocabulary = family_of(&line.family, families)?;
    let keeps: Vec<&str> = line.keeps.iter().map(|word| &**word).collect();
    let promises = promises_of(vocabulary, &keeps)?;
    if !line.starts.is_empty() && line.starts.len() != view.len() {
        return Err(LineError::Starts { count: line.starts.len(), members: view.len() });
    }
    let header = Header {
        algorithm: line.algorithm.into_owned(),
        seed: line.seed,
        network: line.network.into_owned(),
        members: view.members().to_owned(),
        kinds: read_kinds(line.kinds)?,
        vocabulary,
        promises,
        options: line
            .options
            .into_iter()
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect(),
        repeats_from: line.repeats_from,
        is_stuck: line.stuck,
        starts: line.starts.into_iter().map(|it| it.map(StandingLine::read)).collect(),
    };
    Ok((header, view))
}

fn read_members(members: &[u32]) -> Result<View, LineError> {
    match members.len() {
        0 => return Err(LineError::NoMembers),
        count if count > TRACE_MEMBERS_MAX => return Err(LineError::TooManyMembers { count }),
        _ => {}
    }
    View::new(members.iter().copied().map(ProcessId))
        .map_err(|twice| LineError::MemberTwice(twice.0))
}

fn read_kinds(kinds: Vec<KindLine<'_>>) -> Result<Vec<TraceKind>, LineError> {
    if kinds.len() > KINDS_MAX {
        return Err(LineError::TooManyKinds { count: kinds.len() });
    }
    let mut names = BTreeSet::new();
    if let Some(kind) = kinds.iter().find(|kind| !names.insert(&kind.name)) {
        return Err(LineError::KindTwice(excerpt(&kind.name)));
    }
    let read = |KindLine { name, phase }| {
        Ok(TraceKind { name: Cow::Owned(name.into_owned()), phase: phase_of(&phase)? })
    };
    kinds.into_iter().map(read).collect()
}

/// Reads any other line.
pub(super) fn read_record(header: &Header, view: &View, text: &str) -> Result<Record, LineError> {
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
        after: line.after.map(|after| Box::new(after.read())),
    })
}

/// What the names in a line mean.
struct Names<'a> {
    header: &'a Header,
    view: &'a View,
}

impl Names<'_> {
    fn what(&self, line: &RecordLine<'_>) -> Result<What, LineError> {
        if let Some(word) = self.header.vocabulary.word(&line.event) {
            let said = self.said(line, word)?;
            self.refuse_foreign(line, word.name)?;
            return Ok(said.what());
        }
        let what = match &*line.event {
            "sent" => What::Sent {
                message: self.sent(line)?,
                to: self.seat("to", self.need(line, "to", line.to)?)?,
                kind: self.kind(line)?,
                copy: line.copy.unwrap_or(false),
            },
            "received" => {
                let from = self.seat("from", self.need(line, "from", line.from)?)?;
                What::Received { message: self.message(line, from)?, from, kind: self.kind(line)? }
            }
            "lost" => What::Lost {
                message: self.sent(line)?,
                to: self.seat("to", self.need(line, "to", line.to)?)?,
                cause: cause_of(self.need(line, "cause", line.cause.as_deref())?)?,
            },
            "duplicated" => What::Duplicated {
                message: self.sent(line)?,
                to: self.seat("to", self.need(line, "to", line.to)?)?,
            },
            "timer-fired" => What::TimerFired,
            "crashed" => What::Crashed,
            "returned" => What::Returned,
            "replaced" => What::Replaced,
            "paused" => What::Paused,
            "resumed" => What::Resumed,
            "cut" => What::Cut {
                partition: self.need(line, "partition", line.partition)?,
                side: side_of(self.need(line, "side", line.side.as_deref())?)?,
            },
            "healed" => What::Healed { partition: self.need(line, "partition", line.partition)? },
            "waits-for" => What::WaitsFor { whom: self.whom(line, "whom")? },
            word => {
                let known = Words(events(self.header.vocabulary));
                return Err(LineError::UnknownWord { field: "event", word: excerpt(word), known });
            }
        };
        self.refuse_foreign(line, event_name(what))?;
        Ok(what)
    }

    fn said(&self, line: &RecordLine<'_>, word: &'static Word) -> Result<Said, LineError> {
        let mut said = Said::new(word);
        if let Some(lock) = line.fields.get_u32(LOCK)? {
            said = said.about(LockName(lock));
        }
        if let Some(field) = word.whom {
            said = said.of(self.whom(line, field)?);
        }
        for (field, number) in word.numbers.iter().zip(&mut said.numbers) {
            *number = self.need(line, field, line.fields.get(field, u64::MAX)?)?;
        }
        Ok(said)
    }

    fn whom(&self, line: &RecordLine<'_>, field: &'static str) -> Result<Seat, LineError> {
        self.seat(field, self.need(line, field, line.fields.get_u32(field)?)?)
    }

    /// The message that this process sent.
    fn sent(&self, line: &RecordLine<'_>) -> Result<MessageId, LineError> {
        self.message(line, self.seat("process", line.process)?)
    }

    fn message(&self, line: &RecordLine<'_>, from: Seat) -> Result<MessageId, LineError> {
        let (field, most) = ("message", MessageId::COUNT_MAX);
        match self.need(line, field, line.message)? {
            count if count <= most => Ok(MessageId::new(from, count)),
            _ => Err(LineError::OutOfRange { field, most }),
        }
    }

    fn need<T>(
        &self,
        line: &RecordLine<'_>,
        field: &'static str,
        value: Option<T>,
    ) -> Result<T, LineError> {
        value.ok_or_else(|| {
            let event = line.event.to_string();
            let fields = Words(fields_of(&event, self.header.vocabulary));
            LineError::Missing { event, field, fields }
        })
    }

    /// A field that this event does not have is a mistake in one or the other.
    fn refuse_foreign(&self, line: &RecordLine<'_>, event: &'static str) -> Result<(), LineError> {
        let present = [
            ("message", line.message.is_some()),
            ("from", line.from.is_some()),
            ("to", line.to.is_some()),
            ("kind", line.kind.is_some()),
            ("copy", line.copy.is_some()),
            ("cause", line.cause.is_some()),
            ("partition", line.partition.is_some()),
            ("side", line.side.is_some()),
        ];
        let present = present.into_iter().filter(|&(_, there)| there).map(|(field, _)| field);
        let named = line.fields.0.iter().map(|(field, _)| &**field);
        let is_said = self.header.vocabulary.word(event).is_some();
        let fields = fields_of(event, self.header.vocabulary);
        let is_own = |field: &str| fields.contains(&field) || (is_said && field == LOCK);
        if let Some(field) = present.chain(named.clone()).find(|field| !is_own(field)) {
            let field = excerpt(field);
            return Err(LineError::Foreign { event, field, fields: Words(fields) });
        }
        let mut seen = BTreeSet::new();
        match named.into_iter().find(|field| !seen.insert(*field)) {
            Some(field) => Err(LineError::Twice { field: excerpt(field) }),
            None => Ok(()),
        }
    }

    fn seat(&self, field: &'static str, id: u32) -> Result<Seat, LineError> {
        let id = ProcessId(id);
        self.view.seat(id).ok_or(LineError::UnknownProcess { field, id })
    }

    fn kind(&self, line: &RecordLine<'_>) -> Result<KindIndex, LineError> {
        let name = self.need(line, "kind", line.kind.as_deref())?;
        let index = self.header.kinds.iter().position(|kind| kind.name == name);
        // A header has no more kinds than an index can tell apart.
        let index = index.and_then(|index| KindIndex::try_from(index).ok());
        index.ok_or_else(|| LineError::UnknownKind(excerpt(name)))
    }
}

/// The JSON object that is this line; `right` says what one with all fields would be.
fn parse<'a, T: Deserialize<'a>>(text: &'a str, right: &'static str) -> Result<T, LineError> {
    match text.trim_start().chars().next() {
        None => return Err(LineError::Blank),
        Some('{') => {}
        // Serde would take an array, too, with the fields in their order.
        Some(_) => return Err(LineError::NotAnObject),
    }
    serde_json::from_str(text).map_err(|error| {
        let told = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let told = told.strip_suffix(&place).unwrap_or(&told);
        match error.classify() {
            Category::Eof => LineError::CutShort { length: text.len() },
            Category::Syntax | Category::Io => {
                LineError::NotJson { column: error.column(), problem: excerpt(told) }
            }
            Category::Data => match told.rsplit_once(", expected ") {
                Some((problem, expected)) => LineError::Shape {
                    problem: excerpt(problem),
                    right: format!("expected {expected}"),
                },
                None => LineError::Shape { problem: excerpt(told), right: right.to_string() },
            },
        }
    })
}
