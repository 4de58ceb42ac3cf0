//! `conclave trace`: a recorded run, judged again.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use conclave_observe::trace::json;
use conclave_workbench::recorded::judge_again;
use conclave_workbench::sentence::counted;

use crate::exit;
use crate::lab::words::TraceArgs;
use crate::output;

pub fn execute(args: &TraceArgs) -> anyhow::Result<ExitCode> {
    let text = output::read_file(&args.file)?;
    let trace = json::read(&text).with_context(|| args.file.display().to_string())?;
    let members = trace.header.members.len();
    let (report, reason) = judge_again(&trace);
    output::say(|out| {
        if args.explain {
            output::explain(&trace, out)?;
            writeln!(out)?;
        }
        let style = output::style(report.verdict);
        let (name, seed) = (output::played(&trace.header), trace.header.seed);
        let processes = counted(members as u64, "process", "processes");
        writeln!(out, "{name}, {processes}, network {}, seed {seed}", trace.header.network)?;
        writeln!(out, "  {style}{}{style:#}: {reason}", report.verdict)?;
        let records = counted(trace.records.len() as u64, "record", "records");
        let sent = counted(report.bandwidth.sent(), "message", "messages");
        writeln!(out, "  {records}, {sent}, until {} ms", report.end)
    })?;
    output::check_window(&args.drawing)?;
    output::draw(&trace, &args.drawing, members, vec![format!("{}: {reason}", report.verdict)])?;
    Ok(exit::exit_code(report.verdict))
}
