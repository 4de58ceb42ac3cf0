//! How evenly the lock went round.

use alloc::vec;
use alloc::vec::Vec;

use super::Histogram;
use crate::family::locks::Seen;
use crate::{Event, Time};

/// Counts entries and waits per process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fairness {
    since: Vec<Option<Time>>,
    asked: Vec<bool>,
    waits: Vec<Histogram>,
}

impl Fairness {
    /// For `members` processes.
    pub fn new(members: usize) -> Self {
        Self {
            since: vec![None; members],
            asked: vec![false; members],
            waits: vec![Histogram::default(); members],
        }
    }

    /// Takes in an event.
    pub fn on(&mut self, event: &Event) {
        let seat = event.seat.index();
        match Seen::of(event.what) {
            Seen::Requested => {
                self.since[seat] = Some(event.at);
                self.asked[seat] = true;
            }
            Seen::Entered { .. } => {
                if let Some(since) = self.since[seat].take() {
                    self.waits[seat].record(event.at - since);
                }
            }
            Seen::Crashed => self.since[seat] = None,
            _ => {}
        }
    }

    /// How long each process waited, by seat; the number counted is the number of its entries.
    pub fn waits(&self) -> &[Histogram] {
        &self.waits
    }

    /// Jain's index over the entries of those who ever asked: 1 when all got the same, 1/n when one
    /// got all.
    #[allow(clippy::cast_precision_loss, reason = "an index is printed with few digits")]
    pub fn jain(&self) -> Option<f64> {
        let entries = || {
            let asked = self.waits.iter().zip(&self.asked).filter(|&(_, &asked)| asked);
            asked.map(|(waits, _)| waits.count() as f64)
        };
        let (count, sum) = (entries().count() as f64, entries().sum::<f64>());
        let squares: f64 = entries().map(|x| x * x).sum();
        (sum > 0.0).then(|| sum * sum / (count * squares))
    }
}

#[cfg(test)]
mod tests {
    use conclave_core::{Fence, Seat};

    use super::*;

    fn jain(entries: &[u64]) -> Option<f64> {
        let mut fairness = Fairness::new(entries.len());
        for (seat, &count) in entries.iter().enumerate() {
            let on = |fairness: &mut Fairness, seen: Seen| {
                fairness.on(&Event { at: Time(0), seat: Seat::at(seat), what: seen.what() });
            };
            for _ in 0..count {
                on(&mut fairness, Seen::Requested);
                on(&mut fairness, Seen::Entered { fence: Fence(1) });
            }
            on(&mut fairness, Seen::Requested);
        }
        fairness.jain()
    }

    #[test]
    fn jains_index_is_one_for_equal_shares_and_one_nth_for_a_single_winner() {
        assert_eq!(jain(&[5, 5, 5, 5]), Some(1.0));
        assert_eq!(jain(&[8, 0, 0, 0]), Some(0.25));
        assert_eq!(jain(&[0, 0]), None);
    }
}
