//! Maekawa 1985: ask only your voting set. Any two voting sets share a voter, who votes for one.

pub mod deadlock_free;
pub mod plain;

pub use deadlock_free::{ENTRY as DEADLOCK_FREE, Maekawa};
pub use plain::{ENTRY as PLAIN, MaekawaPlain};

use alloc::sync::Arc;

use conclave_core::mutex::Mutex;
use conclave_core::{ProcessId, Start};

use crate::quorum::VotingSets;

/// The voting set of the process that starts, and the holder known from the start, if it has this
/// process's vote.
fn seat_of_voter<P>(start: &Start<'_, P>) -> (Arc<[ProcessId]>, Option<ProcessId>)
where
    P: Mutex<Config = VotingSets>,
{
    let set_of = |id| start.view.seat(id).map(|seat| start.config.of(seat)).unwrap_or_default();
    let has_my_vote = |holder: &ProcessId| set_of(*holder).contains(&start.me);
    (set_of(start.me).into(), start.holder().filter(has_my_vote))
}
