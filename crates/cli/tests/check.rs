//! What is searched of every algorithm, and that it does not depend on how.

use std::ops::ControlFlow;
use std::time::Duration;

use conclave_algorithms::catalogue::{self, Entry, Setting};
use conclave_check::system::{Flaw, Premise, TimeModel};
use conclave_check::{Conclusion, Fairness, Limit};
use conclave_cli::lab::{CHECKED, checked};
use conclave_core::{ProcessId, View};
use conclave_observe::trace::json;
use conclave_observe::{Ending, Verdict};
use conclave_testkit::known;
use conclave_workbench::recorded::plan_of_trace;
use conclave_workbench::search::account;
use conclave_workbench::search::{SearchPlan, Searched, TICK};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

fn search(plan: &SearchPlan) -> Searched {
    plan.run(&mut |_| ControlFlow::Continue(())).unwrap()
}

/// Every search of the catalogue that does not take minutes.
fn small() -> impl Iterator<Item = (&'static Entry, SearchPlan)> {
    catalogue::all().flat_map(|entry| {
        let small = entry.searches.iter().filter(|bounds| !bounds.is_large);
        small.map(move |bounds| (entry, SearchPlan::within(entry, bounds)))
    })
}

/// A row without what differs from machine to machine.
fn lasting(row: &[String]) -> Vec<String> {
    let is_lasting = |head: &str| !matches!(head, "seconds" | "B/state");
    let pairs = CHECKED.iter().zip(row).filter(|(head, _)| is_lasting(head));
    pairs.map(|(_, cell)| cell.clone()).collect()
}

/// Rows that take minutes are believed once they stand there; all others are searched again, and
/// keep the times that stand there if nothing else differs.
#[test]
fn the_table_of_what_was_searched_says_what_a_search_says() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checked.md");
    let documented = known::rows(&std::fs::read_to_string(page).unwrap(), "searches");
    let row = |entry, bounds| {
        let plan = SearchPlan::within(entry, bounds);
        let key = account::bounds_of(&plan);
        let old = documented.iter().find(|row| row.starts_with(&key));
        if let Some(old) = old.filter(|_| bounds.is_large) {
            return old.clone();
        }
        #[expect(clippy::disallowed_types, reason = "the table tells how long it took")]
        let begin = std::time::Instant::now();
        let searched = search(&plan);
        let new = checked(&plan, &searched, begin.elapsed()).to_vec();
        old.filter(|old| lasting(old) == lasting(&new)).cloned().unwrap_or(new)
    };
    let rows = catalogue::all().flat_map(|entry| {
        entry.searches.iter().map(move |bounds| format!("| {} |", row(entry, bounds).join(" | ")))
    });
    let heads = [format!("| {} |", CHECKED.join(" | ")), "|".to_owned() + &" --- |".repeat(11)];
    known::part(page, "searches", &heads.into_iter().chain(rows).collect::<Vec<_>>());
}

#[test]
fn what_is_found_does_not_depend_on_threads_or_on_fingerprints() {
    for (entry, mut plan) in small() {
        (plan.options.threads, plan.options.budget.states) = (1, 100_000);
        let one = search(&plan);
        if matches!(one.finding.verdict, Conclusion::Budget(_)) {
            continue;
        }
        for (threads, is_exact) in [(2, false), (3, true)] {
            (plan.options.threads, plan.options.is_exact) = (threads, is_exact);
            let other = search(&plan);
            let told = |it: &Searched| {
                let far = it.finding.progress;
                let counts = [far.distinct, far.generated, far.depth];
                (counts, it.finding.verdict.clone(), it.finding.premises.clone(), it.trace.clone())
            };
            assert_eq!(told(&one), told(&other), "{} on {threads}", entry.name);
            assert_eq!(other.finding.collisions, 0, "{}", entry.name);
        }
    }
}

#[test]
fn every_counterexample_is_taken_again_by_real_processes_and_judged_alike() {
    let mut refuted = 0;
    for (entry, mut plan) in small() {
        plan.options.budget.states = 300_000;
        let searched = search(&plan);
        let Conclusion::Refuted(flaw) = searched.finding.verdict else { continue };
        let trace = searched.trace.unwrap();
        let done = plan_of_trace(&trace).unwrap().replay(&trace).unwrap().unwrap();
        let expected = match flaw {
            Flaw::Breach(_) | Flaw::Invariant => Verdict::Violated,
            Flaw::Deadlock => Verdict::Deadlock,
            Flaw::Stalled => Verdict::Stalled,
            Flaw::Starved => Verdict::Starved,
        };
        assert_eq!(done.outcome.report.verdict, expected, "{}", entry.name);
        refuted += 1;
    }
    assert!(refuted >= 5, "{refuted}");
}

