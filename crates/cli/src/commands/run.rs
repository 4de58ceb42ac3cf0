//! `conclave run`: one run, simulated, judged, measured.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use conclave_algorithms::catalogue;
use conclave_algorithms::quorum::Construction;
use conclave_core::{Phase, ProcessId, Seat, View};
use conclave_observe::measure::Histogram;
use conclave_observe::trace::json;
use conclave_observe::{JudgeOrdering, Report, Time, Verdict};
use conclave_sim::{ChannelOrder, FaultPlan, Recording, Scenario, Workload};
use serde_json::{Map, Value, json};

use super::output::{self, Unit, number, spread};
use super::{explain, voting_sets};
use crate::cli::RunArgs;
use crate::exit;
use crate::plan::{Done, Plan};
use crate::progress::Progress;
use crate::sentence::{plural, reason};

pub fn execute(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let plan = plan_of(args)?;
    // Better to be told before a long run than after it.
    output::check_window(&args.drawing)?;
    for path in args.trace.iter().chain(&args.drawing.svg) {
        output::check_writable(path)?;
    }
    let progress = Progress::new(plan.entries, "entries");
    let done = plan.run(&mut |entries| progress.set(entries))?;
    drop(progress);
    let mut out = anstream::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&as_json(&done))?)?;
    } else {
        if args.explain {
            explain::explain(&done.trace(), &mut out)?;
            writeln!(out)?;
        }
        print(&done, args.stats, &mut out)?;
    }
    out.flush()?;
    write_files(args, &done)?;
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

/// The plan that these words ask for.
pub fn plan_of(args: &RunArgs) -> anyhow::Result<Plan> {
    let entry = catalogue::find(&args.algorithm)?;
    let scenario = read_scenario(args)?.unwrap_or_default();
    let mut plan = Plan::new(entry, clients(args, &scenario)?);
    if args.voting_sets.is_some() && !entry.needs.voting_sets {
        bail!("{} uses no voting sets; leave --voting-sets out, or choose maekawa", entry.name);
    }
    plan.construction = args.voting_sets.unwrap_or(Construction::Grid);
    voting_sets::check_size(plan.construction, u32::try_from(plan.clients.len())?)?;
    plan.network = either("--network", args.network, scenario.network)?.unwrap_or(plan.network);
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
        plan.entries = scenario.requests.len() as u64;
        plan.workload = Workload::Script(scenario.requests.clone());
    }
    plan.entries = args.entries.unwrap_or(plan.entries);
    plan.faults = faults(args, &scenario)?;
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
    faults.crashes.extend(&args.faults.crash);
    faults.returns.extend(&args.faults.r#return);
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
    let view = plan.entry.view_of(&plan.clients)?;
    plan.faults.check(&view)?;
    if let Some((what, process)) = scenario.stranger(&plan.clients) {
        let ids: Vec<_> = plan.clients.members().iter().map(ToString::to_string).collect();
        bail!("{what}: there is no process {process}; those that ask are {}", ids.join(","));
    }
    Ok(())
}

fn print(done: &Done, stats: bool, out: &mut impl Write) -> std::io::Result<()> {
    let Done { plan, outcome, .. } = done;
    let report = &outcome.report;
    let unit = Unit::of(plan.network).word();
    let style = output::style(report.verdict);
    writeln!(
        out,
        "{}, {} processes, network {}, workload {}, seed {}",
        plan.entry.name,
        plan.clients.len(),
        plan.network,
        plan.workload,
        plan.seed
    )?;
    let mut line = |name: &str, text: String| writeln!(out, "  {name:<13} {text}");
    line("verdict", format!("{style}{}{style:#}: {}", report.verdict, reason(done)))?;
    line("entries", entries(report, unit))?;
    line("messages", messages(report))?;
    line("client delay", spread(&report.delays.client, "nobody was alone"))?;
    line("sync delay", spread(&report.delays.sync, "nobody waited for another to leave"))?;
    line("wait", spread(&report.delays.wait, "nobody entered"))?;
    line(
        "throughput",
        match report.delays.throughput() {
            Some(rate) => format!("{} entries per {}", number(rate), Unit::of(plan.network).one()),
            None => "too few entries to tell".into(),
        },
    )?;
    let (busiest, mean) = load(report);
    let word = plural(busiest, "message", "messages");
    line("load", format!("busiest process {busiest} {word}, mean {}", number(mean)))?;
    line("fairness", fairness(report))?;
    line("safety", safety(report))?;
    line("liveness", liveness(report, &done.view))?;
    line("ordering", ordering(report))?;
    line("fences", fences(report))?;
    for fault in &outcome.faults {
        let text = match fault.count {
            0 => format!(
                "{} NEVER FIRED: the run was over, or there was nothing to hit",
                fault.label
            ),
            1 => format!("{} fired", fault.label),
            count => format!("{} fired {count} times", fault.label),
        };
        line("fault", text)?;
    }
    line("trace hash", format!("{:016x}", report.fingerprint))?;
    if stats {
        print_stats(done, out)?;
    }
    if report.verdict != Verdict::Ok {
        writeln!(out, "repeat it with: {}", command(plan))?;
    }
    Ok(())
}

