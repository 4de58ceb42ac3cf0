//! What is searched, and within which bounds.

use alloc::vec::Vec;
use core::time::Duration;

use conclave_core::tamper::Anybody;
use conclave_core::{OpeningOf, Promises, Protocol, Seat, View};
use conclave_observe::Vocabulary;

/// A system of processes, what they are asked to do, and what can happen to them.
#[derive(Clone, Debug)]
pub struct Setup<'a, P: Protocol, C> {
    /// Who takes part.
    pub view: &'a View,
    /// By seat: what each knows before it starts.
    pub configs: &'a [P::Config],
    /// What is seen and said of them, and who memories: their family's, as a rule.
    pub vocabulary: &'static Vocabulary,
    /// What they promise.
    pub promises: Promises,
    /// Who tampers with the processes, if somebody does: then they are mutants.
    pub tamper: Option<Anybody<P>>,
    /// By seat: what is known already as it begins; empty if nothing is.
    pub openings: &'a [OpeningOf<P>],
    /// What their applications ask for.
    pub client: C,
    /// Whether channels keep the order.
    pub channels: Channels,
    /// How time passes.
    pub time: TimeModel,
    /// Which faults can happen, and how often.
    pub faults: Faults,
    /// Whether processes get what they need, so that their own invariants must hold.
    pub check_invariants: bool,
    /// Whether a timer that could run out and is set anew is told apart from what it was. What is
    /// said of fair runs needs that, if there are such timers; it makes more states.
    pub tells_renewals: bool,
    /// Whether a crash can take along what the dead one had sent and has not arrived, as if it had
    /// died in the middle of a step: on FIFO channels the last of it, otherwise any part.
    pub crash_loses: bool,
    /// Whether it is no flaw that nothing happens any more after a fault, though somebody waits:
    /// for whoever asks only what must never happen.
    pub passes_over_stalls: bool,
    /// The kinds of messages that must be sent in some step, or a proof is vacuous; one bit each.
    pub expected_kinds: u32,
    /// What else is bounded, so that there is an end.
    pub bounds: Bounds,
    /// Who can take each other's names without a difference, so that states that differ by no more
    /// are one; if nobody can, all states are told apart.
    pub interchangeable: Vec<Seat>,
}

impl<P: Protocol, C> Setup<'_, P, C> {
    /// What is known to that process as it begins.
    pub(crate) fn opening(&self, seat: Seat) -> OpeningOf<P> {
        self.openings.get(seat.index()).cloned().unwrap_or_default()
    }
}

/// Whether channels keep the order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channels {
    /// What was sent first arrives first.
    Fifo,
    /// Anything on its way can arrive next.
    Unordered,
}

/// How time passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeModel {
    /// It is not counted: a message takes any time, and a timer may run out as soon as it is set.
    Async,
    /// In ticks: a message takes from none to `bound` of them, and a timer runs out at its own. Of
    /// what happens to a process at one tick, a deadline comes first, and a message that must
    /// arrive comes before a timer.
    Sync {
        /// D: in how many ticks a message has arrived.
        bound: u16,
        /// How long a tick is, for the timers.
        tick: Duration,
    },
}

/// How many faults of each kind can happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// How many processes may die.
    pub crashes: u8,
    /// Dead ones that come back.
    pub returns: u8,
    /// Messages that are lost.
    pub losses: u8,
    /// Messages that arrive once more.
    pub duplications: u8,
}

/// What else is bounded. What lies beyond is counted, and the verdict says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// Terms up to this one.
    pub terms: Option<u64>,
    /// So many timers that run out, of all processes together.
    pub timeouts: Option<u8>,
}

/// A time in ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticks {
    pub(crate) count: u16,
    /// Whether it was no whole number of them, or more than can be counted.
    pub(crate) is_rounded: bool,
}

impl TimeModel {
    /// How many ticks that is.
    pub(crate) fn ticks(self, time: Duration) -> Ticks {
        let Self::Sync { tick, .. } = self else { return Ticks { count: 0, is_rounded: false } };
        let (time, tick) = (time.as_nanos(), tick.as_nanos().max(1));
        match u16::try_from(time / tick) {
            Ok(count) => Ticks { count, is_rounded: time % tick != 0 },
            Err(_) => Ticks { count: u16::MAX, is_rounded: true },
        }
    }

    /// In how many ticks a message that is sent now must have arrived.
    pub(crate) fn bound(self) -> Ticks {
        let count = match self {
            Self::Async => 0,
            Self::Sync { bound, .. } => bound,
        };
        Ticks { count, is_rounded: false }
    }

    /// Whether time is counted.
    pub fn is_sync(self) -> bool {
        matches!(self, Self::Sync { .. })
    }
}

/// What may still happen of all that is bounded, as one word of a state: four bits for each kind of
/// fault, and above them eight for timers that run out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Allowance(pub(crate) u32);

/// Something that may happen only so often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bounded {
    Crash,
    Return,
    Loss,
    Duplication,
    Timeout,
}

impl Allowance {
    /// The bits for faults of all kinds.
    const FAULTS: u32 = 0xffff;

    /// All of it. What is not bounded is never taken.
    pub(crate) fn all(faults: Faults, bounds: Bounds) -> Self {
        let nibbles = [faults.crashes, faults.returns, faults.losses, faults.duplications];
        let word = nibbles.iter().rev().fold(0, |word, &many| word << 4 | u32::from(many.min(15)));
        Self(word | u32::from(bounds.timeouts.unwrap_or(1)) << 16)
    }

    /// One less, if there is one.
    #[inline]
    pub(crate) fn take(self, what: Bounded) -> Option<Self> {
        let (shift, bits) = match what {
            Bounded::Crash => (0, 4),
            Bounded::Return => (4, 4),
            Bounded::Loss => (8, 4),
            Bounded::Duplication => (12, 4),
            Bounded::Timeout => (16, 8),
        };
        let many = self.0 >> shift & ((1 << bits) - 1);
        (many > 0).then(|| Self(self.0 - (1 << shift)))
    }

    /// Whether no fault has happened yet.
    #[inline]
    pub(crate) fn is_faultless(self, all: Self) -> bool {
        self.faults() == all.faults()
    }

    /// Whether any fault may still happen.
    #[inline]
    pub(crate) fn allows_faults(self) -> bool {
        self.faults() != 0
    }

    #[inline]
    fn faults(self) -> u32 {
        self.0 & Self::FAULTS
    }
}
