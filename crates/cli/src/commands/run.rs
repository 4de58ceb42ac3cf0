//! `conclave run`: one run, simulated, judged, measured.

mod replay;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use conclave_algorithms::catalogue::{self, Entry, Setting};
use conclave_algorithms::quorum::Construction;
use conclave_core::election::Elections;
use conclave_core::mutex::Locks;
use conclave_core::{Family, ProcessId, View};
use conclave_observe::trace::json;
use conclave_observe::{JudgeOrdering, Time, Verdict};
use conclave_sim::{ChannelOrder, FaultPlan, Recording, Scenario, Workload};
use conclave_workbench::account;
use conclave_workbench::plan::{Done, Plan};
use conclave_workbench::sentence::reason;

pub use replay::plan_of_trace;

use super::{output, voting_sets};
use crate::cli::RunArgs;
use crate::exit;
use crate::progress::Progress;

pub fn execute(args: &RunArgs) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.replay {
        return replay::execute(args, path);
    }
    let plan = plan_of(args)?;
    check_files(args)?;
    let progress = match plan.entry.family {
        Locks::NAME => Progress::new(plan.entries, "entries"),
        _ => Progress::new(plan.clients.len() as u64, "decisions"),
    };
    let done = plan.run(&mut |entries| progress.set(entries))?;
    drop(progress);
    tell(args, &done)
}

/// Better to be told before a long run than after it.
fn check_files(args: &RunArgs) -> anyhow::Result<()> {
    output::check_window(&args.drawing)?;
    for path in args.trace.iter().chain(&args.drawing.svg) {
        output::check_writable(path)?;
    }
    Ok(())
}

fn tell(args: &RunArgs, done: &Done) -> anyhow::Result<ExitCode> {
    output::say(|out| {
        if args.json {
            return writeln!(out, "{:#}", account::as_json(done, &command(done)));
        }
        if args.explain {
            output::explain(&done.trace(), out)?;
            writeln!(out)?;
        }
        print(done, args.stats, out)
    })?;
    write_files(args, done)?;
    Ok(exit::exit_code(done.outcome.report.verdict))
}

fn write_files(args: &RunArgs, done: &Done) -> anyhow::Result<()> {
    if args.trace.is_none() && args.drawing.svg.is_none() {
        return Ok(());
    }
    let trace = done.trace();
    if let Some(path) = &args.trace {
        output::write_file(path, |file| {
            writeln!(file, "{}", json::write_header(&trace.header))?;
            for record in &trace.records {
                writeln!(file, "{}", json::write_record(&trace.header, record))?;
            }
            Ok(())
        })?;
    }
    let caption = vec![format!("{}: {}", done.outcome.report.verdict, reason(done))];
    output::draw(&trace, &args.drawing, done.plan.clients.len(), caption)
}

/// So many can beat to each other: their beats take about a gigabyte.
const BEATERS_MAX: usize = 2_000;

/// The plan that these words ask for.
pub fn plan_of(args: &RunArgs) -> anyhow::Result<Plan> {
    let entry = catalogue::find(args.algorithm.as_deref().unwrap_or_default())?;
    check_fit(args, entry)?;
    let scenario = read_scenario(args)?.unwrap_or_default();
    let mut plan = Plan::new(entry, clients(args, &scenario)?);
    if entry.settings.contains(&Setting::Beat) && plan.clients.len() > BEATERS_MAX {
        bail!(
            "{} of {} processes sends N(N-1) beats at a time, which take gigabytes of memory; \
             choose at most {BEATERS_MAX}",
            entry.name,
            plan.clients.len()
        );
    }
    if args.voting_sets.is_some() && !entry.needs.voting_sets {
        bail!("{} uses no voting sets; leave --voting-sets out, or choose maekawa", entry.name);
    }
    plan.construction = args.voting_sets.unwrap_or(Construction::Grid);
    voting_sets::check_size(plan.construction, u32::try_from(plan.clients.len())?)?;
    plan.network = either("--network", args.network, scenario.network)?.unwrap_or(plan.network);
    plan.timing = args.timing.timing(plan.network.typical());
    plan.hold = either("--hold", args.hold, scenario.hold)?.unwrap_or(plan.hold);
    let unordered = args.no_fifo.then_some(ChannelOrder::Any);
    plan.order = either("--no-fifo", unordered, scenario.order)?.unwrap_or(plan.order);
    if let Some(workload) = &args.workload {
        plan.workload = workload.clone();
    }
    if plan.workload == Workload::One {
        plan.entries = plan.clients.len() as u64;
    }
    if args.scenario.is_some() {
        check_asked(entry, &scenario)?;
        plan.entries = scenario.requests.len() as u64;
        plan.workload = Workload::Script(scenario.requests.clone());
    }
    plan.entries = args.entries.unwrap_or(plan.entries);
    plan.faults = faults(args, &scenario)?;
    plan.calls = match &args.election.initiators {
        Some(calls) => calls.clone(),
        None if args.scenario.is_some() => scenario.calls.clone(),
        None => plan.default_calls(),
    };
    plan.until = args.election.until.unwrap_or_else(|| plan.default_until());
    plan.asks_every = args.election.ask_every;
    plan.clocks.clone_from(&scenario.clocks);
    plan.holder = scenario.holder;
    plan.seed = args.seed;
    plan.limits.patience = args.patience.unwrap_or_else(|| plan.default_patience());
    plan.limits.events = args.max_events.unwrap_or(plan.limits.events);
    plan.limits.time = args.max_time.unwrap_or(plan.limits.time);
    if args.ordering {
        plan.ordering = JudgeOrdering::Yes;
    }
    if args.explain || args.trace.is_some() || args.drawing.svg.is_some() {
        plan.recording = Recording::Everything;
    }
    check_callers(args, &plan)?;
    check(&plan, &scenario)?;
    Ok(plan)
}

