//! The search against a plain model of the same systems, searched by stateright: both must find
//! as many states, as deep, by as many steps, and what is wrong as near.
//!
//! `cargo test -p conclave-algorithms --test oracle -- --nocapture` shows the counts.

mod plain;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use conclave_algorithms::catalogue::{self, Bounds, Entry, Listed, Seating, Timing, Visitor};
use conclave_algorithms::quorum::Construction;
use conclave_check::system::{
    self, Ask, Calls, Channels, Enters, Faults, Listens, Premise, Setup, Steps, TimeModel, Users,
};
use conclave_check::{Budget, Conclusion, Fairness, Finding, Options, check};
use conclave_core::detector::Detectors;
use conclave_core::election::Elections;
use conclave_core::mutex::Locks;
use conclave_core::process::Processes;
use conclave_core::{Family, Message, Seat, View};
use conclave_observe::family::elections::{ElectionMemory, ElectionPanel};
use conclave_observe::family::locks::{LockMemory, LockPanel};
use conclave_observe::family::{detectors, elections, locks, processes};
use conclave_observe::property::{
    Agreement, Fences, LargestId, MutualExclusion, OneAtATime, OnePerTerm, Suspicions,
    WrongSuspicion,
};
use conclave_observe::{
    AnyMemory, Breach, Brief, Ending, Event, Judge, JudgeOrdering, Memory, Observed, Report,
    Spoken, Time, Vocabulary, What,
};
use conclave_sim::Stream;
use plain::{
    Account, Application, Caller, Enterer, Flaw, Listener, Place, Plain, Seen, Sight, Stepper,
    Wanted,
};
use stateright::{Checker, HasDiscoveries, Model};

const TICK: Duration = Duration::from_millis(1);

/// More are left out: a plain model takes its time.
const STATES_MAX: u64 = 25_000;

/// What is compared.
#[derive(Clone, Copy, Debug)]
struct Case {
    bounds: Bounds,
    losses: u8,
    duplications: u8,
    /// Whether the algorithm is held to its promises. Otherwise nothing is ever wrong, so that the
    /// search does not end before all that faults can do is seen.
    is_judged: bool,
}

impl Case {
    const fn of(bounds: Bounds) -> Self {
        Self { bounds, losses: 0, duplications: 0, is_judged: true }
    }

    fn words(&self) -> String {
        let Bounds { n, requests, sync, .. } = self.bounds;
        let Faults { crashes, returns, losses, duplications } = self.faults();
        let order = if self.bounds.is_unordered { "unordered" } else { "fifo" };
        let time = sync.map_or("async".into(), |bound| format!("sync:{bound}"));
        let judged = if self.is_judged { "judged" } else { "explored" };
        format!(
            "n={n} requests={requests} {time:<6} {order:<9} crashes={crashes} returns={returns} \
             losses={losses} duplications={duplications} {judged:<8}"
        )
    }

    fn faults(&self) -> Faults {
        let Bounds { crashes, returns, .. } = self.bounds;
        Faults { crashes, returns, losses: self.losses, duplications: self.duplications }
    }

    fn time(&self) -> TimeModel {
        let sync = |bound| TimeModel::Sync { bound, tick: TICK };
        self.bounds.sync.map_or(TimeModel::Async, sync)
    }

    fn channels(&self) -> Channels {
        if self.bounds.is_unordered { Channels::Unordered } else { Channels::Fifo }
    }

    fn limits(&self) -> system::Bounds {
        system::Bounds { terms: self.bounds.terms, timeouts: self.bounds.timeouts }
    }

    /// Who watches: where nothing is to be wrong, one who sees nothing.
    fn vocabulary<F: Searched>(&self) -> &'static Vocabulary {
        if self.is_judged { F::VOCABULARY } else { F::UNWATCHED }
    }

    /// Does something with the systems of an algorithm in this case.
    fn with<D: Deed>(self, entry: &'static Entry, deed: D) -> D::Output {
        let view = entry.view_of(&View::dense(1, self.bounds.n)).unwrap();
        let bound = u32::from(self.bounds.sync.unwrap_or(1)) * TICK;
        let beat = self.bounds.beat.map(|ticks| u32::from(ticks) * TICK);
        // Of which a third and a fourth are whole ticks.
        let session = Some(12 * bound);
        let timing = Timing { beat, session, ..Timing::of(bound) };
        let seating =
            Seating { view: &view, construction: Construction::Grid, own_sets: None, timing };
        let visit = Visit { case: self, view: view.clone(), deed };
        catalogue::visit(entry, &seating, visit).unwrap()
    }
}