/// What goes on for ever when something need not be done: a loop, or nothing at all.
#[test]
fn a_run_without_an_end_is_taken_again_and_judged_alike() {
    let unfair = |name: &str, fairness: Fairness| {
        let mut plan = SearchPlan::new(catalogue::find(name).unwrap(), View::dense(1, 2));
        plan.requests = plan.requests.min(1);
        if plan.entry.settings.contains(&Setting::Beat) {
            plan.timing.beat = Some(Duration::from_millis(2));
        }
        plan.options.fairness = fairness;
        plan
    };
    let all = Fairness::ALL;
    let (leaves, arrivals) =
        (Fairness { leaves: false, ..all }, Fairness { arrivals: false, ..all });
    let (timers, ticks) = (Fairness { timers: false, ..all }, Fairness { ticks: false, ..all });
    let mut dying = unfair("heartbeat", ticks);
    dying.faults.crashes = 1;
    let plans = [
        (unfair("token-ring-repaired", leaves), Ending::Repeats),
        (unfair("central-elected", leaves), Ending::Repeats),
        (unfair("token-ring", arrivals), Ending::Rests),
        (unfair("ricart-agrawala", leaves), Ending::Rests),
        (unfair("bully", arrivals), Ending::Rests),
        (unfair("bully", timers), Ending::Rests),
        (dying, Ending::Rests),
    ];
    for (plan, ending) in plans {
        let (name, searched) = (plan.entry.name, search(&plan));
        assert_eq!(searched.finding.verdict, Conclusion::Refuted(Flaw::Starved), "{name}");
        let trace = searched.trace.unwrap();
        assert_eq!(trace.endless(), Some(ending), "{name}");
        let written = json::write(&trace);
        assert_eq!(json::read(&written).unwrap(), trace, "{name}");
        let done = plan_of_trace(&trace).unwrap().replay(&trace).unwrap().unwrap();
        let report = done.outcome.report;
        assert_eq!((report.verdict, report.ending), (Verdict::Starved, ending), "{name}");
    }
}

/// Rounding would make hasty timers patient, and a proof of them worthless.
#[test]
fn timers_of_no_whole_number_of_ticks_are_refused() {
    let mut plan = SearchPlan::new(catalogue::find("bully").unwrap(), View::dense(1, 3));
    for (micros, is_refused) in [(1_500, true), (2_000, false), (70_000_000, true)] {
        plan.timing.answer = Some(Duration::from_micros(micros));
        let found = plan.run(&mut |_| ControlFlow::Continue(()));
        assert_eq!(found.is_err(), is_refused, "{micros}");
    }
}

#[test]
fn a_detector_is_not_proved_where_nobody_dies() {
    let mut plan = SearchPlan::new(catalogue::find("heartbeat").unwrap(), View::dense(1, 2));
    assert_eq!(search(&plan).finding.verdict, Conclusion::Vacuous(vec![Premise::Served]));
    plan.options.liveness = false;
    assert_eq!(search(&plan).finding.verdict, Conclusion::Proved);
    (plan.options.liveness, plan.faults.crashes) = (true, 1);
    assert_eq!(search(&plan).finding.verdict, Conclusion::Proved);
}

/// All orders in which they can stand.
fn orders(of: &[u32]) -> Vec<Vec<u32>> {
    let Some((first, rest)) = of.split_first() else { return vec![Vec::new()] };
    let put = |order: Vec<u32>| {
        (0..of.len()).map(move |place| {
            let mut order = order.clone();
            order.insert(place, *first);
            order
        })
    };
    orders(rest).into_iter().flat_map(put).collect()
}

/// How a ring is ordered matters: who suppresses whom is another matter in each order.
#[test]
fn chang_roberts_is_safe_and_live_on_every_ring_of_five() {
    let mut counts = std::collections::BTreeSet::new();
    for name in ["chang-roberts", "chang-roberts-suppress", "chang-roberts-naive"] {
        let entry = catalogue::find(name).unwrap();
        for ring in orders(&[2, 3, 4, 5]) {
            let ids = std::iter::once(1).chain(ring).map(ProcessId);
            let plan = SearchPlan::new(entry, View::new(ids).unwrap());
            let found = search(&plan).finding;
            assert_eq!((found.verdict, found.liveness), (Conclusion::Proved, Some(true)), "{name}");
            counts.insert((name, found.progress.distinct));
        }
    }
    assert!(counts.len() > 12, "the rings differ: {counts:?}");
}

