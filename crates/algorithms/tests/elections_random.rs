//! Elections that must stay safe whatever happens, in storms drawn from a seed, judged as any run
//! is; what they cost in a calm; and clocks as far apart as is allowed.
//!
//! `CONCLAVE_SEEDS=20000 cargo test --release -p conclave-algorithms --test elections_random` tries
//! more of them.

mod storm;

use std::collections::BTreeMap;

use conclave_algorithms::catalogue::{self, Entry, Listed, Seating, Shelf, Visitor};
use conclave_algorithms::quorum::Construction;
use conclave_core::election::Elections;
use conclave_core::{ProcessId, Seat, View};
use conclave_observe::family::elections::Seen;
use conclave_observe::trace::Record;
use conclave_observe::{Report, Time, Verdict, What};
use conclave_sim::{
    Call, ChannelOrder, Crash, Crossing, Drift, ElectionApplication, FaultPlan, Limits, Network,
    Partition, Rate, Recording, Setup, Stream, simulate,
};
use storm::{Storm, TIMING};

/// What the runs were like, so that it can be said that something happened in them.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    terms: u64,
    reads: u64,
    writes: u64,
    settled: u64,
}

impl Visitor<Elections> for &Storm {
    type Output = Report;

    fn visit<P>(self, entry: &'static Entry, configs: Vec<P::Config>) -> Report
    where
        P: Listed<Family = Elections>,
    {
        self.strike::<P>(entry, &configs).report
    }
}

/// How many seeds are tried.
fn seeds(few: u64) -> u64 {
    std::env::var("CONCLAVE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}

fn seating(view: &View) -> Seating<'_> {
    Seating { view, construction: Construction::Grid, own_sets: None, timing: TIMING }
}

fn all_seeds(name: &str, few: u64) -> Tally {
    let entry = catalogue::find(name).unwrap();
    let mut sum = Tally::default();
    for seed in 1..=seeds(few) {
        let storm = Storm::draw(entry, seed);
        let report = Elections::visit(entry, &seating(&storm.view), &storm).unwrap();
        let elections = report.elections().unwrap();
        let is_late = !storm.settles && report.verdict == Verdict::Budget;
        let is_well = report.verdict == Verdict::Ok || is_late;
        assert!(is_well, "{name}, seed {seed}: {} {elections:?}", report.verdict);
        let (reads, writes, _) = elections.versions.counts();
        sum.terms += elections.per_term.terms();
        (sum.reads, sum.writes) = (sum.reads + reads, sum.writes + writes);
        sum.settled += u64::from(report.verdict == Verdict::Ok);
    }
    println!("{name}: {sum:?}");
    sum
}

#[test]
fn chubby_has_one_master_at_a_time_and_never_reads_what_is_old() {
    let sum = all_seeds("chubby", 300);
    assert!(sum.terms > 2 * seeds(300) && sum.settled > seeds(300) / 2, "{sum:?}");
    assert!(sum.reads > 10 * seeds(300) && sum.writes > 10 * seeds(300), "{sum:?}");
}

#[test]
fn zookeeper_has_one_leader_per_epoch_and_one_in_the_end() {
    for name in ["zookeeper", "zookeeper-herd"] {
        let sum = all_seeds(name, 150);
        assert!(sum.terms > 2 * seeds(150) && sum.settled > seeds(150) / 2, "{sum:?}");
    }
}

/// An election in the unit network: how many messages of each phase, and when the last one knew.
struct Counted {
    view: View,
    faults: FaultPlan,
    until: Time,
}

impl Visitor<Elections> for Counted {
    type Output = (BTreeMap<&'static str, u64>, Time);

    fn visit<P>(self, entry: &'static Entry, configs: Vec<P::Config>) -> Self::Output
    where
        P: Listed<Family = Elections>,
    {
        let Self { view, faults, until } = self;
        let setup = Setup::<P> {
            faults: &faults,
            promises: entry.promises,
            // One of two alone is no majority, and leads nobody.
            limits: Limits { time: until.max(Time::delays(50)), ..Limits::NONE },
            recording: Recording::Everything,
            ..Setup::new(&view, &configs)
        };
        let call = Call { seat: Seat(0), at: Time::ZERO };
        let calls = (entry.name == "chubby").then_some(call).into_iter().collect();
        let application = ElectionApplication::new(&view, entry.clients(&view), calls, until, 1);
        let outcome = simulate(&setup, application, &mut |_| {});
        assert_ne!(outcome.report.verdict, Verdict::Violated);
        let mut sent = BTreeMap::new();
        for Record { event, .. } in &outcome.records {
            if let What::Sent { kind, .. } = event.what {
                *sent.entry(entry.kinds[usize::from(kind)].name).or_default() += 1;
            }
        }
        let is_news =
            |record: &&Record| matches!(Seen::of(record.event.what), Seen::Elected { .. });
        let last = outcome.records.iter().rfind(is_news).unwrap().event.at;
        (sent, last)
    }
}

fn count(
    name: &str,
    n: u32,
    faults: FaultPlan,
    until: Time,
) -> (BTreeMap<&'static str, u64>, Time) {
    let entry = catalogue::find(name).unwrap();
    let view = entry.view_of(&View::dense(1, n)).unwrap();
    let visitor = Counted { view: view.clone(), faults, until };
    Elections::visit(entry, &seating(&view), visitor).unwrap()
}

#[test]
fn a_lone_candidate_of_chubby_costs_what_the_catalogue_says() {
    for n in [2, 3, 5, 9] {
        let others = u64::from(n) - 1;
        let (sent, last) = count("chubby", n, FaultPlan::default(), Time::ZERO);
        for kind in ["vote-request", "vote", "announcement"] {
            assert_eq!(sent[kind], others, "{kind} with {n}");
        }
        assert!(!sent.contains_key("refusal"));
        assert_eq!(last, Time::delays(3));
        // The first renewal is sent 2 + 5 after the call, and each next one 5 later.
        let (sent, last) = count("chubby", n, FaultPlan::default(), Time::delays(100));
        assert_eq!(sent["renewal"], 19 * others, "with {n}");
        assert_eq!(sent["renewed"], 20 * others, "to the announcement, too");
        assert_eq!((sent["vote-request"], last), (others, Time::delays(3)), "and it leads on");
    }
}

#[test]
fn a_claim_of_zookeeper_costs_what_the_catalogue_says_and_a_death_wakes_one_or_all() {
    for n in [2_u32, 3, 5, 9] {
        for name in ["zookeeper", "zookeeper-herd"] {
            let others = u64::from(n) - 1;
            let (sent, last) = count(name, n, FaultPlan::default(), Time::ZERO);
            for kind in ["new-leader", "ack", "commit"] {
                assert_eq!(sent[kind], others, "{name}: {kind} with {n}");
            }
            assert_eq!(last, Time::delays(2 + 3), "{name} with {n}");

            let crash = Crash { process: ProcessId(1), at: Time::delays(50) };
            let faults = FaultPlan { crashes: vec![crash], ..FaultPlan::default() };
            let (sent, _) = count(name, n, faults, Time::delays(150));
            let woken = if name == "zookeeper" { 1 } else { others };
            assert_eq!(sent["gone"], woken, "{name} with {n}");
            let claims = if n == 2 { 1 } else { 2 };
            assert!(sent["new-leader"] >= claims * others, "{name} with {n}");
        }
    }
}

/// The master has the slowest clock that is allowed, and is cut off; the others have the fastest,
/// hardly any delay, and one of them tries all the time.
struct Edge {
    view: View,
    seed: u64,
}

impl Visitor<Elections> for Edge {
    type Output = Report;

    fn visit<P>(self, entry: &'static Entry, configs: Vec<P::Config>) -> Report
    where
        P: Listed<Family = Elections>,
    {
        let Self { view, seed } = self;
        let stream = &mut Stream::new(seed, "edge");
        let from = stream.between(Time::delays(5), Time::delays(30));
        let until = from + Time::delays(60);
        let ids = |ids: &[u32]| ids.iter().copied().map(ProcessId).collect();
        let (left, right, crossing) = (ids(&[1]), ids(&[2, 3]), Crossing::Lost);
        let cut = Partition { left, right, one_way: false, from, until, crossing };
        let drifts = [(1, 0.955), (2, 1.05), (3, 1.05)].map(|(process, rate)| Drift {
            process: ProcessId(process),
            rate: Rate::new(rate).unwrap(),
        });
        let partitions = vec![cut];
        let faults = FaultPlan { partitions, drifts: drifts.into(), ..FaultPlan::default() };
        let network = Network::Uniform { low: Time(1_000), high: Time(200_000) };
        let mut calls = vec![Call { seat: Seat(0), at: Time::ZERO }];
        for tenth in 0..600 {
            calls.push(Call { seat: Seat(1), at: from + Time(tenth * Time::DELAY.0 / 10) });
        }
        let setup = Setup::<P> {
            network,
            order: ChannelOrder::Any,
            faults: &faults,
            seed,
            promises: entry.promises,
            check_invariants: true,
            ..Setup::new(&view, &configs)
        };
        let clients = entry.clients(&view);
        let application = ElectionApplication::new(&view, clients, calls, until, seed);
        simulate(&setup, application.asking_every(Time::delays(2)), &mut |_| {}).report
    }
}

#[test]
fn chubby_has_one_master_at_a_time_with_clocks_as_far_apart_as_is_allowed() {
    let entry = catalogue::find("chubby").unwrap();
    let mut terms = 0;
    for seed in 1..=seeds(200) {
        let view = View::dense(1, 3);
        let edge = Edge { view: view.clone(), seed };
        let report = Elections::visit(entry, &seating(&view), edge).unwrap();
        assert_eq!(report.verdict, Verdict::Ok, "seed {seed}: {:?}", report.elections());
        terms += report.elections().unwrap().per_term.terms();
    }
    assert!(terms > seeds(200) + seeds(200) / 4, "another one is elected: {terms}");
}
