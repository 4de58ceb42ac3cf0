//! Two builds' searches, row by row of the table of all.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::{Map, Value};

/// What a search takes differs from build to build, and from one time to the next.
const COST_KEYS: [&str; 3] = ["seconds", "bytes", "threads"];

/// What tells a row from the others: what was searched.
const PLAN_KEYS: [&str; 15] = [
    "algorithm",
    "n",
    "ids",
    "requests",
    "askers",
    "settings",
    "unfair",
    "channels",
    "time",
    "faults",
    "terms",
    "timeouts",
    "exact",
    "symmetry",
    "voting_sets",
];

/// A row: one search, and what it found.
type Row = Map<String, Value>;

/// Runs all searches that take a few seconds with both builds, and fails if they differ.
pub fn compare(old: &Path, new: &Path) -> anyhow::Result<()> {
    let (old_end, old_rows) = table(old)?;
    let (new_end, new_rows) = table(new)?;
    let mut differences = differences(&old_rows, &new_rows);
    if old_end != new_end {
        differences.push(format!("the exit code is {new_end:?} and was {old_end:?}"));
    }
    differences.iter().for_each(|difference| println!("{difference}"));
    let states: u64 = old_rows.iter().filter_map(|row| row.get("distinct")?.as_u64()).sum();
    let (rows, count) = (old_rows.len(), differences.len());
    println!("{rows} searches of {states} states compared, {count} differences");
    if count > 0 {
        bail!("the searches differ");
    }
    Ok(())
}

/// The exit code and the rows of the table. A code that is not 0 is no failure here: a row may end
/// otherwise than it is known to, in both builds.
fn table(program: &Path) -> anyhow::Result<(Option<i32>, Vec<Row>)> {
    let mut command = Command::new(program);
    command.args(["check", "--all", "--quick", "--json"]);
    eprintln!("xtask: {command:?}");
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let rows = serde_json::from_slice(&output.stdout).with_context(|| {
        format!("{command:?} printed no table: {}", String::from_utf8_lossy(&output.stderr))
    })?;
    Ok((output.status.code(), rows))
}

/// A sentence for each figure that differs, and for each row that only one build has.
fn differences(old_rows: &[Row], new_rows: &[Row]) -> Vec<String> {
    let find = |rows: &[Row], name: &str| rows.iter().find(|row| name_of(row) == name).cloned();
    let mut sentences = Vec::new();
    for old in old_rows {
        let name = name_of(old);
        match find(new_rows, &name) {
            None => sentences.push(format!("{name}: only the old build has it")),
            Some(new) => sentences.extend(row_differences(&name, old, &new)),
        }
    }
    let added = new_rows.iter().map(name_of).filter(|name| find(old_rows, name).is_none());
    sentences.extend(added.map(|name| format!("{name}: only the new build has it")));
    sentences
}

/// Everything that the old row says but its cost; a newer build may say more.
fn row_differences(name: &str, old: &Row, new: &Row) -> Vec<String> {
    let compared = old.iter().filter(|(key, _)| !COST_KEYS.contains(&&***key));
    let differing = compared.filter(|(key, value)| new.get(*key) != Some(value));
    let sentence = |(key, was): (&String, &Value)| {
        let is = new.get(key).unwrap_or(&Value::Null);
        format!("{name}: `{key}` is {is} and was {was}")
    };
    differing.map(sentence).collect()
}

/// What was searched, with all that is usual left out.
fn name_of(row: &Row) -> String {
    let said = |key: &str| row.get(key).filter(|value| is_said(value));
    let words = PLAN_KEYS.iter().filter_map(|key| Some(format!("{key} {}", said(key)?)));
    words.collect::<Vec<_>>().join(", ")
}

fn is_said(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => fields.values().any(|it| is_said(it) && it != &Value::from(0)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rows(rows: &Value) -> Vec<Row> {
        serde_json::from_value(rows.clone()).unwrap()
    }

    #[test]
    fn what_a_search_takes_is_not_compared() {
        let old = rows(&json!([{ "algorithm": "bully", "n": 3, "distinct": 22, "seconds": 1.5 }]));
        let new = rows(&json!([{ "algorithm": "bully", "n": 3, "distinct": 22, "seconds": 0.5 }]));
        assert_eq!(differences(&old, &new), [""; 0]);
    }

    #[test]
    fn a_state_more_is_a_difference() {
        let old = rows(&json!([{ "algorithm": "bully", "n": 3, "terms": null, "distinct": 22 }]));
        let new = rows(&json!([{ "algorithm": "bully", "n": 3, "terms": null, "distinct": 23 }]));
        let said = "algorithm \"bully\", n 3: `distinct` is 23 and was 22";
        assert_eq!(differences(&old, &new), [said]);
    }

    #[test]
    fn rows_are_told_apart_by_what_is_searched() {
        let one = rows(&json!([{ "algorithm": "bully", "n": 3, "faults": { "crashes": 0 } }]));
        let two = rows(&json!([{ "algorithm": "bully", "n": 3, "faults": { "crashes": 1 } }]));
        assert_eq!(
            differences(&one, &two),
            [
                "algorithm \"bully\", n 3: only the old build has it",
                "algorithm \"bully\", n 3, faults {\"crashes\":1}: only the new build has it",
            ]
        );
    }
}
