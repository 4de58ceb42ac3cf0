//! Why no plan can be made of what was said.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_algorithms::catalogue::SeatingError;
use conclave_core::ProcessId;
use conclave_observe::Time;
use conclave_sim::FaultError;

use crate::scenario::Scenario;
use crate::setting::{NamesSettings, SettingError, Unfit};

/// No plan can be made of what was said: one line says why, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DraftError {
    /// There is no such setting.
    #[error("there is no setting `{}`", .0.escape_debug())]
    UnknownSetting(String),
    /// That is no value of that setting.
    #[error("{error}")]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// What is wrong with its value.
        error: SettingError,
    },
    /// The algorithm has no use for a setting.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// Both a scenario and a setting say it.
    #[error(
        "the scenario says that already; leave {} out, or take it out of the file",
        if *name == "n" || *name == "ids" { "`n` or `ids`".into() } else { format!("`{name}`") }
    )]
    SaidTwice {
        /// The setting's name.
        name: &'static str,
    },
    /// Nobody can be seated like that.
    #[error(transparent)]
    Seating(#[from] SeatingError),
    /// What goes wrong cannot go wrong like that.
    #[error(transparent)]
    Faults(#[from] FaultError),
    /// Their voting sets do not fit into memory.
    #[error(
        "majorities of {n} processes do not fit into memory; choose at most {max}, or \
         `voting-sets` grid"
    )]
    TooManyVoters {
        /// How many processes there are.
        n: usize,
        /// The most processes for which they fit.
        max: u32,
    },
    /// A number that is kept for nobody.
    #[error("{0} is no id; ids are from 0 to {max}", max = u32::MAX - 1)]
    NoId(u32),
    /// A scenario names somebody who takes no part.
    #[error("{what}: there is no process {process}; those that ask are {ids}")]
    Stranger {
        /// The scenario's word, such as `request`.
        what: &'static str,
        /// The process that it names.
        process: ProcessId,
        /// Who takes part.
        ids: String,
    },
    /// Somebody calls an election who takes no part.
    #[error("{said_by}: there is no process {caller}; ids are {ids}")]
    StrangeCaller {
        /// Where that was said.
        said_by: &'static str,
        /// The process that was to call.
        caller: ProcessId,
        /// Who takes part.
        ids: String,
    },
    /// Somebody calls an election while it is down.
    #[error("{said_by}: process {caller} is not back at {at}ms; let it call later")]
    CallerNotBack {
        /// Where that was said.
        said_by: &'static str,
        /// The process that was to call.
        caller: ProcessId,
        /// When it was to call.
        at: Time,
    },
    /// Somebody calls an election who is down for good.
    #[error("{said_by}: process {caller} is dead from the start; let another call the election")]
    DeadCaller {
        /// Where that was said.
        said_by: &'static str,
        /// The process that was to call.
        caller: ProcessId,
    },
    /// A scenario says something that is about another family.
    #[error("{name} {lacks}; leave `{word}` out of the scenario")]
    Family {
        /// The name of the algorithm.
        name: &'static str,
        /// What it is not.
        lacks: &'static str,
        /// The scenario's word.
        word: &'static str,
    },
    /// A scenario sets a clock that there is not.
    #[error("{name} has no logical clock; leave `clock` out of the scenario, or choose lamport")]
    NoClock {
        /// The name of the algorithm.
        name: &'static str,
    },
    /// A mutant of another algorithm.
    #[error("{name} is a mutant of {of}, not of {entry}; `conclave mutants` lists all of them")]
    MutantOfAnother {
        /// The mutant.
        name: &'static str,
        /// Of which it is one.
        of: &'static str,
        /// What was to be run.
        entry: &'static str,
    },
    /// What need not happen for ever cannot be seen in a run that ends.
    #[error(
        "{name} is about what need not happen for ever, and a run has an end; search it: conclave \
         check {of} `mutant` {name}"
    )]
    OnlySearched {
        /// The mutant.
        name: &'static str,
        /// Of which it is one.
        of: &'static str,
    },
    /// A scenario says in two ways who asks.
    #[error("`{word}` says already who asks when; leave `{setting}` out")]
    AsksTwice {
        /// The scenario's word.
        word: &'static str,
        /// The setting that says it too.
        setting: &'static str,
    },
    /// A line of a scenario is to blame.
    #[error("line {line}: {error}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What is wrong with it.
        error: Box<DraftError>,
    },
    /// In a scenario nobody asks.
    #[error("nobody asks for the lock; add a line like: request 3@0ms")]
    NobodyAsks,
    /// In a scenario nobody calls.
    #[error("nobody calls an election; add a line like: call 3@0ms")]
    NobodyCalls,
}

impl DraftError {
    /// This, said of that line of a scenario.
    pub(crate) fn at(self, line: usize) -> Self {
        Self::Line { line, error: Box::new(self) }
    }

    /// This, with the line of the scenario that is to blame, if one is.
    pub(crate) fn placed(self, scenario: &Scenario) -> Self {
        let fault = match &self {
            Self::Faults(error) => error.fault(),
            _ => None,
        };
        match fault.and_then(|fault| scenario.line_of(&fault)) {
            Some(line) => self.at(line),
            None => self,
        }
    }
}

impl NamesSettings for DraftError {
    fn settings(&self) -> Vec<&'static str> {
        match self {
            Self::Unfit(unfit) => unfit.settings(),
            Self::Setting { name, .. } => Vec::from([*name]),
            Self::OnlySearched { .. } => Vec::from(["mutant"]),
            Self::SaidTwice { name } => Vec::from(["n", "ids", *name]),
            Self::StrangeCaller { .. } | Self::CallerNotBack { .. } | Self::DeadCaller { .. } => {
                Vec::from(["initiators", "steps"])
            }
            Self::TooManyVoters { .. } => Vec::from(["voting-sets"]),
            _ => Vec::new(),
        }
    }
}
