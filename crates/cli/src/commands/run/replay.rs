//! `conclave run --replay`: a recorded run, taken again by the real processes.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Parser;
use conclave_algorithms::catalogue::{self, Entry, SERVER, Setting};
use conclave_core::ProcessId;
use conclave_core::clock::Timestamp;
use conclave_observe::JudgeOrdering;
use conclave_observe::family::elections::Seen;
use conclave_observe::trace::{Header, Record, Trace, json};
use conclave_workbench::plan::{Plan, UNTIMED};

use super::super::output;
use super::{check_files, plan_of, tell};
use crate::cli::{Cli, Command, MEMBERS_MAX, RunArgs};
use crate::exit;

pub fn execute(args: &RunArgs, path: &Path) -> anyhow::Result<ExitCode> {
    let text = output::read_file(path)?;
    let file = || path.display().to_string();
    let trace = json::read(&text).with_context(file)?;
    let mut plan = plan_of_trace(&trace).with_context(file)?;
    if args.ordering {
        plan.ordering = JudgeOrdering::Yes;
    }
    check_files(args)?;
    match plan.replay(&trace)? {
        Ok(done) => tell(args, &done),
        Err(error) => {
            anstream::eprintln!("conclave: {}: does not replay: {error}", path.display());
            Ok(ExitCode::from(exit::NOT_REPLAYED))
        }
    }
}

/// The plan by which the processes of a recorded run are started again. The first line of the file
/// has the words of a command line, and is read as such.
pub fn plan_of_trace(trace: &Trace) -> anyhow::Result<Plan> {
    let header = &trace.header;
    let entry = catalogue::find(&header.algorithm).context("line 1")?;
    let args = match Cli::try_parse_from(words(header, entry)?).map(|cli| cli.command) {
        Ok(Command::Run(args)) => args,
        Ok(_) => bail!("line 1: not a run"),
        Err(error) => {
            let said = error.to_string();
            let said = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
            bail!("line 1: {said}");
        }
    };
    let mut plan = plan_of(&args).context("line 1")?;
    for (name, value) in &header.options {
        match &**name {
            "clock" => plan.clocks.push(clock(value).with_context(|| no_option(name, value))?),
            "holder" => plan.holder = Some(process(value).with_context(|| no_option(name, value))?),
            _ => {}
        }
    }
    let named = plan.clocks.iter().map(|(id, _)| *id).chain(plan.holder);
    if let Some(stranger) = named.into_iter().find(|id| plan.clients.seat(*id).is_none()) {
        bail!("line 1: `options` names process {stranger}, who is not a member");
    }
    if plan.entry.view_of(&plan.clients)?.members() != header.members {
        bail!("line 1: `members` of {} begin with {SERVER}", entry.name);
    }
    if header.vocabulary.family != entry.family || header.promises != entry.promises {
        bail!("line 1: {} promises something else", entry.name);
    }
    // What the application did is what the trace says that it did.
    let is_call = |record: &&Record| Seen::of(record.event.what) == Seen::Called;
    let calls = trace.records.iter().filter(is_call);
    plan.calls = calls.map(|record| (trace.id(record.event.seat), record.event.at)).collect();
    plan.until = trace.records.last().map(|record| record.event.at).unwrap_or_default();
    Ok(plan)
}

/// The command line that would start these processes, but for what only a scenario can say.
fn words(header: &Header, entry: &Entry) -> anyhow::Result<Vec<String>> {
    let is_client = |id: &&ProcessId| !entry.needs.coordinator || **id != SERVER;
    let ids: Vec<_> = header.members.iter().filter(is_client).map(ToString::to_string).collect();
    if ids.is_empty() || ids.len() > MEMBERS_MAX as usize {
        bail!("line 1: {} members; a run has from 1 to {MEMBERS_MAX}", ids.len());
    }
    let mut words: Vec<String> = ["conclave", "run", entry.name].map(Into::into).to_vec();
    words.push(format!("--ids={}", ids.join(",")));
    words.push(format!("--seed={}", header.seed));
    if header.network != UNTIMED {
        words.push(format!("--network={}", header.network));
    }
    for (name, value) in &header.options {
        match &**name {
            "clock" | "holder" => {}
            "drift" | "voting-sets" => words.push(format!("--{name}={value}")),
            _ if Setting::ALL.iter().all(|setting| setting.option() != format!("--{name}")) => {
                bail!("line 1: `options` has `{}`, which no process is told", name.escape_debug());
            }
            _ if value.is_empty() => words.push(format!("--{name}")),
            _ => words.push(format!("--{name}={value}")),
        }
    }
    Ok(words)
}

fn no_option(name: &str, value: &str) -> String {
    let right = if name == "clock" { "PROCESS COUNT, e.g. 32 101" } else { "a process, e.g. 3" };
    format!("line 1: `{name}` of `options` is `{}`; it is {right}", value.escape_debug())
}

fn process(text: &str) -> Option<ProcessId> {
    text.parse().ok().map(ProcessId)
}

fn clock(text: &str) -> Option<(ProcessId, Timestamp)> {
    let (id, count) = text.split_once(' ')?;
    // Clocks count on from here: half of their range is left for that.
    let count: u32 = count.parse().ok()?;
    Some((process(id)?, Timestamp(count.into())))
}
