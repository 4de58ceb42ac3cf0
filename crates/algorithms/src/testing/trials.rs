//! Every algorithm of the catalogue with a rule broken, and the search that catches it.
//!
//! The algorithms have no switches for this. A mutant is the real process in the hands of somebody
//! who tampers with what it hears, says or remembers. Each file lists those of its algorithm, and
//! an algorithm without any is refused.

use alloc::vec::Vec;

use conclave_check::Finding;
pub use conclave_check::system::Flaw;
use conclave_check::system::{Channels, Faults};
use conclave_core::{Protocol, View};
use conclave_observe::family::{detectors, elections, locks, processes};
use conclave_testkit::mutant::{Anybody, Held, Nobody, Tamper, held};

use super::checked::{self, Used};
use crate::catalogue::{self, Bounds, Entry, Listed, Seating, Timing, Visitor};
use crate::quorum::Construction;

pub const TWO_HOLDERS: Flaw = Flaw::Breach(locks::TWO_HOLDERS);
pub const FENCE_FELL: Flaw = Flaw::Breach(locks::FENCE_FELL);
pub const WRONG_LEADER: Flaw = Flaw::Breach(elections::WRONG_LEADER);
pub const DISAGREEMENT: Flaw = Flaw::Breach(elections::DISAGREEMENT);
pub const TWO_IN_A_TERM: Flaw = Flaw::Breach(elections::TWO_IN_A_TERM);
pub const WRONG_SUSPICION: Flaw = Flaw::Breach(detectors::WRONG_SUSPICION);
pub const OUT_OF_TURN: Flaw = Flaw::Breach(processes::OUT_OF_TURN);
pub const NOT_LESS: Flaw = Flaw::Breach(processes::NOT_LESS);
pub const LESS_FOR_NOTHING: Flaw = Flaw::Breach(processes::LESS_FOR_NOTHING);

/// A protocol of the catalogue, with mutants of it.
pub trait Tried: Protocol {
    /// Those of one entry: every rule that safety or progress hangs on, broken once.
    fn mutants(entry: &Entry) -> Vec<Mutant<Self>>;
}

/// An algorithm with one rule broken.
pub struct Mutant<P: Protocol> {
    /// Which rule, and what comes of it.
    claim: &'static str,
    /// The smallest bounds within which it is caught; who is left alone passes there.
    bounds: Bounds,
    /// What a search must report when it catches the mutant.
    flaw: Flaw,
    tamper: Anybody<P>,
}

impl<P: Protocol> Mutant<P> {
    pub fn new(
        claim: &'static str,
        bounds: Bounds,
        flaw: Flaw,
        tamper: impl Tamper<P> + 'static,
    ) -> Self {
        Self { claim, bounds, flaw, tamper: Anybody::new(tamper) }
    }
}

/// What timers are set to: a bound of a tick, and the beat of the bounds.
fn timing(bounds: &Bounds) -> Timing {
    let beat = bounds.beat.map(|ticks| u32::from(ticks) * checked::TICK);
    Timing { beat, ..Timing::of(checked::TICK) }
}

/// What is found within those bounds.
fn find<P: Protocol<Family: Used>>(
    entry: &Entry,
    bounds: &Bounds,
    configs: &[P::Config],
    tamper: impl Tamper<P> + 'static,
) -> Finding {
    let mut within = checked::Bounds::of(entry, bounds.n);
    within.clients.truncate(bounds.askers.map_or(usize::MAX, |askers| askers as usize));
    within.asks = bounds.requests;
    if bounds.is_unordered {
        within.channels = Channels::Unordered;
    }
    if let Some(bound) = bounds.sync {
        within = within.within(bound);
    }
    within.faults = Faults {
        crashes: bounds.crashes,
        returns: bounds.returns,
        losses: bounds.losses,
        ..Faults::default()
    };
    (within.ends.terms, within.ends.timeouts) = (bounds.terms, bounds.timeouts);
    within.find::<Held<P>>(&held(configs, tamper), P::Family::promises(entry))
}

/// What is to be done with the mutants of an algorithm.
enum Try {
    /// To tell within which bounds each is caught, if any search can take it.
    List,
    /// To catch the one of that number.
    Catch(usize),
}

impl<F: Used> Visitor<F> for Try {
    type Output = Vec<Bounds>;

    fn visit<P>(self, entry: &'static Entry, configs: Vec<P::Config>) -> Vec<Bounds>
    where
        P: Listed<Family = F>,
    {
        let mut mutants = P::mutants(entry);
        match self {
            Self::List if P::READS_CLOCK => assert!(mutants.is_empty(), "no search has a clock"),
            Self::List => assert!(!mutants.is_empty(), "{} has no mutant", entry.name),
            Self::Catch(number) => {
                let Mutant { claim, bounds, flaw, tamper } = mutants.swap_remove(number);
                let alone = checked::flaw(&find::<P>(entry, &bounds, &configs, Nobody));
                let expected = (!entry.serves_everybody()).then_some(Flaw::Deadlock);
                assert_eq!(alone, expected, "{}, left alone", entry.name);
                let found = checked::flaw(&find::<P>(entry, &bounds, &configs, tamper));
                assert_eq!(found, Some(flaw), "{}: {claim}", entry.name);
            }
        }
        mutants.iter().map(|mutant| mutant.bounds).collect()
    }
}

fn visit(entry: &'static Entry, bounds: &Bounds, what: Try) -> Vec<Bounds> {
    let view = entry.view_of(&View::dense(1, bounds.n)).unwrap();
    let (construction, timing) = (Construction::Grid, timing(bounds));
    catalogue::visit(entry, &Seating { view: &view, construction, own_sets: None, timing }, what)
        .unwrap()
}

#[test]
fn every_algorithm_has_mutants_and_each_is_caught() {
    for entry in catalogue::all() {
        let all = visit(entry, &Bounds::of(2, 1), Try::List);
        for (number, bounds) in all.iter().enumerate() {
            visit(entry, bounds, Try::Catch(number));
        }
    }
}
