//! A recorded run is taken again by the real processes, whatever the algorithm and the faults; a
//! record that was changed is found, at its line.

use conclave_algorithms::catalogue::{self, Entry, Setting, Timing};
use conclave_algorithms::quorum::Construction;
use conclave_core::clock::Timestamp;
use conclave_core::mutex::Locks;
use conclave_core::{Fence, ProcessId, Seat, View};
use conclave_observe::family::locks::Seen;
use conclave_observe::trace::{Trace, json};
use conclave_observe::{Ending, MessageId, Part, Time, Verdict, What};
use conclave_sim::{
    ChannelOrder, Crash, Network, Pause, Probability, Recording, ReplayError, Return, Stream,
    Workload,
};
use conclave_workbench::notation::read;
use conclave_workbench::plan::{Done, Plan};
use conclave_workbench::recorded::{judge_again, plan_of_trace};

/// Any algorithm under any faults, as the seed has it; whether the algorithm stands that is not
/// asked here.
fn world(entry: &'static Entry, seed: u64) -> Plan {
    let mut stream = Stream::new(seed, "replay");
    let mut one_in = |count: u64| stream.below(count) == 0;
    let n = 2 + u32::try_from(seed % 5).unwrap();
    let mut plan = Plan::new(entry, View::new((1..=n).rev().map(|id| ProcessId(7 * id))).unwrap());
    let networks = ["unit", "sync:3ms", "uniform:1ms..9ms", "exponential:2ms"];
    plan.network = read(networks[usize::try_from(seed / 5 % 4).unwrap()]).unwrap();
    plan.timing = timing(entry, plan.network, one_in(2));
    if entry.needs.voting_sets && one_in(2) {
        plan.construction = Construction::Majority;
    }
    if one_in(4) {
        plan.order = ChannelOrder::Any;
    }
    plan.workload = if one_in(2) { Workload::Contend } else { read("think:9ms").unwrap() };
    let ids: Vec<ProcessId> = plan.clients.members().to_vec();
    if entry.is_of::<Locks>() && one_in(3) {
        plan.clocks = vec![(ids[0], Timestamp(40))];
        plan.holder = Some(ids[1]);
    } else if n > 2 && one_in(3) {
        plan.faults.dead = vec![ids[1]];
    }
    if entry.settings.contains(&Setting::Lease) {
        plan.asks_every = Some(Time(7_000_000));
        plan.faults.drifts = vec![read(&format!("{}=1.25", ids[0])).unwrap()];
    }
    let mut time = |limit: u64| Time(1 + stream.below(limit * 1_000_000));
    let (crash, pause, cut) = (time(40), time(40), time(40));
    if seed.is_multiple_of(3) {
        plan.faults.crashes = vec![Crash { process: ids[0], at: crash }];
        let back = vec![Return { process: ids[0], at: crash + time(60) }];
        match seed / 3 % 3 {
            0 => plan.faults.returns = back,
            1 => plan.faults.replacements = back,
            _ => {}
        }
    }
    if seed % 4 == 1 {
        let process = ids[ids.len() - 1];
        plan.faults.pauses = vec![Pause { process, from: pause, until: pause + time(30) }];
    }
    if seed % 4 == 2 {
        let mark = if seed % 8 == 2 { '/' } else { '>' };
        let text = format!("{}{mark}{}@{cut}ms..{}ms", ids[0], ids[1], cut + time(30));
        plan.faults.partitions = vec![read(&text).unwrap()];
    }
    if seed % 4 == 3 {
        plan.faults.loss = Probability::new(0.1).unwrap();
        plan.faults.duplicate = Probability::new(0.1).unwrap();
    }
    plan.seed = seed;
    plan.calls = plan.default_calls();
    plan.until = Time(80_000_000).max(plan.faults.last_moment());
    plan.limits.patience = plan.default_patience();
    plan.limits.events = 2_000;
    plan.recording = Recording::Everything;
    plan
}

/// Every time that the algorithm takes, otherwise than usual.
fn timing(entry: &Entry, network: Network, is_unusual: bool) -> Timing {
    let mut timing = Timing::of(network.typical().as_duration());
    let time = |setting, hundredths: u32| {
        let is_set = is_unusual && entry.settings.contains(&setting);
        is_set.then(|| timing.bound * hundredths / 100)
    };
    let bound = time(Setting::Bound, 150);
    timing.answer = time(Setting::Answer, 210);
    timing.announcement = time(Setting::Announcement, 480);
    timing.beat = time(Setting::Beat, 730);
    timing.lease = time(Setting::Lease, 1_900);
    timing.session = time(Setting::Session, 2_500);
    timing.skip_dead = is_unusual && entry.settings.contains(&Setting::SkipDead);
    if is_unusual && entry.settings.contains(&Setting::Phi) {
        timing.phi_hundredths = 230;
    }
    timing.bound = bound.unwrap_or(timing.bound);
    timing
}

