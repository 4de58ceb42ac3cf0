//! What decides a run, and what comes of it.

use alloc::string::String;
use alloc::vec::Vec;

use conclave_core::tamper::Anybody;
use conclave_core::{OpeningOf, Promises, Protocol, Seat, View};
use conclave_observe::trace::{Record, Standing};
use conclave_observe::{Diagnosis, JudgeOrdering, Report, Time};

use crate::{ChannelOrder, Crash, FaultPlan, Intervention, Network};

/// All that decides a run, but for the application.
#[derive(Clone, Debug)]
pub struct Setup<'a, P: Protocol> {
    /// Who takes part.
    pub view: &'a View,
    /// By seat: what each knows before it starts.
    pub configs: &'a [P::Config],
    /// How long messages take.
    pub network: Network,
    /// Whether channels keep the order.
    pub order: ChannelOrder,
    /// What goes wrong; checked against the view.
    pub faults: &'a FaultPlan,
    /// What is done from outside, in the order in which it is done.
    pub interventions: &'a [Intervention],
    /// Who tampers with the processes, if somebody does: then they are mutants.
    pub tamper: Option<Anybody<P>>,
    /// By seat: what is known already as the run begins; empty if nothing is.
    pub openings: &'a [OpeningOf<P>],
    /// Where all randomness comes from.
    pub seed: u64,
    /// When to give up.
    pub limits: Limits,
    /// What is done when a promise is broken.
    pub after_violation: AfterViolation,
    /// Whether happened-before is judged.
    pub ordering: JudgeOrdering,
    /// What the algorithm is held to.
    pub promises: Promises,
    /// What is kept of the run.
    pub recording: Recording,
    /// How the state of a process is shown, if it is recorded after every step; only where
    /// everything is.
    pub show: Option<Show<P>>,
    /// Whether every process is asked for its invariants after every step.
    pub check_invariants: bool,
}

/// Shows the state of a process, in the way of [`Standing::state`].
pub type Show<P> = fn(&P, &View) -> String;

static NO_FAULTS: FaultPlan = FaultPlan::NONE;

impl<'a, P: Protocol> Setup<'a, P> {
    /// The plainest run: unit network, FIFO channels, no faults, seed 1, nothing recorded, and no
    /// end before its own.
    pub fn new(view: &'a View, configs: &'a [P::Config]) -> Self {
        Self {
            view,
            configs,
            network: Network::Unit,
            order: ChannelOrder::Fifo,
            faults: &NO_FAULTS,
            interventions: &[],
            tamper: None,
            openings: &[],
            seed: 1,
            limits: Limits::NONE,
            after_violation: AfterViolation::Stop,
            ordering: JudgeOrdering::No,
            promises: Promises::NONE,
            recording: Recording::Nothing,
            show: None,
            check_invariants: cfg!(debug_assertions),
        }
    }

    /// What is known to that process as the run begins.
    pub(crate) fn opening(&self, seat: Seat) -> OpeningOf<P> {
        self.openings.get(seat.index()).cloned().unwrap_or_default()
    }
}

/// When to give up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// After that many events.
    pub events: u64,
    /// At that time of the run.
    pub time: Time,
    /// When nobody has entered for that long, after a fault fired.
    pub patience: Time,
}

impl Limits {
    /// No limits: the run goes on until it ends by itself.
    pub const NONE: Self =
        Self { events: u64::MAX, time: Time(u64::MAX - 1), patience: Time::NEVER };
}

/// What is done when a promise is broken, or somebody starves: the verdict is known by then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterViolation {
    /// The run ends.
    Stop,
    /// It goes on to its own end, and all that is broken is counted.
    GoOn,
}

/// What is kept of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recording {
    /// What the judge found. Memory does not grow with time.
    Nothing,
    /// Every event with the rules that fired.
    Everything,
}

/// A run that is over.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What the judge found.
    pub report: Report,
    /// Every fault that was asked for, and how often it fired.
    pub faults: Vec<FiredFault>,
    /// Why somebody still waits, if somebody does.
    pub diagnosis: Option<Diagnosis>,
    /// What happened, if it was recorded.
    pub records: Vec<Record>,
    /// By seat: how each process started, if states were recorded; `None` if it was dead.
    pub starts: Vec<Option<Standing>>,
    /// Who died at an event that was scripted, and when.
    pub died: Vec<Crash>,
    /// How many events there were: commands, deliveries, timers, faults.
    pub events: u64,
}

/// A fault that was asked for, and how often it fired.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FiredFault {
    /// As it is written: `crash 3@40ms`.
    pub label: String,
    /// Crashes, returns and pauses: whether it happened. Partitions, loss and duplication: how many
    /// messages it hit. Drifts: how many timers ran out by that clock, or how often it was
    /// read.
    pub count: u64,
}