fn read_scenario(args: &RunArgs) -> anyhow::Result<Option<Scenario>> {
    let Some(path) = &args.scenario else { return Ok(None) };
    let scenario = output::read_file(path)?.parse();
    Ok(Some(scenario.with_context(|| path.display().to_string())?))
}

fn clients(args: &RunArgs, scenario: &Scenario) -> anyhow::Result<View> {
    let named = match (&args.ids, args.n) {
        (Some(ids), _) => Some(View::new(ids.iter().copied().map(ProcessId))?),
        (None, Some(n)) => Some(View::dense(1, n)),
        (None, None) => None,
    };
    let said = either("-n or --ids", named, scenario.view.clone())?;
    Ok(said.unwrap_or_else(|| View::dense(1, 5)))
}

/// What the command line says, or the scenario; not both.
fn either<T>(option: &str, here: Option<T>, there: Option<T>) -> anyhow::Result<Option<T>> {
    if here.is_some() && there.is_some() {
        bail!("the scenario says that already; leave {option} out, or take it out of the file");
    }
    Ok(here.or(there))
}

fn faults(args: &RunArgs, scenario: &Scenario) -> anyhow::Result<FaultPlan> {
    let mut faults = scenario.faults.clone();
    faults.dead.extend(args.faults.dead.iter().copied().map(ProcessId));
    faults.crashes.extend(&args.faults.crash);
    faults.returns.extend(&args.faults.r#return);
    faults.replacements.extend(&args.faults.replace);
    faults.drifts.extend(&args.faults.drift);
    faults.pauses.extend(&args.faults.pause);
    faults.partitions.extend(args.faults.partition.iter().cloned());
    let said =
        |probability: conclave_sim::Probability| (!probability.is_zero()).then_some(probability);
    faults.loss = either("--loss", args.faults.loss, said(faults.loss))?.unwrap_or_default();
    faults.duplicate =
        either("--duplicate", args.faults.duplicate, said(faults.duplicate))?.unwrap_or_default();
    Ok(faults)
}

/// Whether everybody who is named takes part.
fn check(plan: &Plan, scenario: &Scenario) -> anyhow::Result<()> {
    if plan.clients.seat(ProcessId(u32::MAX)).is_some() {
        bail!("{} is no id; ids are from 0 to {}", u32::MAX, u32::MAX - 1);
    }
    let view = plan.entry.view_of(&plan.clients)?;
    plan.faults.check(&view)?;
    if let Some((what, process)) = scenario.stranger(&plan.clients) {
        let ids = conclave_sim::ids_of(&plan.clients);
        bail!("{what}: there is no process {process}; those that ask are {ids}");
    }
    Ok(())
}

/// Whether those who call an election take part, and are not dead from the start until then.
fn check_callers(args: &RunArgs, plan: &Plan) -> anyhow::Result<()> {
    let said_by = if args.election.initiators.is_some() { "--initiators" } else { "call" };
    let is_stranger = |id: &&(ProcessId, Time)| plan.clients.seat(id.0).is_none();
    if let Some((process, _)) = plan.calls.iter().find(is_stranger) {
        let ids = conclave_sim::ids_of(&plan.clients);
        bail!("{said_by}: there is no process {process}; ids are {ids}");
    }
    let FaultPlan { dead, returns, replacements, .. } = &plan.faults;
    let is_back = |caller: ProcessId, at: Time| {
        returns.iter().chain(replacements).any(|it| it.process == caller && it.at <= at)
    };
    let is_dead = |&&(id, at): &&(ProcessId, Time)| dead.contains(&id) && !is_back(id, at);
    if let Some((caller, at)) = plan.calls.iter().find(is_dead) {
        if returns.iter().chain(replacements).any(|it| it.process == *caller) {
            bail!("{said_by}: process {caller} is not back at {at}ms; let it call later");
        }
        bail!("{said_by}: process {caller} is dead from the start; let another call the election");
    }
    Ok(())
}

/// Whether every option says something to this algorithm.
fn check_fit(args: &RunArgs, entry: &Entry) -> anyhow::Result<()> {
    let name = entry.name;
    let (is_mutex, is_election) = (entry.is_of::<Locks>(), entry.is_of::<Elections>());
    let for_mutex = [
        ("--workload", args.workload.is_some()),
        ("--entries", args.entries.is_some()),
        ("--hold", args.hold.is_some()),
        ("--ordering", args.ordering),
    ];
    if let Some((option, _)) = for_mutex.iter().find(|(_, is_given)| *is_given && !is_mutex) {
        bail!("{name} is no mutual exclusion; leave {option} out");
    }
    let for_elections = [
        ("--initiators", args.election.initiators.is_some()),
        ("--ask-every", args.election.ask_every.is_some()),
    ];
    if let Some((option, _)) = for_elections.iter().find(|(_, given)| *given && !is_election) {
        bail!("{name} elects nobody; leave {option} out, or choose e.g. bully");
    }
    if args.election.until.is_some() && is_mutex {
        bail!("{name} runs until all have entered; leave --for out, or give --max-time");
    }
    if args.election.ask_every.is_some() && !entry.settings.contains(&Setting::Lease) {
        bail!("the leaders of {name} keep no value; leave --ask-every out, or choose chubby");
    }
    args.timing.check_fit(entry)
}

/// Whether a scenario says all that the algorithm needs, and nothing that it has no use for.
fn check_asked(entry: &Entry, scenario: &Scenario) -> anyhow::Result<()> {
    let name = entry.name;
    let (is_mutex, is_election) = (entry.is_of::<Locks>(), entry.is_of::<Elections>());
    let for_mutex = [
        ("request", !scenario.requests.is_empty()),
        ("hold", scenario.hold.is_some()),
        ("holder", scenario.holder.is_some()),
        ("clock", !scenario.clocks.is_empty()),
    ];
    if let Some((word, _)) = for_mutex.iter().find(|(_, is_said)| *is_said && !is_mutex) {
        bail!("{name} is no mutual exclusion; leave `{word}` out of the scenario");
    }
    if !scenario.calls.is_empty() && !is_election {
        bail!("{name} elects nobody; leave `call` out of the scenario");
    }
    if !scenario.clocks.is_empty() && !has_logical_clock(entry) {
        bail!("{name} has no logical clock; leave `clock` out of the scenario, or choose lamport");
    }
    if is_mutex && scenario.requests.is_empty() {
        bail!("nobody asks for the lock; add a line like: request 3@0ms");
    }
    if is_election && scenario.calls.is_empty() && !begins_by_itself(entry) {
        bail!("nobody calls an election; add a line like: call 3@0ms");
    }
    Ok(())
}

/// Whether it elects without being called: who has to renew what it has cannot wait for a call.
fn begins_by_itself(entry: &Entry) -> bool {
    let renews = |setting: &Setting| matches!(setting, Setting::Lease | Setting::Session);
    entry.settings.iter().any(renews)
}

/// Whether it stamps its requests, so that it matters what its clock shows first.
fn has_logical_clock(entry: &Entry) -> bool {
    ["lamport", "ricart-agrawala", "ricart-agrawala-deferred", "maekawa"].contains(&entry.name)
}

fn print(done: &Done, stats: bool, out: &mut impl Write) -> std::io::Result<()> {
    let verdict = done.outcome.report.verdict;
    let style = output::style(verdict);
    writeln!(out, "{}", account::head(done))?;
    let mut line = |name: &str, text: String| writeln!(out, "  {name:<13} {text}");
    if let Some(text) = account::replayed(done) {
        line("replayed", text)?;
    }
    line("verdict", format!("{style}{verdict}{style:#}: {}", reason(done)))?;
    for (name, text) in account::lines(done) {
        line(name, text)?;
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
        return done.plan.command();
    }
    let words = std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned());
    let words = words.map(|it| if is_plain(&it) { it } else { format!("'{it}'") });
    format!("conclave {}", words.collect::<Vec<_>>().join(" "))
}

