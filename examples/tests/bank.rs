//! The bank loses money without a lock, always, and never with it.

mod common;

use std::path::Path;
use std::process::Command;

use common::{Ended, run};

/// A file system in memory, where Linux has one. Every deposit is put on the disk before the next,
/// and a kill leaves what the kernel has in memory: a disk would only take time.
const MEMORY: &str = "/dev/shm";

fn bank(options: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bank"));
    if Path::new(MEMORY).is_dir() {
        command.env("TMPDIR", MEMORY);
    }
    run(command.args(options))
}

/// The number after `words` in the summary.
fn number_after(words: &str, ended: &Ended) -> i64 {
    let rest = ended.summary().split_once(words).map(|(_, rest)| rest.trim_start());
    let number = rest.and_then(|rest| rest.split([',', ' ']).next());
    number.and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("no {words} in: {ended}"))
}

#[test]
fn without_a_lock_money_is_lost_in_10_of_10_runs() {
    for _ in 0..10 {
        let ended = bank(&["--without-lock"]);
        let (balance, lost) = (number_after("balance", &ended), number_after("lost", &ended));
        assert!(lost > 0 && balance + lost == 400, "{ended}");
        assert_eq!(ended.code, Some(1), "{ended}");
    }
}

#[test]
fn with_the_lock_the_balance_is_exact() {
    for _ in 0..5 {
        let ended = bank(&[]);
        let expected = "400 deposits made, balance 400, money lost 0, kills 0 (0 of a holder)";
        assert_eq!(ended.summary(), expected, "{ended}");
        assert_eq!(ended.code, Some(0), "{ended}");
    }
}

#[test]
fn the_balance_is_exact_even_if_holders_are_killed() {
    for _ in 0..3 {
        let ended = bank(&["--kill"]);
        let (balance, lost) = (number_after("balance", &ended), number_after("lost", &ended));
        assert_eq!((balance, lost, ended.code), (400, 0, Some(0)), "{ended}");
        let (kills, holders) = (number_after("kills", &ended), number_after("(", &ended));
        assert!(1 <= holders && holders <= kills, "{ended}");
    }
}
