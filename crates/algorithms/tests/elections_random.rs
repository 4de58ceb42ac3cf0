//! Elections that must stay safe whatever happens, under faults drawn from a seed: crashes,
//! returns, pauses, partitions, loss, duplication, overtaking, drifting clocks. What happened is
//! checked from the record alone.
//!
//! `CONCLAVE_SEEDS=20000 cargo test --release -p conclave-algorithms --test elections_random` tries
//! more of them.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use conclave_algorithms::catalogue::{
    self, ElectionVisitor, Entry, Portable, Promises, Seating, Timing,
};
use conclave_algorithms::quorum::Construction;
use conclave_core::election::{Command, Election, Notice, Term, Version};
use conclave_core::{ProcessId, Seat, View};
use conclave_observe::trace::Record;
use conclave_observe::{Event, Time, What};
use conclave_sim::{
    Application, ChannelOrder, Crash, Desk, FaultPlan, Limits, Network, Partition, Pause,
    Probability, Recording, Return, Setup, Stream, simulate,
};

/// Until when new faults begin; the lease is 20 and the session 30 of these.
const HORIZON: Time = Time::delays(600);
/// How long it may take until all know a leader, once the faults are over.
const PATIENCE: Time = Time::delays(6_000);

/// All that a seed decides.
struct Case {
    view: View,
    network: Network,
    order: ChannelOrder,
    faults: FaultPlan,
    /// Whether a leader is to be expected once the faults are over.
    settles: bool,
}

fn chance(stream: &mut Stream, percent: u64) -> bool {
    stream.below(100) < percent
}

impl Case {
    fn draw(entry: &Entry, seed: u64) -> Self {
        let stream = &mut Stream::new(seed, "case");
        let n = [3, 5, 3, 4, 2, 7, 1, 5][usize::try_from(stream.below(8)).unwrap()];
        let clients = View::dense(1, n);
        let view = entry.view_of(&clients).unwrap();
        let (network, settles) = match stream.below(6) {
            0 => (Network::Unit, true),
            1 => (Network::Sync { bound: Time::DELAY }, true),
            2 => (Network::Uniform { low: Time(1_000), high: Time::delays(2) }, true),
            3 => (Network::Exponential { mean: Time::DELAY }, true),
            4 => (Network::Exponential { mean: Time::delays(3) }, true),
            _ => (Network::Uniform { low: Time::DELAY, high: Time::delays(40) }, false),
        };
        let order = if chance(stream, 50) { ChannelOrder::Fifo } else { ChannelOrder::Any };
        let faults = draw_faults(stream, &clients, &view);
        faults.check(&view).unwrap();
        // Loss has no end, and all may know at no time.
        let settles = settles && faults.loss != Probability::new(0.3).unwrap();
        Self { view, network, order, faults, settles }
    }
}

