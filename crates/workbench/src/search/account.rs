//! What is told of a search: its bounds, what it found and why, in words and for programs.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};

use alloc::vec::Vec;
use core::time::Duration;

use conclave_algorithms::catalogue::Setting as Timer;

use conclave_check::system::{Channels, Faults, Flaw, Premise, TimeModel};
use conclave_check::{Conclusion, Fairness, Limit, SearchProgress};
use conclave_core::View;
use conclave_observe::Time;
use serde_json::{Map, Value, json};

use super::properties::{self, Answer};
use super::{SearchPlan, Searched, time_word};
use crate::family;
use crate::recorded::judge_again;
use crate::setting;
use crate::unit::grouped;

/// The verdict in a word, the same words as those of runs where they mean the same.
pub fn word(verdict: &Conclusion) -> &'static str {
    match verdict {
        Conclusion::Proved => "proved",
        Conclusion::Refuted(flaw) => match flaw {
            Flaw::Breach(_) | Flaw::Invariant => "violated",
            Flaw::Deadlock => "deadlock",
            Flaw::Stalled => "stalled",
            Flaw::Starved => "starved",
        },
        Conclusion::Vacuous(_) | Conclusion::Inexact => "vacuous",
        Conclusion::Budget(_) => "budget",
    }
}

/// The settings that [`reason`] may name, in backticks.
pub const NAMED: [&str; 4] = ["safety", "terms", "timeouts", "crashes"];

/// Why the verdict is what it is, in a sentence. `ended_by` says what a limit is called where it
/// was set.
pub fn reason(
    plan: &SearchPlan,
    searched: &Searched,
    ended_by: impl Fn(Limit) -> &'static str,
) -> String {
    let finding = &searched.finding;
    match &finding.verdict {
        Conclusion::Proved => "nothing within these bounds breaks what it promises".into(),
        Conclusion::Refuted(_) => {
            let found = finding.counterexample.as_ref();
            let (ways, cut) = found.map_or(((0, None), None), |found| (found.steps, found.cut));
            let why = searched.trace.as_ref().map(|trace| judge_again(trace).1);
            let why = why.unwrap_or_default();
            match ways {
                (stem, Some(0)) => format!("{why} after {}", steps(stem)),
                (stem, Some(turn)) => {
                    let stem = steps(stem);
                    format!("{why}; {stem}, and then a loop of {turn} that goes on for ever")
                }
                (way, None) => match cut {
                    None => format!("{why}; the shortest way there takes {}", steps(way)),
                    Some(limit) => {
                        let (way, what) = (steps(way), ended_by(limit));
                        format!("{why} after {way}; {what} ended the search for a shorter way")
                    }
                },
            }
        }
        Conclusion::Vacuous(missing) => format!(
            "nothing is wrong, but this never happened: {}; {}",
            missing.iter().map(|&it| premise_word(searched, it)).collect::<Vec<_>>().join(", "),
            what_to_allow(plan, missing)
        ),
        Conclusion::Inexact => "timers are no whole numbers of ticks: nothing is shown".into(),
        Conclusion::Budget(limit) => {
            let what = ended_by(*limit);
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
            let hint = match is_endless(plan) {
                true => format!("; {ENDLESS}"),
                false => String::new(),
            };
            format!("{what} ended the search {unseen}: nothing is proved{hint}")
        }
    }
}

/// Whether only a limit can end this search: the algorithm goes on by itself, and nothing bounds
/// how far it is followed.
pub fn is_endless(plan: &SearchPlan) -> bool {
    family::has_terms(plan.entry) && plan.is_complete()
}

/// What to say of a search that [is endless](is_endless). It names settings, as [`reason`] does.
pub const ENDLESS: &str =
    "it goes on by itself for ever, so try `safety` with `terms` 3 and `timeouts` 2";

