//! What a search makes of time: a deadline that is due comes first, and clocks there are none.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use conclave_check::system::{Bounds, Channels, Deed, Enters, Faults, Setup, TimeModel};
use conclave_check::{Budget, Fairness, Fingerprint, Options, Refusal, check, whole_graph};
use conclave_core::mutex::{Command, LIVENESS, Locks, Notice};
use conclave_core::{
    Effects, Fence, Input, Kind, KindIndex, Message, NoWord, ProcessId, Protocol, Seat, Start, View,
};

const TICK: Duration = Duration::from_millis(1);
const SYNC: TimeModel = TimeModel::Sync { bound: 1, tick: TICK };

const OPTIONS: Options = Options {
    threads: 1,
    budget: Budget { states: 100_000, bytes: 1 << 30 },
    is_exact: true,
    liveness: false,
    fairness: Fairness::ALL,
};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Letter;

impl Message for Letter {
    const KINDS: &'static [Kind] = &[Kind::enter("letter")];

    fn kind(&self) -> KindIndex {
        0
    }
}

/// Process 1 has a lease. As that ends a bell rings, the other writes, and somebody wants in.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Tenant;

/// How the end of a lease comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lease {
    Deadline,
    Timer,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Timer {
    Bell,
    Lease,
    /// The other writes, after so many ticks.
    Write(u32),
}

impl Protocol for Tenant {
    type Family = Locks;
    type Config = Lease;
    type Message = Letter;
    type Timer = Timer;
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
        if start.me == ProcessId(1) {
            out.set_timer(Timer::Bell, 2 * TICK);
            match start.config {
                Lease::Deadline => out.set_deadline(Timer::Lease, 2 * TICK),
                Lease::Timer => out.set_timer(Timer::Lease, 2 * TICK),
            }
        } else {
            for ticks in [1, 2] {
                out.set_timer(Timer::Write(ticks), ticks * TICK);
            }
        }
        Self
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Command(Command::Enter) => out.notify(Notice::Entered { fence: Fence(1) }),
            Input::Command(Command::Leave) => out.notify(Notice::Left),
            Input::Timer(Timer::Write(_)) => out.send(ProcessId(1), Letter),
            _ => {}
        }
    }
}

fn setup<'a, P: Protocol>(
    view: &'a View,
    configs: &'a [P::Config],
    time: TimeModel,
) -> Setup<'a, P, Enters> {
    Setup {
        vocabulary: &conclave_observe::family::locks::VOCABULARY,
        view,
        configs,
        promises: LIVENESS,
        openings: &[],
        client: Enters { clients: vec![Seat(0)], requests: 1, holder: None },
        channels: Channels::Fifo,
        time,
        faults: Faults { crashes: 1, ..Faults::default() },
        check_invariants: false,
        tamper: None,
        tells_renewals: false,
        passes_over_stalls: true,
        crash_loses: false,
        expected_kinds: 0,
        bounds: Bounds::default(),
        interchangeable: Vec::new(),
    }
}

/// What can happen to the tenant where its lease can end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Beside {
    asks: bool,
    arrives: bool,
    bell: bool,
    tick: bool,
    crashes: bool,
}

fn beside_the_end_of_a(lease: Lease, time: TimeModel) -> Beside {
    let (view, leases) = (View::dense(1, 2), [lease; 2]);
    let setup = setup::<Tenant>(&view, &leases, time);
    let graph = whole_graph(&setup, &OPTIONS, &mut |_| ControlFlow::Continue(())).unwrap();
    let mut by_state: BTreeMap<usize, Vec<Deed>> = BTreeMap::new();
    for (from, step, _) in graph.iter() {
        by_state.entry(from).or_default().push(step.into());
    }
    let low = |print: Fingerprint| u16::try_from(print.0 & 0xffff).unwrap();
    let ends = |timer| Deed::RunsOut { seat: Seat(0), tag: low(Fingerprint::of(&(timer, false))) };
    let mut beside = Beside::default();
    let is_over = |deeds: &&Vec<Deed>| deeds.contains(&ends(Timer::Lease));
    assert!(by_state.values().filter(is_over).count() > 2, "it ends in several ways");
    for &deed in by_state.values().filter(is_over).flatten() {
        match deed {
            Deed::Asks(Seat(0)) | Deed::Leaves(Seat(0)) => beside.asks = true,
            Deed::Arrives { to: Seat(0), .. } => beside.arrives = true,
            Deed::Tick => beside.tick = true,
            Deed::Crashes(Seat(0)) => beside.crashes = true,
            _ => beside.bell |= deed == ends(Timer::Bell),
        }
    }
    beside
}

#[test]
fn where_time_is_counted_nothing_but_a_fault_comes_before_a_deadline_that_is_due() {
    let nothing = Beside { crashes: true, ..Beside::default() };
    assert_eq!(beside_the_end_of_a(Lease::Deadline, SYNC), nothing);
}

#[test]
fn a_timer_lets_others_come_first() {
    let others = Beside { asks: true, arrives: true, bell: true, tick: false, crashes: true };
    assert_eq!(beside_the_end_of_a(Lease::Timer, SYNC), others);
}

#[test]
fn where_time_is_not_counted_no_deadline_is_due() {
    let all = Beside { asks: true, arrives: true, bell: true, tick: false, crashes: true };
    for lease in [Lease::Deadline, Lease::Timer] {
        assert_eq!(beside_the_end_of_a(lease, TimeModel::Async), all);
    }
}

/// Wants to know what its clock shows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Watchful;

impl Protocol for Watchful {
    type Family = Locks;
    type Config = ();
    type Message = Letter;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    const READS_CLOCK: bool = true;

    fn start(_: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        Self
    }

    fn on(&mut self, _: Input<Self>, _: &mut Effects<Self>) {}
}

#[test]
fn who_reads_a_clock_is_refused_and_told_why() {
    let view = View::dense(1, 2);
    for time in [TimeModel::Async, SYNC] {
        let setup = setup::<Watchful>(&view, &[(); 2], time);
        let refused = check(&setup, &OPTIONS, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert_eq!(refused, Refusal::ReadsClock);
        let why = "its processes read their clocks, and a search has none to show them";
        assert_eq!(refused.to_string(), why);
    }
}
