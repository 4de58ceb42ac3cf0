//! A Pinger prints one word for every message, and the two words by turns.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_core::process::Print;

use crate::Time;

/// Watches what Pingers print.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Turns {
    /// By seat: what it must print next.
    next: Vec<Print>,
    broken: Option<WrongPrint>,
}

/// The first word that was not its turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WrongPrint {
    /// When.
    pub at: Time,
    /// Who printed it.
    pub seat: Seat,
    /// What.
    pub printed: Print,
}

impl Turns {
    /// For `members` processes.
    pub fn new(members: usize) -> Self {
        Self { next: vec![Print::Pong; members], broken: None }
    }

    /// It printed that.
    pub fn printed(&mut self, at: Time, seat: Seat, printed: Print) {
        let next = &mut self.next[seat.index()];
        if *next != printed && self.broken.is_none() {
            self.broken = Some(WrongPrint { at, seat, printed });
        }
        *next = match printed {
            Print::Pong => Print::Ping,
            Print::Ping => Print::Pong,
        };
    }

    /// Its memory is gone: it begins anew.
    pub fn began_anew(&mut self, seat: Seat) {
        self.next[seat.index()] = Print::Pong;
    }

    /// The first word that was not its turn.
    pub fn broken(&self) -> Option<WrongPrint> {
        self.broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_word_twice_is_wrong_and_a_new_life_begins_with_pong() {
        let mut turns = Turns::new(2);
        for (seat, printed) in [(0, Print::Pong), (1, Print::Pong), (0, Print::Ping)] {
            turns.printed(Time::ZERO, Seat(seat), printed);
        }
        assert_eq!(turns.broken(), None);
        turns.began_anew(Seat(1));
        turns.printed(Time::ZERO, Seat(1), Print::Pong);
        assert_eq!(turns.broken(), None);
        turns.printed(Time::DELAY, Seat(0), Print::Ping);
        let wrong = WrongPrint { at: Time::DELAY, seat: Seat(0), printed: Print::Ping };
        assert_eq!(turns.broken(), Some(wrong));
    }
}
