//! Proves or refutes what a protocol promises, within bounds.

use alloc::vec::Vec;
use core::ops::ControlFlow;

use conclave_core::{Message, Protocol};
use conclave_observe::Observed;

use crate::system::{Asymmetry, Bounds, Deed, Faults, Flaw, Premise, Setup, System, Told, Users};
use crate::{
    Budget, Claim, Explored, Graph, Keep, Lasso, Limit, Model, Search, SearchEnd, SearchProgress,
    Step,
};

/// How to check.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// On how many threads.
    pub threads: usize,
    /// How many states and how much memory the search may take.
    pub budget: Budget,
    /// Whether to keep the states themselves, so that no two are mistaken for one.
    pub is_exact: bool,
    /// Whether everybody who waits must eventually be served.
    pub liveness: bool,
    /// What must be done if it stays possible.
    pub fairness: Fairness,
}

/// What must be done if it stays possible: all of it, but for what is taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fairness {
    /// A message on its way arrives eventually.
    pub arrivals: bool,
    /// A timer that is set runs out eventually.
    pub timers: bool,
    /// A holder leaves the critical section eventually.
    pub leaves: bool,
    /// Time passes eventually, where it is counted.
    pub ticks: bool,
}

impl Fairness {
    /// Everything happens eventually that stays possible: the usual assumption.
    pub const ALL: Self = Self { arrivals: true, timers: true, leaves: true, ticks: true };

    fn obliges(self, step: Step) -> bool {
        match Deed::from(step) {
            Deed::Arrives { .. } => self.arrivals,
            Deed::RunsOut { .. } => self.timers,
            Deed::Leaves(_) => self.leaves,
            Deed::Tick => self.ticks,
            _ => false,
        }
    }
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What the search says, in one word.
    pub verdict: Conclusion,
    /// How many states there were, and what they took.
    pub progress: SearchProgress,
    /// How many steps lie between the states, where all of them were kept.
    pub steps: Option<u64>,
    /// How often what a proof rests on was seen, as far as the search went.
    pub premises: Vec<(Premise, u64)>,
    /// Whether every state was looked at, is as promised, and what that rests on was seen. It can
    /// be so although a budget ended the check: while it was decided what comes eventually.
    pub is_safe: bool,
    /// Whether everybody who waits is eventually served, if that was asked.
    pub liveness: Option<bool>,
    /// How many states were told apart by more than their fingerprints.
    pub collisions: u64,
    /// The way to what is wrong.
    pub counterexample: Option<Counterexample>,
}

/// What a check says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Conclusion {
    /// Everything within the bounds was looked at, and is as promised.
    Proved,
    /// Something is not as promised.
    Refuted(Flaw),
    /// Nothing is wrong, but something that the proof rests on never happened.
    Vacuous(Vec<Premise>),
    /// A timer was set to what is no whole number of ticks: what was searched is not what runs.
    Inexact,
    /// The check was cut short: nothing is said of what it has not seen.
    Budget(Limit),
}

/// A way to what is wrong.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// What is wrong.
    pub flaw: Flaw,
    /// How many steps lead there, and how many around, if it is a loop.
    pub steps: (usize, Option<usize>),
    /// What ended the search while a way with a step less could still have been found.
    pub cut: Option<Limit>,
    /// What happens on it.
    pub told: Told,
}

/// Why a system cannot be searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// Its processes read their clocks, and here there is none to read.
    #[error("its processes read their clocks, and a search has none to show them")]
    ReadsClock,
    /// States were to be told apart up to names, and that would not be right.
    #[error(transparent)]
    Asymmetry(#[from] Asymmetry),
}

