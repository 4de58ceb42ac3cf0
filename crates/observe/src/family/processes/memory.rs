//! What a search remembers of bare processes.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_core::clock::VectorClock;
use conclave_core::process::{CLOCK_CONDITION, Reading, STRONG_CLOCK_CONDITION, TURNS};

use super::{LESS_FOR_NOTHING, NOT_LESS, OUT_OF_TURN, PRINTED, RECEIVED, SENT, print_of};
use crate::property::{Mismatch, Turns, compare};
use crate::{Breach, Brief, Memory, Said, Time, What};

/// What was printed last, and all events with what clocks showed.
///
/// A search shows no messages, so that the order of events is taken from what processes say: which
/// message they sent, and which they received. In a run the judge sees the messages themselves.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ProcessMemory {
    turns: Option<Turns>,
    clocks: Option<Clocks>,
    broken: Option<Breach>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Clocks {
    is_strong: bool,
    /// By seat: its events in their order. How those of several mix is no part of what is
    /// remembered.
    events: Vec<Vec<(VectorClock, Reading)>>,
    /// By sender and number: what its sending has in its past.
    sendings: BTreeMap<(Seat, u64), VectorClock>,
}

impl ProcessMemory {
    pub(super) fn new(brief: &Brief<'_>) -> Self {
        let (members, promises) = (brief.ids.len(), brief.promises);
        let clocks = || Clocks {
            is_strong: promises.keeps(STRONG_CLOCK_CONDITION),
            events: vec![Vec::new(); members],
            sendings: BTreeMap::new(),
        };
        Self {
            turns: promises.keeps(TURNS).then(|| Turns::new(members)),
            clocks: promises.keeps(CLOCK_CONDITION).then(clocks),
            broken: None,
        }
    }

    fn told(&mut self, seat: Seat, said: &Said) {
        if said.word.code == PRINTED.code {
            if let Some(turns) = &mut self.turns {
                turns.printed(Time::ZERO, seat, print_of(said));
                let broken = turns.broken().map(|_| OUT_OF_TURN);
                self.broken = self.broken.or(broken);
            }
        } else if let Some(clocks) = &mut self.clocks {
            let found = clocks.stamp(seat, said).map(|found| match found {
                Mismatch::NotLess => NOT_LESS,
                Mismatch::LessForNothing => LESS_FOR_NOTHING,
            });
            self.broken = self.broken.or(found);
        }
    }
}

impl Clocks {
    fn stamp(&mut self, seat: Seat, said: &Said) -> Option<Mismatch> {
        let members = self.events.len();
        let last = self.events[seat.index()].last();
        let mut past = last.map_or_else(|| VectorClock::new(members), |(past, _)| past.clone());
        let [reading, number] = said.numbers;
        if said.word.code == RECEIVED.code {
            let sending = said.whom.and_then(|from| self.sendings.get(&(from, number)));
            sending.into_iter().for_each(|sending| past.merge(sending));
        }
        past.tick(seat);
        if said.word.code == SENT.code {
            self.sendings.insert((seat, number), past.clone());
        }
        let new = (past, Reading(reading));
        let earlier = self.events.iter().flatten();
        let found = earlier.filter_map(|(past, reading)| {
            compare(self.is_strong, (past, *reading), (&new.0, new.1))
        });
        let found = found.min();
        self.events[seat.index()].push(new);
        found
    }
}

impl Memory for ProcessMemory {
    fn on(&mut self, seat: Seat, what: What) {
        match what {
            What::Told(said) => self.told(seat, &said),
            What::Returned | What::Replaced => {
                if let Some(turns) = &mut self.turns {
                    turns.began_anew(seat);
                }
            }
            _ => {}
        }
    }

    fn broken(&self) -> Option<Breach> {
        self.broken
    }
}