#[test]
fn a_graph_that_is_not_whole_is_not_dumped() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("part.aut");
    let part = ["check", "ricart-agrawala", "--max-states", "1000", "--dump"];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_conclave"))
        .args(part)
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(14), "the verdict stays what it is");
    assert!(!file.exists());
}

/// What `conclave check` says: its exit code, on stdout, on stderr.
fn say(args: &[&str], directory: &std::path::Path) -> (Option<i32>, String, String) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_conclave"))
        .arg("check")
        .args(args)
        .current_dir(directory)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_graph_whose_steps_do_not_fit_into_memory_is_not_dumped() {
    let directory = tempfile::tempdir().unwrap();
    let lamport = ["lamport", "-n", "3", "--requests", "1", "--safety", "--max-memory", "3MiB"];
    let (code, out, err) = say(&[&lamport[..], &["--dump", "d.aut"]].concat(), directory.path());
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("proved: ") && out.contains("29,140 states"), "{out}");
    let why = "d.aut: not written, for --max-memory ended the search that keeps steps";
    assert_eq!(err, format!("conclave: {why}\n"));
    assert!(!directory.path().join("d.aut").exists());
}

#[test]
fn a_graph_that_cannot_be_dumped_takes_neither_verdict_nor_counterexample_away() {
    let directory = tempfile::tempdir().unwrap();
    let files = ["--dump", "x.aut", "--trace", "t.jsonl", "--svg", "t.svg"];
    let args = [&["maekawa-plain", "--json"], &files[..]].concat();
    let (code, out, err) = say(&args, directory.path());
    assert_eq!(code, Some(11), "{err}");
    let said: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(said["verdict"], "deadlock");
    assert!(err.contains("x.aut: not written") && err.lines().count() == 1, "{err}");
    let exists = |name: &str| directory.path().join(name).exists();
    assert_eq!(["t.jsonl", "t.svg", "x.aut"].map(exists), [true, true, false]);
}

#[test]
fn files_that_cannot_be_written_are_refused_before_the_search_and_others_left_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let old = directory.path().join("old");
    std::fs::write(&old, "as it was").unwrap();
    for option in ["--trace", "--svg", "--dump"] {
        let search = ["lamport", "-n", "4", "--requests", "3", option];
        for wrong in [".", "nowhere/file", "old/file"] {
            let (code, out, err) = say(&[&search[..], &[wrong]].concat(), directory.path());
            assert_eq!((code, out.as_str()), (Some(2), ""), "{option} {wrong}: {err}");
            let begins = format!("conclave: cannot write {wrong}: ");
            assert!(err.starts_with(&begins) && err.lines().count() == 1, "{err}");
        }
        let short = ["lamport", "--max-states", "10", option];
        for right in ["old", "new"] {
            assert_eq!(say(&[&short[..], &[right]].concat(), directory.path()).0, Some(14));
        }
    }
    assert_eq!(std::fs::read_to_string(old).unwrap(), "as it was");
    assert!(!directory.path().join("new").exists());
}

#[test]
fn a_search_that_only_a_limit_ends_says_so_before_it_begins() {
    let directory = tempfile::tempdir().unwrap();
    let says =
        |args: &[&str]| say(args, directory.path()).2.contains("only a limit ends this search");
    assert!(says(&["chubby", "--max-states", "100"]));
    let bounds = ["--safety", "--terms", "1", "--timeouts", "1"];
    assert!(!says(&[&["chubby", "--max-states", "100"], &bounds[..]].concat()));
    assert!(!says(&["lamport", "--max-states", "100"]), "it has an end");
}