/// The command that does the same again. A scenario is a file, so it is the one that was given.
fn command(plan: &Plan) -> String {
    match plan.workload {
        Workload::Script(_) => {
            let words = std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned());
            let words = words.map(|it| if is_plain(&it) { it } else { format!("'{it}'") });
            format!("conclave {}", words.collect::<Vec<_>>().join(" "))
        }
        _ => plan.command(),
    }
}

/// Whether a shell leaves the word as it is.
fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || "-_./,:@=+".contains(c))
}

fn entries(report: &Report, unit: &str) -> String {
    let end = number(report.end.in_delays());
    let unit = if end == "1" { unit.trim_end_matches("s") } else { unit };
    format!("{} in {end} {unit}", report.delays.entries())
}

fn messages(report: &Report) -> String {
    let kinds: Vec<String> =
        report.bandwidth.by_kind().map(|(kind, count)| format!("{} {count}", kind.name)).collect();
    let (enter, leave) = per_entry(report);
    format!(
        "{}{}; per entry {} to enter, {} to leave; {} with a multicast as one",
        report.bandwidth.sent(),
        if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) },
        enter.map_or("-".into(), number),
        leave.map_or("-".into(), number),
        report.bandwidth.transmissions(),
    )
}

fn per_entry(report: &Report) -> (Option<f64>, Option<f64>) {
    let entries = report.delays.entries();
    let share =
        |phase| (entries > 0).then(|| report.bandwidth.in_phase(phase) as f64 / entries as f64);
    (share(Phase::Enter), share(Phase::Leave))
}

fn load(report: &Report) -> (u64, f64) {
    let handled = report.bandwidth.handled();
    let busiest = handled.iter().copied().max().unwrap_or_default();
    (busiest, handled.iter().sum::<u64>() as f64 / handled.len().max(1) as f64)
}

fn fairness(report: &Report) -> String {
    let jain = report.fairness.jain().map_or("-".into(), number);
    let most = report.waiting.overtaken_most();
    format!(
        "Jain's index {jain}; nobody was passed by more than {most} later {}",
        plural(most, "request", "requests")
    )
}

fn safety(report: &Report) -> String {
    match report.exclusion.broken() {
        None => "kept: never two holders".into(),
        Some(_) => "BROKEN: two holders".into(),
    }
}

fn liveness(report: &Report, view: &View) -> String {
    let waiting: Vec<String> =
        report.waiting.iter().take(10).map(|seat| view.at(seat).to_string()).collect();
    match report.waiting.count() {
        0 => "kept: nobody is left waiting".into(),
        count => {
            let more = if count > 10 { ", ..." } else { "" };
            format!(
                "{count} still {}: {}{more}",
                plural(count as u64, "waits", "wait"),
                waiting.join(", ")
            )
        }
    }
}

fn ordering(report: &Report) -> String {
    match report.overtakings() {
        None => "not judged; ask for it with --ordering".into(),
        Some(0) => "kept: no grant passed a request that had happened before".into(),
        Some(count) => format!(
            "{count} {} passed a request that had happened before",
            plural(count, "grant", "grants")
        ),
    }
}

fn fences(report: &Report) -> String {
    match report.fences.broken() {
        None => "kept: every entry had a higher one".into(),
        Some(_) => "BROKEN: a fence did not grow".into(),
    }
}

