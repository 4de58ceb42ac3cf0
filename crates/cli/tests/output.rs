//! What the commands give to programs: JSON with the promised keys, traces that can be read again,
//! pictures that hold what the trace holds.

use std::path::PathBuf;
use std::process::{Command, Output};

use conclave_algorithms::catalogue::{self, MUTEXES};
use conclave_cli::plan::Plan;
use conclave_core::{Promises, View};
use conclave_diagram::Options;
use conclave_diagram::scene::{BarKind, Scene};
use conclave_observe::trace::json;
use conclave_observe::{Elections, JudgeOrdering, Report, What};
use conclave_sim::Recording;
use serde_json::Value;

fn conclave(words: &str) -> Output {
    let words = words.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_conclave")).args(words).output().unwrap()
}

fn parsed(words: &str) -> Value {
    serde_json::from_slice(&conclave(words).stdout).unwrap()
}

/// Every key, dotted where it is within another.
fn assert_keys(value: &Value, keys: &str) {
    for key in keys.split_whitespace() {
        let pointer = format!("/{}", key.replace('.', "/"));
        assert!(value.pointer(&pointer).is_some(), "no {key} in {value:#}");
    }
}

#[test]
fn run_tells_programs_all_that_it_tells_people() {
    let run = parsed("run ricart-agrawala -n 3 --json");
    assert_keys(
        &run,
        "algorithm n seed entries messages.total messages.by_kind messages_per_entry.enter \
         messages_per_entry.leave throughput load.max load.mean fairness.jain fairness.overtakes \
         safety liveness ordering fences faults_fired verdict trace_hash",
    );
    for delay in ["client_delay", "sync_delay", "wait"] {
        assert_keys(&run[delay], "mean p50 p99 max");
    }
    assert_eq!(run["messages"]["by_kind"]["request"], 24);
    assert_eq!(run["verdict"], "ok");
    assert_eq!(run["ordering"], "ok");
    let many = parsed("run ricart-agrawala -n 33 --entries 33 --json");
    assert_eq!(many["ordering"], "not judged");
    assert_eq!(
        parsed("run ricart-agrawala -n 33 --entries 33 --ordering --json")["ordering"],
        "ok"
    );
}

#[test]
fn run_tells_which_faults_fired() {
    let run = parsed("run ricart-agrawala -n 3 --crash 2@3ms --crash 1@900s --json");
    let fired: Vec<u64> = run["faults_fired"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["fired"].as_u64().unwrap())
        .collect();
    assert_eq!(fired, [1, 0]);
    assert_eq!((&run["verdict"], &run["liveness"]), (&"stalled".into(), &"stalled".into()));
}

#[test]
fn exit_codes_are_those_of_the_verdicts() {
    for (words, code) in [
        ("run lamport -n 3", 0),
        ("run paxos", 2),
        ("run lamport -n 2 --no-fifo --network uniform:1ms..20ms --seed 2", 10),
        ("run maekawa-plain -n 3", 11),
        ("run lamport -n 3 --crash 2@3ms", 13),
        ("run lamport -n 3 --max-events 10", 14),
    ] {
        assert_eq!(conclave(words).status.code(), Some(code), "{words}");
    }
}

#[test]
fn the_table_is_a_list_of_cells() {
    let table = parsed("table -n 4 --json");
    let cells = table.as_array().unwrap();
    for cell in cells {
        let keys: Vec<&String> = cell.as_object().unwrap().keys().collect();
        for key in
            ["algorithm", "n", "measure", "measured", "formula", "expected", "exact", "notes"]
        {
            assert!(keys.iter().any(|it| *it == key), "no {key} in {cell:#}");
        }
    }
    for entry in MUTEXES {
        assert!(cells.iter().any(|cell| cell["algorithm"] == entry.name), "{}", entry.name);
    }
}

#[test]
fn every_format_of_the_table_has_every_algorithm() {
    for format in ["text", "markdown", "latex", "csv"] {
        let output = conclave(&format!("table -n 4 --format {format}"));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(MUTEXES.iter().all(|entry| text.contains(entry.name)), "{format}:\n{text}");
        assert!(text.contains("counts a message to oneself"), "{format}:\n{text}");
    }
}

#[test]
fn voting_sets_are_told_by_process_with_k_and_m() {
    let sets = parsed("voting-sets grid -n 9 --json");
    assert_eq!(sets["sets"]["5"], serde_json::json!([2, 4, 5, 6, 8]));
    assert_eq!((&sets["K"]["max"], &sets["M"]["min"]), (&5.into(), &5.into()));
}

#[test]
fn a_trace_that_was_written_is_read_and_judged_the_same() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("run.jsonl");
    for (run, code) in [
        ("run maekawa-plain -n 3", 11),
        ("run maekawa -n 4 --network exponential:2ms", 0),
        ("run lamport -n 2 --no-fifo --network uniform:1ms..20ms --seed 2", 10),
        ("run central -n 3 --crash 0@4ms", 13),
        ("run ricart-agrawala --loss 0.05 --duplicate 0.05 --pause 2@3ms..9ms", 13),
    ] {
        let written = conclave(&format!("{run} --trace {}", path.display()));
        let read = conclave(&format!("trace {}", path.display()));
        let said = String::from_utf8_lossy(&read.stdout).into_owned();
        assert_eq!(
            (written.status.code(), read.status.code()),
            (Some(code), Some(code)),
            "{run}: {said}"
        );
    }
}

