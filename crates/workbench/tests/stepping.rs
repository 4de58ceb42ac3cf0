//! A run that is taken one event at a time, and what is done to it meanwhile.

use std::collections::BTreeSet;

use conclave_algorithms::catalogue;
use conclave_core::{ProcessId, View};
use conclave_observe::trace::{Record, json};
use conclave_observe::{Ending, Verdict, What};
use conclave_sim::{Act, ChannelOrder, Intervention, Letter, Network, Recording, Stream};
use conclave_workbench::draft::Draft;
use conclave_workbench::notation::read;
use conclave_workbench::plan::{Done, Plan};
use conclave_workbench::recorded::plan_of_trace;
use conclave_workbench::sentence;
use conclave_workbench::stepping::Stepping;

fn plan(algorithm: &str, n: u32) -> Plan {
    let mut plan = Plan::new(catalogue::find(algorithm).unwrap(), View::dense(1, n));
    plan.recording = Recording::Everything;
    plan
}

fn run(plan: Plan) -> Done {
    plan.run(&mut |_| {}).unwrap()
}

fn step_to_the_end(run: &mut dyn Stepping) -> Ending {
    loop {
        if let Some(ending) = run.step() {
            return ending;
        }
    }
}

/// Lets so many events happen.
fn step(run: &mut dyn Stepping, events: u64) {
    (0..events).for_each(|_| assert_eq!(run.step(), None));
}

fn same(one: &Done, other: &Done) {
    assert_eq!(one.outcome.records, other.outcome.records);
    assert_eq!(one.outcome.events, other.outcome.events);
    assert_eq!(one.outcome.faults, other.outcome.faults);
    let reports = (&one.outcome.report, &other.outcome.report);
    assert_eq!(reports.0.fingerprint, reports.1.fingerprint);
    assert_eq!((reports.0.verdict, reports.0.ending), (reports.1.verdict, reports.1.ending));
    assert_eq!(sentence::reason(one), sentence::reason(other));
}

#[test]
fn a_run_that_is_stepped_by_hand_is_the_run_at_once() {
    for entry in catalogue::all() {
        for network in [Network::Unit, read("exponential:2ms").unwrap()] {
            let mut plan = plan(entry.name, 4);
            (plan.network, plan.seed) = (network, 3);
            plan.faults.crashes = vec![read("2@7ms").unwrap()];
            plan.faults.pauses = vec![read("3@3ms..9ms").unwrap()];
            plan.limits.events = 3_000;
            let mut steps = 0;
            let mut ending = None;
            let by_hand = plan.clone().run_by_hand(&mut |run| {
                while run.step().is_none() {
                    steps += 1;
                    assert_eq!(run.events(), steps, "one at a time");
                    assert!(run.records().iter().all(|record| record.event.at <= run.now()));
                }
                ending = Some(step_to_the_end(run));
            });
            let (by_hand, at_once) = (by_hand.unwrap(), run(plan));
            same(&by_hand, &at_once);
            assert_eq!(ending, Some(at_once.outcome.report.ending), "it goes on being over");
        }
    }
}

#[test]
fn who_lets_go_in_the_middle_gets_the_same_run() {
    let by_hand = plan("maekawa", 5).run_by_hand(&mut |run| step(run, 17)).unwrap();
    same(&by_hand, &run(plan("maekawa", 5)));
}

const NO_LETTER: Letter = Letter { from: ProcessId(0), count: 0 };

/// All that somebody can do, one after the other.
fn meddle(run: &mut dyn Stepping) {
    step(run, 6);
    assert!(run.intervene(Act::Crash(ProcessId(2))));
    assert!(!run.intervene(Act::Crash(ProcessId(2))), "the dead cannot die");
    assert!(run.intervene(Act::Pause(ProcessId(3))));
    step(run, 4);
    assert!(run.intervene(Act::Return(ProcessId(2))));
    assert!(!run.intervene(Act::Return(ProcessId(1))), "it was never away");
    step(run, 3);
    assert!(run.intervene(Act::Resume(ProcessId(3))));
    assert!(!run.intervene(Act::Resume(ProcessId(3))));
    let first = run.in_flight()[0].message;
    assert!(run.intervene(Act::Lose(first)));
    assert!(!run.intervene(Act::Lose(first)), "it is lost already");
    assert!(!run.intervene(Act::Deliver(first)));
    let next = run.in_flight()[0].message;
    assert!(run.intervene(Act::Deliver(next)));
}

