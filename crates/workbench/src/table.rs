//! The table of costs: every algorithm, measured beside its formula.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use conclave_algorithms::catalogue::{Claim, Document, ELECTIONS, Entry, MUTEXES, SeatingError};
use conclave_algorithms::quorum::Construction;
use conclave_core::View;
use serde_json::{Value, json};

use crate::experiment;
use crate::figure::Figure;
use crate::need::NeedError;
use crate::plan::Plan;
use crate::setting::access::{Many, One};
use crate::setting::{NamesSettings, Settable, Setting, SettingError, Shape, members};
use crate::unit::number;

/// What a table measures: which algorithms, and for how many processes.
#[derive(Clone, Debug)]
pub struct TablePlan {
    /// The kind of algorithms.
    pub kind: &'static TableKind,
    /// For how many processes.
    pub sizes: Vec<u32>,
    /// How voting sets are made, if that was said.
    pub construction: Option<Construction>,
}

/// A kind of algorithms whose costs are measured.
#[derive(Debug)]
pub struct TableKind {
    /// What it is called.
    pub name: &'static str,
    /// All of its kind.
    pub entries: &'static [&'static Entry],
    /// What its figures are.
    pub explanation: &'static str,
}

/// What the figures of elections are.
const OFFICES: &str = "Messages and delays of the unit network: every message \
     takes one delay, one to oneself takes none and is not counted. N processes take part. Best \
     and worst: who calls is best or worst placed; for the bully, N is dead. Turnaround: from \
     the call to the last process knowing. Messages that keep an office or go to a store are \
     counted apart.";

/// What the figures of mutual exclusion are.
const LOCKS: &str = "Messages and delays of the unit network: every message takes one delay, \
     one to oneself takes none and is not counted. N processes ask for the lock; K is the mean \
     size of a voting set. Loads are messages handled per entry, at saturation; holders stay for \
     one delay.";

/// The kinds whose costs are measured.
pub static KINDS: [TableKind; 2] = [
    TableKind { name: "mutex", entries: MUTEXES, explanation: LOCKS },
    TableKind { name: "election", entries: ELECTIONS, explanation: OFFICES },
];

/// A table that makes no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TableError {
    /// Voting sets were chosen for algorithms that use none.
    #[error("no {0} uses voting sets; leave `voting-sets` out, or choose `kind` mutex")]
    NoVotingSets(&'static str),
}

impl NamesSettings for TableError {
    fn settings(&self) -> Vec<&'static str> {
        Vec::from(["voting-sets", "kind"])
    }
}

impl Default for TablePlan {
    fn default() -> Self {
        Self { kind: &KINDS[0], sizes: Vec::from([4, 9, 13, 25, 49, 100]), construction: None }
    }
}

impl TablePlan {
    /// Whether it makes sense; if not, one line says why.
    pub fn check(&self) -> Result<(), TableError> {
        let has_voters = self.kind.entries.iter().any(|entry| entry.needs.voting_sets);
        if self.construction.is_some() && !has_voters {
            return Err(TableError::NoVotingSets(self.kind.name));
        }
        Ok(())
    }

    /// How many experiments it takes.
    pub fn experiments(&self) -> u64 {
        (self.kind.entries.len() * self.sizes.len()) as u64
    }

    /// Whether its experiments fit into so many bytes; if not, one line says why.
    pub fn check_memory(&self, limit: u64) -> Result<(), NeedError> {
        let construction = self.construction.unwrap_or(Construction::Grid);
        let most = self.sizes.iter().copied().max().unwrap_or(1);
        for &entry in self.kind.entries {
            let plan = Plan::new(entry, View::dense(1, most));
            Plan { construction, ..plan }.check_memory(limit)?;
        }
        Ok(())
    }

    /// Measures all of it; `progress` is told how many experiments are done.
    pub fn measure(&self, progress: &mut dyn FnMut(u64)) -> Result<Measured, SeatingError> {
        let construction = self.construction.unwrap_or(Construction::Grid);
        measure(self.kind.entries, &self.sizes, construction, progress)
    }
}

/// Algorithms, each with all its figures.
pub type Measured = Vec<(&'static Entry, Vec<Figure>)>;

impl Settable for TablePlan {
    const SETTINGS: &'static [Setting<Self>] = SETTINGS;
}

static SETTINGS: &[Setting<TablePlan>] = &[
    Setting::new(
        "kind",
        "Of which kind: mutex or election [default: mutex]",
        Shape::One("KIND"),
        &One::<TablePlan, &str> {
            parse: |text| match KINDS.iter().find(|kind| kind.name == text) {
                Some(kind) => Ok(kind.name),
                None => Err(SettingError::Kind(text.to_owned())),
            },
            show: |name| (*name).to_owned(),
            get: |plan| Some(plan.kind.name),
            set: |plan, name| {
                plan.kind = KINDS.iter().find(|kind| kind.name == name).unwrap_or(plan.kind);
            },
            usual: |_| Some(KINDS[0].name),
        },
    ),
    Setting::new(
        "n",
        "For how many processes [default: 4,9,13,25,49,100]",
        Shape::List("N,N,..."),
        &Many::<TablePlan, u32> {
            parse: |text| members(text, 2, SIZE_MAX),
            show: ToString::to_string,
            get: |plan| plan.sizes.clone(),
            set: |plan, sizes| {
                plan.sizes = sizes;
                plan.sizes.sort_unstable();
                plan.sizes.dedup();
                Ok(())
            },
            usual: |_| TablePlan::default().sizes,
        },
    ),
    Setting::new(
        "voting-sets",
        "How voting sets are made: grid, plane, nearest-plane, tree, majority or all [default: grid]",
        Shape::One("NAME"),
        &One::<TablePlan, Construction> {
            parse: |text| Ok(text.parse()?),
            show: ToString::to_string,
            get: |plan| Some(plan.construction.unwrap_or(Construction::Grid)),
            set: |plan, construction| plan.construction = Some(construction),
            usual: |_| Some(Construction::Grid),
        },
    ),
];

/// The most processes of an experiment.
const SIZE_MAX: u32 = 1_000;

/// Measures each algorithm with each number of processes, which is an experiment; `progress` is
/// told how many are done.
pub fn measure(
    entries: &[&'static Entry],
    sizes: &[u32],
    construction: Construction,
    progress: &mut dyn FnMut(u64),
) -> Result<Measured, SeatingError> {
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
    /// The algorithm, as the catalogue has it.
    pub entry: &'static Entry,
    /// What is measured, as the table's column calls it.
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
            "exact": figure.is_exact(),
            "at_most": figure.claim == Claim::AtMost,
            "holds": figure.holds(),
            "notes": figure.notes(entry),
        })
    };
    let of_entry = |(entry, figures): &(&Entry, Vec<Figure>)| -> Vec<Value> {
        figures.iter().map(|figure| as_json(entry, figure)).collect()
    };
    measured.iter().flat_map(of_entry).collect()
}
