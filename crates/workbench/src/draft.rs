//! What was said of a run, and the plan that follows from it.

mod error;
mod fit;

pub use error::DraftError;
use fit::check_scenario;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_algorithms::catalogue::{self, Entry, SeatingError};
use conclave_algorithms::mutants::{Breaks, Mutant};
use conclave_algorithms::quorum::Construction;
use conclave_core::{ProcessId, View};
use conclave_observe::Time;
use conclave_sim::{FaultError, FaultPlan, Workload, ids_of};

use crate::family;
use crate::plan::Plan;
use crate::scenario::{Scenario, Stated};
use crate::setting::{self, SETTINGS, Setting};

/// What was said of a run. In which order does not matter: what was not said follows from what was.
///
/// ```
/// use conclave_workbench::draft::Draft;
///
/// let mut draft = Draft::named("bully").unwrap();
/// draft.say("dead", "5").unwrap();
/// draft.say("n", "5").unwrap();
/// let plan = draft.plan().unwrap();
/// let said: Vec<_> = plan.said().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(said, ["n", "network", "dead", "seed"]);
/// ```
#[derive(Clone, Debug)]
pub struct Draft {
    entry: &'static Entry,
    /// By the name of a setting: its values.
    said: BTreeMap<&'static str, Vec<String>>,
    scenario: Option<Scenario>,
}

/// Majorities of more would take all memory: N^2/2 names.
const MAJORITY_MAX: u32 = 20_000;

impl Draft {
    /// A run of that algorithm, of which nothing was said yet.
    pub fn new(entry: &'static Entry) -> Self {
        Self { entry, said: BTreeMap::new(), scenario: None }
    }

    /// A draft for the algorithm of that name in the catalogue.
    pub fn named(algorithm: &str) -> Result<Self, SeatingError> {
        Ok(Self::new(catalogue::find(algorithm)?))
    }

    /// The algorithm that the draft is for.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Says one value of a setting; an empty one if the setting has none. What was said before
    /// stays said: some settings have several values.
    pub fn say(&mut self, name: &str, value: &str) -> Result<(), DraftError> {
        let unknown = || DraftError::UnknownSetting(name.to_owned());
        let setting = setting::find(name).ok_or_else(unknown)?;
        let refused = |error| DraftError::Setting { name: setting.name, error };
        setting.check(value).map_err(refused)?;
        self.said.entry(setting.name).or_default().push(value.to_owned());
        Ok(())
    }

    /// Takes what a scenario says. It must not say again what a setting says.
    pub fn play(&mut self, scenario: Scenario) {
        self.scenario = Some(scenario);
    }

    /// The plan. What was not said follows from what was.
    pub fn plan(&self) -> Result<Plan, DraftError> {
        let nothing = Scenario::default();
        let scenario = self.scenario.as_ref().unwrap_or(&nothing);
        for setting in SETTINGS.iter().filter(|it| self.said.contains_key(it.name)) {
            setting.check_fit(self.entry)?;
            if self.scenario.is_some() && does_say(scenario, setting.name) {
                return Err(DraftError::SaidTwice { name: setting.name });
            }
        }
        let said = self.said_in_all(scenario)?;
        let is_said = |setting: &&Setting| said.contains_key(setting.name);
        let mut plan = Plan::new(self.entry, View::dense(1, 5));
        if self.scenario.is_some() {
            check_scenario(self.entry, scenario)?;
            take(&mut plan, scenario);
        }
        for setting in SETTINGS {
            if let Some(values) = said.get(setting.name) {
                let refused = |error| DraftError::Setting { name: setting.name, error };
                setting.set(&mut plan, values).map_err(refused)?;
            }
        }
        // Whose sets there are is who takes part, if nobody says otherwise.
        let says_who = self.said.contains_key("n") || self.said.contains_key("ids");
        if let (false, None, Some(own_sets)) = (says_who, &scenario.view, &plan.own_sets) {
            plan.clients = View::new(own_sets.owners()).map_err(SeatingError::from)?;
        }
        let is_open = |setting: &&Setting| {
            !is_said(setting) && (self.scenario.is_none() || !does_say(scenario, setting.name))
        };
        for setting in SETTINGS.iter().filter(is_open) {
            setting.settle(&mut plan);
        }
        self.check(&plan, scenario).map_err(|error| error.placed(scenario))?;
        Ok(plan)
    }

