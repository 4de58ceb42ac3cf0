//! What the commands give to programs: JSON with the promised keys, traces that can be read again,
//! pictures that hold what the trace holds.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use conclave_algorithms::catalogue::{self, MUTEXES};
use conclave_core::View;
use conclave_core::mutex::Locks;
use conclave_diagram::scene::Scene;
use conclave_diagram::{Medium, Options};
use conclave_observe::family::elections::ElectionPanel;
use conclave_observe::trace::json;
use conclave_observe::{JudgeOrdering, Part, Report};
use conclave_sim::Recording;
use conclave_workbench::plan::Plan;
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
fn every_key_that_programs_get_stands_on_the_page_of_results() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lab/results.md");
    let page = std::fs::read_to_string(page).unwrap();
    for words in [
        "run ricart-agrawala -n 3 --json",
        "run bully -n 3 --json",
        "run heartbeat -n 3 --json",
        "check maekawa-plain --json",
        "table -n 4 --json",
    ] {
        let told = parsed(words);
        let object = told.get(0).unwrap_or(&told).as_object().unwrap();
        let unknown: Vec<_> =
            object.keys().filter(|it| !page.contains(&format!("`{it}`"))).collect();
        assert!(unknown.is_empty(), "{words}: {unknown:?}");
    }
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
        let options = Options { medium: Medium::Scroll, ..Options::default() };
        let scene = Scene::of(&trace, &options);
        let report = &done.outcome.report;
        let [strip] = &scene.strips[..] else { panic!("one strip") };
        assert_eq!(strip.arrows.len() as u64, report.bandwidth.sent(), "{}", entry.name);
        let holding = strip.bars.iter().filter(|bar| bar.kind.sort.name == "holding");
        assert_eq!(
            holding.count() as u64,
            report.locks().unwrap().delays.entries(),
            "{}",
            entry.name
        );
    }
}

#[test]
fn a_deadlock_is_drawn_as_a_cycle() {
    let mut plan = Plan::new(catalogue::find("maekawa-plain").unwrap(), View::dense(1, 3));
    plan.recording = Recording::Everything;
    let scene = Scene::of(&plan.run(&mut |_| {}).unwrap().trace(), &Options::default());
    assert_eq!(scene.strips.last().unwrap().waits.len(), 3);
}

#[test]
fn a_trace_judged_again_has_the_same_measures() {
    for entry in catalogue::all() {
        let mut plan = Plan::new(entry, View::dense(1, 5));
        // Those that answer a crash get one.
        if entry.needs.synchrony || !entry.is_of::<Locks>() {
            plan.faults.crashes = vec![conclave_workbench::notation::read("5@3ms").unwrap()];
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
        let locks =
            |report: &Report| report.locks().map(|it| (it.delays.clone(), it.fairness.clone()));
        assert_eq!(locks(&again), locks(live), "{}", entry.name);
        let leader = |report: &Report| report.elections().and_then(ElectionPanel::leader);
        assert_eq!(leader(&again), leader(live), "{}", entry.name);
        let turnaround = |report: &Report| report.elections().and_then(|it| it.last_turnaround);
        assert_eq!(turnaround(&again), turnaround(live), "{}", entry.name);
        let missed =
            |report: &Report| report.detection().map(|it| (it.wrong(), it.missed().count()));
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
            let is_step = record.event.what.part() == Part::Cause;
            assert_eq!(is_step, !record.rules.is_empty(), "{}: {record:?}", entry.name);
        }
    }
}

/// With its output going there.
fn conclave_to(words: &str, stdout: impl Into<Stdio>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conclave"));
    let command = command.args(words.split_whitespace()).stdout(stdout).stderr(Stdio::piped());
    command.spawn().unwrap().wait_with_output().unwrap()
}

#[test]
fn a_reader_who_stops_early_changes_nothing_about_the_exit_code_and_the_files() {
    let violated = "run token-ring-repaired -n 4 --network exponential:5ms --hold 30ms";
    let picture = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("unread.svg");
    let _ = std::fs::remove_file(&picture);
    for (words, code) in [
        (violated.into(), Some(10)),
        (format!("{violated} --json"), Some(10)),
        (format!("{violated} --explain"), Some(10)),
        (format!("run maekawa-plain -n 3 --svg {}", picture.display()), Some(11)),
        ("run lamport -n 3".into(), Some(0)),
        ("table -n 2".into(), Some(0)),
        ("sweep --runs 1 --bounds 5ms --thresholds 8".into(), Some(0)),
        ("algorithms".into(), Some(0)),
        ("voting-sets grid".into(), Some(0)),
        ("check maekawa-plain -n 3 --json".into(), Some(11)),
        ("trace tests/transcripts/maekawa_deadlock.jsonl".into(), Some(11)),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = conclave_to(&words, writer);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*said), (code, ""), "{words}");
    }
    assert!(std::fs::read_to_string(picture).unwrap().starts_with("<svg"));
}

