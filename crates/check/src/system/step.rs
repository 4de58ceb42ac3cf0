//! Steps of a system, as numbers.

use conclave_core::Seat;

use crate::Step;

/// What can happen next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    /// An application asks for something that it need not ask for.
    Asks(Seat),
    /// An application asks for what it must ask for eventually: it leaves.
    Leaves(Seat),
    /// A message arrives.
    Arrives {
        /// The seat of its sender.
        from: Seat,
        /// The seat of its receiver.
        to: Seat,
        /// Which of those that can arrive next.
        tag: u16,
    },
    /// A timer runs out.
    RunsOut {
        /// The seat of the process whose timer it is.
        seat: Seat,
        /// Which of those that are set.
        tag: u16,
    },
    /// Time passes by one tick, for all.
    Tick,
    /// A process dies.
    Crashes(Seat),
    /// A dead process comes back.
    Returns(Seat),
    /// A message is lost.
    IsLost {
        /// The seat of its sender.
        from: Seat,
        /// The seat of its receiver.
        to: Seat,
        /// Which of those on their way.
        tag: u16,
    },
    /// A message will arrive once more.
    IsDoubled {
        /// The seat of its sender.
        from: Seat,
        /// The seat of its receiver.
        to: Seat,
        /// Which of those on their way.
        tag: u16,
    },
}

/// The most members that a system can have.
pub const SEARCHED_MEMBERS_MAX: usize = 31;

impl Deed {
    /// Whether it must be done if it stays possible: nobody has to ask, no fault has to happen.
    pub fn is_due(self) -> bool {
        matches!(self, Self::Leaves(_) | Self::Arrives { .. } | Self::RunsOut { .. } | Self::Tick)
    }
}

impl From<Deed> for Step {
    fn from(deed: Deed) -> Self {
        let (sort, a, b, tag) = match deed {
            Deed::Asks(seat) => (0, seat, Seat(0), 0),
            Deed::Leaves(seat) => (1, seat, Seat(0), 0),
            Deed::Arrives { from, to, tag } => (2, from, to, tag),
            Deed::RunsOut { seat, tag } => (3, seat, Seat(0), tag),
            Deed::Tick => (4, Seat(0), Seat(0), 0),
            Deed::Crashes(seat) => (5, seat, Seat(0), 0),
            Deed::Returns(seat) => (6, seat, Seat(0), 0),
            Deed::IsLost { from, to, tag } => (7, from, to, tag),
            Deed::IsDoubled { from, to, tag } => (8, from, to, tag),
        };
        Step(sort << 28 | a.0 << 22 | b.0 << 16 | u32::from(tag))
    }
}

impl From<Step> for Deed {
    #[allow(clippy::cast_possible_truncation, reason = "the tag is the lower half")]
    fn from(step: Step) -> Self {
        let (a, b, tag) = (Seat(step.0 >> 22 & 63), Seat(step.0 >> 16 & 63), step.0 as u16);
        match step.0 >> 28 {
            0 => Deed::Asks(a),
            1 => Deed::Leaves(a),
            2 => Deed::Arrives { from: a, to: b, tag },
            3 => Deed::RunsOut { seat: a, tag },
            4 => Deed::Tick,
            5 => Deed::Crashes(a),
            6 => Deed::Returns(a),
            7 => Deed::IsLost { from: a, to: b, tag },
            _ => Deed::IsDoubled { from: a, to: b, tag },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_deed_it_was_made_of() {
        let (a, b, tag) = (Seat(30), Seat(7), 65_535);
        let deeds = [
            Deed::Asks(a),
            Deed::Leaves(a),
            Deed::Arrives { from: a, to: b, tag },
            Deed::RunsOut { seat: b, tag },
            Deed::Tick,
            Deed::Crashes(b),
            Deed::Returns(a),
            Deed::IsLost { from: a, to: b, tag },
            Deed::IsDoubled { from: b, to: a, tag: 1 },
        ];
        for deed in deeds {
            assert_eq!(Deed::from(Step::from(deed)), deed);
        }
    }
}