/// Something to be done with a system of whatever algorithm.
trait Deed {
    type Output;

    fn with<P, C, A>(self, case: Case, client: C, plain: Plain<P, A>) -> Self::Output
    where
        P: Observed,
        C: Users<P::Family> + Clone,
        A: Application<P::Family>;
}

struct Visit<D> {
    case: Case,
    view: View,
    deed: D,
}

/// Sees nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Blind;

impl Memory for Blind {
    fn on(&mut self, _: Seat, _: What) {}

    fn broken(&self) -> Option<Breach> {
        None
    }
}

fn nobody(_: &Brief<'_>) -> Box<dyn AnyMemory> {
    Box::new(Blind)
}

/// A family whose protocols both searches can search.
trait Searched: Spoken {
    /// Who uses it in the search.
    type Users: Users<Self> + Clone;
    /// Who does so in the plain model.
    type Application: Application<Self>;

    /// The same words, and nobody who looks at what is said.
    const UNWATCHED: &'static Vocabulary;

    /// Each of these asks so often.
    fn client(view: &View, clients: Vec<Seat>, asks: u8) -> Self::Users;

    /// Asks so often.
    fn application(view: &View, seat: Seat, asks: u8) -> Self::Application;
}

impl Searched for Locks {
    type Users = Enters;
    type Application = Enterer;

    const UNWATCHED: &'static Vocabulary = &Vocabulary { memory: nobody, ..locks::VOCABULARY };

    fn client(_: &View, clients: Vec<Seat>, requests: u8) -> Enters {
        Enters { clients, requests, holder: None }
    }

    fn application(_: &View, _: Seat, left: u8) -> Enterer {
        Enterer { left, place: Place::Outside }
    }
}

impl Searched for Elections {
    type Users = Calls;
    type Application = Caller;

    const UNWATCHED: &'static Vocabulary = &Vocabulary { memory: nobody, ..elections::VOCABULARY };

    fn client(_: &View, callers: Vec<Seat>, calls: u8) -> Calls {
        Calls { callers, calls }
    }

    fn application(_: &View, _: Seat, calls: u8) -> Caller {
        Caller(calls)
    }
}

impl Searched for Detectors {
    type Users = Listens;
    type Application = Listener;

    const UNWATCHED: &'static Vocabulary = &Vocabulary { memory: nobody, ..detectors::VOCABULARY };

    fn client(_: &View, _: Vec<Seat>, _: u8) -> Listens {
        Listens
    }

    fn application(_: &View, _: Seat, _: u8) -> Listener {
        Listener
    }
}

impl Searched for Processes {
    type Users = Steps;
    type Application = Stepper;

    const UNWATCHED: &'static Vocabulary = &Vocabulary { memory: nobody, ..processes::VOCABULARY };

    fn client(view: &View, askers: Vec<Seat>, steps: u8) -> Steps {
        Steps { view: view.clone(), askers, steps }
    }

    fn application(view: &View, seat: Seat, left: u8) -> Stepper {
        let others = (1..view.len()).map(|ahead| (seat.index() + ahead) % view.len());
        Stepper { others: others.map(|other| view.at(Seat::at(other))).collect(), left, taken: 0 }
    }
}

impl<F: Searched, D: Deed> Visitor<F> for Visit<D> {
    type Output = D::Output;

