//! A small run of a plan, weighed.

use alloc::vec;
use alloc::vec::Vec;

use conclave_algorithms::catalogue::{self, Entry, Listed, SeatingError, Visitor};
use conclave_algorithms::quorum::Construction;
use conclave_core::mutex::Locks;
use conclave_core::{ProcessId, Seat, View};
use conclave_observe::trace::Record;
use conclave_observe::{Observed, Time};
use conclave_sim::{
    Application, FaultPlan, Recording, Simulation, Workload, bytes_per_message, bytes_per_timer,
};

use super::weigher::{Weight, weigh};
use crate::family::Playable;
use crate::plan::Plan;

/// What a small run of a plan took, at its most.
#[derive(Clone, Debug)]
pub struct Trial {
    /// How many asked or took part.
    pub n: f64,
    /// Bytes that all states together kept on the heap.
    pub heap: f64,
    /// How many sets of seats they had.
    pub sets: f64,
    /// Messages on their way.
    pub messages: f64,
    /// What such a message keeps on the heap.
    message_heap: f64,
    /// What else it takes.
    message_size: f64,
    /// Timers that were set.
    pub timers: f64,
    /// What one takes.
    pub bytes_per_timer: f64,
    /// What is kept of a process, whatever it does.
    pub bytes_per_process: f64,
    /// Bytes of all voting sets.
    pub votes: f64,
    /// Bytes that were recorded, for each [unit of length](Plan::length).
    pub records: f64,
}

/// A trial ends after so many events: it has shown by then what it takes.
const EVENTS_MAX: u64 = 200_000;
/// So many take part in the first trial, and twice as many in the second.
const SMALL: usize = 32;
/// Fewer entries than that do not let everybody of a trial ask.
const FEW_ENTRIES: u64 = 2 * SMALL as u64;

impl Trial {
    /// With how many processes the two trials of a plan are run.
    pub fn sizes(plan: &Plan) -> (usize, usize) {
        let (small, large) = match plan.construction {
            // Planes there are only of these numbers.
            Construction::Plane if plan.entry.needs.voting_sets => (31, 57),
            _ => (SMALL, 2 * SMALL),
        };
        match plan.clients.len() {
            n if n <= large => (n, n),
            _ => (small, large),
        }
    }

    /// Runs a plan with no more than `n` processes.
    pub fn run(plan: &Plan, n: usize) -> Result<Self, SeatingError> {
        let plan = plan.scaled(n);
        let view = plan.entry.view_of(&plan.clients)?;
        let seating = plan.seating(&view);
        let votes = match plan.entry.needs.voting_sets {
            true => seating.voting_sets()?.size().mean * view.len() as f64 * 4.0,
            false => 0.0,
        };
        let trial = catalogue::visit(plan.entry, &seating, Weighed { plan: &plan, view: &view })?;
        Ok(Self { votes, ..trial })
    }

    /// What a message on its way takes.
    pub fn bytes_per_message(&self) -> f64 {
        self.message_size + self.message_heap
    }
}

impl Plan {
    /// How long a run is, in what it is measured by: entries, or else itself.
    pub(super) fn length(&self, n: usize) -> f64 {
        if !self.entry.is_of::<Locks>() {
            return 1.0;
        }
        let is_usual = self.entries == self.default_entries();
        let per_process = self.entries as f64 / self.clients.len() as f64;
        if is_usual { per_process * n as f64 } else { self.entries as f64 }
    }

    /// How many entries a trial of `n` processes has. Those of a run that has few are the same few
    /// in both trials.
    fn trial_entries(&self, n: usize) -> u64 {
        match self.entries {
            0..=FEW_ENTRIES => self.entries.min(SMALL as u64),
            entries => entries.min(2 * n as u64),
        }
    }

    /// Which part of those who asked at once in a trial, had it been of `n` processes, do so here:
    /// nobody asks for more entries than there are to be.
    pub(super) fn share(&self, n: usize) -> f64 {
        let is_lock = self.entry.is_of::<Locks>();
        match self.entries {
            _ if !is_lock => 1.0,
            0..=FEW_ENTRIES => self.entries as f64 / self.trial_entries(n) as f64,
            entries => (entries as f64 / n as f64).min(1.0),
        }
    }

