//! The one task runner: `cargo xtask verify` is the whole gate and never writes, `cargo xtask fix`
//! is the one that does.

mod compare;
mod layers;
mod servers;
mod tidy;
mod wasm;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};

const USAGE: &str = "usage: cargo xtask TASK

  verify         everything that must pass: format, lints, layers, tidiness, tests, docs, short fuzz
  tidy           what verify looks at first, in seconds: layers, tidiness, lock files,
                 format
  fix            format, and rewrite what follows from the code: transcripts, numbers of states,
                 hashes of known seeds, tables and pictures of pages
  servers        get the servers that some tests need, below target/servers
  seeds [COUNT]  random runs of every algorithm, COUNT of each (10000), printing the total
  fuzz [SECONDS] fuzz every parser for so long (30)
  bench          the benchmarks
  deny           licences, sources and advisories of all dependencies, as deny.toml says; needs
                 cargo-deny, and a network for the advisories
  compare OLD NEW [SEEDS]     whether two builds of conclave run the same random plans alike, SEEDS
                              of each algorithm (1000)
  compare --searches OLD NEW  whether their quick searches find the same
  wasm           build the pure crates as WebAssembly, run them in node, compare with native
  wasm toolchain get what that takes from Debian's packages, below target/wasm-toolchain";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["verify"] => verify(),
        ["tidy"] => tidy(),
        ["fix"] => fix(),
        ["servers"] => servers::get(&root()),
        ["seeds"] => seeds("10000"),
        ["seeds", count] => seeds(count),
        ["fuzz"] => fuzz("30"),
        ["fuzz", seconds] => fuzz(seconds),
        ["bench"] => bench(),
        ["deny"] => deny(),
        ["compare", "--searches", old, new] => compare::searches(old, new),
        ["compare", old, new] => compare::runs(&root(), old, new, "1000"),
        ["compare", old, new, seeds] => compare::runs(&root(), old, new, seeds),
        ["wasm"] => wasm::check(&root()),
        ["wasm", "toolchain"] => wasm::get_toolchain(&root()),
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
    if std::env::var("CI").is_ok_and(|value| value == "true") {
        step("servers", || servers::get(&root()))?;
    }
    for program in servers::missing(&root()) {
        eprintln!("xtask: {program} is missing; the tests that need it leave themselves out");
    }
    tidy()?;
    let left_out = LeftOut::new()?;
    std::thread::scope(|scope| {
        let ahead = scope.spawn(build_ahead);
        lint()?;
        step("test builds", || cargo(&[TEST, &["--no-run"]].concat()))?;
        step("tests", || run(cargo_command().args(TEST).env(LEFT_OUT, &left_out.0)))?;
        step("documentation", doc)?;
        step("other builds", || ahead.join().expect("building does not panic"))
    })?;
    step("release tests", || cargo(RELEASE_TEST))?;
    step("fuzzing", || fuzz("30"))?;
    left_out.report();
    Ok(())
}

fn tidy() -> anyhow::Result<()> {
    step("layers", || layers::check(&root()))?;
    step("tidiness", || tidy::check(&root()))?;
    step("lock files", lock_files)?;
    step("format", || cargo(&["fmt", "--all", "--check"]))
}

/// Both must be up to date, or a build fails that comes late.
fn lock_files() -> anyhow::Result<()> {
    for workspace in [root(), root().join("fuzz")] {
        let mut command = cargo_command();
        command.args(["tree", "--workspace", "--locked"]).current_dir(workspace);
        run(command.stdout(std::process::Stdio::null()))?;
    }
    Ok(())
}

const TEST: &[&str] = &["test", "--workspace", "--locked"];

/// A compiler once got a set wrong in release builds alone, and only there.
const RELEASE_TEST: &[&str] = &[
    "test",
    "--release",
    "--locked",
    "--package",
    "conclave-core",
    "--package",
    "conclave-algorithms",
    "--lib",
];

fn lint() -> anyhow::Result<()> {
    let all = ["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"];
    step("lints", || cargo(&all))?;
    // With all crates together the checker always has its threads.
    let alone = ["clippy", "--package", "conclave-check", "--no-default-features", "--locked"];
    step("lints without threads", || {
        cargo(&[&alone[..], &["--lib", "--", "--deny", "warnings"]].concat())
    })
}