#[test]
fn a_check_that_is_ended_while_it_decides_what_comes_eventually_has_proved_safety() {
    let mut plan = SearchPlan::new(catalogue::find("bully").unwrap(), View::dense(1, 3));
    let mut asked = 0;
    let stopped = plan.run(&mut |far| {
        asked += u32::from(far.frontier == 0);
        // It is asked at the end of the search, 32 times while steps are sorted, and then while
        // loops are looked for.
        if asked > 1 + 32 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let told = |searched: &Searched| checked(&plan, searched, Duration::ZERO)[10].clone();
    let stopped = stopped.unwrap();
    assert_eq!((stopped.finding.is_safe, stopped.finding.liveness), (true, None));
    let end = "ended the check after all states were found: safety is proved, liveness is not";
    assert_eq!(told(&stopped), format!("budget: --max-time {end}"));
    assert_eq!(asked, 1 + 32 + 1, "it ends as soon as it is told to");
    let found = search(&plan).finding;
    assert_eq!((found.verdict, found.is_safe), (Conclusion::Proved, true));
    // Nothing was proved of what never happened.
    plan.faults.losses = 1;
    plan.options.budget.states = 1_000;
    assert!(!search(&plan).finding.is_safe);
}

#[test]
fn what_decides_liveness_is_counted_as_memory_before_it_is_taken() {
    // It has eight steps a state, so to sort them takes more than to find them.
    let mut plan = SearchPlan::new(catalogue::find("heartbeat").unwrap(), View::dense(1, 3));
    plan.faults.crashes = 1;
    plan.set_time(TimeModel::Sync { bound: 2, tick: TICK });
    plan.timing.beat = Some(TICK);
    let whole = search(&plan).finding;
    assert_eq!(whole.verdict, Conclusion::Proved);
    plan.options.budget.bytes = whole.progress.bytes - 1;
    let found = search(&plan);
    assert_eq!(found.finding.verdict, Conclusion::Budget(Limit::Memory));
    assert!(found.finding.is_safe, "all states were looked at");
    assert_eq!(found.finding.progress.distinct, whole.progress.distinct);
}

#[test]
fn liveness_that_was_not_asked_is_not_said_to_be_left_to_simulation() {
    let mut plan = SearchPlan::new(catalogue::find("token-ring").unwrap(), View::dense(1, 2));
    plan.options.liveness = false;
    let row = checked(&plan, &search(&plan), Duration::ZERO);
    assert_eq!(row[10], "proved: safe; liveness not asked");
}

#[test]
fn nobody_asks_a_detector_and_programs_are_told_so() {
    let directory = tempfile::tempdir().unwrap();
    let (code, out, _) =
        say(&["heartbeat", "-n", "2", "--crashes", "1", "--json"], directory.path());
    let said: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &said["requests"]), (Some(0), &serde_json::Value::Null));
}

#[test]
fn ctrl_c_ends_a_search_that_says_how_far_it_came() {
    let search = std::process::Command::new(env!("CARGO_BIN_EXE_conclave"))
        .args(["check", "lamport", "-n", "3", "--requests", "3"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", search.id());
    let keeps_ctrl_c = || {
        let status = std::fs::read_to_string(&status).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap() & 0b10 != 0
    };
    let waits = std::iter::repeat_with(|| std::thread::sleep(Duration::from_millis(1)));
    assert!(waits.take(60_000).any(|()| keeps_ctrl_c()), "it keeps Ctrl-C for itself");
    let id = Pid::from_raw(i32::try_from(search.id()).unwrap());
    kill(id, Signal::SIGINT).unwrap();
    let output = search.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = [output.stdout, output.stderr].concat();
    assert!(String::from_utf8(said).unwrap().contains("nothing is proved"));
}

#[test]
fn a_dumped_graph_has_every_state_and_step_and_all_is_reached_from_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ring.aut");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_conclave"))
        .args(["check", "token-ring", "-n", "2", "--requests", "1", "--dump"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text.lines();
    let head = lines.next().unwrap().trim_start_matches("des (").trim_end_matches(')');
    let head: Vec<usize> = head.split(',').map(|number| number.parse().unwrap()).collect();
    let steps: Vec<(usize, usize)> = lines
        .map(|line| {
            let (from, rest) = line.trim_start_matches('(').split_once(',').unwrap();
            let (_, to) = rest.trim_end_matches(')').rsplit_once(',').unwrap();
            (from.parse().unwrap(), to.parse().unwrap())
        })
        .collect();
    let mut reached = std::collections::BTreeSet::from([0]);
    while let Some(&(_, to)) =
        steps.iter().find(|(from, to)| reached.contains(from) && !reached.contains(to))
    {
        reached.insert(to);
    }
    let said = String::from_utf8(output.stdout).unwrap();
    let (states, generated) = (reached.len(), steps.len());
    assert_eq!(head, [0, generated, states]);
    // The first state is generated without a step.
    let counts = format!("{states} states, {} generated", generated + 1);
    assert!(said.contains(&counts), "{counts}: {said}");
}
