//! What of the past decides whether what comes is right: all that a search must remember.
//!
//! The same properties as a [`Judge`](crate::Judge)'s, without times, counters and measures: so
//! that two pasts which allow the same futures are equal, and there are finitely many.

use conclave_core::{ProcessId, Promises, Renaming, Seat};

use crate::property::{
    Agreement, Deciding, Fences, LargestId, MutualExclusion, OneAtATime, OnePerTerm, Suspicions,
};
use crate::{Event, Time, What};

/// Watches one run, one of many that a search follows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(clippy::large_enum_variant, reason = "all watches of a search are of one variant")]
pub enum Watch {
    /// A lock.
    Mutex {
        /// Safety.
        exclusion: MutualExclusion,
        /// Fences.
        fences: Fences,
    },
    /// An election.
    Election {
        /// Who takes part and has not decided.
        deciding: Deciding,
        /// Where the largest id must win.
        largest: Option<LargestId>,
        /// Whether all agree in the end.
        agreement: Agreement,
        /// At most one leader in a term.
        per_term: OnePerTerm,
        /// Where no two may lead at a time.
        one_at_a_time: Option<OneAtATime>,
    },
    /// A failure detector.
    Detector(Suspicions),
}

/// Which promise was broken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Breach {
    /// Two are in.
    TwoHolders,
    /// An entry got no higher fence than one before it.
    FenceFell,
    /// Who was elected was not there, or somebody larger was.
    WrongLeader,
    /// An election is over, and two who are up believe in different leaders.
    Disagreement,
    /// Two lead in one term.
    TwoInATerm,
    /// Two lead at a time.
    TwoLeaders,
    /// Somebody who is up is suspected.
    WrongSuspicion,
}

impl Watch {
    /// For these processes, by seat, that are held to these promises.
    pub fn new(ids: &[ProcessId], promises: Promises) -> Self {
        match promises {
            Promises::Mutex { .. } => {
                Self::Mutex { exclusion: MutualExclusion::default(), fences: Fences::default() }
            }
            Promises::Election { largest, one_at_a_time, .. } => Self::Election {
                deciding: Deciding::new(ids.len(), largest),
                largest: largest.then(|| LargestId::new(ids)),
                agreement: Agreement::default(),
                per_term: OnePerTerm::default(),
                one_at_a_time: one_at_a_time.then(|| OneAtATime::new(ids.len())),
            },
            Promises::Detector => Self::Detector(Suspicions::new(ids.len())),
        }
    }

    /// Takes in that something happened; when, is not asked.
    pub fn on(&mut self, seat: Seat, what: What) {
        let event = &Event { at: Time::ZERO, seat, what };
        match self {
            Self::Mutex { exclusion, fences } => {
                exclusion.on(event);
                fences.on(event);
            }
            Self::Election { deciding, largest, per_term, one_at_a_time, .. } => {
                deciding.on(event);
                if let Some(largest) = largest {
                    largest.on(event, deciding.election());
                }
                per_term.on(event);
                if let Some(one_at_a_time) = one_at_a_time {
                    one_at_a_time.on(event);
                }
            }
            Self::Detector(suspicions) => suspicions.on(event),
        }
    }

    /// Takes in that no message is in flight that belongs to a call.
    pub fn on_quiet(&mut self) {
        let Self::Election { deciding, largest, agreement, .. } = self else { return };
        let Some(wave) = deciding.on_quiet() else { return };
        if let Some(largest) = largest {
            largest.on_end();
            if wave.decided_at.is_some() {
                agreement.on_end(Time::ZERO, deciding);
            }
        }
    }

    /// Takes in that time passes.
    pub fn on_tick(&mut self) {
        if let Self::Election { one_at_a_time: Some(one_at_a_time), .. } = self {
            one_at_a_time.look(Time::DELAY);
        }
    }

    /// The first promise that was broken, if one was.
    pub fn broken(&self) -> Option<Breach> {
        let found = |is_broken: bool, breach| is_broken.then_some(breach);
        match self {
            Self::Mutex { exclusion, fences } => {
                found(exclusion.broken().is_some(), Breach::TwoHolders)
                    .or(found(fences.broken().is_some(), Breach::FenceFell))
            }
            Self::Election { largest, agreement, per_term, one_at_a_time, .. } => {
                let largest = largest.as_ref().and_then(LargestId::broken);
                let leads = one_at_a_time.as_ref().and_then(OneAtATime::broken);
                found(largest.is_some(), Breach::WrongLeader)
                    .or(found(agreement.broken().is_some(), Breach::Disagreement))
                    .or(found(per_term.broken().is_some(), Breach::TwoInATerm))
                    .or(found(leads.is_some(), Breach::TwoLeaders))
            }
            Self::Detector(suspicions) => {
                found(suspicions.broken().is_some(), Breach::WrongSuspicion)
            }
        }
    }

    /// The same of others by other names; `None` where names decide who is right to be elected.
    pub fn renamed(&self, names: &Renaming) -> Option<Self> {
        Some(match self {
            Self::Mutex { exclusion, fences } => {
                Self::Mutex { exclusion: exclusion.renamed(names), fences: fences.renamed(names) }
            }
            Self::Election { largest: Some(_), .. } => return None,
            Self::Election { deciding, largest: None, agreement, per_term, one_at_a_time } => {
                Self::Election {
                    deciding: deciding.renamed(names),
                    largest: None,
                    // It is asked only where the largest must win.
                    agreement: *agreement,
                    per_term: per_term.renamed(names),
                    one_at_a_time: one_at_a_time.as_ref().map(|it| it.renamed(names)),
                }
            }
            Self::Detector(suspicions) => Self::Detector(suspicions.renamed(names)),
        })
    }

    /// Who takes part in an election and has not decided, or is up and does not suspect somebody
    /// who is dead: what must end. (Who waits for a lock is known to whoever asks for it.)
    pub fn pending(&self) -> impl Iterator<Item = Seat> + '_ {
        let (undecided, unaware) = match self {
            Self::Mutex { .. } => (None, None),
            Self::Election { deciding, .. } => (Some(deciding.iter()), None),
            Self::Detector(suspicions) => (None, Some(suspicions.missed().map(|(seat, _)| seat))),
        };
        undecided.into_iter().flatten().chain(unaware.into_iter().flatten())
    }
}
