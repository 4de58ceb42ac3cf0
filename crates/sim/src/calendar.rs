//! A queue of things to come, for random times.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use conclave_observe::Time;

/// Days in the calendar's year; a power of two.
const DAYS: usize = 4096;
const NONE: u32 = u32::MAX;

/// A calendar queue (R. Brown, CACM 31(10), 1988): things to come are thrown into the list of their
/// day, unsorted, and a day is sorted when it dawns. Pushing and popping cost a constant, whatever
/// the number in the queue; a heap would cost its logarithm in cache misses.
///
/// What lies more than a year ahead waits in a heap. Equal times come out in the order in which
/// they went in.
#[derive(Debug)]
pub struct Calendar<T> {
    /// A day is `1 << shift` nanoseconds long.
    shift: u32,
    /// The day that has dawned, counted from the beginning of time.
    today: u64,
    /// What happens today, latest first.
    due: Vec<Key>,
    /// By day of the year: the first entry of its list.
    days: Vec<u32>,
    /// One bit per day of the year: whether its list has an entry.
    marked: Vec<u64>,
    /// Entries of all lists, and free ones.
    entries: Vec<Scheduled<T>>,
    free: u32,
    later: BinaryHeap<Reverse<Key>>,
    len: usize,
    pushed: u64,
}

/// When, in which order among equals, and which entry.
type Key = (Time, u64, u32);

#[derive(Debug)]
struct Scheduled<T> {
    at: Time,
    order: u64,
    next: u32,
    item: Option<T>,
}

impl<T> Calendar<T> {
    /// How much memory one thing to come takes, with its key on its day.
    pub const ITEM_BYTES: usize = size_of::<Scheduled<T>>() + size_of::<Key>();

    /// For things that mostly lie less than `horizon` ahead.
    pub fn new(horizon: Time) -> Self {
        let day = (horizon.0 / (DAYS as u64 / 2)).max(1);
        Self {
            shift: day.ilog2(),
            today: 0,
            due: Vec::new(),
            days: vec![NONE; DAYS],
            marked: vec![0; DAYS / 64],
            entries: Vec::new(),
            free: NONE,
            later: BinaryHeap::new(),
            len: 0,
            pushed: 0,
        }
    }

    /// How many things are to come.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// All that is to come, in its order.
    pub fn items(&self) -> Vec<&T> {
        let entries = self.entries.iter().enumerate();
        let mut places: Vec<_> = entries.map(|(place, it)| (it.at, it.order, place)).collect();
        places.sort_unstable();
        places.into_iter().filter_map(|(.., place)| self.entries[place].item.as_ref()).collect()
    }

    /// Takes the first out of which that is so, whenever it would have come. Rare, so that it may
    /// cost as much as there is to come.
    pub fn remove(&mut self, is_it: impl Fn(&T) -> bool) -> Option<T> {
        let today = self.today;
        let (mut removed, mut kept) = (None, Vec::with_capacity(self.len));
        loop {
            let at = self.next_at();
            match self.pop() {
                Some(item) if removed.is_none() && is_it(&item) => removed = Some(item),
                Some(item) => kept.push((at, item)),
                None => break,
            }
        }
        // Nothing is left in any list, so the day can begin again.
        self.today = today;
        kept.into_iter().for_each(|(at, item)| self.push(at, item));
        removed
    }

    /// Adds something that happens at `at`, which must not be before what was popped last.
    #[inline]
    pub fn push(&mut self, at: Time, item: T) {
        let order = self.pushed;
        self.pushed += 1;
        self.len += 1;
        let index = self.store(at, order, item);
        let day = at.0 >> self.shift;
        if day <= self.today {
            let place = self.due.partition_point(|key| (key.0, key.1) > (at, order));
            self.due.insert(place, (at, order, index));
        } else if day - self.today < DAYS as u64 {
            self.link(day, index);
        } else {
            self.later.push(Reverse((at, order, index)));
        }
    }

