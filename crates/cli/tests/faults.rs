//! Each fault alone changes a verdict or a measure; and the same run without it does not.

use conclave_algorithms::catalogue::{self, Entry};
use conclave_core::mutex::Locks;
use conclave_core::{ProcessId, View};
use conclave_observe::{Time, Verdict};
use conclave_sim::{ChannelOrder, FaultPlan, Network, Workload};
use conclave_workbench::notation::read;
use conclave_workbench::plan::{Done, Plan};
use conclave_workbench::scenario::Scenario;

fn plan(algorithm: &str, n: u32) -> Plan {
    Plan::new(catalogue::find(algorithm).unwrap(), View::dense(1, n))
}

/// A plan whose requests and faults are written down.
fn scripted(algorithm: &str, scenario: &str) -> Plan {
    let scenario: Scenario = scenario.parse().unwrap();
    let clients = scenario.view.clone().unwrap();
    let mut plan = Plan::new(catalogue::find(algorithm).unwrap(), clients);
    plan.workload = Workload::Script(scenario.requests);
    plan.faults = scenario.faults;
    plan
}

fn run(plan: Plan) -> Done {
    plan.faults.check(&plan.entry.view_of(&plan.clients).unwrap()).unwrap();
    plan.run(&mut |_| {}).unwrap()
}

fn verdict(plan: Plan) -> Verdict {
    run(plan).outcome.report.verdict
}

fn reason(done: &Done) -> String {
    done.outcome.diagnosis.as_ref().unwrap().sentence(|seat| done.view.at(seat))
}

/// The verdicts without the faults, and with them.
fn without_and_with(plan: Plan) -> (Verdict, Verdict) {
    let calm = Plan { faults: FaultPlan::default(), ..plan.clone() };
    let done = run(plan);
    assert!(done.outcome.faults.iter().all(|it| it.count > 0), "{:?}", done.outcome.faults);
    (verdict(calm), done.outcome.report.verdict)
}

#[test]
fn a_crash_alone_stalls_those_who_need_the_dead() {
    let script = "n 3\nrequest 1@0ms\nrequest 2@10ms\ncrash 3@5ms";
    for name in ["ricart-agrawala", "lamport", "token-ring"] {
        assert_eq!(
            without_and_with(scripted(name, script)),
            (Verdict::Ok, Verdict::Stalled),
            "{name}"
        );
    }
}

#[test]
fn a_return_alone_makes_a_coordinator_forget_its_holder() {
    let stays_dead = "n 2\nrequest 1@0ms hold 20ms\nrequest 2@7ms\ncrash 0@5ms";
    let returns = format!("{stays_dead}\nreturn 0@6ms");
    assert_eq!(verdict(scripted("central", stays_dead)), Verdict::Stalled);
    assert_eq!(verdict(scripted("central", &returns)), Verdict::Violated);
}

#[test]
fn a_pause_alone_delays_a_hand_over_and_breaks_nothing() {
    let longest = |faults: FaultPlan| {
        let report = run(Plan { faults, ..plan("ricart-agrawala", 5) }).outcome.report;
        assert_eq!(report.verdict, Verdict::Ok);
        report.locks().unwrap().delays.sync.max().unwrap()
    };
    let pauses = vec![read("2@3ms..50ms").unwrap()];
    assert_eq!(longest(FaultPlan::default()), Time::delays(1));
    assert_eq!(longest(FaultPlan { pauses, ..FaultPlan::default() }), Time::delays(47));
}

#[test]
fn a_partition_alone_stalls_and_one_that_ends_before_anybody_asks_does_not() {
    let cut = |span: &str| {
        let script = format!("n 4\nrequest 1@10ms\npartition 1,2/3,4@{span}");
        verdict(scripted("ricart-agrawala", &script))
    };
    assert_eq!(cut("5ms..20ms"), Verdict::Stalled);
    assert_eq!(cut("5ms..9ms"), Verdict::Ok);
}

