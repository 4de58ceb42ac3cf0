//! Every algorithm, named once.
//!
//! The command line, the table and the tests iterate over these lists. They stand where the modules
//! are: locks in `mutex.rs`, elections in `election.rs`, detectors in `detector.rs`, bare processes
//! in `process.rs`. To add an algorithm is to write its file, with an [`Entry`] in it, and to name
//! it there.

mod bounds;
mod cost;
mod entry;
mod nearest;
mod timing;

pub use bounds::Bounds;
pub use conclave_core::Promises;
pub use cost::{Claim, Cost, Document, Measure, Remark, Size};
pub use entry::{CrashExample, Entry, Needs, Places, SERVER, Seating, SeatingError};
pub use nearest::nearest;
pub use timing::{Setting, Timing};

use alloc::vec::Vec;

#[cfg(feature = "serde")]
use conclave_core::Portable;
use conclave_core::detector::Detectors;
use conclave_core::election::Elections;
use conclave_core::mutex::Locks;
use conclave_core::process::Processes;
use conclave_core::{Family, Protocol};
#[cfg(feature = "serde")]
use serde::Serialize;

/// A family, with all of its algorithms.
pub trait Shelf: Family {
    /// Its algorithms, in the order in which they are shown.
    const ENTRIES: &'static [&'static Entry];

    /// Lets `visitor` visit the algorithm of `entry`, with what each process there knows before it
    /// starts.
    fn visit<V: Visitor<Self>>(
        entry: &Entry,
        seating: &Seating<'_>,
        visitor: V,
    ) -> Result<V::Output, SeatingError>
    where
        Self: Sized;
}

/// Something to be done with whichever algorithm was named, with its own type: what a runner, which
/// knows no algorithm, is handed to the catalogue as.
pub trait Visitor<F: Family> {
    /// What comes of it.
    type Output;

    /// Does it. `configs` are by seat.
    fn visit<P>(self, entry: &'static Entry, configs: Vec<P::Config>) -> Self::Output
    where
        P: Listed<Family = F>;
}

/// A protocol of the catalogue. With the feature `serde` its messages, and what it stores, can
/// leave the process, and its state can be shown. In this crate's own tests it has mutants.
#[cfg(feature = "serde")]
pub trait Listed: Protocol<Message: Portable, Stored: Portable> + Serialize + Tried {}
#[cfg(feature = "serde")]
impl<P> Listed for P where P: Protocol<Message: Portable, Stored: Portable> + Serialize + Tried {}

/// A protocol of the catalogue. With the feature `serde` its messages, and what it stores, can
/// leave the process, and its state can be shown.
#[cfg(not(feature = "serde"))]
pub trait Listed: Protocol + Tried {}
#[cfg(not(feature = "serde"))]
impl<P: Protocol + Tried> Listed for P {}

#[cfg(test)]
use crate::testing::trials::Tried;
#[cfg(not(test))]
use untried::Tried;

/// Outside of this crate's own tests nothing is asked.
#[cfg(not(test))]
mod untried {
    pub trait Tried {}
    impl<P> Tried for P {}
}

/// Lets `visitor` visit the algorithm of `entry`, whatever family it is of.
pub fn visit<V, T>(entry: &Entry, seating: &Seating<'_>, visitor: V) -> Result<T, SeatingError>
where
    V: Visitor<Locks, Output = T>
        + Visitor<Elections, Output = T>
        + Visitor<Detectors, Output = T>
        + Visitor<Processes, Output = T>,
{
    match entry.family {
        Locks::NAME => Locks::visit(entry, seating, visitor),
        Elections::NAME => Elections::visit(entry, seating, visitor),
        Detectors::NAME => Detectors::visit(entry, seating, visitor),
        _ => Processes::visit(entry, seating, visitor),
    }
}

/// Puts algorithms on the shelf of their family: `module::Protocol { ENTRY => configs }`, where the
/// module lies beside, and `configs` says what each process knows before it starts.
macro_rules! shelf {
    ($family:ident:
        $($module:ident::$protocol:ident { $($entry:ident => $configs:expr),+ $(,)? })*
    ) => {
        $(pub use $module::$protocol;)*

        impl $crate::catalogue::Shelf for $family {
            const ENTRIES: &'static [&'static $crate::catalogue::Entry] =
                &[$($(&$module::$entry),+),*];

            fn visit<V: $crate::catalogue::Visitor<Self>>(
                entry: &$crate::catalogue::Entry,
                seating: &$crate::catalogue::Seating<'_>,
                visitor: V,
            ) -> Result<V::Output, $crate::catalogue::SeatingError> {
                use $crate::catalogue::{Seating, SeatingError};
                $($(if entry.name == $module::$entry.name {
                    let configs: fn(&Seating<'_>) -> Result<_, SeatingError> = $configs;
                    return Ok(visitor.visit::<$protocol>(&$module::$entry, configs(seating)?));
                })+)*
                let _ = (seating, visitor);
                Err(SeatingError::UnknownAlgorithm(entry.name.into()))
            }
        }
    };
}
pub(crate) use shelf;

/// Mutual exclusion, in the order in which it is shown.
pub const MUTEXES: &[&Entry] = Locks::ENTRIES;
/// Election, in the order in which it is shown.
pub const ELECTIONS: &[&Entry] = Elections::ENTRIES;
/// Failure detection, in the order in which it is shown.
pub const DETECTORS: &[&Entry] = Detectors::ENTRIES;
/// Bare processes, in the order in which they are shown.
pub const PROCESSES: &[&Entry] = Processes::ENTRIES;

/// All entries, in the order in which they are shown.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    let families = [MUTEXES, ELECTIONS, DETECTORS, PROCESSES];
    families.into_iter().flatten().copied()
}

/// The entry of that name; otherwise the error names all there are.
pub fn find(name: &str) -> Result<&'static Entry, SeatingError> {
    all()
        .find(|entry| entry.name == name)
        .ok_or_else(|| SeatingError::UnknownAlgorithm(name.into()))
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_every_entry_says_what_it_must() {
        let names: BTreeSet<_> = all().map(|entry| entry.name).collect();
        assert_eq!(names.len(), all().count());
        for entry in all() {
            assert!(!entry.title.is_empty() && !entry.citation.is_empty(), "{}", entry.name);
            assert!(!entry.summary.is_empty() && !entry.crash.is_empty(), "{}", entry.name);
            assert!(!entry.kinds.is_empty(), "{}", entry.name);
            assert_eq!(find(entry.name).unwrap().title, entry.title);
        }
    }

