//! What to search of an algorithm, and the search itself.

pub mod account;
pub mod draft;
pub mod properties;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::ControlFlow;
use core::time::Duration;

use conclave_algorithms::catalogue::{self, Entry, Listed, Seating, SeatingError, Timing, Visitor};
use conclave_algorithms::mutants::Mutant;
use conclave_algorithms::quorum::{Construction, OwnSets};
use conclave_check::system::{
    Asymmetry, Bounds, Channels, Faults, INTERCHANGEABLE_MAX, Setup, TimeModel, Users,
};
use conclave_check::{
    Budget, Conclusion, Fairness, Finding, Graph, Options, Refusal, SearchEnd, SearchProgress,
};
use conclave_core::{Kind, Phase, ProcessId, Seat, View};
use conclave_observe::trace::{Header, Trace, TraceKind};
use conclave_observe::{Observed, Time};
use conclave_sim::Network;

use crate::family::{self, Playable};
use crate::need::MEMORY_MAX;
use crate::plan::Plan;
use crate::setting::NamesSettings;

/// How long a tick is, for what is told to timers: as long as a message takes in the unit network.
pub const TICK: Duration = Duration::from_millis(1);

/// What to search, within which bounds, and how.
#[derive(Clone, Debug)]
pub struct SearchPlan {
    /// The algorithm, as the catalogue has it.
    pub entry: &'static Entry,
    /// Which mutant of it, if it is one.
    pub mutant: Option<&'static Mutant>,
    /// Who asks, in ring order.
    pub clients: View,
    /// How voting sets are made.
    pub construction: Construction,
    /// Voting sets that somebody wrote down, instead.
    pub own_sets: Option<OwnSets>,
    /// What timers are set to.
    pub timing: Timing,
    /// How often each asks, or calls.
    pub requests: u8,
    /// Who does; `None` for everybody.
    pub askers: Option<Vec<ProcessId>>,
    /// Whether channels keep the order.
    pub channels: Channels,
    /// How time passes.
    pub time: TimeModel,
    /// Which faults can happen.
    pub faults: Faults,
    /// Whether what the dead had sent can be lost with them.
    pub crash_loses: bool,
    /// What else is bounded.
    pub bounds: Bounds,
    /// Whether states are told apart only up to the names of those who ask.
    pub symmetry: bool,
    /// How to search.
    pub options: Options,
}

/// What came of it.
pub struct Searched {
    /// What was found.
    pub finding: Finding,
    /// The counterexample, if there is one.
    pub trace: Option<Trace>,
    /// The kinds of messages, by index.
    pub kinds: &'static [Kind],
}

/// A search that is not possible.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SearchError {
    /// Nobody can be seated like that.
    #[error(transparent)]
    Seating(#[from] SeatingError),
    /// The algorithm cannot be searched, or not like that.
    #[error("{}", refused(name, *refusal))]
    Refused {
        /// The name of the algorithm.
        name: &'static str,
        /// Why the checker refuses it.
        refusal: Refusal,
    },
    /// Time does not fit into ticks.
    #[error(
        "{name} sets a timer that is not a whole number of ticks of 1 ms, or is more than {} of \
         them; a search counts whole ticks (with sync:2, D is 2 ms, and 1.5 D is 3 ms)",
        u16::MAX
    )]
    Inexact {
        /// The name of the algorithm.
        name: &'static str,
    },
}

impl NamesSettings for SearchError {
    fn settings(&self) -> Vec<&'static str> {
        Vec::from(["n", "symmetry"])
    }
}

/// Why an algorithm cannot be searched like that, and what would be right.
fn refused(name: &str, why: Refusal) -> String {
    match why {
        Refusal::ReadsClock => {
            format!("{name} reads its clock, and a search has no clocks; simulate it instead")
        }
        Refusal::Asymmetry(Asymmetry::Names) => format!(
            "{name} goes by ids or seats: its processes are not interchangeable; leave \
             `symmetry` out"
        ),
        Refusal::Asymmetry(Asymmetry::TooMany) => format!(
            "the names of more than {INTERCHANGEABLE_MAX} can be given in too many ways; choose a \
             smaller `n`, or leave `symmetry` out"
        ),
        Refusal::Asymmetry(why) => format!("{name}: {why}; leave `symmetry` out"),
    }
}

/// The memory and the states that a search may take unless it is told otherwise.
pub const BUDGET: Budget = Budget { states: 1 << 31, bytes: MEMORY_MAX };