#[test]
fn a_one_way_partition_alone_cuts_one_way() {
    let cut = |sides: &str| {
        let script = format!("n 3\nrequest 1@10ms\npartition {sides}@5ms..20ms");
        run(scripted("central", &script)).outcome.report.verdict
    };
    // The request goes from 1 to 0, the grant from 0 to 1.
    assert_eq!(cut("1>0"), Verdict::Stalled);
    assert_eq!(cut("0>1"), Verdict::Stalled);
    assert_eq!(cut("2>0"), Verdict::Ok);
    // A release that does not arrive keeps the next one out; a grant that need not come does not.
    let release = |sides: &str| {
        let script =
            format!("n 2\nrequest 1@0ms hold 5ms\nrequest 2@20ms\npartition {sides}@6ms..9ms");
        verdict(scripted("central", &script))
    };
    assert_eq!(release("1>0"), Verdict::Stalled);
    assert_eq!(release("0>1"), Verdict::Ok);
}

#[test]
fn loss_alone_stalls() {
    let mut plan = plan("ricart-agrawala", 5);
    plan.faults.loss = read("0.05").unwrap();
    assert_eq!(without_and_with(plan), (Verdict::Ok, Verdict::Stalled));
}

#[test]
fn duplication_alone_lets_two_in_where_replies_are_counted() {
    let mut plan = plan("ricart-agrawala", 5);
    plan.faults.duplicate = read("0.2").unwrap();
    assert_eq!(without_and_with(plan), (Verdict::Ok, Verdict::Violated));
}

#[test]
fn channels_without_order_alone_break_lamport() {
    let two_holders = |order| {
        (1..=20).filter(move |&seed| {
            let network = Network::Uniform { low: Time::delays(1), high: Time::delays(20) };
            verdict(Plan { order, network, seed, ..plan("lamport", 2) }) == Verdict::Violated
        })
    };
    assert_eq!(two_holders(ChannelOrder::Fifo).count(), 0);
    assert!(two_holders(ChannelOrder::Any).count() > 0);
}

#[test]
fn what_a_paused_process_held_is_lost_when_it_dies() {
    let script = "n 2\nrequest 2@1ms\npause 1@1ms..5ms\ncrash 1@4ms";
    let done = run(scripted("ricart-agrawala", script));
    assert_eq!(done.outcome.report.verdict, Verdict::Stalled);
    assert_eq!(done.outcome.report.losses.len(), 1, "the request that it held");
    assert!(done.outcome.faults.iter().all(|fault| fault.count == 1), "{:?}", done.outcome.faults);
}

#[test]
fn patience_does_not_run_while_somebody_is_in_or_nobody_waits() {
    let mut long_hold = plan("central", 3);
    long_hold.hold = Time::delays(50_000);
    let mut long_think = plan("ricart-agrawala", 3);
    long_think.workload = read("think:100s").unwrap();
    for mut plan in [long_hold, long_think] {
        plan.faults.pauses = vec![read("2@0ms..1ms").unwrap()];
        assert_eq!(verdict(plan), Verdict::Ok);
    }
}

#[test]
fn a_long_pause_is_named_as_the_reason() {
    let mut paused = plan("ricart-agrawala", 3);
    paused.faults.pauses = vec![read("2@10ms..5000ms").unwrap()];
    let done = run(paused);
    assert_eq!(done.outcome.report.verdict, Verdict::Stalled);
    assert!(reason(&done).ends_with("2 is paused since 10 ms"), "{}", reason(&done));
    assert_eq!(done.outcome.faults[0].count, 1);
}

#[test]
fn a_run_that_was_cut_off_is_not_explained() {
    let mut short = plan("lamport", 3);
    short.limits.events = 10;
    let done = run(short);
    assert_eq!(done.outcome.report.verdict, Verdict::Budget);
    assert_eq!(done.outcome.diagnosis, None);
}

#[test]
fn a_fault_that_never_fires_is_told() {
    let mut late = plan("ricart-agrawala", 3);
    late.faults.crashes = vec![read("2@1000s").unwrap()];
    late.faults.partitions = vec![read("1/2@2000s..3000s").unwrap()];
    late.faults.duplicate = read("0.000000001").unwrap();
    let done = run(late);
    assert_eq!(done.outcome.report.verdict, Verdict::Ok);
    assert_eq!(done.outcome.faults.len(), 3);
    assert!(done.outcome.faults.iter().all(|fault| fault.count == 0), "{:?}", done.outcome.faults);
}

