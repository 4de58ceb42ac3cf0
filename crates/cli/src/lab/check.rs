//! `conclave check`: everything that an algorithm can do, within bounds.

mod files;
mod table;

pub use conclave_workbench::search::account::HEADS as CHECKED;

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use anyhow::bail;
use conclave_algorithms::catalogue;
use conclave_check::system::{Bounds, Faults, Flaw};
use conclave_check::{Conclusion, Finding, Limit, SearchProgress};
use conclave_core::View;
use conclave_observe::Verdict;
use conclave_observe::trace::json;
use conclave_workbench::search::account::{self, word};
use conclave_workbench::search::draft::SearchDraft;
use conclave_workbench::search::{SearchPlan, Searched};
use conclave_workbench::unit::grouped;

use crate::exit;
use crate::lab::interrupt::{self, is_interrupted};
use crate::lab::progress::Progress;
use crate::lab::spelling::{refused, spelt};
use crate::lab::words::{CheckArgs, Format};
use crate::output;

pub fn execute(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    interrupt::watch()?;
    if args.all {
        return table::execute(args);
    }
    if args.quick || args.format != Format::Text {
        bail!("--quick and --format are for the table of all; give --all instead of an algorithm");
    }
    let plan = plan_of(args)?;
    output::check_window(&args.drawing)?;
    for path in args.trace.iter().chain(&args.drawing.svg).chain(&args.dump) {
        output::check_writable(path)?;
    }
    if account::is_endless(&plan) {
        let hint = spelt(account::ENDLESS, account::NAMED);
        anstream::eprintln!("conclave: {}: only a limit ends this search; {hint}", plan.entry.name);
    }
    let (searched, took) = search(&plan, args.max_time)?;
    say_what_is_not_written(args, &searched);
    let reason = reason(&plan, &searched);
    output::say(|out| {
        if let (true, Some(trace)) = (args.explain, &searched.trace) {
            output::explain(trace, out)?;
            writeln!(out)?;
        }
        match args.json {
            true => writeln!(out, "{}", account::to_json(&plan, &searched, took, &reason)),
            false => print(&plan, &searched, &reason, out),
        }
    })?;
    if !args.json {
        say_what_it_took(&searched.finding, took);
    }
    // Whoever presses Ctrl-C from here on ends no search that the verdict is about.
    let code = code(&searched.finding.verdict);
    if let Some(trace) = &searched.trace {
        if let Some(path) = &args.trace {
            output::write_file(path, |file| file.write_all(json::write(trace).as_bytes()))?;
        }
        let caption = vec![format!("{}: {reason}", word(&searched.finding.verdict))];
        let found = &searched.finding.counterexample;
        let timed = found.as_ref().map(|found| found.told.timed(trace.clone()));
        let drawn = timed.as_ref().unwrap_or(trace);
        output::draw(drawn, &args.drawing, trace.header.members.len(), caption)?;
    }
    if let Some(path) = &args.dump {
        let max_time = args.max_time.saturating_sub(took);
        if let Some(why) = files::dump(&plan, &searched.finding, max_time, path)? {
            anstream::eprintln!("conclave: {}: not written, {why}", path.display());
        }
    }
    Ok(ExitCode::from(code))
}

/// Files and words that were asked for and cannot be: an old file must not be taken for a new one.
fn say_what_is_not_written(args: &CheckArgs, searched: &Searched) {
    if searched.trace.is_some() {
        return;
    }
    for path in args.trace.iter().chain(&args.drawing.svg) {
        anstream::eprintln!(
            "conclave: {}: not written, there is no counterexample",
            path.display()
        );
    }
    if args.explain {
        anstream::eprintln!("conclave: there is no counterexample to explain");
    }
}

/// What is to be searched, if it makes sense.
fn plan_of(args: &CheckArgs) -> anyhow::Result<SearchPlan> {
    let entry = catalogue::find(args.algorithm.as_deref().unwrap_or_default())?;
    let CheckArgs { crashes, returns, losses, duplications, terms, timeouts, .. } = *args;
    let clients = match (&args.ids, args.n) {
        (Some(ids), _) => Some(View::new(ids.iter().copied())?),
        (None, n) => n.map(|n| View::dense(1, n)),
    };
    let draft = SearchDraft {
        clients,
        said: args.settings.said.clone(),
        requests: args.requests,
        askers: args.askers.clone(),
        time: args.time,
        is_unordered: args.no_fifo,
        faults: Faults { crashes, returns, losses, duplications },
        crash_loses: args.crash_loses,
        bounds: Bounds { terms, timeouts },
        symmetry: args.symmetry,
        is_safety: args.safety,
        unfair: args.unfair.iter().copied().map(Into::into).collect(),
        max_states: args.max_states,
    };
    let mut plan = draft.plan(entry).map_err(refused)?;
    spend(&mut plan, args);
    Ok(plan)
}

