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
pub use entry::{Entry, Needs, SERVER, Seating, SeatingError};
pub use timing::{Setting, Timing};

use alloc::vec::Vec;

use conclave_core::detector::Detectors;
use conclave_core::election::Elections;
use conclave_core::mutex::Locks;
use conclave_core::{Family, Protocol};

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
/// leave the process, and its state can be shown.
#[cfg(feature = "serde")]
pub trait Listed:
    Protocol<Message: conclave_core::Portable, Stored: conclave_core::Portable> + serde::Serialize
{
}
#[cfg(feature = "serde")]
impl<P> Listed for P where
    P: Protocol<Message: conclave_core::Portable, Stored: conclave_core::Portable>
        + serde::Serialize
{
}

/// A protocol of the catalogue. With the feature `serde` its messages, and what it stores, can
/// leave the process, and its state can be shown.
#[cfg(not(feature = "serde"))]
pub trait Listed: Protocol {}
#[cfg(not(feature = "serde"))]
impl<P: Protocol> Listed for P {}

/// Lets `visitor` visit the algorithm of `entry`, whatever family it is of.
pub fn visit<V, T>(entry: &Entry, seating: &Seating<'_>, visitor: V) -> Result<T, SeatingError>
where
    V: Visitor<Locks, Output = T> + Visitor<Elections, Output = T> + Visitor<Detectors, Output = T>,
{
    match entry.family {
        Locks::NAME => Locks::visit(entry, seating, visitor),
        Elections::NAME => Elections::visit(entry, seating, visitor),
        _ => Detectors::visit(entry, seating, visitor),
    }
}

macro_rules! shelf {
    ($family:ident: $($entry:path => $protocol:ty, $configs:expr;)*) => {
        impl Shelf for $family {
            const ENTRIES: &'static [&'static Entry] = &[$(&$entry),*];

            fn visit<V: Visitor<Self>>(
                entry: &Entry,
                seating: &Seating<'_>,
                visitor: V,
            ) -> Result<V::Output, SeatingError> {
                $(if entry.name == $entry.name {
                    let configs: fn(&Seating<'_>) -> Result<_, SeatingError> = $configs;
                    return Ok(visitor.visit::<$protocol>(&$entry, configs(seating)?));
                })*
                let _ = (seating, visitor);
                Err(SeatingError::UnknownAlgorithm(entry.name.into()))
            }
        }
    };
}

shelf! {
    Locks:
    central::PLAIN => Central, |seating| Ok(seating.roles(
        central::Config::Coordinator(central::Answers::Grants),
        central::Config::Client(SERVER),
    ));
    central::QUEUED => Central, |seating| Ok(seating.roles(
        central::Config::Coordinator(central::Answers::GrantsAndPositions),
        central::Config::Client(SERVER),
    ));
    central_elected::ENTRY => CentralElectedByHeartbeat, |seating| Ok(seating.all((
        bully::Config::new(&seating.timing),
        heartbeat::Config::new(&seating.timing),
    )));
    token_ring::ENTRY => TokenRing, |seating| Ok(seating.all(()));
    token_ring_resting::ENTRY => RestingTokenRing, |seating| Ok(seating.all(()));
    token_ring_repaired::ENTRY => TokenRingRepaired, |seating| Ok(seating.all((
        token_ring_repaired::Config::new(&seating.timing),
        heartbeat::Config::new(&seating.timing),
    )));
    lamport::ENTRY => Lamport, |seating| Ok(seating.all(()));
    ricart_agrawala::PLAIN => RicartAgrawala,
        |seating| Ok(seating.all(ricart_agrawala::Answers::Replies));
    ricart_agrawala::DEFERRED => RicartAgrawala,
        |seating| Ok(seating.all(ricart_agrawala::Answers::RepliesAndDeferrals));
    maekawa::plain::ENTRY => MaekawaPlain, |seating| Ok(seating.all(seating.voting_sets()?));
    maekawa::deadlock_free::ENTRY => Maekawa, |seating| Ok(seating.all(seating.voting_sets()?));
}

shelf! {
    Elections:
    chang_roberts::PLAIN => ChangRoberts, |seating| Ok(seating.all(chang_roberts::Variant::Plain));
    chang_roberts::SUPPRESS => ChangRoberts,
        |seating| Ok(seating.all(chang_roberts::Variant::Suppress));
    chang_roberts::NAIVE => ChangRoberts, |seating| Ok(seating.all(chang_roberts::Variant::Naive));
    chang_roberts_repaired::ENTRY => ChangRobertsRepaired,
        |seating| Ok(seating.all(((), heartbeat::Config::new(&seating.timing))));
    bully::ENTRY => Bully, |seating| Ok(seating.all(bully::Config::new(&seating.timing)));
    chubby::ENTRY => Chubby,
        |seating| Ok(seating.all(chubby::Config { lease: seating.timing.lease() }));
    zookeeper::PLAIN => ZooKeeper,
        |seating| Ok(zookeeper_configs(seating, zookeeper::Watch::NextLower));
    zookeeper::HERD => ZooKeeper,
        |seating| Ok(zookeeper_configs(seating, zookeeper::Watch::Lowest));
}

shelf! {
    Detectors:
    heartbeat::ENTRY => Heartbeat,
        |seating| Ok(seating.all(heartbeat::Config::new(&seating.timing)));
    phi::ENTRY => Phi, |seating| Ok(seating.all(phi::Config::new(&seating.timing)));
}

fn zookeeper_configs(seating: &Seating<'_>, watch: zookeeper::Watch) -> Vec<zookeeper::Config> {
    let session = seating.timing.session();
    let config = |part| zookeeper::Config { part, session, watch };
    seating.roles(config(zookeeper::Part::Store), config(zookeeper::Part::Candidate(SERVER)))
}

/// Mutual exclusion, in the order in which it is shown.
pub const MUTEXES: &[&Entry] = Locks::ENTRIES;
/// Election, in the order in which it is shown.
pub const ELECTIONS: &[&Entry] = Elections::ENTRIES;
/// Failure detection, in the order in which it is shown.
pub const DETECTORS: &[&Entry] = Detectors::ENTRIES;

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