fn print_stats(done: &Done, out: &mut impl Write) -> std::io::Result<()> {
    let report = &done.outcome.report;
    writeln!(out, "  by process:")?;
    writeln!(out, "    {:>6}  {:>8}  {:>8}  wait", "p", "entries", "handled")?;
    for (index, waits) in report.fairness.waits().iter().enumerate() {
        let (id, handled) = (done.view.at(Seat::at(index)), report.bandwidth.handled()[index]);
        let spread = spread(waits, "-");
        writeln!(out, "    {:>6}  {:>8}  {handled:>8}  {spread}", id.0, waits.count())?;
    }
    writeln!(out, "  leave keeps the caller: {}", spread(&report.delays.leave, "nobody left"))?;
    writeln!(
        out,
        "  events: {}, messages delivered: {}",
        done.outcome.events,
        report.bandwidth.delivered()
    )
}

fn as_json(done: &Done) -> Value {
    let Done { plan, outcome, view } = done;
    let report = &outcome.report;
    let unit = Unit::of(plan.network);
    let by_kind: Map<_, _> = report
        .bandwidth
        .by_kind()
        .map(|(kind, count)| (kind.name.to_owned(), count.into()))
        .collect();
    let (enter, leave) = per_entry(report);
    let (busiest, mean) = load(report);
    let faults: Vec<Value> = outcome
        .faults
        .iter()
        .map(|fault| json!({ "fault": fault.label, "fired": fault.count }))
        .collect();
    let ids = |seats: &mut dyn Iterator<Item = Seat>| -> Vec<u32> {
        seats.map(|seat| view.at(seat).0).collect()
    };
    json!({
        "algorithm": plan.entry.name,
        "n": plan.clients.len(),
        "seed": plan.seed,
        "network": plan.network.to_string(),
        "workload": plan.workload.to_string(),
        "time_unit": unit.name(),
        "end": unit.count(report.end.0 as f64),
        "events": outcome.events,
        "entries": report.delays.entries(),
        "messages": {
            "total": report.bandwidth.sent(),
            "by_kind": by_kind,
            "delivered": report.bandwidth.delivered(),
            "multicast_as_one": report.bandwidth.transmissions(),
        },
        "messages_per_entry": { "enter": enter, "leave": leave },
        "client_delay": times(&report.delays.client, unit),
        "leave_delay": times(&report.delays.leave, unit),
        "sync_delay": times(&report.delays.sync, unit),
        "wait": times(&report.delays.wait, unit),
        "throughput": report.delays.throughput().map(|per_delay| match unit {
            Unit::Delays => per_delay,
            Unit::Nanoseconds => per_delay / Time::DELAY.0 as f64,
        }),
        "load": { "max": busiest, "mean": mean },
        "fairness": {
            "jain": report.fairness.jain(),
            "overtakes": report.overtakings(),
            "passed_by_later_requests_max": report.waiting.overtaken_most(),
        },
        "safety": if report.exclusion.broken().is_none() { "ok" } else { "violated" },
        "liveness": if report.waiting.count() == 0 { "ok" } else { report.verdict.name() },
        "processes": processes(done, unit),
        "waiting": ids(&mut report.waiting.iter()),
        "waits_for": outcome.diagnosis.as_ref().map(|it| ids(&mut it.path.iter().copied())),
        "ordering": match report.overtakings() {
            None => "not judged",
            Some(0) => "ok",
            Some(_) => "violated",
        },
        "fences": if report.fences.broken().is_none() { "ok" } else { "violated" },
        "faults_fired": faults,
        "verdict": report.verdict.name(),
        "reason": reason(done),
        "trace_hash": format!("{:016x}", report.fingerprint),
        "command": command(plan),
    })
}

/// The figures of `--stats`.
fn processes(done: &Done, unit: Unit) -> Vec<Value> {
    let report = &done.outcome.report;
    let waits = report.fairness.waits().iter().zip(report.bandwidth.handled());
    let rows = waits.zip(done.view.members()).map(|((wait, handled), id)| {
        let entries = wait.count();
        json!({ "id": id.0, "entries": entries, "handled": handled, "wait": times(wait, unit) })
    });
    rows.collect()
}

fn times(histogram: &Histogram, unit: Unit) -> Value {
    let time = |time: Option<Time>| time.map(|time| unit.count(time.0 as f64));
    json!({
        "count": histogram.count(),
        "mean": histogram.mean().map(|mean| unit.count(mean)),
        "p50": time(histogram.percentile(50)),
        "p99": time(histogram.percentile(99)),
        "max": time(histogram.max()),
    })
}