#[test]
fn an_output_that_cannot_be_written_is_named_and_is_no_bad_input() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let no_space = "No space left on device (os error 28)";
    for words in ["run lamport -n 3", "run lamport --json", "table -n 2", "check central -n 2"] {
        let output = conclave_to(words, full());
        let said = String::from_utf8_lossy(&output.stderr);
        let line = format!("conclave: cannot write the output: {no_space}\n");
        assert_eq!((output.status.code(), &*said), (Some(74), &*line), "{words}");
    }
    let output = conclave("run lamport -n 3 --trace /dev/full");
    let said = String::from_utf8_lossy(&output.stderr);
    let line = format!("conclave: cannot write /dev/full: {no_space}\n");
    assert_eq!((output.status.code(), &*said), (Some(74), &*line));
}

#[test]
fn a_run_that_is_refused_leaves_no_file_behind_and_changes_none() {
    let directory = tempfile::tempdir().unwrap();
    let (new, old) = (directory.path().join("new"), directory.path().join("old"));
    std::fs::write(&old, "kept").unwrap();
    for words in ["run lamport -n 3", "check maekawa-plain -n 3"] {
        for file in [&new, &old] {
            let words = format!("{words} --trace {} --svg /no/such/directory/x", file.display());
            assert_eq!(conclave(&words).status.code(), Some(2), "{words}");
        }
        assert!(!new.exists(), "{words}");
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "kept", "{words}");
    }
}

#[test]
fn what_is_told_of_a_death_at_the_start_is_not_that_it_crashes() {
    let words = "run bully --ids 3,5,6,12,32,80 --dead 80 --initiators 6 --explain";
    let told = String::from_utf8(conclave(words).stdout).unwrap();
    assert!(told.contains("0  80  is DOWN FROM THE START\n"), "{told}");
    assert!(told.contains("0   6  calls an election: it asks all larger ones\n"), "{told}");
    assert!(!told.contains("CRASHES"), "{told}");
    let crashed = conclave("run heartbeat -n 2 --crash 1@0ms --explain").stdout;
    assert!(String::from_utf8(crashed).unwrap().contains("1  CRASHES"), "it was up before");
}

#[test]
fn where_all_are_down_nobody_is_said_to_have_noticed() {
    let told = String::from_utf8(conclave("run heartbeat -n 3 --dead 1,2,3").stdout).unwrap();
    for line in [
        "verdict       ok: nobody is left who could notice a death\n",
        "detected      nobody was left to notice\n",
        "missed        nobody was left to notice\n",
    ] {
        assert!(told.contains(line), "{told}");
    }
}

#[test]
fn no_algorithm_has_more_kinds_of_messages_than_a_picture_has_looks() {
    for entry in catalogue::all() {
        assert!(entry.kinds.len() <= conclave_diagram::LOOKS, "{}", entry.name);
    }
}

/// A run by a scenario of these lines: its exit code, and what it said.
fn by_scenario(algorithm: &str, lines: &str) -> (Option<i32>, String) {
    let name =
        format!("{algorithm}-{}.scenario", lines.replace(|c: char| !c.is_alphanumeric(), "-"));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, lines).unwrap();
    let output = conclave(&format!("run {algorithm} --scenario {}", path.display()));
    let said = if output.status.code() == Some(2) { output.stderr } else { output.stdout };
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[test]
fn a_scenario_need_not_call_where_nobody_has_to() {
    for algorithm in ["heartbeat", "phi", "chubby", "zookeeper", "zookeeper-herd"] {
        let (code, said) = by_scenario(algorithm, "n 3\ncrash 2@5ms");
        assert_eq!(code, Some(0), "{algorithm}: {said}");
        assert!(!said.contains("called by"), "{algorithm}: {said}");
    }
    let (code, said) = by_scenario("chubby", "n 3\ncall 2@0ms");
    assert!(code == Some(0) && said.contains("called by 2"), "{said}");
}

