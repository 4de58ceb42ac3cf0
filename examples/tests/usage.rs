//! Wrong input is refused in one line, with 64, before anything is done.

mod common;

use std::process::Command;

use common::run;

const BANK: &str = env!("CARGO_BIN_EXE_bank");
const PRINTER: &str = env!("CARGO_BIN_EXE_printer");
const PARTS: &str = env!("CARGO_BIN_EXE_parts");

#[test]
fn wrong_input_is_refused_in_one_line() {
    for (program, words, line) in [
        (BANK, &["--fast"][..], "bank: \"--fast\" is not known, or given twice"),
        (BANK, &["--kill", "--without-lock"], "bank: --without-lock and --kill do not go together"),
        (BANK, &["--dir"], "bank: --dir needs a value"),
        (BANK, &["machine"], "bank: a machine is started by the bank"),
        (PRINTER, &["--slots", "0"], "printer: --slots is a number from 1 to 5"),
        (PRINTER, &["--slots", "two"], "printer: --slots is a number from 1 to 5"),
        (PRINTER, &["clerk", "1"], "printer: a clerk is started by the office"),
        (PARTS, &["12"], "parts: \"12\" is not known, or given twice"),
        (PARTS, &["--dir", env!("CARGO_MANIFEST_DIR")], "it is not empty"),
    ] {
        let ended = run(Command::new(program).args(words));
        assert_eq!((ended.code, ended.said.len()), (Some(64), 0), "{words:?}: {ended}");
        let errors = ended.to_string();
        let errors: Vec<&str> = errors.lines().skip(2).collect();
        let [error] = errors[..] else { panic!("{words:?}: one line, not {errors:?}") };
        assert!(error.contains(line) && error.ends_with("--help says more"), "{error}");
    }
}

#[test]
fn help_says_how_it_is_used() {
    for program in [BANK, PRINTER, PARTS] {
        let ended = run(Command::new(program).arg("--help"));
        assert_eq!(ended.code, Some(0), "{ended}");
        assert!(ended.said.iter().any(|line| line.starts_with("usage: ")), "{ended}");
    }
}

#[test]
fn a_directory_that_was_given_keeps_what_was_written() {
    let directory = tempfile::tempdir().expect("there is room");
    let stage = directory.path().join("new");
    let ended = run(Command::new(PARTS).arg("--dir").arg(&stage));
    assert!(ended.summary().starts_with("12 parts, 12 complete"), "{ended}");
    let result = std::fs::read_to_string(stage.join("part-12.done")).expect("it is kept");
    assert!(result.ends_with("step 20 of 20\n"), "{result}");
}
