//! Who asks for the lock and when, as it is written: `one`, `contend`, `think:20ms`,
//! `greedy:1:20ms`.

use alloc::borrow::ToOwned;
use alloc::string::String;

use conclave_core::ProcessId;
use conclave_sim::Workload;

use super::{Notation, ParseTimeError, parse_time};

/// A text that names no workload.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseWorkloadError {
    /// No such workload.
    #[error(
        "`{0}` is not a workload; choose one, contend, think:M or greedy:ID:M, e.g. think:20ms or \
         greedy:1:20ms"
    )]
    Unknown(String),
    /// A time that is none.
    #[error("workload {name}: {error}")]
    Time {
        /// Of which workload.
        name: &'static str,
        /// What is wrong with it.
        error: ParseTimeError,
    },
}

impl Notation for Workload {
    type Error = ParseWorkloadError;

    fn read(text: &str) -> Result<Self, ParseWorkloadError> {
        let unknown = || ParseWorkloadError::Unknown(text.to_owned());
        let mean =
            |name, text| parse_time(text).map_err(|error| ParseWorkloadError::Time { name, error });
        match text.split_once(':') {
            None if text == "one" => Ok(Workload::One),
            None if text == "contend" => Ok(Workload::Contend),
            Some(("think", text)) => Ok(Workload::Think { mean: mean("think", text)? }),
            Some(("greedy", rest)) => {
                let (who, text) = rest.split_once(':').ok_or_else(unknown)?;
                let who = ProcessId(who.parse().map_err(|_| unknown())?);
                Ok(Workload::Greedy { who, mean: mean("greedy", text)? })
            }
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn what_is_shown_can_be_read_again_and_nonsense_is_refused() {
        for text in ["one", "contend", "think:20ms", "greedy:3:20ms"] {
            assert_eq!(Workload::read(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "all",
            "think",
            "think:",
            "one:1",
            "contend:2ms",
            "greedy",
            "greedy:3",
            "greedy:x:2ms",
            "greedy:3:",
        ] {
            assert!(Workload::read(text).is_err(), "{text}");
        }
    }
}