impl SearchPlan {
    /// With the usual bounds: what an algorithm that needs synchrony needs, the others do without.
    pub fn new(entry: &'static Entry, clients: View) -> Self {
        let time = match entry.needs.synchrony {
            true => TimeModel::Sync { bound: 1, tick: TICK },
            false => TimeModel::Async,
        };
        let mut plan = Self {
            entry,
            mutant: None,
            clients,
            construction: Construction::Grid,
            own_sets: None,
            timing: Timing::of(TICK),
            requests: family::profile(entry).requests,
            askers: None,
            channels: Channels::Fifo,
            time,
            faults: Faults::default(),
            crash_loses: false,
            bounds: Bounds::default(),
            symmetry: false,
            options: Options {
                threads: 1,
                budget: BUDGET,
                is_exact: false,
                liveness: true,
                fairness: Fairness::ALL,
            },
        };
        plan.set_time(time);
        plan
    }

    /// The bounds that the catalogue has for it.
    pub fn within(entry: &'static Entry, bounds: &catalogue::Bounds) -> Self {
        let mut plan = Self::new(entry, View::dense(1, bounds.n));
        plan.requests = bounds.requests;
        plan.askers = bounds.askers.map(|many| (1..=many).map(ProcessId).collect());
        if bounds.is_unordered {
            plan.channels = Channels::Unordered;
        }
        plan.set_time(match bounds.sync {
            Some(bound) => TimeModel::Sync { bound, tick: TICK },
            None => TimeModel::Async,
        });
        plan.timing.beat = bounds.beat.map(|ticks| u32::from(ticks) * TICK);
        plan.faults.crashes = bounds.crashes;
        plan.faults.returns = bounds.returns;
        plan.faults.losses = bounds.losses;
        plan.crash_loses = bounds.is_lossy;
        plan.bounds = Bounds { terms: bounds.terms, timeouts: bounds.timeouts };
        plan.options.liveness = plan.is_complete() && !bounds.is_safety;
        plan
    }

    /// Time passes like this, and the members know it.
    pub fn set_time(&mut self, time: TimeModel) {
        self.time = time;
        self.timing.bound = match time {
            TimeModel::Sync { bound, .. } => u32::from(bound) * TICK,
            TimeModel::Async => TICK,
        };
    }

    /// Whether all that the processes do by themselves is followed to its end: otherwise nothing
    /// can be said of what comes eventually.
    pub fn is_complete(&self) -> bool {
        self.bounds == Bounds::default()
    }

    /// Whether the algorithm gets what it needs, so that its invariants must hold.
    fn is_within_model(&self) -> bool {
        if !family::profile(self.entry).needs_its_model {
            return true;
        }
        let Faults { returns, losses, duplications, .. } = self.faults;
        let is_ordered = self.channels == Channels::Fifo || !self.entry.needs.fifo;
        let is_timely = self.time.is_sync() || !self.entry.needs.synchrony;
        is_ordered && is_timely && returns + losses + duplications == 0
    }

    /// The kinds of messages without which a proof would be vacuous. Repairs need something to
    /// repair.
    fn expected_kinds(&self) -> u32 {
        let is_expected = |kind: &Kind| {
            !self.entry.silent.contains(&kind.name)
                && (kind.phase != Phase::Repair || self.faults.crashes > 0)
        };
        let kinds = self.entry.kinds.iter().take(32).enumerate();
        kinds.filter(|(_, kind)| is_expected(kind)).fold(0, |bits, (at, _)| bits | 1 << at)
    }

    /// Searches. `watch` is told how far it is, now and then, and may end it.
    pub fn run(
        &self,
        watch: &mut dyn FnMut(&SearchProgress) -> ControlFlow<()>,
    ) -> Result<Searched, SearchError> {
        let refused = |refusal| SearchError::Refused { name: self.entry.name, refusal };
        let finding = self.visit(Check { plan: self, watch })?.map_err(refused)?;
        if finding.verdict == Conclusion::Inexact {
            return Err(SearchError::Inexact { name: self.entry.name });
        }
        let trace = match &finding.counterexample {
            Some(found) => {
                let repeats_from = found.told.repeats_from;
                let header = Header { repeats_from, ..self.header()? };
                Some(Trace { header, records: found.told.records.clone() })
            }
            None => None,
        };
        Ok(Searched { finding, trace, kinds: self.entry.kinds })
    }

    /// All states and all steps between them; or how the search ended, if not at its end. `watch`
    /// may end it, as it may that of [`run`](Self::run).
    pub fn graph(
        &self,
        watch: &mut dyn FnMut(&SearchProgress) -> ControlFlow<()>,
    ) -> Result<Result<Graph, SearchEnd>, SeatingError> {
        self.visit(Draw { plan: self, watch })
    }

    fn visit<V>(&self, visitor: V) -> Result<V::Output, SeatingError>
    where
        V: OfSetup,
    {
        let view = self.entry.view_of(&self.clients)?;
        let (construction, own_sets) = (self.construction, self.own_sets.as_ref());
        let seating = Seating { view: &view, construction, own_sets, timing: self.timing };
        let visit = Visit { plan: self, view: &view, visitor };
        catalogue::visit(self.entry, &seating, visit)
    }

