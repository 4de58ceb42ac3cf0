//! How processes vote, as it is written: `grid`, `own:1:1,2/2:2,3/3:3,1`.

use alloc::string::String;
use core::fmt;

use conclave_algorithms::quorum::{Construction, OwnSets, ParseOwnSetsError, UnknownConstruction};

use super::Notation;
use crate::plan::Plan;

/// How processes vote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Voting {
    /// By sets that are constructed.
    By(Construction),
    /// By sets that somebody wrote down.
    Own(OwnSets),
}

/// A text that says nothing about voting.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseVotingError {
    /// No such construction.
    #[error("{0}, or own:SETS, or file:PATH")]
    Unknown(#[from] UnknownConstruction),
    /// Sets that are none.
    #[error(transparent)]
    Own(#[from] ParseOwnSetsError),
    /// A file, where none can be read.
    #[error("{0}: files are read by the command line; write own: and what the file says")]
    File(String),
}

impl Voting {
    /// As that plan has it.
    pub fn of(plan: &Plan) -> Self {
        match &plan.own_sets {
            Some(own_sets) => Self::Own(own_sets.clone()),
            None => Self::By(plan.construction),
        }
    }
}

impl Notation for Voting {
    type Error = ParseVotingError;

    fn read(text: &str) -> Result<Self, ParseVotingError> {
        match text.split_once(':') {
            Some(("own", sets)) => Ok(Self::Own(sets.parse()?)),
            Some(("file", _)) => Err(ParseVotingError::File(text.into())),
            _ => Ok(Self::By(text.parse()?)),
        }
    }
}

impl fmt::Display for Voting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::By(construction) => construction.fmt(f),
            Self::Own(own_sets) => write!(f, "own:{own_sets}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn what_is_shown_can_be_read_again_and_nonsense_is_refused() {
        for text in ["grid", "tree", "own:1:1", "own:disjoint/3:3,5/5:5"] {
            assert_eq!(Voting::read(text).unwrap().to_string(), text);
        }
        for text in ["", "own", "own:", "own:1", "grid:1", "file:sets.txt", "1:1"] {
            assert!(Voting::read(text).is_err(), "{text}");
        }
    }
}
