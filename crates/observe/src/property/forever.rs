//! Liveness of a run that never ends: whoever waits in all of a loop is never served.

use alloc::vec::Vec;

use conclave_core::Seat;

use crate::Time;

/// Who waited as the loop began, and has not been served since.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forever {
    since: Time,
    seats: Vec<Seat>,
}

impl Forever {
    /// The loop begins, and these wait.
    pub fn new(since: Time, seats: Vec<Seat>) -> Self {
        Self { since, seats }
    }

    /// Takes in who waits now. Whoever is not among them was served, and will be in every turn.
    pub fn retain(&mut self, waiting: &[Seat]) {
        self.seats.retain(|seat| waiting.contains(seat));
    }

    /// Whether anybody waits for ever.
    pub fn is_anyone(&self) -> bool {
        !self.seats.is_empty()
    }

    /// Who waits for ever.
    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// When the loop began for the first time.
    pub fn since(&self) -> Time {
        self.since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_served_once_in_a_loop_is_served_for_ever() {
        let mut forever = Forever::new(Time(5), [0, 2].map(Seat).to_vec());
        forever.retain(&[Seat(2)]);
        assert_eq!(forever.seats(), [Seat(2)]);
        forever.retain(&[0, 2].map(Seat));
        assert_eq!(forever.seats(), [Seat(2)], "to ask again is not to have waited all along");
        forever.retain(&[]);
        assert!(!forever.is_anyone());
    }
}