    /// What the processes are told that is not as usual, by the names of the settings.
    pub fn settings(&self) -> Vec<(String, String)> {
        self.told().options()
    }

    /// What the processes are told, as a run would tell them.
    pub(crate) fn told(&self) -> Plan {
        let mut plan = Plan::new(self.entry, self.clients.clone());
        plan.construction = self.construction;
        plan.own_sets.clone_from(&self.own_sets);
        plan.timing = self.timing;
        plan.mutant = self.mutant;
        if let TimeModel::Sync { bound, .. } = self.time {
            plan.network = Network::Sync { bound: Time::of(u32::from(bound) * TICK) };
        }
        plan
    }

    /// What a counterexample says of what was run, so that a run can take the same steps.
    fn header(&self) -> Result<Header, SeatingError> {
        let plan = self.told();
        let network = match self.time {
            TimeModel::Async => "async".into(),
            TimeModel::Sync { .. } => plan.network.to_string(),
        };
        Ok(Header {
            algorithm: self.entry.name.into(),
            seed: 0,
            network,
            members: self.entry.view_of(&self.clients)?.members().to_vec(),
            kinds: self.entry.kinds.iter().copied().map(TraceKind::from).collect(),
            vocabulary: family::vocabulary(self.entry),
            promises: self.entry.promises,
            options: plan.options(),
            repeats_from: None,
            is_stuck: false,
            starts: Vec::new(),
        })
    }
}

/// How time passes, as it is written: `async`, `sync:2`.
pub fn time_word(time: TimeModel) -> String {
    match time {
        TimeModel::Async => "async".into(),
        TimeModel::Sync { bound, .. } => format!("sync:{bound}"),
    }
}

/// Something to be done with a system of whatever algorithm.
trait OfSetup {
    type Output;

    fn with<P, C>(self, setup: &Setup<'_, P, C>) -> Self::Output
    where
        P: Observed,
        C: Users<P::Family>;
}

struct Check<'a> {
    plan: &'a SearchPlan,
    watch: &'a mut dyn FnMut(&SearchProgress) -> ControlFlow<()>,
}

impl OfSetup for Check<'_> {
    type Output = Result<Finding, Refusal>;

    fn with<P, C>(self, setup: &Setup<'_, P, C>) -> Self::Output
    where
        P: Observed,
        C: Users<P::Family>,
    {
        conclave_check::check(setup, &self.plan.options, self.watch)
    }
}

struct Draw<'a> {
    plan: &'a SearchPlan,
    watch: &'a mut dyn FnMut(&SearchProgress) -> ControlFlow<()>,
}

impl OfSetup for Draw<'_> {
    type Output = Result<Graph, SearchEnd>;

    fn with<P, C>(self, setup: &Setup<'_, P, C>) -> Self::Output
    where
        P: Observed,
        C: Users<P::Family>,
    {
        conclave_check::whole_graph(setup, &self.plan.options, self.watch)
    }
}

/// Makes the system of an algorithm, for whoever wants to do something with it.
struct Visit<'a, V> {
    plan: &'a SearchPlan,
    view: &'a View,
    visitor: V,
}

impl<V: OfSetup> Visit<'_, V> {
    /// The seats of those who ask.
    fn askers(&self, entry: &Entry) -> Vec<Seat> {
        let asks = |seat: &Seat| match &self.plan.askers {
            Some(askers) => askers.contains(&self.view.at(*seat)),
            None => true,
        };
        entry.clients(self.view).into_iter().filter(asks).collect()
    }
}

impl<F: Playable, V: OfSetup> Visitor<F> for Visit<'_, V> {
    type Output = V::Output;

    fn visit<P>(self, entry: &'static Entry, configs: Vec<P::Config>) -> V::Output
    where
        P: Listed<Family = F>,
    {
        let plan = self.plan;
        let interchangeable =
            if plan.symmetry { plan.entry.clients(self.view) } else { Vec::new() };
        let client = F::client(plan, self.askers(entry));
        self.visitor.with(&Setup::<P, _> {
            view: self.view,
            configs: &configs,
            vocabulary: F::VOCABULARY,
            promises: plan.entry.promises,
            tamper: plan.mutant.and_then(Mutant::tamper),
            openings: &[],
            client,
            channels: plan.channels,
            time: plan.time,
            faults: plan.faults,
            // What a mutant does to others must give it away.
            check_invariants: plan.is_within_model() && plan.mutant.is_none(),
            expected_kinds: plan.expected_kinds(),
            bounds: plan.bounds,
            interchangeable,
            tells_renewals: plan.options.liveness,
            passes_over_stalls: !plan.options.liveness,
            crash_loses: plan.crash_loses,
        })
    }
}
