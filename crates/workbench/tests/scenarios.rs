//! What a scenario may say of an algorithm, beside what the algorithm then does.

use conclave_algorithms::catalogue::{ELECTIONS, Entry, MUTEXES};
use conclave_core::clock::Timestamp;
use conclave_core::{ProcessId, View};
use conclave_observe::Time;
use conclave_sim::Recording;
use conclave_workbench::draft::{Draft, DraftError};
use conclave_workbench::plan::Plan;
use conclave_workbench::scenario::Scenario;

fn refusal(entry: &'static Entry, scenario: Scenario) -> Option<DraftError> {
    let mut draft = Draft::new(entry);
    draft.play(scenario);
    draft.plan().err()
}

#[test]
fn an_election_must_be_called_unless_somebody_is_elected_without_a_call() {
    for entry in ELECTIONS {
        let mut plan = Plan::new(entry, View::dense(1, 3));
        plan.calls.clear();
        plan.until = Time::delays(500);
        let report = plan.run(&mut |_| {}).unwrap().outcome.report;
        let is_elected = report.elections().is_some_and(|it| it.decisions > 0);
        let is_refused =
            matches!(refusal(entry, Scenario::default()), Some(DraftError::NobodyCalls));
        assert_eq!(is_refused, !is_elected, "{}", entry.name);
    }
}

#[test]
fn a_logical_clock_can_be_set_where_its_first_reading_is_seen_in_messages() {
    let clocks = [(ProcessId(2), Timestamp(101))];
    for entry in MUTEXES {
        let texts = |clocks: &[(ProcessId, Timestamp)]| -> Vec<Option<String>> {
            let mut plan = Plan::new(entry, View::dense(1, 3));
            plan.clocks = clocks.to_vec();
            plan.recording = Recording::Everything;
            let records = plan.run(&mut |_| {}).unwrap().outcome.records;
            records.into_iter().map(|record| record.text).collect()
        };
        let is_seen = texts(&[]) != texts(&clocks);
        let scenario = Scenario { clocks: clocks.to_vec(), ..Scenario::default() };
        let is_refused = matches!(refusal(entry, scenario), Some(DraftError::NoClock { .. }));
        assert_eq!(is_refused, !is_seen, "{}", entry.name);
    }
}
