//! The scenario of a run: out of a file, or one of those that come with the program.

use std::path::Path;

use anyhow::{Context, anyhow};
use conclave_workbench::bundled;
use conclave_workbench::draft::DraftError;
use conclave_workbench::scenario::Scenario;

use crate::lab::spelling::refused;
use crate::output;

/// A scenario, and where it is from.
pub struct Played {
    /// What errors name before the line.
    place: String,
    pub scenario: Scenario,
}

impl Played {
    /// The scenario in that file; or of that name, if there is no such file and the name looks like
    /// none of a file.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let place = path.display().to_string();
        let is_name = !path.exists() && !place.contains(['/', '\\', '.']);
        let text = match is_name {
            true => bundled::find(&place)?.text.to_owned(),
            false => output::read_file(path)?,
        };
        let scenario = text.parse().with_context(|| place.clone())?;
        Ok(Self { place, scenario })
    }

    /// The algorithm that it names.
    pub fn algorithm(&self) -> anyhow::Result<&'static str> {
        self.scenario.algorithm.ok_or_else(|| {
            anyhow!(
                "{}: no algorithm is named; give one, or add a line like: algorithm lamport",
                self.place
            )
        })
    }

    /// What is refused of it, with its place if one of its lines is to blame.
    pub fn refused(&self, error: DraftError) -> anyhow::Error {
        match error {
            error @ DraftError::Line { .. } => refused(error).context(self.place.clone()),
            error => refused(error),
        }
    }
}
