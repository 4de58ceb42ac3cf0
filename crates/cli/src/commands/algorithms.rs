//! `conclave algorithms`: the shelf.

use std::io::Write;
use std::process::ExitCode;

use conclave_algorithms::catalogue::{Entry, all};
use serde_json::{Value, json};

use crate::cli::AlgorithmsArgs;

pub fn execute(args: &AlgorithmsArgs) -> anyhow::Result<ExitCode> {
    let mut out = anstream::stdout().lock();
    if args.json {
        let list: Vec<Value> = all().map(as_json).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&list)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let bold = anstyle::Style::new().bold();
    for entry in all() {
        writeln!(out, "{bold}{}{bold:#}  {}", entry.name, entry.title)?;
        writeln!(out, "    {}", entry.summary)?;
        writeln!(out, "    promises  {}", promises(entry))?;
        writeln!(out, "    needs     {}", needs(entry))?;
        writeln!(out, "    messages  {}", kinds(entry))?;
        writeln!(out, "    costs     {}", costs(entry))?;
        writeln!(out, "    crash     {}", entry.crash)?;
        writeln!(out, "    source    {}", entry.citation)?;
        writeln!(out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn promises(entry: &Entry) -> String {
    let liveness = if entry.promises.liveness() { "everybody is served" } else { "no more" };
    let ordering =
        if entry.promises.ordering() { ", in the order in which they asked" } else { "" };
    format!("one holder at a time; {liveness}{ordering}")
}

fn needs(entry: &Entry) -> String {
    let needs = [
        (entry.needs.coordinator, "a coordinator (process 0)"),
        (entry.needs.voting_sets, "voting sets"),
        (entry.needs.fifo, "FIFO channels"),
    ];
    let list: Vec<&str> = needs.iter().filter(|(is, _)| *is).map(|(_, what)| *what).collect();
    if list.is_empty() { "nothing but processes and messages".into() } else { list.join(", ") }
}

fn kinds(entry: &Entry) -> String {
    entry.kinds.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

fn costs(entry: &Entry) -> String {
    let list = entry.costs.iter().map(|cost| format!("{} {}", cost.measure, cost.formula));
    list.collect::<Vec<_>>().join("; ")
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
        "kind": "mutex",
        "summary": entry.summary,
        "citation": entry.citation,
        "promises": {
            "safety": true,
            "liveness": entry.promises.liveness(),
            "ordering": entry.promises.ordering(),
        },
        "needs": {
            "coordinator": entry.needs.coordinator,
            "voting_sets": entry.needs.voting_sets,
            "fifo": entry.needs.fifo,
        },
        "crash": entry.crash,
        "messages": kinds.collect::<Vec<_>>(),
        "costs": costs.collect::<Vec<_>>(),
    })
}
