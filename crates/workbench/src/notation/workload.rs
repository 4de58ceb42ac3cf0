//! Who asks for the lock and when, as it is written: `one`, `contend`, `think:20ms`.

use alloc::borrow::ToOwned;
use alloc::string::String;

use conclave_sim::Workload;

use super::{Notation, ParseTimeError, parse_time};

/// A text that names no workload.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseWorkloadError {
    /// No such workload.
    #[error("`{0}` is not a workload; choose one, contend or think:M, e.g. think:20ms")]
    Unknown(String),
    /// A time that is none.
    #[error("workload think: {0}")]
    Time(#[from] ParseTimeError),
}

impl Notation for Workload {
    type Error = ParseWorkloadError;

    fn read(text: &str) -> Result<Self, ParseWorkloadError> {
        match text.split_once(':') {
            None if text == "one" => Ok(Workload::One),
            None if text == "contend" => Ok(Workload::Contend),
            Some(("think", mean)) => Ok(Workload::Think { mean: parse_time(mean)? }),
            _ => Err(ParseWorkloadError::Unknown(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn what_is_shown_can_be_read_again_and_nonsense_is_refused() {
        for text in ["one", "contend", "think:20ms"] {
            assert_eq!(Workload::read(text).unwrap().to_string(), text);
        }
        for text in ["", "all", "think", "think:", "one:1", "contend:2ms"] {
            assert!(Workload::read(text).is_err(), "{text}");
        }
    }
}