#[test]
fn a_scenario_says_nothing_in_vain() {
    for (algorithm, lines, says) in [
        ("bully", "n 3", "nobody calls an election; add a line like: call 3@0ms"),
        ("chang-roberts-repaired", "n 3", "nobody calls an election; add a line like"),
        ("lamport", "n 3", "nobody asks for the lock; add a line like: request 3@0ms"),
        ("heartbeat", "n 3\ncall 2@0ms", "heartbeat elects nobody; leave `call` out of the"),
        (
            "heartbeat",
            "n 3\nrequest 2@0ms",
            "heartbeat is not a mutual exclusion algorithm; leave `request`",
        ),
        (
            "bully",
            "n 3\ncall 1@0ms\nholder 2",
            "bully is not a mutual exclusion algorithm; leave `holder`",
        ),
        (
            "bully",
            "n 3\ncall 1@0ms\nclock 1 5",
            "bully is not a mutual exclusion algorithm; leave `clock`",
        ),
        ("phi", "n 3\nhold 2ms", "phi is not a mutual exclusion algorithm; leave `hold`"),
        ("central", "request 1@0ms\nclock 1 5", "central has no logical clock; leave `clock`"),
    ] {
        let (code, said) = by_scenario(algorithm, lines);
        assert_eq!(code, Some(2), "{algorithm}, {lines:?}: {said}");
        assert!(said.starts_with(&format!("conclave: {says}")), "{algorithm}, {lines:?}: {said}");
        assert_eq!(said.lines().count(), 1);
    }
}

#[test]
fn who_is_dead_from_the_start_may_call_once_it_is_back() {
    let words = "run bully --dead 5 --return 5@5ms --initiators 5@";
    assert_eq!(conclave(&format!("{words}40ms")).status.code(), Some(0));
    assert_eq!(conclave(&format!("{words}5ms")).status.code(), Some(0));
    assert_eq!(parsed(&format!("{words}40ms --json"))["initiators"], serde_json::json!([5]));
    let early = conclave(&format!("{words}4ms"));
    let says = "conclave: --initiators: process 5 is not back at 4ms; let it call later\n";
    assert_eq!(String::from_utf8(early.stderr).unwrap(), says);
    let lines = "n 5\ndead 5\nreplace 5@5ms\ncall 5@";
    assert_eq!(by_scenario("bully", &format!("{lines}9ms")).0, Some(0));
    let (code, said) = by_scenario("bully", &format!("{lines}1ms"));
    assert_eq!((code, said.starts_with("conclave: call: process 5 is not back")), (Some(2), true));
}

#[test]
fn a_call_that_never_came_is_told_and_its_caller_called_nothing() {
    let words = "run bully -n 5 --initiators 1@5ms --crash 1@2ms";
    let told = String::from_utf8(conclave(words).stdout).unwrap();
    for line in [
        "bully, 5 processes, network unit, called by nobody, seed 1\n",
        "verdict       ok: nobody was elected: 1 was to call, and had died by then\n",
        "call          1@5ms NEVER CAME: 1 had died by then, or the run was over\n",
    ] {
        assert!(told.contains(line), "{told}");
    }
    let run = parsed(&format!("{words} --json"));
    assert_eq!(
        (&run["initiators"], &run["never_called"]),
        (&serde_json::json!([]), &serde_json::json!([1]))
    );
    // Who is paused calls when it goes on; who died before that does not.
    for (fault, came) in [
        ("--pause 2@1ms..30ms", vec![1, 2]),
        ("--pause 2@1ms..30ms --crash 2@20ms", vec![1]),
        ("--crash 2@4ms", vec![1, 2]),
        ("--crash 2@3ms", vec![1]),
    ] {
        let run = parsed(&format!("run bully -n 3 --initiators 1@0ms,2@3ms {fault} --json"));
        assert_eq!(run["initiators"], serde_json::json!(came), "{fault}");
    }
}

#[test]
fn a_number_that_is_no_id_is_answered_with_the_range() {
    for words in ["run lamport --ids 1,4294967296", "run bully --dead 99999999999"] {
        let said = String::from_utf8(conclave(words).stderr).unwrap();
        assert!(said.contains("ids are from 0 to 4294967294"), "{said}");
    }
}

#[test]
fn algorithms_are_told_to_programs_all_at_once_or_one_by_one() {
    let all = parsed("algorithms --json");
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), catalogue::all().count());
    for of_all in all {
        let name = of_all["name"].as_str().unwrap();
        assert_keys(of_all, "title kind needs promises problems crash messages costs options");
        assert_eq!(of_all["problems"], catalogue::find(name).unwrap().problems);
        assert_eq!(*of_all, parsed(&format!("algorithms {name} --json")));
    }
}