    fn visit<P>(self, entry: &'static Entry, configs: Vec<P::Config>) -> D::Output
    where
        P: Listed<Family = F>,
    {
        let (case, asks) = (self.case, self.case.bounds.requests);
        let clients = entry.clients(&self.view);
        let asks_of = |seat| if clients.contains(&seat) { asks } else { 0 };
        let seats = (0..self.view.len()).map(Seat::at);
        let applications = seats.map(|seat| F::application(&self.view, seat, asks_of(seat)));
        let applications = applications.collect();
        let client = F::client(&self.view, clients.clone(), asks);
        let plain = Plain::<P, _> {
            configs,
            vocabulary: case.vocabulary::<F>(),
            promises: entry.promises,
            applications,
            channels: case.channels(),
            time: case.time(),
            faults: case.faults(),
            bounds: case.limits(),
            is_judged: case.is_judged,
            wanted: Wanted::Nothing,
            seen: Arc::new(Seen::default()),
            view: self.view,
        };
        self.deed.with(case, client, plain)
    }
}

/// An application that does what another does, and waits for nothing if it is silent.
#[derive(Clone)]
struct Hushed<C> {
    client: C,
    is_silent: bool,
}

impl<F: Family, C: Users<F>> Users<F> for Hushed<C> {
    type State = C::State;

    fn first(&self, seat: Seat) -> C::State {
        self.client.first(seat)
    }

    fn asks(&self, state: &C::State) -> Option<Ask<F::Command>> {
        self.client.asks(state)
    }

    fn asked(&self, state: &mut C::State) {
        self.client.asked(state);
    }

    fn told(&self, state: &mut C::State, notice: &F::Notice) {
        self.client.told(state, notice);
    }

    fn crashed(&self, state: &mut C::State) {
        self.client.crashed(state);
    }

    fn waits(&self, state: &C::State) -> bool {
        !self.is_silent && self.client.waits(state)
    }

    fn is_done(&self, state: &C::State) -> bool {
        self.client.is_done(state)
    }
}

/// What both searches found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    /// All states: how many, how deep, by how many steps.
    All { states: u64, depth: u64, generated: u64 },
    /// Something wrong, so many steps away.
    Wrong(Flaw, usize),
    /// More states than are worth it.
    TooMany,
}

/// Lets both search, and compares.
struct Compare {
    states_max: u64,
}

impl Deed for Compare {
    type Output = Found;

    fn with<P, C, A>(self, case: Case, client: C, plain: Plain<P, A>) -> Found
    where
        P: Observed,
        C: Users<P::Family> + Clone,
        A: Application<P::Family>,
    {
        let (view, configs) = (plain.view.clone(), plain.configs.clone());
        let setup = Setup::<P, _> {
            vocabulary: plain.vocabulary,
            interchangeable: Vec::new(),
            tamper: None,
            tells_renewals: false,
            passes_over_stalls: false,
            crash_loses: false,
            view: &view,
            configs: &configs,
            promises: plain.promises,
            openings: &[],
            client: Hushed { client, is_silent: !case.is_judged },
            channels: plain.channels,
            time: plain.time,
            faults: plain.faults,
            check_invariants: case.is_judged,
            expected_kinds: 0,
            bounds: plain.bounds,
        };
        let first = search(&setup, self.states_max, 1, false, false);
        let found = found(&first);
        for (threads, liveness, is_exact) in
            [(1, true, false), (2, false, false), (2, true, false), (2, false, true)]
        {
            if found == Found::TooMany {
                return found;
            }
            let other = search(&setup, self.states_max, threads, liveness, is_exact);
            assert_eq!(self::found(&other), found, "{threads} threads, liveness {liveness}");
            // A budget that ends the level of a flaw ends it where the threads happen to be.
            if first.progress.distinct <= self.states_max {
                let same = other.premises == first.premises;
                assert!(same, "{threads} threads, liveness {liveness}: {other:?}, {first:?}");
            }
            assert_eq!(other.collisions, 0);
            if let (Some(steps), Found::All { generated, .. }) = (other.steps, found) {
                // The first state is worked out as well, and no step leads to it.
                assert_eq!(steps, generated - 1);
            }
        }
        match found {
            Found::Wrong(flaw, steps) => {
                let this = Plain { wanted: Wanted::Flaw(flaw), ..plain.clone() };
                assert_eq!(nearest(this), Some(steps), "{flaw:?}");
                let any = Plain { wanted: Wanted::AnyFlaw, ..plain };
                assert_eq!(nearest(any), Some(steps), "something else is wrong and nearer");
            }
            _ => assert_eq!(all_of(plain, &first), found),
        }
        found
    }
}

