//! A run, planned: any algorithm of the catalogue under any network, workload and faults.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use conclave_algorithms::catalogue::{self, Entry, Listed, Seating, SeatingError, Timing, Visitor};
use conclave_algorithms::mutants::Mutant;
use conclave_algorithms::quorum::{Construction, OwnSets};
use conclave_core::clock::Timestamp;
use conclave_core::mutex::ORDERING;
use conclave_core::{OpeningOf, ProcessId, View};
use conclave_observe::trace::{Header, Trace, TraceKind};
use conclave_observe::{JudgeOrdering, Time, Verdict};
use conclave_sim::{
    Act, AfterViolation, ChannelOrder, Clocks, Crash, FaultPlan, Intervention, Limits, Network,
    Outcome, Recording, Replay, ReplayError, ScriptedStep, Setup, Workload, replay, simulate,
};

use crate::family::{self, Playable, Profile};
use crate::setting::SETTINGS;
use crate::show::show;

/// All that decides a run. The same plan gives the same run, byte for byte.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The algorithm, as the catalogue has it.
    pub entry: &'static Entry,
    /// Which mutant of it, if it is one.
    pub mutant: Option<&'static Mutant>,
    /// Who asks for the lock; a coordinator is added where one is needed.
    pub clients: View,
    /// How voting sets are made, where they are needed.
    pub construction: Construction,
    /// Voting sets that somebody wrote down, instead.
    pub own_sets: Option<OwnSets>,
    /// How long messages take.
    pub network: Network,
    /// What timers are set to.
    pub timing: Timing,
    /// Whether channels keep the order.
    pub order: ChannelOrder,
    /// Who asks when.
    pub workload: Workload,
    /// How many entries in all.
    pub entries: u64,
    /// How long holders stay in.
    pub hold: Time,
    /// Who calls an election, and when.
    pub calls: Calls,
    /// Who takes which step of a bare process, and when; empty where steps are drawn.
    pub steps: Vec<ScriptedStep>,
    /// An election or a detector goes on at least until then.
    pub until: Time,
    /// The mean time between what each process asks of the value that leaders keep, if anything.
    pub asks_every: Option<Time>,
    /// What goes wrong.
    pub faults: FaultPlan,
    /// What is done to it from outside, in the order in which it is done.
    pub interventions: Vec<Intervention>,
    /// What logical clocks show first, where it is not 0.
    pub clocks: Vec<(ProcessId, Timestamp)>,
    /// Who is in from the start.
    pub holder: Option<ProcessId>,
    /// Where all randomness comes from.
    pub seed: u64,
    /// When to give up.
    pub limits: Limits,
    /// What is done when a promise is broken.
    pub after_violation: AfterViolation,
    /// Whether happened-before is judged.
    pub ordering: JudgeOrdering,
    /// What is kept of the run.
    pub recording: Recording,
    /// Whether the state of every process is recorded after each of its steps; only where
    /// everything is.
    pub states: bool,
    /// Whether every process is asked for its invariants after every step.
    pub check_invariants: bool,
}

/// Who calls an election, and when.
pub type Calls = Vec<(ProcessId, Time)>;

/// A plan that was carried out.
#[derive(Clone, Debug)]
pub struct Done {
    /// The plan that was carried out.
    pub plan: Plan,
    /// Everybody who took part.
    pub view: View,
    /// What came of it.
    pub outcome: Outcome,
    /// What the recorded run was, if this is one that was taken again.
    pub replayed: Option<Header>,
}

/// How many processes are judged for ordering unless it is asked for: a vector clock per message
/// costs as much as there are processes.
const ORDERING_BY_DEFAULT_MAX: usize = 32;
/// How many events a run may take unless it is said otherwise.
pub(crate) const EVENTS_MAX: u64 = 1_000_000_000;

impl Plan {
    /// The usual run of that algorithm with those who ask for it.
    pub fn new(entry: &'static Entry, clients: View) -> Self {
        let mut plan = Self {
            entry,
            mutant: None,
            construction: Construction::Grid,
            own_sets: None,
            network: Network::Unit,
            timing: Timing::of(Network::Unit.typical().as_duration()),
            order: ChannelOrder::Fifo,
            workload: Workload::Contend,
            entries: 0,
            hold: Time::DELAY,
            calls: Vec::new(),
            steps: Vec::new(),
            until: Time::ZERO,
            asks_every: None,
            faults: FaultPlan::default(),
            interventions: Vec::new(),
            clocks: Vec::new(),
            holder: None,
            seed: 1,
            limits: Limits { events: EVENTS_MAX, ..Limits::NONE },
            after_violation: AfterViolation::Stop,
            ordering: JudgeOrdering::No,
            recording: Recording::Nothing,
            states: false,
            check_invariants: cfg!(debug_assertions),
            clients,
        };
        plan.entries = plan.default_entries();
        plan.limits.patience = plan.default_patience();
        plan.ordering = plan.default_ordering();
        plan.calls = plan.default_calls();
        plan.until = plan.default_until();
        plan
    }

