//! A figure that was measured, beside the one that was expected.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_algorithms::catalogue::{Claim, Entry, Measure, Size};

/// One figure of the table: what was measured, beside what was expected.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// The name of the algorithm.
    pub algorithm: &'static str,
    /// With how many processes.
    pub n: u32,
    /// What was measured, such as messages to enter.
    pub measure: Measure,
    /// What a run showed; `None` where it could not, because it deadlocked.
    pub measured: Option<f64>,
    /// The formula, if the catalogue has one.
    pub formula: Option<&'static str>,
    /// What the formula gives for that many processes.
    pub expected: Option<f64>,
    /// What the measured figure must be, beside it.
    pub claim: Claim,
}

impl Figure {
    /// `measured`, beside what the catalogue expects for that size.
    pub fn new(entry: &Entry, size: Size, measure: Measure, measured: Option<f64>) -> Self {
        let cost = entry.costs.iter().find(|cost| cost.measure == measure);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "N is whole")]
        let n = size.n as u32;
        Self {
            algorithm: entry.name,
            n,
            measure,
            measured,
            formula: cost.map(|cost| cost.formula),
            expected: cost.map(|cost| (cost.value)(size)),
            claim: cost.map_or(Claim::Quoted, |cost| cost.claim),
        }
    }

    /// This figure where nothing is claimed of it.
    #[must_use]
    pub fn without_claim(self) -> Self {
        Self { claim: Claim::Quoted, ..self }
    }

    /// Whether it must be exactly what is expected.
    pub fn is_exact(&self) -> bool {
        self.claim == Claim::Exact
    }

    /// Whether it shows what it must. Both sides are sums of few small numbers divided once, so
    /// they differ by rounding at most.
    pub fn holds(&self) -> bool {
        match (self.claim, self.measured, self.expected) {
            (Claim::Quoted, ..) => true,
            (Claim::Exact, Some(measured), Some(expected)) => (measured - expected).abs() < 1e-9,
            (Claim::AtMost, Some(measured), Some(expected)) => measured < expected + 1e-9,
            _ => false,
        }
    }

    /// What lecture notes say of this figure, and why they differ, in few words.
    pub fn notes(&self, entry: &Entry) -> String {
        let remarks = entry.remarks.iter().filter(|remark| remark.measure == self.measure);
        let notes = remarks.map(|remark| {
            let (letter, figure) = (remark.document.letter(), remark.figure);
            match remark.differs {
                None => format!("{letter}: {figure}"),
                Some(why) => format!("{letter}: {figure} ({why})"),
            }
        });
        notes.collect::<Vec<_>>().join("; ")
    }
}