fn draw_faults(stream: &mut Stream, clients: &View, view: &View) -> FaultPlan {
    let mut faults = FaultPlan::default();
    // Often early, while all terms are alike.
    let moment = |stream: &mut Stream| {
        let latest = if chance(stream, 40) { Time::delays(90) } else { HORIZON };
        stream.between(Time::ZERO, latest)
    };
    // Either each for itself, or many at about the same time.
    let blackouts = chance(stream, 40).then(|| {
        let mut moments: Vec<Time> = (0..=stream.below(4)).map(|_| moment(stream)).collect();
        moments.sort_unstable();
        moments
    });
    // A majority is up in the end.
    let mut may_stay_down = (clients.len() - 1) / 2;
    for &process in clients.members() {
        let mut up_from = Time::ZERO;
        let mut moments = blackouts.clone().unwrap_or_default().into_iter();
        loop {
            let at = match &blackouts {
                None if chance(stream, 45) => {
                    up_from + Time(1) + stream.between(Time::ZERO, Time::delays(200))
                }
                None => break,
                Some(_) => match moments.next() {
                    Some(at) if chance(stream, 60) => at + stream.between(Time(1), Time::delays(4)),
                    Some(_) => continue,
                    None => break,
                },
            };
            if at <= up_from {
                continue;
            }
            faults.crashes.push(Crash { process, at });
            if may_stay_down > 0 && chance(stream, 30) {
                may_stay_down -= 1;
                break;
            }
            let away = if chance(stream, 50) { 5 } else { 80 };
            up_from = at + stream.between(Time(1), Time::delays(away));
            faults.returns.push(Return { process, at: up_from });
        }
        if chance(stream, 35) {
            let from = moment(stream);
            let until = from + stream.between(Time(1), Time::delays(90));
            faults.pauses.push(Pause { process, from, until });
        }
        if chance(stream, 50) {
            // At most 1.049 / 0.955, which is below 1.1.
            let rate = 955 + stream.below(95);
            let drift = format!("{process}={}.{:03}", rate / 1000, rate % 1000);
            faults.drifts.push(drift.parse().unwrap());
        }
    }
    for _ in 0..stream.below(4) {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for &process in view.members() {
            let side = if chance(stream, 50) { &mut left } else { &mut right };
            side.push(process);
        }
        if left.is_empty() || right.is_empty() {
            continue;
        }
        let from = moment(stream);
        let until = from + stream.between(Time(1), Time::delays(150));
        faults.partitions.push(Partition { left, right, one_way: chance(stream, 50), from, until });
    }
    let loss = [0.0, 0.0, 0.02, 0.1, 0.3][usize::try_from(stream.below(5)).unwrap()];
    let duplicate = [0.0, 0.0, 0.05, 0.3][usize::try_from(stream.below(4)).unwrap()];
    faults.loss = Probability::new(loss).unwrap();
    faults.duplicate = Probability::new(duplicate).unwrap();
    faults
}

/// Calls elections, reads and writes, at any time and anywhere; done when all agree.
struct Restless {
    stream: Stream,
    clients: Vec<Seat>,
    members: Vec<ProcessId>,
    /// By seat.
    is_up: Vec<bool>,
    /// By seat: who leads, as far as it was told.
    told: Vec<Option<ProcessId>>,
    /// By seat: what it is to write, and has not been answered yet.
    writing: Vec<Option<u64>>,
    /// By seat: how many answers it is owed.
    owed: Vec<u32>,
    written: u64,
    /// The value that was read or written last, and those before it, which must not come back.
    value: u64,
    past: BTreeSet<u64>,
    /// Values that came back.
    undone: Rc<Cell<Option<(Time, u64)>>>,
    quiet_from: Time,
}

impl Restless {
    fn new(entry: &Entry, case: &Case, seed: u64) -> Self {
        Self {
            stream: Stream::new(seed, "restless"),
            clients: entry.clients(&case.view),
            members: case.view.members().to_vec(),
            is_up: vec![true; case.view.len()],
            told: vec![None; case.view.len()],
            writing: vec![None; case.view.len()],
            owed: vec![0; case.view.len()],
            written: 0,
            value: 0,
            past: BTreeSet::new(),
            undone: Rc::default(),
            quiet_from: case.faults.last_moment().max(HORIZON),
        }
    }

    /// Each value is written once, so a value that is seen again after another was lost and found.
    fn see(&mut self, value: u64, now: Time) {
        if value == self.value {
            return;
        }
        if self.past.contains(&value) {
            self.undone.set(Some((now, value)));
        }
        self.past.insert(self.value);
        self.value = value;
    }

    fn go_on(&mut self, seat: Seat, desk: &mut Desk<Command>) {
        if desk.now() > self.quiet_from + Time::delays(200) {
            return;
        }
        let after = self.stream.exponential(Time::delays(4));
        if chance(&mut self.stream, 50) {
            self.written += 1;
            self.writing[seat.index()] = Some(self.written);
            desk.order(seat, Command::Write(self.written), after);
            // While it is written, or after.
            desk.order(seat, Command::Read, after + self.stream.between(Time(1), Time::delays(3)));
            self.owed[seat.index()] = 2;
        } else {
            self.owed[seat.index()] = 1;
            desk.order(seat, Command::Read, after);
        }
    }