/// Checks a system. `watch` is told how far it is, now and then, and may end it.
///
/// Where processes are said to be interchangeable, states are told apart up to their names. `Err`
/// says why it cannot be searched.
pub fn check<P, C>(
    setup: &Setup<'_, P, C>,
    options: &Options,
    watch: &mut dyn FnMut(&SearchProgress) -> ControlFlow<()>,
) -> Result<Finding, Refusal>
where
    P: Observed,
    C: Users<P::Family>,
{
    if P::READS_CLOCK {
        return Err(Refusal::ReadsClock);
    }
    let system = match (setup.interchangeable.is_empty(), options.liveness) {
        (true, _) => System::new(setup),
        (false, true) => return Err(Asymmetry::Liveness.into()),
        (false, false) => System::reduced(setup)?,
    };
    let search = Search {
        threads: options.threads,
        keep: Keep { states: options.is_exact, steps: options.liveness },
        budget: options.budget,
    };
    let explored = search.run(&system, &mut |progress| match system.asymmetry() {
        Some(_) => ControlFlow::Break(()),
        None if system.is_inexact() => ControlFlow::Break(()),
        None => watch(progress),
    });
    if let Some(asymmetry) = system.asymmetry() {
        return Err(asymmetry.into());
    }
    // Beyond bounds nobody knows what comes eventually.
    let is_live = options.liveness && setup.bounds == Bounds::default();
    let mut finding = Finding {
        verdict: Conclusion::Proved,
        progress: explored.progress,
        steps: None,
        premises: premises::<P>(&explored),
        is_safe: false,
        liveness: None,
        collisions: explored.collisions,
        counterexample: None,
    };
    if system.is_inexact() {
        finding.verdict = Conclusion::Inexact;
        return Ok(finding);
    }
    match &explored.outcome {
        SearchEnd::Flawed { flaw, path, cut } => {
            let breaches = setup.vocabulary.breaches;
            let (flaw, cut) = (Flaw::of(*flaw, breaches), *cut);
            finding.verdict = Conclusion::Refuted(flaw);
            let path = match setup.interchangeable.is_empty() {
                true => path.clone(),
                false => system.really(path)?,
            };
            let told = system.tell(&path, flaw);
            let steps = (path.len(), None);
            finding.counterexample = Some(Counterexample { flaw, steps, cut, told });
        }
        SearchEnd::CutShort(limit) => finding.verdict = Conclusion::Budget(*limit),
        SearchEnd::Complete if is_live => {
            let bytes = explored.graph_bytes() + system.bytes() as u64;
            finding.progress.bytes = finding.progress.bytes.max(bytes);
            let refuted = match bytes > options.budget.bytes {
                true => Err(Limit::Memory),
                false => finding.starve(explored, setup.view.len(), options, watch),
            };
            match refuted {
                Ok(Some(lasso)) => finding.refute_by(&system, &lasso),
                Ok(None) => finding.liveness = Some(true),
                Err(limit) => finding.verdict = Conclusion::Budget(limit),
            }
            finding.is_safe = true;
        }
        SearchEnd::Complete => finding.is_safe = true,
    }
    // A loop is a counterexample, whatever else was seen.
    if finding.is_safe && finding.counterexample.is_none() {
        let missing = finding.vacuous(setup);
        finding.is_safe = missing.is_empty();
        if finding.verdict == Conclusion::Proved && !missing.is_empty() {
            finding.verdict = Conclusion::Vacuous(missing);
        }
    }
    Ok(finding)
}

/// All states of a system and all steps between them, each by its own names. `watch` is told how
/// far it is, now and then, and may end it; `Err` says what ended it before its end, as a flaw
/// does.
pub fn whole_graph<P, C>(
    setup: &Setup<'_, P, C>,
    options: &Options,
    watch: &mut dyn FnMut(&SearchProgress) -> ControlFlow<()>,
) -> Result<Graph, SearchEnd>
where
    P: Observed,
    C: Users<P::Family>,
{
    let keep = Keep { states: options.is_exact, steps: true };
    let search = Search { threads: options.threads, keep, budget: options.budget };
    let system = System::new(setup);
    let explored = search.run(&system, watch);
    match explored.outcome {
        SearchEnd::Complete => {}
        outcome => return Err(outcome),
    }
    if explored.graph_bytes() + system.bytes() as u64 > options.budget.bytes {
        return Err(SearchEnd::CutShort(Limit::Memory));
    }
    Ok(explored.into_graph())
}