fn run(plan: Plan) -> Done {
    plan.run(&mut |_| {}).unwrap()
}

fn again(trace: &Trace) -> Result<Done, ReplayError> {
    plan_of_trace(trace).unwrap().replay(trace).unwrap()
}

#[test]
fn whatever_was_run_is_taken_again_without_a_difference() {
    for entry in catalogue::all() {
        for seed in 0..40 {
            let plan = world(entry, seed);
            let command =
                format!("{} with seed {seed}: {}", entry.name, conclave_cli::lab::command(&plan));
            let done = run(plan);
            let written = json::write(&done.trace());
            let trace = json::read(&written).unwrap_or_else(|error| panic!("{command}: {error}"));
            let replayed = again(&trace).unwrap_or_else(|error| panic!("{command}: {error}"));
            assert_eq!(json::write(&replayed.trace()), written, "{command}");
            let (first, second) = (&done.outcome.report, &replayed.outcome.report);
            assert_eq!(first.fingerprint, second.fingerprint, "{command}");
            if first.ending != Ending::BudgetSpent {
                assert_eq!(first.verdict, second.verdict, "{command}");
                assert_eq!(judge_again(&trace).0.verdict, first.verdict, "{command}");
            }
        }
    }
}

#[test]
fn a_timer_that_a_trace_does_not_name_is_found_by_what_it_does() {
    for entry in catalogue::all() {
        for seed in 0..20 {
            let done = run(world(entry, seed));
            let mut trace = done.trace();
            for record in &mut trace.records {
                record.text = None;
                record.rules.clear();
            }
            let replayed = again(&trace);
            let replayed =
                replayed.unwrap_or_else(|error| panic!("{} {seed}: {error}", entry.name));
            assert_eq!(replayed.outcome.report.fingerprint, done.outcome.report.fingerprint);
        }
    }
}

/// A run with something of everything, and no faults: so every change of it is wrong.
fn three() -> Trace {
    let mut plan = Plan::new(catalogue::find("ricart-agrawala").unwrap(), View::dense(1, 3));
    plan.recording = Recording::Everything;
    run(plan).trace()
}

/// The line that is complained of, and the complaint.
fn refused(trace: &Trace) -> (usize, String) {
    match again(trace) {
        Err(ReplayError::Differs { line, difference }) => (line, difference),
        other => panic!("{:?}", other.map(|done| done.outcome.report.verdict)),
    }
}

#[test]
fn a_record_that_was_changed_is_found_at_its_line() {
    let right = three();
    for index in 0..right.records.len() {
        let mut trace = right.clone();
        let record = &mut trace.records[index];
        let seen = Seen::of(record.event.what);
        let told = match &mut record.event.what {
            What::Sent { to, .. } => {
                let next = Seat((to.0 + 1) % 3);
                *to = if next == record.event.seat { Seat((to.0 + 2) % 3) } else { next };
                "sends"
            }
            What::Told(said) if matches!(seen, Seen::Entered { .. }) => {
                said.numbers[0] += 1;
                "enters with fence"
            }
            What::Received { message, .. } => {
                *message = MessageId::new(message.from(), message.count() + 1_000);
                "no such message is on its way"
            }
            what if seen == Seen::Left => {
                *what = Seen::Entered { fence: Fence(1) }.what();
                "leaves"
            }
            _ => continue,
        };
        let (line, difference) = refused(&trace);
        assert_eq!(line, index + 2, "{difference}");
        assert!(difference.contains(told), "{difference}");
    }
}

#[test]
fn a_word_that_was_changed_is_found_at_its_line() {
    let right = three();
    for index in 0..right.records.len() {
        let mut trace = right.clone();
        let Some(text) = &mut trace.records[index].text else { continue };
        text.push('!');
        assert_eq!(refused(&trace).0, index + 2);
    }
}

#[test]
fn a_deed_that_is_missing_is_found_where_it_should_be() {
    let right = three();
    let is_deed = |what: What| what.part() == Part::Deed;
    for index in 0..right.records.len() {
        if is_deed(right.records[index].event.what) {
            let mut trace = right.clone();
            trace.records.remove(index);
            assert_eq!(refused(&trace).0, index + 2);
        }
    }
    let mut trace = right.clone();
    trace.records.truncate(2);
    let (line, difference) = refused(&trace);
    assert_eq!(line, 4);
    assert!(difference.starts_with("the trace ends in the middle of a step"), "{difference}");
}

