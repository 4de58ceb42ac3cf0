//! Liveness: every request is granted. Who still waits, and how often it was passed by.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Seat;

use crate::family::locks::Seen;
use crate::{Event, Time};

/// Watches who waits. A request that more than 100 x N later ones pass is starved.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// By seat: the request that waits there.
    requests: Vec<Request>,
    /// The waiting seats form a list in the order in which they asked, through `requests`, so that
    /// whoever enters finds those it passed at the front: algorithms that keep to the order pass
    /// nobody, and pay nothing here.
    oldest: Option<Seat>,
    newest: Option<Seat>,
    count: usize,
    next_number: u64,
    overtaken: u64,
    overtaken_most: u64,
    starved: Option<Starved>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Request {
    is_waiting: bool,
    number: u64,
    since: Time,
    overtaken: u64,
    older: Option<Seat>,
    newer: Option<Seat>,
}

/// The first request that was passed too often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Starved {
    /// When it was passed once too often.
    pub at: Time,
    /// The process whose request it is, by seat.
    pub seat: Seat,
    /// By how many later ones.
    pub overtaken: u64,
}

impl Waiting {
    /// For `members` processes.
    pub fn new(members: usize) -> Self {
        Self {
            requests: vec![Request::default(); members],
            oldest: None,
            newest: None,
            count: 0,
            next_number: 0,
            overtaken: 0,
            overtaken_most: 0,
            starved: None,
        }
    }

    /// Takes in an event.
    pub fn on(&mut self, event: &Event) {
        match Seen::of(event.what) {
            Seen::Requested => self.push(event.seat, event.at),
            Seen::Entered { .. } => {
                self.pass_older(event.at, event.seat);
                self.remove(event.seat);
            }
            Seen::Crashed => self.remove(event.seat),
            _ => {}
        }
    }

    /// How many wait.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Since when `seat` waits, if it does.
    pub fn since(&self, seat: Seat) -> Option<Time> {
        let request = &self.requests[seat.index()];
        request.is_waiting.then_some(request.since)
    }

    /// Who waits, longest first.
    pub fn iter(&self) -> impl Iterator<Item = Seat> + '_ {
        core::iter::successors(self.oldest, |seat| self.requests[seat.index()].newer)
    }

    /// How often an entry passed a request that had been made earlier.
    pub fn overtaken(&self) -> u64 {
        self.overtaken
    }

    /// The largest number of later entries that passed one request.
    pub fn overtaken_most(&self) -> u64 {
        self.overtaken_most
    }

    /// The first request that was passed too often, if one was.
    pub fn starved(&self) -> Option<Starved> {
        self.starved
    }

    fn push(&mut self, seat: Seat, since: Time) {
        self.remove(seat);
        let (number, older) = (self.next_number, self.newest);
        self.next_number += 1;
        self.requests[seat.index()] =
            Request { is_waiting: true, number, since, overtaken: 0, older, newer: None };
        match older {
            Some(older) => self.requests[older.index()].newer = Some(seat),
            None => self.oldest = Some(seat),
        }
        self.newest = Some(seat);
        self.count += 1;
    }

    fn remove(&mut self, seat: Seat) {
        let Request { is_waiting: true, older, newer, .. } = self.requests[seat.index()] else {
            return;
        };
        match older {
            Some(older) => self.requests[older.index()].newer = newer,
            None => self.oldest = newer,
        }
        match newer {
            Some(newer) => self.requests[newer.index()].older = older,
            None => self.newest = older,
        }
        self.requests[seat.index()].is_waiting = false;
        self.count -= 1;
    }

    fn pass_older(&mut self, at: Time, entered: Seat) {
        let number = self.requests[entered.index()].number;
        let limit = 100 * self.requests.len() as u64;
        let mut next = self.oldest;
        while let Some(seat) = next {
            let request = &mut self.requests[seat.index()];
            if request.number >= number {
                break;
            }
            request.overtaken += 1;
            self.overtaken += 1;
            self.overtaken_most = self.overtaken_most.max(request.overtaken);
            if request.overtaken > limit && self.starved.is_none() {
                self.starved = Some(Starved { at, seat, overtaken: request.overtaken });
            }
            next = request.newer;
        }
    }
}

#[cfg(test)]
mod tests {
    use conclave_core::Fence;

    use super::*;

    const IN: Seen = Seen::Entered { fence: Fence(1) };

    fn feed(property: &mut Waiting, seat: u32, seen: Seen) {
        property.on(&Event { at: Time(0), seat: Seat(seat), what: seen.what() });
    }

    #[test]
    fn keeps_those_who_wait_in_the_order_in_which_they_asked() {
        let mut property = Waiting::new(4);
        for seat in [2, 0, 3, 1] {
            feed(&mut property, seat, Seen::Requested);
        }
        feed(&mut property, 3, Seen::Crashed);
        assert_eq!(property.iter().collect::<Vec<_>>(), [2, 0, 1].map(Seat));
        feed(&mut property, 0, IN);
        assert_eq!(property.iter().collect::<Vec<_>>(), [2, 1].map(Seat));
        assert_eq!((property.count(), property.overtaken()), (2, 1), "0 passed 2");
    }

    #[test]
    fn rejects_a_request_that_is_passed_more_than_a_hundred_times_n() {
        let mut property = Waiting::new(2);
        feed(&mut property, 0, Seen::Requested);
        for round in 1..=201 {
            assert_eq!(property.starved(), None, "before round {round}");
            feed(&mut property, 1, Seen::Requested);
            feed(&mut property, 1, IN);
        }
        assert_eq!(property.starved().map(|starved| starved.overtaken), Some(201));
    }

    #[test]
    fn turns_starve_nobody() {
        let mut property = Waiting::new(2);
        feed(&mut property, 0, Seen::Requested);
        for seat in [1, 0].repeat(1_000) {
            feed(&mut property, seat, Seen::Requested);
            feed(&mut property, 1 - seat, IN);
        }
        assert_eq!((property.overtaken(), property.starved()), (0, None));
    }
}