    fn order_all(&mut self, seat: Seat, desk: &mut Desk<Command>) {
        for _ in 0..self.stream.below(3) {
            desk.order(seat, Command::Call, self.stream.between(Time::ZERO, Time::delays(60)));
        }
        self.go_on(seat, desk);
    }
}

impl<P: Election> Application<P> for Restless {
    fn begin(&mut self, desk: &mut Desk<Command>) {
        for seat in self.clients.clone() {
            if self.is_up[seat.index()] {
                self.order_all(seat, desk);
            }
        }
    }

    fn on_notice(&mut self, seat: Seat, notice: &Notice, desk: &mut Desk<Command>) {
        match *notice {
            Notice::Elected { leader, .. } => self.told[seat.index()] = Some(leader),
            Notice::Vacant => self.told[seat.index()] = None,
            Notice::Read { value, .. } => self.see(value, desk.now()),
            Notice::Wrote { .. } => {
                if let Some(value) = self.writing[seat.index()].take() {
                    self.see(value, desk.now());
                }
            }
            // Who cannot read can no longer write either, and says so first.
            Notice::Refused => self.writing[seat.index()] = None,
            Notice::Electing => {}
        }
        if matches!(notice, Notice::Read { .. } | Notice::Wrote { .. } | Notice::Refused) {
            self.owed[seat.index()] -= 1;
            if self.owed[seat.index()] == 0 {
                self.go_on(seat, desk);
            }
        }
    }

    fn on_crash(&mut self, seat: Seat) {
        self.is_up[seat.index()] = false;
        self.told[seat.index()] = None;
        self.writing[seat.index()] = None;
    }

    fn on_return(&mut self, seat: Seat, desk: &mut Desk<Command>) {
        self.is_up[seat.index()] = true;
        self.order_all(seat, desk);
    }

    fn awaits_quiet(&self) -> bool {
        false
    }

    fn on_quiet(&mut self, _: &mut Desk<Command>) {}

    fn is_done(&self, now: Time) -> bool {
        if now < self.quiet_from {
            return false;
        }
        let mut up = self.clients.iter().filter(|seat| self.is_up[seat.index()]);
        let Some(first) = up.next() else { return true };
        let Some(leader) = self.told[first.index()] else { return false };
        let knows = |seat: &Seat| self.told[seat.index()] == Some(leader);
        let leads = |seat: &&Seat| self.members[seat.index()] == leader;
        up.all(knows)
            && self
                .clients
                .iter()
                .find(leads)
                .is_some_and(|seat| self.is_up[seat.index()] && knows(seat))
    }
}

/// What a run was like, so that it can be said that something happened in it.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    leaders: u64,
    reads: u64,
    writes: u64,
    settled: u64,
}

/// What was seen of one process.
#[derive(Clone, Default)]
struct Seen {
    leads: bool,
    paused: bool,
    resumed_at: Option<Time>,
    reading: Option<Version>,
    writing: Option<Version>,
    /// Whether it was asked for another write while one was under way.
    is_asked_twice: bool,
}

