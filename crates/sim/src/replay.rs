//! A recorded run, taken again: the real processes go through every step that a trace tells of, and
//! must do what it says they did.
//!
//! The trace decides what happens next: which message arrives, which timer runs out, who crashes.
//! Its times only order; a timer may run out at any time after it was set. So this takes any run
//! that keeps the promises of a runner, not only those of this simulator.

mod difference;
mod state;

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use core::time::Duration;

use conclave_core::tamper::Anybody;
use conclave_core::{
    Arrival, Due, Environment, Family, Host, Input, Message, NoticeOf, OpeningOf, Protocol, Seat,
    Start, View,
};
use conclave_observe::trace::{Record, Standing, Trace};
use conclave_observe::{
    Ending, Judge, JudgeOrdering, Observed, Part, Spoken, Time, WaitGraph, What,
};

pub use difference::ReplayError;
use difference::{Differ, deed};
use state::{SetTimer, Snapshot, World};

use crate::{Drift, FaultPlan, Outcome, Rate, Show};

/// What it takes to start the same processes again.
#[derive(Clone, Debug)]
pub struct Replay<'a, P: Protocol> {
    /// Who takes part: the members of the trace.
    pub view: &'a View,
    /// By seat: what each knows before it starts.
    pub configs: &'a [P::Config],
    /// By seat: what is known already as the run begins; empty if nothing is.
    pub openings: &'a [OpeningOf<P>],
    /// Who tampered with the processes, if somebody did.
    pub tamper: Option<Anybody<P>>,
    /// What the times of the trace mean.
    pub clocks: Clocks<'a>,
    /// Whether happened-before is judged.
    pub ordering: JudgeOrdering,
    /// How the state of a process is shown, if the states of the trace are to be compared.
    pub show: Option<Show<P>>,
}

/// What the times of a trace mean to the clocks of its processes.
#[derive(Clone, Copy, Debug)]
pub enum Clocks<'a> {
    /// Nothing: they only order what happens, and a timer or deadline may be due at any time. A
    /// process that reads its clock cannot be taken again.
    Absent,
    /// The time of the trace is what they show, but for clocks that run too fast or too slow.
    Running(&'a [Drift]),
}

/// Takes the run again. What comes of it has the trace's records, with all texts and rules. `Err`
/// says where the processes do something else.
pub fn replay<P>(setup: &Replay<'_, P>, trace: &Trace) -> Result<Outcome, ReplayError>
where
    P: Observed,
{
    if P::READS_CLOCK && matches!(setup.clocks, Clocks::Absent) {
        return Err(ReplayError::NoClock);
    }
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
    host: Host<P>,
    /// The records with all that the processes say of themselves.
    records: Vec<Record>,
    /// By the index of its record: the place of what was said in the list of all messages.
    contents: BTreeMap<usize, usize>,
    steps: u64,
    /// How all was when the loop began.
    loop_start: Option<Snapshot<P>>,
}

/// What a step does, in order.
enum StepPart<P: Protocol> {
    Says {
        to: Seat,
        message: P::Message,
        copy: bool,
    },
    /// It takes in what it said to itself.
    TakesOwn(P::Message),
    Tells(What),
    /// These rules fired; not to be seen.
    Follows(Vec<&'static str>),
    /// It sets a timer; not to be seen.
    Sets(P::Timer, Due),
    /// It cancels a timer; not to be seen.
    Cancels(P::Timer),
    /// It persists this; not to be seen.
    Keeps(P::Stored),
}

/// A world that notes what a step does in it, so that it can be compared before it is done.
struct Notes<'a, P: Protocol> {
    view: &'a View,
    seat: Seat,
    reading: Option<Duration>,
    parts: VecDeque<StepPart<P>>,
}

impl<P: Observed> Environment<P> for Notes<'_, P> {
    fn view(&self) -> &View {
        self.view
    }

    fn seat(&self) -> Seat {
        self.seat
    }

    fn reading(&self) -> Option<Duration> {
        self.reading
    }

    fn stepped(&mut self, _: &P, rules: Vec<&'static str>) {
        self.parts.push_back(StepPart::Follows(rules));
    }

    fn send(&mut self, to: Seat, message: P::Message, copy: bool) {
        self.parts.push_back(StepPart::Says { to, message, copy });
    }

    fn send_own(&mut self, message: &P::Message, copy: bool) {
        self.parts.push_back(StepPart::Says { to: self.seat, message: message.clone(), copy });
    }

    fn take_own(&mut self, message: &P::Message) {
        self.parts.push_back(StepPart::TakesOwn(message.clone()));
    }

    fn notify(&mut self, notice: NoticeOf<P>) {
        let said = P::Family::told(&notice, self.view);
        self.parts.extend(said.map(|said| StepPart::Tells(What::Told(said))));
    }

    fn set_timer(&mut self, timer: P::Timer, due: Due) {
        self.parts.push_back(StepPart::Sets(timer, due));
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.parts.push_back(StepPart::Cancels(timer));
    }

    fn persist(&mut self, stored: P::Stored) {
        self.parts.push_back(StepPart::Keeps(stored));
    }
}