#[test]
fn a_deadlock_that_came_before_a_fault_is_not_the_faults() {
    let mut plan = plan("maekawa-plain", 3);
    plan.faults.crashes = vec![read("2@1000s").unwrap()];
    assert_eq!(verdict(plan), Verdict::Deadlock);
}

/// A crash that matters, one sentence that says why, and a crash of a bystander that does not.
#[test]
fn every_algorithm_stalls_on_a_crash_that_matters_and_not_on_a_bystanders() {
    let plain = |entry: &&&Entry| !entry.needs.synchrony && !entry.needs.majority;
    for entry in catalogue::MUTEXES.iter().chain(catalogue::ELECTIONS).filter(plain) {
        let name = entry.name;
        let example = entry.crash_example;
        let example = example.unwrap_or_else(|| panic!("{name}: which crash matters?"));
        let done = run(crashed(entry, example.matters));
        assert_eq!(done.outcome.report.verdict, Verdict::Stalled, "{name}, {}", example.matters);
        assert!(reason(&done).contains(example.why), "{name}: {}", reason(&done));
        let done = run(crashed(entry, example.passes));
        assert_eq!(done.outcome.report.verdict, Verdict::Ok, "{name}, {}", example.passes);
        assert_eq!(done.outcome.faults[0].count, 1, "{name}: the bystander did crash");
    }
}

/// The run that [`catalogue::CrashExample`] speaks of, with this crash.
fn crashed(entry: &'static Entry, crash: &str) -> Plan {
    if entry.is_of::<Locks>() {
        let script = "n 9\nrequest 2@0ms\nrequest 1@10ms hold 20ms";
        return scripted(entry.name, &format!("{script}\ncrash {crash}"));
    }
    let mut plan = Plan::new(entry, View::dense(1, 9));
    plan.calls = vec![(ProcessId(3), Time::ZERO)];
    plan.faults.crashes = vec![read(crash).unwrap()];
    plan.until = plan.default_until();
    plan
}

/// The same crashes and more, answered: the coordinator, the holder of the token, two at once.
#[test]
fn those_with_a_detector_go_on_after_any_crash() {
    for entry in catalogue::MUTEXES.iter().filter(|entry| entry.needs.synchrony) {
        for crashes in ["9@4ms", "1@12ms", "2@4ms", "9@4ms\ncrash 8@4ms", "9@4ms\ncrash 8@18ms"] {
            let script = "n 9\nrequest 2@0ms\nrequest 3@1ms\nrequest 1@10ms\nrequest 4@10ms";
            let done = run(scripted(entry.name, &format!("{script}\ncrash {crashes}")));
            let (verdict, name) = (done.outcome.report.verdict, entry.name);
            assert_eq!(verdict, Verdict::Ok, "{name}, crash {crashes}: {}", reason(&done));
            assert!(done.outcome.faults.iter().all(|fault| fault.count == 1), "{name}");
        }
    }
}

/// Without a bound, a detector suspects the living, and two are inside; the fences tell them apart.
#[test]
fn asynchrony_lets_two_in_where_a_detector_decides() {
    for entry in catalogue::MUTEXES.iter().filter(|entry| entry.needs.synchrony) {
        let two_holders = (1..=40).filter(|&seed| {
            let mut plan = plan(entry.name, 4);
            plan.network = Network::Exponential { mean: Time::delays(5) };
            plan.hold = Time::delays(30);
            plan.seed = seed;
            let report = run(plan).outcome.report;
            report.locks().unwrap().exclusion.broken().is_some()
                && report.locks().unwrap().fences.broken().is_none()
        });
        assert!(two_holders.count() > 0, "{}", entry.name);
    }
}

#[test]
fn whoever_answers_deferred_is_not_suspected() {
    let script = "n 3\nrequest 2@0ms hold 50ms\nrequest 1@10ms\ncrash 3@5ms";
    let done = run(scripted("ricart-agrawala-deferred", script));
    assert_eq!(reason(&done), "1 waits for 3; but 3 crashed at 5 ms and will never answer");
    let plain = run(scripted("ricart-agrawala", script));
    let waits: Vec<ProcessId> =
        plain.outcome.diagnosis.unwrap().path.iter().map(|&seat| plain.view.at(seat)).collect();
    assert_eq!(waits, [1, 3].map(ProcessId));
}
