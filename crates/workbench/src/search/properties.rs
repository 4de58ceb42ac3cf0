//! What an algorithm promises, as what a search can say of it.

use alloc::vec::Vec;

use conclave_check::system::Flaw;
use conclave_check::{Conclusion, Finding};
use conclave_observe::family::elections::TWO_LEADERS;

use super::SearchPlan;
use crate::family;

/// What takes clocks that run together.
pub const ONE_LEADS: &str = TWO_LEADERS.promise;

/// What a search says of one promise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It holds, in every state or on every fair run.
    Proved,
    /// It does not hold: there is a counterexample.
    Refuted,
    /// The search ended before it was decided.
    Open,
    /// It was not asked.
    NotAsked,
}

impl Answer {
    /// The word for it, as commands print it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Refuted => "refuted",
            Self::Open => "open",
            Self::NotAsked => "not asked",
        }
    }
}

/// Every promise of the algorithm, with what is said of it.
pub fn of(plan: &SearchPlan, finding: &Finding) -> Vec<(&'static str, Answer)> {
    let vocabulary = family::vocabulary(plan.entry);
    let kept = vocabulary.breaches.iter().filter(|it| it.is_judged(plan.entry.promises));
    let kept = kept.map(|&breach| {
        // Leases are kept by clocks, and without time there are none.
        let is_asked = !breach.needs_time || plan.time.is_sync();
        let answer =
            if is_asked { safety(finding, Flaw::Breach(breach)) } else { Answer::NotAsked };
        (breach.promise, answer)
    });
    let deadlock = ("no deadlock", safety(finding, Flaw::Deadlock));
    let eventually = (vocabulary.eventually, liveness(plan, finding));
    kept.chain([deadlock, eventually]).collect()
}

fn safety(finding: &Finding, of: Flaw) -> Answer {
    match finding.verdict {
        Conclusion::Refuted(Flaw::Stalled) if of == Flaw::Deadlock => Answer::Refuted,
        Conclusion::Refuted(flaw) if flaw == of => Answer::Refuted,
        _ if finding.is_safe => Answer::Proved,
        _ => Answer::Open,
    }
}

fn liveness(plan: &SearchPlan, finding: &Finding) -> Answer {
    match finding.verdict {
        Conclusion::Refuted(Flaw::Starved | Flaw::Deadlock | Flaw::Stalled) => Answer::Refuted,
        _ if !plan.options.liveness => Answer::NotAsked,
        Conclusion::Proved => Answer::Proved,
        _ => Answer::Open,
    }
}