/// The states of a system and the steps between them, as far as it was searched until a flaw or the
/// budget ended it.
pub fn graph<P, C>(setup: &Setup<'_, P, C>, options: &Options) -> Graph
where
    P: Observed,
    C: Users<P::Family>,
{
    let keep = Keep { states: options.is_exact, steps: true };
    let search = Search { threads: options.threads, keep, budget: options.budget };
    search.run(&System::new(setup), &mut |_| ControlFlow::Continue(())).into_graph()
}

impl Finding {
    /// A fair run on which somebody waits for ever, if there is one; or what ended the search for
    /// it.
    fn starve(
        &mut self,
        explored: Explored,
        seats: usize,
        options: &Options,
        watch: &mut dyn FnMut(&SearchProgress) -> ControlFlow<()>,
    ) -> Result<Option<Lasso>, Limit> {
        let watch = &mut || watch(&self.progress);
        let graph = explored.try_into_graph(watch).continue_value().ok_or(Limit::Stopped)?;
        self.steps = Some(graph.steps() as u64);
        for seat in 0..seats {
            let obliges = |step| options.fairness.obliges(step);
            let refuted = graph.refute(Claim::Ends(1 << seat), obliges, watch);
            if let Some(lasso) = refuted.continue_value().ok_or(Limit::Stopped)? {
                return Ok(Some(lasso));
            }
        }
        Ok(None)
    }

    fn refute_by<P, C>(&mut self, system: &System<'_, P, C>, lasso: &Lasso)
    where
        P: Observed,
        C: Users<P::Family>,
    {
        let flaw = Flaw::Starved;
        self.verdict = Conclusion::Refuted(flaw);
        self.liveness = Some(false);
        let steps = (lasso.stem.len(), Some(lasso.turn.len()));
        let told = system.tell_loop(lasso);
        self.counterexample = Some(Counterexample { flaw, steps, cut: None, told });
    }

    /// How often that was seen.
    pub fn seen(&self, premise: Premise) -> u64 {
        self.premises.iter().find(|(it, _)| *it == premise).map_or(0, |(_, count)| *count)
    }

    /// What the proof rests on and never happened.
    fn vacuous<P: Observed, C>(&self, setup: &Setup<'_, P, C>) -> Vec<Premise> {
        let vocabulary = setup.vocabulary;
        let Faults { crashes, returns, losses, duplications } = setup.faults;
        let is_rested_on = |premise: Premise| match premise {
            Premise::TwoWait => vocabulary.is_contended && setup.view.len() > 1,
            // Nobody has to be noticed where nobody dies; but then nothing is shown of it either.
            Premise::Served => {
                self.liveness.is_some() || crashes > 0 || vocabulary.serves_without_crash
            }
            Premise::Finished => setup.bounds.timeouts.is_none() && setup.bounds.terms.is_none(),
            Premise::Crashed => crashes > 0,
            Premise::Returned => returns > 0,
            Premise::Lost => losses > 0,
            Premise::Doubled => duplications > 0,
            // A term that nobody comes to is no bound.
            Premise::LastTerm => setup.bounds.terms.is_some(),
            Premise::Beyond => false,
            Premise::Sent(kind) => setup.expected_kinds >> kind & 1 != 0,
        };
        let missing =
            self.premises.iter().filter(|(premise, count)| *count == 0 && is_rested_on(*premise));
        missing.map(|(premise, _)| *premise).collect()
    }
}

fn premises<P: Protocol>(explored: &Explored) -> Vec<(Premise, u64)> {
    let kinds = (0..P::Message::KINDS.len()).map(Premise::Sent);
    let all = [
        Premise::TwoWait,
        Premise::Finished,
        Premise::Served,
        Premise::Crashed,
        Premise::Returned,
        Premise::Lost,
        Premise::Doubled,
        Premise::LastTerm,
        Premise::Beyond,
    ];
    let count = |premise: Premise| explored.premises.get(premise.index()).copied().unwrap_or(0);
    all.into_iter().chain(kinds).map(|premise| (premise, count(premise))).collect()
}
