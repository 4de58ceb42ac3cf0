//! The golden elections and their figures; what every election costs; what it is like at large N.

use conclave_algorithms::catalogue::{self, ELECTIONS, Measure};
use conclave_algorithms::quorum::Construction;
use conclave_core::{ProcessId, View};
use conclave_observe::family::elections::ElectionPanel;
use conclave_observe::{Time, Verdict, What};
use conclave_workbench::experiment;
use conclave_workbench::notation::read;
use conclave_workbench::plan::{Done, Plan};

/// A run of these ids, called by those at the start.
fn plan(algorithm: &str, ids: &[u32], callers: &[u32]) -> Plan {
    let view = View::new(ids.iter().copied().map(ProcessId)).unwrap();
    let mut plan = Plan::new(catalogue::find(algorithm).unwrap(), view);
    plan.calls = callers.iter().map(|&id| (ProcessId(id), Time::ZERO)).collect();
    plan.check_invariants = true;
    plan
}

fn run(plan: Plan) -> Done {
    plan.run(&mut |_| {}).unwrap()
}

/// Who leads, and how many messages of each kind there were.
#[track_caller]
fn elected(done: &Done) -> (u32, Vec<u64>) {
    let report = &done.outcome.report;
    assert_eq!(report.verdict, Verdict::Ok, "{}", conclave_workbench::sentence::reason(done));
    let leader = report.elections().and_then(ElectionPanel::leader).expect("all agree");
    (done.view.at(leader).0, report.bandwidth.by_kind().map(|(_, count)| count).collect())
}

fn turnaround(done: &Done) -> f64 {
    let elections = done.outcome.report.elections().unwrap();
    elections.last_turnaround.unwrap().in_delays()
}

const SIX: [u32; 6] = [3, 5, 6, 12, 32, 80];
const RING: [u32; 6] = [3, 32, 5, 80, 6, 12];
const EIGHT: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

#[test]
fn chang_roberts_takes_fifteen_messages_on_the_ring_of_the_notes() {
    for variant in ["chang-roberts", "chang-roberts-suppress", "chang-roberts-naive"] {
        let done = run(plan(variant, &RING, &[3]));
        assert_eq!(elected(&done), (80, vec![9, 6]), "{variant}");
    }
}

#[test]
fn the_bully_of_six_takes_thirteen_messages() {
    let mut plan = plan("bully", &SIX, &[6]);
    plan.faults.dead = vec![ProcessId(80)];
    let done = run(plan);
    assert_eq!(elected(&done), (32, vec![6, 3, 4]));
    assert_eq!(turnaround(&done), 4.0);
}

#[test]
fn when_the_next_one_dies_after_its_answers_t_prime_runs_out_and_12_wins() {
    let mut plan = plan("bully", &SIX, &[6]);
    plan.faults.dead = vec![ProcessId(80)];
    // It has answered 6 at 1 ms and 12 at 2 ms; its own T runs until 3 ms.
    plan.faults.crashes = vec![read("32@2.5ms").unwrap()];
    let done = run(plan);
    let (leader, messages) = elected(&done);
    assert_eq!((leader, messages.iter().sum::<u64>()), (12, 18));
    // 6 has its answer at 2 ms and T' = 5 from there; 12 at 3 ms. Then 12 asks in vain for T = 2,
    // and its announcement takes one more.
    assert_eq!(turnaround(&done), 11.0);
}

#[test]
fn the_bully_of_eight_takes_fifteen_and_the_largest_comes_back_with_seven_announcements() {
    let mut plan = plan("bully", &EIGHT, &[4]);
    plan.faults.dead = vec![ProcessId(7)];
    assert_eq!(elected(&run(plan.clone())), (6, vec![6, 3, 6]));
    plan.faults.returns = vec![read("7@20ms").unwrap()];
    plan.until = plan.default_until();
    assert_eq!(elected(&run(plan)), (7, vec![6, 3, 6 + 7]));
}

