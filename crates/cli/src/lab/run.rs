//! `conclave run`: one run, simulated, judged, measured.

mod replay;
mod scenario;

use std::io::Write;
use std::process::ExitCode;

use anyhow::anyhow;
use conclave_observe::Verdict;
use conclave_observe::trace::json;
use conclave_sim::{Recording, Workload};
use conclave_workbench::account;
use conclave_workbench::draft::Draft;
use conclave_workbench::family::profile;
use conclave_workbench::plan::{Done, Plan};
use conclave_workbench::scenario::Expected;
use conclave_workbench::sentence::reason;

use crate::exit;
use crate::lab::progress::Progress;
use crate::lab::spelling::{self, quoted, refused, spelt};
use crate::lab::words::RunArgs;
use crate::output;
use scenario::Played;

pub fn execute(args: &RunArgs) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.replay {
        return replay::execute(args, path);
    }
    let (plan, expects) = plan_and_expectations_of(args)?;
    check_files(args)?;
    plan.check_memory(args.memory.limit()).map_err(refused)?;
    let (total, unit) = (profile(plan.entry).work)(&plan);
    let progress = Progress::new(total, unit);
    let done = plan.run(&mut |entries| progress.set(entries))?;
    drop(progress);
    tell(args, &done, &expects)
}

/// Better to be told before a long run than after it.
fn check_files(args: &RunArgs) -> anyhow::Result<()> {
    output::check_window(&args.drawing)?;
    for path in args.trace.iter().chain(&args.drawing.svg) {
        output::check_writable(path)?;
    }
    Ok(())
}

fn tell(args: &RunArgs, done: &Done, expects: &[Expected]) -> anyhow::Result<ExitCode> {
    output::say(|out| {
        if args.json {
            return writeln!(out, "{:#}", account::as_json(done, &command(done)));
        }
        if args.explain {
            output::explain(&done.trace(), out)?;
            writeln!(out)?;
        }
        print(done, args.stats, expects, out)
    })?;
    write_files(args, done)?;
    Ok(exit::exit_code(done.outcome.report.verdict))
}

fn write_files(args: &RunArgs, done: &Done) -> anyhow::Result<()> {
    if args.trace.is_none() && args.drawing.svg.is_none() {
        return Ok(());
    }
    let mut trace = done.trace();
    let caption = vec![format!("{}: {}", done.outcome.report.verdict, reason(done))];
    output::draw(&trace, &args.drawing, done.plan.clients.len(), caption)?;
    if let Some(path) = &args.trace {
        if !args.states && args.replay.is_none() {
            // They were recorded for the picture alone.
            trace.header.starts.clear();
            trace.records.iter_mut().for_each(|record| record.after = None);
        }
        output::write_file(path, |file| {
            writeln!(file, "{}", json::write_header(&trace.header))?;
            for record in &trace.records {
                writeln!(file, "{}", json::write_record(&trace.header, record))?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// The plan that these words ask for.
pub fn plan_of(args: &RunArgs) -> anyhow::Result<Plan> {
    plan_and_expectations_of(args).map(|(plan, _)| plan)
}

/// The plan that these words ask for, and what its scenario says is to come of it.
fn plan_and_expectations_of(args: &RunArgs) -> anyhow::Result<(Plan, Vec<Expected>)> {
    let played = args.settings.scenario.as_deref().map(Played::read).transpose()?;
    let algorithm = match (&args.algorithm, &played) {
        (Some(name), _) => name,
        (None, Some(played)) => played.algorithm()?,
        (None, None) => {
            return Err(anyhow!("no algorithm is named; `conclave algorithms` lists them"));
        }
    };
    let mut draft = Draft::named(algorithm)?;
    for (name, value) in &args.settings.said {
        draft.say(name, value).map_err(refused)?;
    }
    let mut expects = Vec::new();
    if let Some(played) = &played {
        draft.play(played.scenario.clone());
        expects.clone_from(&played.scenario.expects);
    }
    let mut plan = draft.plan().map_err(|error| match &played {
        Some(played) => played.refused(error),
        None => refused(error),
    })?;
    if args.explain || args.trace.is_some() || args.drawing.svg.is_some() {
        plan.recording = Recording::Everything;
    }
    // A picture shows timers, too.
    plan.states = args.states || args.drawing.svg.is_some();
    Ok((plan, expects))
}

fn print(
    done: &Done,
    stats: bool,
    expects: &[Expected],
    out: &mut impl Write,
) -> std::io::Result<()> {
    let verdict = done.outcome.report.verdict;
    let style = output::style(verdict);
    writeln!(out, "{}", account::head(done))?;
    let mut line = |name: &str, text: String| writeln!(out, "  {name:<13} {text}");
    if let Some(text) = account::replayed(done) {
        line("replayed", text)?;
    }
    line("verdict", format!("{style}{verdict}{style:#}: {}", reason(done)))?;
    for (name, text) in account::lines(done) {
        line(name, spelt(&text, account::NAMED))?;
    }
    for text in account::unmet(done, expects) {
        line("unexpected", text)?;
    }
    if stats {
        for text in account::by_process(done) {
            writeln!(out, "  {text}")?;
        }
    }
    if verdict != Verdict::Ok {
        writeln!(out, "repeat it with: {}", command(done))?;
    }
    Ok(())
}

/// The command that does the same again. A scenario is a file, and so is a recorded run: then it is
/// the one that was given.
fn command(done: &Done) -> String {
    if done.replayed.is_none() && !matches!(done.plan.workload, Workload::Script(_)) {
        return spelling::command(&done.plan);
    }
    let words = std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned());
    let words: Vec<_> = words.map(|word| quoted(&word)).collect();
    format!("conclave {}", words.join(" "))
}
