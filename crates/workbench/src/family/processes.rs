//! Bare processes.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use conclave_check::system::Steps;
use conclave_core::process::{CLOCK_CONDITION, Processes, STRONG_CLOCK_CONDITION, TURNS};
use conclave_core::{Promises, Seat, View};
use conclave_observe::Spoken;
use conclave_sim::{Pace, ProcessApplication};
use serde_json::json;

use super::{Playable, Profile};
use crate::account;
use crate::plan::Plan;
use crate::search::SearchPlan;

static PROFILE: Profile = Profile {
    vocabulary: Processes::VOCABULARY,
    lacks: "is not a bare process",
    instead: ", or choose e.g. lamport-clocks",
    asks: Some(("step", "steps")),
    requests: 3,
    is_given_back: false,
    has_end: false,
    needs_its_model: false,
    has_order: false,
    terms: None,
    server: "a server",
    to_serve: "let more take steps",
    calls: |_| Vec::new(),
    noticing: |_| Duration::ZERO,
    work: |plan| ((plan.clients.len() * Pace::STEPS) as u64, "events"),
    promises,
    promises_json: |promises| {
        json!({
            "turns": promises.keeps(TURNS),
            "clock_condition": promises.keeps(CLOCK_CONDITION),
            "strong_clock_condition": promises.keeps(STRONG_CLOCK_CONDITION),
        })
    },
    account: account::PROCESSES,
    figures: None,
};

fn promises(promises: Promises) -> String {
    if promises.keeps(STRONG_CLOCK_CONDITION) {
        "an event shows a smaller clock than another if and only if it happened before it".into()
    } else if promises.keeps(CLOCK_CONDITION) {
        "if an event happened before another, it shows a smaller clock".into()
    } else {
        "each prints pong and ping by turns, a word for every message".into()
    }
}

impl Playable for Processes {
    type Application = ProcessApplication;
    type Users = Steps;

    const PROFILE: &'static Profile = &PROFILE;

    fn openings(_: &Plan, _: &View) -> Vec<()> {
        Vec::new()
    }

    fn application(plan: &Plan, view: &View, users: Vec<Seat>) -> ProcessApplication {
        if !plan.steps.is_empty() {
            return ProcessApplication::scripted(view, &plan.steps);
        }
        let has_work = plan.entry.promises.keeps(CLOCK_CONDITION);
        let pace = Pace { mean: plan.network.typical(), until: plan.until, has_work };
        ProcessApplication::drawn(view, &users, pace, plan.seed)
    }

    fn client(plan: &SearchPlan, askers: Vec<Seat>) -> Steps {
        Steps { view: plan.clients.clone(), askers, steps: plan.requests }
    }
}
