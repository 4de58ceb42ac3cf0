//! Voting sets that somebody wrote down: the same as those that are constructed, if they are the
//! same; and what comes of sets that share nobody.

use std::path::Path;
use std::process::{Command, Output};

use conclave_algorithms::catalogue;
use conclave_algorithms::quorum::{Construction, VotingSets};
use conclave_core::{Seat, View};
use conclave_observe::Verdict;
use conclave_sim::Recording;
use conclave_workbench::draft::Draft;
use conclave_workbench::plan::Plan;

fn conclave(words: &str, directory: &Path) -> Output {
    let words = words.split_whitespace();
    let mut command = Command::new(env!("CARGO_BIN_EXE_conclave"));
    command.args(words).current_dir(directory).output().unwrap()
}

/// The sets of a construction, written out.
fn written(construction: Construction, n: u32, between: &str) -> String {
    let view = View::dense(1, n);
    let sets = VotingSets::build(construction, &view).unwrap();
    let line = |seat| {
        let set: Vec<String> = sets.of(seat).iter().map(ToString::to_string).collect();
        format!("{}: {}", view.at(seat), set.join(", "))
    };
    (0..view.len()).map(Seat::at).map(line).collect::<Vec<_>>().join(between)
}

fn plan(algorithm: &str, settings: &[(&str, &str)]) -> Plan {
    let mut draft = Draft::new(catalogue::find(algorithm).unwrap());
    settings.iter().for_each(|(name, value)| draft.say(name, value).unwrap());
    draft.plan().unwrap()
}

#[test]
fn sets_that_are_written_out_give_the_run_of_those_that_are_constructed() {
    for construction in [Construction::Grid, Construction::Tree, Construction::Plane] {
        let (name, own) = (construction.name(), format!("own:{}", written(construction, 13, "/")));
        let run = |settings: &[(&str, &str)]| plan("maekawa", settings).run(&mut |_| {}).unwrap();
        let built = run(&[("n", "13"), ("voting-sets", name)]);
        let own = run(&[("voting-sets", &own)]);
        let hash = own.outcome.report.fingerprint;
        assert_eq!(hash, built.outcome.report.fingerprint, "{name}");
    }
}

#[test]
fn a_recorded_run_with_own_sets_can_be_taken_again() {
    for own in ["own:1:1,2/2:2,3/3:3,1", "own:disjoint/1:1/2:2"] {
        let mut plan = plan("maekawa", &[("voting-sets", own)]);
        plan.recording = Recording::Everything;
        let again = plan.clone();
        let done = plan.run(&mut |_| {}).unwrap();
        let trace = done.trace();
        assert!(trace.header.options.contains(&("voting-sets".into(), own.into())));
        again.replay(&trace).unwrap().unwrap();
    }
}

#[test]
fn sets_that_share_nobody_give_two_holders() {
    for (algorithm, sets) in [
        ("maekawa", "own:disjoint/1:1,2/2:1,2/3:3,4/4:3,4"),
        // Two pairs would deadlock first.
        ("maekawa-plain", "own:disjoint/1:1/2:2"),
    ] {
        let done = plan(algorithm, &[("voting-sets", sets)]);
        let done = done.run(&mut |_| {}).unwrap();
        assert_eq!(done.outcome.report.verdict, Verdict::Violated, "{algorithm}");
        assert!(done.outcome.report.locks().unwrap().exclusion.broken().is_some());
    }
}

#[test]
fn a_file_is_read_by_run_check_and_voting_sets_and_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("grid"), written(Construction::Grid, 3, "\n")).unwrap();
    for words in [
        "run maekawa --voting-sets file:grid",
        "check maekawa -n 3 --requests 1 --voting-sets file:grid",
        "voting-sets file:grid --svg own.svg",
        "voting-sets grid -n 36 --svg grid.svg --of 14",
    ] {
        let output = conclave(words, here);
        assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    }
    for file in ["own.svg", "grid.svg"] {
        let picture = std::fs::read_to_string(here.join(file)).unwrap();
        assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{file}");
    }
}

#[test]
fn what_is_no_file_of_voting_sets_is_answered_in_one_line_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("broken"), "1: 1, 2\n2: 2, 3\n3; 3, 1\n").unwrap();
    std::fs::write(here.join("binary"), [0xff, 0xfe, 0x00]).unwrap();
    std::fs::write(here.join("short"), "1: 1, 2\n2: 2, 1\n").unwrap();
    std::fs::write(here.join("apart"), "1: 1\n2: 2\n").unwrap();
    for (words, says) in [
        ("run maekawa --voting-sets file:nowhere", "cannot read nowhere"),
        (
            "run maekawa --voting-sets file:broken",
            "broken: line 3: `3; 3, 1` is not ID: ID, ID, ...",
        ),
        ("run maekawa --voting-sets file:binary", "cannot read binary"),
        ("run maekawa -n 3 --voting-sets file:short", "there are 2 voting sets for 3 members"),
        ("run maekawa --voting-sets file:apart", "have no member in common, so both could enter"),
        ("voting-sets file:apart", "a line `disjoint` among them says that this is meant"),
        ("run lamport --voting-sets file:short", "lamport uses no voting sets"),
        ("table --voting-sets file:short", "is no construction of voting sets"),
        ("voting-sets grid -n 200 --svg x.svg", "choose at most 100"),
        ("voting-sets grid -n 4 --svg x.svg --of 9", "there is no process 9"),
    ] {
        let output = conclave(words, here);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{words}: {said}");
        assert!(said.contains(says), "{words}: {said}");
    }
}
