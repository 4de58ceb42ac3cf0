//! Every algorithm of the catalogue, unchanged, in three worlds: simulated, searched, and between
//! real processes. An algorithm that is added to the catalogue is in all of them, but that one
//! which needs a bound on the time that messages take does not run between real processes, and is
//! searched where time is counted.

mod checked;

use std::time::Duration;

use conclave_algorithms::catalogue::{self, Entry, Listed, Seating, Shelf, Timing, Visitor};
use conclave_algorithms::quorum::Construction;
use conclave_check::Finding;
use conclave_check::system::{self, Channels, Faults, Flaw, Premise};
use conclave_core::mutex::{Locks, Opening};
use conclave_core::{ProcessId, Seat, View};
use conclave_observe::family::locks;
use conclave_observe::{JudgeOrdering, Report, Time, Verdict};
use conclave_sim::{Limits, MutexApplication, Setup, Workload, simulate};
use conclave_testkit::tcp::{self, Peer};

use checked::Bounds;

fn view(entry: &Entry, n: u32) -> View {
    entry.view_of(&View::dense(1, n)).unwrap()
}

fn visit<V: Visitor<Locks>>(entry: &Entry, view: &View, visitor: V) -> V::Output {
    Locks::visit(
        entry,
        &Seating {
            view,
            construction: Construction::Grid,
            timing: Timing::of(Duration::from_millis(1)),
        },
        visitor,
    )
    .unwrap()
}

struct Simulate<'a> {
    view: &'a View,
    workload: Workload,
    entries: u64,
    holder: Option<ProcessId>,
}

impl Visitor<Locks> for Simulate<'_> {
    type Output = Report;

    fn visit<P>(self, entry: &'static Entry, configs: Vec<P::Config>) -> Report
    where
        P: Listed<Family = Locks>,
    {
        let opening = Opening { holder: self.holder, ..Opening::default() };
        let setup = Setup::<P> {
            openings: &vec![opening; self.view.len()],
            limits: Limits {
                events: 1_000_000,
                time: Time::delays(1_000_000),
                patience: Time::delays(1_000),
            },
            ordering: JudgeOrdering::Yes,
            promises: entry.promises,
            check_invariants: true,
            ..Setup::new(self.view, &configs)
        };
        let application = MutexApplication::new(
            self.workload,
            self.view,
            entry.clients(self.view),
            self.entries,
            Time::DELAY,
            self.holder,
            1,
        );
        simulate(&setup, application, &mut |_| {}).report
    }
}

#[test]
fn every_algorithm_is_simulated() {
    for entry in catalogue::MUTEXES {
        for n in [1, 2, 3, 4, 7, 13] {
            let view = view(entry, n);
            let entries = 5 * u64::from(n);
            for workload in [Workload::One, Workload::Contend] {
                let run = Simulate { view: &view, workload, entries, holder: None };
                let is_lone = run.workload == Workload::One;
                let report = visit(entry, &view, run);
                if entry.serves_everybody() || is_lone || n < 2 {
                    assert_eq!(report.verdict, Verdict::Ok, "{} with {n}", entry.name);
                    assert_eq!(
                        report.locks().unwrap().delays.entries(),
                        entries,
                        "{} with {n}",
                        entry.name
                    );
                }
            }
        }
    }
}

#[test]
fn every_algorithm_starts_with_a_known_holder() {
    for entry in catalogue::MUTEXES {
        for holder in 1..=4 {
            let view = view(entry, 4);
            let holder = Some(ProcessId(holder));
            let run = Simulate { view: &view, workload: Workload::One, entries: 8, holder };
            let report = visit(entry, &view, run);
            assert_eq!(report.verdict, Verdict::Ok, "{} held by {holder:?}", entry.name);
            assert_eq!(
                report.locks().unwrap().delays.entries(),
                8 + 1,
                "the holder's and eight more"
            );
        }
    }
}

/// In a search, and on a real network, a message takes any time: that is not for those who need a
/// bound.
fn asynchronous() -> impl Iterator<Item = &'static Entry> {
    catalogue::MUTEXES.iter().copied().filter(|entry| !entry.needs.synchrony)
}

