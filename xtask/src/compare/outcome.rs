//! What comes of a plan in one build, and whether another build does the same.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use anyhow::Context;
use serde_json::{Map, Value};

use super::plan::{Plan, SCENARIO};
use super::{Difference, trace};

/// The exit code of a plan that makes no sense.
const REFUSED: &str = "exit code 2";

/// The name of the trace's file in the folder of a worker.
const TRACE: &str = "trace.jsonl";

/// What comes of a plan.
pub struct Outcome {
    /// The exit code, the signal that ended it, or that it had to be ended.
    end: String,
    errors: String,
    /// What it prints for programs; empty if that is not JSON.
    report: Map<String, Value>,
    /// Every event, if it came to that.
    trace: Option<String>,
}

impl Outcome {
    /// Carries the plan out with this build, in a folder that nobody else uses meanwhile.
    pub fn of(program: &Path, plan: &Plan, folder: &Path) -> anyhow::Result<Self> {
        let [printed, errors, trace] = ["stdout", "stderr", TRACE].map(|name| folder.join(name));
        // The last plan's trace must not be taken for this one's.
        let _ = std::fs::remove_file(&trace);
        if let Some(scenario) = &plan.scenario {
            std::fs::write(folder.join(SCENARIO), scenario)?;
        }
        let mut command = Command::new(program);
        command.args(&plan.words).args(output_words()).current_dir(folder);
        // To files, as a pipe that nobody empties would stop it.
        command.stdout(File::create(&printed)?).stderr(File::create(&errors)?);
        let mut child =
            command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let end = end_of(&mut child)?;
        let report = serde_json::from_str(&std::fs::read_to_string(printed)?).unwrap_or_default();
        let errors = std::fs::read_to_string(errors)?;
        Ok(Self { end, errors, report, trace: std::fs::read_to_string(trace).ok() })
    }

    /// Whether the plan made no sense.
    pub fn is_refused(&self) -> bool {
        self.end == REFUSED
    }

    /// The verdict, or how it ended without one.
    pub fn verdict(&self) -> &str {
        self.report.get("verdict").and_then(Value::as_str).unwrap_or(&self.end)
    }

    /// The kinds of faults that fired, e.g. `crash`, one for each fault.
    pub fn fired(&self) -> impl Iterator<Item = &str> {
        let faults =
            self.report.get("faults_fired").and_then(Value::as_array).into_iter().flatten();
        let fired = faults.filter(|fault| fault["fired"].as_u64() > Some(0));
        fired.filter_map(|fault| fault["fault"].as_str()?.split(' ').next())
    }
}

/// The words by which a plan is told to say everything.
pub fn output_words() -> [&'static str; 3] {
    ["--json", "--trace", TRACE]
}

/// Waits for the end. The limits of a plan end every run within a second, unless it hangs.
fn end_of(child: &mut Child) -> anyhow::Result<String> {
    const PAUSE: Duration = Duration::from_micros(300);
    const PAUSES_MAX: u32 = 200_000;
    for _ in 0..PAUSES_MAX {
        if let Some(status) = child.try_wait()? {
            return Ok(status_words(status));
        }
        std::thread::sleep(PAUSE);
    }
    child.kill()?;
    child.wait()?;
    Ok("hung, and was killed".to_owned())
}

fn status_words(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("exit code {code}"))
}

/// What came of comparing two outcomes of one plan.
pub struct Compared {
    /// How many events were equal.
    pub events: u64,
    /// What was not equal: the first in the order of exit, errors, events, report.
    pub difference: Option<Difference>,
    /// Keys that were left out of the comparison, as only newer builds know them.
    pub unknown_keys: BTreeSet<String>,
}

/// Compares all that can be seen of two runs.
pub fn compare(old: &Outcome, new: &Outcome) -> Compared {
    let trace = |outcome: &Outcome| outcome.trace.clone().unwrap_or_default();
    let traces = trace::compare(&trace(old), &trace(new));
    let mut unknown_keys = traces.unknown_keys;
    let is_added = |key: &&String| !old.report.contains_key(*key);
    unknown_keys.extend(new.report.keys().filter(is_added).cloned());
    let difference = difference("the end", &old.end, &new.end)
        .or_else(|| difference("what is said on standard error", &old.errors, &new.errors))
        .or(traces.difference)
        .or_else(|| report_difference(&old.report, &new.report));
    Compared { events: traces.events, difference, unknown_keys }
}

fn difference(what: &str, old: &str, new: &str) -> Option<Difference> {
    let is_equal = old == new;
    (!is_equal).then(|| Difference { what: what.into(), old: old.into(), new: new.into() })
}

/// What a report says of how messages are numbered, which is not compared.
const HASH_KEYS: [&str; 2] = ["trace_hash", "fingerprint"];

/// The first figure of the old report that the new one has otherwise, or not at all.
fn report_difference(old: &Map<String, Value>, new: &Map<String, Value>) -> Option<Difference> {
    let compared = old.iter().filter(|(key, _)| !HASH_KEYS.contains(&&***key));
    compared.into_iter().find_map(|(key, value)| {
        let shown = |value: Option<&Value>| value.map_or("(nothing)".into(), Value::to_string);
        difference(&format!("`{key}` of the report"), &shown(Some(value)), &shown(new.get(key)))
    })
}

/// A folder of one worker, gone when the work is done.
pub struct Folder(pub PathBuf);

impl Folder {
    /// A new one below the folder of the build.
    pub fn new(target: &Path, worker: usize) -> anyhow::Result<Self> {
        let path = target.join(format!("compare-{}-{worker}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("{}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(report: &Value) -> Outcome {
        let report = report.as_object().cloned().unwrap_or_default();
        Outcome { end: "exit code 0".into(), errors: String::new(), report, trace: None }
    }

    fn what_differs(old: &Outcome, new: &Outcome) -> Option<String> {
        compare(old, new).difference.map(|it| it.what)
    }

    #[test]
    fn reports_are_compared_but_for_the_hash_and_what_is_new() {
        let old = outcome(&json!({ "verdict": "ok", "end": 3.5, "trace_hash": "a" }));
        let new = outcome(&json!({ "verdict": "ok", "end": 3.5, "trace_hash": "b", "size": 1 }));
        assert_eq!(what_differs(&old, &new), None);
        assert_eq!(compare(&old, &new).unknown_keys, BTreeSet::from(["size".to_owned()]));
        let later = outcome(&json!({ "verdict": "ok", "end": 4.5, "trace_hash": "a" }));
        assert_eq!(what_differs(&old, &later), Some("`end` of the report".into()));
        let shorter = outcome(&json!({ "verdict": "ok", "trace_hash": "a" }));
        assert_eq!(what_differs(&old, &shorter), Some("`end` of the report".into()));
    }

    #[test]
    fn another_exit_code_and_another_refusal_differ() {
        let old = outcome(&json!({}));
        let ended = Outcome { end: REFUSED.into(), ..outcome(&json!({})) };
        assert_eq!(what_differs(&old, &ended), Some("the end".into()));
        let refused = Outcome { errors: "no".into(), ..outcome(&json!({})) };
        assert_eq!(what_differs(&old, &refused), Some("what is said on standard error".into()));
    }

    #[test]
    fn only_faults_that_fired_count() {
        let faults = json!([
            { "fault": "crash 2@40ms", "fired": 1 },
            { "fault": "loss 0.1", "fired": 0 },
        ]);
        let outcome = outcome(&json!({ "faults_fired": faults }));
        assert_eq!(outcome.fired().collect::<Vec<_>>(), ["crash"]);
    }
}
