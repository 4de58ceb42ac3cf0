//! Mutual exclusion.

use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use conclave_check::system::Enters;
use conclave_core::mutex::{LIVENESS, Locks, ORDERING, Opening};
use conclave_core::{Seat, View};
use conclave_observe::Spoken;
use conclave_sim::MutexApplication;
use serde_json::json;

use super::{Playable, Profile};
use crate::account;
use crate::experiment;
use crate::plan::Plan;
use crate::search::SearchPlan;

static PROFILE: Profile = Profile {
    vocabulary: Locks::VOCABULARY,
    lacks: "is not a mutual exclusion algorithm",
    instead: "",
    asks: Some(("request", "requests")),
    requests: 2,
    is_given_back: true,
    has_end: true,
    needs_its_model: true,
    has_order: true,
    terms: None,
    server: "a coordinator",
    to_serve: "let more ask, or more faults happen",
    calls: |_| Vec::new(),
    noticing: |_| Duration::ZERO,
    work: |plan| (plan.entries, "entries"),
    promises: |promises| {
        let liveness = if promises.keeps(LIVENESS) { "everybody is served" } else { "no more" };
        let is_ordered = promises.keeps(ORDERING);
        let ordering = if is_ordered { ", in the order in which they asked" } else { "" };
        format!("one holder at a time; {liveness}{ordering}")
    },
    promises_json: |promises| {
        json!({
            "safety": true,
            "liveness": promises.keeps(LIVENESS),
            "ordering": promises.keeps(ORDERING),
        })
    },
    account: account::LOCKS,
    figures: Some(experiment::measure_lock),
};

impl Playable for Locks {
    type Application = MutexApplication;
    type Users = Enters;

    const PROFILE: &'static Profile = &PROFILE;

    fn openings(plan: &Plan, view: &View) -> Vec<Opening> {
        if plan.holder.is_none() && plan.clocks.is_empty() {
            return Vec::new();
        }
        let clock_of = |id| plan.clocks.iter().find(|(named, _)| *named == id);
        let opening = |&id| Opening {
            holder: plan.holder,
            clock: clock_of(id).map(|&(_, clock)| clock).unwrap_or_default(),
        };
        view.members().iter().map(opening).collect()
    }

    fn application(plan: &Plan, view: &View, users: Vec<Seat>) -> MutexApplication {
        let Plan { entries, hold, holder, seed, .. } = *plan;
        MutexApplication::new(plan.workload.clone(), view, users, entries, hold, holder, seed)
    }

    fn client(plan: &SearchPlan, clients: Vec<Seat>) -> Enters {
        Enters { clients, requests: plan.requests, holder: None }
    }
}
