//! A recorded run, taken again: the real processes go through every step that a trace tells of, and
//! must do what it says they did.
//!
//! The trace decides what happens next: which message arrives, which timer runs out, who crashes.
//! Its times only order; a timer may run out at any time after it was set. So this takes any run
//! that keeps the promises of a runner, not only those of this simulator.

mod difference;
mod state;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use conclave_core::clock::Timestamp;
use conclave_core::{Arrival, Effect, Effects, Fence, Input, Message, ProcessId, Protocol, Seat};
use conclave_core::{Start, View};
use conclave_observe::trace::{Record, Trace};
use conclave_observe::{Askable, Ending, Judge, JudgeOrdering, Observable, Time, WaitGraph, What};

pub use difference::ReplayError;
use difference::{Differ, deed};
use state::{Due, Flight, Snapshot, World};

use crate::{Drift, FaultPlan, Outcome, Rate};

/// What it takes to start the same processes again.
#[derive(Clone, Debug)]
pub struct Replay<'a, P: Protocol> {
    /// Who takes part: the members of the trace.
    pub view: &'a View,
    /// What they agreed on.
    pub config: &'a P::Config,
    /// What logical clocks show first, where it is not 0.
    pub clocks: &'a [(ProcessId, Timestamp)],
    /// Who is in from the start.
    pub holder: Option<ProcessId>,
    /// What the clocks of the processes show.
    pub readings: Readings<'a>,
    /// Whether happened-before is judged.
    pub ordering: JudgeOrdering,
}

/// What the clocks of the processes show.
#[derive(Clone, Copy, Debug)]
pub enum Readings<'a> {
    /// Always 0: in that run, time meant nothing.
    Stopped,
    /// The time of the trace, but for clocks that run too fast or too slow.
    Running(&'a [Drift]),
}

/// Takes the run again. What comes of it has the trace's records, with all texts and rules. `Err`
/// says where the processes do something else.
pub fn replay<P>(setup: &Replay<'_, P>, trace: &Trace) -> Result<Outcome, ReplayError>
where
    P: Protocol<Command: Askable, Notice: Observable>,
{
    if setup.view.members() != trace.header.members {
        return Err(ReplayError::Members);
    }
    let mut player = Player::new(setup, trace);
    let mut next = player.begin()?;
    while next < trace.records.len() {
        next = player.step(next)?;
    }
    player.close_loop()?;
    Ok(player.finish())
}

struct Player<'a, P: Protocol> {
    setup: &'a Replay<'a, P>,
    trace: &'a Trace,
    world: World<P>,
    /// By seat: how fast its clock runs.
    rates: Vec<Rate>,
    settings: u64,
    out: Effects<P>,
    /// The records with all that the processes say of themselves.
    records: Vec<Record>,
    /// What was said, by the index of its record.
    contents: BTreeMap<usize, P::Message>,
    inside: BTreeSet<Seat>,
    steps: u64,
    /// How all was when the loop began.
    loop_start: Option<Snapshot<P>>,
}

/// Something that a step does and that can be seen.
enum Deed<P: Protocol> {
    Says { to: Seat, message: P::Message, copy: bool },
    Tells(What),
}

