//! How long a message takes.

use core::fmt;

use conclave_observe::Time;

use crate::seed::Stream;

/// A model of the network's delays. A message to oneself takes none in any of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Network {
    /// Every message takes exactly one delay: the textbooks' way of counting.
    Unit,
    /// Synchronous: every message takes at most `bound`, which is known.
    Sync {
        /// D: the longest delay.
        bound: Time,
    },
    /// Asynchronous, all delays of a range equally likely.
    Uniform {
        /// The shortest delay.
        low: Time,
        /// The longest delay.
        high: Time,
    },
    /// Asynchronous, with a long tail.
    Exponential {
        /// The mean delay.
        mean: Time,
    },
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
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn a_synchronous_network_never_exceeds_its_bound() {
        let (network, mut stream) = (Network::Sync { bound: Time(50) }, Stream::new(1, "test"));
        let delays: Vec<Time> = (0..10_000).map(|_| network.draw(&mut stream)).collect();
        assert_eq!(delays.iter().max(), Some(&Time(50)));
        assert_eq!(delays.iter().min(), Some(&Time(1)));
    }
}
