//! `conclave trace`: a recorded run, judged again.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use conclave_observe::trace::{Trace, json};
use conclave_observe::{Ending, JudgeOrdering, What};

use super::{explain, output};
use crate::cli::TraceArgs;
use crate::{exit, sentence};

/// Above that many processes the order of grants is not judged.
const ORDERING_MAX: usize = 1_000;

pub fn execute(args: &TraceArgs) -> anyhow::Result<ExitCode> {
    let text = output::read_file(&args.file)?;
    let trace = json::read(&text).with_context(|| args.file.display().to_string())?;
    let members = trace.header.members.len();
    let ordering = if members <= ORDERING_MAX { JudgeOrdering::Yes } else { JudgeOrdering::No };
    // A run that did not end well says at its end who waits for whom; one that was cut off does
    // not, and is not blamed for those who wait.
    let waits = waits(&trace);
    let ending = if waits.is_empty() { Ending::Finished } else { Ending::Quiet };
    let promises_order = trace.header.promises_order;
    let report = trace.judge(ordering).finish(ending, promises_order);
    let reason = sentence::judged(&report, promises_order, |seat| trace.id(seat))
        .or((!waits.is_empty()).then(|| waits.join(", ")))
        .unwrap_or_else(|| sentence::ended(&report));
    let mut out = anstream::stdout().lock();
    if args.explain {
        explain::explain(&trace, &mut out)?;
        writeln!(out)?;
    }
    let style = output::style(report.verdict);
    let (name, seed) = (&trace.header.algorithm, trace.header.seed);
    writeln!(out, "{name}, {members} processes, network {}, seed {seed}", trace.header.network)?;
    writeln!(out, "  {style}{}{style:#}: {reason}", report.verdict)?;
    let (events, sent) = (trace.records.len(), report.bandwidth.sent());
    writeln!(out, "  {events} events, {sent} messages, until {} ms", report.end)?;
    output::draw(&trace, &args.drawing, vec![format!("{}: {reason}", report.verdict)])?;
    Ok(exit::exit_code(report.verdict))
}

/// Who waits for whom, as the run said at its end.
fn waits(trace: &Trace) -> Vec<String> {
    let records = trace.records.iter();
    let waits = records.filter_map(|record| match record.event.what {
        What::WaitsFor { whom } => Some((trace.id(record.event.seat), trace.id(whom))),
        _ => None,
    });
    waits.map(|(waiter, whom)| format!("{waiter} waits for {whom}")).collect()
}
