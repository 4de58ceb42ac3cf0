//! How long a message takes.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use conclave_observe::Time;

use crate::seed::Stream;
use crate::{ParseDurationError, parse_duration};

/// A model of the network's delays. A message to oneself takes none in any of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Network {
    /// Every message takes exactly one delay: the textbooks' way of counting.
    Unit,
    /// Synchronous: every message takes at most `bound`, which is known.
    Sync {
        /// D.
        bound: Time,
    },
    /// Asynchronous, all delays of a range equally likely.
    Uniform {
        /// The shortest.
        low: Time,
        /// The longest.
        high: Time,
    },
    /// Asynchronous, with a long tail.
    Exponential {
        /// The mean.
        mean: Time,
    },
}

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
        /// Which.
        model: &'static str,
        /// What was wrong.
        source: ParseDurationError,
    },
    /// A delay of nothing, or a range whose end comes before its beginning.
    #[error("network {0}: a delay must be above 0, and A..B must not run backwards")]
    Empty(String),
}

impl Network {
    /// The delay of the next message.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> Time {
        match *self {
            Network::Unit => Time::DELAY,
            Network::Sync { bound } => stream.between(Time(1), bound),
            Network::Uniform { low, high } => stream.between(low, high),
            Network::Exponential { mean } => stream.exponential(mean),
        }
    }

    /// What counts as one delay when patience is measured in delays.
    pub fn typical(&self) -> Time {
        match *self {
            Network::Unit => Time::DELAY,
            Network::Sync { bound } => bound,
            Network::Uniform { high, .. } => high,
            Network::Exponential { mean } => mean,
        }
    }

    /// A time that few messages exceed.
    pub(crate) fn horizon(&self) -> Time {
        match *self {
            Network::Exponential { mean } => Time(mean.0.saturating_mul(8)),
            _ => self.typical(),
        }
    }
}

impl FromStr for Network {
    type Err = ParseNetworkError;

    fn from_str(text: &str) -> Result<Self, ParseNetworkError> {
        let unknown = || ParseNetworkError::Unknown(text.to_owned());
        if text == "unit" {
            return Ok(Network::Unit);
        }
        let (model, rest) = text.split_once(':').ok_or_else(unknown)?;
        let time = |model, text| {
            parse_duration(text).map_err(|source| ParseNetworkError::Delay { model, source })
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

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Network::Unit => f.write_str("unit"),
            Network::Sync { bound } => write!(f, "sync:{bound}ms"),
            Network::Uniform { low, high } => write!(f, "uniform:{low}ms..{high}ms"),
            Network::Exponential { mean } => write!(f, "exponential:{mean}ms"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn what_is_shown_can_be_read_again() {
        for text in ["unit", "sync:5ms", "uniform:1ms..9.5ms", "exponential:0.003ms"] {
            let network: Network = text.parse().unwrap();
            assert_eq!(network.to_string(), text);
        }
    }

    #[test]
    fn a_synchronous_network_never_exceeds_its_bound() {
        let (network, mut stream) = (Network::Sync { bound: Time(50) }, Stream::new(1, "test"));
        let delays: Vec<Time> = (0..10_000).map(|_| network.draw(&mut stream)).collect();
        assert_eq!(delays.iter().max(), Some(&Time(50)));
        assert_eq!(delays.iter().min(), Some(&Time(1)));
    }

    #[test]
    fn refuses_what_is_no_network() {
        for text in ["", "lan", "sync", "sync:", "uniform:5ms", "uniform:9ms..1ms", "sync:0ms"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
