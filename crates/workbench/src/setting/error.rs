//! What is wrong with a setting, and what would be right.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::num::ParseIntError;

use conclave_algorithms::mutants::NoSuchMutant;
use conclave_algorithms::quorum::UnknownConstruction;
use conclave_core::DuplicateId;

use crate::notation::{
    ParseFaultError, ParseInterventionError, ParseNetworkError, ParseStepError, ParseTimeError,
    ParseVotingError, ParseWorkloadError,
};

use super::NamesSettings;

/// A text that is no value of its setting.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SettingError {
    /// A text that is no time.
    #[error(transparent)]
    Time(#[from] ParseTimeError),
    /// A time that timers cannot be set to: a quarter of it must still be something.
    #[error("a time of at least 1us is needed here, e.g. 5ms")]
    TimeTooShort,
    /// A text that is no network.
    #[error(transparent)]
    Network(#[from] ParseNetworkError),
    /// A text that is no workload.
    #[error(transparent)]
    Workload(#[from] ParseWorkloadError),
    /// No construction of voting sets.
    #[error(transparent)]
    Construction(#[from] UnknownConstruction),
    /// A text that says nothing about voting.
    #[error(transparent)]
    Voting(#[from] ParseVotingError),
    /// A text that is no fault of the kind that is asked for.
    #[error(transparent)]
    Fault(#[from] ParseFaultError),
    /// A name that no mutant has.
    #[error(transparent)]
    Mutant(#[from] NoSuchMutant),
    /// A text that is no intervention.
    #[error(transparent)]
    Intervention(#[from] ParseInterventionError),
    /// No step.
    #[error(transparent)]
    Step(#[from] ParseStepError),
    /// No whole number.
    #[error(transparent)]
    Number(#[from] ParseIntError),
    /// A number outside of its range.
    #[error("a number from 1 to {max} is needed here")]
    Count {
        /// The largest number that is accepted.
        max: u64,
    },
    /// No number of processes.
    #[error("a number of processes is from {min} to {max}")]
    Members {
        /// The fewest processes that are accepted.
        min: u32,
        /// The most processes that are accepted.
        max: u32,
    },
    /// No id at all.
    #[error("an id is a whole number, e.g. 3")]
    Id,
    /// An id that is too large.
    #[error("ids are from 0 to {}", u32::MAX - 1)]
    IdTooLarge,
    /// An id that is given twice.
    #[error(transparent)]
    DuplicateId(#[from] DuplicateId),
    /// No threshold of the accrual detector.
    #[error("a threshold is a number from 0.1 to 20, e.g. 8")]
    Phi,
    /// No reading of a logical clock.
    #[error("it is PROCESS COUNT, e.g. 32 101")]
    Clock,
    /// No process that could hold the lock.
    #[error("it is a process, e.g. 3")]
    Holder,
    /// No kind of algorithms.
    #[error("`{}` is not a kind that is measured; choose mutex or election", .0.escape_debug())]
    Kind(String),
    /// A value of what has none.
    #[error("it takes no value")]
    Switch,
    /// Two probabilities of what has one.
    #[error("`duplicate` has one probability; messages can be named beside it")]
    TwoChances,
    /// Two values of what has one.
    #[error("it takes one value only")]
    Twice,
}

/// A setting that an algorithm has no use for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unfit {
    /// It is about another family.
    #[error("{name} {lacks}; leave `{setting}` out{instead}")]
    Family {
        /// The name of the algorithm.
        name: &'static str,
        /// What was said of it.
        setting: &'static str,
        /// What the algorithm is not.
        lacks: &'static str,
        /// What to choose instead.
        instead: &'static str,
    },
    /// It is about the value that leaders keep.
    #[error("the leaders of {name} keep no value; leave `{setting}` out, or choose chubby")]
    NoValue {
        /// The name of the algorithm.
        name: &'static str,
        /// What was said of it.
        setting: &'static str,
    },
    /// It is about what has no end of its own.
    #[error("{name} runs until all have entered; leave `{setting}` out, or give `max-time`")]
    HasEnd {
        /// The name of the algorithm.
        name: &'static str,
        /// What was said of it.
        setting: &'static str,
    },
    /// It is about voting sets.
    #[error("{name} uses no voting sets; leave `{setting}` out, or choose maekawa")]
    NoVotingSets {
        /// The name of the algorithm.
        name: &'static str,
        /// What was said of it.
        setting: &'static str,
    },
    /// It is about a timer that the algorithm does not set.
    #[error("{name} has no use for `{setting}`; it takes {}", takes_or_none(takes))]
    NoTimer {
        /// The name of the algorithm.
        name: &'static str,
        /// What was said of it.
        setting: &'static str,
        /// The settings that it has a use for.
        takes: Vec<&'static str>,
    },
}

fn takes_or_none(takes: &[&str]) -> String {
    let named: Vec<String> = takes.iter().map(|name| format!("`{name}`")).collect();
    if named.is_empty() { "no timers".into() } else { named.join(", ") }
}

impl NamesSettings for Unfit {
    fn settings(&self) -> Vec<&'static str> {
        match self {
            Self::Family { setting, .. }
            | Self::NoValue { setting, .. }
            | Self::NoVotingSets { setting, .. } => Vec::from([*setting]),
            Self::HasEnd { setting, .. } => Vec::from([*setting, "max-time"]),
            Self::NoTimer { setting, takes, .. } => {
                takes.iter().copied().chain([*setting]).collect()
            }
        }
    }
}
