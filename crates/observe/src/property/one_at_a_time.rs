//! Safety of leases: no two lead at the same time, whatever their terms.
//!
//! A process leads from when it says so to when it says otherwise, or dies. Whoever is paused does
//! nothing, so it leads nobody; when it goes on it must know at once that its time is over.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{Renaming, Seat};

use super::aside::Aside;
use crate::family::elections::Seen;
use crate::{Event, Time};

/// Watches for two that lead at once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OneAtATime {
    /// By seat: whether it leads.
    leads: Vec<bool>,
    is_paused: Vec<bool>,
    /// Who leads and is not paused.
    active: Vec<Seat>,
    /// Since when there have been two or more of them.
    overlap_since: Option<Time>,
    broken: Option<TwoLeaders>,
    /// Whether what overlaps now was counted.
    is_counted: Aside<bool>,
    times: Aside<u64>,
}

/// The first time that two led for longer than a moment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TwoLeaders {
    /// From when on both led.
    pub at: Time,
    /// One of them.
    pub first: Seat,
    /// The other one.
    pub second: Seat,
}

impl OneAtATime {
    /// For `members` processes.
    pub fn new(members: usize) -> Self {
        Self {
            leads: vec![false; members],
            is_paused: vec![false; members],
            active: Vec::new(),
            overlap_since: None,
            broken: None,
            is_counted: Aside(false),
            times: Aside(0),
        }
    }

    /// Takes in an event.
    pub fn on(&mut self, event: &Event) {
        self.look(event.at);
        let index = event.seat.index();
        match Seen::of(event.what) {
            Seen::Elected { leader, .. } => self.leads[index] = leader == event.seat,
            Seen::Vacant => self.leads[index] = false,
            Seen::Crashed => (self.leads[index], self.is_paused[index]) = (false, false),
            Seen::Paused => self.is_paused[index] = true,
            Seen::Resumed => self.is_paused[index] = false,
            _ => return,
        }
        let is_active = self.leads[index] && !self.is_paused[index];
        self.active.retain(|&seat| seat != event.seat);
        if is_active {
            self.active.push(event.seat);
        }
        self.overlap_since = match self.active.len() {
            0 | 1 => None,
            _ => self.overlap_since.or(Some(event.at)),
        };
        self.is_counted.0 &= self.overlap_since.is_some();
    }

    /// Time has come to `now`: whoever leads beside another since before has done so too long.
    pub fn look(&mut self, now: Time) {
        if let Some(at) = self.overlap_since.filter(|&at| at < now)
            && let [first, second, ..] = self.active[..]
            && !self.is_counted.0
        {
            self.broken.get_or_insert(TwoLeaders { at, first, second });
            self.is_counted.0 = true;
            self.times.0 += 1;
        }
    }

    /// How often two began to lead at once.
    pub fn times(&self) -> u64 {
        self.times.0
    }

    /// What broke it, if anything did.
    pub fn broken(&self) -> Option<TwoLeaders> {
        self.broken
    }

    /// This property's memory, with every process renamed.
    #[must_use]
    pub fn renamed(&self, names: &Renaming) -> Self {
        Self {
            leads: names.rows(&self.leads),
            is_paused: names.rows(&self.is_paused),
            active: self.active.iter().map(|&seat| names.seat(seat)).collect(),
            overlap_since: self.overlap_since,
            broken: self.broken.map(|TwoLeaders { at, first, second }| TwoLeaders {
                at,
                first: names.seat(first),
                second: names.seat(second),
            }),
            is_counted: self.is_counted,
            times: self.times,
        }
    }
}

#[cfg(test)]
mod tests {
    use conclave_core::election::Term;

    use super::*;

    fn elected(leader: u32) -> Seen {
        Seen::Elected { leader: Seat(leader), term: Term(1) }
    }

    fn judge(history: &[(u64, u32, Seen)], end: u64) -> Option<TwoLeaders> {
        let mut property = OneAtATime::new(3);
        for &(at, seat, seen) in history {
            property.on(&Event { at: Time(at), seat: Seat(seat), what: seen.what() });
        }
        property.look(Time(end));
        property.broken()
    }

    #[test]
    fn accepts_leaders_one_after_the_other() {
        assert_eq!(judge(&[(0, 0, elected(0)), (5, 0, Seen::Vacant), (5, 1, elected(1))], 9), None);
        assert_eq!(judge(&[(0, 0, elected(0)), (5, 0, elected(1)), (6, 1, elected(1))], 9), None);
        assert_eq!(
            judge(&[(0, 0, elected(0)), (5, 0, Seen::Crashed), (6, 1, elected(1))], 9),
            None
        );
    }

    #[test]
    fn rejects_two_that_lead_for_a_while_also_at_the_very_end() {
        let broken = TwoLeaders { at: Time(5), first: Seat(0), second: Seat(1) };
        let both = [(0, 0, elected(0)), (5, 1, elected(1))];
        assert_eq!(judge(&both, 6), Some(broken));
        assert_eq!(judge(&[&both[..], &[(7, 0, Seen::Vacant)]].concat(), 7), Some(broken));
    }

    #[test]
    fn one_moment_of_both_is_the_order_of_what_is_simultaneous() {
        let both = [(0, 0, elected(0)), (5, 1, elected(1)), (5, 0, Seen::Vacant)];
        assert_eq!(judge(&both, 9), None);
    }

    #[test]
    fn whoever_is_paused_leads_nobody_but_must_know_when_it_goes_on() {
        let paused = [(0, 0, elected(0)), (3, 0, Seen::Paused), (5, 1, elected(1))];
        assert_eq!(judge(&paused, 9), None);
        let knows = [(8, 0, Seen::Resumed), (8, 0, Seen::Vacant)];
        assert_eq!(judge(&[&paused[..], &knows].concat(), 9), None);
        let goes_on = [(8, 0, Seen::Resumed), (9, 0, Seen::Vacant)];
        assert!(judge(&[&paused[..], &goes_on].concat(), 9).is_some());
    }
}