#[test]
fn two_deeds_in_the_wrong_order_are_found_at_the_first() {
    let right = three();
    let mut swapped = 0;
    for index in 1..right.records.len() {
        let pair = [index - 1, index].map(|index| right.records[index].event.what);
        if pair.iter().all(|what| matches!(what, What::Sent { .. })) {
            let mut trace = right.clone();
            trace.records.swap(index - 1, index);
            assert_eq!(refused(&trace).0, index + 1);
            swapped += 1;
        }
    }
    assert!(swapped > 5);
}

/// A token that goes round while nobody wants it, until it is back for the second time.
fn idle_ring() -> Trace {
    let mut plan = Plan::new(catalogue::find("token-ring").unwrap(), View::dense(1, 3));
    plan.recording = Recording::Everything;
    let request =
        conclave_sim::ScriptedRequest { process: ProcessId(2), at: Time::delays(20), hold: None };
    plan.workload = Workload::Script(vec![request]);
    plan.entries = 1;
    let mut trace = run(plan).trace();
    let back: Vec<usize> = (0..trace.records.len())
        .filter(|&index| {
            let event = trace.records[index].event;
            event.seat == Seat(0) && matches!(event.what, What::Received { .. })
        })
        .collect();
    trace.records.truncate(back[1]);
    trace.header.repeats_from = Some(back[0] as u64);
    trace
}

#[test]
fn a_loop_that_leads_back_to_its_beginning_is_taken_for_ever() {
    let trace = idle_ring();
    assert_eq!(json::read(&json::write(&trace)).as_ref(), Ok(&trace));
    let done = again(&trace).unwrap();
    assert_eq!(done.outcome.report.ending, Ending::Repeats);
    assert_eq!(done.outcome.report.verdict, Verdict::Ok);
}

#[test]
fn a_loop_that_leads_elsewhere_is_refused() {
    let mut trace = idle_ring();
    // The last hop is missing: one message, received and passed on.
    trace.records.truncate(trace.records.len() - 2);
    let told = again(&trace).unwrap_err().to_string();
    let right = "the loop does not close: other messages are on their way from 3 to 1 at its end";
    assert_eq!(told, right);
    let mut within = idle_ring();
    within.header.repeats_from = within.header.repeats_from.map(|from| from + 1);
    assert!(again(&within).is_err());
}

/// The first loop of a trace, if the processes close one: cut after it.
fn first_loop(trace: &Trace, after: usize) -> Option<Trace> {
    let is_step = |&index: &usize| {
        let event = trace.records[index].event;
        matches!(event.what, What::TimerFired)
            || matches!(event.what, What::Received { from, .. } if from != event.seat)
    };
    let steps: Vec<usize> = (after..trace.records.len()).filter(is_step).collect();
    let pairs = steps.iter().flat_map(|&from| steps.iter().map(move |&to| (from, to)));
    pairs.filter(|(from, to)| from < to).find_map(|(from, to)| {
        let mut part = trace.clone();
        part.records.truncate(to);
        part.header.repeats_from = Some(from as u64);
        again(&part).is_ok().then_some(part)
    })
}

#[test]
fn whoever_waits_in_all_of_a_loop_that_closes_is_starved() {
    let mut plan = Plan::new(catalogue::find("token-ring-repaired").unwrap(), View::dense(1, 2));
    plan.recording = Recording::Everything;
    plan.hold = Time::delays(200);
    plan.entries = 2;
    let trace = run(plan).trace();
    let inside = |what| matches!(Seen::of(what), Seen::Entered { .. });
    let after = trace.records.iter().position(|record| inside(record.event.what)).unwrap();
    let part = first_loop(&trace, after).expect("all but the beats is at rest while one is in");
    let done = again(&part).unwrap();
    assert_eq!(done.outcome.report.verdict, Verdict::Starved);
    let reason = conclave_workbench::sentence::reason(&done);
    assert!(reason.contains("waits for ever") && reason.contains("never serves it"), "{reason}");
}

/// A mutant's run is refused where the mutant does something else than the algorithm, and what is
/// said of that are two different things.
#[test]
fn the_gallery_is_refused_for_what_its_mutants_do() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let (mut taken, mut refused) = (0, 0);
    for file in files.filter(|path| path.extension().is_some_and(|it| it == "jsonl")) {
        let name = file.display();
        let trace = json::read(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let Err(error) = again(&trace) else {
            taken += 1;
            continue;
        };
        refused += 1;
        let said = error.to_string();
        assert!(!said.contains("one more copy"), "{name}: {said}");
        if let Some((told, done)) =
            said.split_once("the trace says that ").unzip().1.and_then(|it| it.split_once("; but "))
        {
            assert!(!done.starts_with(told), "{name}: {said}");
        }
    }
    assert!(taken >= 5 && refused >= 10, "{taken} and {refused}");
}
