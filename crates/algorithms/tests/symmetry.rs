//! Searches up to renaming find what searches by name find, in fewer states: one of each class of
//! those that differ in nothing but names. How many classes there are is counted here without any
//! `renamed`, from the steps between all states alone.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use conclave_algorithms::catalogue::{self, Entry, Listed, SERVER, Seating, Timing, Visitor};
use conclave_algorithms::detector::{Heartbeat, heartbeat};
use conclave_algorithms::election::{Chubby, ZooKeeper, chubby, zookeeper};
use conclave_algorithms::mutex::{Central, central};
use conclave_algorithms::quorum::Construction;
use conclave_check::system::{
    Asymmetry, Bounds, Calls, Channels, Deed, Enters, Faults, Flaw, Listens, Setup, Steps, System,
    TimeModel, Users,
};
use conclave_check::{
    Budget, Conclusion, Counterexample, Fairness, Finding, Fingerprint, Options, Refusal, Step,
    check, graph,
};
use conclave_core::detector::Detectors;
use conclave_core::election::Elections;
use conclave_core::mutex::{Locks, Opening};
use conclave_core::process::Processes;
use conclave_core::{Input, ProcessId, Promises, Protocol, Renaming, Seat, Symmetry, View};
use conclave_observe::family::locks;
use conclave_observe::trace::{Header, Trace};
use conclave_observe::{JudgeOrdering, Observed, Spoken, Verdict};
use conclave_sim::{Clocks, Replay, replay};
use conclave_testkit::mutant::{Hands, Mutant, Tamper, forgets};

const TICK: Duration = Duration::from_millis(1);

const OPTIONS: Options = Options {
    threads: 2,
    budget: Budget { states: 20_000_000, bytes: 4 << 30 },
    is_exact: true,
    liveness: false,
    fairness: Fairness::ALL,
};

/// No faults, no time, and all states told apart.
fn setup<'a, P: Observed, C>(
    view: &'a View,
    configs: &'a [P::Config],
    promises: Promises,
    client: C,
) -> Setup<'a, P, C> {
    Setup {
        vocabulary: P::Family::VOCABULARY,
        view,
        configs,
        promises,
        openings: &[],
        client,
        channels: Channels::Fifo,
        time: TimeModel::Async,
        faults: Faults::default(),
        check_invariants: true,
        expected_kinds: 0,
        bounds: Bounds::default(),
        interchangeable: Vec::new(),
        tamper: None,
        tells_renewals: false,
        passes_over_stalls: false,
        crash_loses: false,
    }
}

fn seats(from: usize, view: &View) -> Vec<Seat> {
    (from..view.len()).map(Seat::at).collect()
}

fn run<P, C>(setup: &Setup<'_, P, C>) -> Result<Finding, Refusal>
where
    P: Observed,
    C: Users<P::Family>,
{
    check(setup, &OPTIONS, &mut |_| ControlFlow::Continue(()))
}

/// The same, up to renaming of those seats.
fn reduced<'a, P: Protocol, C: Clone>(
    setup: &Setup<'a, P, C>,
    interchangeable: &[Seat],
) -> Setup<'a, P, C> {
    Setup { interchangeable: interchangeable.to_vec(), ..setup.clone() }
}

/// What a step is called after a renaming; `timer` is what is named after somebody.
fn renamed<T: std::hash::Hash>(
    step: Step,
    names: &Renaming,
    view: &View,
    timer: Option<fn(ProcessId) -> T>,
) -> Step {
    let seat = |seat| names.seat(seat);
    let of_timer = |tag: u16| {
        let low = |print: Fingerprint| u16::try_from(print.0 & 0xffff).unwrap();
        let tag_of = |id| timer.map(|timer| low(Fingerprint::of(&(timer(id), false))));
        let whose = view.members().iter().find(|id| tag_of(**id) == Some(tag));
        whose.and_then(|id| tag_of(names.id(*id))).unwrap_or(tag)
    };
    Step::from(match Deed::from(step) {
        Deed::Asks(who) => Deed::Asks(seat(who)),
        Deed::Leaves(who) => Deed::Leaves(seat(who)),
        Deed::Arrives { from, to, tag } => Deed::Arrives { from: seat(from), to: seat(to), tag },
        Deed::RunsOut { seat: who, tag } => Deed::RunsOut { seat: seat(who), tag: of_timer(tag) },
        Deed::Tick => Deed::Tick,
        Deed::Crashes(who) => Deed::Crashes(seat(who)),
        Deed::Returns(who) => Deed::Returns(seat(who)),
        Deed::IsLost { from, to, tag } => Deed::IsLost { from: seat(from), to: seat(to), tag },
        Deed::IsDoubled { from, to, tag } => {
            Deed::IsDoubled { from: seat(from), to: seat(to), tag }
        }
    })
}