fn search<P, C>(
    setup: &Setup<'_, P, C>,
    states: u64,
    threads: usize,
    liveness: bool,
    is_exact: bool,
) -> Finding
where
    P: Observed,
    C: Users<P::Family>,
{
    let budget = Budget { states, bytes: 1 << 30 };
    let options = Options { threads, budget, is_exact, liveness, fairness: Fairness::ALL };
    check(setup, &options, &mut |_| ControlFlow::Continue(()))
        .expect("nothing is renamed, and no clock is read")
}

/// What the search found. Who starves is found once all states are, so it changes nothing here.
fn found(finding: &Finding) -> Found {
    let flaw = match finding.verdict {
        Conclusion::Inexact => panic!("all timers are whole numbers of ticks"),
        Conclusion::Budget(_) => return Found::TooMany,
        Conclusion::Refuted(system::Flaw::Breach(breach)) => Some(Flaw::Breach(breach)),
        Conclusion::Refuted(system::Flaw::Deadlock) => Some(Flaw::Deadlock),
        Conclusion::Refuted(system::Flaw::Stalled) => Some(Flaw::Stalled),
        Conclusion::Refuted(system::Flaw::Invariant) => Some(Flaw::Invariant),
        Conclusion::Refuted(system::Flaw::Starved)
        | Conclusion::Proved
        | Conclusion::Vacuous(_) => None,
    };
    if finding.counterexample.as_ref().is_some_and(|it| it.cut.is_some()) {
        return Found::TooMany;
    }
    let steps = finding.counterexample.as_ref().map(|it| it.steps.0);
    match (flaw, steps) {
        (Some(flaw), Some(steps)) => Found::Wrong(flaw, steps),
        _ => {
            let (states, depth) = (finding.progress.distinct, finding.progress.depth);
            Found::All { states, depth, generated: finding.progress.generated }
        }
    }
}

/// How many steps away the nearest state is that is wanted. On one thread, so that it is the
/// nearest.
fn nearest<P, A>(plain: Plain<P, A>) -> Option<usize>
where
    P: Observed,
    A: Application<P::Family>,
{
    let checker = plain.checker().threads(1).finish_when(HasDiscoveries::Any).spawn_bfs().join();
    let path = checker.discoveries().into_values().next()?;
    Some(path.into_states().len() - 1)
}

/// All states, as stateright finds them.
fn all_of<P, A>(plain: Plain<P, A>, finding: &Finding) -> Found
where
    P: Observed,
    A: Application<P::Family>,
{
    let seen = Arc::clone(&plain.seen);
    let is_judged = plain.is_judged;
    let checker = plain.checker().threads(1).spawn_bfs().join();
    let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
    assert_eq!(count(&seen.flawed), 0, "something is wrong that the search did not find");
    assert_eq!(count(&seen.crashed), finding.seen(Premise::Crashed));
    if is_judged {
        assert_eq!(count(&seen.two_wait), finding.seen(Premise::TwoWait));
        assert_eq!(count(&seen.finished), finding.seen(Premise::Finished));
    }
    Found::All {
        states: checker.unique_state_count() as u64,
        depth: checker.max_depth() as u64,
        generated: checker.state_count() as u64,
    }
}

/// The smallest system that is worth it: with ticks where an algorithm needs them, and bounded
/// where it would go on for ever; a store that has timers counts as one of those who take part.
fn base(entry: &Entry, n: u32, requests: u8) -> Bounds {
    let bounds = Bounds::of(n, requests);
    let bounds = if entry.needs.synchrony { bounds.sync(1).beat(2) } else { bounds };
    match entry.searches.iter().any(|search| search.terms.is_some()) {
        true if entry.needs.coordinator => Bounds { n: n - 1, ..bounds.up_to(2, 1) },
        true => bounds.up_to(2, 2),
        false => bounds,
    }
}

/// All that can be searched: the accrual detector reads its clock, so it has no states to count.
fn searched() -> impl Iterator<Item = &'static Entry> {
    catalogue::all().filter(|entry| entry.name != "phi")
}