impl<'a, P> Player<'a, P>
where
    P: Protocol<Command: Askable, Notice: Observable>,
{
    fn new(setup: &'a Replay<'a, P>, trace: &'a Trace) -> Self {
        let rates = match setup.readings {
            Readings::Stopped => vec![Rate::REAL; setup.view.len()],
            Readings::Running(drifts) => {
                FaultPlan { drifts: drifts.to_vec(), ..FaultPlan::NONE }.rates(setup.view)
            }
        };
        Self {
            setup,
            trace,
            world: World::new(setup.view.len()),
            rates,
            settings: 0,
            out: Effects::explained(),
            records: trace.records.clone(),
            contents: BTreeMap::new(),
            inside: BTreeSet::new(),
            steps: 0,
            loop_start: None,
        }
    }

    /// Starts everybody, seat by seat; whoever is dead from the start is shown to crash instead.
    fn begin(&mut self) -> Result<usize, ReplayError> {
        let mut next = 0;
        for seat in (0..self.setup.view.len()).map(Seat::at) {
            while self.is_fate(next) {
                next = self.step(next)?;
            }
            let is_dead = self.trace.records.get(next).is_some_and(|record| {
                let event = &record.event;
                (event.at, event.seat, event.what) == (Time::ZERO, seat, What::Crashed)
            });
            if is_dead {
                next += 1;
                continue;
            }
            let deeds = self.start(Time::ZERO, seat, Arrival::Founding);
            self.out.take_rules();
            next = self.follow(next, seat, deeds)?;
        }
        if let Some(holder) = self.setup.holder.and_then(|id| self.setup.view.seat(id)) {
            let entered = Deed::Tells(What::Entered { fence: Fence::default() });
            next = self.follow(next, holder, [entered].into())?;
        }
        Ok(next)
    }

    /// Takes the step that begins with the record of that index; says which record comes after it.
    fn step(&mut self, index: usize) -> Result<usize, ReplayError> {
        if self.trace.header.repeats_from == Some(index as u64) {
            if self.world.is_within_step() {
                return Err(self.differ(index, "a loop cannot begin before that is taken in"));
            }
            self.loop_start = Some(self.world.snapshot());
        }
        let event = self.trace.records[index].event;
        let (seat, at) = (event.seat, event.at);
        let deeds = match event.what {
            What::Lost { .. } | What::Duplicated { .. } => {
                self.fate(index)?;
                return Ok(index + 1);
            }
            What::Paused => {
                self.world.paused.insert(seat);
                VecDeque::new()
            }
            What::Resumed => {
                self.world.paused.remove(&seat);
                VecDeque::new()
            }
            What::Cut { partition, side } => {
                self.world.cuts.insert((partition, seat), side);
                VecDeque::new()
            }
            What::Healed { partition } => {
                self.world.cuts.remove(&(partition, seat));
                VecDeque::new()
            }
            What::WaitsFor { whom } => {
                let whom = self.setup.view.at(whom);
                let process = self.world.processes[seat.index()].as_ref();
                if !process.is_some_and(|process| process.waits_for().contains(&whom)) {
                    return Err(self.differ(index, "it does not wait for that one"));
                }
                return Ok(index + 1);
            }
            What::Received { from, .. } if from == seat => self.receive_from_self(index)?,
            _ if !self.world.to_self[seat.index()].is_empty() => {
                return Err(self.differ(index, "it first takes in what it said to itself"));
            }
            What::Received { .. } => self.receive(index)?,
            What::TimerFired => self.time_out(index)?,
            What::Crashed => {
                if self.world.processes[seat.index()].is_none() {
                    return Err(self.differ(index, "it is down already"));
                }
                self.world.crash(seat);
                self.inside.remove(&seat);
                VecDeque::new()
            }
            What::Returned | What::Replaced => {
                if self.world.processes[seat.index()].is_some() {
                    return Err(self.differ(index, "it is not down"));
                }
                if event.what == What::Replaced {
                    self.world.stored[seat.index()] = None;
                }
                let deeds = self.start(at, seat, Arrival::Returning);
                self.explain(index);
                deeds
            }
            what => match P::Command::asked(what) {
                Some(command) => self.input(index, Input::Command(command))?,
                None => return Err(self.differ(index, "it does nothing more")),
            },
        };
        self.steps += 1;
        self.follow(index + 1, seat, deeds)
    }

    fn start(&mut self, at: Time, seat: Seat, arrival: Arrival) -> VecDeque<Deed<P>> {
        self.out.set_now(self.clock(seat, at));
        let me = self.setup.view.at(seat);
        let clock = self.setup.clocks.iter().find(|(id, _)| *id == me);
        let stored = self.world.stored[seat.index()].clone();
        let start = Start {
            me,
            view: self.setup.view,
            holder: self.setup.holder.filter(|_| arrival == Arrival::Founding),
            clock: clock.map(|&(_, time)| time).unwrap_or_default(),
            arrival,
            stored: stored.as_ref(),
            config: self.setup.config,
        };
        let process = P::start(start, &mut self.out);
        self.world.processes[seat.index()] = Some(process);
        self.perform(at, seat)
    }

    fn clock(&self, seat: Seat, at: Time) -> u64 {
        match self.setup.readings {
            Readings::Stopped => 0,
            Readings::Running(_) => self.rates[seat.index()].clock_at(at),
        }
    }

    /// The one place where a process takes a step.
    fn input(&mut self, index: usize, input: Input<P>) -> Result<VecDeque<Deed<P>>, ReplayError> {
        let event = self.trace.records[index].event;
        self.out.set_now(self.clock(event.seat, event.at));
        let Some(process) = &mut self.world.processes[event.seat.index()] else {
            return Err(self.differ(index, "it is down"));
        };
        process.on(input, &mut self.out);
        self.explain(index);
        Ok(self.perform(event.at, event.seat))
    }

    /// Keeps the rules that fired.
    fn explain(&mut self, index: usize) {
        let rules = self.out.take_rules();
        self.records[index].rules = rules.into_iter().map(Cow::Borrowed).collect();
    }

    /// Performs what cannot be seen of a step, and hands out what can.
    fn perform(&mut self, at: Time, seat: Seat) -> VecDeque<Deed<P>> {
        let effects: Vec<_> = self.out.drain().collect();
        for effect in &effects {
            match effect {
                Effect::SetTimer { timer, after, .. } => {
                    self.settings += 1;
                    let after = self.rates[seat.index()].real(Time::of(*after));
                    let due = Due { at: at + after, setting: self.settings };
                    self.world.timers.insert((seat, *timer), due);
                }
                Effect::CancelTimer(timer) => drop(self.world.timers.remove(&(seat, *timer))),
                Effect::Persist(stored) => {
                    self.world.stored[seat.index()] = Some(stored.clone());
                }
                Effect::Send { .. } | Effect::Notify(_) => {}
            }
        }
        self.deeds(seat, effects)
    }

    /// What can be seen of a step.
    fn deeds(&self, seat: Seat, effects: impl IntoIterator<Item = Effect<P>>) -> VecDeque<Deed<P>> {
        let mut deeds = VecDeque::new();
        // A multicast is one transmission, however many copies leave this process.
        let mut copy = false;
        for effect in effects {
            match effect {
                Effect::Send { to, message, continues } => {
                    let Some(to) = self.setup.view.seat(to) else { continue };
                    copy &= continues;
                    deeds.push_back(Deed::Says { to, message, copy });
                    copy |= to != seat;
                }
                Effect::Notify(notice) => {
                    deeds.extend(notice.what(self.setup.view).map(Deed::Tells));
                }
                Effect::SetTimer { .. } | Effect::CancelTimer(_) | Effect::Persist(_) => {}
            }
        }
        deeds
    }

    /// Goes on through the records for as long as they are what the step does.
    fn follow(
        &mut self,
        mut next: usize,
        seat: Seat,
        deeds: VecDeque<Deed<P>>,
    ) -> Result<usize, ReplayError> {
        for deed in deeds {
            while self.is_fate(next) {
                if self.trace.header.repeats_from == Some(next as u64) {
                    return Err(self.differ(next, "that is in the middle of a step"));
                }
                self.fate(next)?;
                next += 1;
            }
            if !self.is_told(&deed, seat, next) {
                return Err(self.differ_by(next, seat, &deed));
            }
            self.keep(deed, seat, next)?;
            next += 1;
        }
        Ok(next)
    }

    /// Whether the record tells of that deed.
    fn is_told(&self, deed: &Deed<P>, seat: Seat, index: usize) -> bool {
        let Some(Record { event, text, .. }) = self.trace.records.get(index) else { return false };
        event.seat == seat
            && match (deed, event.what) {
                (&Deed::Tells(told), what) => told == what,
                (
                    Deed::Says { to, message, copy },
                    What::Sent { to: there, kind, copy: one, .. },
                ) => {
                    (*to, *copy) == (there, one)
                        && self.is_of_kind(message, kind)
                        && text.as_ref().is_none_or(|text| *text == format!("{message:?}"))
                }
                _ => false,
            }
    }

    fn is_of_kind(&self, message: &P::Message, kind: u8) -> bool {
        let named = self.trace.header.kinds.get(usize::from(kind));
        named.is_some_and(|named| named.name == P::Message::KINDS[usize::from(message.kind())].name)
    }

    fn keep(&mut self, deed: Deed<P>, seat: Seat, index: usize) -> Result<(), ReplayError> {
        match (deed, self.trace.records[index].event.what) {
            (Deed::Says { to, message, .. }, What::Sent { message: id, .. }) => {
                self.records[index].text = Some(format!("{message:?}"));
                self.contents.insert(index, message.clone());
                if !self.world.send(id, Flight { from: seat, to, message, copies: 1 }) {
                    return Err(self.differ(index, "a message of that number is on its way"));
                }
            }
            (_, What::Entered { .. }) => drop(self.inside.insert(seat)),
            (_, What::Left) => drop(self.inside.remove(&seat)),
            _ => {}
        }
        Ok(())
    }

    /// Whether the record tells what becomes of a message, which is no step of a process.
    fn is_fate(&self, index: usize) -> bool {
        let what = self.trace.records.get(index).map(|record| record.event.what);
        matches!(what, Some(What::Lost { .. } | What::Duplicated { .. }))
    }

    fn fate(&mut self, index: usize) -> Result<(), ReplayError> {
        let event = self.trace.records[index].event;
        let known = match event.what {
            What::Lost { message, to, .. } => self.world.take(message, event.seat, to).is_some(),
            What::Duplicated { message, to } => self.world.double(message, event.seat, to),
            _ => true,
        };
        if known { Ok(()) } else { Err(self.differ(index, "no such message is on its way")) }
    }

    fn receive(&mut self, index: usize) -> Result<VecDeque<Deed<P>>, ReplayError> {
        let event = self.trace.records[index].event;
        let What::Received { message: id, from, .. } = event.what else {
            return Ok(VecDeque::new());
        };
        match self.world.take(id, from, event.seat) {
            Some(message) => self.take_in(index, from, message),
            None => Err(self.differ(index, "no such message is on its way")),
        }
    }

    fn receive_from_self(&mut self, index: usize) -> Result<VecDeque<Deed<P>>, ReplayError> {
        let event = self.trace.records[index].event;
        let first = self.world.to_self[event.seat.index()].pop_front();
        match (first, event.what) {
            (Some((said, message)), What::Received { message: id, .. }) if said == id => {
                self.take_in(index, event.seat, message)
            }
            _ => Err(self.differ(index, "that is not what it said to itself next")),
        }
    }

    fn take_in(
        &mut self,
        index: usize,
        from: Seat,
        message: P::Message,
    ) -> Result<VecDeque<Deed<P>>, ReplayError> {
        let (record, said) = (&self.trace.records[index], format!("{message:?}"));
        let is_same = record.text.as_ref().is_none_or(|text| *text == said);
        let is_of_kind = |kind| self.is_of_kind(&message, kind);
        if !is_same || !matches!(record.event.what, What::Received { kind, .. } if is_of_kind(kind))
        {
            return Err(self.differ(index, &format!("what was sent is {said}")));
        }
        self.records[index].text = Some(said);
        let from = self.setup.view.at(from);
        self.input(index, Input::Message { from, message })
    }

    /// A timer runs out: the one that the record names, or else the first to be due of those that
    /// would have the process do what the trace goes on to say.
    fn time_out(&mut self, index: usize) -> Result<VecDeque<Deed<P>>, ReplayError> {
        let record = &self.trace.records[index];
        let seat = record.event.seat;
        let timers = self.world.timers_of(seat);
        let found = match &record.text {
            Some(name) => timers.iter().find(|timer| format!("{timer:?}") == *name),
            None if timers.len() == 1 => timers.first(),
            None => timers.iter().find(|&&timer| self.would_fit(index, timer)),
        };
        let Some(&timer) = found else {
            let set: Vec<_> = timers.iter().map(|timer| format!("{timer:?}")).collect();
            let set = if set.is_empty() { "none".into() } else { set.join(", ") };
            return Err(self.differ(index, &format!("of its timers are set and would fit: {set}")));
        };
        self.world.timers.remove(&(seat, timer));
        self.records[index].text = Some(format!("{timer:?}"));
        self.input(index, Input::Timer(timer))
    }

    /// Whether the trace goes on as if that timer had run out.
    fn would_fit(&self, index: usize, timer: P::Timer) -> bool {
        let event = self.trace.records[index].event;
        let Some(mut process) = self.world.processes[event.seat.index()].clone() else {
            return false;
        };
        let mut out = Effects::new();
        out.set_now(self.clock(event.seat, event.at));
        process.on(Input::Timer(timer), &mut out);
        let mut rest = (index + 1..self.trace.records.len()).filter(|&next| !self.is_fate(next));
        let mut deeds = self.deeds(event.seat, out.drain()).into_iter();
        let is_told = |deed: Deed<P>, next| self.is_told(&deed, event.seat, next);
        deeds.all(|deed| rest.next().is_some_and(|next| is_told(deed, next)))
            && rest.next().is_none_or(|next| !difference::is_deed(&self.trace.records[next]))
    }

    fn close_loop(&self) -> Result<(), ReplayError> {
        let Some(ending) = self.trace.endless() else { return Ok(()) };
        if self.world.is_within_step() {
            return Err(ReplayError::LoopOpen("it ends in the middle of a step".into()));
        }
        if ending == Ending::Rests {
            return Ok(());
        }
        let start = self.loop_start.as_ref().ok_or(ReplayError::NoLoop)?;
        match start.difference(&self.world.snapshot(), self.setup.view) {
            Some(difference) => Err(ReplayError::LoopOpen(difference)),
            None => Ok(()),
        }
    }

    fn finish(self) -> Outcome {
        let trace = Trace { header: self.trace.header.clone(), records: self.records };
        let hear = |judge: &mut Judge, index| {
            if let Some(content) = self.contents.get(&index) {
                judge.on_content(content);
            }
        };
        let judge = trace.judge_with(P::Message::KINDS, self.setup.ordering, hear);
        // Whatever it tells: if nothing can come any more, whoever waits does so in vain.
        let is_stuck = self.world.is_quiet() && self.inside.is_empty();
        let ending = match trace.ending(&judge) {
            Ending::BudgetSpent if is_stuck => Ending::Quiet,
            ending => ending,
        };
        let view = self.setup.view;
        let waits_for = |process: &Option<P>| {
            let whom = process.as_ref().map(P::waits_for).unwrap_or_default();
            whom.into_iter().filter_map(|id| view.seat(id)).collect()
        };
        let graph = WaitGraph::new(self.world.processes.iter().map(waits_for).collect());
        let diagnosis = (ending == Ending::Quiet).then(|| graph.diagnose(&judge)).flatten();
        Outcome {
            report: judge.finish(ending),
            faults: Vec::new(),
            diagnosis,
            records: trace.records,
            events: self.steps,
        }
    }

    fn differ(&self, index: usize, instead: &str) -> ReplayError {
        Differ { view: self.setup.view, trace: self.trace }.at(index, instead)
    }

    /// The step goes on otherwise.
    fn differ_by(&self, index: usize, seat: Seat, does: &Deed<P>) -> ReplayError {
        let view = self.setup.view;
        let does = match does {
            Deed::Says { to, message, copy } => {
                let copy = if *copy { ", as one more copy" } else { "" };
                format!("sends {message:?} to {}{copy}", view.at(*to))
            }
            Deed::Tells(what) => deed(*what, None, view),
        };
        Differ { view, trace: self.trace }.by(index, view.at(seat), &does)
    }
}
