//! `conclave algorithms`: the shelf.

use std::io::Write;
use std::process::ExitCode;

use conclave_algorithms::catalogue::{Entry, all};
use conclave_core::Promises;
use conclave_workbench::setting::timers_of;
use serde_json::{Value, json};

use super::output;
use crate::cli::AlgorithmsArgs;

pub fn execute(args: &AlgorithmsArgs) -> anyhow::Result<ExitCode> {
    output::say(|out| match args.json {
        true => writeln!(out, "{:#}", Value::from_iter(all().map(as_json))),
        false => print(out),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut impl Write) -> std::io::Result<()> {
    let bold = anstyle::Style::new().bold();
    for entry in all() {
        writeln!(out, "{bold}{}{bold:#}  {}", entry.name, entry.title)?;
        writeln!(out, "    {}", entry.summary)?;
        writeln!(out, "    promises  {}", promises(entry))?;
        writeln!(out, "    needs     {}", needs(entry))?;
        writeln!(out, "    messages  {}", kinds(entry))?;
        if !entry.settings.is_empty() {
            writeln!(out, "    options   {}", timers_of(entry).join(", "))?;
        }
        writeln!(out, "    costs     {}", costs(entry))?;
        writeln!(out, "    crash     {}", entry.crash)?;
        writeln!(out, "    source    {}", entry.citation)?;
        writeln!(out)?;
    }
    Ok(())
}

fn promises(entry: &Entry) -> String {
    if let Promises::Election { largest, terms, one_at_a_time } = entry.promises {
        let words = [
            (largest, "the largest id that is up is elected, and all agree"),
            (terms, "at most one leader in a term"),
            (one_at_a_time, "one leads at a time"),
        ];
        let kept: Vec<&str> = words.iter().filter(|(is, _)| *is).map(|(_, what)| *what).collect();
        return kept.join("; ");
    }
    if entry.promises == Promises::Detector {
        return "the dead are suspected, and nobody else is".into();
    }
    let liveness = if entry.promises.liveness() { "everybody is served" } else { "no more" };
    let ordering =
        if entry.promises.ordering() { ", in the order in which they asked" } else { "" };
    format!("one holder at a time; {liveness}{ordering}")
}

fn needs(entry: &Entry) -> String {
    let is_mutex = matches!(entry.promises, Promises::Mutex { .. });
    let coordinator = if is_mutex { "a coordinator (process 0)" } else { "a store (process 0)" };
    let needs = [
        (entry.needs.coordinator, coordinator),
        (entry.needs.voting_sets, "voting sets"),
        (entry.needs.fifo, "FIFO channels"),
        (entry.needs.synchrony, "messages that take no longer than D"),
        (entry.needs.steadiness, "delays that do not vary much"),
        (entry.needs.majority, "a majority that is up"),
        (entry.needs.storage, "memory that survives a crash"),
    ];
    let needs = needs.iter().filter(|(is, _)| *is).map(|(_, what)| (*what).to_owned());
    let clocks = entry.needs.clocks_percent;
    let clocks = clocks.map(|percent| format!("clocks that differ by {percent}% at most"));
    let list: Vec<String> = needs.chain(clocks).collect();
    if list.is_empty() { "nothing but processes and messages".into() } else { list.join(", ") }
}

fn kinds(entry: &Entry) -> String {
    entry.kinds.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

fn costs(entry: &Entry) -> String {
    let list = entry.costs.iter().map(|cost| format!("{} {}", cost.measure, cost.formula));
    list.collect::<Vec<_>>().join("; ")
}

fn kind(entry: &Entry) -> &'static str {
    match entry.promises {
        Promises::Mutex { .. } => "mutex",
        Promises::Election { .. } => "election",
        Promises::Detector => "detector",
    }
}

fn promises_json(entry: &Entry) -> Value {
    match entry.promises {
        Promises::Mutex { liveness, ordering } => {
            json!({ "safety": true, "liveness": liveness, "ordering": ordering })
        }
        Promises::Election { largest, terms, one_at_a_time } => json!({
            "largest_id": largest,
            "one_per_term": terms,
            "one_at_a_time": one_at_a_time,
            "liveness": true,
        }),
        Promises::Detector => json!({ "completeness": true, "accuracy": true }),
    }
}

fn as_json(entry: &Entry) -> Value {
    let kinds = entry.kinds.iter().map(
        |kind| json!({ "name": kind.name, "phase": format!("{:?}", kind.phase).to_lowercase() }),
    );
    let costs = entry.costs.iter().map(|cost| {
        json!({ "measure": cost.measure.name(), "formula": cost.formula, "exact": cost.exact })
    });
    json!({
        "name": entry.name,
        "title": entry.title,
        "kind": kind(entry),
        "summary": entry.summary,
        "citation": entry.citation,
        "promises": promises_json(entry),
        "options": timers_of(entry),
        "needs": {
            "coordinator": entry.needs.coordinator,
            "voting_sets": entry.needs.voting_sets,
            "fifo": entry.needs.fifo,
            "synchrony": entry.needs.synchrony,
            "steadiness": entry.needs.steadiness,
            "majority": entry.needs.majority,
            "storage": entry.needs.storage,
            "clocks_percent": entry.needs.clocks_percent,
        },
        "crash": entry.crash,
        "messages": kinds.collect::<Vec<_>>(),
        "costs": costs.collect::<Vec<_>>(),
    })
}
