//! What was said of a search, and the search that follows from it.

use alloc::string::String;
use alloc::vec::Vec;

use conclave_algorithms::catalogue::{Entry, SeatingError, Setting as Timer};
use conclave_algorithms::mutants::{self, Breaks, Mutant};
use conclave_check::STATES_MAX;
use conclave_check::system::{Bounds, Channels, Faults, TimeModel};
use conclave_core::{DuplicateId, ProcessId, View};

use super::SearchPlan;
use crate::draft::{DraftError, check_mutant, check_voters};
use crate::family;
use crate::setting::{self, Group, NamesSettings, SettingError, Unfit};

/// What was said of a search. What was not follows from what the algorithm needs.
#[derive(Clone, Debug, Default)]
pub struct SearchDraft {
    /// Who takes part; 1 to 3 if nothing is said.
    pub clients: Option<View>,
    /// Settings that a run has as well, by name: those that a search [takes](Self::takes).
    pub said: Vec<(&'static str, String)>,
    /// How often each asks, or calls.
    pub requests: Option<u8>,
    /// Who asks or calls; everybody if nothing is said.
    pub askers: Option<Vec<ProcessId>>,
    /// How time passes.
    pub time: Option<TimeModel>,
    /// Whether messages of one channel may overtake each other.
    pub is_unordered: bool,
    /// Which faults can happen.
    pub faults: Faults,
    /// Whether what the dead had sent can be lost with them.
    pub crash_loses: bool,
    /// What else is bounded.
    pub bounds: Bounds,
    /// Whether states are told apart only up to names.
    pub symmetry: bool,
    /// Whether only what must never happen is checked.
    pub is_safety: bool,
    /// What may be left undone for ever.
    pub unfair: Vec<Unfair>,
    /// How many states to search at most.
    pub max_states: Option<u64>,
}

/// What may be left undone for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfair {
    /// A message on its way arrives.
    Arrivals,
    /// A timer that is set runs out.
    Timers,
    /// A holder leaves.
    Leaves,
    /// Time passes by one tick.
    Ticks,
}

