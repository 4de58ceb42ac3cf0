//! Runs that show more than a verdict: one process that never thinks before it asks, and runs that
//! go on after a promise was broken.

use conclave_algorithms::catalogue;
use conclave_core::View;
use conclave_observe::{Ending, Verdict};
use conclave_sim::{AfterViolation, FaultPlan};
use conclave_workbench::notation::read;
use conclave_workbench::plan::{Done, Plan};

fn plan(algorithm: &str, n: u32) -> Plan {
    Plan::new(catalogue::find(algorithm).unwrap(), View::dense(1, n))
}

fn greedy(algorithm: &str, mean: &str, seed: u64) -> Done {
    let mut plan = plan(algorithm, 7);
    plan.workload = read(&format!("greedy:1:{mean}")).unwrap();
    (plan.entries, plan.seed) = (300, seed);
    let done = plan.run(&mut |_| {}).unwrap();
    assert_eq!(done.outcome.report.verdict, Verdict::Ok, "{algorithm}, seed {seed}");
    done
}

fn entries(done: &Done) -> Vec<u64> {
    let locks = done.outcome.report.locks().unwrap();
    locks.fairness.waits().iter().map(conclave_observe::measure::Histogram::count).collect()
}

#[test]
fn the_greedy_one_enters_most_and_the_rarer_others_ask_the_more() {
    for name in ["ricart-agrawala", "maekawa", "lamport", "suzuki-kasami"] {
        let share = |mean| {
            let entries = entries(&greedy(name, mean, 1));
            assert_eq!(entries.iter().sum::<u64>(), 300, "{name}");
            let others = entries[1..].iter().max().copied().unwrap();
            assert!(entries[0] > others && entries[1..].iter().all(|&it| it > 0), "{entries:?}");
            entries[0]
        };
        assert!(share("10ms") < share("100ms"), "{name}");
        assert!(share("100ms") > 150, "{name}");
    }
}

#[test]
fn greed_passes_earlier_requests_under_maekawa_and_never_under_ricart_agrawala() {
    let passed = |name: &str| -> Vec<u64> {
        let overtakings = |seed| {
            let done = greedy(name, "10ms", seed);
            done.outcome.report.locks().unwrap().overtakings().unwrap()
        };
        (1..=6).map(overtakings).collect()
    };
    assert!(passed("maekawa").iter().all(|&it| it > 0));
    assert_eq!(passed("ricart-agrawala"), [0; 6]);
}

/// Permissions that come twice make two holders, again and again.
fn doubled(after_violation: AfterViolation) -> Done {
    let mut plan = plan("ricart-agrawala", 3);
    plan.faults.duplicate = read("0.1").unwrap();
    plan.entries = 200;
    plan.after_violation = after_violation;
    plan.run(&mut |_| {}).unwrap()
}

#[test]
fn a_run_that_goes_on_counts_all_and_keeps_its_verdict_and_its_reason() {
    let (stops, goes_on) = (doubled(AfterViolation::Stop), doubled(AfterViolation::GoOn));
    assert_eq!(stops.outcome.report.ending, Ending::Stopped);
    assert_eq!(goes_on.outcome.report.ending, Ending::Finished);
    let violated = |done: &Done| {
        assert_eq!(done.outcome.report.verdict, Verdict::Violated);
        done.outcome.report.locks().unwrap().exclusion.broken().unwrap()
    };
    assert_eq!(violated(&stops), violated(&goes_on), "the first one is told");
    let two_holders = |done: &Done| {
        let violations = done.outcome.report.violations();
        violations.iter().find(|(what, _)| *what == "two holders").unwrap().1
    };
    assert_eq!(two_holders(&stops), 1);
    assert!(two_holders(&goes_on) > 5, "{}", two_holders(&goes_on));
    assert_eq!(entries(&goes_on).iter().sum::<u64>(), 200);
}

/// The bully keeps on electing: it is not safe without its bound, but it is live.
#[test]
fn the_bully_comes_to_an_end_although_it_was_wrong_before() {
    let mut plan = plan("bully", 5);
    plan.faults = FaultPlan { slow: vec![read("4=4x").unwrap()], ..FaultPlan::default() };
    plan.faults.dead = vec![conclave_core::ProcessId(5)];
    plan.after_violation = AfterViolation::GoOn;
    let done = plan.run(&mut |_| {}).unwrap();
    let report = &done.outcome.report;
    assert_eq!((report.verdict, report.ending), (Verdict::Violated, Ending::Finished));
    assert_eq!(report.elections().unwrap().leader().map(|it| done.view.at(it).0), Some(4));
    assert_eq!(report.violations(), [("one leads who is not the largest", 3)]);
}

#[test]
fn a_run_that_breaks_nothing_is_the_same_whether_it_would_go_on_or_not() {
    for name in ["ricart-agrawala", "maekawa", "bully", "chubby", "heartbeat"] {
        let stops = plan(name, 5).run(&mut |_| {}).unwrap();
        let goes_on = Plan { after_violation: AfterViolation::GoOn, ..plan(name, 5) };
        let goes_on = goes_on.run(&mut |_| {}).unwrap();
        assert_eq!(stops.outcome.report.fingerprint, goes_on.outcome.report.fingerprint, "{name}");
        assert_eq!(goes_on.outcome.report.violations(), [], "{name}");
    }
}