/// The same in an order of its own for every seed, until the run is over.
fn meddle_at_random(run: &mut dyn Stepping, seed: u64) {
    let mut chance = Stream::new(seed, "meddling");
    for _ in 0..30 {
        if run.step().is_some() {
            return;
        }
        let id = ProcessId(u32::try_from(1 + chance.below(4)).expect("there are four"));
        let first = run.in_flight().first().map_or(NO_LETTER, |flight| flight.message);
        let acts = [
            Act::Crash(id),
            Act::Return(id),
            Act::Pause(id),
            Act::Resume(id),
            Act::Lose(first),
            Act::Deliver(first),
        ];
        let act = usize::try_from(chance.below(12)).expect("it is small");
        acts.get(act).map(|&act| run.intervene(act));
    }
}

#[test]
fn a_plan_with_what_was_done_gives_the_same_run_and_so_does_its_trace() {
    let mut kinds = BTreeSet::new();
    for (entry, seed) in catalogue::all().flat_map(|entry| (0..20).map(move |seed| (entry, seed))) {
        let mut plan = plan(entry.name, 4);
        (plan.network, plan.seed) = (read("uniform:1ms..2ms").unwrap(), seed);
        plan.limits.events = 3_000;
        let mut done = Vec::new();
        let by_hand = plan.run_by_hand(&mut |run| {
            meddle_at_random(run, seed);
            done = run.interventions().to_vec();
        });
        let by_hand = by_hand.unwrap();
        kinds.extend(
            done.iter().map(|it| core::mem::discriminant(&it.act)).map(|it| format!("{it:?}")),
        );
        assert_eq!(by_hand.plan.interventions, done);
        let again = run(by_hand.plan.clone());
        let command = format!("{:?}", again.plan.said());
        assert_eq!(again.outcome.records, by_hand.outcome.records, "{command}");
        assert_eq!(again.outcome.report.fingerprint, by_hand.outcome.report.fingerprint);
        assert!(again.outcome.faults.iter().all(|fault| fault.count == 1), "{command}");

        let trace = json::read(&json::write(&again.trace())).expect(&command);
        let from_trace = plan_of_trace(&trace).expect(&command);
        assert_eq!(from_trace.interventions, done);
        let replayed = from_trace.replay(&trace).expect(&command);
        let replayed = replayed.unwrap_or_else(|error| panic!("{command}: {error}"));
        assert_eq!(replayed.outcome.report.fingerprint, again.outcome.report.fingerprint);
    }
    assert_eq!(kinds.len(), 6, "all that can be done was done");
}

#[test]
fn nothing_recorded_is_the_same_run_with_interventions_too() {
    let by_hand = plan("lamport", 4).run_by_hand(&mut meddle).unwrap();
    let mut plan = by_hand.plan.clone();
    plan.recording = Recording::Nothing;
    assert_eq!(run(plan).outcome.report.fingerprint, by_hand.outcome.report.fingerprint);
}

/// All but who crashed when.
fn others(done: &Done) -> Vec<Record> {
    let records = done.outcome.records.iter();
    records.filter(|record| record.event.what != What::Crashed).cloned().collect()
}

