//! Pages are torn without a lock; with it they are whole, and come as they were asked for.

mod common;

use std::collections::BTreeSet;
use std::process::Command;

use common::{Ended, run};

fn printer(options: &[&str]) -> Ended {
    run(Command::new(env!("CARGO_BIN_EXE_printer")).args(options))
}

/// The clerk and the printer of every line, in the order of the lines.
fn lines(ended: &Ended) -> Vec<(&str, &str)> {
    let lines = ended.said.iter().filter_map(|line| line.strip_prefix("printer "));
    let parts = lines.filter_map(|line| line.split_once(" | clerk "));
    parts.filter_map(|(printer, rest)| Some((printer, rest.split_once(',')?.0))).collect()
}

/// Each page once, if its lines follow each other.
fn pages(ended: &Ended) -> Vec<(&str, &str)> {
    let mut pages = lines(ended);
    pages.dedup();
    pages
}

/// The order of which the office tells before anything is printed.
fn asked(ended: &Ended) -> Vec<&str> {
    let list = ended.said.first().and_then(|line| line.split_once("in the order "));
    list.unwrap_or_else(|| panic!("{ended}")).1.split(", ").collect()
}

#[test]
fn without_a_lock_pages_are_torn() {
    for _ in 0..5 {
        let ended = printer(&["--without-lock"]);
        assert_eq!(lines(&ended).len(), 15, "{ended}");
        assert!(pages(&ended).len() > 5, "{ended}");
        assert!(!ended.summary().contains(" 0 of them torn"), "{ended}");
        assert_eq!(ended.code, Some(1), "{ended}");
    }
}

#[test]
fn with_the_lock_pages_are_whole_and_in_the_order_in_which_they_were_asked_for() {
    for _ in 0..5 {
        let ended = printer(&[]);
        assert_eq!(lines(&ended).len(), 15, "{ended}");
        let printed: Vec<&str> = pages(&ended).into_iter().map(|(_, clerk)| clerk).collect();
        assert_eq!(printed, asked(&ended), "{ended}");
        let expected = "5 pages, 0 of them torn, in the order in which they were asked for";
        assert_eq!((ended.summary(), ended.code), (expected, Some(0)), "{ended}");
    }
}

#[test]
fn two_printers_are_both_used_and_all_pages_are_whole() {
    let mut used = BTreeSet::new();
    let mut runs = 0;
    // A machine may be so busy that each clerk comes to a printer after the one before left.
    while runs < 5 || (used.len() < 2 && runs < 100) {
        let ended = printer(&["--slots", "2"]);
        assert_eq!((lines(&ended).len(), pages(&ended).len()), (15, 5), "{ended}");
        let expected =
            "5 pages, 0 of them torn, the slots in the order in which they were asked for";
        assert_eq!((ended.summary(), ended.code), (expected, Some(0)), "{ended}");
        used.extend(pages(&ended).into_iter().map(|(printer, _)| printer.to_owned()));
        runs += 1;
    }
    assert!(used.iter().eq(["1", "2"]), "{used:?}");
}