/// What would make it happen.
fn what_to_allow(plan: &SearchPlan, missing: &[Premise]) -> &'static str {
    let profile = family::profile(plan.entry);
    match missing {
        [Premise::Served, ..] if profile.asks.is_none() => profile.to_serve,
        [Premise::TwoWait, ..] => "let more ask, or ask more often",
        [Premise::LastTerm] => "raise `timeouts`, or lower `terms`",
        _ if plan.is_complete() => "let more ask, or more faults happen",
        _ => "let more faults happen, or raise `terms` and `timeouts`",
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

/// So many, in words: `1,024 states`.
pub fn count(many: u64, one: &str, more: &str) -> String {
    format!("{} {}", grouped(many), if many == 1 { one } else { more })
}

/// So many steps, in words.
pub fn steps(many: usize) -> String {
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
    if let Some((one, more)) = family::profile(plan.entry).asks {
        words.push(asked(plan, one, more));
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
    let beat = setting::of_timer(Timer::Beat).map(|beat| beat.name);
    let settings = plan.settings().into_iter().filter(|(name, _)| Some(&**name) != beat);
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

/// What was searched, in a line.
pub fn head(plan: &SearchPlan) -> String {
    let (name, n) = (plan.entry.name, count(plan.clients.len() as u64, "process", "processes"));
    let channels = format!("{} channels", channels_word(plan.channels));
    let words = [name.to_owned(), n].into_iter().chain(bounds(plan));
    let words = words.chain([channels, time_word(plan.time)]).chain(unusual(plan));
    words.collect::<Vec<_>>().join(", ")
}

/// What is said of it below the verdict: every promise, how much was searched, and what the proof
/// rests on.
pub fn lines(plan: &SearchPlan, searched: &Searched) -> Vec<(&'static str, String)> {
    let finding = &searched.finding;
    let promises = properties::of(plan, finding).into_iter();
    let mut lines: Vec<_> =
        promises.map(|(property, answer)| (answer.word(), property.to_owned())).collect();
    let SearchProgress { distinct, generated, depth, .. } = finding.progress;
    let (states, generated) = (count(distinct, "state", "states"), grouped(generated));
    let up_to = if plan.symmetry { ", up to renaming" } else { "" };
    lines.push(("searched", format!("{states}, {generated} generated, depth {depth}{up_to}")));
    let beyond = finding.seen(Premise::Beyond);
    if beyond > 0 {
        lines.push(("cut off", format!("{} beyond the bounds", count(beyond, "step", "steps"))));
    }
    let seen = finding
        .premises
        .iter()
        .filter(|(premise, count)| *count > 0 && *premise != Premise::Beyond);
    let seen: Vec<String> = seen
        .map(|&(premise, count)| format!("{} {}", premise_word(searched, premise), grouped(count)))
        .collect();
    if !seen.is_empty() {
        lines.push(("rests on", seen.join(", ")));
    }
    lines
}

/// The columns of a table of searches.
pub const HEADS: [&str; 11] = [
    "algorithm",
    "N",
    "bounds",
    "channels",
    "time",
    "states",
    "generated",
    "depth",
    "seconds",
    "B/state",
    "found",
];

/// Which search it is, by the first columns of [`HEADS`].
pub fn bounds_of(plan: &SearchPlan) -> [String; 5] {
    [
        plan.entry.name.into(),
        plan.clients.len().to_string(),
        bounds(plan).join(", "),
        channels_word(plan.channels).into(),
        time_word(plan.time),
    ]
}

/// What is said of one search, by column of [`HEADS`].
pub fn fields_of(
    plan: &SearchPlan,
    searched: &Searched,
    took: Duration,
    ended_by: impl Fn(Limit) -> &'static str,
) -> [String; 11] {
    let far = searched.finding.progress;
    let [name, n, bounds, channels, time] = bounds_of(plan);
    [
        name,
        n,
        bounds,
        channels,
        time,
        grouped(far.distinct),
        grouped(far.generated),
        far.depth.to_string(),
        format!("{:.2}", took.as_secs_f64()),
        (far.bytes / far.distinct.max(1)).to_string(),
        found(plan, searched, ended_by),
    ]
}

/// What was found, in a few words.
fn found(
    plan: &SearchPlan,
    searched: &Searched,
    ended_by: impl Fn(Limit) -> &'static str,
) -> String {
    let finding = &searched.finding;
    let answers = properties::of(plan, finding);
    match &finding.verdict {
        Conclusion::Proved => {
            let is_asked = |words| {
                answers.iter().all(|&(of, answer)| of != words || answer != Answer::NotAsked)
            };
            let leads = is_asked(properties::ONE_LEADS);
            match (leads, plan.is_complete(), plan.options.liveness) {
                (true, true, true) => "proved: safe and live",
                (true, true, false) => "proved: safe; liveness not asked",
                // Nobody knows what comes eventually beyond the bounds.
                (true, false, _) => "proved: safe; left to simulation: liveness",
                (false, ..) => "proved: safe; left to simulation: one leader at a time, liveness",
            }
            .into()
        }
        Conclusion::Refuted(flaw) => {
            let way = finding.counterexample.as_ref().map_or((0, None), |found| found.steps);
            let way = match way {
                (stem, Some(turn)) => format!("{} and a loop of {turn}", steps(stem)),
                (way, None) => steps(way),
            };
            let what = match flaw {
                Flaw::Breach(_) => {
                    let refuted = answers.iter().find(|(_, answer)| *answer == Answer::Refuted);
                    refuted.map_or("a promise", |(words, _)| words)
                }
                _ => word(&finding.verdict),
            };
            format!("refuted in {way}: {what}")
        }
        Conclusion::Vacuous(_) | Conclusion::Inexact | Conclusion::Budget(_) => {
            format!("{}: {}", word(&finding.verdict), reason(plan, searched, ended_by))
        }
    }
}

/// All of it for programs.
pub fn to_json(plan: &SearchPlan, searched: &Searched, took: Duration, reason: &str) -> Value {
    let Searched { finding, .. } = searched;
    let SearchProgress { distinct, generated, depth, frontier, bytes } = finding.progress;
    let Faults { crashes, returns, losses, duplications } = plan.faults;
    let premises: Map<String, Value> = finding
        .premises
        .iter()
        .map(|&(premise, count)| (premise_word(searched, premise), count.into()))
        .collect();
    let properties: Map<String, Value> = properties::of(plan, finding)
        .into_iter()
        .map(|(property, answer)| (property.to_owned(), answer.word().into()))
        .collect();
    json!({
        "algorithm": plan.entry.name,
        "n": plan.clients.len(),
        "ids": plan.clients.members().iter().map(|id| id.0).collect::<Vec<_>>(),
        "requests": family::profile(plan.entry).asks.map(|_| plan.requests),
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