#[test]
fn a_trace_that_ends_early_shows_nothing() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cut.jsonl");
    assert_eq!(
        conclave(&format!("run maekawa -n 3 --trace {}", path.display())).status.code(),
        Some(0)
    );
    let whole = std::fs::read_to_string(&path).unwrap();
    let part: Vec<&str> = whole.lines().take(40).collect();
    std::fs::write(&path, part.join("\n")).unwrap();
    assert_eq!(conclave(&format!("trace {}", path.display())).status.code(), Some(14));
}

#[test]
fn the_command_that_is_printed_does_the_same_again() {
    for words in [
        "lamport --max-events 10",
        "ricart-agrawala -n 3 --pause 2@10ms..300ms --patience 5ms",
        "maekawa -n 12 --voting-sets majority --network exponential:2ms --hold 0.5ms --seed 9",
        "central --partition 1>0@3ms..8ms",
    ] {
        let first = parsed(&format!("run {words} --json"));
        let command = first["command"].as_str().unwrap().replace('\'', "");
        let again = parsed(&format!("{} --json", command.trim_start_matches("conclave ")));
        assert_eq!(first, again, "{command}");
    }
}

#[test]
fn a_picture_has_an_arrow_for_every_message_and_a_bar_for_every_entry() {
    for entry in MUTEXES {
        let mut plan = Plan::new(entry, View::dense(1, 4));
        (plan.recording, plan.entries) = (Recording::Everything, 8);
        let done = plan.run(&mut |_| {}).unwrap();
        let trace = done.trace();
        let scene = Scene::of(&trace, &Options::default());
        let report = &done.outcome.report;
        assert_eq!(scene.arrows.len() as u64, report.bandwidth.sent(), "{}", entry.name);
        let holding = scene.bars.iter().filter(|bar| matches!(bar.kind, BarKind::Holding { .. }));
        assert_eq!(holding.count() as u64, report.delays.entries(), "{}", entry.name);
    }
}

#[test]
fn a_deadlock_is_drawn_as_a_cycle() {
    let mut plan = Plan::new(catalogue::find("maekawa-plain").unwrap(), View::dense(1, 3));
    plan.recording = Recording::Everything;
    let scene = Scene::of(&plan.run(&mut |_| {}).unwrap().trace(), &Options::default());
    assert_eq!(scene.waits.len(), 3);
}

#[test]
fn a_trace_judged_again_has_the_same_measures() {
    for entry in catalogue::all() {
        let mut plan = Plan::new(entry, View::dense(1, 5));
        // Those that answer a crash get one.
        if entry.needs.synchrony || !matches!(entry.promises, Promises::Mutex { .. }) {
            plan.faults.crashes = vec!["5@3ms".parse().unwrap()];
            plan.until = plan.default_until();
        }
        plan.recording = Recording::Everything;
        let done = plan.run(&mut |_| {}).unwrap();
        let trace = json::read(&json::write(&done.trace())).unwrap();
        assert_eq!(trace, done.trace(), "{}", entry.name);
        let live = &done.outcome.report;
        let again = trace.judge(JudgeOrdering::Yes).finish(live.ending);
        assert_eq!(again.verdict, live.verdict, "{}", entry.name);
        assert_eq!(again.bandwidth.handled(), live.bandwidth.handled(), "{}", entry.name);
        assert_eq!(again.delays, live.delays, "{}", entry.name);
        assert_eq!(again.fairness, live.fairness, "{}", entry.name);
        let leader = |report: &Report| report.elections.as_ref().and_then(Elections::leader);
        assert_eq!(leader(&again), leader(live), "{}", entry.name);
        let turnaround =
            |report: &Report| report.elections.as_ref().and_then(|it| it.last_turnaround);
        assert_eq!(turnaround(&again), turnaround(live), "{}", entry.name);
        let missed =
            |report: &Report| report.detection.as_ref().map(|it| (it.wrong(), it.missed().count()));
        assert_eq!(missed(&again), missed(live), "{}", entry.name);
    }
}

#[test]
fn explained_runs_name_the_rule_of_every_step() {
    for entry in catalogue::all() {
        let mut plan = Plan::new(entry, View::dense(1, 4));
        plan.recording = Recording::Everything;
        let done = plan.run(&mut |_| {}).unwrap();
        for record in &done.outcome.records {
            let is_step = matches!(
                record.event.what,
                What::Requested
                    | What::Leaving
                    | What::Received { .. }
                    | What::TimerFired
                    | What::Called
            );
            assert_eq!(is_step, !record.rules.is_empty(), "{}: {record:?}", entry.name);
        }
    }
}
