//! How long everybody had to wait.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Seat;

use super::Histogram;
use crate::family::locks::Seen;
use crate::{Event, Time};

/// Measures waits and hand-overs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delays {
    /// From the request to the entry, while nobody else held or wanted at any moment of it.
    pub client: Histogram,
    /// From asking to leave to being out: how long `leave` keeps the caller.
    pub leave: Histogram,
    /// From one holder's leaving to the entry of the next, if that one was waiting already.
    pub sync: Histogram,
    /// From the request to the entry, whatever others did.
    pub wait: Histogram,
    entries: u64,
    first_entry: Time,
    last_entry: Time,
    states: Vec<State>,
    /// How many are not idle.
    busy: usize,
    /// The one that waits and has been the only busy one since it asked.
    lone: Option<Seat>,
    /// When the lock last became free, if nobody has entered since.
    free_since: Option<Time>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    Waiting { since: Time },
    Holding,
    Leaving { since: Time },
}

impl Delays {
    /// For `members` processes.
    pub fn new(members: usize) -> Self {
        Self {
            client: Histogram::default(),
            leave: Histogram::default(),
            sync: Histogram::default(),
            wait: Histogram::default(),
            entries: 0,
            first_entry: Time::ZERO,
            last_entry: Time::ZERO,
            states: vec![State::Idle; members],
            busy: 0,
            lone: None,
            free_since: None,
        }
    }

    /// Takes in an event.
    pub fn on(&mut self, event: &Event) {
        let Event { at, seat, what } = *event;
        match Seen::of(what) {
            Seen::Requested => {
                self.lone = (self.busy == 0).then_some(seat);
                self.become_(seat, State::Waiting { since: at });
            }
            Seen::Entered { .. } => self.on_entry(at, seat),
            Seen::Leaving => self.become_(seat, State::Leaving { since: at }),
            Seen::Left => {
                if let State::Leaving { since } = self.states[seat.index()] {
                    self.leave.record(at - since);
                }
                self.become_(seat, State::Idle);
                self.free_since = Some(at);
            }
            Seen::Crashed => self.become_(seat, State::Idle),
            _ => {}
        }
    }

    /// Since when the client delay lasts that would end if that process entered now: since it
    /// asked, if it was alone all the time.
    pub fn client_since(&self, seat: Seat) -> Option<Time> {
        let since = self.waits_since(seat)?;
        (self.lone == Some(seat)).then_some(since)
    }

    /// Since when the synchronisation delay lasts that would end if that process entered now: since
    /// the lock was left, if it waited already.
    pub fn sync_since(&self, seat: Seat) -> Option<Time> {
        let since = self.waits_since(seat)?;
        self.free_since.filter(|&free| since <= free)
    }

    fn waits_since(&self, seat: Seat) -> Option<Time> {
        match self.states[seat.index()] {
            State::Waiting { since } => Some(since),
            _ => None,
        }
    }

    fn on_entry(&mut self, at: Time, seat: Seat) {
        if let Some(since) = self.waits_since(seat) {
            self.wait.record(at - since);
        }
        if let Some(since) = self.client_since(seat) {
            self.client.record(at - since);
        }
        if let Some(free) = self.sync_since(seat) {
            self.sync.record(at - free);
        }
        if self.entries == 0 {
            self.first_entry = at;
        }
        self.last_entry = at;
        self.entries += 1;
        self.free_since = None;
        self.become_(seat, State::Holding);
    }

    fn become_(&mut self, seat: Seat, state: State) {
        let old = core::mem::replace(&mut self.states[seat.index()], state);
        self.busy += usize::from(state != State::Idle);
        self.busy -= usize::from(old != State::Idle);
    }

    /// How many entries there were.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// When the last one was.
    pub fn last_entry(&self) -> Time {
        self.last_entry
    }

    /// Entries per message delay (or millisecond), from the first entry to the last.
    #[allow(clippy::cast_precision_loss, reason = "a rate is printed with few digits")]
    pub fn throughput(&self) -> Option<f64> {
        let span = (self.last_entry - self.first_entry).in_delays();
        (self.entries > 1 && span > 0.0).then(|| (self.entries - 1) as f64 / span)
    }
}

#[cfg(test)]
mod tests {
    use conclave_core::Fence;

    use super::*;

    const IN: Seen = Seen::Entered { fence: Fence(1) };

    fn measure(history: &[(u64, u32, Seen)]) -> Delays {
        let mut delays = Delays::new(3);
        for &(at, seat, seen) in history {
            delays.on(&Event { at: Time(at), seat: Seat(seat), what: seen.what() });
        }
        delays
    }

    #[test]
    fn a_lone_wait_is_a_client_delay_and_a_disturbed_one_is_not() {
        let lone = measure(&[(0, 0, Seen::Requested), (2, 0, IN)]);
        assert_eq!(lone.client.max(), Some(Time(2)));
        let joined = measure(&[(0, 0, Seen::Requested), (1, 1, Seen::Requested), (2, 0, IN)]);
        assert_eq!((joined.client.count(), joined.wait.count()), (0, 1));
        let behind = [(0, 0, Seen::Requested), (2, 0, IN), (3, 1, Seen::Requested)];
        let behind = measure(&[&behind[..], &[(4, 0, Seen::Left), (5, 1, IN)]].concat());
        assert_eq!(behind.client.count(), 1, "only the first was alone");
    }

    #[test]
    fn a_hand_over_counts_only_if_the_next_one_was_waiting() {
        let held = [(0, 0, Seen::Requested), (2, 0, IN)];
        let waiting = [(3, 1, Seen::Requested), (9, 0, Seen::Left), (10, 1, IN)];
        assert_eq!(measure(&[&held[..], &waiting].concat()).sync.max(), Some(Time(1)));
        let late = [(9, 0, Seen::Left), (11, 1, Seen::Requested), (13, 1, IN)];
        assert_eq!(measure(&[&held[..], &late].concat()).sync.count(), 0);
    }

    #[test]
    fn leave_is_measured_from_asking_to_being_out() {
        let left = measure(&[(0, 0, Seen::Requested), (2, 0, IN), (5, 0, Seen::Leaving)]);
        assert_eq!(left.leave.count(), 0);
        let history = [(0, 0, Seen::Requested), (2, 0, IN), (5, 0, Seen::Leaving)];
        let left = measure(&[&history[..], &[(6, 0, Seen::Left)]].concat());
        assert_eq!(left.leave.max(), Some(Time(1)));
    }
}
