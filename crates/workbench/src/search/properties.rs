//! What an algorithm promises, as what a search can say of it.

use alloc::vec;
use alloc::vec::Vec;

use conclave_algorithms::catalogue::Promises;
use conclave_check::system::Flaw;
use conclave_check::{Finding, Verdict};
use conclave_observe::Breach;

use super::SearchPlan;

/// What takes clocks that run together.
pub const ONE_LEADS: &str = "at most one leads at a time";

/// What a search says of one promise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It holds, in every state or on every fair run.
    Proved,
    /// It does not.
    Refuted,
    /// The search ended before it was decided.
    Open,
    /// It was not asked.
    NotAsked,
}

impl Answer {
    /// In a word.
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
    let at_last = match plan.entry.promises {
        Promises::Mutex { .. } => "everybody who waits is served at last",
        Promises::Election { .. } => "everybody who takes part decides at last",
        Promises::Detector => "everybody who is up suspects the dead at last",
    };
    let safety = promised(plan).into_iter().map(|(words, flaw)| {
        // Leases are kept by clocks, and without time there are none.
        let is_asked = flaw != Flaw::Breach(Breach::TwoLeaders) || plan.time.is_sync();
        (words, if is_asked { safety(finding, flaw) } else { Answer::NotAsked })
    });
    safety.chain([(at_last, liveness(plan, finding))]).collect()
}

fn promised(plan: &SearchPlan) -> Vec<(&'static str, Flaw)> {
    let mut all = match plan.entry.promises {
        Promises::Mutex { .. } => vec![
            ("at most one is in", Flaw::Breach(Breach::TwoHolders)),
            ("every entry has a higher fence", Flaw::Breach(Breach::FenceFell)),
        ],
        Promises::Election { largest, terms, one_at_a_time } => {
            let mut all = Vec::new();
            if largest {
                all.push(("the largest that is up is elected", Flaw::Breach(Breach::WrongLeader)));
                all.push(("all agree in the end", Flaw::Breach(Breach::Disagreement)));
            }
            if terms {
                all.push(("at most one leads in a term", Flaw::Breach(Breach::TwoInATerm)));
            }
            if one_at_a_time {
                all.push((ONE_LEADS, Flaw::Breach(Breach::TwoLeaders)));
            }
            all
        }
        Promises::Detector => {
            vec![("nobody who is up is suspected", Flaw::Breach(Breach::WrongSuspicion))]
        }
    };
    all.push(("no deadlock", Flaw::Deadlock));
    all
}

fn safety(finding: &Finding, of: Flaw) -> Answer {
    match finding.verdict {
        Verdict::Refuted(Flaw::Stalled) if of == Flaw::Deadlock => Answer::Refuted,
        Verdict::Refuted(flaw) if flaw == of => Answer::Refuted,
        _ if finding.is_safe => Answer::Proved,
        _ => Answer::Open,
    }
}

fn liveness(plan: &SearchPlan, finding: &Finding) -> Answer {
    match finding.verdict {
        Verdict::Refuted(Flaw::Starved | Flaw::Deadlock | Flaw::Stalled) => Answer::Refuted,
        _ if !plan.options.liveness => Answer::NotAsked,
        Verdict::Proved => Answer::Proved,
        _ => Answer::Open,
    }
}
