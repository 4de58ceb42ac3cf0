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
use conclave_core::election::TERMS;
use conclave_core::mutex::{Locks, Opening};
use conclave_core::{ProcessId, Seat, View};
use conclave_observe::{JudgeOrdering, Report, Time, Verdict};
use conclave_sim::{Limits, MutexApplication, Setup, Workload, simulate};
use conclave_testkit::known;
use conclave_testkit::tcp::{self, Peer};

use checked::Bounds;

/// Numbers of states, written down; `cargo xtask fix` rewrites them.
const KNOWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/known/");

fn view(entry: &Entry, n: u32) -> View {
    entry.view_of(&View::dense(1, n)).unwrap()
}

fn visit<V: Visitor<Locks>>(entry: &Entry, view: &View, visitor: V) -> V::Output {
    Locks::visit(
        entry,
        &Seating {
            view,
            construction: Construction::Grid,
            own_sets: None,
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
    known::lines(KNOWN.to_owned() + "states_of_locks.txt", &lines);
}

#[test]
fn every_algorithm_is_searched_from_a_known_holder() {
    for entry in asynchronous() {
        let found = search(entry, &Bounds { holder: Some(ProcessId(2)), ..Bounds::of(entry, 3) });
        let expected = (!entry.serves_everybody()).then_some(Flaw::Deadlock);
        assert_eq!(checked::flaw(&found), expected, "{}: {found:?}", entry.name);
    }
}

/// Those who need FIFO channels say so, and rightly: a search of the catalogue refutes them
/// without. All others are safe without.
#[test]
fn channels_that_reorder_break_only_those_who_say_that_they_need_order() {
    for entry in asynchronous() {
        if entry.needs.fifo {
            let refutes = |bounds: &catalogue::Bounds| bounds.is_unordered && bounds.is_refuted;
            assert!(entry.searches.iter().any(refutes), "{} needs no order?", entry.name);
            continue;
        }
        let channels = Channels::Unordered;
        let found = search(entry, &Bounds { asks: 2, channels, ..Bounds::of(entry, 2) });
        let expected = (!entry.serves_everybody()).then_some(Flaw::Deadlock);
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
    known::lines(KNOWN.to_owned() + "states_in_ticks.txt", &lines);
}

/// Who votes goes on for ever, so of those one timer runs out and no more.
#[test]
fn elections_that_need_no_bound_are_searched() {
    let mut lines = Vec::new();
    for entry in catalogue::ELECTIONS.iter().filter(|entry| !entry.needs.synchrony) {
        let goes_on = entry.promises.keeps(TERMS);
        let timeouts = goes_on.then_some(1);
        for (n, asks) in if goes_on { [(1, 2), (2, 1)] } else { [(2, 2), (3, 1)] } {
            let ends = system::Bounds { timeouts, terms: None };
            let found = search(entry, &Bounds { asks, ends, ..Bounds::of(entry, n) });
            passes(entry, &found);
            lines.push(format!("{} {n} {asks}: {}", entry.name, found.progress.distinct));
        }
    }
    known::lines(KNOWN.to_owned() + "states_of_elections.txt", &lines);
}

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
