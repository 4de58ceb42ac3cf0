//! Safety of the value that leaders keep: what was said to be safe is never forgotten.
//!
//! Every write has a version, and versions are ordered. So it is linearizable exactly if no answer
//! is older than what somebody had been told before it was asked for, and no write is as old.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_core::election::Version;

use super::aside::Aside;
use crate::family::elections::Seen;
use crate::{Event, Time};

/// Watches reads and writes.
#[derive(Clone, Debug)]
pub struct Versions {
    /// The highest that anybody was told of.
    highest: Option<Version>,
    /// By seat: the highest that anybody had been told of when it was asked.
    asked_at: Vec<Option<Asked>>,
    reads: u64,
    writes: u64,
    refused: u64,
    broken: Option<WentBack>,
    times: Aside<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    highest: Option<Version>,
}

/// The first answer that was too old.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WentBack {
    /// When the answer was given.
    pub at: Time,
    /// The process that answered, by seat.
    pub seat: Seat,
    /// What had been told before it was asked.
    pub before: Version,
    /// What it answered.
    pub got: Version,
}

impl Versions {
    /// For `members` processes.
    pub fn new(members: usize) -> Self {
        Self {
            highest: None,
            asked_at: vec![None; members],
            reads: 0,
            writes: 0,
            refused: 0,
            broken: None,
            times: Aside(0),
        }
    }

    /// Takes in an event.
    pub fn on(&mut self, event: &Event) {
        match Seen::of(event.what) {
            Seen::Reading | Seen::Writing { .. } => {
                self.asked_at[event.seat.index()] = Some(Asked { highest: self.highest });
            }
            Seen::Read { version, .. } => {
                self.reads += 1;
                self.answer(event, version, |got, before| got >= before);
            }
            Seen::Wrote { version } => {
                self.writes += 1;
                self.answer(event, version, |got, before| got > before);
            }
            Seen::Refused => {
                self.refused += 1;
                self.asked_at[event.seat.index()] = None;
            }
            Seen::Crashed => self.asked_at[event.seat.index()] = None,
            _ => {}
        }
    }

    fn answer(&mut self, event: &Event, got: Version, is_new: fn(Version, Version) -> bool) {
        let asked = self.asked_at[event.seat.index()].take();
        // An answer that nobody asked for is as if it had been asked for now.
        let before = asked.map_or(self.highest, |asked| asked.highest);
        if let Some(before) = before.filter(|&it| !is_new(got, it)) {
            self.broken.get_or_insert(WentBack { at: event.at, seat: event.seat, before, got });
            self.times.0 += 1;
        }
        self.highest = self.highest.max(Some(got));
    }

    /// How often an answer was older than one that was known.
    pub fn times(&self) -> u64 {
        self.times.0
    }

    /// What broke it, if anything did.
    pub fn broken(&self) -> Option<WentBack> {
        self.broken
    }

    /// How many reads and writes were done, and how many refused.
    pub fn counts(&self) -> (u64, u64, u64) {
        (self.reads, self.writes, self.refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITING: Seen = Seen::Writing { value: 1 };

    fn read(version: u64) -> Seen {
        Seen::Read { version: Version(version), value: 1 }
    }

    fn wrote(version: u64) -> Seen {
        Seen::Wrote { version: Version(version) }
    }

    fn judge(history: &[(u32, Seen)]) -> Option<WentBack> {
        let mut property = Versions::new(3);
        for (at, &(seat, seen)) in (0..).zip(history) {
            property.on(&Event { at: Time(at), seat: Seat(seat), what: seen.what() });
        }
        property.broken()
    }

    #[test]
    fn accepts_answers_that_never_go_back() {
        let history = [(0, WRITING), (0, wrote(3)), (1, Seen::Reading), (1, read(3))];
        assert_eq!(judge(&history), None);
        let again = [(2, Seen::Reading), (2, read(3)), (2, WRITING), (2, wrote(4))];
        assert_eq!(judge(&[&history[..], &again].concat()), None);
    }

    #[test]
    fn rejects_a_read_older_than_what_was_known_when_it_was_asked() {
        let history = [(0, WRITING), (0, wrote(3)), (1, Seen::Reading), (1, read(2))];
        assert_eq!(judge(&history).map(|it| it.before), Some(Version(3)));
    }

    #[test]
    fn a_read_asked_before_the_write_was_done_may_be_older() {
        let history = [(1, Seen::Reading), (0, WRITING), (0, wrote(3)), (1, read(2))];
        assert_eq!(judge(&history), None);
    }

    #[test]
    fn rejects_a_write_that_is_not_newer_and_reads_that_go_back() {
        let twice = [(0, WRITING), (0, wrote(3)), (1, WRITING), (1, wrote(3))];
        assert!(judge(&twice).is_some());
        let back = [(0, Seen::Reading), (0, read(3)), (1, Seen::Reading), (1, read(2))];
        assert!(judge(&back).is_some());
    }
}
