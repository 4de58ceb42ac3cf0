//! Any text, read as a scenario. What is none is refused in one line; what is one keeps its
//! promises and, if it is small, is run: by the algorithm that it names, or that a comment in the
//! first line names, e.g. `# maekawa`, or else by Ricart and Agrawala's. The trace of that run can
//! be read again.

#![no_main]

use std::collections::BTreeSet;

use conclave_algorithms::catalogue;
use conclave_observe::trace::json;
use conclave_sim::{ChannelOrder, Recording};
use conclave_workbench::draft::Draft;
use conclave_workbench::plan::Plan;
use conclave_workbench::scenario::Scenario;
use libfuzzer_sys::{Corpus, fuzz_target};

/// The most processes of a scenario that is run.
const MEMBERS_RUN_MAX: usize = 8;
/// The most events of a run: enough for every fault to meet every message of a few entries.
const EVENTS_MAX: u64 = 2_000;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    // What is not text never gets as far as a parser, and a corpus is to be read by people.
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    on_text(text);
    Corpus::Keep
});

fn on_text(text: &str) {
    match text.parse::<Scenario>() {
        Ok(scenario) => {
            check(&scenario);
            if let Some(plan) = plan(text, &scenario) {
                run(plan);
            }
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "an error is one line: {error:?}"),
    }
}

fn check(scenario: &Scenario) {
    assert!(scenario.requests.is_sorted_by_key(|request| request.at));
    if let Some(view) = &scenario.view {
        let unique: BTreeSet<_> = view.members().iter().collect();
        assert!(!view.is_empty() && unique.len() == view.len());
    }
    let clocks: BTreeSet<_> = scenario.clocks.iter().map(|(process, _)| process).collect();
    assert_eq!(clocks.len(), scenario.clocks.len());
}

/// The run that `conclave run --scenario` would do, if it would do one and that is a small one.
fn plan(text: &str, scenario: &Scenario) -> Option<Plan> {
    let comment = text.lines().next().and_then(|line| line.strip_prefix('#')).unwrap_or_default();
    let entry = catalogue::find(scenario.algorithm.unwrap_or(comment.trim()))
        .or_else(|_| catalogue::find("ricart-agrawala"))
        .ok()?;
    let mut draft = Draft::new(entry);
    draft.play(scenario.clone());
    let mut plan = match draft.plan() {
        Ok(plan) => plan,
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "an error is one line: {error:?}");
            return None;
        }
    };
    if plan.clients.len() > MEMBERS_RUN_MAX {
        return None;
    }
    plan.limits.events = plan.limits.events.min(EVENTS_MAX);
    plan.recording = Recording::Everything;
    // An algorithm's invariants hold as long as it gets what it needs.
    plan.check_invariants = plan.faults.labels().is_empty()
        && scenario.settings.is_empty()
        && (plan.order == ChannelOrder::Fifo || !entry.needs.fifo);
    Some(plan)
}

fn run(plan: Plan) {
    let done = plan.run(&mut |_| {}).expect("the plan was checked");
    let trace = done.trace();
    let written = json::write(&trace);
    match json::read(&written) {
        Ok(again) => assert_eq!(again, trace, "written as {written}"),
        Err(error) => panic!("a run whose trace is refused: {error}\n{written}"),
    }
}
