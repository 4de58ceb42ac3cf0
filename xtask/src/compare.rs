//! Whether two builds of `conclave` do the same: the judge of a rewrite that must change nothing
//! that can be seen.
//!
//! Both are given the same random plans, and all that they show is compared: exit code, messages,
//! every event of the trace, every figure of the report. `dice.rs` and `plan.rs` make the plans,
//! `outcome.rs` carries one out and compares what came of it, `trace.rs` compares the events,
//! `tally.rs` counts, `searches.rs` compares the model checker's tables.

mod dice;
mod outcome;
mod plan;
mod searches;
mod tally;
mod trace;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::{Context, bail};
use serde_json::Value;

use self::outcome::{Folder, Outcome};
use self::plan::{Algorithm, Plan, SCENARIO};
use self::tally::Tally;

/// How many plans are carried out at a time.
const WORKERS: usize = 2;

/// How many differences of one algorithm are printed: one bug as a rule shows in many plans.
const PRINTED_MAX: usize = 5;

/// What two builds do differently.
pub struct Difference {
    /// Where it is seen.
    what: String,
    /// What the old build has there.
    old: String,
    /// What the new build has there.
    new: String,
}

/// Two builds of `conclave`, and where they may write.
struct Builds {
    old: PathBuf,
    new: PathBuf,
    target: PathBuf,
}

/// Runs random plans of every algorithm with both builds, as many of each as `seeds` says, and
/// fails if they differ in anything.
pub fn runs(root: &Path, old: &str, new: &str, seeds: &str) -> anyhow::Result<()> {
    let seeds: u64 = seeds.parse().context("compare takes a number of seeds")?;
    let builds = Builds { old: find(old)?, new: find(new)?, target: root.join("target") };
    let mut tallies = Vec::new();
    let mut total = Tally::default();
    for algorithm in algorithms(&builds.old)? {
        let tally = builds.compare(&algorithm, seeds)?;
        println!("{}: {}", algorithm.name, tally.progress());
        total.add(&tally);
        tallies.push((algorithm.name, tally));
    }
    tally::print(&tallies, &total);
    if total.differences > 0 {
        bail!("{} of {} plans differ", total.differences, total.plans);
    }
    Ok(())
}

/// Runs the model checker's quick searches with both builds, and fails if they find anything else.
pub fn searches(old: &str, new: &str) -> anyhow::Result<()> {
    searches::compare(&find(old)?, &find(new)?)
}

/// The program's full path, as workers have folders of their own.
fn find(program: &str) -> anyhow::Result<PathBuf> {
    std::fs::canonicalize(program).with_context(|| format!("there is no program {program}"))
}

/// The algorithms that this build knows.
fn algorithms(program: &Path) -> anyhow::Result<Vec<Algorithm>> {
    let listed = Command::new(program).args(["algorithms", "--json"]).output();
    let listed = listed.with_context(|| format!("cannot start {}", program.display()))?;
    let entries: Vec<Value> = serde_json::from_slice(&listed.stdout)
        .with_context(|| format!("{} lists no algorithms", program.display()))?;
    entries.iter().map(Algorithm::of).collect()
}

impl Builds {
    /// Compares all plans of one algorithm, and prints the first that differ.
    fn compare(&self, algorithm: &Algorithm, seeds: u64) -> anyhow::Result<Tally> {
        let next = AtomicU64::new(1);
        let work = |worker| self.work(worker, algorithm, || take(&next, seeds));
        let done: Vec<anyhow::Result<_>> = std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..WORKERS).map(|worker| scope.spawn(move || work(worker))).collect();
            workers.into_iter().map(|it| it.join().expect("a worker panicked")).collect()
        });
        let mut tally = Tally::default();
        let mut differing = Vec::new();
        for worker in done {
            let (counted, mut found) = worker?;
            tally.add(&counted);
            differing.append(&mut found);
        }
        // Which worker was first is chance, and what is printed should not be.
        differing.sort_by_key(|&(seed, _)| seed);
        for (seed, difference) in differing.iter().take(PRINTED_MAX) {
            self.print(&algorithm.plan(*seed), difference);
        }
        Ok(tally)
    }

    /// Compares the plans of those seeds that it is given, until there are none left. Returns the
    /// figures, and what differs by seed.
    fn work(
        &self,
        worker: usize,
        algorithm: &Algorithm,
        mut next_seed: impl FnMut() -> Option<u64>,
    ) -> anyhow::Result<(Tally, Vec<(u64, Difference)>)> {
        let folder = Folder::new(&self.target, worker)?;
        let mut tally = Tally::default();
        let mut differing = Vec::new();
        while let Some(seed) = next_seed() {
            let plan = algorithm.plan(seed);
            let old = Outcome::of(&self.old, &plan, &folder.0)?;
            let new = Outcome::of(&self.new, &plan, &folder.0)?;
            let compared = outcome::compare(&old, &new);
            tally.count(&plan, &old, &compared);
            differing.extend(compared.difference.map(|difference| (seed, difference)));
        }
        Ok((tally, differing))
    }

    /// Prints what differs, below the commands that repeat it.
    fn print(&self, plan: &Plan, difference: &Difference) {
        println!("DIFFERENT: {}", difference.what);
        for (program, has) in [(&self.old, &difference.old), (&self.new, &difference.new)] {
            let words = plan.words.iter().map(String::as_str).chain(outcome::output_words());
            let words: Vec<String> = words.map(quoted).collect();
            println!("  {} {}\n    {}", program.display(), words.join(" "), has.trim_end());
        }
        if let Some(scenario) = &plan.scenario {
            println!("  {SCENARIO}\n    {}", scenario.trim_end().replace('\n', "\n    "));
        }
    }
}

/// The next seed, if there is one left.
fn take(next: &AtomicU64, last: u64) -> Option<u64> {
    let seed = next.fetch_add(1, Relaxed);
    (seed <= last).then_some(seed)
}

/// The word as a shell takes it.
fn quoted(word: &str) -> String {
    if word.contains('>') { format!("'{word}'") } else { word.to_owned() }
}