#[test]
fn a_crash_by_hand_is_the_crash_that_a_plan_could_have_had() {
    let mut planned = plan("ricart-agrawala", 3);
    planned.faults.crashes = vec![read("2@2.5ms").unwrap()];
    let planned = run(planned);
    let is_before = |record: &&Record| record.event.what != What::Crashed;
    let before = planned.outcome.records.iter().take_while(is_before).count();
    let by_hand = plan("ricart-agrawala", 3).run_by_hand(&mut |run| {
        while run.records().len() < before {
            assert_eq!(run.step(), None);
        }
        assert!(run.intervene(Act::Crash(ProcessId(2))));
    });
    let by_hand = by_hand.unwrap();
    assert_eq!(others(&by_hand), others(&planned));
    assert_eq!(by_hand.outcome.report.verdict, Verdict::Stalled);
    assert_eq!(by_hand.outcome.report.verdict, planned.outcome.report.verdict);
}

#[test]
fn a_token_that_is_lost_is_missed_by_everybody() {
    let by_hand = plan("token-ring", 4).run_by_hand(&mut |run| {
        step(run, 9);
        let token = run.in_flight()[0].message;
        assert!(run.intervene(Act::Lose(token)));
        assert!(run.in_flight().is_empty());
    });
    let done = by_hand.unwrap();
    assert_eq!(done.outcome.report.verdict, Verdict::Stalled, "{}", sentence::reason(&done));
    let is_said = |(name, value): &(&str, Option<String>)| {
        *name == "intervene" && value.as_ref().is_some_and(|it| it.starts_with("9:lose:"))
    };
    assert!(done.plan.said().iter().any(is_said), "{:?}", done.plan.said());
}

#[test]
fn only_where_channels_keep_no_order_a_message_overtakes_by_hand() {
    for order in [ChannelOrder::Fifo, ChannelOrder::Any] {
        let mut plan = plan("lamport", 2);
        (plan.order, plan.network) = (order, read("uniform:5ms..9ms").unwrap());
        let mut tried = 0;
        plan.run_by_hand(&mut |run| {
            for _ in 0..40 {
                let flights = run.in_flight();
                let channel = |at: usize| (flights[at].from, flights[at].to);
                let later = (1..flights.len()).find(|&at| {
                    let earlier = (0..at).find(|&it| channel(it) == channel(at));
                    earlier.is_some_and(|it| flights[it].message < flights[at].message)
                });
                if let Some(later) = later {
                    tried += 1;
                    let is_done = run.intervene(Act::Deliver(flights[later].message));
                    assert_eq!(is_done, order == ChannelOrder::Any);
                }
                run.step();
            }
        })
        .unwrap();
        assert!(tried > 0, "{order:?}: no two were on their way in one channel");
    }
}

#[test]
fn an_intervention_that_comes_too_late_is_said_never_to_have_happened() {
    let mut draft = Draft::named("central").unwrap();
    draft.say("intervene", "99999:crash:1").unwrap();
    let done = run(draft.plan().unwrap());
    assert_eq!(done.outcome.report.verdict, Verdict::Ok);
    let fault = &done.outcome.faults[0];
    assert_eq!((&*fault.label, fault.count), ("intervene 99999:crash:1", 0));
}

#[test]
fn an_intervention_with_a_stranger_is_refused() {
    let mut draft = Draft::named("central").unwrap();
    draft.say("intervene", "3:crash:9").unwrap();
    let error = draft.plan().unwrap_err().to_string();
    let says = "intervene 3:crash:9: there is no process 9; the processes are 0 to 5";
    assert_eq!(error, says);
}

#[test]
fn interventions_are_done_in_the_order_of_their_events_and_as_they_were_said() {
    let mut draft = Draft::named("central").unwrap();
    for text in ["7:lose:3.2", "2:pause:1", "2:resume:1"] {
        draft.say("intervene", text).unwrap();
    }
    let expected = [
        Intervention { before: 2, act: Act::Pause(ProcessId(1)) },
        Intervention { before: 2, act: Act::Resume(ProcessId(1)) },
        Intervention { before: 7, act: Act::Lose(Letter { from: ProcessId(3), count: 2 }) },
    ];
    assert_eq!(draft.plan().unwrap().interventions, expected);
}
