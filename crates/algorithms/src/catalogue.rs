//! Every algorithm, named once.
//!
//! The command line, the table and the tests iterate over this list. To add an algorithm is to
//! write its file, with an [`Entry`] in it, and one line here.

mod bounds;
mod cost;
mod entry;
mod timing;

pub use bounds::Bounds;
pub use conclave_core::Promises;
pub use cost::{Cost, Document, Measure, Remark, Size};
pub use entry::{Entry, Needs, Seating, SeatingError};
pub use timing::{Setting, Timing};

use conclave_core::detector::Detector;
use conclave_core::election::Election;
use conclave_core::mutex::Mutex;

use crate::detector::{Heartbeat, Phi, heartbeat, phi};
use crate::election::{
    Bully, ChangRoberts, ChangRobertsRepaired, Chubby, ZooKeeper, bully, chang_roberts,
    chang_roberts_repaired, chubby, zookeeper,
};
use crate::mutex::{
    Central, CentralElectedByHeartbeat, Lamport, Maekawa, MaekawaPlain, RestingTokenRing,
    RicartAgrawala, TokenRing, TokenRingRepaired, central, central_elected, lamport, maekawa,
    ricart_agrawala, token_ring, token_ring_repaired, token_ring_resting,
};

/// Messages that can leave the process. Only runners that need it ask for it, by a feature.
#[cfg(feature = "serde")]
pub trait Portable: serde::Serialize + serde::de::DeserializeOwned + Send + 'static {}
#[cfg(feature = "serde")]
impl<M: serde::Serialize + serde::de::DeserializeOwned + Send + 'static> Portable for M {}

/// Messages that can leave the process. Only runners that need it ask for it, by a feature.
#[cfg(not(feature = "serde"))]
pub trait Portable {}
#[cfg(not(feature = "serde"))]
impl<M> Portable for M {}

macro_rules! catalogue {
    (
        $(#[$list_doc:meta])* $list:ident, $visit:ident, $visitor:ident: $bound:ident;
        $($entry:path => $protocol:ty, $config:expr;)*
    ) => {
        $(#[$list_doc])*
        pub const $list: &[&Entry] = &[$(&$entry),*];

        /// Something to be done with whichever algorithm was named, with its own type: what a
        /// runner, which knows no algorithm, is handed to the catalogue as.
        pub trait $visitor {
            /// What comes of it.
            type Output;

            /// Does it.
            fn visit<P>(self, entry: &'static Entry, config: P::Config) -> Self::Output
            where
                P: $bound<Message: Portable> + 'static;
        }

        /// Lets `visitor` visit the algorithm of `entry`, with the configuration it needs there.
        ///
        /// Entries come from the list of their kind, so there is an algorithm to each.
        pub fn $visit<V: $visitor>(
            entry: &Entry,
            seating: &Seating<'_>,
            visitor: V,
        ) -> Result<V::Output, SeatingError> {
            $(if entry.name == $entry.name {
                let config: fn(&Seating<'_>) -> Result<_, SeatingError> = $config;
                return Ok(visitor.visit::<$protocol>(&$entry, config(seating)?));
            })*
            let _ = (seating, visitor);
            Err(SeatingError::UnknownAlgorithm(entry.name.into()))
        }
    };
}

catalogue! {
    /// Mutual exclusion, in the order in which it is shown.
    MUTEXES, visit_mutex, MutexVisitor: Mutex;
    central::PLAIN => Central, |_| Ok(central::Config::new(central::Answers::Grants));
    central::QUEUED => Central, |_| Ok(central::Config::new(central::Answers::GrantsAndPositions));
    central_elected::ENTRY => CentralElectedByHeartbeat, |seating| Ok((
        bully::Config::new(&seating.timing),
        heartbeat::Config::new(&seating.timing),
    ));
    token_ring::ENTRY => TokenRing, |_| Ok(());
    token_ring_resting::ENTRY => RestingTokenRing, |_| Ok(());
    token_ring_repaired::ENTRY => TokenRingRepaired, |seating| Ok((
        token_ring_repaired::Config::new(&seating.timing),
        heartbeat::Config::new(&seating.timing),
    ));
    lamport::ENTRY => Lamport, |_| Ok(());
    ricart_agrawala::PLAIN => RicartAgrawala, |_| Ok(ricart_agrawala::Answers::Replies);
    ricart_agrawala::DEFERRED => RicartAgrawala,
        |_| Ok(ricart_agrawala::Answers::RepliesAndDeferrals);
    maekawa::plain::ENTRY => MaekawaPlain, |seating| seating.voting_sets();
    maekawa::deadlock_free::ENTRY => Maekawa, |seating| seating.voting_sets();
}

catalogue! {
    /// Election, in the order in which it is shown.
    ELECTIONS, visit_election, ElectionVisitor: Election;
    chang_roberts::PLAIN => ChangRoberts, |_| Ok(chang_roberts::Variant::Plain);
    chang_roberts::SUPPRESS => ChangRoberts, |_| Ok(chang_roberts::Variant::Suppress);
    chang_roberts::NAIVE => ChangRoberts, |_| Ok(chang_roberts::Variant::Naive);
    chang_roberts_repaired::ENTRY => ChangRobertsRepaired,
        |seating| Ok(((), heartbeat::Config::new(&seating.timing)));
    bully::ENTRY => Bully, |seating| Ok(bully::Config::new(&seating.timing));
    chubby::ENTRY => Chubby, |seating| Ok(chubby::Config { lease: seating.timing.lease() });
    zookeeper::PLAIN => ZooKeeper, |seating| Ok(zookeeper::Config::new(
        seating.timing.session(), zookeeper::Watch::NextLower));
    zookeeper::HERD => ZooKeeper, |seating| Ok(zookeeper::Config::new(
        seating.timing.session(), zookeeper::Watch::Lowest));
}

catalogue! {
    /// Failure detection, in the order in which it is shown.
    DETECTORS, visit_detector, DetectorVisitor: Detector;
    heartbeat::ENTRY => Heartbeat, |seating| Ok(heartbeat::Config::new(&seating.timing));
    phi::ENTRY => Phi, |seating| Ok(phi::Config::new(&seating.timing));
}

/// All entries, in the order in which they are shown.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    MUTEXES.iter().chain(ELECTIONS).chain(DETECTORS).copied()
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
                assert!(cost.is_some_and(|cost| cost.exact), "{} {measure:?}", entry.name);
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
