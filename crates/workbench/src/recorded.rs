//! Runs that were recorded: judged again, and planned again so that the real processes can take
//! them again.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use conclave_algorithms::catalogue::{Entry, SERVER, SeatingError};
use conclave_algorithms::mutants::{self, Breaks, Mutant};
use conclave_core::mutex::ORDERING;
use conclave_core::{ProcessId, Seat};
use conclave_observe::family::elections::Seen;
use conclave_observe::trace::{Header, Record, Trace};
use conclave_observe::{Ending, JudgeOrdering, Report, WaitGraph, What};

use crate::draft::{Draft, DraftError};
use crate::plan::{Plan, UNTIMED};
use crate::sentence;
use crate::setting::{self, MEMBERS_MAX, SettingError};

/// A recorded run whose processes cannot be started again. All of it is said in the first line.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordedError {
    /// No such algorithm.
    #[error("line 1: {0}")]
    Algorithm(SeatingError),
    /// Nobody, or too many.
    #[error("line 1: {0} members; a run has from 1 to {MEMBERS_MAX}")]
    Members(usize),
    /// Something that decides a run, but that no recorded run says.
    #[error("line 1: `options` has `{}`, which no process is told", .0.escape_debug())]
    NotTold(String),
    /// Something that processes are told, but not like that.
    #[error("line 1: `{name}` of `options` is `{}`; {error}", value.escape_debug())]
    Option {
        /// The name of the option.
        name: &'static str,
        /// How it was told.
        value: String,
        /// What is wrong with it.
        error: SettingError,
    },
    /// No plan can be made of it.
    #[error("line 1: {0}")]
    Draft(DraftError),
    /// A clock or a holder of somebody who is not there.
    #[error("line 1: `options` names process {0}, who is not a member")]
    Stranger(ProcessId),
    /// The server does not sit in the first place.
    #[error("line 1: `members` of {0} begin with {SERVER}")]
    NoServer(&'static str),
    /// The file and the catalogue disagree.
    #[error("line 1: {0} promises something else")]
    Promises(&'static str),
}

/// The plan by which the processes of a recorded run are started again.
pub fn plan_of_trace(trace: &Trace) -> Result<Plan, RecordedError> {
    let header = &trace.header;
    let mut plan = draft_of(header)?.plan().map_err(RecordedError::Draft)?;
    let entry = plan.entry;
    let named = plan.clocks.iter().map(|(id, _)| *id).chain(plan.holder);
    if let Some(stranger) = named.into_iter().find(|id| plan.clients.seat(*id).is_none()) {
        return Err(RecordedError::Stranger(stranger));
    }
    if entry.view_of(&plan.clients).map_or(true, |view| view.members() != header.members) {
        return Err(RecordedError::NoServer(entry.name));
    }
    if header.vocabulary.family != entry.family || header.promises != entry.promises {
        return Err(RecordedError::Promises(entry.name));
    }
    // What the application did is what the trace says that it did.
    let is_call = |record: &&Record| Seen::of(record.event.what) == Seen::Called;
    let calls = trace.records.iter().filter(is_call);
    plan.calls = calls.map(|record| (trace.id(record.event.seat), record.event.at)).collect();
    plan.until = trace.records.last().map(|record| record.event.at).unwrap_or_default();
    Ok(plan)
}

/// Whether that names a mutant by which nothing is done to the processes: it is about what need not
/// happen for ever.
fn is_unseen((name, value): &(String, String)) -> bool {
    let is_about_ever =
        |it: &'static Mutant| matches!(it.breaks, Breaks::Leaves | Breaks::Arrivals);
    name == "mutant" && mutants::find(value).is_ok_and(is_about_ever)
}

/// What the first line says of the processes.
fn draft_of(header: &Header) -> Result<Draft, RecordedError> {
    let mut draft = Draft::named(&header.algorithm).map_err(RecordedError::Algorithm)?;
    let ids = clients(header, draft.entry());
    if ids.is_empty() || ids.len() > MEMBERS_MAX as usize {
        return Err(RecordedError::Members(ids.len()));
    }
    let seed = header.seed.to_string();
    let ids = ids.iter().map(ToString::to_string);
    let members = ids.map(|id| ("ids", id)).chain([("seed", seed)]);
    let network = (header.network != UNTIMED).then(|| ("network", header.network.clone()));
    for (name, value) in members.chain(network) {
        draft.say(name, &value).map_err(RecordedError::Draft)?;
    }
    for (name, value) in header.options.iter().filter(|option| !is_unseen(option)) {
        let setting = setting::find(name).filter(|setting| setting.is_recorded);
        let setting = setting.ok_or_else(|| RecordedError::NotTold(name.clone()))?;
        draft.say(name, value).map_err(|error| match error {
            DraftError::Setting { error, .. } => {
                RecordedError::Option { name: setting.name, value: value.to_owned(), error }
            }
            error => RecordedError::Draft(error),
        })?;
    }
    Ok(draft)
}

/// All members but the server, which its algorithm seats itself.
fn clients(header: &Header, entry: &Entry) -> Vec<ProcessId> {
    let is_client = |id: &&ProcessId| !entry.needs.coordinator || **id != SERVER;
    header.members.iter().filter(is_client).copied().collect()
}

/// Above that many processes the order of grants is not judged.
const ORDERING_MAX: usize = 1_000;

/// What is to be said of a recorded run, and why.
pub fn judge_again(trace: &Trace) -> (Report, String) {
    let members = trace.header.members.len();
    let ordering = if members <= ORDERING_MAX { JudgeOrdering::Yes } else { JudgeOrdering::No };
    let judge = trace.judge(ordering);
    let ending = trace.ending(&judge);
    let diagnosis =
        (ending == Ending::Quiet).then(|| WaitGraph::new(waits(trace)).diagnose(&judge)).flatten();
    let promises_order = trace.header.promises.keeps(ORDERING);
    let report = judge.finish(ending);
    let id = |seat| trace.id(seat);
    let reason = sentence::judged(&report, promises_order, id)
        .or_else(|| diagnosis.map(|diagnosis| diagnosis.sentence(id)))
        .or_else(|| (ending == Ending::BudgetSpent).then(|| sentence::cut_off(&report)))
        .unwrap_or_else(|| sentence::ended(&report, id));
    (report, reason)
}

/// By seat: whom it waits for, as the run said at its end.
fn waits(trace: &Trace) -> Vec<Vec<Seat>> {
    let mut waits = vec![Vec::new(); trace.header.members.len()];
    for record in &trace.records {
        if let What::WaitsFor { whom } = record.event.what {
            waits[record.event.seat.index()].push(whom);
        }
    }
    waits
}
