//! What a search says of states and steps: what is wrong, and what a proof rests on.

use conclave_observe::Breach;

use crate::FlawCode;

/// What can be wrong with a state, or with a step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Flaw {
    /// A promise is broken.
    Breach(Breach),
    /// Somebody waits, and nothing has to happen any more.
    Deadlock,
    /// After a fault, somebody waits, and nothing has to happen any more.
    Stalled,
    /// A process broke its own invariant.
    Invariant,
    /// Somebody waits for ever, though things happen.
    Starved,
}

/// Those that any run can have; the breaches of its family come after them.
const FLAWS: [Flaw; 4] = [Flaw::Deadlock, Flaw::Stalled, Flaw::Invariant, Flaw::Starved];

impl Flaw {
    #[allow(clippy::cast_possible_truncation, reason = "there are few")]
    pub(crate) fn code(self) -> FlawCode {
        match self {
            Self::Breach(breach) => FLAWS.len() as FlawCode + breach.code,
            other => FLAWS.iter().position(|&flaw| flaw == other).unwrap_or(0) as FlawCode,
        }
    }

    /// What has that number, where the judge can find these broken.
    pub(crate) fn of(code: FlawCode, breaches: &[Breach]) -> Self {
        let code = usize::from(code);
        let breach = breaches.iter().find(|it| FLAWS.len() + usize::from(it.code) == code);
        breach.map_or(FLAWS[code % FLAWS.len()], |&breach| Self::Breach(breach))
    }
}

/// What proofs rest on, beside the kinds of messages: how often it was seen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Premise {
    /// States in which two or more wait at once.
    TwoWait,
    /// States in which all applications have had what they wanted, and nobody waits.
    Finished,
    /// Steps in which somebody enters, is told who leads, or comes to suspect somebody.
    Served,
    /// Steps in which a process dies.
    Crashed,
    /// Steps in which a dead process comes back.
    Returned,
    /// Steps in which a message is lost.
    Lost,
    /// Steps in which a message is doubled.
    Doubled,
    /// Steps in which a leader is told of the last term that is within bounds.
    LastTerm,
    /// Steps beyond a bound, which were not followed. No proof rests on them.
    Beyond,
    /// Steps in which a message of this kind is sent.
    Sent(usize),
}

/// How many there are beside the kinds of messages.
pub(crate) const PREMISES: usize = 9;

impl Premise {
    /// Its number among all that are counted.
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::TwoWait => 0,
            Self::Finished => 1,
            Self::Served => 2,
            Self::Crashed => 3,
            Self::Returned => 4,
            Self::Lost => 5,
            Self::Doubled => 6,
            Self::LastTerm => 7,
            Self::Beyond => 8,
            Self::Sent(kind) => PREMISES + kind,
        }
    }
}