/// How many states there are up to renaming: two states are called alike if the same steps, but
/// for the names in them, lead there from the first.
fn classes<P, C>(
    setup: &Setup<'_, P, C>,
    seats: &[Seat],
    timer: Option<fn(ProcessId) -> P::Timer>,
) -> usize
where
    P: Observed,
    C: Users<P::Family>,
{
    let graph = graph(setup, &OPTIONS);
    let states = usize::try_from(graph.explored().progress.distinct).unwrap();
    let mut steps: Vec<BTreeMap<Step, usize>> = vec![BTreeMap::new(); states];
    for (from, step, to) in graph.iter() {
        steps[from].insert(step, to);
    }
    // The smallest number of all that it can be called.
    let mut least: Vec<usize> = (0..states).collect();
    for names in Renaming::all(setup.view, seats) {
        let mut twins = vec![usize::MAX; states];
        twins[0] = 0;
        let mut open = vec![0];
        while let Some(state) = open.pop() {
            let twin = twins[state];
            assert_eq!(steps[state].len(), steps[twin].len(), "as much can happen");
            for (&step, &to) in &steps[state] {
                let step = renamed(step, &names, setup.view, timer);
                let to_twin = steps[twin][&step];
                if twins[to] == usize::MAX {
                    twins[to] = to_twin;
                    open.push(to);
                }
                assert_eq!(twins[to], to_twin, "it is called one thing, whatever led there");
            }
        }
        for (least, twin) in least.iter_mut().zip(twins) {
            *least = (*least).min(twin);
        }
    }
    least.iter().enumerate().filter(|(state, least)| *state == **least).count()
}

/// The same verdict, and one state of each class.
#[track_caller]
fn assert_reduced<P, C>(
    setup: &Setup<'_, P, C>,
    seats: &[Seat],
    timer: Option<fn(ProcessId) -> P::Timer>,
) where
    P: Observed,
    C: Users<P::Family> + Clone,
{
    let full = run(setup).unwrap();
    let fewer = run(&reduced(setup, seats)).unwrap();
    assert_eq!(full.verdict, fewer.verdict);
    assert_eq!(full.progress.depth, fewer.progress.depth);
    let seen = |finding: &Finding| {
        let seen = finding.premises.iter().filter(|(_, count)| *count > 0);
        seen.map(|(premise, _)| *premise).collect::<Vec<_>>()
    };
    assert_eq!(seen(&full), seen(&fewer));
    assert_eq!(fewer.progress.distinct, classes(setup, seats, timer) as u64);
}

fn enters(view: &View, requests: u8) -> Enters {
    Enters { clients: seats(1, view), requests, holder: None }
}

fn seating(view: &View) -> Seating<'_> {
    Seating { view, construction: Construction::Majority, own_sets: None, timing: Timing::of(TICK) }
}

/// A coordinator, and its clients.
fn office(view: &View, answers: central::Answers) -> Vec<central::Config> {
    let client = central::Config::Client(SERVER);
    seating(view).roles(central::Config::Coordinator(answers), client)
}

#[test]
fn clients_of_a_central_server_are_interchangeable() {
    for answers in [central::Answers::Grants, central::Answers::GrantsAndPositions] {
        for (n, requests) in [(2, 2), (3, 1), (3, 2), (4, 1)] {
            let view = View::dense(0, n + 1);
            let (configs, clients) = (office(&view, answers), enters(&view, requests));
            let mut setup = setup::<Central, _>(&view, &configs, central::PLAIN.promises, clients);
            assert_reduced(&setup, &seats(1, &view), None);
            if requests == 1 {
                setup.channels = Channels::Unordered;
                setup.faults = Faults { crashes: 1, ..Faults::default() };
                assert_reduced(&setup, &seats(1, &view), None);
            }
        }
    }
}

#[test]
fn all_who_beat_are_interchangeable() {
    for (n, crashes, returns) in [(2, 1, 1), (3, 1, 0)] {
        let view = View::dense(1, n);
        let configs = vec![heartbeat::Config { beat: 2 * TICK, bound: TICK }; view.len()];
        let mut setup = setup::<Heartbeat, _>(&view, &configs, Promises::NONE, Listens);
        setup.time = TimeModel::Sync { bound: 1, tick: TICK };
        setup.faults = Faults { crashes, returns, ..Faults::default() };
        assert_reduced(&setup, &seats(0, &view), Some(heartbeat::Timer::Silence));
    }
}

