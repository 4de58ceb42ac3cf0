//! The scenarios that come with the program: golden runs, broken bullies, the stories of the pages,
//! and what a scripted adversary can do. Each is a file of `scenarios/`.

use alloc::format;
use alloc::string::String;

use conclave_algorithms::catalogue::nearest;

use crate::scenario::{ParseScenarioError, Scenario};

/// A scenario that comes with the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bundled {
    /// What it is called: `golden-bully`.
    pub name: &'static str,
    /// Its text. The first line says in a comment what is to be seen.
    pub text: &'static str,
}

/// All of them, by name.
pub const SCENARIOS: &[Bundled] = include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

/// There is no scenario of that name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "there is no scenario `{}`; {}`conclave scenarios` lists all of them",
    .name.escape_debug(), .nearest.map(|it| format!("did you mean {it}? ")).unwrap_or_default()
)]
pub struct NoSuchScenario {
    /// The name that was looked for.
    pub name: String,
    /// The one that it is near to.
    pub nearest: Option<&'static str>,
}

/// The scenario of that name.
pub fn find(name: &str) -> Result<&'static Bundled, NoSuchScenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == name).ok_or_else(|| NoSuchScenario {
        name: name.into(),
        nearest: nearest(name, SCENARIOS.iter().map(|it| it.name)),
    })
}

impl Bundled {
    /// What is to be seen, in a line.
    pub fn summary(&self) -> &'static str {
        let line = self.text.lines().next().unwrap_or_default();
        line.trim_start_matches('#').trim()
    }

    /// The text, read as a scenario.
    pub fn scenario(&self) -> Result<Scenario, ParseScenarioError> {
        self.text.parse()
    }
}
