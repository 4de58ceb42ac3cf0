//! Elections.

use alloc::vec::Vec;
use core::time::Duration;

use conclave_algorithms::catalogue::Setting as Timer;
use conclave_check::system::Calls;
use conclave_core::election::{AGREEMENT, Elections, LARGEST, ONE_AT_A_TIME, TERMS};
use conclave_core::{ProcessId, Seat, View};
use conclave_observe::{Spoken, Time};
use conclave_sim::{Call, ElectionApplication};
use serde_json::json;

use super::{Playable, Profile};
use crate::account;
use crate::experiment;
use crate::plan::{self, Plan};
use crate::search::SearchPlan;

static PROFILE: Profile = Profile {
    vocabulary: Elections::VOCABULARY,
    lacks: "elects nobody",
    instead: ", or choose e.g. bully",
    asks: Some(("call", "calls")),
    requests: 1,
    is_given_back: false,
    has_end: false,
    needs_its_model: false,
    has_order: false,
    terms: Some(TERMS),
    server: "a store",
    to_serve: "let more ask, or more faults happen",
    calls: first_that_is_up,
    noticing,
    work: |plan| (plan.clients.len() as u64, "decisions"),
    promises: |promises| {
        let words = [
            (LARGEST, "the largest id that is up is elected, and all agree"),
            (AGREEMENT, "one leader, whichever, and all agree"),
            (TERMS, "at most one leader in a term"),
            (ONE_AT_A_TIME, "one leads at a time"),
        ];
        let kept = words.into_iter().filter(|&(promise, _)| promises.keeps(promise));
        kept.map(|(_, what)| what).collect::<Vec<_>>().join("; ")
    },
    promises_json: |promises| {
        json!({
            "largest_id": promises.keeps(LARGEST),
            "agreement": promises.keeps_any(LARGEST.and(AGREEMENT)),
            "one_per_term": promises.keeps(TERMS),
            "one_at_a_time": promises.keeps(ONE_AT_A_TIME),
            "liveness": true,
        })
    },
    account: account::ELECTIONS,
    figures: Some(experiment::measure_election),
};

/// The first that is up calls at the start.
fn first_that_is_up(plan: &Plan) -> plan::Calls {
    let is_up = |id: &&ProcessId| !plan.faults.dead.contains(id);
    plan.clients.members().iter().find(is_up).map(|&id| (id, Time::ZERO)).into_iter().collect()
}

/// How long it takes until those who elect have noticed what went wrong: a run that ends before
/// shows nothing of it. Once somebody has, the run goes on until all agree again.
fn noticing(plan: &Plan) -> Duration {
    if plan.faults.last_moment() == Time::ZERO {
        return Duration::ZERO;
    }
    let timing = &plan.timing;
    let by_timer = plan.entry.settings.iter().map(|timer| match timer {
        // A silent leader is given up after two sessions, of which the last ping was late.
        Timer::Session => 3 * timing.session(),
        // A promise outlasts the lease by a margin, and was given one renewal later.
        Timer::Lease => 2 * timing.lease(),
        Timer::Beat => 2 * timing.beat() + 2 * timing.bound,
        _ => Duration::ZERO,
    });
    by_timer.max().unwrap_or_default()
}

impl Playable for Elections {
    type Application = ElectionApplication;
    type Users = Calls;

    const PROFILE: &'static Profile = &PROFILE;

    fn openings(_: &Plan, _: &View) -> Vec<()> {
        Vec::new()
    }

    fn application(plan: &Plan, view: &View, users: Vec<Seat>) -> ElectionApplication {
        let call = |&(id, at): &_| Some(Call { seat: view.seat(id)?, at });
        let calls = plan.calls.iter().filter_map(call).collect();
        let application = ElectionApplication::new(view, users, calls, plan.until, plan.seed);
        match plan.asks_every {
            Some(mean) => application.asking_every(mean),
            None => application,
        }
    }

    fn client(plan: &SearchPlan, callers: Vec<Seat>) -> Calls {
        Calls { callers, calls: plan.requests }
    }
}
