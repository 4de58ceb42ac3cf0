//! What goes wrong, as it is written: `3@40ms`, `2@10ms..30ms`, `1,2/3,4,5@10ms..30ms`, `3=4x`,
//! `2=1.3`, `0.05`.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_core::ProcessId;
use conclave_observe::Time;
use conclave_sim::{Crash, Crossing, Drift, Partition, Pause, Probability, Rate, Return, Slow};

use super::{Notation, parse_time};

/// A text that is no fault.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseFaultError {
    /// A text that is no return.
    #[error("`{0}` is not PROCESS@TIME, e.g. 3@40ms")]
    Moment(String),
    /// A text that is no crash.
    #[error(
        "`{0}` is not PROCESS@TIME, e.g. 3@40ms, or PROCESS on EVENT, e.g. 2 on entering (#2 behind \
         it for the second time)"
    )]
    Death(String),
    /// A text that names no message.
    #[error("`{0}` is not KIND FROM>TO #COUNT, e.g. request 2>3 #1 for the first one")]
    Message(String),
    /// A text that is no delay of a message.
    #[error("`{0}` is not KIND FROM>TO #COUNT by TIME, e.g. request 2>3 #1 by 5ms")]
    Delay(String),
    /// A text that is no duplication.
    #[error(
        "`{0}` is not a probability from 0 to 1, e.g. 0.05, or a message KIND FROM>TO #COUNT, e.g. \
         request 2>3 #1"
    )]
    Doubling(String),
    /// A text that is no pause.
    #[error("`{0}` is not PROCESS@FROM..UNTIL with FROM before UNTIL, e.g. 2@10ms..30ms")]
    Span(String),
    /// A text that is no partition.
    #[error(
        "`{0}` is not SIDE/SIDE@FROM..UNTIL with FROM before UNTIL, e.g. 1,2/3,4,5@10ms..30ms (or 1,2>3,4 for one way; with ,held behind it messages wait)"
    )]
    Partition(String),
    /// A partition with a process on both sides, or twice on one.
    #[error("`{text}`: process {process} is named twice; it can be on one side only")]
    Twice {
        /// The text, as it was given.
        text: String,
        /// The process that is named twice.
        process: ProcessId,
    },
    /// A text that is no slow process.
    #[error("`{0}` is not PROCESS=TIMES with TIMES above 1 and at most 1000, e.g. 3=4x")]
    Slow(String),
    /// A text that is no drift.
    #[error("`{0}` is not PROCESS=RATE with a RATE from 0.001 to 1000, e.g. 2=1.3")]
    Drift(String),
    /// A text that is no probability.
    #[error("`{0}` is not a probability; write a number from 0 to 1, e.g. 0.05")]
    Probability(String),
}

fn moment(text: &str) -> Option<(ProcessId, Time)> {
    let (process, at) = text.split_once('@')?;
    Some((ProcessId(process.parse().ok()?), parse_time(at).ok()?))
}

fn span(text: &str) -> Option<(Time, Time)> {
    let (from, until) = text.split_once("..")?;
    let (from, until) = (parse_time(from).ok()?, parse_time(until).ok()?);
    (from < until).then_some((from, until))
}

impl Notation for Crash {
    type Error = ParseFaultError;

    fn read(text: &str) -> Result<Self, ParseFaultError> {
        let (process, at) = moment(text).ok_or_else(|| ParseFaultError::Moment(text.to_owned()))?;
        Ok(Self { process, at })
    }
}

impl Notation for Return {
    type Error = ParseFaultError;

    fn read(text: &str) -> Result<Self, ParseFaultError> {
        let (process, at) = moment(text).ok_or_else(|| ParseFaultError::Moment(text.to_owned()))?;
        Ok(Self { process, at })
    }
}

impl Notation for Pause {
    type Error = ParseFaultError;

    fn read(text: &str) -> Result<Self, ParseFaultError> {
        let parse = || {
            let (process, rest) = text.split_once('@')?;
            let (from, until) = span(rest)?;
            Some(Self { process: ProcessId(process.parse().ok()?), from, until })
        };
        parse().ok_or_else(|| ParseFaultError::Span(text.to_owned()))
    }
}

impl Notation for Partition {
    type Error = ParseFaultError;

