//! Whether a scenario is about what an algorithm does.

use conclave_algorithms::catalogue::{Entry, Setting};
use conclave_core::election::Elections;
use conclave_core::mutex::Locks;

use super::DraftError;
use crate::scenario::Scenario;

/// Whether a scenario says all that the algorithm needs, and nothing that it has no use for.
pub fn check_scenario(entry: &'static Entry, scenario: &Scenario) -> Result<(), DraftError> {
    let name = entry.name;
    let is_lock = entry.is_of::<Locks>();
    let is_election = entry.is_of::<Elections>();
    let for_locks = [
        ("request", !scenario.requests.is_empty()),
        ("hold", scenario.hold.is_some()),
        ("holder", scenario.holder.is_some()),
        ("clock", !scenario.clocks.is_empty()),
    ];
    if let Some(&(word, _)) = for_locks.iter().find(|(_, is_said)| *is_said && !is_lock) {
        return Err(DraftError::NoLock { name, word });
    }
    if !scenario.calls.is_empty() && !is_election {
        return Err(DraftError::NoElection { name });
    }
    if !scenario.clocks.is_empty() && !has_logical_clock(entry) {
        return Err(DraftError::NoClock { name });
    }
    if is_lock && scenario.requests.is_empty() {
        return Err(DraftError::NobodyAsks);
    }
    if is_election && scenario.calls.is_empty() && !begins_by_itself(entry) {
        return Err(DraftError::NobodyCalls);
    }
    Ok(())
}

/// Whether it elects without being called: who has to renew what it has cannot wait for a call.
fn begins_by_itself(entry: &Entry) -> bool {
    let renews = |setting: &Setting| matches!(setting, Setting::Lease | Setting::Session);
    entry.settings.iter().any(renews)
}

/// Whether it stamps its requests, so that it matters what its clock shows first.
fn has_logical_clock(entry: &Entry) -> bool {
    ["lamport", "ricart-agrawala", "ricart-agrawala-deferred", "maekawa"].contains(&entry.name)
}