/// No search can be made of what was said: one line says why, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SearchDraftError {
    /// The algorithm has no use for a setting.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// That is no value of that setting.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// Nobody can be seated like that.
    #[error(transparent)]
    Seating(#[from] SeatingError),
    /// An id that is given twice.
    #[error(transparent)]
    DuplicateId(#[from] DuplicateId),
    /// Their voting sets do not fit into memory.
    #[error(transparent)]
    Voters(#[from] DraftError),
    /// Nobody asks a detector.
    #[error("nobody asks a detector for anything; leave `{0}` out")]
    NothingToAsk(&'static str),
    /// Somebody asks who takes no part.
    #[error("process {0} does not take part; `askers` are some of those who do")]
    Stranger(ProcessId),
    /// Somebody is named twice.
    #[error("process {0} is named twice; `askers` names each once")]
    AskerTwice(ProcessId),
    /// What the dead sent can be lost, but nobody dies.
    #[error("`crash-loses` needs somebody who dies; give `crashes` 1 with it")]
    NobodyLoses,
    /// More come back than die.
    #[error("only the dead can come back; give as many `crashes` as `returns`")]
    NobodyReturns,
    /// There are no terms.
    #[error("{0} has no terms; leave `terms` out, or choose chubby or zookeeper")]
    NoTerms(&'static str),
    /// States could not be told apart.
    #[error("a search can tell at most {STATES_MAX} states apart; give `max-states` up to that")]
    TooManyStates,
    /// Nobody sets timers that could be left alone.
    #[error("{0} sets no timers; leave `unfair` timers out")]
    NoTimers(&'static str),
    /// Holders need not leave, but nobody holds anything.
    #[error("{0} is not a lock, so nobody leaves; leave `unfair` leaves out")]
    NobodyLeaves(&'static str),
    /// Time is not counted.
    #[error("there are no ticks in async; leave `unfair` ticks out, or choose `time` sync:1")]
    NoTicks,
}

impl NamesSettings for SearchDraftError {
    fn settings(&self) -> Vec<&'static str> {
        match self {
            Self::Unfit(unfit) => unfit.settings(),
            Self::NothingToAsk(setting) => Vec::from([*setting]),
            Self::Stranger(_) | Self::AskerTwice(_) => Vec::from(["askers"]),
            Self::NobodyLoses => Vec::from(["crashes", "crash-loses"]),
            Self::NobodyReturns => Vec::from(["crashes", "returns"]),
            Self::NoTerms(_) => Vec::from(["terms"]),
            Self::TooManyStates => Vec::from(["max-states"]),
            Self::NoTimers(_) | Self::NobodyLeaves(_) | Self::NoTicks => {
                Vec::from(["unfair", "time"])
            }
            Self::Voters(error) => error.settings(),
            Self::Setting(_) | Self::Seating(_) | Self::DuplicateId(_) => Vec::new(),
        }
    }
}

impl SearchDraft {
    /// Whether a search takes that setting of runs: what its processes are told.
    pub fn takes(setting: &setting::Setting) -> bool {
        ["voting-sets", "mutant"].contains(&setting.name) || setting.group == Some(Group::Timers)
    }

    /// What is to be searched of that algorithm.
    pub fn plan(&self, entry: &'static Entry) -> Result<SearchPlan, SearchDraftError> {
        let clients = self.clients.clone().unwrap_or_else(|| View::dense(1, 3));
        let mut plan = SearchPlan::new(entry, clients);
        self.ask(&mut plan)?;
        plan.mutant = self.mutant(entry)?;
        let is_broken = |what| plan.mutant.is_some_and(|mutant| mutant.breaks == what);
        let is_unordered = self.is_unordered || is_broken(Breaks::Order);
        let usual = if is_broken(Breaks::Bound) { TimeModel::Async } else { plan.time };
        plan.set_time(self.time.unwrap_or(usual));
        self.tell(&mut plan)?;
        if is_unordered {
            plan.channels = Channels::Unordered;
        }
        self.go_wrong(&mut plan)?;
        self.bound(&mut plan)?;
        Ok(plan)
    }

    /// The mutant that is searched, if one is.
    fn mutant(&self, entry: &'static Entry) -> Result<Option<&'static Mutant>, SearchDraftError> {
        let Some((_, name)) = self.said.iter().find(|(setting, _)| *setting == "mutant") else {
            return Ok(None);
        };
        let mutant = Some(mutants::find(name).map_err(SettingError::from)?);
        check_mutant(mutant, entry)?;
        Ok(mutant)
    }

    /// Who asks how often.
    fn ask(&self, plan: &mut SearchPlan) -> Result<(), SearchDraftError> {
        let is_asked = family::profile(plan.entry).asks.is_some();
        if self.requests.is_some() && !is_asked {
            return Err(SearchDraftError::NothingToAsk("requests"));
        }
        plan.requests = self.requests.unwrap_or(plan.requests);
        let Some(askers) = &self.askers else { return Ok(()) };
        if let Some(&stranger) = askers.iter().find(|&&id| plan.clients.seat(id).is_none()) {
            return Err(SearchDraftError::Stranger(stranger));
        }
        if !is_asked {
            return Err(SearchDraftError::NothingToAsk("askers"));
        }
        let is_twice = |place: &usize| askers[..*place].contains(&askers[*place]);
        if let Some(twice) = (0..askers.len()).find(is_twice) {
            return Err(SearchDraftError::AskerTwice(askers[twice]));
        }
        plan.askers = Some(askers.clone());
        Ok(())
    }

    /// What the processes are told: the same settings as those of a run.
    fn tell(&self, plan: &mut SearchPlan) -> Result<(), SearchDraftError> {
        let mut told = plan.told();
        for (name, value) in &self.said {
            let Some(setting) = setting::find(name).filter(|it| Self::takes(it)) else { continue };
            setting.check_fit(plan.entry)?;
            setting.set(&mut told, core::slice::from_ref(value))?;
        }
        (plan.construction, plan.timing) = (told.construction, told.timing);
        plan.own_sets = told.own_sets;
        check_voters(plan.construction, &plan.clients)?;
        if plan.time.is_sync() && plan.entry.settings.contains(&Timer::Session) {
            // The usual one has parts of no whole number of ticks.
            let session = plan.timing.session.unwrap_or(12 * plan.timing.bound);
            plan.timing.session = Some(session);
        }
        Ok(())
    }

    fn go_wrong(&self, plan: &mut SearchPlan) -> Result<(), SearchDraftError> {
        (plan.faults, plan.crash_loses) = (self.faults, self.crash_loses);
        if self.crash_loses && self.faults.crashes == 0 {
            return Err(SearchDraftError::NobodyLoses);
        }
        if self.faults.returns > self.faults.crashes {
            return Err(SearchDraftError::NobodyReturns);
        }
        Ok(())
    }

    /// What is bounded, and what is judged.
    fn bound(&self, plan: &mut SearchPlan) -> Result<(), SearchDraftError> {
        if self.bounds.terms.is_some() && !family::has_terms(plan.entry) {
            return Err(SearchDraftError::NoTerms(plan.entry.name));
        }
        plan.bounds = self.bounds;
        plan.symmetry = self.symmetry;
        plan.options.liveness = !self.is_safety;
        let states = check_states(self.max_states)?;
        plan.options.budget.states = states.unwrap_or(plan.options.budget.states);
        let broken = match plan.mutant.map(|mutant| mutant.breaks) {
            Some(Breaks::Leaves) => Some(Unfair::Leaves),
            Some(Breaks::Arrivals) => Some(Unfair::Arrivals),
            _ => None,
        };
        for &unfair in self.unfair.iter().chain(&broken) {
            check_unfair(unfair, plan)?;
            let fairness = &mut plan.options.fairness;
            *match unfair {
                Unfair::Arrivals => &mut fairness.arrivals,
                Unfair::Timers => &mut fairness.timers,
                Unfair::Leaves => &mut fairness.leaves,
                Unfair::Ticks => &mut fairness.ticks,
            } = false;
        }
        Ok(())
    }
}

/// Whether so many states can be told apart: each needs a number.
pub fn check_states(states: Option<u64>) -> Result<Option<u64>, SearchDraftError> {
    match states {
        Some(many) if many > STATES_MAX => Err(SearchDraftError::TooManyStates),
        states => Ok(states),
    }
}

/// Whether there is any of what need not be done: to take away nothing would prove nothing new.
fn check_unfair(what: Unfair, plan: &SearchPlan) -> Result<(), SearchDraftError> {
    let entry = plan.entry;
    match what {
        Unfair::Timers if entry.settings.is_empty() => Err(SearchDraftError::NoTimers(entry.name)),
        Unfair::Leaves if !family::profile(entry).is_given_back => {
            Err(SearchDraftError::NobodyLeaves(entry.name))
        }
        Unfair::Ticks if !plan.time.is_sync() => Err(SearchDraftError::NoTicks),
        _ => Ok(()),
    }
}
