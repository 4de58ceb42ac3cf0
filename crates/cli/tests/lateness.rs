//! Late, but not lost: a process that is slow, a partition that keeps what would cross it; and an
//! observer who cannot tell either from a death.

use conclave_algorithms::catalogue;
use conclave_core::{Seat, View};
use conclave_observe::trace::Record;
use conclave_observe::{Time, Verdict, What};
use conclave_sim::{Network, Recording, Workload};
use conclave_workbench::draft::Draft;
use conclave_workbench::notation::read;
use conclave_workbench::plan::{Done, Plan};

fn plan(algorithm: &str, n: u32) -> Plan {
    let mut plan = Plan::new(catalogue::find(algorithm).unwrap(), View::dense(1, n));
    plan.recording = Recording::Everything;
    plan
}

fn slow(mut plan: Plan, slow: &str) -> Plan {
    plan.faults.slow = vec![read(slow).unwrap()];
    plan
}

fn cut(mut plan: Plan, partition: &str) -> Plan {
    plan.faults.partitions = vec![read(partition).unwrap()];
    plan
}

fn run(plan: Plan) -> Done {
    plan.faults.check(&plan.entry.view_of(&plan.clients).unwrap()).unwrap();
    plan.run(&mut |_| {}).unwrap()
}

/// What a process says to itself is part of a step, and no input.
fn is_input(record: &Record) -> bool {
    match record.event.what {
        What::Received { from, .. } => from != record.event.seat,
        What::Asked(_) | What::TimerFired => true,
        _ => false,
    }
}

fn inputs(done: &Done, seat: Seat) -> Vec<Time> {
    let its = done.outcome.records.iter().filter(|it| it.event.seat == seat && is_input(it));
    its.map(|it| it.event.at).collect()
}

fn entries(done: &Done) -> u64 {
    done.outcome.report.locks().unwrap().delays.entries()
}

/// In delays.
fn client_delay(done: &Done) -> f64 {
    done.outcome.report.locks().unwrap().delays.client.mean().unwrap() / Time::DELAY.0 as f64
}

#[test]
fn a_slow_coordinator_adds_its_time_to_each_message_it_takes_in() {
    let mut lone = plan("central", 3);
    lone.workload = Workload::One;
    assert_eq!(client_delay(&run(lone.clone())), 2.0);
    assert_eq!(client_delay(&run(slow(lone.clone(), "0=4x"))), 2.0 + 3.0);
    assert_eq!(client_delay(&run(slow(lone, "0=1.5x"))), 2.0 + 0.5);
}

#[test]
fn the_time_of_a_step_is_counted_in_typical_delays_of_the_network() {
    let mut lone = plan("central", 3);
    lone.workload = Workload::One;
    lone.network = Network::Unit;
    let unit = client_delay(&run(slow(lone.clone(), "0=4x"))) - client_delay(&run(lone.clone()));
    lone.network = read("uniform:4ms..6ms").unwrap();
    let spread = client_delay(&run(slow(lone.clone(), "0=4x"))) - client_delay(&run(lone));
    assert_eq!((unit, spread), (3.0, 3.0 * 6.0), "no network makes it nothing");
}

/// One thing at a time: that is how an overworked process slows all.
#[test]
fn a_slow_process_takes_in_one_thing_after_the_other() {
    for name in ["central", "lamport", "ricart-agrawala", "maekawa", "central-elected"] {
        let mut contended = plan(name, 5);
        contended.network = read("uniform:1ms..2ms").unwrap();
        let typical = contended.network.typical();
        let seat = Seat(1);
        let id = contended.entry.view_of(&contended.clients).unwrap().at(seat);
        let swift = run(contended.clone());
        let done = run(slow(contended, &format!("{id}=3x")));
        assert_eq!(done.outcome.report.verdict, Verdict::Ok, "{name}");
        let gap = |times: &[Time]| times.windows(2).map(|it| it[1] - it[0]).min().unwrap();
        assert!(gap(&inputs(&done, seat)) >= Time(2 * typical.0), "{name}");
        assert!(gap(&inputs(&swift, seat)) < typical, "{name}: else nothing is shown");
        assert!(done.outcome.report.end > swift.outcome.report.end, "{name}");
        assert!(done.outcome.faults[0].count > 0, "{name}");
    }
}

