//! `conclave check`: everything that an algorithm can do, within bounds.

mod files;
mod properties;
mod table;

pub use table::{HEADS, fields_of};

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use anyhow::{anyhow, bail};
use conclave_algorithms::catalogue::{self, Entry, Promises, Setting};
use conclave_algorithms::quorum::Construction;
use conclave_check::system::{
    Asymmetry, Bounds, Channels, Faults, Flaw, INTERCHANGEABLE_MAX, Premise, TimeModel,
};
use conclave_check::{Fairness, Finding, Limit, Progress as Far, Refusal, STATES_MAX, Verdict};
use conclave_core::{ProcessId, View};
use conclave_observe::trace::json;
use conclave_observe::{Time, Verdict as Judged};
use serde_json::{Map, Value, json};

use super::{explain, output, trace, voting_sets};
use crate::cli::{CheckArgs, DrawingArgs, Format, Unfair};
use crate::exit;
use crate::interrupt::{self, is_interrupted};
use crate::progress::Progress;
use crate::search::{SearchPlan, Searched, time_word};

pub fn execute(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    interrupt::watch()?;
    if args.all {
        return table::execute(args);
    }
    if args.quick || args.format != Format::Text {
        bail!("--quick and --format are for the table of all; give --all instead of an algorithm");
    }
    let plan = plan_of(args)?;
    for path in args.trace.iter().chain(&args.svg).chain(&args.dump) {
        files::check_writable(path)?;
    }
    let (searched, took) = search(&plan, args.max_time)?;
    say_what_is_not_written(args, &searched);
    let reason = reason(&plan, &searched);
    output::say(|out| {
        if let (true, Some(trace)) = (args.explain, &searched.trace) {
            explain::explain(trace, out)?;
            writeln!(out)?;
        }
        match args.json {
            true => writeln!(out, "{}", to_json(&plan, &searched, took, &reason)),
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
        let drawing = DrawingArgs { svg: args.svg.clone(), svg_from: None, svg_to: None };
        let caption = vec![format!("{}: {reason}", word(&searched.finding.verdict))];
        output::draw(trace, &drawing, trace.header.members.len(), caption)?;
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
    for path in args.trace.iter().chain(&args.svg) {
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
    let name = entry.name;
    let clients = match (&args.ids, args.n) {
        (Some(ids), _) => View::new(ids.iter().copied().map(ProcessId))?,
        (None, n) => View::dense(1, n.unwrap_or(3)),
    };
    let mut plan = SearchPlan::new(entry, clients);
    if args.voting_sets.is_some() && !entry.needs.voting_sets {
        bail!("{name} uses no voting sets; leave --voting-sets out, or choose maekawa");
    }
    plan.construction = args.voting_sets.unwrap_or(Construction::Grid);
    voting_sets::check_size(plan.construction, u32::try_from(plan.clients.len())?)?;
    plan.requests = args.requests.unwrap_or(plan.requests);
    if args.requests.is_some() && entry.promises == Promises::Detector {
        bail!("nobody asks a detector for anything; leave --requests out");
    }
    if let Some(askers) = &args.askers {
        let askers: Vec<ProcessId> = askers.iter().copied().map(ProcessId).collect();
        if let Some(stranger) = askers.iter().find(|&&id| plan.clients.seat(id).is_none()) {
            bail!("process {stranger} does not take part; --askers are some of those who do");
        }
        if entry.promises == Promises::Detector {
            bail!("nobody asks a detector for anything; leave --askers out");
        }
        let is_twice = |place: usize| askers[..place].contains(&askers[place]);
        if let Some(twice) = (0..askers.len()).find(|&place| is_twice(place)) {
            bail!("process {} is named twice; --askers names each once", askers[twice]);
        }
        plan.askers = Some(askers);
    }
    plan.set_time(args.time.unwrap_or(plan.time));
    args.timing.check_fit(entry)?;
    plan.timing = args.timing.timing(Time::of(plan.timing.bound));
    if plan.time.is_sync() && entry.settings.contains(&Setting::Session) {
        // The usual one has parts of no whole number of ticks.
        let session = plan.timing.session.unwrap_or(12 * plan.timing.bound);
        plan.timing.session = Some(session);
    }
    if args.no_fifo {
        plan.channels = Channels::Unordered;
    }
    let CheckArgs { crashes, returns, losses, duplications, terms, timeouts, .. } = *args;
    plan.faults = Faults { crashes, returns, losses, duplications };
    plan.crash_loses = args.crash_loses;
    if args.crash_loses && crashes == 0 {
        bail!("nobody dies who could lose anything; give --crashes 1 with --crash-loses");
    }
    if returns > crashes {
        bail!("only the dead can come back; give as many --crashes as --returns");
    }
    if terms.is_some() && !matches!(entry.promises, Promises::Election { terms: true, .. }) {
        bail!("{name} has no terms; leave --terms out, or choose chubby or zookeeper");
    }
    plan.bounds = Bounds { terms, timeouts };
    plan.symmetry = args.symmetry;
    let options = &mut plan.options;
    options.liveness = !args.safety;
    options.is_exact = args.exact;
    options.threads = args.threads.map_or(options.threads, usize::from);
    options.budget.bytes = args.max_memory;
    options.budget.states = max_states(args)?.unwrap_or(options.budget.states);
    for unfair in &args.unfair {
        check_unfair(*unfair, entry, plan.time)?;
        let Fairness { arrivals, timers, leaves, ticks } = &mut options.fairness;
        *match unfair {
            Unfair::Arrivals => arrivals,
            Unfair::Timers => timers,
            Unfair::Leaves => leaves,
            Unfair::Ticks => ticks,
        } = false;
    }
    Ok(plan)
}

/// How many states to search at most, if that is said. Each needs a number.
fn max_states(args: &CheckArgs) -> anyhow::Result<Option<u64>> {
    match args.max_states {
        Some(many) if many > STATES_MAX => {
            bail!("a search can tell {STATES_MAX} states apart; give --max-states up to that")
        }
        states => Ok(states),
    }
}

/// Whether there is any of what need not be done: to take away nothing would prove nothing new.
fn check_unfair(what: Unfair, entry: &Entry, time: TimeModel) -> anyhow::Result<()> {
    let name = entry.name;
    match what {
        Unfair::Timers if entry.settings.is_empty() => {
            bail!("{name} sets no timers; leave --unfair timers out")
        }
        Unfair::Leaves if !matches!(entry.promises, Promises::Mutex { .. }) => {
            bail!("{name} is no lock, and nobody leaves; leave --unfair leaves out")
        }
        Unfair::Ticks if !time.is_sync() => {
            bail!("there are no ticks in async; leave --unfair ticks out, or choose --time sync:1")
        }
        _ => Ok(()),
    }
}

/// Says how far a search is, and ends it after that time or by Ctrl-C.
fn watch(progress: &Progress, max_time: Duration) -> impl FnMut(&Far) -> ControlFlow<()> {
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
    let progress = Progress::endless();
    let searched = plan.run(&mut watch(&progress, max_time));
    let searched = searched.map_err(|error| match error.downcast_ref() {
        Some(&Refusal::Asymmetry(asymmetry)) => no_symmetry(plan.entry.name, asymmetry),
        Some(Refusal::ReadsClock) => reads_clock(plan.entry.name),
        None => error,
    })?;
    Ok((searched, progress.elapsed()))
}

fn reads_clock(name: &str) -> anyhow::Error {
    anyhow!("{name} keeps readings of its clock, and a search has none; simulate it instead")
}

/// Why states cannot be told apart up to names only, and what would be right.
fn no_symmetry(name: &str, why: Asymmetry) -> anyhow::Error {
    match why {
        Asymmetry::Names => anyhow!(
            "{name} goes by ids or seats: its processes are not interchangeable; leave --symmetry \
             out"
        ),
        Asymmetry::TooMany => anyhow!(
            "the names of more than {INTERCHANGEABLE_MAX} can be given in too many ways; choose a \
             smaller -n, or leave --symmetry out"
        ),
        Asymmetry::Start | Asymmetry::Rule | Asymmetry::Liveness => {
            anyhow!("{name}: {why}; leave --symmetry out")
        }
    }
}

fn how_far(far: &Far, elapsed: Duration) -> String {
    let rate = far.generated as f64 / elapsed.as_secs_f64() / 1e6;
    format!(
        "{} states, depth {}, frontier {}, {rate:.1} M/s, {} MiB",
        grouped(far.distinct),
        far.depth,
        grouped(far.frontier),
        far.bytes >> 20
    )
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The verdict in a word, the same words as those of runs where they mean the same.
fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Proved => "proved",
        Verdict::Refuted(flaw) => match flaw {
            Flaw::Breach(_) | Flaw::Invariant => "violated",
            Flaw::Deadlock => "deadlock",
            Flaw::Stalled => "stalled",
            Flaw::Starved => "starved",
        },
        Verdict::Vacuous(_) | Verdict::Inexact => "vacuous",
        Verdict::Budget(_) => "budget",
    }
}

fn code(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Proved => 0,
        Verdict::Refuted(flaw) => exit::code(match flaw {
            Flaw::Breach(_) | Flaw::Invariant => Judged::Violated,
            Flaw::Deadlock => Judged::Deadlock,
            Flaw::Stalled => Judged::Stalled,
            Flaw::Starved => Judged::Starved,
        }),
        Verdict::Vacuous(_) | Verdict::Inexact => exit::VACUOUS,
        Verdict::Budget(Limit::Stopped) if is_interrupted() => exit::INTERRUPTED,
        Verdict::Budget(_) => exit::code(Judged::Budget),
    }
}

fn style(verdict: &Verdict) -> Style {
    let colour = match verdict {
        Verdict::Proved => AnsiColor::Green,
        Verdict::Budget(_) | Verdict::Vacuous(_) | Verdict::Inexact => AnsiColor::Yellow,
        Verdict::Refuted(_) => AnsiColor::Red,
    };
    Style::new().bold().fg_color(Some(colour.into()))
}

/// Why the verdict is what it is, in a sentence.
fn reason(plan: &SearchPlan, searched: &Searched) -> String {
    let finding = &searched.finding;
    match &finding.verdict {
        Verdict::Proved => "nothing within these bounds breaks what it promises".into(),
        Verdict::Refuted(_) => {
            let found = finding.counterexample.as_ref();
            let (ways, cut) = found.map_or(((0, None), None), |found| (found.steps, found.cut));
            let why = searched.trace.as_ref().map(|trace| trace::judge_again(trace).1);
            let why = why.unwrap_or_default();
            match ways {
                (stem, Some(0)) => format!("{why} after {}", steps(stem)),
                (stem, Some(turn)) => {
                    let stem = steps(stem);
                    format!("{why}; {stem}, and then a loop of {turn} that goes on for ever")
                }
                (way, None) => match cut {
                    None => format!("{why}; no way there is shorter than {}", steps(way)),
                    Some(limit) => {
                        let (way, what) = (steps(way), limit_word(limit));
                        format!("{why}; {way} lead there, and {what} ended the search for less")
                    }
                },
            }
        }
        Verdict::Vacuous(missing) => format!(
            "nothing is wrong, but this never happened: {}; {}",
            missing.iter().map(|&it| premise_word(searched, it)).collect::<Vec<_>>().join(", "),
            what_to_allow(plan, missing)
        ),
        Verdict::Inexact => "timers are no whole numbers of ticks: nothing is shown".into(),
        Verdict::Budget(limit) => {
            let what = limit_word(*limit);
            if finding.is_safe {
                return format!(
                    "{what} ended the check after all states were found: safety is proved, \
                     liveness is not"
                );
            }
            let unseen = match finding.progress.frontier {
                0 => "after all states were found".into(),
                many => format!("with {} not looked at", count(many, "state", "states")),
            };
            let is_endless = matches!(plan.entry.promises, Promises::Election { terms: true, .. });
            let hint = match is_endless && plan.is_complete() {
                true => "; it goes on for ever, so try --safety --terms 3 --timeouts 2",
                false => "",
            };
            format!("{what} ended the search {unseen}: nothing is proved{hint}")
        }
    }
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

/// What would make it happen.
fn what_to_allow(plan: &SearchPlan, missing: &[Premise]) -> &'static str {
    let is_detector = plan.entry.promises == Promises::Detector;
    match missing {
        [Premise::Served, ..] if is_detector => {
            "let somebody die with --crashes, or ask for no more than --safety"
        }
        [Premise::TwoWait, ..] => "let more ask, or ask more often",
        [Premise::LastTerm] => "raise --timeouts, or lower --terms",
        _ if plan.is_complete() => "let more ask, or more faults happen",
        _ => "let more faults happen, or raise --terms and --timeouts",
    }
}

fn premise_word(searched: &Searched, premise: Premise) -> String {
    match premise {
        Premise::TwoWait => "two wait at once".into(),
        Premise::Finished => "all is done".into(),
        Premise::Served => "somebody is served".into(),
        Premise::Crashed => "somebody dies".into(),
        Premise::Returned => "somebody comes back".into(),
        Premise::Lost => "a message is lost".into(),
        Premise::Doubled => "a message is doubled".into(),
        Premise::LastTerm => "a leader of the last term".into(),
        Premise::Beyond => "a step beyond the bounds".into(),
        Premise::Sent(kind) => format!("`{}` sent", searched.kinds[kind].name),
    }
}

/// So many, in words.
fn count(many: u64, one: &str, more: &str) -> String {
    format!("{} {}", grouped(many), if many == 1 { one } else { more })
}

/// So many steps, in words.
fn steps(many: usize) -> String {
    count(many as u64, "step", "steps")
}

/// Who asks how often, in words.
fn asked(plan: &SearchPlan, one: &str, more: &str) -> String {
    let many = count(plan.requests.into(), one, more);
    match &plan.askers {
        None => format!("{many} each"),
        Some(ids) => {
            let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
            format!("{many} by {}", ids.join(" and "))
        }
    }
}

/// What is bounded, in words.
fn bounds(plan: &SearchPlan) -> Vec<String> {
    let mut words = Vec::new();
    match plan.entry.promises {
        Promises::Mutex { .. } => words.push(asked(plan, "request", "requests")),
        Promises::Election { .. } => words.push(asked(plan, "call", "calls")),
        Promises::Detector => {}
    }
    let Faults { crashes, returns, losses, duplications } = plan.faults;
    let faults = [
        (crashes, "crash", "crashes"),
        (returns, "return", "returns"),
        (losses, "loss", "losses"),
        (duplications, "duplication", "duplications"),
    ];
    for (many, one, more) in faults.into_iter().filter(|(many, ..)| *many > 0) {
        words.push(count(many.into(), one, more));
        if one == "crash" && plan.crash_loses {
            words.push("what the dead sent can be lost".into());
        }
    }
    if let Some(terms) = plan.bounds.terms {
        words.push(format!("terms up to {terms}"));
    }
    if let Some(timeouts) = plan.bounds.timeouts {
        words.push(count(timeouts.into(), "timeout", "timeouts"));
    }
    if let (TimeModel::Sync { .. }, Some(beat)) = (plan.time, plan.timing.beat) {
        words.push(format!("a beat every {} ms", Time::of(beat)));
    }
    words
}

/// What is not as usual beside the bounds, in words.
fn unusual(plan: &SearchPlan) -> Vec<String> {
    let beat = Setting::Beat.option().trim_start_matches('-');
    let settings = plan.settings().into_iter().filter(|(name, _)| name != beat);
    let settings = settings.map(|(name, value)| format!("{name} {value}").trim_end().to_owned());
    let unfair = unfair(plan).into_iter().map(|what| format!("{what} are not fair"));
    let mut words: Vec<String> = settings.chain(unfair).collect();
    if plan.clients != View::dense(1, u32::try_from(plan.clients.len()).unwrap_or(u32::MAX)) {
        let ids: Vec<_> = plan.clients.members().iter().map(ToString::to_string).collect();
        words.push(format!("ids {}", ids.join(" ")));
    }
    words
}

/// What may be left undone for ever.
fn unfair(plan: &SearchPlan) -> Vec<&'static str> {
    let Fairness { arrivals, timers, leaves, ticks } = plan.options.fairness;
    let all = [(arrivals, "arrivals"), (timers, "timers"), (leaves, "leaves"), (ticks, "ticks")];
    all.into_iter().filter(|(is_fair, _)| !is_fair).map(|(_, what)| what).collect()
}

fn channels_word(channels: Channels) -> &'static str {
    match channels {
        Channels::Fifo => "FIFO",
        Channels::Unordered => "unordered",
    }
}

