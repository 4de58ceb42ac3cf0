//! Of five crons one runs the job, and the others know who did.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::run;

/// The command, which `cargo test --workspace` builds besides the examples.
fn conclave() -> PathBuf {
    let examples = Path::new(env!("CARGO_BIN_EXE_bank")).parent().expect("programs have a place");
    let conclave = examples.join("conclave");
    assert!(
        conclave.exists(),
        "{} is not there: cargo build -p conclave-cli makes it",
        conclave.display()
    );
    conclave
}

fn cron() -> Command {
    let mut command = Command::new("sh");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("cron.sh"));
    command.env("CONCLAVE", conclave());
    command
}

#[test]
fn one_of_five_runs_the_job_and_the_others_exit_with_0_and_say_who_did() {
    let ended = run(&mut cron());
    assert_eq!(ended.summary(), "5 crons, 1 ran the job, 0 failed", "{ended}");
    assert_eq!(ended.code, Some(0), "{ended}");
    let ran = ended.said.iter().filter(|line| line.contains(": ran it, with fence "));
    let ran: Vec<&str> = ran.filter_map(|line| Some(line.split_once(':')?.0)).collect();
    let [runner] = ran[..] else { panic!("one ran: {ended}") };
    let told = format!("conclave: nightly: already run by {runner} (pid ");
    assert_eq!(ended.said.iter().filter(|line| line.contains(&told)).count(), 4, "{ended}");
}

#[test]
fn without_the_command_it_says_how_to_get_it() {
    let ended = run(cron().env("CONCLAVE", "no-such-command"));
    assert_eq!((ended.code, ended.said.len()), (Some(69), 0), "{ended}");
    assert!(ended.to_string().contains("cargo install --path crates/cli"), "{ended}");
}