    /// What was said and what the scenario says as settings, together.
    fn said_in_all(
        &self,
        scenario: &Scenario,
    ) -> Result<BTreeMap<&'static str, Vec<String>>, DraftError> {
        let mut said = self.said.clone();
        for Stated { name, value, line } in &scenario.settings {
            let fit = setting::find(name).map_or(Ok(()), |setting| setting.check_fit(self.entry));
            fit.map_err(|unfit| DraftError::from(unfit).at(*line))?;
            said.entry(name).or_default().push(value.clone());
        }
        Ok(said)
    }

    /// Whether it can be run, and everybody who is named takes part.
    fn check(&self, plan: &Plan, scenario: &Scenario) -> Result<(), DraftError> {
        check_mutant(plan.mutant, plan.entry)?;
        let is_shown = |it: &Mutant| !matches!(it.breaks, Breaks::Leaves | Breaks::Arrivals);
        if let Some(mutant) = plan.mutant.filter(|it| !is_shown(it)) {
            return Err(DraftError::OnlySearched { name: mutant.name, of: mutant.entry.name });
        }
        check_voters(plan.construction, &plan.clients)?;
        self.check_callers(plan)?;
        check_steps(plan)?;
        if plan.clients.seat(ProcessId(u32::MAX)).is_some() {
            return Err(DraftError::NoId(u32::MAX));
        }
        let view = plan.entry.view_of(&plan.clients)?;
        plan.faults.check(&view)?;
        plan.faults.check_names(
            self.entry.name,
            self.entry.kinds,
            family::vocabulary(self.entry),
        )?;
        for intervention in &plan.interventions {
            let process = Some(intervention.act.process()).filter(|&id| view.seat(id).is_none());
            if let Some(process) = process {
                let (fault, members) = (format!("intervene {intervention}"), ids_of(&view));
                return Err(FaultError::Unknown { fault, process, members }.into());
            }
        }
        let greedy = match plan.workload {
            Workload::Greedy { who, .. } => Some(("greedy", who)),
            _ => None,
        };
        let greedy = greedy.filter(|&(_, who)| plan.clients.seat(who).is_none());
        match scenario.stranger(&plan.clients).or(greedy) {
            Some((what, process)) => {
                Err(DraftError::Stranger { what, process, ids: ids_of(&plan.clients) })
            }
            None => Ok(()),
        }
    }

    /// Whether those who call an election take part, and are not dead from the start until then.
    fn check_callers(&self, plan: &Plan) -> Result<(), DraftError> {
        let is_option = self.said.contains_key("initiators");
        let said_by = if is_option { "`initiators`" } else { "call" };
        let is_stranger = |call: &&(ProcessId, Time)| plan.clients.seat(call.0).is_none();
        if let Some(&(caller, _)) = plan.calls.iter().find(is_stranger) {
            return Err(DraftError::StrangeCaller { said_by, caller, ids: ids_of(&plan.clients) });
        }
        let FaultPlan { dead, returns, replacements, .. } = &plan.faults;
        let backs = |id: ProcessId| {
            returns.iter().chain(replacements).filter(move |it| it.process == id).map(|it| it.at)
        };
        let is_dead = |&&(id, at): &&(ProcessId, Time)| {
            dead.contains(&id) && !backs(id).any(|back| back <= at)
        };
        match plan.calls.iter().find(is_dead) {
            Some(&(caller, at)) if backs(caller).next().is_some() => {
                Err(DraftError::CallerNotBack { said_by, caller, at })
            }
            Some(&(caller, _)) => Err(DraftError::DeadCaller { said_by, caller }),
            None => Ok(()),
        }
    }
}

/// Whether all whose steps are written down take part, and those that they send to.
fn check_steps(plan: &Plan) -> Result<(), DraftError> {
    let named = plan.steps.iter().flat_map(|step| [Some(step.process), step.to]).flatten();
    match named.into_iter().find(|&id| plan.clients.seat(id).is_none()) {
        Some(caller) => {
            let ids = ids_of(&plan.clients);
            Err(DraftError::StrangeCaller { said_by: "`steps`", caller, ids })
        }
        None => Ok(()),
    }
}

/// Whether that is a mutant of that algorithm.
pub fn check_mutant(
    mutant: Option<&'static Mutant>,
    entry: &'static Entry,
) -> Result<(), DraftError> {
    match mutant {
        Some(mutant) if mutant.entry.name != entry.name => Err(DraftError::MutantOfAnother {
            name: mutant.name,
            of: mutant.entry.name,
            entry: entry.name,
        }),
        _ => Ok(()),
    }
}

/// Whether voting sets of so many fit into memory.
pub fn check_voters(construction: Construction, voters: &View) -> Result<(), DraftError> {
    let n = voters.len();
    if construction == Construction::Majority && n > MAJORITY_MAX as usize {
        return Err(DraftError::TooManyVoters { n, max: MAJORITY_MAX });
    }
    Ok(())
}

/// Makes a plan of what a scenario says.
fn take(plan: &mut Plan, scenario: &Scenario) {
    let Scenario { view, network, order, hold, clocks, holder, requests, calls, faults, .. } =
        scenario;
    if let Some(view) = view {
        plan.clients = view.clone();
    }
    plan.network = network.unwrap_or(plan.network);
    plan.order = order.unwrap_or(plan.order);
    plan.hold = hold.unwrap_or(plan.hold);
    plan.clocks.clone_from(clocks);
    plan.holder = *holder;
    if !scenario.says("workload") {
        plan.workload = Workload::Script(requests.clone());
        plan.entries = requests.len() as u64;
    }
    plan.calls.clone_from(calls);
    plan.faults = faults.clone();
}

/// Whether a scenario has said that already. Of what goes wrong, both can say something.
fn does_say(scenario: &Scenario, name: &str) -> bool {
    match name {
        "n" | "ids" => scenario.view.is_some(),
        "network" => scenario.network.is_some(),
        "no-fifo" => scenario.order.is_some(),
        "hold" => scenario.hold.is_some(),
        "loss" => !scenario.faults.loss.is_zero(),
        "duplicate" => !scenario.faults.duplicate.is_zero(),
        // Who asks and who calls is what a scenario is for, even if that is nobody; unless it
        // leaves that to a workload, of which the length may still be said.
        "workload" | "initiators" => true,
        "entries" => !scenario.says("workload") || scenario.says("entries"),
        _ => scenario.says(name),
    }
}
