//! Ordering: if request A happened before request B, A is granted first.
//!
//! Happened-before is judged by vector clocks that the judge keeps itself, from the messages that
//! it sees; an algorithm's own clock is not asked.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_core::clock::VectorClock;

use crate::family::locks::Seen;
use crate::{Event, MessageId, Time, What};

/// Watches the order of grants. Costs a vector clock per message in flight.
#[derive(Clone, Debug)]
pub struct Ordering {
    /// What each process has seen; shared with the messages that it sent since it last saw more.
    clocks: Vec<Rc<VectorClock>>,
    /// What the sender had seen when it sent, and how many copies are still to arrive.
    in_flight: BTreeMap<MessageId, (Rc<VectorClock>, u32)>,
    /// What the process had seen when it asked, while it waits.
    waiting: Vec<Option<Rc<VectorClock>>>,
    overtakings: u64,
    first: Option<Overtaking>,
}

/// A grant that came before that of a request which had happened before its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overtaking {
    /// When it was granted.
    pub at: Time,
    /// Who was granted.
    pub granted: Seat,
    /// Whose request had happened before, and still waits.
    pub passed: Seat,
}

impl Ordering {
    /// For `members` processes.
    pub fn new(members: usize) -> Self {
        Self {
            // All share one clock that has seen nothing: only who takes part pays for its own.
            clocks: alloc::vec![Rc::new(VectorClock::new(members)); members],
            in_flight: BTreeMap::new(),
            waiting: alloc::vec![None; members],
            overtakings: 0,
            first: None,
        }
    }

    /// Takes in an event.
    #[inline(never)]
    pub fn on(&mut self, event: &Event) {
        let seat = event.seat;
        match event.what {
            What::Sent { message, .. } => {
                self.in_flight.insert(message, (self.clocks[seat.index()].clone(), 1));
            }
            What::Duplicated { message, .. } => {
                if let Some((_, copies)) = self.in_flight.get_mut(&message) {
                    *copies += 1;
                }
            }
            What::Lost { message, .. } => drop(self.arrive(message)),
            What::Received { message, .. } => {
                let clock = self.arrive(message);
                let mine = Rc::make_mut(&mut self.clocks[seat.index()]);
                if let Some(clock) = clock {
                    mine.merge(&clock);
                }
                mine.tick(seat);
            }
            what => match Seen::of(what) {
                Seen::Requested => {
                    Rc::make_mut(&mut self.clocks[seat.index()]).tick(seat);
                    self.waiting[seat.index()] = Some(self.clocks[seat.index()].clone());
                }
                Seen::Entered { .. } => self.on_grant(event.at, seat),
                Seen::Crashed => self.waiting[seat.index()] = None,
                _ => {}
            },
        }
    }

    fn arrive(&mut self, message: MessageId) -> Option<Rc<VectorClock>> {
        let (clock, copies) = self.in_flight.get_mut(&message)?;
        let clock = clock.clone();
        *copies -= 1;
        if *copies == 0 {
            self.in_flight.remove(&message);
        }
        Some(clock)
    }

    fn on_grant(&mut self, at: Time, granted: Seat) {
        let Some(asked) = self.waiting[granted.index()].take() else { return };
        for (index, waiting) in self.waiting.iter().enumerate() {
            let (passed, Some(earlier)) = (Seat::at(index), waiting) else { continue };
            // A request is an event of its own process, so to have seen it is to have seen that
            // many of that process's events: one comparison instead of one per member.
            if earlier.of(passed) <= asked.of(passed) {
                self.overtakings += 1;
                self.first.get_or_insert(Overtaking { at, granted, passed });
            }
        }
    }

    /// How often a request was granted before one that had happened before it.
    pub fn overtakings(&self) -> u64 {
        self.overtakings
    }

    /// The first time that this happened, if it did.
    pub fn first(&self) -> Option<Overtaking> {
        self.first
    }
}

#[cfg(test)]
mod tests {
    use conclave_core::Fence;

    use super::*;

    fn judge(history: &[(u32, What)]) -> u64 {
        let mut property = Ordering::new(3);
        for (at, &(seat, what)) in (0..).zip(history) {
            property.on(&Event { at: Time(at), seat: Seat(seat), what });
        }
        assert_eq!(property.overtakings() > 0, property.first().is_some());
        property.overtakings()
    }

    const ASKS: What = Seen::Requested.what();
    const IN: What = Seen::Entered { fence: Fence(1) }.what();

    fn sent(to: u32) -> What {
        What::Sent { message: MessageId::new(Seat(0), 1), to: Seat(to), kind: 0, copy: false }
    }

    fn received(from: u32) -> What {
        What::Received { message: MessageId::new(Seat(0), 1), from: Seat(from), kind: 0 }
    }

    #[test]
    fn rejects_a_grant_that_passes_a_request_which_happened_before() {
        let asked = [(0, ASKS), (0, sent(1)), (1, received(0)), (1, ASKS)];
        let wrong = [&asked[..], &[(1, IN), (0, IN)]].concat();
        let right = [&asked[..], &[(0, IN), (1, IN)]].concat();
        assert_eq!(judge(&wrong), 1);
        assert_eq!(judge(&right), 0);
    }

    #[test]
    fn requests_that_know_nothing_of_each_other_may_be_granted_in_any_order() {
        let asked = [(0, ASKS), (1, ASKS), (0, sent(1)), (1, received(0))];
        assert_eq!(judge(&[&asked[..], &[(1, IN), (0, IN)]].concat()), 0);
    }

    #[test]
    fn a_message_sent_before_the_request_does_not_tell_of_it() {
        let history = [(0, sent(1)), (0, ASKS), (1, received(0)), (1, ASKS)];
        assert_eq!(judge(&[&history[..], &[(1, IN)]].concat()), 0);
    }

    #[test]
    fn a_chain_of_two_messages_tells_as_well_as_one() {
        let second =
            What::Sent { message: MessageId::new(Seat(1), 1), to: Seat(2), kind: 0, copy: false };
        let arrived =
            What::Received { message: MessageId::new(Seat(1), 1), from: Seat(1), kind: 0 };
        let asked = [(0, ASKS), (0, sent(1)), (1, received(0)), (1, second)];
        let history = [&asked[..], &[(2, arrived), (2, ASKS), (2, IN)]].concat();
        assert_eq!(judge(&history), 1);
    }
}
