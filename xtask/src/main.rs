//! The one task runner: `cargo xtask verify` is the whole gate and never writes, `cargo xtask fix`
//! is the one that does.

mod layers;
mod servers;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};

const USAGE: &str = "usage: cargo xtask TASK

  verify         everything that must pass: format, lints, layers, tidiness, tests, docs, short fuzz
  fix            format, rewrite the transcripts
  servers        get the servers that some tests need, below target/servers
  seeds [COUNT]  random runs of every algorithm, COUNT of each (10000), printing the total
  fuzz [SECONDS] fuzz every parser for so long (30)
  bench          the benchmarks";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["verify"] => verify(),
        ["fix"] => fix(),
        ["servers"] => servers::get(&root()),
        ["seeds"] => seeds("10000"),
        ["seeds", count] => seeds(count),
        ["fuzz"] => fuzz("30"),
        ["fuzz", seconds] => fuzz(seconds),
        ["bench"] => bench(),
        _ => Err(anyhow::anyhow!("{USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn verify() -> anyhow::Result<()> {
    layers::check(&root())?;
    tidy::check(&root())?;
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"])?;
    cargo(&["test", "--workspace", "--locked"])?;
    // A compiler once got a set wrong in release builds alone, and only there.
    let pure = ["--package", "conclave-core", "--package", "conclave-algorithms", "--lib"];
    cargo(&[&["test", "--release", "--locked"], &pure[..]].concat())?;
    doc()?;
    fuzz("30")
}

/// The benchmarks have no test harness, and the unit tests are not theirs.
fn bench() -> anyhow::Result<()> {
    for package in ["conclave-sim", "conclave-check", "conclave-client", "conclave-cli"] {
        cargo(&["bench", "--package", package, "--benches"])?;
    }
    Ok(())
}

fn fix() -> anyhow::Result<()> {
    cargo(&["fmt", "--all"])?;
    let rewrite = ["test", "--package", "conclave-cli", "--test", "transcripts"];
    run(cargo_command().args(rewrite).env("CONCLAVE_UPDATE", "1"))
}

fn doc() -> anyhow::Result<()> {
    let args = ["doc", "--workspace", "--no-deps", "--locked"];
    run(cargo_command().args(args).env("RUSTDOCFLAGS", "--deny warnings"))
}

fn seeds(count: &str) -> anyhow::Result<()> {
    let args = ["test", "--release", "--package", "conclave-cli"];
    let tests = ["--test", "seeds", "--test", "election_seeds", "--", "--nocapture"];
    run(cargo_command().args(args).args(tests).env("CONCLAVE_SEEDS", count))
}

/// Splits the time between the parsers. The fuzzers are a workspace of their own, because their
/// compiler flags are.
fn fuzz(seconds: &str) -> anyhow::Result<()> {
    let directory = root().join("fuzz");
    let seconds: u32 = seconds.parse().context("fuzz takes a number of seconds")?;
    let share = seconds.div_ceil(3);
    for (target, longest) in FUZZ_TARGETS {
        // New inputs go to a directory of their own: verifying never writes into the corpus.
        let found = root().join("target/fuzz").join(target);
        std::fs::create_dir_all(&found)?;
        let mut command = cargo_command();
        command.current_dir(&directory).args(["run", "--release", "--quiet", "--locked", "--bin"]);
        command.arg(target).arg("--").arg(&found).arg(directory.join("corpus").join(target));
        command.arg(format!("-max_total_time={share}")).arg(format!("-max_len={longest}"));
        command.arg(format!("-artifact_prefix={}/", found.display()));
        command.arg(format!("-dict=dictionaries/{target}.dict"));
        command.args(["-print_final_stats=1", "-verbosity=0", "-timeout=10"]);
        command.env("CARGO_TARGET_DIR", root().join("target/fuzz-build"));
        run(&mut command)?;
    }
    Ok(())
}

/// Three, who share the time, and the longest input that each is given.
const FUZZ_TARGETS: [(&str, u32); 3] = [("options", 128), ("scenario", 600), ("trace", 4_000)];

fn cargo(args: &[&str]) -> anyhow::Result<()> {
    run(cargo_command().args(args))
}

fn cargo_command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    eprintln!("xtask: {command:?}");
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("failed: {command:?}");
    }
    Ok(())
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the workspace").to_owned()
}
