//! The golden runs, their figures asserted. The same runs as text are in `transcripts/`.

use conclave_algorithms::catalogue;
use conclave_core::{ProcessId, View};
use conclave_observe::family::locks::Seen;
use conclave_observe::{Diagnosis, Root, Verdict, What};
use conclave_sim::{Recording, Workload};
use conclave_workbench::plan::{Done, Plan};
use conclave_workbench::scenario::Scenario;

fn run_scenario(algorithm: &str, text: &str) -> Done {
    let scenario: Scenario = text.parse().unwrap();
    let mut plan = Plan::new(catalogue::find(algorithm).unwrap(), scenario.view.unwrap());
    plan.workload = Workload::Script(scenario.requests);
    plan.clocks = scenario.clocks;
    plan.recording = Recording::Everything;
    plan.run(&mut |_| {}).unwrap()
}

/// Who did that, in order.
fn who(done: &Done, what: impl Fn(What) -> bool) -> Vec<u32> {
    let records = done.outcome.records.iter().filter(|record| what(record.event.what));
    records.map(|record| done.view.at(record.event.seat).0).collect()
}

/// Every message whose text begins and ends so: from whom, to whom.
fn sent(done: &Done, begins: &str, ends: &str) -> Vec<(u32, u32)> {
    let is_it = |text: &String| text.starts_with(begins) && text.ends_with(ends);
    let records = done.outcome.records.iter().filter(|it| it.text.as_ref().is_some_and(is_it));
    let sent = records.filter_map(|record| match record.event.what {
        What::Sent { to, .. } => Some((done.view.at(record.event.seat).0, done.view.at(to).0)),
        _ => None,
    });
    sent.collect()
}

const RICART_AGRAWALA: &str = include_str!("transcripts/ricart_agrawala_golden.scenario");

#[test]
fn ricart_agrawala_grants_32_then_80_then_12_with_ten_messages_each() {
    let done = run_scenario("ricart-agrawala", RICART_AGRAWALA);
    let report = &done.outcome.report;
    assert_eq!(report.verdict, Verdict::Ok);
    assert_eq!(who(&done, |what| matches!(Seen::of(what), Seen::Entered { .. })), [32, 80, 12]);
    assert_eq!(report.bandwidth.sent(), 30);
    assert_eq!(report.locks().unwrap().delays.entries(), 3, "ten messages per entry");
    for (stamp, from) in [(102, 32), (110, 80), (115, 12)] {
        let requests = sent(&done, "Request", &format!("({stamp})"));
        assert_eq!(requests.len(), 5);
        assert!(requests.iter().all(|&(sender, _)| sender == from), "{requests:?}");
    }
    // N32 keeps both replies back until it leaves, N80 that to N12; N12 answers N80 at once.
    assert_eq!(sent(&done, "Reply", "#1)"), [(32, 12), (32, 80)]);
    assert_eq!(sent(&done, "Reply", "#2)"), [(80, 12)]);
    assert!(sent(&done, "Reply", "#0)").contains(&(12, 80)));
}

#[test]
fn maekawa_plain_deadlocks_with_three_each_granted_by_itself() {
    let mut plan = Plan::new(catalogue::find("maekawa-plain").unwrap(), View::dense(1, 3));
    plan.recording = Recording::Everything;
    let done = plan.run(&mut |_| {}).unwrap();
    assert_eq!(done.outcome.report.verdict, Verdict::Deadlock);
    assert_eq!(done.outcome.report.locks().unwrap().delays.entries(), 0);
    assert_eq!(sent(&done, "Reply", "#0)"), [(1, 1), (2, 2), (3, 3)]);
    assert_eq!(sent(&done, "Request", ""), [(1, 1), (1, 2), (2, 2), (2, 3), (3, 1), (3, 3)]);
    let Diagnosis { path, root } = done.outcome.diagnosis.clone().unwrap();
    let path: Vec<ProcessId> = path.iter().map(|&seat| done.view.at(seat)).collect();
    assert_eq!((path, root), ([1, 2, 3].map(ProcessId).to_vec(), Root::Cycle));
}

#[test]
fn maekawa_with_yields_serves_everybody_on_the_same_seed() {
    let plan = Plan::new(catalogue::find("maekawa").unwrap(), View::dense(1, 3));
    let done = plan.run(&mut |_| {}).unwrap();
    assert_eq!(done.outcome.report.verdict, Verdict::Ok);
    assert_eq!(done.outcome.report.locks().unwrap().delays.entries(), 12);
}