#[test]
fn slowness_breaks_no_lock_that_knows_no_time_and_its_runs_can_be_taken_again() {
    for entry in catalogue::MUTEXES.iter().filter(|it| !it.needs.synchrony) {
        for seed in 1..=20 {
            let mut plan = slow(plan(entry.name, 4), "2=5x");
            plan.network = read("exponential:2ms").unwrap();
            plan.seed = seed;
            let again = plan.clone();
            let done = run(plan);
            let expected = match entry.name {
                "maekawa-plain" => [Verdict::Ok, Verdict::Deadlock],
                _ => [Verdict::Ok, Verdict::Ok],
            };
            assert!(expected.contains(&done.outcome.report.verdict), "{} {seed}", entry.name);
            again.replay(&done.trace()).unwrap().unwrap();
        }
    }
}

#[test]
fn what_stood_in_line_is_lost_with_a_process_that_dies() {
    let mut plan = slow(plan("ricart-agrawala", 4), "2=50x");
    plan.faults.crashes = vec![read("2@20ms").unwrap()];
    plan.faults.returns = vec![read("2@30ms").unwrap()];
    let done = run(plan);
    // Its own request and three of the others came at once; the first is done after 49 delays.
    assert_eq!(inputs(&done, Seat(1)).first(), Some(&(Time::delays(30 + 49))));
    assert_eq!(done.outcome.report.losses.len(), 3);
    assert_eq!(done.outcome.report.verdict, Verdict::Stalled);
}

#[test]
fn a_pause_of_a_slow_process_loses_nothing() {
    for pause in ["2@1ms..30ms", "2@5.5ms..6ms", "2@7ms..200ms"] {
        let mut plan = slow(plan("lamport", 4), "2=3x");
        plan.faults.pauses = vec![read(pause).unwrap()];
        let done = run(plan);
        assert_eq!(done.outcome.report.verdict, Verdict::Ok, "{pause}");
        assert_eq!(entries(&done), 16, "{pause}");
    }
}

#[test]
fn an_election_is_not_over_while_a_slow_process_has_not_heard_of_it() {
    for name in ["chang-roberts", "peterson", "hirschberg-sinclair"] {
        let done = run(slow(plan(name, 5), "3=9x"));
        assert_eq!(done.outcome.report.verdict, Verdict::Ok, "{name}");
    }
    // The bully believes in a bound, and a slow process does not keep it.
    assert_eq!(run(slow(plan("bully", 5), "5=9x")).outcome.report.verdict, Verdict::Violated);
}

#[test]
fn what_a_partition_keeps_arrives_when_it_is_healed() {
    let cut_off = "1,2/3,4,5@10ms..30ms";
    for name in ["ricart-agrawala", "lamport", "maekawa", "token-ring", "suzuki-kasami"] {
        let lossy = run(cut(plan(name, 5), cut_off));
        let kept = run(cut(plan(name, 5), &format!("{cut_off},held")));
        assert!(!lossy.outcome.report.losses.is_empty(), "{name}");
        assert_eq!(kept.outcome.report.losses.len(), 0, "{name}");
        assert_eq!(kept.outcome.report.verdict, Verdict::Ok, "{name}");
        assert_eq!(entries(&kept), 20, "{name}");
        assert!(kept.outcome.faults[0].count > 0, "{name}");
    }
}

