//! Upkeep that goes on for ever is left out where there is nothing else to see.
//!
//! What is left out makes a quiet stretch, and is folded like any other. So beats are seen around
//! everything that happens, and at both ends of the run, and the picture does not grow with a run
//! in which nothing happens.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use conclave_core::{KindIndex, Seat};
use conclave_observe::{MessageId, Time};

use super::{Flight, median};

/// Drops the upkeep that is far from everything else; returns whether there was any. `moments` are
/// in order.
pub(super) fn thin(
    flights: &mut Vec<Flight>,
    moments: &mut Vec<(Time, Option<MessageId>)>,
) -> bool {
    let upkeep = flights.iter().filter(|flight| flight.is_upkeep);
    let upkeep: BTreeSet<MessageId> = upkeep.map(|flight| flight.message).collect();
    let Some(period) = period(flights) else { return false };
    // One beat before whatever happens, and one after it.
    let reach = Time(period.0.saturating_add(period.0 / 2));
    let is_news = |message: &Option<MessageId>| message.is_none_or(|it| !upkeep.contains(&it));
    let ends = [moments.first(), moments.last()].into_iter().flatten().map(|&(at, _)| at);
    let seen = moments.iter().filter(|(_, message)| is_news(message)).map(|&(at, _)| at);
    let seen: BTreeSet<Time> = seen.chain(ends).collect();
    let is_near = |from: Time, to: Time| {
        let from = Time(from.0.saturating_sub(reach.0));
        seen.range(from..=Time(to.0.saturating_add(reach.0)).max(from)).next().is_some()
    };
    let is_far = |flight: &&Flight| flight.is_upkeep && !is_near(flight.sent, flight.arrival);
    let far: BTreeSet<MessageId> = flights.iter().filter(is_far).map(|it| it.message).collect();
    flights.retain(|flight| !far.contains(&flight.message));
    moments.retain(|(_, message)| message.is_none_or(|it| !far.contains(&it)));
    !far.is_empty()
}

/// The typical time from one message of upkeep to the next of the same kind between the same two.
fn period(flights: &[Flight]) -> Option<Time> {
    let mut last: BTreeMap<(Seat, Seat, KindIndex), Time> = BTreeMap::new();
    let originals = flights.iter().filter(|flight| flight.is_upkeep && !flight.is_copy);
    let gaps = originals.filter_map(|flight| {
        let before = last.insert((flight.from, flight.to, flight.kind), flight.sent)?;
        Some(Time(flight.sent.0.saturating_sub(before.0)))
    });
    median(gaps.collect())
}
