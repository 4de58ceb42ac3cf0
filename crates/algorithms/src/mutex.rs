//! Mutual exclusion: at most one process at a time.
//!
//! Every file here is one algorithm, always in the same order: the problem, the idea, what it
//! assumes, its messages, its cost, its paper; then messages, state, the transition with one arm
//! per rule, one function per rule, and one test per rule.

use conclave_core::mutex::Locks;

use crate::catalogue::{SERVER, shelf};
use crate::detector::heartbeat;
use crate::election::bully;

mod census;
pub mod central;
pub mod central_elected;
pub mod lamport;
pub mod maekawa;
pub mod naimi_trehel;
pub mod raymond;
pub mod ricart_agrawala;
pub mod roucairol_carvalho;
pub mod suzuki_kasami;
pub mod token_ring;
pub mod token_ring_repaired;
pub mod token_ring_resting;

#[cfg(test)]
mod testing;

pub use central_elected::CentralElected;
pub use ricart_agrawala::Answers;

// The catalogue of locks, in the order in which they are shown.
shelf! {
    Locks:
    central::Central {
        PLAIN => |seating| Ok(seating.roles(
            central::Config::Coordinator(central::Answers::Grants),
            central::Config::Client(SERVER),
        )),
        QUEUED => |seating| Ok(seating.roles(
            central::Config::Coordinator(central::Answers::GrantsAndPositions),
            central::Config::Client(SERVER),
        )),
    }
    central_elected::CentralElectedByHeartbeat { ENTRY => |seating| Ok(seating.all((
        bully::Config::new(&seating.timing),
        heartbeat::Config::new(&seating.timing),
    ))) }
    token_ring::TokenRing { ENTRY => |seating| Ok(seating.all(())) }
    token_ring_resting::RestingTokenRing { ENTRY => |seating| Ok(seating.all(())) }
    token_ring_repaired::TokenRingRepaired { ENTRY => |seating| Ok(seating.all((
        token_ring_repaired::Config::new(&seating.timing),
        heartbeat::Config::new(&seating.timing),
    ))) }
    lamport::Lamport { ENTRY => |seating| Ok(seating.all(())) }
    ricart_agrawala::RicartAgrawala {
        PLAIN => |seating| Ok(seating.all(Answers::Replies)),
        DEFERRED => |seating| Ok(seating.all(Answers::RepliesAndDeferrals)),
    }
    roucairol_carvalho::RoucairolCarvalho { ENTRY => |seating| Ok(seating.all(())) }
    maekawa::MaekawaPlain { PLAIN => |seating| Ok(seating.all(seating.voting_sets()?)) }
    maekawa::Maekawa { DEADLOCK_FREE => |seating| Ok(seating.all(seating.voting_sets()?)) }
    suzuki_kasami::SuzukiKasami { ENTRY => |seating| Ok(seating.all(())) }
    raymond::Raymond { ENTRY => |seating| Ok(seating.all(())) }
    naimi_trehel::NaimiTrehel { ENTRY => |seating| Ok(seating.all(())) }
}