    /// Four for each process, or one where each asks alone; or as many as are scripted.
    pub fn default_entries(&self) -> u64 {
        let n = self.clients.len() as u64;
        match &self.workload {
            Workload::Contend | Workload::Think { .. } | Workload::Greedy { .. } => 4 * n,
            Workload::One => n,
            Workload::Script(requests) => requests.len() as u64,
        }
    }

    /// Who calls if nobody says it: in an election, the first that is up.
    pub fn default_calls(&self) -> Calls {
        (self.profile().calls)(self)
    }

    /// Until all that is to go wrong has, and there was time to notice it.
    pub fn default_until(&self) -> Time {
        self.faults.last_moment() + Time::of((self.profile().noticing)(self))
    }

    fn profile(&self) -> &'static Profile {
        family::profile(self.entry)
    }

    /// Whether requests are to be granted in the order in which they happened.
    pub fn promises_order(&self) -> bool {
        self.profile().has_order && self.entry.promises.keeps(ORDERING)
    }

    /// A thousand delays for each process.
    pub fn default_patience(&self) -> Time {
        Time(self.network.typical().0.saturating_mul(1_000 * self.clients.len() as u64))
    }

    /// Ordering is judged by default where that is cheap.
    pub fn default_ordering(&self) -> JudgeOrdering {
        if self.profile().has_order && self.clients.len() <= ORDERING_BY_DEFAULT_MAX {
            JudgeOrdering::Yes
        } else {
            JudgeOrdering::No
        }
    }

    /// Whether the algorithm gets what it needs, so that its invariants must hold: crashes and
    /// pauses leave them alone, but what is lost, doubled, forgotten or overtaken does not.
    fn is_within_model(&self) -> bool {
        if !self.profile().needs_its_model {
            return true;
        }
        let faults = &self.faults;
        let messages_arrive_once = faults.delivers_once();
        let is_ordered = self.order == ChannelOrder::Fifo || !self.entry.needs.fifo;
        let nobody_forgets = faults.returns.is_empty() && faults.replacements.is_empty();
        let is_harmless = |it: &Intervention| !matches!(it.act, Act::Return(_) | Act::Lose(_));
        let is_left_alone = self.interventions.iter().all(is_harmless);
        let can_vote = self.own_sets.as_ref().is_none_or(|own_sets| !own_sets.is_disjoint());
        messages_arrive_once && nobody_forgets && is_ordered && is_left_alone && can_vote
    }

    /// Who takes part in that view, and how they vote.
    pub(crate) fn seating<'a>(&'a self, view: &'a View) -> Seating<'a> {
        let (construction, own_sets) = (self.construction, self.own_sets.as_ref());
        Seating { view, construction, own_sets, timing: self.timing }
    }

    /// Carries it out. `progress` is told the number of entries now and then.
    pub fn run(self, progress: &mut dyn FnMut(u64)) -> Result<Done, SeatingError> {
        let view = self.entry.view_of(&self.clients)?;
        let seating = self.seating(&view);
        let run = Run { plan: &self, view: &view, progress };
        let outcome = catalogue::visit(self.entry, &seating, run)?;
        Ok(Done { plan: self, view, outcome, replayed: None })
    }

    /// What the simulator is told of it, but for who uses it.
    pub(crate) fn setup<'a, P: Listed>(
        &'a self,
        view: &'a View,
        configs: &'a [P::Config],
        openings: &'a [OpeningOf<P>],
    ) -> Setup<'a, P> {
        Setup {
            view,
            configs,
            network: self.network,
            order: self.order,
            faults: &self.faults,
            interventions: &self.interventions,
            tamper: self.mutant.and_then(Mutant::tamper),
            openings,
            seed: self.seed,
            limits: self.limits,
            after_violation: self.after_violation,
            ordering: self.ordering,
            promises: self.entry.promises,
            recording: self.recording,
            show: self.states.then_some(show::<P>),
            // What a mutant does to others must give it away.
            check_invariants: self.check_invariants
                && self.is_within_model()
                && self.mutant.is_none(),
        }
    }

    /// Takes a recorded run again, with the real processes; the plan says how they are started.
    pub fn replay(self, trace: &Trace) -> Result<Result<Done, ReplayError>, SeatingError> {
        let view = self.entry.view_of(&self.clients)?;
        let seating = self.seating(&view);
        let again = Again { plan: &self, view: &view, trace };
        let outcome = catalogue::visit(self.entry, &seating, again)?;
        let replayed = Some(trace.header.clone());
        Ok(outcome.map(|outcome| Done { plan: self, view, outcome, replayed }))
    }

    /// All that has to be said to do the same again, in the order in which people expect it: the
    /// name of a setting, and its value if it has one. Not for a scenario, which is a text of its
    /// own.
    pub fn said(&self) -> Vec<(&'static str, Option<String>)> {
        SETTINGS.iter().flat_map(|setting| setting.said(self)).collect()
    }

    /// All that the processes are told beside who takes part and that is not as usual, by the names
    /// of the settings.
    pub fn options(&self) -> Vec<(String, String)> {
        SETTINGS.iter().flat_map(|setting| setting.recorded(self)).collect()
    }
}