fn print(
    plan: &SearchPlan,
    searched: &Searched,
    reason: &str,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let Searched { finding, .. } = searched;
    let (name, n) = (plan.entry.name, count(plan.clients.len() as u64, "process", "processes"));
    let bounded = bounds(plan).join(", ");
    let comma = if bounded.is_empty() { "" } else { ", " };
    writeln!(
        out,
        "{name}, {n}{comma}{bounded}, {} channels, {}{}",
        channels_word(plan.channels),
        time_word(plan.time),
        unusual(plan).iter().map(|words| format!(", {words}")).collect::<String>()
    )?;
    let style = style(&finding.verdict);
    writeln!(out, "  {style}{}{style:#}: {reason}", word(&finding.verdict))?;
    for (property, result) in properties::of(plan, finding) {
        writeln!(out, "  {:<10} {property}", result.word())?;
    }
    let Far { distinct, generated, depth, .. } = finding.progress;
    let (states, generated) = (count(distinct, "state", "states"), grouped(generated));
    let up_to = if plan.symmetry { ", up to renaming" } else { "" };
    writeln!(out, "  searched   {states}, {generated} generated, depth {depth}{up_to}")?;
    let beyond = finding.seen(Premise::Beyond);
    if beyond > 0 {
        writeln!(out, "  cut off    {} beyond the bounds", count(beyond, "step", "steps"))?;
    }
    let seen = finding
        .premises
        .iter()
        .filter(|(premise, count)| *count > 0 && *premise != Premise::Beyond);
    let seen: Vec<String> = seen
        .map(|&(premise, count)| format!("{} {}", premise_word(searched, premise), grouped(count)))
        .collect();
    if seen.is_empty() {
        return Ok(());
    }
    writeln!(out, "  rests on   {}", seen.join(", "))
}