    /// This plan with `n` processes, evenly chosen; and shorter, if it is long.
    fn scaled(&self, n: usize) -> Self {
        let mut plan = self.clone();
        let (members, all) = (self.clients.members(), self.clients.len());
        // Of distinct ids, some are distinct.
        let chosen = (0..n).map(|index| members[index * all / n]);
        plan.clients = View::new(chosen).unwrap_or_else(|_| View::dense(1, 1));
        let stand_in = |id: ProcessId| match self.clients.seat(id) {
            Some(seat) => plan.clients.at(Seat::at((seat.index() * n / all).min(n - 1))),
            None => id,
        };
        plan.calls = self.calls.iter().map(|&(id, at)| (stand_in(id), at)).collect();
        plan.steps.iter_mut().for_each(|it| {
            (it.process, it.to) = (stand_in(it.process), it.to.map(stand_in));
        });
        plan.faults = faults(&self.faults, stand_in);
        plan.holder = self.holder.map(stand_in);
        plan.workload = match &self.workload {
            Workload::Script(requests) => {
                let mut requests = requests.clone();
                requests.iter_mut().for_each(|it| it.process = stand_in(it.process));
                Workload::Script(requests)
            }
            // As many ask in a second as will in the large run.
            &Workload::Think { mean } => {
                Workload::Think { mean: Time((mean.0 / all as u64).max(1) * n as u64) }
            }
            &Workload::Greedy { who, mean } => {
                let mean = Time((mean.0 / all as u64).max(1) * n as u64);
                Workload::Greedy { who: stand_in(who), mean }
            }
            other => other.clone(),
        };
        // They are of few, and need no more than if all asked all.
        if plan.own_sets.take().is_some() {
            plan.construction = Construction::All;
        }
        plan.interventions.clear();
        plan.clocks.clear();
        plan.entries = self.trial_entries(n);
        plan.limits.events = plan.limits.events.min(EVENTS_MAX);
        plan.recording = Recording::Everything;
        plan.check_invariants = false;
        plan
    }
}

/// These faults for the processes that stand in for others; without those that only lose messages.
fn faults(all: &FaultPlan, stand_in: impl Fn(ProcessId) -> ProcessId) -> FaultPlan {
    let mut faults = all.clone();
    faults.partitions.clear();
    faults.loss = FaultPlan::default().loss;
    faults.dead.iter_mut().for_each(|id| *id = stand_in(*id));
    faults.crashes.iter_mut().for_each(|it| it.process = stand_in(it.process));
    let backs = faults.returns.iter_mut().chain(&mut faults.replacements);
    backs.for_each(|it| it.process = stand_in(it.process));
    faults.pauses.iter_mut().for_each(|it| it.process = stand_in(it.process));
    faults.slow.iter_mut().for_each(|it| it.process = stand_in(it.process));
    faults.drifts.iter_mut().for_each(|it| it.process = stand_in(it.process));
    faults
}

struct Weighed<'a> {
    plan: &'a Plan,
    view: &'a View,
}