/// Compares every algorithm in all of these cases, judged and not. The larger ones are left out,
/// but not all of an algorithm.
fn compare(cases: impl Fn(&Entry) -> Vec<Case>) {
    for entry in searched() {
        let mut compared = 0;
        for case in cases(entry) {
            for is_judged in [true, false] {
                let case = Case { is_judged, ..case };
                let found = case.with(entry, Compare { states_max: STATES_MAX });
                println!("{:<24} {} {found:?}", entry.name, case.words());
                compared += u32::from(found != Found::TooMany);
            }
        }
        assert!(compared > 0, "{}: nothing was compared", entry.name);
    }
}

#[test]
fn without_faults_both_searches_find_the_same_states() {
    compare(|entry| {
        let other_time = match entry.needs.synchrony {
            true => Bounds::of(2, 1).up_to(9, 3),
            false => base(entry, 2, 1).sync(1),
        };
        let all = [base(entry, 2, 2), base(entry, 3, 1), base(entry, 2, 1).unordered(), other_time];
        all.map(Case::of).to_vec()
    });
}

#[test]
fn where_processes_die_and_come_back_both_searches_find_the_same_states() {
    compare(|entry| {
        let (two, three) = (base(entry, 2, 1), base(entry, 3, 1));
        let returns = [two.crashes(1).returns(1), two.crashes(2).returns(1)];
        let all = [two.crashes(1), returns[0], returns[1], three.crashes(1)];
        all.map(Case::of).to_vec()
    });
}

#[test]
fn where_messages_are_lost_and_doubled_both_searches_find_the_same_states() {
    compare(|entry| {
        let (two, three) = (Case::of(base(entry, 2, 1)), Case::of(base(entry, 3, 1)));
        let all = Case { losses: 1, duplications: 1, ..two };
        let hasty = Bounds::of(two.bounds.n, 1).up_to(2, 1);
        let bounds = two.bounds.unordered().crashes(1).returns(1);
        vec![
            Case { losses: 1, ..two },
            Case { duplications: 1, ..two },
            Case { bounds, ..all },
            Case { bounds: hasty, ..all },
            Case { losses: 1, ..three },
            Case { duplications: 1, ..three },
        ]
    });
}

/// Walks about by chance, and asks two observers what they saw.
struct Walk {
    walks: u64,
    steps: usize,
}

impl Deed for Walk {
    type Output = BTreeSet<Breach>;

    fn with<P, C, A>(self, _: Case, _: C, plain: Plain<P, A>) -> BTreeSet<Breach>
    where
        P: Observed,
        C: Users<P::Family> + Clone,
        A: Application<P::Family>,
    {
        let mut breaches = BTreeSet::new();
        for seed in 0..self.walks {
            let mut chance = Stream::new(seed, "walk");
            let kinds = P::Message::KINDS;
            let ids = plain.view.members();
            let mut now = Time::ZERO;
            let (promises, ordering) = (plain.promises, JudgeOrdering::No);
            let brief = Brief { ids, promises, ordering };
            let mut judge = Judge::new(plain.vocabulary, kinds, &brief);
            let mut account = Account::new();
            let mut state = plain.first(&mut account);
            for _ in 0..self.steps {
                tell(&mut judge, &mut now, &account);
                let report = judge.clone().finish(Ending::Stopped);
                agree(&*state.watch, &report, plain.time.is_sync());
                breaches.extend(state.watch.broken());
                let mut actions = Vec::new();
                plain.actions(&state, &mut actions);
                let Some(place) = (actions.len() as u64).checked_sub(1) else { break };
                let place = usize::try_from(chance.below(place + 1)).unwrap();
                account.clear();
                state = plain.take(&state, actions[place], &mut account).expect("no bounds");
                // Where time is not counted, every step takes some.
                now = if plain.time.is_sync() { now } else { now + Time::DELAY };
            }
        }
        breaches
    }
}

fn tell(judge: &mut Judge, now: &mut Time, account: &[Sight]) {
    for &sight in account {
        match sight {
            Sight::What(seat, what) => judge.on(&Event { at: *now, seat, what }),
            Sight::Quiet => {
                judge.on_quiet(*now);
            }
            Sight::Tick => {
                *now = *now + Time::DELAY;
                // It knows the time only from what happens.
                judge.on(&Event { at: *now, seat: Seat(0), what: What::TimerFired });
            }
        }
    }
}