fn timing() -> Timing {
    Timing { beat: Some(2 * checked::TICK), ..Timing::of(checked::TICK) }
}

fn search(entry: &Entry, bounds: &Bounds) -> Finding {
    checked::check(entry, bounds, timing())
}

/// Nothing is wrong, though there is something to get wrong: somebody was served, and all came to
/// their end.
#[track_caller]
fn passes(entry: &Entry, found: &Finding) {
    assert_eq!(checked::flaw(found), None, "{}: {found:?}", entry.name);
    let is_lock = entry.is_of::<Locks>();
    let contended = is_lock.then_some(Premise::TwoWait);
    for premise in [Premise::Served, Premise::Finished].into_iter().chain(contended) {
        assert!(found.seen(premise) > 0, "{}: {premise:?} never happens", entry.name);
    }
}

/// The numbers of states are part of the model: a change of them is a change of an algorithm.
#[test]
fn every_algorithm_is_searched() {
    let mut lines = Vec::new();
    for entry in asynchronous() {
        for (n, asks) in [(2, 2), (3, 1)] {
            let found = search(entry, &Bounds { asks, ..Bounds::of(entry, n) });
            if entry.serves_everybody() {
                passes(entry, &found);
            } else {
                let flaw = checked::flaw(&found);
                assert_eq!(flaw, Some(Flaw::Deadlock), "{} with {n}: {found:?}", entry.name);
            }
            lines.push(format!("{} {n} {asks}: {}", entry.name, found.progress.distinct));
        }
    }
    assert_eq!(lines, STATES);
}

/// Algorithm, N, requests each: different states. (A search that finds a flaw stops there.)
const STATES: [&str; 18] = [
    "central 2 2: 164",
    "central 3 1: 200",
    "central-queued 2 2: 220",
    "central-queued 3 1: 368",
    "token-ring 2 2: 100",
    "token-ring 3 1: 180",
    "token-ring-resting 2 2: 80",
    "token-ring-resting 3 1: 158",
    "lamport 2 2: 302",
    "lamport 3 1: 29140",
    "ricart-agrawala 2 2: 177",
    "ricart-agrawala 3 1: 2601",
    "ricart-agrawala-deferred 2 2: 247",
    "ricart-agrawala-deferred 3 1: 7418",
    "maekawa-plain 2 2: 25",
    "maekawa-plain 3 1: 150",
    "maekawa 2 2: 263",
    "maekawa 3 1: 457",
];

#[test]
fn every_algorithm_is_searched_from_a_known_holder() {
    for entry in asynchronous() {
        let found = search(entry, &Bounds { holder: Some(ProcessId(2)), ..Bounds::of(entry, 3) });
        let expected = (!entry.serves_everybody()).then_some(Flaw::Deadlock);
        assert_eq!(checked::flaw(&found), expected, "{}: {found:?}", entry.name);
    }
}

/// Those who need FIFO channels say so, and rightly; all others are safe without.
#[test]
fn channels_that_reorder_break_only_those_who_say_that_they_need_order() {
    for entry in asynchronous() {
        let channels = Channels::Unordered;
        let found = search(entry, &Bounds { asks: 2, channels, ..Bounds::of(entry, 2) });
        let expected = match entry.name {
            "lamport" => Some(Flaw::Breach(locks::TWO_HOLDERS)),
            _ => (!entry.serves_everybody()).then_some(Flaw::Deadlock),
        };
        assert_eq!(checked::flaw(&found), expected, "{}", entry.name);
    }
}

/// Who needs a bound on the time that messages take gets one: a tick, and a beat every two. Phi
/// does its sums with what its clock shows, and in a search there is no clock.
#[test]
fn every_algorithm_that_needs_a_bound_is_searched_where_time_is_counted() {
    let mut lines = Vec::new();
    let is_searched = |entry: &&Entry| entry.needs.synchrony && entry.name != "phi";
    for entry in catalogue::all().filter(is_searched) {
        for crashes in [0, 1] {
            let faults = Faults { crashes, ..Faults::default() };
            let found = search(entry, &Bounds { faults, ..Bounds::of(entry, 2).within(1) });
            assert_eq!(checked::flaw(&found), None, "{}: {found:?}", entry.name);
            lines.push(format!("{} {crashes}: {}", entry.name, found.progress.distinct));
        }
    }
    assert_eq!(lines, STATES_IN_TICKS);
}