/// Checks a record; says what is wrong.
fn check(records: &[Record], members: usize, one_at_a_time: bool) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let mut leaders: BTreeMap<Term, Seat> = BTreeMap::new();
    let mut all = vec![Seen::default(); members];
    let mut highest = Version::default();
    for Record { event: Event { at, seat, what }, .. } in records {
        let seen = &mut all[seat.index()];
        match *what {
            What::Elected { leader, term } => {
                let first = *leaders.entry(term).or_insert(leader);
                if first != leader || term == Term::NONE {
                    return Err(format!("{at}: both {first:?} and {leader:?} lead in {term}"));
                }
                seen.leads = leader == *seat;
                tally.leaders += u64::from(seen.leads);
            }
            What::Vacant => seen.leads = false,
            What::Crashed => *seen = Seen::default(),
            What::Paused => seen.paused = true,
            What::Resumed => (seen.paused, seen.resumed_at) = (false, Some(*at)),
            What::Reading => seen.reading = Some(highest),
            What::Writing { .. } if seen.writing.is_some() => seen.is_asked_twice = true,
            What::Writing { .. } => seen.writing = Some(highest),
            What::Read { version, .. } => {
                tally.reads += 1;
                if seen.reading.take().is_none_or(|floor| version < floor) {
                    return Err(format!("{at}: {seat:?} read {version} after {highest}"));
                }
                highest = highest.max(version);
            }
            What::Wrote { version } => {
                tally.writes += 1;
                if seen.writing.take().is_none_or(|floor| version <= floor) {
                    return Err(format!("{at}: {seat:?} wrote {version} after {highest}"));
                }
                highest = highest.max(version);
            }
            What::Refused if seen.is_asked_twice => seen.is_asked_twice = false,
            What::Refused if seen.writing.is_some() && !seen.leads => seen.writing = None,
            What::Refused if seen.reading.is_some() => seen.reading = None,
            What::Refused => seen.writing = None,
            _ => continue,
        }
        // One that goes on is given no time, but the chance to hear that it is late.
        let leads = |seen: &&Seen| seen.leads && !seen.paused && seen.resumed_at != Some(*at);
        if one_at_a_time && all.iter().filter(leads).count() > 1 {
            return Err(format!("{at}: two lead"));
        }
    }
    Ok(tally)
}

struct Run {
    seed: u64,
}

impl ElectionVisitor for Run {
    type Output = Result<Tally, String>;

    fn visit<P: Election<Message: Portable>>(
        self,
        entry: &'static Entry,
        config: P::Config,
    ) -> Result<Tally, String> {
        run::<P>(entry, self.seed, &config)
    }
}

fn run<P: Election>(entry: &Entry, seed: u64, config: &P::Config) -> Result<Tally, String> {
    let case = Case::draw(entry, seed);
    let until = case.faults.last_moment().max(HORIZON) + PATIENCE;
    let setup = Setup::<P> {
        network: case.network,
        order: case.order,
        faults: &case.faults,
        seed,
        limits: Limits { events: 3_000_000, time: until, patience: Time::NEVER },
        recording: Recording::Everything,
        check_invariants: true,
        ..Setup::new(&case.view, config)
    };
    let application = Restless::new(entry, &case, seed);
    let undone = application.undone.clone();
    let outcome = simulate(&setup, application, &mut |_| {});
    if let Some((at, value)) = undone.get() {
        return Err(format!("{at}: {value} is the value again, after another"));
    }
    let one_at_a_time = matches!(entry.promises, Promises::Election { one_at_a_time: true, .. });
    let mut tally = check(&outcome.records, case.view.len(), one_at_a_time)?;
    let end = outcome.records.last().map(|record| record.event.at).unwrap_or_default();
    let settled = end + Time::delays(300) < until;
    if case.settles && !settled {
        return Err(format!("no leader that all know, {PATIENCE:?} after the last fault"));
    }
    tally.settled = u64::from(settled);
    Ok(tally)
}