/// Both must say the same of all but times.
fn agree(watch: &dyn AnyMemory, report: &Report, is_sync: bool) {
    let (watched, watch) = (watch.broken(), watch.as_any());
    if let (Some(watched), Some(seen)) = (watch.downcast_ref::<LockMemory>(), report.locks()) {
        agree_on_locks(watched, seen);
    } else if let (Some(watched), Some(seen)) = (watch.downcast_ref(), report.elections()) {
        agree_on_elections(watched, seen, is_sync);
    } else if let (Some(watched), Some(seen)) =
        (watch.downcast_ref::<Suspicions>(), report.detection())
    {
        let whom = |it: WrongSuspicion| (it.seat, it.whom);
        assert_eq!(watched.broken().map(whom), seen.first_wrong().map(whom));
        assert_eq!(watched.broken().is_some(), seen.wrong() > 0);
        assert!(watched.missed().eq(seen.missed()));
    } else if let Some(seen) = report.processes() {
        // What happened before what a judge sees by messages, and here it is shown none.
        assert!(seen.clocks.is_some() || watched.is_some() == seen.is_broken());
    } else {
        panic!("they watch different families");
    }
}

fn agree_on_locks(watched: &LockMemory, seen: &LockPanel) {
    let who = |it: &MutualExclusion| it.broken().map(|it| (it.inside, it.entered));
    assert_eq!(who(&watched.exclusion), who(&seen.exclusion));
    assert_eq!(watched.exclusion.holders(), seen.exclusion.holders());
    let which = |it: &Fences| it.broken().map(|it| (it.seat, it.before, it.got));
    assert_eq!(which(&watched.fences), which(&seen.fences));
}

fn agree_on_elections(watched: &ElectionMemory, seen: &ElectionPanel, is_sync: bool) {
    assert!(watched.deciding.iter().eq(seen.deciding.iter()));
    assert!(watched.deciding.beliefs().eq(seen.deciding.beliefs()));
    let whom = |it: &LargestId| it.broken().map(|it| (it.seat, it.leader, it.larger));
    assert_eq!(watched.largest.as_ref().map(whom), seen.largest.as_ref().map(whom));
    let whom = |it: &Agreement| it.broken().map(|it| (it.one, it.other));
    assert_eq!(whom(&watched.agreement), whom(&seen.agreement));
    let whom = |it: &OnePerTerm| it.broken().map(|it| (it.told, it.term, it.first, it.second));
    assert_eq!(whom(&watched.per_term), whom(&seen.per_term));
    // To lead for a moment beside another is no breach, and only ticks are more than that.
    if is_sync {
        let who = |it: &OneAtATime| it.broken().map(|it| (it.first, it.second));
        assert_eq!(watched.one_at_a_time.as_ref().map(who), seen.one_at_a_time.as_ref().map(who));
    }
}

#[test]
fn on_walks_by_chance_the_watch_of_a_search_says_what_the_judge_of_a_run_says() {
    let mut breaches = BTreeSet::new();
    for entry in searched() {
        let faults = Bounds::of(3, 3).crashes(1).returns(1);
        for bounds in [faults, faults.sync(2).beat(3).unordered()] {
            let case = Case { losses: 1, duplications: 1, ..Case::of(bounds) };
            let seen = case.with(entry, Walk { walks: 100, steps: 200 });
            println!("{:<24} {} {seen:?}", entry.name, case.words());
            breaches.extend(seen);
        }
    }
    // Otherwise they would agree on nothing.
    for breach in [locks::TWO_HOLDERS, locks::FENCE_FELL, elections::WRONG_LEADER] {
        assert!(breaches.contains(&breach), "{breach:?} was never seen");
    }
    for breach in [elections::DISAGREEMENT, detectors::WRONG_SUSPICION] {
        assert!(breaches.contains(&breach), "{breach:?} was never seen");
    }
    assert!(breaches.contains(&processes::NOT_LESS), "who comes back has lost its clock");
}