#[test]
fn servers_that_vote_are_interchangeable() {
    for (n, timeouts, crashes) in [(2, 2, 1), (3, 1, 0)] {
        let view = View::dense(1, n);
        let configs = vec![chubby::Config { lease: 20 * TICK }; view.len()];
        let calls = Calls { callers: seats(0, &view), calls: 1 };
        let mut setup = setup::<Chubby, _>(&view, &configs, chubby::ENTRY.promises, calls);
        setup.bounds = Bounds { terms: Some(2), timeouts: Some(timeouts) };
        setup.faults = Faults { crashes, returns: crashes, ..Faults::default() };
        assert_reduced(&setup, &seats(0, &view), None);
    }
}

#[test]
fn candidates_in_line_are_interchangeable() {
    for (n, timeouts, crashes) in [(2, 2, 1), (3, 0, 0)] {
        let view = View::dense(0, n + 1);
        let (session, watch) = (30 * TICK, zookeeper::Watch::NextLower);
        let config = |part| zookeeper::Config { part, session, watch };
        let (store, candidate) = (zookeeper::Part::Store, zookeeper::Part::Candidate(SERVER));
        let configs = seating(&view).roles(config(store), config(candidate));
        let calls = Calls { callers: seats(1, &view), calls: 0 };
        let mut setup = setup::<ZooKeeper, _>(&view, &configs, zookeeper::PLAIN.promises, calls);
        setup.bounds = Bounds { terms: Some(2), timeouts: Some(timeouts) };
        setup.faults = Faults { crashes, returns: crashes, ..Faults::default() };
        assert_reduced(&setup, &seats(1, &view), Some(zookeeper::Timer::Session));
    }
}

/// Who took part, what each knew, and what was found by name and up to renaming.
type Found<T> = (View, Vec<(central::Config, Hands<T>)>, [Result<Finding, Refusal>; 2]);

/// Searches a mutant of the central server, by name and up to renaming.
fn find<T: Tamper<Central> + 'static>(n: u32, tamper: T) -> Found<T> {
    let view = View::dense(0, n + 1);
    let office = office(&view, central::Answers::Grants);
    let hands = Hands(tamper);
    let configs: Vec<_> = office.into_iter().map(|config| (config, hands.clone())).collect();
    let clients = enters(&view, 1);
    let promises = central::PLAIN.promises;
    let setup = setup::<Mutant<Central, Hands<T>>, _>(&view, &configs, promises, clients);
    let found = [run(&setup), run(&reduced(&setup, &seats(1, &view)))];
    (view, configs, found)
}

/// A coordinator that forgets whom it granted.
fn forgetful() -> impl Tamper<Central> + 'static {
    use central::Message::Request;
    forgets(|input: &Input<Central>, done: &[_]| {
        matches!(input, Input::Message { message: Request, .. }) && !done.is_empty()
    })
}

#[test]
fn two_holders_are_found_up_to_renaming_by_a_way_that_real_processes_go() {
    for n in [2, 3, 4] {
        let (view, configs, found) = find(n, forgetful());
        let found = found.map(Result::unwrap);
        let flaw = Flaw::Breach(locks::TWO_HOLDERS);
        assert!(found.iter().all(|it| it.verdict == Conclusion::Refuted(flaw)));
        let ways = found.map(|it| it.counterexample.unwrap());
        assert_eq!(ways[0].steps, ways[1].steps, "no way is longer for being found by fewer");
        for Counterexample { told, .. } in ways {
            let header = Header {
                algorithm: "central".into(),
                seed: 0,
                network: "async".into(),
                members: view.members().to_vec(),
                kinds: central::PLAIN.kinds.iter().copied().map(Into::into).collect(),
                vocabulary: &locks::VOCABULARY,
                promises: central::PLAIN.promises,
                options: Vec::new(),
                repeats_from: None,
                is_stuck: false,
                starts: vec![],
            };
            let again = Replay::<Mutant<Central, _>> {
                view: &view,
                configs: &configs,
                openings: &[],
                tamper: None,
                clocks: Clocks::Absent,
                ordering: JudgeOrdering::No,
                show: None,
            };
            let outcome = replay(&again, &Trace { header, records: told.records }).unwrap();
            assert_eq!(outcome.report.verdict, Verdict::Violated);
        }
    }
}

/// A coordinator whose renaming leaves whom it knows by their old names.
#[derive(Clone)]
struct KeepsOldNames;

impl Tamper<Central> for KeepsOldNames {
    fn renamed(&self, process: &Central, _: &dyn Symmetry<Central>, _: &Renaming) -> Central {
        process.clone()
    }
}

#[test]
fn a_renaming_that_forgets_somebody_ends_the_search() {
    let (_, _, [full, up_to_renaming]) = find(2, KeepsOldNames);
    assert_eq!(full.unwrap().verdict, Conclusion::Proved);
    assert_eq!(up_to_renaming.unwrap_err(), Asymmetry::Rule.into());
}