/// How many seeds are tried.
fn seeds(few: u64) -> u64 {
    std::env::var("CONCLAVE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}

fn seating(view: &View) -> Seating<'_> {
    Seating { view, construction: Construction::Grid, timing: Timing::of(Duration::from_millis(1)) }
}

fn all_seeds(name: &str, few: u64) -> Tally {
    let entry = catalogue::find(name).unwrap();
    let mut sum = Tally::default();
    for seed in 1..=seeds(few) {
        let view = Case::draw(entry, seed).view;
        let tally = catalogue::visit_election(entry, &seating(&view), Run { seed }).unwrap();
        let tally = tally.unwrap_or_else(|wrong| panic!("{name}, seed {seed}: {wrong}"));
        sum.leaders += tally.leaders;
        sum.reads += tally.reads;
        sum.writes += tally.writes;
        sum.settled += tally.settled;
    }
    println!("{name}: {sum:?}");
    sum
}

#[test]
fn chubby_has_one_master_at_a_time_and_never_reads_what_is_old() {
    let sum = all_seeds("chubby", 300);
    assert!(sum.leaders > 2 * seeds(300) && sum.settled > seeds(300) / 2, "{sum:?}");
    assert!(sum.reads > 10 * seeds(300) && sum.writes > 10 * seeds(300), "{sum:?}");
}

#[test]
fn zookeeper_has_one_leader_per_epoch_and_one_in_the_end() {
    for name in ["zookeeper", "zookeeper-herd"] {
        let sum = all_seeds(name, 150);
        assert!(sum.leaders > 2 * seeds(150) && sum.settled > seeds(150) / 2, "{sum:?}");
    }
}

/// Calls elections when it is told to, and is done when all agree, or at some time.
struct Lone {
    inner: Restless,
    calls: Vec<(Seat, Time)>,
    until: Option<Time>,
}

impl<P: Election> Application<P> for Lone {
    fn begin(&mut self, desk: &mut Desk<Command>) {
        for &(seat, at) in &self.calls {
            desk.order(seat, Command::Call, at);
        }
    }

    fn on_notice(&mut self, seat: Seat, notice: &Notice, desk: &mut Desk<Command>) {
        Application::<P>::on_notice(&mut self.inner, seat, notice, desk);
    }

    fn on_crash(&mut self, seat: Seat) {
        Application::<P>::on_crash(&mut self.inner, seat);
    }

    fn on_return(&mut self, _: Seat, _: &mut Desk<Command>) {}

    fn awaits_quiet(&self) -> bool {
        false
    }

    fn on_quiet(&mut self, _: &mut Desk<Command>) {}

    fn is_done(&self, now: Time) -> bool {
        match self.until {
            Some(until) => now >= until,
            None => Application::<P>::is_done(&self.inner, now),
        }
    }
}

/// An election in the unit network: how many messages of each phase, and when the last one knew.
struct Counted {
    view: View,
    faults: FaultPlan,
    until: Option<Time>,
}

impl ElectionVisitor for Counted {
    type Output = (BTreeMap<&'static str, u64>, Time);

    fn visit<P: Election<Message: Portable>>(
        self,
        entry: &'static Entry,
        config: P::Config,
    ) -> Self::Output {
        let Self { view, faults, until } = self;
        let (network, order) = (Network::Unit, ChannelOrder::Fifo);
        let case = Case { view, network, order, faults, settles: true };
        let mut inner = Restless::new(entry, &case, 1);
        inner.quiet_from = Time::ZERO;
        let setup = Setup::<P> {
            faults: &case.faults,
            recording: Recording::Everything,
            ..Setup::new(&case.view, &config)
        };
        let is_called = entry.name == "chubby";
        let calls = is_called.then_some((Seat(0), Time::ZERO)).into_iter().collect();
        let lone = Lone { inner, calls, until };
        let outcome = simulate(&setup, lone, &mut |_| {});
        let mut sent = BTreeMap::new();
        for Record { event, .. } in &outcome.records {
            if let What::Sent { kind, .. } = event.what {
                *sent.entry(entry.kinds[usize::from(kind)].name).or_default() += 1;
            }
        }
        let is_news = |record: &&Record| matches!(record.event.what, What::Elected { .. });
        let last = outcome.records.iter().rfind(is_news).unwrap().event.at;
        (sent, last)
    }
}

fn count(
    name: &str,
    n: u32,
    faults: FaultPlan,
    until: Option<Time>,
) -> (BTreeMap<&'static str, u64>, Time) {
    let entry = catalogue::find(name).unwrap();
    let view = entry.view_of(&View::dense(1, n)).unwrap();
    let visitor = Counted { view: view.clone(), faults, until };
    catalogue::visit_election(entry, &seating(&view), visitor).unwrap()
}

#[test]
fn a_lone_candidate_of_chubby_costs_what_the_catalogue_says() {
    for n in [2, 3, 5, 9] {
        let others = u64::from(n) - 1;
        let (sent, last) = count("chubby", n, FaultPlan::default(), None);
        for kind in ["vote-request", "vote", "announcement"] {
            assert_eq!(sent[kind], others, "{kind} with {n}");
        }
        assert!(!sent.contains_key("refusal"));
        assert_eq!(last, Time::delays(3));
        // The first renewal is sent 2 + 5 after the call, and each next one 5 later.
        let (sent, last) = count("chubby", n, FaultPlan::default(), Some(Time::delays(100)));
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
            let (sent, last) = count(name, n, FaultPlan::default(), None);
            for kind in ["new-leader", "ack", "commit"] {
                assert_eq!(sent[kind], others, "{name}: {kind} with {n}");
            }
            assert_eq!(last, Time::delays(2 + 3), "{name} with {n}");

            let crash = Crash { process: ProcessId(1), at: Time::delays(50) };
            let faults = FaultPlan { crashes: vec![crash], ..FaultPlan::default() };
            let (sent, _) = count(name, n, faults, Some(Time::delays(150)));
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

impl ElectionVisitor for Edge {
    type Output = Result<Tally, String>;

    fn visit<P: Election<Message: Portable>>(
        self,
        entry: &'static Entry,
        config: P::Config,
    ) -> Self::Output {
        let Self { view, seed } = self;
        let stream = &mut Stream::new(seed, "edge");
        let from = stream.between(Time::delays(5), Time::delays(30));
        let until = from + Time::delays(60);
        let ids = |ids: &[u32]| ids.iter().copied().map(ProcessId).collect();
        let cut = Partition { left: ids(&[1]), right: ids(&[2, 3]), one_way: false, from, until };
        let drifts = ["1=0.955", "2=1.05", "3=1.05"].map(|text| text.parse().unwrap());
        let partitions = vec![cut];
        let faults = FaultPlan { partitions, drifts: drifts.into(), ..FaultPlan::default() };
        let network = Network::Uniform { low: Time(1_000), high: Time(200_000) };
        let case = Case { view, network, order: ChannelOrder::Any, faults, settles: true };
        let mut calls = vec![(Seat(0), Time::ZERO)];
        for tenth in 0..600 {
            let at = from + Time(tenth * Time::DELAY.0 / 10);
            calls.push((Seat(1), at));
        }
        let setup = Setup::<P> {
            network,
            order: case.order,
            faults: &case.faults,
            seed,
            recording: Recording::Everything,
            check_invariants: true,
            ..Setup::new(&case.view, &config)
        };
        let inner = Restless::new(entry, &case, seed);
        let lone = Lone { inner, calls, until: Some(until) };
        let outcome = simulate(&setup, lone, &mut |_| {});
        check(&outcome.records, case.view.len(), true)
    }
}

#[test]
fn chubby_has_one_master_at_a_time_with_clocks_as_far_apart_as_is_allowed() {
    let entry = catalogue::find("chubby").unwrap();
    let mut leaders = 0;
    for seed in 1..=seeds(200) {
        let view = View::dense(1, 3);
        let edge = Edge { view: view.clone(), seed };
        let tally = catalogue::visit_election(entry, &seating(&view), edge).unwrap();
        leaders += tally.unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}")).leaders;
    }
    assert!(leaders > seeds(200) + seeds(200) / 4, "another one is elected: {leaders}");
}