/// Whether a shell leaves the word as it is.
fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || "-_./,:@=+".contains(c))
}

#[cfg(test)]
mod tests {
    use conclave_algorithms::catalogue::{ELECTIONS, MUTEXES};
    use conclave_core::clock::Timestamp;

    use super::*;

    #[test]
    fn an_election_begins_by_itself_if_and_only_if_somebody_is_elected_without_a_call() {
        for entry in ELECTIONS {
            let mut plan = Plan::new(entry, View::dense(1, 3));
            plan.calls.clear();
            plan.until = Time::delays(500);
            let report = plan.run(&mut |_| {}).unwrap().outcome.report;
            let is_elected = report.elections().is_some_and(|it| it.decisions > 0);
            assert_eq!(begins_by_itself(entry), is_elected, "{}", entry.name);
        }
    }

    #[test]
    fn a_logical_clock_is_one_whose_first_reading_is_seen_in_messages() {
        for entry in MUTEXES {
            let texts = |clocks: &[(ProcessId, Timestamp)]| -> Vec<Option<String>> {
                let mut plan = Plan::new(entry, View::dense(1, 3));
                plan.clocks = clocks.to_vec();
                plan.recording = Recording::Everything;
                let records = plan.run(&mut |_| {}).unwrap().outcome.records;
                records.into_iter().map(|record| record.text).collect()
            };
            let is_seen = texts(&[]) != texts(&[(ProcessId(2), Timestamp(101))]);
            assert_eq!(has_logical_clock(entry), is_seen, "{}", entry.name);
        }
    }
}