    fn read(text: &str) -> Result<Self, ParseFaultError> {
        let side = |text: &str| -> Option<Vec<ProcessId>> {
            text.split(',').map(|id| id.trim().parse().ok().map(ProcessId)).collect()
        };
        let parse = || {
            let (sides, rest) = text.split_once('@')?;
            let (rest, crossing) = match rest.split_once(',') {
                None => (rest, Crossing::Lost),
                Some((rest, "held")) => (rest, Crossing::Held),
                Some(_) => return None,
            };
            let (from, until) = span(rest)?;
            let one_way = sides.contains('>');
            let (left, right) = sides.split_once(if one_way { '>' } else { '/' })?;
            Some(Self { left: side(left)?, right: side(right)?, one_way, from, until, crossing })
        };
        let partition = parse().ok_or_else(|| ParseFaultError::Partition(text.to_owned()))?;
        let mut named: Vec<_> = partition.left.iter().chain(&partition.right).copied().collect();
        named.sort_unstable();
        match named.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(ParseFaultError::Twice { text: text.to_owned(), process: pair[0] }),
            None => Ok(partition),
        }
    }
}

impl Notation for Slow {
    type Error = ParseFaultError;

    fn read(text: &str) -> Result<Self, ParseFaultError> {
        let parse = || {
            let (process, times) = text.split_once('=')?;
            let times = times.strip_suffix('x').unwrap_or(times).parse().ok()?;
            Self::new(ProcessId(process.parse().ok()?), times)
        };
        parse().ok_or_else(|| ParseFaultError::Slow(text.to_owned()))
    }
}

impl Notation for Drift {
    type Error = ParseFaultError;

    fn read(text: &str) -> Result<Self, ParseFaultError> {
        let parse = || {
            let (process, rate) = text.split_once('=')?;
            let process = ProcessId(process.parse().ok()?);
            Some(Self { process, rate: Rate::new(rate.parse().ok()?)? })
        };
        parse().ok_or_else(|| ParseFaultError::Drift(text.to_owned()))
    }
}

impl Notation for Probability {
    type Error = ParseFaultError;

    fn read(text: &str) -> Result<Self, ParseFaultError> {
        let number = text.parse().ok().and_then(Self::new);
        number.ok_or_else(|| ParseFaultError::Probability(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use core::fmt;

    use super::*;

    fn same_when_read_again<T: Notation + fmt::Display>(text: &str) -> bool {
        T::read(text).is_ok_and(|it| it.to_string() == text)
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        assert!(same_when_read_again::<Crash>("3@40ms"));
        assert!(same_when_read_again::<Return>("3@90.5ms"));
        assert!(same_when_read_again::<Pause>("2@10ms..30ms"));
        assert!(same_when_read_again::<Partition>("1,2/3,4,5@10ms..30ms"));
        assert!(same_when_read_again::<Partition>("1>2@0ms..1ms"));
        assert!(same_when_read_again::<Partition>("1,2/3@0ms..1ms,held"));
        assert!(same_when_read_again::<Slow>("3=4x"));
        assert!(same_when_read_again::<Slow>("3=1.5x"));
        assert!(same_when_read_again::<Probability>("0.05"));
        assert!(same_when_read_again::<Drift>("2=1.3"));
        assert!(same_when_read_again::<Drift>("7=0.95"));
    }

    #[test]
    fn refuses_what_is_no_fault() {
        for text in ["", "3", "3@", "@4ms", "x@4ms", "3@4ms..5ms", "-1@4ms"] {
            assert!(Crash::read(text).is_err(), "{text}");
        }
        for text in ["2@10ms", "2@30ms..10ms", "2@10ms..10ms"] {
            assert!(Pause::read(text).is_err(), "{text}");
        }
        for text in ["1/2", "1,2@1ms..2ms", "/2@1ms..2ms", "1,/2@1ms..2ms", "1,2/2,3@1ms..2ms"] {
            assert!(Partition::read(text).is_err(), "{text}");
        }
        for text in ["1/2@1ms..2ms,", "1/2@1ms..2ms,kept", "1/2@1ms..2ms,held,held"] {
            assert!(Partition::read(text).is_err(), "{text}");
        }
        for text in ["", "3", "3=", "3=x", "=4x", "3=1x", "3=0.5x", "3=-4x", "3=NaNx", "3=1001x"] {
            assert!(Slow::read(text).is_err(), "{text}");
        }
        for text in ["", "2", "2=", "=1.3", "2=0", "2=-1", "2=NaN", "2=1001"] {
            assert!(Drift::read(text).is_err(), "{text}");
        }
        for text in ["", "5%", "1.1", "-0.1", "NaN", "inf"] {
            assert!(Probability::read(text).is_err(), "{text}");
        }
    }
}
