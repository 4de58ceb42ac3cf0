//! How long messages take, as it is written: `unit`, `sync:5ms`, `uniform:1ms..9ms`,
//! `exponential:3ms`.

use alloc::borrow::ToOwned;
use alloc::string::String;

use conclave_observe::Time;
use conclave_sim::Network;

use super::{Notation, ParseTimeError, parse_time};

/// A text that names no network.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseNetworkError {
    /// No such model.
    #[error(
        "`{0}` is not a network; choose unit, sync:D, uniform:A..B or exponential:M, e.g. uniform:1ms..9ms"
    )]
    Unknown(String),
    /// A model with a delay that is no time.
    #[error("network {model}: {source}")]
    Delay {
        /// The name of the model: `sync`, `uniform` or `exponential`.
        model: &'static str,
        /// What is wrong with the delay.
        source: ParseTimeError,
    },
    /// A delay of nothing, or a range whose end comes before its beginning.
    #[error("network {0}: a delay must be above 0, and A..B must not run backwards")]
    Empty(String),
}

impl Notation for Network {
    type Error = ParseNetworkError;

    fn read(text: &str) -> Result<Self, ParseNetworkError> {
        let unknown = || ParseNetworkError::Unknown(text.to_owned());
        if text == "unit" {
            return Ok(Network::Unit);
        }
        let (model, rest) = text.split_once(':').ok_or_else(unknown)?;
        let time = |model, text| {
            parse_time(text).map_err(|source| ParseNetworkError::Delay { model, source })
        };
        let network = match model {
            "sync" => Network::Sync { bound: time("sync", rest)? },
            "exponential" => Network::Exponential { mean: time("exponential", rest)? },
            "uniform" => {
                let (low, high) = rest.split_once("..").ok_or_else(unknown)?;
                Network::Uniform { low: time("uniform", low)?, high: time("uniform", high)? }
            }
            _ => return Err(unknown()),
        };
        let is_empty = match network {
            Network::Uniform { low, high } => low == Time::ZERO || low > high,
            other => other.typical() == Time::ZERO,
        };
        if is_empty { Err(ParseNetworkError::Empty(text.to_owned())) } else { Ok(network) }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn what_is_shown_can_be_read_again() {
        for text in ["unit", "sync:5ms", "uniform:1ms..9.5ms", "exponential:0.003ms"] {
            let network = Network::read(text).unwrap();
            assert_eq!(network.to_string(), text);
        }
    }

    #[test]
    fn refuses_what_is_no_network() {
        for text in ["", "lan", "sync", "sync:", "uniform:5ms", "uniform:9ms..1ms", "sync:0ms"] {
            assert!(Network::read(text).is_err(), "{text}");
        }
    }
}
