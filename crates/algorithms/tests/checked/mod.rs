//! Systems within bounds, checked in every interleaving.

#![allow(dead_code, reason = "each test needs another part of it")]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use core::ops::ControlFlow;
use core::time::Duration;

use conclave_algorithms::catalogue::{self, Entry, Listed, Promises, Seating, Timing, Visitor};
use conclave_algorithms::quorum::Construction;
use conclave_check::system::{
    self, Calls, Channels, Enters, Faults, Flaw, Listens, Setup, Steps, TimeModel, Users,
};
use conclave_check::{Budget, Conclusion, Fairness, Finding, Options};
use conclave_core::detector::Detectors;
use conclave_core::election::Elections;
use conclave_core::mutex::{LIVENESS, Locks, Opening};
use conclave_core::process::Processes;
use conclave_core::{ProcessId, Protocol, Seat, View};
use conclave_observe::Spoken;

/// What a tick is called, where time is counted.
pub const TICK: Duration = Duration::from_millis(1);

/// Who takes part, what they are asked to do, and what can happen to them.
#[derive(Clone, Debug)]
pub struct Bounds {
    pub view: View,
    /// Who asks, or calls.
    pub clients: Vec<Seat>,
    /// How often each.
    pub asks: u8,
    /// Who is in from the start.
    pub holder: Option<ProcessId>,
    pub channels: Channels,
    pub time: TimeModel,
    pub faults: Faults,
    pub ends: system::Bounds,
    pub options: Options,
}

/// More states than that are a failure of the test, not a proof.
const STATES_MAX: u64 = 3_000_000;

const OPTIONS: Options = Options {
    threads: 2,
    budget: Budget { states: STATES_MAX, bytes: 4 << 30 },
    is_exact: false,
    liveness: false,
    fairness: Fairness::ALL,
};

impl Bounds {
    /// Everybody of these asks once, over FIFO channels; messages take any time, and nothing fails.
    pub fn new(view: View) -> Self {
        Self {
            clients: (0..view.len()).map(Seat::at).collect(),
            view,
            asks: 1,
            holder: None,
            channels: Channels::Fifo,
            time: TimeModel::Async,
            faults: Faults::default(),
            ends: system::Bounds::default(),
            options: OPTIONS,
        }
    }

    /// So many of an algorithm.
    pub fn of(entry: &Entry, n: u32) -> Self {
        let view = entry.view_of(&View::dense(1, n)).unwrap();
        Self { clients: entry.clients(&view), ..Self::new(view) }
    }

    /// A message takes up to so many ticks.
    pub fn within(self, bound: u16) -> Self {
        Self { time: TimeModel::Sync { bound, tick: TICK }, ..self }
    }

    /// What is found of processes that promise this.
    pub fn find<P>(&self, configs: &[P::Config], promises: Promises) -> Finding
    where
        P: Protocol<Family: Used>,
    {
        let setup = Setup::<P, _> {
            interchangeable: Vec::new(),
            tamper: None,
            tells_renewals: self.options.liveness,
            passes_over_stalls: false,
            crash_loses: false,
            view: &self.view,
            configs,
            vocabulary: P::Family::VOCABULARY,
            promises,
            openings: &P::Family::openings(self),
            client: P::Family::client(self),
            channels: self.channels,
            time: self.time,
            faults: self.faults,
            check_invariants: true,
            // Tests say themselves what must have happened.
            expected_kinds: 0,
            bounds: self.ends,
        };
        conclave_check::check(&setup, &self.options, &mut |_| ControlFlow::Continue(()))
            .expect("nothing is renamed, and no clock is read")
    }
}

/// What a lock is held to, whatever else it promises.
pub const LOCK: Promises = LIVENESS;

/// A family whose protocols can be searched within such bounds.
pub trait Used: Spoken {
    /// Who uses it.
    type Users: Users<Self>;

    fn client(bounds: &Bounds) -> Self::Users;

    /// What is known at the start.
    fn openings(_: &Bounds) -> Vec<Self::Opening> {
        Vec::new()
    }

    /// What an algorithm of this family is held to.
    fn promises(entry: &Entry) -> Promises {
        entry.promises
    }
}

impl Used for Locks {
    type Users = Enters;

    fn client(bounds: &Bounds) -> Enters {
        let holder = bounds.holder.and_then(|id| bounds.view.seat(id));
        Enters { clients: bounds.clients.clone(), requests: bounds.asks, holder }
    }

    fn openings(bounds: &Bounds) -> Vec<Opening> {
        vec![Opening { holder: bounds.holder, ..Opening::default() }; bounds.view.len()]
    }

    fn promises(_: &Entry) -> Promises {
        LOCK
    }
}

impl Used for Elections {
    type Users = Calls;

    fn client(bounds: &Bounds) -> Calls {
        Calls { callers: bounds.clients.clone(), calls: bounds.asks }
    }
}

impl Used for Detectors {
    type Users = Listens;

    fn client(_: &Bounds) -> Listens {
        Listens
    }
}

impl Used for Processes {
    type Users = Steps;

    fn client(bounds: &Bounds) -> Steps {
        Steps { view: bounds.view.clone(), askers: bounds.clients.clone(), steps: bounds.asks }
    }
}

/// What is wrong, if anything is.
///
/// # Panics
///
/// If the search was cut short.
#[track_caller]
pub fn flaw(finding: &Finding) -> Option<Flaw> {
    match finding.verdict {
        Conclusion::Refuted(flaw) => Some(flaw),
        Conclusion::Proved | Conclusion::Vacuous(_) => None,
        Conclusion::Budget(limit) => panic!("cut short by {limit:?}: {:?}", finding.progress),
        Conclusion::Inexact => panic!("timers are no whole numbers of ticks"),
    }
}

/// What is found of an algorithm of the catalogue, whose timers are set like that.
pub fn check(entry: &Entry, bounds: &Bounds, timing: Timing) -> Finding {
    let view = &bounds.view;
    let seating = Seating { view, construction: Construction::Grid, own_sets: None, timing };
    catalogue::visit(entry, &seating, Check(bounds)).unwrap()
}

struct Check<'a>(&'a Bounds);

impl<F: Used> Visitor<F> for Check<'_> {
    type Output = Finding;

    fn visit<P>(self, entry: &'static Entry, configs: Vec<P::Config>) -> Finding
    where
        P: Listed<Family = F>,
    {
        self.0.find::<P>(&configs, F::promises(entry))
    }
}
