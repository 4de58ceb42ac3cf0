//! Every algorithm of the catalogue, unchanged, in three worlds: simulated, searched, and between
//! real processes. An algorithm that is added to the catalogue is in all of them, if it needs no
//! bound on the time that messages take; otherwise it is simulated.

use std::time::Duration;

use conclave_algorithms::catalogue::{self, Entry, MutexVisitor, Portable, Seating, Timing};
use conclave_algorithms::quorum::Construction;
use conclave_core::mutex::Mutex;
use conclave_core::{ProcessId, Seat, View};
use conclave_observe::{JudgeOrdering, Report, Time, Verdict};
use conclave_sim::{Limits, MutexApplication, Setup, Workload, simulate};
use conclave_testkit::search::{Flaw, Found, Search};
use conclave_testkit::tcp::{self, Peer};

fn view(entry: &Entry, n: u32) -> View {
    entry.view_of(&View::dense(1, n)).unwrap()
}

fn visit<V: MutexVisitor>(entry: &Entry, view: &View, visitor: V) -> V::Output {
    catalogue::visit_mutex(
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

impl MutexVisitor for Simulate<'_> {
    type Output = Report;

    fn visit<P: Mutex<Message: Portable>>(
        self,
        entry: &'static Entry,
        config: P::Config,
    ) -> Report {
        let setup = Setup::<P> {
            holder: self.holder,
            limits: Limits {
                events: 1_000_000,
                time: Time::delays(1_000_000),
                patience: Time::delays(1_000),
            },
            ordering: JudgeOrdering::Yes,
            promises: entry.promises,
            check_invariants: true,
            ..Setup::new(self.view, &config)
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
                if entry.promises.liveness() || is_lone || n < 2 {
                    assert_eq!(report.verdict, Verdict::Ok, "{} with {n}", entry.name);
                    assert_eq!(report.delays.entries(), entries, "{} with {n}", entry.name);
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
            assert_eq!(report.delays.entries(), 8 + 1, "the holder's and eight more");
        }
    }
}

/// In a search, and on a real network, a message takes any time: that is not for those who need a
/// bound.
fn asynchronous() -> impl Iterator<Item = &'static Entry> {
    catalogue::MUTEXES.iter().copied().filter(|entry| !entry.needs.synchrony)
}

struct Explore<'a> {
    view: &'a View,
    holder: Option<ProcessId>,
    requests: u8,
    fifo: bool,
}

impl MutexVisitor for Explore<'_> {
    type Output = Found;

    fn visit<P: Mutex<Message: Portable>>(self, entry: &'static Entry, config: P::Config) -> Found {
        Search {
            view: self.view,
            clients: entry.clients(self.view),
            config: &config,
            holder: self.holder,
            requests: self.requests,
            fifo: self.fifo,
            states_max: 3_000_000,
        }
        .run::<P>()
    }
}

/// The numbers of states are part of the model: a change of them is a change of an algorithm.
#[test]
fn every_algorithm_is_searched() {
    let mut lines = Vec::new();
    for entry in asynchronous() {
        for (n, requests) in [(2, 2), (3, 1)] {
            let view = view(entry, n);
            let search = Explore { view: &view, holder: None, requests, fifo: true };
            let found = visit(entry, &view, search);
            let flaw = found.flaw.map(|(flaw, _)| flaw);
            if entry.promises.liveness() {
                assert_eq!(flaw, None, "{} with {n}: {found:?}", entry.name);
                assert!(found.contended > 0 && found.finished > 0, "{}: {found:?}", entry.name);
            } else {
                assert_eq!(flaw, Some(Flaw::Deadlock), "{} with {n}: {found:?}", entry.name);
            }
            lines.push(format!("{} {n} {requests}: {}", entry.name, found.distinct));
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
        let view = view(entry, 3);
        let search = Explore { view: &view, holder: Some(ProcessId(2)), requests: 1, fifo: true };
        let found = visit(entry, &view, search);
        let flaw = found.flaw.map(|(flaw, _)| flaw);
        let expected = (!entry.promises.liveness()).then_some(Flaw::Deadlock);
        assert_eq!(flaw, expected, "{}: {found:?}", entry.name);
    }
}

/// Those who need FIFO channels say so, and rightly; all others are safe without.
#[test]
fn channels_that_reorder_break_only_those_who_say_that_they_need_order() {
    for entry in asynchronous() {
        let view = view(entry, 2);
        let search = Explore { view: &view, holder: None, requests: 2, fifo: false };
        let found = visit(entry, &view, search);
        match entry.name {
            "lamport" => assert_eq!(found.flaw.map(|it| it.0), Some(Flaw::TwoHolders)),
            _ if !entry.promises.liveness() => {
                assert_eq!(found.flaw.map(|it| it.0), Some(Flaw::Deadlock));
            }
            _ => assert_eq!(found.flaw, None, "{}", entry.name),
        }
    }
}

struct TakePart {
    peer: Peer,
    view: View,
}

impl MutexVisitor for TakePart {
    type Output = ();

    fn visit<P: Mutex<Message: Portable>>(self, entry: &'static Entry, config: P::Config) {
        let seat = self.view.seat(self.peer.id()).unwrap();
        let entries = if entry.clients(&self.view).contains(&seat) { ENTRIES_EACH } else { 0 };
        self.peer.run::<P>(&self.view, &config, entries);
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
        let n = if entry.promises.liveness() { 3 } else { continue };
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
