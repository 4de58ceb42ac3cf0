//! Logical clocks: what happened before shows less, and for vectors the other way round too.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_core::clock::VectorClock;
use conclave_core::process::Reading;

use crate::{Event, MessageId, Said, Time, What};

/// Watches logical clocks beside the true order of events, which it keeps by vector clocks of its
/// own.
#[derive(Clone, Debug)]
pub struct ClockCondition {
    is_strong: bool,
    /// By seat: what its last event has in its past, itself included.
    pasts: Vec<VectorClock>,
    /// What the sending of each message has in its past.
    sendings: BTreeMap<MessageId, VectorClock>,
    events: Vec<StampedEvent>,
    broken: Option<WrongReading>,
}

/// An event, and what the clock of its process showed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StampedEvent {
    /// When.
    pub at: Time,
    /// Where.
    pub seat: Seat,
    /// The how many of its process, from 1.
    pub number: u32,
    /// What was said of it.
    pub said: Said,
    /// What its clock showed.
    pub reading: Reading,
    /// All events in its past, itself included.
    past: VectorClock,
}

/// How two events lie to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// The first happened before the second.
    Before,
    /// The second happened before the first.
    After,
    /// Neither could have influenced the other.
    Concurrent,
}

/// Two events whose clocks say something else than what happened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WrongReading {
    /// When the later of them was seen.
    pub at: Time,
    /// Where the earlier one was, and what its clock showed.
    pub earlier: (Seat, Reading),
    /// Where the later one was, and what its clock showed.
    pub later: (Seat, Reading),
    /// Whether one happened before the other, and its clock did not show less; otherwise it is the
    /// other way round.
    pub happened_before: bool,
}

/// What is wrong with the clocks of two events, the earlier of which was seen first.
pub(crate) fn compare(
    is_strong: bool,
    (past, reading): (&VectorClock, Reading),
    (later_past, later_reading): (&VectorClock, Reading),
) -> Option<Mismatch> {
    let happened_before = past.happened_before(later_past);
    let shows_less = reading.is_before(later_reading);
    let shows_more = later_reading.is_before(reading);
    match happened_before {
        true if !shows_less => Some(Mismatch::NotLess),
        false if is_strong && (shows_less || shows_more) => Some(Mismatch::LessForNothing),
        _ => None,
    }
}

/// What can be wrong with two clocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Mismatch {
    /// One event happened before the other, and its clock did not show less.
    NotLess,
    /// Neither happened before the other, and one clock showed less.
    LessForNothing,
}

impl ClockCondition {
    /// For `members` processes, with clocks that promise the strong condition or the weak one.
    pub fn new(members: usize, is_strong: bool) -> Self {
        Self {
            is_strong,
            pasts: vec![VectorClock::new(members); members],
            sendings: BTreeMap::new(),
            events: Vec::new(),
            broken: None,
        }
    }

    /// Takes in an event.
    pub fn on(&mut self, event: &Event) {
        let Event { at, seat, what } = *event;
        let past = &mut self.pasts[seat.index()];
        match what {
            What::Sent { message, .. } => {
                self.sendings.insert(message, past.clone());
            }
            What::Received { message, .. } => {
                if let Some(sending) = self.sendings.get(&message) {
                    past.merge(sending);
                }
                past.tick(seat);
            }
            What::Asked(_) | What::TimerFired | What::Returned | What::Replaced => past.tick(seat),
            What::Told(said) if !said.word.numbers.is_empty() => self.stamp(at, seat, said),
            _ => {}
        }
    }

    fn stamp(&mut self, at: Time, seat: Seat, said: Said) {
        let (past, reading) = (self.pasts[seat.index()].clone(), Reading(said.numbers[0]));
        let wrong = self.events.iter().find_map(|it| {
            let found = compare(self.is_strong, (&it.past, it.reading), (&past, reading))?;
            Some(WrongReading {
                at,
                earlier: (it.seat, it.reading),
                later: (seat, reading),
                happened_before: found == Mismatch::NotLess,
            })
        });
        self.broken = self.broken.or(wrong);
        let number = past.of(seat);
        self.events.push(StampedEvent { at, seat, number, said, reading, past });
    }

    /// All events, in the order in which they were seen.
    pub fn events(&self) -> &[StampedEvent] {
        &self.events
    }

    /// The first pair whose clocks are wrong.
    pub fn broken(&self) -> Option<WrongReading> {
        self.broken
    }
}

impl StampedEvent {
    /// How this one lies to another.
    pub fn relation(&self, other: &Self) -> Relation {
        if self.past.happened_before(&other.past) {
            Relation::Before
        } else if other.past.happened_before(&self.past) {
            Relation::After
        } else {
            Relation::Concurrent
        }
    }
}