/// Lamport's algorithm is unsafe if channels are not FIFO, so it would notice.
#[test]
fn what_a_partition_keeps_is_not_overtaken() {
    let mut held_up = 0;
    for seed in 1..=300 {
        let mut plan = cut(plan("lamport", 3), "1/2,3@5ms..12ms,held");
        plan.faults.partitions.push(read("2>1@9ms..30ms,held").unwrap());
        plan.network = read("exponential:4ms").unwrap();
        plan.seed = seed;
        let done = run(plan);
        assert_eq!(done.outcome.report.verdict, Verdict::Ok, "seed {seed}");
        held_up += done.outcome.faults.iter().map(|it| it.count).sum::<u64>();
        let mut last = std::collections::BTreeMap::new();
        for record in &done.outcome.records {
            if let What::Received { message, from, .. } = record.event.what {
                let before = last.insert((from, record.event.seat), message);
                assert!(before.is_none_or(|before| before < message), "seed {seed}");
            }
        }
    }
    assert!(held_up > 1_000, "{held_up}");
}

/// A message that waits at a partition sets off twice, and the script counts it once.
#[test]
fn what_the_script_does_to_a_message_that_was_held_is_done_once() {
    let mut draft = Draft::new(catalogue::find("ricart-agrawala").unwrap());
    for (name, value) in
        [("partition", "1/2@0ms..5ms,held"), ("drop", "request 1>2 #2"), ("n", "3")]
    {
        draft.say(name, value).unwrap();
    }
    let mut plan = draft.plan().unwrap();
    plan.recording = Recording::Everything;
    let done = run(plan);
    let fired: Vec<_> = done.outcome.faults.iter().map(|it| (&*it.label, it.count)).collect();
    assert_eq!(fired[1], ("drop request 1>2 #2", 1), "{fired:?}");
    let is_request = |it: &&Record| {
        let is_to = matches!(it.event.what, What::Sent { to: Seat(1), .. });
        is_to && it.event.seat == Seat(0) && it.text.as_ref().unwrap().starts_with("Request")
    };
    let requests: Vec<_> = done.outcome.records.iter().filter(is_request).collect();
    let second = requests[1].event.at;
    let lost = &done.outcome.report.losses;
    assert_eq!((lost.len(), lost[0].0), (1, second), "the second one, and no other");
}

/// What Alice, who is 1, sees: her own events, and when.
fn alice(plan: Plan) -> Vec<String> {
    let done = run(plan);
    let records = done.trace().records.into_iter();
    // That a message of hers is lost, or a line cut, happens to her and is not seen by her.
    let is_seen =
        |it: &Record| is_input(it) || matches!(it.event.what, What::Sent { .. } | What::Told(_));
    let hers = records.filter(|it| it.event.seat == Seat(0) && is_seen(it));
    hers.map(|it| format!("{} {:?} {:?}", it.event.at, it.event.what, it.text)).collect()
}

/// How many of her events are the same in all of them, and what comes next in each.
fn same(views: &[Vec<String>]) -> usize {
    let shortest = views.iter().map(Vec::len).min().unwrap();
    (0..shortest).find(|&it| views.iter().any(|view| view[it] != views[0][it])).unwrap_or(shortest)
}

#[test]
fn alice_cannot_tell_the_dead_from_the_slow_and_the_lost() {
    let calm = plan("heartbeat", 2);
    let mut dead = calm.clone();
    dead.faults.crashes = vec![read("2@25ms").unwrap()];
    let mut slow = calm.clone();
    slow.faults.pauses = vec![read("2@25ms..60ms").unwrap()];
    let lost = cut(calm.clone(), "2>1@25ms..60ms");
    let held = cut(calm.clone(), "2>1@25ms..60ms,held");
    let views = [alice(dead), alice(slow), alice(lost), alice(held)];
    let alike = same(&views);
    let suspects = views[0].iter().position(|it| it.contains("suspected")).unwrap();
    assert!(suspects < alike, "{alike}: {:#?}", views[0]);
    // A run in which nothing happens to him looks different to her: she would notice.
    assert!(same(&[alice(calm), views[0].clone()]) <= suspects);
}