/// Builds what the last steps run, while many a test waits for a clock or a server and leaves a
/// core idle. With the lowest priority, so that no test is starved of time.
fn build_ahead() -> anyhow::Result<()> {
    let politely = |command: &Command| {
        let mut polite = Command::new("nice");
        polite.args(["-n", "19"]).arg(command.get_program()).args(command.get_args());
        polite.current_dir(command.get_current_dir().unwrap_or(&root()));
        polite.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = polite.output().with_context(|| format!("cannot start {polite:?}"))?;
        if !output.status.success() {
            bail!("failed: {polite:?}\n{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    };
    let mut fuzzers = fuzz_command("build");
    fuzzers.arg("--bins");
    politely(&fuzzers)?;
    let mut tests = cargo_command();
    tests.args(RELEASE_TEST).arg("--no-run");
    politely(&tests)
}

/// Does one step of the gate, and says how long it took.
fn step(name: &str, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    #[expect(clippy::disallowed_types, reason = "people wait for it in real time")]
    let begin = std::time::Instant::now();
    let done = work();
    let verdict = if done.is_ok() { "passed" } else { "failed" };
    eprintln!("xtask: {name} {verdict} after {:.1} s", begin.elapsed().as_secs_f64());
    done
}

/// Names the file in which tests note that they were left out; the tests' toolkit knows it too.
const LEFT_OUT: &str = "CONCLAVE_LEFT_OUT";

/// The file itself, gone when it is read. A line is a test and what it lacks, with a colon and a
/// space between them.
struct LeftOut(PathBuf);

impl LeftOut {
    fn new() -> anyhow::Result<Self> {
        let folder = root().join("target");
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder.join(format!("left-out-{}", std::process::id()))))
    }

    /// The last line of the gate: what it did not show, and why.
    fn report(&self) {
        let Ok(lines) = std::fs::read_to_string(&self.0) else { return };
        let mut tests_by_lack: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (test, lack) in lines.lines().filter_map(|line| line.rsplit_once(": ")) {
            tests_by_lack.entry(lack).or_default().insert(test);
        }
        let sentence = |(lack, tests): (&&str, &BTreeSet<&str>)| {
            let names: Vec<&str> = tests.iter().copied().collect();
            format!("for lack of {lack}: {}", names.join(", "))
        };
        let sentences: Vec<String> = tests_by_lack.iter().map(sentence).collect();
        eprintln!("xtask: left out, {}", sentences.join("; "));
    }
}

impl Drop for LeftOut {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The benchmarks have no test harness, and the unit tests are not theirs.
fn bench() -> anyhow::Result<()> {
    for package in ["conclave-sim", "conclave-check", "conclave-cli"] {
        cargo(&["bench", "--package", package, "--benches"])?;
    }
    cargo(&["bench", "--package", "conclave-client", "--benches", "--features", "etcd"])
}

fn fix() -> anyhow::Result<()> {
    cargo(&["fmt", "--all"])?;
    for (package, test, names) in WRITTEN_BY_TESTS {
        let test = ["test", "--package", package, "--test", test, "--"];
        run(cargo_command().args(test).args(*names).env("CONCLAVE_UPDATE", "1"))?;
    }
    Ok(())
}

/// Tests that compare files with what they find, and rewrite them if they are told to: package,
/// test, and the names of those that do.
const WRITTEN_BY_TESTS: &[(&str, &str, &[&str])] = &[
    // Numbers of states.
    ("conclave-algorithms", "three_worlds", &["searched"]),
    // Hashes of known seeds; which costs must hold; the table of searches; the index of algorithms.
    ("conclave-cli", "seeds", &["a_known_seed"]),
    ("conclave-cli", "election_seeds", &["a_known_seed"]),
    ("conclave-cli", "lessons", &["a_known_seed"]),
    ("conclave-cli", "table", &["what_costs_must_be"]),
    ("conclave-cli", "check", &["the_table_of_what_was_searched"]),
    ("conclave-cli", "shelf", &["the_index"]),
    // What commands print; pictures of pages.
    ("conclave-cli", "transcripts", &["every_transcript"]),
    ("conclave-cli", "pages", &["what_pages_print"]),
];

fn doc() -> anyhow::Result<()> {
    let args = ["doc", "--workspace", "--no-deps", "--locked"];
    run(cargo_command().args(args).env("RUSTDOCFLAGS", "--deny warnings"))
}

fn seeds(count: &str) -> anyhow::Result<()> {
    let args = ["test", "--release", "--package", "conclave-cli"];
    let tests = ["--test", "seeds", "--test", "election_seeds", "--", "--nocapture"];
    run(cargo_command().args(args).args(tests).env("CONCLAVE_SEEDS", count))
}

/// Holds what both lock files have to `deny.toml`.
fn deny() -> anyhow::Result<()> {
    let is_there = cargo_command().args(["deny", "--version"]).output()?.status.success();
    if !is_there {
        bail!("cargo-deny is missing; get it by: cargo install --locked cargo-deny");
    }
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let config = root().join("deny.toml");
        let mut command = cargo_command();
        command.args(["deny", "--locked", "--manifest-path", manifest, "--config"]).arg(config);
        run(command.args(["check", "licenses", "bans", "sources", "advisories"]))?;
    }
    Ok(())
}

/// Splits the time between the parsers.
fn fuzz(seconds: &str) -> anyhow::Result<()> {
    let seconds: u32 = seconds.parse().context("fuzz takes a number of seconds")?;
    let share = seconds.div_ceil(3);
    for (target, longest) in FUZZ_TARGETS {
        // New inputs go to a directory of their own: verifying never writes into the corpus.
        let found = root().join("target/fuzz").join(target);
        std::fs::create_dir_all(&found)?;
        let mut command = fuzz_command("run");
        command.args(["--bin", target, "--"]);
        command.arg(&found).arg(root().join("fuzz/corpus").join(target));
        command.arg(format!("-max_total_time={share}")).arg(format!("-max_len={longest}"));
        command.arg(format!("-artifact_prefix={}/", found.display()));
        command.arg(format!("-dict=dictionaries/{target}.dict"));
        command.args(["-print_final_stats=1", "-verbosity=0", "-timeout=10"]);
        run(&mut command)?;
    }
    Ok(())
}

/// The fuzzers are a workspace of their own, because their compiler flags are.
fn fuzz_command(task: &str) -> Command {
    let mut command = cargo_command();
    command.current_dir(root().join("fuzz")).args([task, "--release", "--quiet", "--locked"]);
    command.env("CARGO_TARGET_DIR", root().join("target/fuzz-build"));
    command
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
