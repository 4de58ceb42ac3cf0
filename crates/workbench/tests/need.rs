//! What is said of the memory that a run needs is true: it is held against what the kernel says.

use conclave_algorithms::catalogue::{self, SeatingError};
use conclave_core::View;
use conclave_observe::{JudgeOrdering, Time};
use conclave_sim::{Network, Recording, Workload};
use conclave_workbench::need::{MEMORY_MAX, NeedError};
use conclave_workbench::plan::Plan;

fn plan(algorithm: &str, n: u32) -> Plan {
    let mut plan = Plan::new(catalogue::find(algorithm).unwrap(), View::dense(1, n));
    plan.entries = plan.entries.min(u64::from(n));
    plan.check_invariants = false;
    plan
}

/// Runs of every family, of which messages, states, timers, clocks or records take most.
fn plans() -> Vec<Plan> {
    let think =
        |n| Plan { workload: Workload::Think { mean: Time::delays(100) }, ..plan("lamport", n) };
    let judged = |name, n| Plan { ordering: JudgeOrdering::Yes, ..plan(name, n) };
    let recorded = |name, n| Plan { recording: Recording::Everything, ..plan(name, n) };
    vec![
        plan("ricart-agrawala", 1_000),
        plan("ricart-agrawala", 3_000),
        Plan { entries: 100, ..plan("ricart-agrawala", 10_000) },
        Plan {
            network: Network::Exponential { mean: Time::delays(3) },
            ..plan("ricart-agrawala", 1_000)
        },
        Plan { entries: 300, ..plan("lamport", 2_000) },
        Plan { entries: 300, ..think(2_000) },
        plan("maekawa", 10_000),
        plan("central", 100_000),
        plan("token-ring", 50_000),
        plan("bully", 2_000),
        plan("bully", 4_000),
        plan("chang-roberts", 50_000),
        plan("heartbeat", 700),
        plan("zookeeper", 10_000),
        judged("ricart-agrawala", 300),
        judged("lamport", 300),
        recorded("ricart-agrawala", 100),
        recorded("maekawa", 200),
        recorded("bully", 300),
    ]
}

/// Takes the run of that number alone, in a process of its own, and prints how much it took.
#[test]
fn a_process_of_its_own() {
    let Ok(number) = std::env::var("CONCLAVE_NEED_OF") else { return };
    let plan = plans().swap_remove(number.parse().unwrap());
    let before = kibibytes("VmHWM");
    let done = plan.run(&mut |_| {}).unwrap();
    let trace = done.trace();
    println!("took {} KiB", kibibytes("VmHWM") - before);
    assert_eq!(trace.records.len(), done.outcome.records.len());
}

fn kibibytes(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(&format!("{name}:"))).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_run_is_said_to_need_is_what_it_takes() {
    // Nobody is refused for a few megabytes more or less.
    const UNNOTICED: f64 = 16.0;
    let mut wrong = Vec::new();
    for (number, plan) in plans().iter().enumerate() {
        let said = plan.need().unwrap().total() / f64::from(1 << 20);
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_process_of_its_own", "--nocapture"])
            .env("CONCLAVE_NEED_OF", number.to_string())
            .output()
            .unwrap();
        let output = String::from_utf8(child.stdout).unwrap();
        let took = output.split_once("took ").and_then(|(_, rest)| rest.split_once(" KiB"));
        let took: f64 = took.unwrap_or_else(|| panic!("{output}")).0.parse().unwrap();
        let took = took / 1024.0;
        let line = format!(
            "{} of {}: said {said:.0} MiB, took {took:.0} MiB",
            plan.entry.name,
            plan.clients.len()
        );
        println!("{line}");
        if said > 3.0 * took + UNNOTICED || took > 2.0 * said + UNNOTICED {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    for name in ["ricart-agrawala", "lamport", "bully", "heartbeat"] {
        let error = plan(name, 100_000).check_memory(MEMORY_MAX).unwrap_err();
        let NeedError::TooMuch { instead, needed, .. } = &error else { panic!("{error}") };
        assert!(*needed > MEMORY_MAX as f64, "{error}");
        let fitting: u32 = instead.split(' ').find_map(|it| it.parse().ok()).unwrap();
        let of_so_many = |n| Plan { entries: plan(name, n).default_entries(), ..plan(name, n) };
        let whole = of_so_many(100_000).check_memory(MEMORY_MAX).unwrap_err().to_string();
        assert!(whole.contains("choose at most") && whole.contains("8 GiB"), "{whole}");
        assert_eq!(plan(name, fitting).check_memory(MEMORY_MAX), Ok(()), "{name} {fitting}");
        let one_more = plan(name, fitting + fitting / 50).check_memory(MEMORY_MAX);
        assert!(one_more.is_err(), "{name} {fitting}");
    }
}

#[test]
fn every_algorithm_is_weighed() {
    for entry in catalogue::all() {
        let need_of = |n| Plan::new(entry, View::dense(1, n)).need();
        // As many as there may be, and some are for a few alone.
        let n = match need_of(100_000) {
            Err(SeatingError::TooMany { max, .. }) => u32::try_from(max).unwrap(),
            _ => 100_000,
        };
        let need = need_of(n).unwrap();
        // A process is at least its state.
        assert!(need.processes > 100.0 * f64::from(n), "{}: {need:?}", entry.name);
        assert!(need.total().is_finite(), "{}: {need:?}", entry.name);
        assert!(need.records == 0.0, "{}: {need:?}", entry.name);
    }
}