/// What it took, for who waited for it: it differs from time to time.
fn say_what_it_took(finding: &Finding, took: Duration) {
    let Far { distinct, generated, bytes, .. } = finding.progress;
    if std::io::stderr().is_terminal() {
        let (seconds, each) = (took.as_secs_f64(), bytes / distinct.max(1));
        let rate = generated as f64 / seconds / 1e6;
        anstream::eprintln!("took {seconds:.2} s, {rate:.1} M states/s, {each} bytes a state");
    }
}

fn to_json(plan: &SearchPlan, searched: &Searched, took: Duration, reason: &str) -> Value {
    let Searched { finding, .. } = searched;
    let Far { distinct, generated, depth, frontier, bytes } = finding.progress;
    let Faults { crashes, returns, losses, duplications } = plan.faults;
    let premises: Map<String, Value> = finding
        .premises
        .iter()
        .map(|&(premise, count)| (premise_word(searched, premise), count.into()))
        .collect();
    let properties: Map<String, Value> = properties::of(plan, finding)
        .into_iter()
        .map(|(property, result)| (property.to_owned(), result.word().into()))
        .collect();
    json!({
        "algorithm": plan.entry.name,
        "n": plan.clients.len(),
        "ids": plan.clients.members().iter().map(|id| id.0).collect::<Vec<_>>(),
        "requests": (plan.entry.promises != Promises::Detector).then_some(plan.requests),
        "askers": plan.askers.as_ref().map(|ids| ids.iter().map(|id| id.0).collect::<Vec<_>>()),
        "settings": plan.settings().into_iter().collect::<BTreeMap<_, _>>(),
        "unfair": unfair(plan),
        "channels": channels_word(plan.channels).to_lowercase(),
        "time": time_word(plan.time),
        "faults": {
            "crashes": crashes, "crash_loses": plan.crash_loses, "returns": returns,
            "losses": losses, "duplications": duplications,
        },
        "terms": plan.bounds.terms,
        "timeouts": plan.bounds.timeouts,
        "verdict": word(&finding.verdict),
        "reason": reason,
        "properties": properties,
        "distinct": distinct,
        "generated": generated,
        "depth": depth,
        "frontier": frontier,
        "seconds": took.as_secs_f64(),
        "bytes": bytes,
        "threads": plan.options.threads,
        "exact": plan.options.is_exact,
        "symmetry": plan.symmetry,
        "collisions": finding.collisions,
        "premises": premises,
        "counterexample": finding.counterexample.as_ref().map(|found| json!({
            "steps": found.steps.0,
            "loop": found.steps.1,
        })),
    })
}
