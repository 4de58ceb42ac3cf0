//! Runs that were recorded: judged again.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_core::mutex::ORDERING;
use conclave_observe::trace::Trace;
use conclave_observe::{Ending, JudgeOrdering, Report, WaitGraph, What};

use crate::sentence;

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