    /// When the next thing happens; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next_at(&mut self) -> Time {
        if self.due.is_empty() {
            self.dawn();
        }
        self.due.last().map_or(Time::NEVER, |key| key.0)
    }

    /// Takes out the next thing.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.due.is_empty() {
            self.dawn();
        }
        let (_, _, index) = self.due.pop()?;
        let entry = &mut self.entries[index as usize];
        entry.next = self.free;
        self.free = index;
        self.len -= 1;
        entry.item.take()
    }

    fn store(&mut self, at: Time, order: u64, item: T) -> u32 {
        let entry = Scheduled { at, order, next: NONE, item: Some(item) };
        if self.free == NONE {
            self.entries.push(entry);
            u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 messages are in flight")
        } else {
            let index = self.free;
            self.free = self.entries[index as usize].next;
            self.entries[index as usize] = entry;
            index
        }
    }

    #[inline]
    fn link(&mut self, day: u64, index: u32) {
        let slot = slot_of(day);
        self.entries[index as usize].next = self.days[slot];
        self.days[slot] = index;
        self.marked[slot / 64] |= 1 << (slot % 64);
    }

    /// Goes on to the next day on which something happens.
    fn dawn(&mut self) {
        let ahead = self.next_marked();
        let later = self.later.peek().map(|Reverse(key)| key.0.0 >> self.shift);
        let Some(day) = ahead.into_iter().chain(later).min() else { return };
        self.today = day;
        if ahead == Some(day) {
            let slot = slot_of(day);
            self.marked[slot / 64] &= !(1 << (slot % 64));
            let mut index = core::mem::replace(&mut self.days[slot], NONE);
            while index != NONE {
                let entry = &self.entries[index as usize];
                self.due.push((entry.at, entry.order, index));
                index = entry.next;
            }
        }
        while let Some(Reverse(key)) = self.later.peek() {
            if key.0.0 >> self.shift != day {
                break;
            }
            self.due.extend(self.later.pop().map(|Reverse(key)| key));
        }
        if self.due.len() > 1 {
            self.due.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// The next day within a year whose list has an entry.
    fn next_marked(&self) -> Option<u64> {
        let first = slot_of(self.today + 1);
        let words = self.marked.len();
        let before = self.marked[first / 64] & ((1 << (first % 64)) - 1);
        let after = self.marked[first / 64] & !((1 << (first % 64)) - 1);
        let others = (1..words).map(|step| (first / 64 + step) % words);
        let (word, bits) = [(first / 64, after)]
            .into_iter()
            .chain(others.map(|word| (word, self.marked[word])))
            .chain([(first / 64, before)])
            .find(|&(_, bits)| bits != 0)?;
        let slot = word * 64 + bits.trailing_zeros() as usize;
        let ahead = (slot + DAYS - first) % DAYS;
        Some(self.today + 1 + ahead as u64)
    }
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "it is taken modulo the days of a year")]
fn slot_of(day: u64) -> usize {
    (day as usize) % DAYS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Stream;

    /// A dumb twin: a heap of (time, order).
    fn behaves_like_a_heap(horizon: Time, reach: u64, seed: u64) {
        let mut calendar = Calendar::new(horizon);
        let mut twin = BinaryHeap::new();
        let mut stream = Stream::new(seed, "calendar");
        let mut now = Time::ZERO;
        for order in 0..20_000_u64 {
            // Bursts and droughts, so that the queue is empty now and then.
            if stream.below(1_000) < 480 + 60 * (order / 1_000 % 2) {
                let at = now + Time(stream.below(reach));
                calendar.push(at, order);
                twin.push(Reverse((at, order)));
            } else if let Some(Reverse((at, order))) = twin.pop() {
                assert_eq!(calendar.next_at(), at);
                assert_eq!(calendar.pop(), Some(order));
                now = at;
            } else {
                assert_eq!((calendar.next_at(), calendar.pop()), (Time::NEVER, None));
            }
            assert_eq!(calendar.len(), twin.len());
        }
    }

    #[test]
    fn things_come_out_by_time_and_equals_in_the_order_they_went_in() {
        for seed in 0..10 {
            behaves_like_a_heap(Time(1_000), 1_000, seed);
            behaves_like_a_heap(Time(1_000_000), 1_000_000, seed);
        }
    }

    #[test]
    fn what_lies_beyond_the_horizon_is_not_forgotten() {
        for seed in 0..10 {
            behaves_like_a_heap(Time(100), 1_000_000, seed);
            behaves_like_a_heap(Time(1), 50_000, seed);
        }
    }

    #[test]
    fn memory_is_used_again() {
        let mut calendar = Calendar::new(Time(100));
        for at in 0..10_000 {
            calendar.push(Time(at), ());
            calendar.push(Time(at + 50), ());
            calendar.pop();
            calendar.pop();
        }
        assert!(calendar.entries.len() <= 2, "{} entries", calendar.entries.len());
    }
}
