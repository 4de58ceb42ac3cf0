//! The table of costs: every algorithm, measured beside its formula.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_algorithms::catalogue::{Document, Entry, SeatingError};
use conclave_algorithms::quorum::Construction;
use serde_json::{Value, json};

use crate::experiment;
use crate::figure::Figure;
use crate::unit::number;

/// Measures each algorithm with each number of processes, which is an experiment; `progress` is
/// told how many are done.
pub fn measure(
    entries: &[&'static Entry],
    sizes: &[u32],
    construction: Construction,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<(&'static Entry, Vec<Figure>)>, SeatingError> {
    let mut done = 0;
    let mut measured = Vec::new();
    for &entry in entries {
        let mut figures = Vec::new();
        for &n in sizes {
            figures.extend(experiment::measure(entry, n, construction)?);
            done += 1;
            progress(done);
        }
        measured.push((entry, figures));
    }
    Ok(measured)
}

/// One measure of one algorithm, for all sizes.
pub struct Row {
    /// Of which algorithm.
    pub entry: &'static Entry,
    /// What is measured.
    pub measure: &'static str,
    /// The formula beside it, if there is one.
    pub formula: String,
    /// What was measured, by size; with a mark where it is not what it must be.
    pub figures: Vec<String>,
    /// What lecture notes say.
    pub notes: String,
}

/// The rows of one algorithm.
pub fn rows(entry: &'static Entry, figures: &[Figure]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for figure in figures {
        let measure = figure.measure.name();
        let at = rows.iter().position(|row| row.measure == measure).unwrap_or_else(|| {
            rows.push(Row {
                entry,
                measure,
                formula: figure.formula.unwrap_or_default().to_owned(),
                figures: Vec::new(),
                notes: figure.notes(entry),
            });
            rows.len() - 1
        });
        let nothing = if entry.serves_everybody() { "none" } else { "deadlock" };
        let mark = if figure.holds() { "" } else { " !" };
        let shown = figure.measured.map_or(nothing.into(), number);
        rows[at].figures.push(format!("{shown}{mark}"));
    }
    rows
}

/// The heads of the columns, but for the algorithm's.
pub fn heads(sizes: &[u32]) -> Vec<String> {
    let names = ["measure", "formula"].map(String::from).into_iter();
    let sizes = sizes.iter().map(|n| format!("N={n}"));
    names.chain(sizes).chain(["the notes say".into()]).collect()
}

/// What is in those columns.
pub fn fields(row: &Row) -> Vec<String> {
    let names = [row.measure.to_owned(), row.formula.clone()];
    names.into_iter().chain(row.figures.iter().cloned()).chain([row.notes.clone()]).collect()
}

/// Who the letters of [`Row::notes`] are.
pub fn legend() -> String {
    let documents = Document::ALL.map(|it| format!("{} = {}", it.letter(), it.title()));
    format!(
        "\"The notes say\" what four sets of lecture notes give, with why where it differs: {}.",
        documents.join("; ")
    )
}

/// What the figures of elections are.
pub const EXPLANATION_OF_ELECTIONS: &str = "Messages and delays of the unit network: every message \
     takes one delay, one to oneself takes none and is not counted. N processes take part. Best \
     and worst: who calls is best or worst placed; for the bully, N is dead. Turnaround: from \
     the call to the last process knowing. Messages that keep an office or go to a store are \
     counted apart.";

/// What the figures of mutual exclusion are.
pub const EXPLANATION: &str = "Messages and delays of the unit network: every message takes one delay, \
     one to oneself takes none and is not counted. N processes ask for the lock; K is the mean \
     size of a voting set. Loads are messages handled per entry, at saturation; holders stay for \
     one delay.";

/// All figures for programs.
pub fn as_json(measured: &[(&Entry, Vec<Figure>)]) -> Value {
    let as_json = |entry: &Entry, figure: &Figure| {
        json!({
            "algorithm": figure.algorithm,
            "n": figure.n,
            "measure": figure.measure.name(),
            "measured": figure.measured,
            "formula": figure.formula,
            "expected": figure.expected,
            "exact": figure.exact,
            "holds": figure.holds(),
            "notes": figure.notes(entry),
        })
    };
    let of_entry = |(entry, figures): &(&Entry, Vec<Figure>)| -> Vec<Value> {
        figures.iter().map(|figure| as_json(entry, figure)).collect()
    };
    measured.iter().flat_map(of_entry).collect()
}