impl<'a, P> Player<'a, P>
where
    P: Observed,
{
    fn new(setup: &'a Replay<'a, P>, trace: &'a Trace) -> Self {
        let rates = match setup.clocks {
            Clocks::Absent => vec![Rate::REAL; setup.view.len()],
            Clocks::Running(drifts) => {
                FaultPlan { drifts: drifts.to_vec(), ..FaultPlan::NONE }.rates(setup.view)
            }
        };
        Self {
            setup,
            trace,
            world: World::new(setup.view.len()),
            rates,
            settings: 0,
            host: Host::explained().tampered(setup.tamper.as_ref()),
            records: trace.records.clone(),
            contents: BTreeMap::new(),
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
            let parts = self.start(Time::ZERO, seat, Arrival::Founding);
            next = self.follow(None, next, seat, parts)?;
            let told = self.trace.header.starts.get(seat.index()).and_then(Option::as_ref);
            if let Some(state) = told.and_then(|told| self.other_state(seat, told)) {
                return Err(ReplayError::StartsOtherwise(self.setup.view.at(seat), state));
            }
        }
        let view = self.setup.view;
        for seat in (0..view.len()).map(Seat::at) {
            let told = P::Family::told_at_first(&self.opening(seat), view.at(seat));
            let said = told.and_then(|notice| P::Family::told(&notice, view));
            let parts = said.map(|said| StepPart::Tells(What::Told(said))).into_iter().collect();
            next = self.follow(None, next, seat, parts)?;
        }
        Ok(next)
    }

    /// Takes the step that begins with the record of that index; says which record comes after it.
    fn step(&mut self, index: usize) -> Result<usize, ReplayError> {
        if self.trace.header.repeats_from == Some(index as u64) {
            self.loop_start = Some(self.world.snapshot());
        }
        let event = self.trace.records[index].event;
        let (seat, at) = (event.seat, event.at);
        let parts = match event.what {
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
            What::Received { from, .. } if from == seat => {
                return Err(self.differ(index, "it has said nothing to itself"));
            }
            What::Received { .. } => self.receive(index)?,
            What::TimerFired => self.time_out(index)?,
            What::Crashed => {
                if self.world.processes[seat.index()].is_none() {
                    return Err(self.differ(index, "it is down already"));
                }
                self.world.crash(seat);
                VecDeque::new()
            }
            What::Returned | What::Replaced => {
                if self.world.processes[seat.index()].is_some() {
                    return Err(self.differ(index, "it is not down"));
                }
                if event.what == What::Replaced {
                    self.world.stored[seat.index()] = None;
                }
                self.start(at, seat, Arrival::Returning)
            }
            What::Asked(said) => match P::Family::command(&said, self.setup.view) {
                Some(command) => self.input(index, Input::Command(command))?,
                None => return Err(self.differ(index, "nobody can ask for that")),
            },
            What::Told(_) | What::Sent { .. } => {
                return Err(self.differ(index, "it does nothing more"));
            }
        };
        self.steps += 1;
        let next = self.follow(Some(index), index + 1, seat, parts)?;
        let last = &self.trace.records[next - 1];
        let told = last.after.as_deref().filter(|_| last.event.seat == seat);
        match told.and_then(|told| self.other_state(seat, told)) {
            Some(state) => Err(self.differ(next - 1, &format!("its state is then {state}"))),
            None => Ok(next),
        }
    }

    /// The state of that process, if it is not as it was told to be.
    fn other_state(&self, seat: Seat, told: &Standing) -> Option<String> {
        let state = self.setup.show?(self.world.processes[seat.index()].as_ref()?, self.setup.view);
        (state != told.state).then_some(state)
    }

    fn start(&mut self, at: Time, seat: Seat, arrival: Arrival) -> VecDeque<StepPart<P>> {
        let setup = self.setup;
        let (me, config) = (setup.view.at(seat), &setup.configs[seat.index()]);
        let stored = self.world.stored[seat.index()].clone();
        let start = match arrival {
            Arrival::Founding => {
                Start { opening: self.opening(seat), ..Start::founding(me, setup.view, config) }
            }
            Arrival::Returning => Start::returning(me, setup.view, config, stored.as_ref()),
        };
        let mut notes = self.notes(seat, at);
        let process = self.host.start(start, &mut notes);
        self.world.processes[seat.index()] = Some(process);
        notes.parts
    }

    fn opening(&self, seat: Seat) -> OpeningOf<P> {
        self.setup.openings.get(seat.index()).cloned().unwrap_or_default()
    }

    fn notes(&self, seat: Seat, at: Time) -> Notes<'a, P> {
        let clock = || Duration::from_nanos(self.rates[seat.index()].clock_at(at));
        let reading = matches!(self.setup.clocks, Clocks::Running(_)).then(clock);
        Notes { view: self.setup.view, seat, reading, parts: VecDeque::new() }
    }

    /// The one place where a process takes an input.
    fn input(
        &mut self,
        index: usize,
        input: Input<P>,
    ) -> Result<VecDeque<StepPart<P>>, ReplayError> {
        let event = self.trace.records[index].event;
        self.no_deadline_is_missed(index, &input)?;
        let mut notes = self.notes(event.seat, event.at);
        let Some(process) = &mut self.world.processes[event.seat.index()] else {
            return Err(self.differ(index, "it is down"));
        };
        self.host.take(process, input, &mut notes);
        Ok(notes.parts)
    }

    /// Where times mean something, a deadline that is due comes before any other input.
    fn no_deadline_is_missed(&self, index: usize, input: &Input<P>) -> Result<(), ReplayError> {
        if matches!(self.setup.clocks, Clocks::Absent) {
            return Ok(());
        }
        let event = self.trace.records[index].event;
        match self.world.first_deadline(event.seat, event.at) {
            Some(first) if !matches!(input, Input::Timer(timer) if *timer == first) => {
                Err(self.differ(index, &format!("its deadline {first:?} comes first")))
            }
            _ => Ok(()),
        }
    }

    /// Goes on through the records for as long as they are what the step does.
    /// Rules belong to the record of the `cause`, if it has one.
    fn follow(
        &mut self,
        mut cause: Option<usize>,
        mut next: usize,
        seat: Seat,
        parts: VecDeque<StepPart<P>>,
    ) -> Result<usize, ReplayError> {
        let at = |index: usize| self.trace.records.get(index).map(|record| record.event.at);
        let now = cause.and_then(at).unwrap_or(Time::ZERO);
        for deed in parts {
            match deed {
                StepPart::Follows(rules) => {
                    if let Some(index) = cause {
                        let rules = rules.into_iter().map(Cow::Borrowed).collect();
                        self.records[index].rules = rules;
                    }
                    continue;
                }
                StepPart::Sets(timer, due) => {
                    self.set_timer(now, seat, timer, due);
                    continue;
                }
                StepPart::Cancels(timer) => {
                    self.world.unset_timer(seat, timer);
                    continue;
                }
                StepPart::Keeps(stored) => {
                    self.world.stored[seat.index()] = Some(stored);
                    continue;
                }
                StepPart::Says { .. } | StepPart::TakesOwn(_) | StepPart::Tells(_) => {}
            }
            while self.is_fate(next) {
                if self.trace.header.repeats_from == Some(next as u64) {
                    return Err(self.differ(next, "that is in the middle of a step"));
                }
                self.fate(next)?;
                next += 1;
            }
            // A run that was stopped by its judge may end before that is taken in.
            // One without an end goes on, so it cannot.
            if matches!(deed, StepPart::TakesOwn(_)) && next == self.trace.records.len() {
                return match self.trace.endless() {
                    None => Ok(next),
                    Some(_) => {
                        let why = "it ends in the middle of a step";
                        Err(ReplayError::LoopOpen(why.into()))
                    }
                };
            }
            if !self.is_told(&deed, seat, next) {
                return Err(self.differ_by(next, seat, &deed));
            }
            if self.trace.header.repeats_from == Some(next as u64) {
                return Err(self.differ(next, "that is in the middle of a step"));
            }
            if matches!(deed, StepPart::TakesOwn(_)) {
                cause = Some(next);
            }
            self.keep(deed, seat, next)?;
            next += 1;
        }
        Ok(next)
    }

    fn set_timer(&mut self, now: Time, seat: Seat, timer: P::Timer, due: Due) {
        let (after, is_deadline) = match due {
            Due::Within { after, .. } => (after, false),
            Due::Deadline(after) => (after, true),
        };
        self.settings += 1;
        let at = now + self.rates[seat.index()].real(Time::of(after));
        let setting = SetTimer { at, number: self.settings, is_deadline };
        self.world.set_timer(seat, timer, setting);
    }

    /// Whether the record tells of that deed.
    fn is_told(&self, deed: &StepPart<P>, seat: Seat, index: usize) -> bool {
        let Some(Record { event, text, .. }) = self.trace.records.get(index) else { return false };
        event.seat == seat
            && match (deed, event.what) {
                (&StepPart::Tells(told), what) => told == what,
                (
                    StepPart::Says { to, message, copy },
                    What::Sent { to: there, kind, copy: one, .. },
                ) => {
                    (*to, *copy) == (there, one)
                        && self.is_of_kind(message, kind)
                        && text.as_ref().is_none_or(|text| *text == format!("{message:?}"))
                }
                (StepPart::TakesOwn(message), What::Received { message: id, from, kind }) => {
                    from == seat
                        && self.world.own[seat.index()].front() == Some(&id)
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

    fn keep(&mut self, deed: StepPart<P>, seat: Seat, index: usize) -> Result<(), ReplayError> {
        match (deed, self.trace.records[index].event.what) {
            (StepPart::Says { to, message, .. }, What::Sent { message: id, .. }) => {
                self.records[index].text = Some(format!("{message:?}"));
                self.contents.insert(index, self.world.messages.len());
                if !self.world.send(id, seat, to, message) {
                    return Err(self.differ(index, "a message of that number is on its way"));
                }
            }
            (StepPart::TakesOwn(message), _) => {
                self.steps += 1;
                self.world.own[seat.index()].pop_front();
                self.records[index].text = Some(format!("{message:?}"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether the record tells what becomes of a message, which is no step of a process.
    fn is_fate(&self, index: usize) -> bool {
        let what = self.trace.records.get(index).map(|record| record.event.what);
        what.is_some_and(|what| what.part() == Part::Fate)
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

    fn receive(&mut self, index: usize) -> Result<VecDeque<StepPart<P>>, ReplayError> {
        let event = self.trace.records[index].event;
        let What::Received { message: id, from, .. } = event.what else {
            return Ok(VecDeque::new());
        };
        match self.world.take(id, from, event.seat) {
            Some(message) => self.take_in(index, from, message),
            None => Err(self.differ(index, "no such message is on its way")),
        }
    }

    fn take_in(
        &mut self,
        index: usize,
        from: Seat,
        message: P::Message,
    ) -> Result<VecDeque<StepPart<P>>, ReplayError> {
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
    fn time_out(&mut self, index: usize) -> Result<VecDeque<StepPart<P>>, ReplayError> {
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
        self.records[index].text = Some(format!("{timer:?}"));
        let parts = self.input(index, Input::Timer(timer))?;
        self.world.unset_timer(seat, timer);
        Ok(parts)
    }

    /// Whether the trace goes on as if that timer had run out.
    fn would_fit(&self, index: usize, timer: P::Timer) -> bool {
        let event = self.trace.records[index].event;
        let Some(mut process) = self.world.processes[event.seat.index()].clone() else {
            return false;
        };
        let mut notes = self.notes(event.seat, event.at);
        let mut host = Host::new().tampered(self.setup.tamper.as_ref());
        host.take(&mut process, Input::Timer(timer), &mut notes);
        let mut rest = (index + 1..self.trace.records.len()).filter(|&next| !self.is_fate(next));
        let is_seen =
            |deed: &StepPart<P>| matches!(deed, StepPart::Says { .. } | StepPart::Tells(_));
        // What it says to itself has no number yet by which it could be told.
        let is_own = |deed: &StepPart<P>| matches!(deed, StepPart::TakesOwn(_));
        let parts = notes.parts.into_iter().take_while(|deed| !is_own(deed));
        let mut parts = parts.filter(is_seen);
        let is_told = |deed: StepPart<P>, next| self.is_told(&deed, event.seat, next);
        parts.all(|deed| rest.next().is_some_and(|next| is_told(deed, next)))
            && rest.next().is_none_or(|next| !difference::is_deed(&self.trace.records[next]))
    }

    fn close_loop(&self) -> Result<(), ReplayError> {
        let Some(ending) = self.trace.endless() else { return Ok(()) };
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
            if let Some(&place) = self.contents.get(&index) {
                judge.on_content(&self.world.messages[place]);
            }
        };
        let judge = trace.judge_with(P::Message::KINDS, self.setup.ordering, hear);
        // Whatever it tells: if nothing can come any more, whoever waits does so in vain.
        let is_stuck = self.world.is_quiet() && !judge.is_occupied();
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
            starts: trace.header.starts,
            died: Vec::new(),
            events: self.steps,
        }
    }

    fn differ(&self, index: usize, instead: &str) -> ReplayError {
        Differ { view: self.setup.view, trace: self.trace }.at(index, instead)
    }

    /// The step goes on otherwise.
    fn differ_by(&self, index: usize, seat: Seat, does: &StepPart<P>) -> ReplayError {
        let view = self.setup.view;
        let does = match does {
            StepPart::Says { to, message, copy } => {
                let copy = if *copy { ", as one more copy" } else { "" };
                format!("sends {message:?} to {}{copy}", view.at(*to))
            }
            StepPart::TakesOwn(message) => format!("takes in {message:?}, which it said to itself"),
            StepPart::Tells(what) => deed(*what, seat, None, view),
            StepPart::Follows(_)
            | StepPart::Sets(..)
            | StepPart::Cancels(_)
            | StepPart::Keeps(_) => String::new(),
        };
        Differ { view, trace: self.trace }.by(index, view.at(seat), &does)
    }
}