impl<F: Playable> Visitor<F> for Weighed<'_> {
    type Output = Trial;

    fn visit<P>(self, entry: &'static Entry, configs: Vec<P::Config>) -> Trial
    where
        P: Listed<Family = F>,
    {
        let Self { plan, view } = self;
        let openings = F::openings(plan, view);
        let setup = plan.setup::<P>(view, &configs, &openings);
        let application = F::application(plan, view, entry.clients(view));
        let mut run = Simulation::new(&setup, application);
        let mut scales = Scales::new(&run);
        while run.step().is_none() {
            scales.look_at(&run);
        }
        let (end, is_cut) = (run.now(), run.events() >= plan.limits.events);
        let outcome = run.cut_short();
        let recorded: usize = outcome.records.iter().map(bytes).sum();
        let entered = outcome.report.locks().map(|locks| locks.delays.entries().max(1) as f64);
        let rest = match is_cut && end > Time::ZERO {
            true => (plan.until.0 as f64 / end.0 as f64).max(1.0),
            false => 1.0,
        };
        let fixed = size_of::<P>() + size_of::<P::Config>() + size_of::<P::Stored>();
        Trial {
            n: plan.clients.len() as f64,
            heap: scales.most.heap as f64,
            sets: scales.most.sets as f64,
            messages: scales.messages as f64,
            message_heap: scales.message_heap,
            message_size: bytes_per_message::<P>(plan.network) as f64,
            timers: scales.timers as f64,
            bytes_per_timer: bytes_per_timer::<P>() as f64,
            bytes_per_process: fixed as f64,
            votes: 0.0,
            records: recorded as f64 * entered.map_or(rest, f64::recip),
        }
    }
}

/// What was seen of a run at its heaviest.
struct Scales {
    /// By seat: what its process weighs now.
    weights: Vec<Weight>,
    all: Weight,
    most: Weight,
    messages: usize,
    /// What a message kept on the heap, on average, when they were weighed last.
    message_heap: f64,
    weighed_at: usize,
    timers: usize,
    seen: usize,
}

impl Scales {
    fn new<P, A>(run: &Simulation<'_, P, A>) -> Self
    where
        P: Observed + Listed,
        A: Application<P::Family>,
    {
        let members = run.view().len();
        let nothing = Weight::default();
        let mut scales = Self {
            weights: vec![nothing; members],
            all: nothing,
            most: nothing,
            messages: 0,
            message_heap: 0.0,
            weighed_at: 0,
            timers: 0,
            seen: 0,
        };
        (0..members).for_each(|seat| scales.put(run, Seat::at(seat)));
        scales.look_at(run);
        scales
    }

    /// Weighs whoever has taken a step, and what is on its way.
    fn look_at<P, A>(&mut self, run: &Simulation<'_, P, A>)
    where
        P: Observed + Listed,
        A: Application<P::Family>,
    {
        let mut seats: Vec<Seat> =
            run.records()[self.seen..].iter().map(|it| it.event.seat).collect();
        seats.dedup();
        seats.into_iter().for_each(|seat| self.put(run, seat));
        self.seen = run.records().len();
        let load = run.load();
        self.messages = self.messages.max(load.messages);
        self.timers = self.timers.max(load.timers);
        // All of them at once are many: it is enough to weigh them now and then.
        if load.messages > self.weighed_at + self.weighed_at / 8 {
            let heap: u64 = run.messages().into_iter().map(|it| weigh(it).heap).sum();
            self.message_heap = heap as f64 / load.messages as f64;
            self.weighed_at = load.messages;
        }
    }

    fn put<P, A>(&mut self, run: &Simulation<'_, P, A>, seat: Seat)
    where
        P: Observed + Listed,
        A: Application<P::Family>,
    {
        let now = run.process(seat).map(weigh).unwrap_or_default();
        self.all = self.all - self.weights[seat.index()] + now;
        self.weights[seat.index()] = now;
        self.most.heap = self.most.heap.max(self.all.heap);
        self.most.sets = self.most.sets.max(self.all.sets);
    }
}

/// What a recorded event takes.
fn bytes(record: &Record) -> usize {
    let text = record.text.as_ref().map_or(0, |text| text.len() + ALLOCATION);
    let rules = match record.rules.len() {
        0 => 0,
        rules => rules * size_of_val(&record.rules[0]) + ALLOCATION,
    };
    let after = record.after.as_ref().map_or(0, |after| {
        let timers: usize =
            after.timers.iter().map(|it| size_of_val(it) + it.name.len() + ALLOCATION).sum();
        size_of_val(&**after) + after.state.len() + timers + 2 * ALLOCATION
    });
    size_of::<Record>() + text + rules + after
}

/// What an allocation costs beside what is in it.
const ALLOCATION: usize = 16;
