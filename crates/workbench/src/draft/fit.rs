//! Whether a scenario is about what an algorithm does.

use conclave_algorithms::catalogue::{Entry, Setting};
use conclave_core::election::Elections;
use conclave_core::mutex::Locks;

use super::DraftError;
use crate::family::{Playable, Profile};
use crate::scenario::Scenario;

/// Whether a scenario says all that the algorithm needs, and nothing that it has no use for.
pub fn check_scenario(entry: &'static Entry, scenario: &Scenario) -> Result<(), DraftError> {
    let name = entry.name;
    let words = [
        ("request", Locks::PROFILE, !scenario.requests.is_empty()),
        ("hold", Locks::PROFILE, scenario.hold.is_some()),
        ("holder", Locks::PROFILE, scenario.holder.is_some()),
        ("clock", Locks::PROFILE, !scenario.clocks.is_empty()),
        ("call", Elections::PROFILE, !scenario.calls.is_empty()),
    ];
    let is_of = |profile: &Profile| profile.vocabulary.family == entry.family;
    for (word, profile, is_said) in words {
        if is_said && !is_of(profile) {
            return Err(DraftError::Family { name, lacks: profile.lacks, word });
        }
    }
    if !scenario.clocks.is_empty() && !has_logical_clock(entry) {
        return Err(DraftError::NoClock { name });
    }
    for (word, setting, is_said) in [
        ("request", "workload", !scenario.requests.is_empty()),
        ("call", "initiators", !scenario.calls.is_empty()),
    ] {
        if is_said && let Some(stated) = scenario.settings.iter().find(|it| it.name == setting) {
            return Err(DraftError::AsksTwice { word, setting }.at(stated.line));
        }
    }
    if is_of(Locks::PROFILE) && scenario.requests.is_empty() && !scenario.says("workload") {
        return Err(DraftError::NobodyAsks);
    }
    let calls = !scenario.calls.is_empty() || scenario.says("initiators");
    if is_of(Elections::PROFILE) && !calls && !begins_by_itself(entry) {
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
    let clocked =
        ["lamport", "ricart-agrawala", "ricart-agrawala-deferred", "roucairol-carvalho", "maekawa"];
    clocked.contains(&entry.name)
}
