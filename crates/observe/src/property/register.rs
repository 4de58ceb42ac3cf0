//! Safety of the value that leaders keep, judged by the values themselves: there is one order of
//! all reads and writes, in which each lies between its question and its answer, and in which every
//! read finds what was written last.
//!
//! Every value is written once, so it is enough to look at what belongs to each value: its write
//! and its reads (Gibbons and Korach, *Testing Shared Memories*, 1997). If one of these ended
//! before another began, the value was there all the time in between, and no other can have been:
//! such times must not overlap, and no other value can have come and gone within one.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::Event;
use crate::family::elections::Seen;

/// Watches reads and writes. Keeps each of them: memory grows with their number.
#[derive(Clone, Debug)]
pub struct Register {
    /// How many events there were: what comes before what.
    clock: u64,
    done: Vec<Operation>,
    /// By seat: what it was asked for.
    asked: Vec<Option<Asked>>,
    broken: Option<NoOrder>,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    at: u64,
    /// The value to be written; `None` for a read.
    writes: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Operation {
    value: u64,
    is_write: bool,
    start: u64,
    /// [`NEVER`] if nobody was told.
    end: u64,
}

const NEVER: u64 = u64::MAX;

/// Two values that cannot have followed each other; or one that nobody wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoOrder {
    /// Each was there after the other.
    Both(u64, u64),
    /// It was read, but not written before.
    FromNowhere(u64),
}

impl Register {
    /// For `members` processes.
    pub fn new(members: usize) -> Self {
        Self { clock: 0, done: Vec::new(), asked: vec![None; members], broken: None }
    }

    /// Takes in an event.
    pub fn on(&mut self, event: &Event) {
        self.clock += 1;
        let asked = &mut self.asked[event.seat.index()];
        match Seen::of(event.what) {
            Seen::Reading => *asked = Some(Asked { at: self.clock, writes: None }),
            Seen::Writing { value } => {
                *asked = Some(Asked { at: self.clock, writes: Some(value) });
            }
            Seen::Read { value, .. } => {
                let start = asked.take().map_or(self.clock, |asked| asked.at);
                let end = self.clock;
                self.done.push(Operation { value, is_write: false, start, end });
            }
            Seen::Wrote { .. } => self.end_write(event, self.clock),
            // Nobody knows whether it was done.
            Seen::Refused | Seen::Crashed => self.end_write(event, NEVER),
            _ => {}
        }
    }

    fn end_write(&mut self, event: &Event, end: u64) {
        let asked = self.asked[event.seat.index()].take();
        if let Some(Asked { at: start, writes: Some(value) }) = asked {
            self.done.push(Operation { value, is_write: true, start, end });
        }
    }

    /// The run is over: looks for an order.
    pub fn on_end(&mut self) {
        let under_way = self.asked.iter().flatten().filter_map(|asked| {
            let value = asked.writes?;
            Some(Operation { value, is_write: true, start: asked.at, end: NEVER })
        });
        let all: Vec<Operation> = self.done.iter().copied().chain(under_way).collect();
        self.broken = find_conflict(&all);
    }

    /// What broke it, if anything did; known at the end.
    pub fn broken(&self) -> Option<NoOrder> {
        self.broken
    }
}

/// All that belongs to one value.
#[derive(Clone, Copy, Debug)]
struct Zone {
    /// When it was asked to be written.
    written: u64,
    first_end: u64,
    last_start: u64,
    is_known: bool,
}

