//! What bare processes can be asked for, and say: the model itself, without a problem to solve.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::{Family, ProcessId, Promises, Protocol};

/// What a process can be asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Command {
    /// A step of its own, of which nobody else hears.
    Work,
    /// A message to that process.
    Send(ProcessId),
}

/// What a process says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Notice {
    /// It printed a word.
    Printed(Print),
    /// It took part in an event, and its logical clock showed this then.
    Stamped {
        /// Which event.
        deed: Deed,
        /// What its clock showed.
        reading: Reading,
    },
}

/// What a Pinger prints.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Print {
    /// "pong".
    Pong,
    /// "ping".
    Ping,
}

/// An event at a process. Messages are counted by their sender, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Deed {
    /// It did something alone.
    Worked,
    /// It sent the message of that number.
    Sent(ProcessId, u64),
    /// It received the message of that number.
    Received(ProcessId, u64),
}

/// What a logical clock shows, as one number, so that it can be told and recorded like any other.
///
/// A Lamport clock is its count. A vector is a row of counts in decimal, three digits each, after
/// the digits 10: (2, 0, 5) is 10 002 000 005. So it can be read in a trace as well.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reading(pub u64);

impl Reading {
    /// So many counts fit into a vector.
    pub const MEMBERS_MAX: usize = 6;
    /// The highest count of a vector.
    pub const COUNT_MAX: u64 = 999;
    /// The highest that a Lamport clock can show and not be taken for a vector.
    pub const LAMPORT_MAX: u64 = Self::MARK * Self::DIGITS - 1;

    const MARK: u64 = 10;
    const DIGITS: u64 = Self::COUNT_MAX + 1;

    /// The reading of a Lamport clock.
    pub fn lamport(count: u64) -> Self {
        Self(count.min(Self::LAMPORT_MAX))
    }

    /// The reading of a vector clock. Where it does not fit, counts stay at the highest, and what
    /// comes after the last that fits is left out.
    pub fn vector(counts: impl IntoIterator<Item = u64>) -> Self {
        let counts = counts.into_iter().take(Self::MEMBERS_MAX);
        Self(counts.fold(Self::MARK, |row, count| row * Self::DIGITS + count.min(Self::COUNT_MAX)))
    }

    /// The counts, if it is a vector.
    pub fn counts(self) -> Option<Vec<u64>> {
        let (mut counts, mut rest) = (Vec::new(), self.0);
        while rest > Self::LAMPORT_MAX || (rest >= Self::MARK && !counts.is_empty()) {
            if rest == Self::MARK {
                break;
            }
            counts.insert(0, rest % Self::DIGITS);
            rest /= Self::DIGITS;
        }
        (!counts.is_empty()).then_some(counts)
    }

    /// Whether it is smaller: the count, or no count of the vector larger and some smaller.
    pub fn is_before(self, other: Self) -> bool {
        match (self.counts(), other.counts()) {
            (Some(mine), Some(theirs)) => {
                self != other && mine.iter().zip(&theirs).all(|(mine, theirs)| mine <= theirs)
            }
            _ => self < other,
        }
    }

    /// As people write it: `5`, or `(2,0,5)`.
    pub fn text(self) -> String {
        match self.counts() {
            Some(counts) => {
                let counts: Vec<String> = counts.iter().map(|count| format!("{count}")).collect();
                format!("({})", counts.join(","))
            }
            None => format!("{}", self.0),
        }
    }
}

/// A Pinger prints pong and ping by turns.
pub const TURNS: Promises = Promises::number(0);
/// If one event happened before another, its clock showed less: Lamport's clock condition.
pub const CLOCK_CONDITION: Promises = Promises::number(1);
/// And the other way round: if a clock showed less, that event happened before the other.
pub const STRONG_CLOCK_CONDITION: Promises = Promises::number(2);

/// The family of bare processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Processes {}

impl Family for Processes {
    const NAME: &'static str = "process";
    type Command = Command;
    type Notice = Notice;
    type Opening = ();
}

/// A bare process: any protocol of this family.
pub trait Process: Protocol<Family = Processes> {}

impl<P: Protocol<Family = Processes>> Process for P {}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_reading_is_read_as_it_was_written() {
        assert_eq!(Reading::lamport(7).counts(), None);
        assert_eq!(Reading::lamport(7).text(), "7");
        for counts in [vec![0], vec![2, 0, 5], vec![999; 6], vec![0; 6], vec![0, 10, 10]] {
            let reading = Reading::vector(counts.iter().copied());
            assert_eq!(reading.counts(), Some(counts));
        }
        assert_eq!(Reading::vector([2, 0, 5]).0, 10_002_000_005);
        assert_eq!(Reading::vector([2, 0, 5]).text(), "(2,0,5)");
        assert_eq!(Reading::lamport(u64::MAX).counts(), None, "it is not taken for a vector");
        assert_eq!(Reading::vector([1_000, 1]).text(), "(999,1)");
    }

    #[test]
    fn vectors_are_smaller_only_if_no_count_is_larger() {
        let (low, high) = (Reading::vector([1, 2]), Reading::vector([1, 3]));
        assert!(low.is_before(high) && !high.is_before(low) && !low.is_before(low));
        let aside = Reading::vector([2, 0]);
        assert!(!aside.is_before(high) && !high.is_before(aside));
        assert!(Reading::lamport(2).is_before(Reading::lamport(3)));
    }
}
