//! A plan of faults while it is carried out.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{CommandOf, Kind, Message, Seat, View};
use conclave_observe::{Observed, Said, Side, Spoken, Time, Vocabulary};

use crate::agenda::{Agenda, Item};
use crate::script::Script;
use crate::seed::Stream;
use crate::{Crash, Crossing, FaultPlan, FiredFault, Intervention, Setup};

/// The faults of a run: those to come are on the agenda, those under way are here.
pub struct FaultsUnderWay {
    /// Who is down from the start, and under which label that is counted.
    pub dead: Vec<(Seat, usize)>,
    pub actions: Vec<Action>,
    pub stream: Stream,
    pub cuts: Vec<Cut>,
    pub script: Script,
    /// Whether somebody dies at an event.
    pub has_crashes_on: bool,
    /// Who died at an event, and when.
    pub died: Vec<Crash>,
    /// Who is slow, and under which label it is counted what waits for it.
    slow: Vec<(Seat, usize)>,
    /// In the order of [`FaultPlan::labels`].
    pub fired: Vec<u64>,
    /// By intervention: whether it changed anything.
    pub intervened: Vec<bool>,
    /// By seat: how many timers ran out by its clock; empty if all clocks are right.
    run_out: Vec<u64>,
    /// Whether any message could be lost or doubled, so that the usual run need not look further.
    pub touch_messages: bool,
    pub has_duplicates: bool,
}

/// What happens at one moment, and under which label it is counted.
#[derive(Clone, Copy)]
pub enum Action {
    Crash { seat: Seat, label: usize },
    CrashOn { seat: Seat, label: usize },
    Return { seat: Seat, label: usize, same: bool },
    Pause { seat: Seat, label: usize },
    Resume { seat: Seat },
    Cut { partition: usize, label: usize },
    Heal { partition: usize },
}

impl Action {
    /// Whom it happens to, if it happens to one.
    pub fn seat(self) -> Option<Seat> {
        match self {
            Self::Crash { seat, .. }
            | Self::CrashOn { seat, .. }
            | Self::Return { seat, .. }
            | Self::Pause { seat, .. }
            | Self::Resume { seat } => Some(seat),
            Self::Cut { .. } | Self::Heal { .. } => None,
        }
    }
}

/// A partition in force, by seat: on which side it is.
pub struct Cut {
    pub partition: usize,
    pub label: usize,
    pub sides: Vec<Option<Side>>,
    pub one_way: bool,
    pub crossing: Crossing,
}

impl FaultsUnderWay {
    /// Puts what is to happen on the agenda.
    pub fn plan<P: Observed>(
        setup: &Setup<'_, P>,
        agenda: &mut Agenda<CommandOf<P>, P::Timer>,
    ) -> Self {
        let named = (P::Message::KINDS, P::Family::VOCABULARY);
        let (times, planned) =
            Self::timed(setup.faults, setup.view, setup.seed, setup.interventions.len(), named);
        for (action, time) in times.into_iter().enumerate() {
            agenda.push(time, Item::Fault(action));
        }
        planned
    }