#[test]
fn three_candidates_that_split_the_others_are_followed_by_a_new_epoch() {
    let mut plan = plan("zookeeper", &[1, 2, 3, 4, 5, 6], &[1]);
    plan.network = read("uniform:1ms..5ms").unwrap();
    plan.timing.session = Some(std::time::Duration::from_millis(40));
    let pauses = ["1@1.5ms..95ms", "2@45ms..95ms", "3@90ms..95ms"];
    plan.faults.pauses = pauses.map(|pause| read(pause).unwrap()).to_vec();
    plan.recording = conclave_sim::Recording::Everything;
    plan.until = plan.default_until();
    let done = run(plan);
    elected(&done);
    let said = |word: &str| {
        let records = done.outcome.records.iter();
        let sent = records.filter(|record| matches!(record.event.what, What::Sent { .. }));
        let sent = sent.filter(|record| record.text.as_deref() == Some(word));
        sent.map(|record| record.event.seat).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(said("NewLeader(Term(1))").len(), 3);
    assert_eq!(said("Ack(Term(1))").len(), 3, "one for each: with its own, two of six");
    assert_eq!((said("Commit(Term(1))").len(), said("Commit(Term(2))").len()), (0, 1));
}

#[test]
fn two_that_notice_at_once_elect_one() {
    let mut plan = plan("bully", &EIGHT, &[4, 5]);
    plan.faults.dead = vec![ProcessId(7)];
    let done = run(plan);
    let (leader, messages) = elected(&done);
    assert_eq!((leader, messages[2]), (6, 6), "6 announces itself once");
}

#[test]
fn the_costs_of_every_election_are_exactly_those_of_the_formulas_from_2_to_64() {
    for entry in ELECTIONS {
        let mut exact = 0;
        for n in 2..=64 {
            // The mean over thousands of rings has a test of its own.
            let cells = experiment::measure_exact(entry, n).unwrap();
            for cell in cells {
                assert!(cell.holds(), "{cell:?}");
                assert!(cell.measured.is_some() || !cell.is_exact(), "{cell:?}");
                exact += u32::from(cell.is_exact());
            }
        }
        assert!(exact >= 63, "{} has no figure that must hold", entry.name);
    }
}

#[test]
fn when_all_start_the_mean_of_chang_roberts_is_within_a_percent_of_the_formula() {
    for name in ["chang-roberts", "chang-roberts-suppress"] {
        let entry = catalogue::find(name).unwrap();
        for n in [2, 5, 16, 40] {
            let cells = experiment::measure(entry, n, Construction::Grid).unwrap();
            let mean = cells.iter().find(|cell| cell.measure == Measure::ElectionMean).unwrap();
            let (measured, expected) = (mean.measured.unwrap(), mean.expected.unwrap());
            assert!((measured / expected - 1.0).abs() < 0.01, "{mean:?}");
        }
    }
}

#[test]
fn the_bully_is_visibly_wrong_where_its_assumptions_do_not_hold() {
    let six = || {
        let mut plan = plan("bully", &SIX, &[6]);
        plan.faults.dead = vec![ProcessId(80)];
        plan
    };
    let violated = |plan: Plan| {
        let done = run(plan);
        assert_eq!(done.outcome.report.verdict, Verdict::Violated);
        conclave_workbench::sentence::reason(&done)
    };
    // T below 2D: it takes itself for the largest.
    let mut hasty = six();
    hasty.timing.answer = Some(std::time::Duration::from_millis(1));
    assert!(violated(hasty).contains("took itself for the leader"));
    // An id reused by a new process, just as the next one announces itself.
    let mut reused = six();
    reused.faults.replacements = vec![read("80@2.5ms").unwrap()];
    reused.until = reused.default_until();
    let reason = violated(reused);
    assert!(reason.contains("believes that 32 leads") && reason.contains("80 leads"), "{reason}");
    // A network without a bound.
    let mut asynchronous = six();
    asynchronous.network = conclave_sim::Network::Exponential { mean: Time::DELAY };
    asynchronous.seed = 2;
    assert!(violated(asynchronous).contains("for the leader"));
}

#[test]
fn a_crash_stalls_the_plain_ring() {
    let mut plan = plan("chang-roberts", &RING, &[3]);
    plan.faults.crashes = vec![read("5@1.5ms").unwrap()];
    let done = run(plan);
    assert_eq!(done.outcome.report.verdict, Verdict::Stalled);
    assert!(conclave_workbench::sentence::reason(&done).contains("5 crashed at 1.5 ms"));
}

/// Beats never end, and nobody waits who could lose patience.
#[test]
fn an_election_whose_end_breaks_a_promise_ends_the_run() {
    let run = "run chang-roberts-repaired -n 2 --network exponential:2ms --initiators 2@60ms \
               --seed 8 --max-events 1000000";
    let conclave = env!("CARGO_BIN_EXE_conclave");
    let ended = std::process::Command::new(conclave).args(run.split_whitespace()).output().unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(ended.status.code(), Some(10), "{said}");
    assert!(said.contains("1 knows no leader and 2 believes that 2 leads"), "{said}");
    assert!(said.contains("not all that are up agree"), "{said}");
}

/// A store that slept for long finds many sessions over, one after the other, at one moment.
#[test]
fn no_more_are_woken_at_once_than_there_are() {
    let plan = faulty("zookeeper", |plan| {
        plan.faults.pauses = vec![read("0@5ms..500ms").unwrap()];
    });
    let herd = run(plan).outcome.report.bandwidth.herd();
    assert!((1..=5).contains(&herd), "{herd}");
}

/// The run of `algorithm` with five processes, of which this happens; to its default end.
fn faulty(algorithm: &str, change: impl Fn(&mut Plan)) -> Plan {
    let mut plan = Plan::new(catalogue::find(algorithm).unwrap(), View::dense(1, 5));
    change(&mut plan);
    plan.calls = plan.default_calls();
    plan.until = plan.default_until();
    plan
}

fn crashed(algorithm: &str, crash: &str) -> Plan {
    faulty(algorithm, |plan| plan.faults.crashes = vec![read(crash).unwrap()])
}

#[test]
fn a_run_does_not_end_before_its_last_fault_can_be_noticed() {
    for (name, leader) in
        [("zookeeper", 1), ("zookeeper-herd", 1), ("chubby", 1), ("chang-roberts-repaired", 5)]
    {
        let crash = format!("{leader}@40ms");
        let (next, _) = elected(&run(crashed(name, &crash)));
        assert_ne!(next, leader, "{name}: the dead one does not lead");
        // Cut off at the fault itself, nobody has noticed.
        let mut hasty = crashed(name, &crash);
        hasty.until = hasty.faults.last_moment();
        hasty.limits.time = hasty.until;
        let report = run(hasty).outcome.report;
        let elections = report.elections().unwrap();
        assert_eq!(elections.deciding.undecided(), 0, "{name}");
    }
    let storeless = run(crashed("zookeeper", "0@40ms"));
    assert_eq!(storeless.outcome.report.verdict, Verdict::Stalled);
}

#[test]
fn without_a_fault_a_run_ends_with_its_election() {
    for entry in ELECTIONS {
        assert_eq!(faulty(entry.name, |_| {}).until, Time::ZERO, "{}", entry.name);
    }
}

#[test]
fn a_leader_that_died_unnoticed_is_not_said_to_lead() {
    let reason = conclave_workbench::sentence::reason(&run(crashed("bully", "5@40ms")));
    assert_eq!(reason, "5 was elected and died at 40 ms; nobody called again");
}

#[test]
fn a_minority_is_called_one() {
    let dead = |name, count: u32| {
        let plan = faulty(name, |plan| plan.faults.dead = (1..=count).map(ProcessId).collect());
        conclave_workbench::sentence::reason(&run(plan))
    };
    for name in ["chubby", "zookeeper"] {
        let reason = dead(name, 3);
        assert!(reason.starts_with("only 2 of 5 are up, which is no majority; "), "{reason}");
        let reason = dead(name, 4);
        assert!(reason.starts_with("only 1 of 5 is up, which is no majority; "), "{reason}");
        assert!(dead(name, 2).contains("leads"), "three of five are a majority");
    }
    assert!(dead("zookeeper", 3).contains("1 was down from the start"));
    // The ring needs everybody, not a majority.
    assert!(!dead("chang-roberts", 4).contains("majority"));
}

#[test]
fn who_comes_back_or_missed_the_word_and_learns_who_leads_has_held_no_election() {
    let counts = |plan: Plan| {
        let report = run(plan).outcome.report;
        let elections = report.elections().unwrap();
        (elections.turnaround.count(), elections.per_term.terms())
    };
    for name in ["chubby", "zookeeper"] {
        let back = faulty(name, |plan| {
            plan.faults.crashes = vec![read("2@4ms").unwrap()];
            plan.faults.replacements = vec![read("2@9ms").unwrap()];
        });
        assert_eq!(counts(back), (1, 1), "{name}");
        for seed in 1..=20 {
            let mut lossy = faulty(name, |plan| plan.faults.loss = read("0.1").unwrap());
            (lossy.seed, lossy.until) = (seed, Time::delays(300));
            let (elections, terms) = counts(lossy);
            assert!(elections <= terms, "{name}, seed {seed}: {elections} of {terms}");
            assert!(elections > 0, "{name}, seed {seed}");
        }
    }
}

#[test]
fn ten_thousand_processes_elect_a_leader() {
    for (name, caller, messages) in [("chang-roberts", 1, 3 * 10_000 - 1), ("bully", 9_999, 9_999)]
    {
        let mut plan = Plan::new(catalogue::find(name).unwrap(), View::dense(1, 10_000));
        plan.calls = vec![(ProcessId(caller), Time::ZERO)];
        if name == "bully" {
            plan.faults.dead = vec![ProcessId(10_000)];
        }
        let (_, counts) = elected(&run(plan));
        assert_eq!(counts.iter().sum::<u64>(), messages, "{name}");
    }
}
