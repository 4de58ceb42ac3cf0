//! `conclave trace`: a recorded run, judged again.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use conclave_core::Seat;
use conclave_observe::trace::{Trace, json};
use conclave_observe::{Ending, JudgeOrdering, Report, WaitGraph, What};

use super::{explain, output};
use crate::cli::TraceArgs;
use crate::sentence::counted;
use crate::{exit, sentence};

/// Above that many processes the order of grants is not judged.
const ORDERING_MAX: usize = 1_000;

pub fn execute(args: &TraceArgs) -> anyhow::Result<ExitCode> {
    let text = output::read_file(&args.file)?;
    let trace = json::read(&text).with_context(|| args.file.display().to_string())?;
    let members = trace.header.members.len();
    let (report, reason) = judge_again(&trace);
    output::say(|out| {
        if args.explain {
            explain::explain(&trace, out)?;
            writeln!(out)?;
        }
        let style = output::style(report.verdict);
        let (name, seed) = (&trace.header.algorithm, trace.header.seed);
        let processes = counted(members as u64, "process", "processes");
        writeln!(out, "{name}, {processes}, network {}, seed {seed}", trace.header.network)?;
        writeln!(out, "  {style}{}{style:#}: {reason}", report.verdict)?;
        let events = counted(trace.records.len() as u64, "event", "events");
        let sent = counted(report.bandwidth.sent(), "message", "messages");
        writeln!(out, "  {events}, {sent}, until {} ms", report.end)
    })?;
    output::check_window(&args.drawing)?;
    output::draw(&trace, &args.drawing, members, vec![format!("{}: {reason}", report.verdict)])?;
    Ok(exit::exit_code(report.verdict))
}

/// What is to be said of a recorded run, and why.
pub fn judge_again(trace: &Trace) -> (Report, String) {
    let members = trace.header.members.len();
    let ordering = if members <= ORDERING_MAX { JudgeOrdering::Yes } else { JudgeOrdering::No };
    let judge = trace.judge(ordering);
    let ending = trace.ending(&judge);
    let diagnosis =
        (ending == Ending::Quiet).then(|| WaitGraph::new(waits(trace)).diagnose(&judge)).flatten();
    let promises_order = trace.header.promises.ordering();
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
