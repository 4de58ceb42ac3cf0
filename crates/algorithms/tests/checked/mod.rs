//! Systems within bounds, checked in every interleaving.

#![allow(dead_code, reason = "each test needs another part of it")]

use std::ops::ControlFlow;
use std::time::Duration;

use conclave_algorithms::catalogue::{
    self, DetectorVisitor, ElectionVisitor, Entry, MutexVisitor, Portable, Promises, Seating,
    Timing,
};
use conclave_algorithms::quorum::Construction;
use conclave_check::system::{
    self, Calls, Channels, Client, Enters, Faults, Flaw, Listens, Setup, TimeModel,
};
use conclave_check::{Budget, Fairness, Finding, Options, Verdict};
use conclave_core::detector::Detector;
use conclave_core::election::Election;
use conclave_core::mutex::Mutex;
use conclave_core::{ProcessId, Protocol, Seat, View};
use conclave_observe::Observable;

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

    /// What is found of a lock.
    pub fn enter<P: Mutex>(&self, config: &P::Config) -> Finding {
        let (clients, requests) = (self.clients.clone(), self.asks);
        let holder = self.holder.and_then(|id| self.view.seat(id));
        let promises = Promises::Mutex { liveness: true, ordering: false };
        self.check::<P, _>(config, promises, Enters { clients, requests, holder })
    }

    /// What is found of an election that promises this.
    pub fn elect<P: Election>(&self, config: &P::Config, promises: Promises) -> Finding {
        let (callers, calls) = (self.clients.clone(), self.asks);
        self.check::<P, _>(config, promises, Calls { callers, calls })
    }

    /// What is found of a detector.
    pub fn detect<P: Detector>(&self, config: &P::Config) -> Finding {
        self.check::<P, _>(config, Promises::Detector, Listens)
    }

    fn check<P, C>(&self, config: &P::Config, promises: Promises, client: C) -> Finding
    where
        P: Protocol<Command: Observable, Notice: Observable>,
        C: Client<P>,
    {
        let setup = Setup::<P, C> {
            interchangeable: Vec::new(),
            tells_renewals: self.options.liveness,
            passes_over_stalls: false,
            crash_loses: false,
            view: &self.view,
            config,
            promises,
            holder: self.holder,
            client,
            channels: self.channels,
            time: self.time,
            faults: self.faults,
            check_invariants: true,
            // Tests say themselves what must have happened.
            expected_kinds: 0,
            bounds: self.ends,
        };
        conclave_check::check(&setup, &self.options, &mut |_| ControlFlow::Continue(()))
            .expect("nothing is renamed")
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
        Verdict::Refuted(flaw) => Some(flaw),
        Verdict::Proved | Verdict::Vacuous(_) => None,
        Verdict::Budget(limit) => panic!("cut short by {limit:?}: {:?}", finding.progress),
        Verdict::Inexact => panic!("timers are no whole numbers of ticks"),
    }
}

/// What is found of an algorithm of the catalogue, whose timers are set like that.
pub fn check(entry: &Entry, bounds: &Bounds, timing: Timing) -> Finding {
    let view = &bounds.view;
    let seating = Seating { view, construction: Construction::Grid, timing };
    let found = match entry.promises {
        Promises::Mutex { .. } => catalogue::visit_mutex(entry, &seating, Check(bounds)),
        Promises::Election { .. } => catalogue::visit_election(entry, &seating, Check(bounds)),
        Promises::Detector => catalogue::visit_detector(entry, &seating, Check(bounds)),
    };
    found.unwrap()
}

struct Check<'a>(&'a Bounds);

impl MutexVisitor for Check<'_> {
    type Output = Finding;

    fn visit<P: Mutex<Message: Portable>>(self, _: &'static Entry, config: P::Config) -> Finding {
        self.0.enter::<P>(&config)
    }
}

impl ElectionVisitor for Check<'_> {
    type Output = Finding;

    fn visit<P: Election<Message: Portable>>(
        self,
        entry: &'static Entry,
        config: P::Config,
    ) -> Finding {
        self.0.elect::<P>(&config, entry.promises)
    }
}

impl DetectorVisitor for Check<'_> {
    type Output = Finding;

    fn visit<P: Detector<Message: Portable>>(
        self,
        _: &'static Entry,
        config: P::Config,
    ) -> Finding {
        self.0.detect::<P>(&config)
    }
}