/// A coordinator that never hears one of its clients ask: a rule that looks at names.
#[derive(Clone)]
struct IsDeafToOne;

impl Tamper<Central> for IsDeafToOne {
    fn on(
        &self,
        process: &mut Central,
        input: Input<Central>,
        out: &mut conclave_core::Effects<Central>,
    ) {
        let is_unwelcome = matches!(&input, Input::Message { from, message }
            if *message == central::Message::Request && *from == ProcessId(2));
        if !is_unwelcome {
            process.on(input, out);
        }
    }
}

#[test]
fn a_rule_that_looks_at_names_ends_the_search() {
    let (_, _, [_, up_to_renaming]) = find(2, IsDeafToOne);
    assert_eq!(up_to_renaming.unwrap_err(), Asymmetry::Rule.into());
}

#[test]
fn who_is_in_from_the_start_cannot_be_renamed() {
    let view = View::dense(0, 3);
    let configs = office(&view, central::Answers::Grants);
    let clients = Enters { holder: Some(Seat(1)), ..enters(&view, 1) };
    let mut setup = setup::<Central, _>(&view, &configs, central::PLAIN.promises, clients);
    let held = vec![Opening { holder: Some(ProcessId(1)), ..Opening::default() }; view.len()];
    setup.openings = &held;
    assert_eq!(run(&setup).unwrap().verdict, Conclusion::Proved);
    assert_eq!(run(&reduced(&setup, &seats(1, &view))).unwrap_err(), Asymmetry::Start.into());
    setup.openings = &[];
    setup.client.holder = None;
    let with_coordinator = reduced(&setup, &seats(0, &view));
    assert_eq!(run(&with_coordinator).unwrap_err(), Asymmetry::Start.into());
}

#[test]
fn what_happens_at_last_is_not_judged_up_to_renaming() {
    let view = View::dense(0, 3);
    let configs = office(&view, central::Answers::Grants);
    let clients = enters(&view, 1);
    let setup = setup::<Central, _>(&view, &configs, central::PLAIN.promises, clients);
    let setup = reduced(&setup, &seats(1, &view));
    let options = Options { liveness: true, ..OPTIONS };
    let refused = check(&setup, &options, &mut |_| ControlFlow::Continue(()));
    assert_eq!(refused.unwrap_err(), Asymmetry::Liveness.into());
}

/// A family, and who uses it once.
trait Used: Spoken {
    type Users: Users<Self> + Clone;

    fn client(clients: Vec<Seat>) -> Self::Users;
}

impl Used for Locks {
    type Users = Enters;

    fn client(clients: Vec<Seat>) -> Enters {
        Enters { clients, requests: 1, holder: None }
    }
}

impl Used for Elections {
    type Users = Calls;

    fn client(callers: Vec<Seat>) -> Calls {
        Calls { callers, calls: 1 }
    }
}

impl Used for Detectors {
    type Users = Listens;

    fn client(_: Vec<Seat>) -> Listens {
        Listens
    }
}

impl Used for Processes {
    type Users = Steps;

    fn client(askers: Vec<Seat>) -> Steps {
        let members = u32::try_from(askers.len()).unwrap();
        Steps { view: View::dense(1, members), askers, steps: 1 }
    }
}

/// Why it is refused before a search, if it is.
struct Refused<'a>(&'a View);

impl<F: Used> Visitor<F> for Refused<'_> {
    type Output = Option<Refusal>;

    fn visit<P>(self, entry: &'static Entry, configs: Vec<P::Config>) -> Option<Refusal>
    where
        P: Listed<Family = F>,
    {
        let clients = entry.clients(self.0);
        let client = F::client(clients.clone());
        let setup = setup::<P, _>(self.0, &configs, entry.promises, client);
        let setup = reduced(&setup, &clients);
        match P::READS_CLOCK {
            true => run(&setup).err(),
            false => System::reduced(&setup).err().map(Refusal::from),
        }
    }
}

#[test]
fn whose_names_mean_something_is_refused_before_a_search() {
    let mut interchangeable = Vec::new();
    for entry in catalogue::all() {
        let view = entry.view_of(&View::dense(1, 3)).unwrap();
        match catalogue::visit(entry, &seating(&view), Refused(&view)).unwrap() {
            None => interchangeable.push(entry.name),
            // Whatever names mean to it.
            Some(Refusal::ReadsClock) => assert_eq!(entry.name, "phi"),
            refusal => assert_eq!(refusal, Some(Asymmetry::Names.into()), "{}", entry.name),
        }
    }
    let expected =
        ["central", "central-queued", "chubby", "zookeeper", "zookeeper-herd", "heartbeat"];
    assert_eq!(interchangeable, expected);
}