    /// When each action is due, and the rest. The same for every protocol: compiled once.
    fn timed(
        plan: &FaultPlan,
        view: &View,
        seed: u64,
        interventions: usize,
        (kinds, vocabulary): (&[Kind], &Vocabulary),
    ) -> (Vec<Time>, Self) {
        let seat = |id| view.seat(id).expect("a plan is checked before it is run");
        let (mut times, mut actions) = (Vec::new(), Vec::new());
        let mut at = |time, action| {
            times.push(time);
            actions.push(action);
        };
        let mut labels = 0..;
        let mut next_label = || labels.next().expect("the range has no end");
        let dead = plan.dead.iter().map(|&id| (seat(id), next_label())).collect();
        for crash in &plan.crashes {
            at(crash.at, Action::Crash { seat: seat(crash.process), label: next_label() });
        }
        for it in &plan.returns {
            at(it.at, Action::Return { seat: seat(it.process), label: next_label(), same: true });
        }
        for it in &plan.replacements {
            at(it.at, Action::Return { seat: seat(it.process), label: next_label(), same: false });
        }
        for pause in &plan.pauses {
            at(pause.from, Action::Pause { seat: seat(pause.process), label: next_label() });
            at(pause.until, Action::Resume { seat: seat(pause.process) });
        }
        for (partition, it) in plan.partitions.iter().enumerate() {
            at(it.from, Action::Cut { partition, label: next_label() });
            at(it.until, Action::Heal { partition });
        }
        let slow = plan.slow.iter().map(|it| (seat(it.process), next_label())).collect();
        let script = Script::new(plan, view, kinds, vocabulary, next_label());
        let planned = Self {
            dead,
            actions,
            stream: Stream::new(seed, "faults"),
            cuts: Vec::new(),
            has_crashes_on: !plan.crashes_on.is_empty(),
            died: Vec::new(),
            slow,
            fired: vec![0; plan.labels().len()],
            intervened: vec![false; interventions],
            run_out: if plan.drifts.is_empty() { Vec::new() } else { vec![0; view.len()] },
            touch_messages: !plan.partitions.is_empty()
                || !plan.loss.is_zero()
                || !plan.duplicate.is_zero()
                || script.has_messages(),
            script,
            has_duplicates: !plan.duplicate.is_zero(),
        };
        (times, planned)
    }

    /// A timer ran out by the clock of that process.
    pub fn count_timer(&mut self, seat: Seat) {
        if let Some(count) = self.run_out.get_mut(seat.index()) {
            *count += 1;
        }
    }

    /// How often each of them did something. A drift did with every timer that ran out by that
    /// clock, and each time that it was `read`, by seat.
    pub fn told(
        &self,
        plan: &FaultPlan,
        interventions: &[Intervention],
        view: &View,
        read: &[u64],
    ) -> Vec<FiredFault> {
        let faults = plan.labels().into_iter().zip(&self.fired);
        let faults = faults.map(|(label, &count)| FiredFault { label, count });
        let interventions = interventions.iter().zip(&self.intervened);
        let interventions = interventions.map(|(intervention, &has_changed)| FiredFault {
            label: format!("intervene {intervention}"),
            count: u64::from(has_changed),
        });
        let drifts = plan.drifts.iter().map(|drift| {
            let of = |counts: &[u64]| Some(*counts.get(view.seat(drift.process)?.index())?);
            let count = of(&self.run_out).unwrap_or(0) + of(read).unwrap_or(0);
            FiredFault { label: format!("drift {drift}"), count }
        });
        faults.chain(interventions).chain(drifts).collect()
    }

    /// Something was said to that process, or by it: the number of the action by which it dies of
    /// that, if it does.
    pub fn on_said(&mut self, seat: Seat, said: &Said) -> Option<usize> {
        let label = self.script.on_said(seat, said)?;
        self.actions.push(Action::CrashOn { seat, label });
        Some(self.actions.len() - 1)
    }

    /// The label under which it is dead from the start, if it is.
    pub fn dead(&self, seat: Seat) -> Option<usize> {
        self.dead.iter().find(|(dead, _)| *dead == seat).map(|&(_, label)| label)
    }

    /// An input waits for a slow process.
    pub fn count_slow(&mut self, seat: Seat) {
        if let Some(&(_, label)) = self.slow.iter().find(|(slow, _)| *slow == seat) {
            self.fired[label] += 1;
        }
    }

    /// A partition that is in the way, if one is. It is counted.
    pub fn cut_between(&mut self, from: Seat, to: Seat) -> Option<(usize, Crossing)> {
        let in_the_way = |cut: &&Cut| match (cut.sides[from.index()], cut.sides[to.index()]) {
            (Some(Side::Left), Some(Side::Right)) => true,
            (Some(Side::Right), Some(Side::Left)) => !cut.one_way,
            _ => false,
        };
        let cut = self.cuts.iter().find(in_the_way)?;
        self.fired[cut.label] += 1;
        Some((cut.partition, cut.crossing))
    }

    /// Loss and duplication have the last labels, in this order.
    pub fn count_loss(&mut self) {
        let label = self.fired.len() - 1 - usize::from(self.has_duplicates);
        self.fired[label] += 1;
    }

    pub fn count_duplicate(&mut self) {
        let label = self.fired.len() - 1;
        self.fired[label] += 1;
    }
}