    #[test]
    fn problems_name_what_the_rest_of_the_entry_says_of_them() {
        for entry in all() {
            let Entry { name, problems, needs, .. } = entry;
            let says = |words: &[&str]| words.iter().any(|word| problems.contains(word));
            assert!((10..=100).contains(&problems.len()), "{name}: {problems}");
            assert!(entry.serves_everybody() || says(&["deadlock"]), "{name}: {problems}");
            assert!(entry.crash_example.is_none() || says(&["crash"]), "{name}: {problems}");
            assert!(!needs.synchrony || says(&["than D", "D too"]), "{name}: {problems}");
            assert!(!needs.majority || says(&["majority"]), "{name}: {problems}");
            assert!(!needs.steadiness || says(&["delays"]), "{name}: {problems}");
        }
    }

    #[test]
    fn every_entry_says_what_it_costs() {
        for entry in all() {
            assert!(!entry.costs.is_empty(), "{}", entry.name);
        }
    }

    #[test]
    fn every_entry_has_the_costs_that_all_are_compared_by() {
        use Measure::{ClientDelay, Enter, Leave, LeaveDelay};
        for entry in MUTEXES {
            for measure in [Enter, Leave, ClientDelay, LeaveDelay] {
                let cost = entry.costs.iter().find(|cost| cost.measure == measure);
                assert!(cost.is_some_and(Cost::is_exact), "{} {measure:?}", entry.name);
            }
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_there_are() {
        for name in ["paxos", "", "raft", "x"] {
            let error = alloc::format!("{}", find(name).unwrap_err());
            assert!(error.contains(&alloc::format!("`{name}`")), "{error}");
            assert!(error.contains("maekawa-plain, maekawa, "), "{error}");
        }
    }

    #[test]
    fn a_name_that_is_nearly_right_is_answered_with_the_right_one() {
        for (typed, meant) in [
            ("buly", "bully"),
            ("Bully", "bully"),
            ("chuby", "chubby"),
            ("ricart-agrawal", "ricart-agrawala"),
            ("ricart", "ricart-agrawala"),
            ("zoo-keeper", "zookeeper"),
            ("zookeeper-heard", "zookeeper-herd"),
            ("token_ring", "token-ring"),
        ] {
            let error = alloc::format!("{}", find(typed).unwrap_err());
            assert!(error.contains(&alloc::format!("did you mean {meant}?")), "{error}");
        }
    }
}