fn find_conflict(operations: &[Operation]) -> Option<NoOrder> {
    // What is there before anything is written.
    let first = Zone { written: 0, first_end: 0, last_start: 0, is_known: true };
    let mut zones = BTreeMap::from([(0, first)]);
    for operation in operations.iter().filter(|operation| operation.is_write) {
        let Operation { value, start, end, .. } = *operation;
        let is_known = end != NEVER;
        zones.insert(value, Zone { written: start, first_end: end, last_start: start, is_known });
    }
    for read in operations.iter().filter(|operation| !operation.is_write) {
        let zone = zones.get_mut(&read.value).filter(|zone| zone.written < read.end);
        let Some(zone) = zone else { return Some(NoOrder::FromNowhere(read.value)) };
        zone.first_end = zone.first_end.min(read.end);
        zone.last_start = zone.last_start.max(read.start);
        zone.is_known = true;
    }
    let known =
        || zones.iter().filter(|(_, zone)| zone.is_known).map(|(&value, &zone)| (value, zone));
    let mut lasting: Vec<(u64, Zone)> =
        known().filter(|(_, zone)| zone.first_end < zone.last_start).collect();
    lasting.sort_by_key(|(_, zone)| zone.first_end);
    let overlap = |pair: &&[(u64, Zone)]| pair[1].1.first_end < pair[0].1.last_start;
    if let Some(pair) = lasting.windows(2).find(overlap) {
        return Some(NoOrder::Both(pair[0].0, pair[1].0));
    }
    for (value, brief) in known().filter(|(_, zone)| zone.first_end >= zone.last_start) {
        // The last that began before this one did; it alone can contain it.
        let next = lasting.partition_point(|(_, zone)| zone.first_end < brief.last_start);
        let around = next.checked_sub(1).map(|place| lasting[place]);
        if let Some((other, _)) = around.filter(|(_, zone)| brief.first_end < zone.last_start) {
            return Some(NoOrder::Both(other, value));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use conclave_core::Seat;
    use conclave_core::election::Version;

    use super::*;
    use crate::Time;

    const READS: Seen = Seen::Reading;
    const DONE: Seen = Seen::Wrote { version: Version(0) };

    fn writes(value: u64) -> Seen {
        Seen::Writing { value }
    }

    fn read(value: u64) -> Seen {
        Seen::Read { version: Version(0), value }
    }

    fn judge(history: &[(u32, Seen)]) -> Option<NoOrder> {
        let mut property = Register::new(4);
        for (at, &(seat, seen)) in (0..).zip(history) {
            property.on(&Event { at: Time(at), seat: Seat(seat), what: seen.what() });
        }
        property.on_end();
        property.broken()
    }

    #[test]
    fn accepts_reads_of_what_was_written_last() {
        let history =
            [(0, READS), (0, read(0)), (0, writes(1)), (0, DONE), (1, READS), (1, read(1))];
        assert_eq!(judge(&history), None);
        let again = [(2, writes(2)), (1, READS), (1, read(1)), (1, READS), (1, read(2)), (2, DONE)];
        assert_eq!(judge(&[&history[..], &again].concat()), None, "it was under way");
    }

    #[test]
    fn rejects_a_read_of_what_was_overwritten_before_it_was_asked() {
        let both = [(0, writes(1)), (0, DONE), (1, writes(2)), (1, DONE)];
        let late = [&both[..], &[(2, READS), (2, read(1))]].concat();
        assert_eq!(judge(&late), Some(NoOrder::Both(1, 2)));
    }

    #[test]
    fn rejects_a_write_that_was_acknowledged_and_lost() {
        let lost = [(0, writes(1)), (0, DONE), (1, READS), (1, read(0))];
        assert_eq!(judge(&lost), Some(NoOrder::Both(0, 1)));
    }

    #[test]
    fn rejects_reads_that_go_back_and_forth() {
        let two = [(0, writes(1)), (1, writes(2))];
        let seen = [(2, READS), (2, read(1)), (2, READS), (2, read(2)), (2, READS), (2, read(1))];
        assert!(judge(&[&two[..], &seen].concat()).is_some());
    }

    #[test]
    fn a_write_of_which_nobody_knows_may_have_been_done_or_not() {
        let refused = [(0, writes(1)), (0, Seen::Refused)];
        assert_eq!(judge(&[&refused[..], &[(1, READS), (1, read(0))]].concat()), None);
        assert_eq!(judge(&[&refused[..], &[(1, READS), (1, read(1))]].concat()), None);
    }

    #[test]
    fn rejects_a_value_from_nowhere_or_from_the_future() {
        assert_eq!(judge(&[(0, READS), (0, read(7))]), Some(NoOrder::FromNowhere(7)));
        let early = [(0, READS), (0, read(7)), (1, writes(7)), (1, DONE)];
        assert_eq!(judge(&early), Some(NoOrder::FromNowhere(7)));
    }
}
