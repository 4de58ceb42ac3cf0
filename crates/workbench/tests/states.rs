//! How processes stand, recorded beside what they do.

use conclave_algorithms::catalogue;
use conclave_core::{Seat, View};
use conclave_observe::Time;
use conclave_observe::trace::{PendingTimer, Record, Standing, Trace, json};
use conclave_sim::{Recording, ReplayError};
use conclave_workbench::draft::Draft;
use conclave_workbench::plan::{Done, Plan};

fn plan(words: &[(&str, &str)], algorithm: &str) -> Plan {
    let mut draft = Draft::named(algorithm).unwrap();
    for (name, value) in words {
        draft.say(name, value).unwrap();
    }
    let mut plan = draft.plan().unwrap();
    plan.recording = Recording::Everything;
    plan.states = true;
    plan
}

fn run(plan: Plan) -> Done {
    plan.run(&mut |_| {}).unwrap()
}

/// What the records of a process say of how it stands, in order.
fn standings(records: &[Record], seat: Seat) -> Vec<&Standing> {
    let its = records.iter().filter(|record| record.event.seat == seat);
    its.filter_map(|record| record.after.as_deref()).collect()
}

#[test]
fn every_algorithm_shows_its_state_without_changing_the_run() {
    for entry in catalogue::all() {
        let mut plain = Plan::new(entry, View::dense(1, 4));
        plain.recording = Recording::Everything;
        let shown = run(Plan { states: true, ..plain.clone() });
        let plain = run(plain);
        let hashes = [&shown, &plain].map(|done| done.outcome.report.fingerprint);
        assert_eq!(hashes[0], hashes[1], "{}", entry.name);

        let mut trace = shown.trace();
        let members = shown.view.len();
        assert_eq!(trace.header.starts.iter().flatten().count(), members, "{}", entry.name);
        for seat in (0..members).map(Seat::at) {
            let all = standings(&trace.records, seat);
            assert!(!all.is_empty(), "{} {seat:?}", entry.name);
            assert!(all.iter().all(|it| it.state.starts_with('{')), "{} {seat:?}", entry.name);
        }
        let text = json::write(&trace);
        assert_eq!(json::read(&text).unwrap(), trace, "{}", entry.name);
        assert!(shown.plan.clone().replay(&trace).unwrap().is_ok(), "{}", entry.name);

        trace.header.starts.clear();
        trace.records.iter_mut().for_each(|record| record.after = None);
        assert_eq!(trace, plain.trace(), "{}: that is all it adds", entry.name);
    }
}

/// Both ask at once; 1 has the older stamp, so it enters, and 2's request waits in its state.
#[test]
fn a_state_names_processes_by_their_ids() {
    let done = run(plan(&[("ids", "7"), ("ids", "9"), ("entries", "2")], "ricart-agrawala"));
    let states: Vec<&str> =
        standings(&done.outcome.records, Seat(0)).into_iter().map(|it| &*it.state).collect();
    let fields = |clock, deferred, fence, role| {
        format!(
            r#"{{"answers":"Replies","clock":{clock},"deferred":[{deferred}],"fence":{fence},"me":7,"role":{role}}}"#
        )
    };
    let wanted = r#"{"Wanted":{"outstanding":1,"silent":null,"stamp":1}}"#;
    assert_eq!(states[0], fields(1, "", 0, wanted), "it asks");
    assert_eq!(states[1], fields(2, "9", 0, wanted), "it keeps its reply to 9 back");
    assert_eq!(states[2], fields(2, "9", 1, r#""Held""#), "it is in");
    assert_eq!(states[3], fields(2, "", 1, r#""Released""#), "it has replied");
}

/// 1 asks 2 and 3, of which 3 is dead; 2 answers at once, asks 3 in vain, and leads.
#[test]
fn a_timer_is_there_from_its_setting_until_it_runs_out_or_is_cancelled() {
    let done = run(plan(&[("n", "3"), ("dead", "3"), ("initiators", "1")], "bully"));
    let timers = |seat| -> Vec<Vec<PendingTimer>> {
        let all = standings(&done.outcome.records, seat);
        all.into_iter().map(|it| it.timers.clone()).collect()
    };
    let timer = |name: &str, due| {
        vec![PendingTimer { name: name.into(), due: Time::delays(due), is_deadline: false }]
    };
    // Its answer comes in time, and it waits for the announcement instead.
    let first = [timer("Answer", 2), timer("Announcement", 7), timer("Settled", 6)];
    assert_eq!(timers(Seat(0)), first);
    let second = [timer("Answer", 3), timer("Settled", 5)];
    assert_eq!(timers(Seat(1)), second);
    assert_eq!(done.outcome.starts[2], None, "it was dead");
}

#[test]
fn a_deadline_is_told_from_a_timer() {
    let done = run(plan(&[("n", "3"), ("for", "40ms")], "chubby"));
    let all = done.outcome.records.iter().filter_map(|record| record.after.as_deref());
    let timers: Vec<&PendingTimer> = all.flat_map(|it| &it.timers).collect();
    let has = |is_deadline| timers.iter().any(|it| it.is_deadline == is_deadline);
    assert!(has(true) && has(false));
}

#[test]
fn a_recorded_state_that_the_process_does_not_have_is_refused() {
    let done = run(plan(&[("n", "2"), ("entries", "2")], "lamport"));
    let trace = done.trace();
    let again = |trace: &Trace| done.plan.clone().replay(trace).unwrap().map(drop);

    let mut forged = trace.clone();
    let index = forged.records.iter().position(|record| record.after.is_some()).unwrap();
    forged.records[index].after.as_mut().unwrap().state = r#"{"clock":99}"#.into();
    let error = again(&forged).unwrap_err().to_string();
    let expected = format!("line {}: ", index + 2);
    assert!(error.starts_with(&expected) && error.contains("its state is then {"), "{error}");

    let mut forged = trace;
    forged.header.starts[1].as_mut().unwrap().state = "{}".into();
    assert!(matches!(again(&forged), Err(ReplayError::StartsOtherwise(id, _)) if id.0 == 2));
}

#[test]
fn a_run_by_hand_shows_the_same_between_its_events() {
    let recorded = run(plan(&[("n", "3"), ("dead", "3"), ("initiators", "1")], "bully"));
    let by_hand = plan(&[("n", "3"), ("dead", "3"), ("initiators", "1")], "bully");
    let mut seen = Vec::new();
    let done = by_hand.run_by_hand(&mut |run| {
        assert_eq!(run.standing(Seat(0)), recorded.outcome.starts[0]);
        while run.step().is_none() {
            seen.push(run.standing(Seat(0)));
        }
        assert_eq!(run.standing(Seat(2)), None, "it is down");
    });
    done.unwrap();
    seen.dedup();
    let told = standings(&recorded.outcome.records, Seat(0));
    let seen: Vec<&Standing> = seen.iter().flatten().collect();
    assert_eq!(seen, told);
}
