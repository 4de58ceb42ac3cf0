//! Mutants by name: each is caught where it is said to be, and what is recorded of it names it.

use std::path::Path;
use std::process::{Command, Output};

use conclave_algorithms::mutants::{Breaks, MUTANTS, Mutant};

fn conclave(line: &str, directory: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conclave"));
    command.args(line.split_whitespace()).current_dir(directory).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("it ends by itself")
}

/// Violated, deadlock, starved.
const CAUGHT: [i32; 3] = [10, 11, 12];

#[test]
fn each_is_caught_by_the_search_that_it_names_and_its_trace_replays() {
    for Mutant { name, .. } in MUTANTS {
        let directory = tempfile::tempdir().unwrap();
        let told = conclave(&format!("mutants {name}"), directory.path()).stdout;
        let told = String::from_utf8(told).unwrap();
        let (_, search) = told.split_once("search  conclave ").unwrap();
        let line = format!("{} --trace found.jsonl", search.trim());
        let output = conclave(&line, directory.path());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(CAUGHT.contains(&code(&output)), "{line}: {} {said}", code(&output));
        let trace = std::fs::read_to_string(directory.path().join("found.jsonl")).unwrap();
        assert!(trace.lines().next().unwrap().contains(name), "{name} is named by its trace");
        let again = conclave("run --replay found.jsonl", directory.path());
        assert_eq!(code(&again), code(&output), "{name}: {again:?}");
    }
}

#[test]
fn a_trace_of_a_mutant_is_none_of_the_algorithm_itself() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("run.jsonl");
    let line =
        "run chang-roberts -n 3 --mutant chang-roberts-smaller --trace run.jsonl --svg run.svg";
    let output = conclave(line, directory.path());
    assert_eq!(code(&output), 10);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("chang-roberts, mutant chang-roberts-smaller, 3 proc"), "{said}");
    let (_, command) = said.split_once("repeat it with: ").unwrap();
    assert!(command.contains("--mutant chang-roberts-smaller"), "{command}");
    let picture = std::fs::read_to_string(directory.path().join("run.svg")).unwrap();
    assert!(picture.contains("chang-roberts, but the smaller of two ids is passed on"));
    assert_eq!(code(&conclave("run --replay run.jsonl", directory.path())), 10);
    let trace = std::fs::read_to_string(&file).unwrap();
    let honest = trace.replacen(r#"["mutant","chang-roberts-smaller"]"#, "", 1);
    assert_ne!(honest, trace);
    std::fs::write(&file, honest).unwrap();
    let again = conclave("run --replay run.jsonl", directory.path());
    assert!(String::from_utf8(again.stderr).unwrap().contains("does not replay"));
}

#[test]
fn what_is_no_mutant_of_it_is_refused_in_one_line() {
    for (line, says) in [
        ("run bully --mutant bully-hasti", "did you mean bully-hasty? `conclave mutants` lists"),
        ("check bully --mutant ?", "there is no mutant `?`; `conclave mutants` lists all of them"),
        ("mutants bully-hasti", "there is no mutant `bully-hasti`; did you mean bully-hasty?"),
        ("run lamport --mutant bully-hasty", "bully-hasty is a mutant of bully, not of lamport"),
        ("check lamport --mutant bully-hasty", "bully-hasty is a mutant of bully, not of lamport"),
        ("run ricart-agrawala --mutant fairness-arrivals", "check ricart-agrawala --mutant"),
    ] {
        let output = conclave(line, Path::new("."));
        let said = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!((code(&output), said.lines().count()), (2, 1), "{line}: {said}");
        assert!(said.contains(says), "{line}: {said}");
    }
}

#[test]
fn each_that_a_run_can_show_runs_to_an_end() {
    let is_run = |it: &&Mutant| !matches!(it.breaks, Breaks::Leaves | Breaks::Arrivals);
    for mutant in MUTANTS.iter().filter(is_run) {
        let line = format!("run {} -n 3 --mutant {}", mutant.entry.name, mutant.name);
        let output = conclave(&line, Path::new("."));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(&format!("mutant {}", mutant.name)), "{line}: {output:?}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{line}");
    }
}