/// Algorithm, crashes: different states of two, each of whom asks or calls once.
const STATES_IN_TICKS: [&str; 10] = [
    "central-elected 0: 1276",
    "central-elected 1: 2310",
    "token-ring-repaired 0: 2393",
    "token-ring-repaired 1: 3818",
    "chang-roberts-repaired 0: 3541",
    "chang-roberts-repaired 1: 5240",
    "bully 0: 163",
    "bully 1: 318",
    "heartbeat 0: 49",
    "heartbeat 1: 95",
];

/// Who votes goes on for ever, so of those one timer runs out and no more.
#[test]
fn elections_that_need_no_bound_are_searched() {
    let mut lines = Vec::new();
    for entry in catalogue::ELECTIONS.iter().filter(|entry| !entry.needs.synchrony) {
        let is_ring = entry.name.starts_with("chang-roberts");
        let timeouts = (!is_ring).then_some(1);
        for (n, asks) in if is_ring { [(2, 2), (3, 1)] } else { [(1, 2), (2, 1)] } {
            let ends = system::Bounds { timeouts, terms: None };
            let found = search(entry, &Bounds { asks, ends, ..Bounds::of(entry, n) });
            passes(entry, &found);
            lines.push(format!("{} {n} {asks}: {}", entry.name, found.progress.distinct));
        }
    }
    assert_eq!(lines, STATES_OF_ELECTIONS);
}

/// Algorithm, N, calls each: different states.
const STATES_OF_ELECTIONS: [&str; 12] = [
    "chang-roberts 2 2: 186",
    "chang-roberts 3 1: 295",
    "chang-roberts-suppress 2 2: 186",
    "chang-roberts-suppress 3 1: 295",
    "chang-roberts-naive 2 2: 347",
    "chang-roberts-naive 3 1: 608",
    "chubby 1 2: 11",
    "chubby 2 1: 207",
    "zookeeper 1 2: 69",
    "zookeeper 2 1: 7108",
    "zookeeper-herd 1 2: 69",
    "zookeeper-herd 2 1: 7108",
];

struct TakePart {
    peer: Peer,
    view: View,
}

impl Visitor<Locks> for TakePart {
    type Output = ();

    fn visit<P>(self, entry: &'static Entry, configs: Vec<P::Config>)
    where
        P: Listed<Family = Locks>,
    {
        let seat = self.view.seat(self.peer.id()).unwrap();
        let entries = if entry.clients(&self.view).contains(&seat) { ENTRIES_EACH } else { 0 };
        self.peer.run::<P>(&self.view, &configs[seat.index()], entries);
    }
}

const ENTRIES_EACH: u32 = 20;
const ALGORITHM: &str = "CONCLAVE_TEST_ALGORITHM";

#[test]
fn every_algorithm_runs_between_processes() {
    if let Some(peer) = tcp::peer() {
        let entry = catalogue::find(&std::env::var(ALGORITHM).unwrap()).unwrap();
        let view = view(entry, 3);
        return visit(entry, &view.clone(), TakePart { peer, view });
    }
    for entry in asynchronous() {
        // What deadlocks is shown to where it does no harm.
        let n = if entry.serves_everybody() { 3 } else { continue };
        let test = "every_algorithm_runs_between_processes";
        let deeds = tcp::run_all(&view(entry, n), test, &[(ALGORITHM, entry.name)]);
        let expected = u64::from(n * ENTRIES_EACH);
        assert_eq!(
            (deeds.counter, deeds.entries.len() as u64),
            (expected, expected),
            "{}",
            entry.name
        );
        assert!(deeds.entries.is_sorted_by(|a, b| a.1 < b.1), "fences grow: {:?}", deeds.entries);
    }
}

#[test]
fn seats_of_clients_leave_out_the_coordinator() {
    let entry = catalogue::find("central").unwrap();
    assert_eq!(entry.clients(&view(entry, 2)), [Seat(1), Seat(2)]);
}
