//! Failure detectors.

use alloc::vec::Vec;

use conclave_check::system::Listens;
use conclave_core::detector::Detectors;
use conclave_core::{Seat, View};
use conclave_observe::Spoken;
use conclave_sim::DetectorApplication;
use serde_json::json;

use super::{Playable, Profile};
use crate::account;
use crate::plan::Plan;
use crate::search::SearchPlan;

static PROFILE: Profile = Profile {
    vocabulary: Detectors::VOCABULARY,
    lacks: "is not a failure detector",
    instead: ", or choose e.g. heartbeat",
    asks: None,
    requests: 1,
    is_given_back: false,
    has_end: false,
    needs_its_model: false,
    has_order: false,
    terms: None,
    server: "a store",
    to_serve: "let somebody die with `crashes`, or ask for no more than `safety`",
    calls: |_| Vec::new(),
    noticing: |plan| 20 * plan.timing.beat() + 2 * plan.timing.bound,
    work: |plan| (plan.clients.len() as u64, "decisions"),
    promises: |_| "the dead are suspected, and nobody else is".into(),
    promises_json: |_| json!({ "completeness": true, "accuracy": true }),
    account: account::DETECTORS,
    figures: None,
};

impl Playable for Detectors {
    type Application = DetectorApplication;
    type Users = Listens;

    const PROFILE: &'static Profile = &PROFILE;

    fn openings(_: &Plan, _: &View) -> Vec<()> {
        Vec::new()
    }

    fn application(plan: &Plan, _: &View, _: Vec<Seat>) -> DetectorApplication {
        DetectorApplication::new(plan.until)
    }

    fn client(_: &SearchPlan, _: Vec<Seat>) -> Listens {
        Listens
    }
}
