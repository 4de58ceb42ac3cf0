//! `conclave algorithms`: the shelf.

use std::io::Write;
use std::process::ExitCode;

use conclave_algorithms::catalogue::{Claim, Entry, SERVER, all};
use conclave_workbench::family::profile;
use conclave_workbench::setting::timers_of;
use serde_json::{Value, json};

use crate::lab::spelling::option;
use crate::lab::words::AlgorithmsArgs;
use crate::output;

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
        writeln!(out, "    promises  {}", (profile(entry).promises)(entry.promises))?;
        writeln!(out, "    needs     {}", needs(entry))?;
        writeln!(out, "    messages  {}", kinds(entry))?;
        if !entry.settings.is_empty() {
            writeln!(out, "    options   {}", options(entry).join(", "))?;
        }
        writeln!(out, "    costs     {}", costs(entry))?;
        writeln!(out, "    crash     {}", entry.crash)?;
        writeln!(out, "    source    {}", entry.citation)?;
        writeln!(out)?;
    }
    Ok(())
}

/// The options for what its timers are set to.
fn options(entry: &Entry) -> Vec<String> {
    timers_of(entry).into_iter().map(option).collect()
}

/// What it needs, in words.
pub fn needs(entry: &Entry) -> String {
    let server = format!("{} (process {SERVER})", profile(entry).server);
    let needs = [
        (entry.needs.coordinator, &*server),
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

fn as_json(entry: &Entry) -> Value {
    let kinds = entry.kinds.iter().map(
        |kind| json!({ "name": kind.name, "phase": format!("{:?}", kind.phase).to_lowercase() }),
    );
    let costs = entry.costs.iter().map(|cost| {
        let (measure, is_bound) = (cost.measure.name(), cost.claim == Claim::AtMost);
        json!({
            "measure": measure,
            "formula": cost.formula,
            "exact": cost.is_exact(),
            "at_most": is_bound,
        })
    });
    json!({
        "name": entry.name,
        "title": entry.title,
        "kind": entry.family,
        "summary": entry.summary,
        "citation": entry.citation,
        "promises": (profile(entry).promises_json)(entry.promises),
        "options": options(entry),
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