impl Done {
    /// The run as a trace; empty unless it was recorded.
    pub fn trace(&self) -> Trace {
        let records = self.outcome.records.clone();
        if let Some(header) = self.replayed.clone() {
            return Trace { header, records };
        }
        let header = Header {
            algorithm: self.plan.entry.name.to_owned(),
            seed: self.plan.seed,
            network: self.plan.network.to_string(),
            members: self.view.members().to_vec(),
            kinds: self.plan.entry.kinds.iter().copied().map(TraceKind::from).collect(),
            vocabulary: family::vocabulary(self.plan.entry),
            promises: self.plan.entry.promises,
            options: self.plan.options(),
            repeats_from: None,
            is_stuck: matches!(self.outcome.report.verdict, Verdict::Deadlock | Verdict::Stalled),
            starts: self.outcome.starts.clone(),
        };
        Trace { header, records }
    }

    /// Who called an election and when; and who was to, and did not.
    pub fn calls(&self) -> (Calls, Calls) {
        let end = self.outcome.report.end;
        let FaultPlan { dead, crashes, returns, replacements, pauses, .. } = &self.plan.faults;
        let crashes: Vec<Crash> = crashes.iter().chain(&self.outcome.died).copied().collect();
        let is_down = |id: ProcessId, by: Time| {
            let crashes = crashes.iter().filter(|it| it.process == id && it.at <= by);
            let backs = returns.iter().chain(replacements);
            let downs = crashes.count() + usize::from(dead.contains(&id));
            downs > backs.filter(|it| it.process == id && it.at <= by).count()
        };
        self.plan.calls.iter().partition(|&&(id, at)| {
            // Whoever is paused calls when it goes on.
            let pause = pauses.iter().find(|it| it.process == id && it.from <= at && at < it.until);
            let calls_at = pause.map_or(at, |pause| pause.until);
            let dies = |it: &Crash| it.process == id && at < it.at && it.at <= calls_at;
            calls_at <= end && !is_down(id, calls_at) && !crashes.iter().any(dies)
        })
    }

    /// The network, as it is written: `uniform:1ms..9ms`.
    pub fn network(&self) -> String {
        match &self.replayed {
            Some(header) => header.network.clone(),
            None => self.plan.network.to_string(),
        }
    }
}

struct Run<'a> {
    plan: &'a Plan,
    view: &'a View,
    progress: &'a mut dyn FnMut(u64),
}

impl<F: Playable> Visitor<F> for Run<'_> {
    type Output = Outcome;

    fn visit<P>(self, entry: &'static Entry, configs: Vec<P::Config>) -> Outcome
    where
        P: Listed<Family = F>,
    {
        let Self { plan, view, progress } = self;
        let openings = F::openings(plan, view);
        let setup = plan.setup::<P>(view, &configs, &openings);
        simulate(&setup, F::application(plan, view, entry.clients(view)), progress)
    }
}

/// The name of a network in which times mean nothing: what an exhaustive search writes.
pub const UNTIMED: &str = "async";

struct Again<'a> {
    plan: &'a Plan,
    view: &'a View,
    trace: &'a Trace,
}

impl<F: Playable> Visitor<F> for Again<'_> {
    type Output = Result<Outcome, ReplayError>;

    fn visit<P>(self, _: &'static Entry, configs: Vec<P::Config>) -> Self::Output
    where
        P: Listed<Family = F>,
    {
        let clocks = match &*self.trace.header.network {
            UNTIMED => Clocks::Absent,
            _ => Clocks::Running(&self.plan.faults.drifts),
        };
        let setup = Replay::<P> {
            view: self.view,
            configs: &configs,
            openings: &F::openings(self.plan, self.view),
            tamper: self.plan.mutant.and_then(Mutant::tamper),
            clocks,
            ordering: self.plan.ordering,
            show: Some(show::<P>),
        };
        replay(&setup, self.trace)
    }
}