/// How much this machine may do for it.
fn spend(plan: &mut SearchPlan, args: &CheckArgs) {
    plan.options.is_exact = args.exact;
    plan.options.threads = threads(args);
    plan.options.budget.bytes = args.memory.limit();
}

/// On how many threads: one for each core, unless it is said otherwise.
fn threads(args: &CheckArgs) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    args.threads.map_or_else(cores, usize::from)
}

/// Says how far a search is, and ends it after that time or by Ctrl-C.
fn watch(
    progress: &Progress,
    max_time: Duration,
) -> impl FnMut(&SearchProgress) -> ControlFlow<()> {
    move |far| {
        progress.say(|elapsed| how_far(far, elapsed));
        match progress.elapsed() > max_time || is_interrupted() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Searches, and says how far it is.
fn search(plan: &SearchPlan, max_time: Duration) -> anyhow::Result<(Searched, Duration)> {
    let progress = Progress::endless(plan.entry.name);
    let searched = plan.run(&mut watch(&progress, max_time)).map_err(refused)?;
    Ok((searched, progress.elapsed()))
}

fn how_far(far: &SearchProgress, elapsed: Duration) -> String {
    let rate = far.generated as f64 / elapsed.as_secs_f64() / 1e6;
    format!(
        "{} states, depth {}, frontier {}, {rate:.1} M/s, {} MiB",
        grouped(far.distinct),
        far.depth,
        grouped(far.frontier),
        far.bytes >> 20
    )
}

/// What ended a search, as it is said on the command line.
fn limit_word(limit: Limit) -> &'static str {
    match limit {
        Limit::States => "--max-states",
        Limit::Memory => "--max-memory",
        Limit::Stopped if is_interrupted() => "Ctrl-C",
        Limit::Stopped => "--max-time",
    }
}

/// What is said of one search, by column of [`CHECKED`].
pub fn checked(plan: &SearchPlan, searched: &Searched, took: Duration) -> [String; 11] {
    let fields = account::fields_of(plan, searched, took, limit_word);
    fields.map(|field| spelt(&field, account::NAMED))
}

/// Why the verdict is what it is, in a sentence.
fn reason(plan: &SearchPlan, searched: &Searched) -> String {
    spelt(&account::reason(plan, searched, limit_word), account::NAMED)
}

fn code(verdict: &Conclusion) -> u8 {
    match verdict {
        Conclusion::Proved => 0,
        Conclusion::Refuted(flaw) => exit::code(match flaw {
            Flaw::Breach(_) | Flaw::Invariant => Verdict::Violated,
            Flaw::Deadlock => Verdict::Deadlock,
            Flaw::Stalled => Verdict::Stalled,
            Flaw::Starved => Verdict::Starved,
        }),
        Conclusion::Vacuous(_) | Conclusion::Inexact => exit::VACUOUS,
        Conclusion::Budget(Limit::Stopped) if is_interrupted() => exit::INTERRUPTED,
        Conclusion::Budget(_) => exit::code(Verdict::Budget),
    }
}

fn style(verdict: &Conclusion) -> Style {
    let colour = match verdict {
        Conclusion::Proved => AnsiColor::Green,
        Conclusion::Budget(_) | Conclusion::Vacuous(_) | Conclusion::Inexact => AnsiColor::Yellow,
        Conclusion::Refuted(_) => AnsiColor::Red,
    };
    Style::new().bold().fg_color(Some(colour.into()))
}

fn print(
    plan: &SearchPlan,
    searched: &Searched,
    reason: &str,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let verdict = &searched.finding.verdict;
    let style = style(verdict);
    writeln!(out, "{}", account::head(plan))?;
    writeln!(out, "  {style}{}{style:#}: {reason}", word(verdict))?;
    for (name, text) in account::lines(plan, searched) {
        writeln!(out, "  {name:<10} {text}")?;
    }
    Ok(())
}

/// What it took, for who waited for it: it differs from time to time.
fn say_what_it_took(finding: &Finding, took: Duration) {
    let SearchProgress { distinct, generated, bytes, .. } = finding.progress;
    if std::io::stderr().is_terminal() {
        let (seconds, each) = (took.as_secs_f64(), bytes / distinct.max(1));
        let rate = generated as f64 / seconds / 1e6;
        anstream::eprintln!("took {seconds:.2} s, {rate:.1} M states/s, {each} bytes a state");
    }
}
