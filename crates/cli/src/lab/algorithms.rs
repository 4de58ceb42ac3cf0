//! `conclave algorithms`: the shelf.

use std::io::Write;
use std::process::ExitCode;

use comfy_table::{LineStyle, Table, TableStyle};
use conclave_algorithms::catalogue::{Claim, Entry, Measure, SERVER, all, find};
use conclave_workbench::family::profile;
use conclave_workbench::setting::timers_of;
use serde_json::{Value, json};

use crate::lab::spelling::option;
use crate::lab::words::AlgorithmsArgs;
use crate::output;

pub fn execute(args: &AlgorithmsArgs) -> anyhow::Result<ExitCode> {
    let one = args.name.as_deref().map(find).transpose()?;
    output::say(|out| match (one, args.json) {
        (Some(entry), true) => writeln!(out, "{:#}", as_json(entry)),
        (None, true) => writeln!(out, "{:#}", Value::from_iter(all().map(as_json))),
        (Some(entry), false) => print_one(entry, out),
        (None, false) => writeln!(out, "{}", overview(output::screen())),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// All algorithms, a row each.
fn overview(screen: Option<u16>) -> String {
    let mut table = Table::new();
    // Without lines between columns there is room for five of them on a narrow terminal.
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─')));
    table.set_header(["name", "family", "messages", "needs", "problems"]);
    for entry in all() {
        let Entry { name, family, problems, .. } = *entry;
        table.add_row([name, family, &messages(entry), &needs_briefly(entry), problems]);
    }
    output::shown(table, screen)
}

fn print_one(entry: &Entry, out: &mut impl Write) -> std::io::Result<()> {
    let bold = anstyle::Style::new().bold();
    writeln!(out, "{bold}{}{bold:#}  {}", entry.name, entry.title)?;
    writeln!(out, "    {}", entry.summary)?;
    writeln!(out, "    family    {}", entry.family)?;
    writeln!(out, "    promises  {}", (profile(entry).promises)(entry.promises))?;
    writeln!(out, "    needs     {}", needs(entry))?;
    writeln!(out, "    messages  {}", kinds(entry))?;
    if !entry.settings.is_empty() {
        writeln!(out, "    options   {}", options(entry).join(", "))?;
    }
    writeln!(out, "    costs     {}", costs(entry))?;
    writeln!(out, "    problems  {}", entry.problems)?;
    writeln!(out, "    crash     {}", entry.crash)?;
    writeln!(out, "    source    {}", entry.citation)
}

/// How many messages it takes: to enter and to leave, or to elect at best and at worst; of what has
/// neither, the first of its costs.
fn messages(entry: &Entry) -> String {
    let formula =
        |measure| entry.costs.iter().find(|cost| cost.measure == measure).map(|cost| cost.formula);
    let (enter, leave) = (formula(Measure::Enter), formula(Measure::Leave));
    let (best, worst) = (formula(Measure::ElectionBest), formula(Measure::ElectionWorst));
    match (enter, leave, best.or(formula(Measure::ElectionLone)), worst) {
        (Some(enter), Some("0") | None, ..) => enter.into(),
        (Some(enter), Some(leave), ..) => format!("{enter} + {leave}"),
        (None, _, Some(best), Some(worst)) if best != worst => format!("{best} to {worst}"),
        (None, _, Some(only), _) => only.into(),
        _ => entry
            .costs
            .first()
            .map(|it| format!("{} {}", it.formula, it.measure))
            .unwrap_or_default(),
    }
}

/// The options for what its timers are set to.
fn options(entry: &Entry) -> Vec<String> {
    timers_of(entry).into_iter().map(option).collect()
}

/// What it needs, in words.
pub fn needs(entry: &Entry) -> String {
    let list: Vec<String> = each_need(entry).into_iter().map(|(in_words, _)| in_words).collect();
    if list.is_empty() { "nothing but processes and messages".into() } else { list.join(", ") }
}

/// What it needs, in as few words as a table has room for; empty if that is nothing.
fn needs_briefly(entry: &Entry) -> String {
    let list: Vec<String> = each_need(entry).into_iter().map(|(_, briefly)| briefly).collect();
    list.join(", ")
}

/// Each thing that it needs: in words, and in few words.
fn each_need(entry: &Entry) -> Vec<(String, String)> {
    let server = profile(entry).server;
    let numbered = format!("{server} (process {SERVER})");
    let needs = [
        (entry.needs.coordinator, &*numbered, server),
        (entry.needs.voting_sets, "voting sets", "voting sets"),
        (entry.needs.fifo, "FIFO channels", "FIFO"),
        (entry.needs.synchrony, "messages that take no longer than D", "a bound D"),
        (entry.needs.steadiness, "delays that do not vary much", "steady delays"),
        (entry.needs.majority, "a majority that is up", "a majority"),
        (entry.needs.storage, "memory that survives a crash", "storage"),
    ];
    let needs = needs.iter().filter(|(is, ..)| *is);
    let needs = needs.map(|&(_, in_words, briefly)| (in_words.into(), briefly.into()));
    let clocks = entry.needs.clocks_percent.map(|percent| {
        (format!("clocks that differ by {percent}% at most"), format!("clocks within {percent}%"))
    });
    needs.chain(clocks).collect()
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
        "problems": entry.problems,
        "messages": kinds.collect::<Vec<_>>(),
        "costs": costs.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overview_is_one_table_that_fits_a_narrow_terminal() {
        let text = overview(Some(80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let heads = text.lines().filter(|line| line.contains("problems")).count();
        assert_eq!(heads, 1, "a table, not a list: {text}");
        for entry in all() {
            let rows =
                text.lines().filter(|line| line.split_whitespace().next() == Some(entry.name));
            assert_eq!(rows.count(), 1, "{}: {text}", entry.name);
        }
    }

    #[test]
    fn messages_are_those_to_enter_and_leave_or_to_elect() {
        for (name, says) in [
            ("central", "2 + 1"),
            ("ricart-agrawala", "2(N-1)"),
            ("chang-roberts", "2N to 3N-1"),
            ("chubby", "3(N-1)"),
            ("heartbeat", "N(N-1) beats per T"),
        ] {
            assert_eq!(messages(find(name).unwrap()), says);
        }
    }
}
