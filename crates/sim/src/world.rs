//! The loop: take what happens next, and let one process take a step in its surroundings.

mod faulty;
mod late;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use core::time::Duration;

use conclave_core::{
    Arrival, CommandOf, Due, Environment, Family, Host, Input, Message, NoticeOf, Phase, Protocol,
    Seat, Start, View,
};
use conclave_observe::trace::{PendingTimer, Record, Standing};
use conclave_observe::{
    Brief, Diagnosis, Ending, Event, Judge, LossCause, MessageId, MessageNumbers, Observed, Spoken,
    Time, WaitGraph, What,
};

use faulty::{Stage, Withheld};

use crate::agenda::{Agenda, Item, Rank};
use crate::faults_under_way::{Action, FaultsUnderWay};
use crate::lines::Lines;
use crate::seed::Stream;
use crate::simulation::Simulation;
use crate::timers::{self, SetTimer, Timers};
use crate::wire::{Flight, TimedWire, UnitWire, Wire};
use crate::{
    Act, AfterViolation, Application, ChannelOrder, Crash, Desk, Network, Outcome, Rate, Recording,
    Setup,
};

/// Runs `application` on the protocol `P`. `progress` is told the number of entries now and then.
pub fn simulate<P, A>(
    setup: &Setup<'_, P>,
    application: A,
    progress: &mut dyn FnMut(u64),
) -> Outcome
where
    P: Observed,
    A: Application<P::Family>,
{
    let timed = || TimedWire::new(setup.network, setup.order, setup.view.len(), setup.seed);
    match (setup.recording, setup.network) {
        (Recording::Nothing, Network::Unit) if !setup.faults.shifts_messages() => {
            World::<P, A, _, false>::new(setup, application, UnitWire::new()).run(progress)
        }
        (Recording::Nothing, _) => {
            World::<P, A, _, false>::new(setup, application, timed()).run(progress)
        }
        // Whoever records pays for that: a wire of its own for equal times would gain nothing.
        (Recording::Everything, _) => Simulation::new(setup, application).finish(progress),
    }
}

pub(crate) struct World<'a, P: Protocol, A, W, const RECORDS: bool> {
    /// By seat; `None` while it is down.
    processes: Vec<Option<P>>,
    host: Host<P>,
    around: Surroundings<'a, P, A, W, RECORDS>,
    /// How many of the planned interventions were done.
    intervened: usize,
}

/// All that is around the processes: what they do, they do to this.
struct Surroundings<'a, P: Protocol, A, W, const RECORDS: bool> {
    setup: &'a Setup<'a, P>,
    /// Who takes the step that is under way.
    seat: Seat,
    application: A,
    desk: Desk<CommandOf<P>>,
    /// By seat: what waits for the end of its pause; `None` while it is not paused.
    paused: Vec<Option<VecDeque<Held<P>>>>,
    /// What waits for a process that is slow.
    lines: Lines<Held<P>>,
    /// What waits at a partition that keeps it, in the order in which it came there.
    withheld: Vec<Withheld<P::Message>>,
    /// By seat: how often it has started, so that what was meant for an earlier life is not done.
    incarnations: Vec<u32>,
    wire: W,
    /// The numbers of what the process said to itself in the step that is under way.
    own: VecDeque<MessageId>,
    agenda: Agenda<CommandOf<P>, P::Timer>,
    /// By seat: what it persisted last, which no crash loses.
    stored: Vec<Option<P::Stored>>,
    /// By seat: how fast its clock runs.
    rates: Vec<Rate>,
    /// Where the time of a timer is drawn from, if it has a range.
    timer_stream: Stream,
    timers: Timers<P::Timer>,
    numbers: MessageNumbers,
    witness: Witness<RECORDS>,
    faults: FaultsUnderWay,
    /// Messages in flight that belong to a call: all but those of upkeep.
    calls_in_flight: u64,
    events: u64,
    /// Whether a process can be paused or slow at all.
    can_wait: bool,
    /// Whether the judge wants to know when all is quiet.
    wants_quiet: bool,
    /// Whether an application was told something that the judge may have had enough of.
    has_news: bool,
    /// Whether the step that was taken last went on by what a process said to itself.
    took_own: bool,
    /// Whether the judge was not asked after the last step, and is to be after the next.
    is_looked_at_next: bool,
    /// Whether the rules that fire belong to the event that was recorded last.
    is_explained: bool,
}

/// Something that arrived during a pause.
enum Held<P: Protocol> {
    Message(Flight<P::Message>),
    Command { incarnation: u32, command: CommandOf<P> },
    Timer { timer: P::Timer, setting: SetTimer },
}

/// The judge and the recorder, which is there or not once and for all, so that a run which is not
/// recorded does not pay for the question.
struct Witness<const RECORDS: bool> {
    now: Time,
    judge: Judge,
    records: Vec<Record>,
    /// By seat; empty if states are not recorded.
    starts: Vec<Option<Standing>>,
}

impl<'a, P, A, W, const RECORDS: bool> World<'a, P, A, W, RECORDS>
where
    P: Observed,
    A: Application<P::Family>,
    W: Wire<P::Message>,
{
    pub(crate) fn new(setup: &'a Setup<'a, P>, application: A, wire: W) -> Self {
        let members = setup.view.len();
        Self {
            intervened: 0,
            processes: Vec::with_capacity(members),
            host: if RECORDS { Host::explained() } else { Host::new() }
                .tampered(setup.tamper.as_ref()),
            around: Surroundings::new(setup, application, wire),
        }
    }

    fn run(mut self, progress: &mut dyn FnMut(u64)) -> Outcome {
        self.begin();
        let ending = self.go_on(progress);
        self.finish(ending)
    }

    /// Lets everything happen that is still to come.
    pub(crate) fn go_on(&mut self, progress: &mut dyn FnMut(u64)) -> Ending {
        // Between two events there is rarely anything to do, so one number says when.
        let mut look_up_at = 0;
        loop {
            if self.around.events >= look_up_at {
                if let Some(ending) = self.intervene_as_planned() {
                    return ending;
                }
                look_up_at = self.look_up(progress);
            }
            if let Some(ending) = self.step() {
                return ending;
            }
        }
    }

    /// Tells how far it is; and after how many events there is something to do again.
    #[cold]
    fn look_up(&self, progress: &mut dyn FnMut(u64)) -> u64 {
        const PROGRESS_EVERY: u64 = 1 << 20;
        let events = self.around.events;
        if events > 0 {
            progress(self.around.witness.judge.served());
        }
        let next_telling = (events / PROGRESS_EVERY + 1) * PROGRESS_EVERY;
        let next = self.around.setup.interventions.get(self.intervened);
        next.map_or(next_telling, |it| it.before.min(next_telling))
    }

    pub(crate) fn begin(&mut self) {
        let setup = self.around.setup;
        for seat in (0..setup.view.len()).map(Seat::at) {
            self.processes.push(None);
            if let Some(label) = self.around.faults.dead(seat) {
                self.around.faults.fired[label] += 1;
                self.around.witness.event(seat, What::Crashed);
                self.around.application.on_crash(seat);
                continue;
            }
            self.start(seat, Arrival::Founding);
        }
        for seat in (0..setup.view.len()).map(Seat::at) {
            let notice = P::Family::told_at_first(&setup.opening(seat), setup.view.at(seat));
            if let Some(said) = notice.and_then(|it| P::Family::told(&it, setup.view)) {
                self.around.witness.event(seat, What::Told(said));
            }
        }
        self.around.application.begin(&mut self.around.desk);
        self.around.take_orders();
    }

    fn start(&mut self, seat: Seat, arrival: Arrival) {
        let setup = self.around.setup;
        let (me, config) = (setup.view.at(seat), &setup.configs[seat.index()]);
        let stored = self.around.stored[seat.index()].clone();
        let start = match arrival {
            Arrival::Founding => {
                Start { opening: setup.opening(seat), ..Start::founding(me, setup.view, config) }
            }
            Arrival::Returning => Start::returning(me, setup.view, config, stored.as_ref()),
        };
        self.around.seat = seat;
        // A founder starts before there is anything to explain.
        self.around.is_explained = RECORDS && arrival == Arrival::Returning;
        let process = self.host.start(start, &mut self.around);
        self.around.is_explained = RECORDS;
        self.processes[seat.index()] = Some(process);
        match arrival {
            Arrival::Founding if RECORDS && setup.show.is_some() => {
                let standing = self.standing(seat);
                self.around.witness.starts[seat.index()] = standing;
            }
            Arrival::Founding => {}
            Arrival::Returning => self.record_standing(seat),
        }
    }

    /// Keeps how the process stands after the step whose last event was seen just now.
    #[inline(always)]
    fn record_standing(&mut self, seat: Seat) {
        if RECORDS && self.around.setup.show.is_some() {
            let standing = self.standing(seat).map(Box::new);
            if let Some(record) = self.around.witness.records.last_mut() {
                debug_assert_eq!(record.event.seat, seat, "all that a step does is its process's");
                record.after = standing;
            }
        }
    }

    /// How it stands; `None` if it is down, or is not to be shown.
    fn standing(&self, seat: Seat) -> Option<Standing> {
        let Setup { show, view, .. } = *self.around.setup;
        let state = show?(self.process(seat)?, view);
        Some(Standing { state, timers: self.timers(seat) })
    }

    /// The timers that the process there has set, by name.
    pub(crate) fn timers(&self, seat: Seat) -> Vec<PendingTimer> {
        let pending = |(timer, SetTimer { at: due, is_deadline, .. })| PendingTimer {
            name: format!("{timer:?}"),
            due,
            is_deadline,
        };
        self.around.timers.pending(seat).map(pending).collect()
    }

    /// How many timers are set.
    pub(crate) fn timers_set(&self) -> usize {
        self.around.timers.len()
    }

    /// Lets the next thing happen; says how the run ended if nothing more is to come of it.
    #[inline]
    pub(crate) fn step(&mut self) -> Option<Ending> {
        let (mut at, mut due) = self.around.next();
        if matches!(due, Some(Rank::Timer | Rank::Deadline)) && !self.around.does_timer_run_out() {
            return None;
        }
        if self.around.calls_in_flight == 0 {
            let around = &mut self.around;
            let watches = around.wants_quiet && !around.is_held_up();
            if watches && around.witness.judge.on_quiet(around.witness.now) && around.is_decided() {
                return Some(Ending::Stopped);
            }
            if around.application.is_done(at) && !around.is_held_up() {
                return Some(Ending::Finished);
            }
            if around.application.awaits_quiet() && !around.owes() {
                around.application.on_quiet(around.desk.at(around.witness.now));
                around.take_orders();
                (at, due) = around.next();
            }
        }
        self.around.events += 1;
        let limits = self.around.setup.limits;
        if at > limits.time || self.around.events > limits.events {
            let is_over = at == Time::NEVER;
            return Some(if is_over { Ending::Quiet } else { Ending::BudgetSpent });
        }
        if self.around.witness.judge.faults() > 0 && self.around.is_patience_lost(at) {
            return Some(Ending::PatienceLost);
        }
        if let Some(rank) = due {
            if rank == Rank::Fault && self.around.is_deadlocked() {
                return Some(Ending::Quiet);
            }
            self.around.witness.now = at;
            self.do_due();
        } else {
            self.around.witness.now = at;
            if let Some(flight) = self.around.wire.receive() {
                self.around.calls_in_flight -= u64::from(is_call(&flight.message));
                self.arrive(flight);
            }
        }
        // What a process settles with itself alone may end an election: that it is over is seen
        // only when all is quiet, so the run goes on until it was looked at once more.
        let took_own = core::mem::take(&mut self.around.took_own);
        if took_own && !core::mem::replace(&mut self.around.is_looked_at_next, true) {
            return None;
        }
        self.around.is_looked_at_next = false;
        self.ending_by_news()
    }

    /// How the run ended, if the judge has seen enough of what was done just now.
    #[inline]
    pub(crate) fn ending_by_news(&mut self) -> Option<Ending> {
        let has_news = core::mem::take(&mut self.around.has_news);
        (has_news && self.around.is_decided()).then_some(Ending::Stopped)
    }

    /// Does what is planned to be done before the next event.
    pub(crate) fn intervene_as_planned(&mut self) -> Option<Ending> {
        let planned = self.around.setup.interventions;
        while let Some(intervention) = planned.get(self.intervened)
            && intervention.before <= self.around.events
        {
            let has_changed = self.act(intervention.act);
            self.around.faults.intervened[self.intervened] = has_changed;
            self.intervened += 1;
            if let Some(ending) = self.ending_by_news() {
                return Some(ending);
            }
        }
        None
    }

    /// Does something from outside; whether that changed anything.
    pub(crate) fn act(&mut self, act: Act) -> bool {
        let view = self.around.setup.view;
        let seat = view.seat(act.process());
        let is_up = seat.is_some_and(|seat| self.processes[seat.index()].is_some());
        let is_paused = seat.is_some_and(|seat| self.around.paused[seat.index()].is_some());
        match (act, seat) {
            (Act::Crash(_), Some(seat)) if is_up => self.crash(seat),
            (Act::Return(_), Some(seat)) if !is_up => self.come_back(seat, true),
            (Act::Pause(_), Some(seat)) if is_up && !is_paused => self.around.pause(seat),
            (Act::Resume(_), Some(seat)) if is_paused => self.resume(seat),
            (Act::Lose(letter), _) => {
                let flight = letter.message(view).and_then(|it| self.around.take_off_wire(it));
                let Some(flight) = flight else { return false };
                self.around.lose(&flight, LossCause::Network);
            }
            (Act::Deliver(letter), _) => {
                let message = letter.message(view).filter(|&it| self.around.can_be_delivered(it));
                let flight = message.and_then(|it| self.around.take_off_wire(it));
                let Some(flight) = flight else { return false };
                self.arrive(flight);
            }
            _ => return false,
        }
        true
    }

    fn do_due(&mut self) {
        match self.around.agenda.pop() {
            Some((_, Item::Command { seat, incarnation, command })) => {
                self.command(seat, incarnation, command);
            }
            Some((at, Item::Timer { seat, timer, number, is_deadline })) => {
                self.around.timers.on_taken(seat, timer);
                self.timer(seat, timer, SetTimer { at, number, is_deadline });
            }
            Some((_, Item::Done { seat, incarnation })) => self.done(seat, incarnation),
            Some((_, Item::Fault(number))) => self.fault(self.around.faults.actions[number]),
            None => {}
        }
    }

    fn command(&mut self, seat: Seat, incarnation: u32, command: CommandOf<P>) {
        let around = &mut self.around;
        if incarnation != around.incarnations[seat.index()] {
            return;
        }
        if let Some(held) = &mut around.paused[seat.index()] {
            held.push_back(Held::Command { incarnation, command });
            return;
        }
        if around.lines.is_slow(seat) {
            return around.stand_in_line(seat, Held::Command { incarnation, command });
        }
        self.ask(seat, command);
    }

    fn ask(&mut self, seat: Seat, command: CommandOf<P>) {
        let said = P::Family::asked(&command, self.around.setup.view);
        self.around.witness.event(seat, What::Asked(said));
        self.around.doom_if_scripted(seat, &said);
        self.take(seat, Input::Command(command));
    }

    fn timer(&mut self, seat: Seat, timer: P::Timer, setting: SetTimer) {
        let around = &mut self.around;
        if !around.timers.is_set(seat, timer, setting) {
            return;
        }
        if let Some(held) = &mut around.paused[seat.index()] {
            held.push_back(Held::Timer { timer, setting });
            return;
        }
        if around.lines.is_slow(seat) {
            return around.stand_in_line(seat, Held::Timer { timer, setting });
        }
        self.run_out(seat, timer);
    }

    fn run_out(&mut self, seat: Seat, timer: P::Timer) {
        self.around.timers.unset(seat, timer);
        self.around.faults.count_timer(seat);
        let name = || Some(format!("{timer:?}"));
        self.around.witness.event_with(seat, What::TimerFired, name);
        self.take(seat, Input::Timer(timer));
    }

    /// A message reaches the door of its receiver.
    #[inline(always)]
    fn arrive(&mut self, flight: Flight<P::Message>) {
        let around = &mut self.around;
        if around.faults.touch_messages
            && let Some(cut) = around.faults.cut_between(flight.from, flight.to)
        {
            return around.meet(cut, Stage::Arriving, flight);
        }
        if around.can_wait {
            return self.arrive_at_door(flight);
        }
        self.deliver(flight);
    }

    #[inline(always)]
    fn deliver(&mut self, flight: Flight<P::Message>) {
        let Flight { id: message, from, to, message: content } = flight;
        if self.processes[to.index()].is_none() {
            let flight = Flight { id: message, from, to, message: content };
            return self.around.lose(&flight, LossCause::ReceiverDown);
        }
        let kind = content.kind();
        let text = || Some(format!("{content:?}"));
        self.around.witness.event_with(to, What::Received { message, from, kind }, text);
        let from = self.around.setup.view.at(from);
        self.take(to, Input::Message { from, message: content });
    }

    /// The one place where a process takes an input. The event that it answers was seen just
    /// before.
    #[inline(always)]
    fn take(&mut self, seat: Seat, input: Input<P>) {
        let Some(process) = &mut self.processes[seat.index()] else { return };
        self.around.seat = seat;
        self.host.take(process, input, &mut self.around);
        self.record_standing(seat);
    }

    fn fault(&mut self, action: Action) {
        let seat = action.seat();
        let is_up = seat.is_some_and(|seat| self.processes[seat.index()].is_some());
        let is_paused = seat.is_some_and(|seat| self.around.paused[seat.index()].is_some());
        let around = &mut self.around;
        match action {
            Action::Crash { seat, label } if is_up => {
                around.faults.fired[label] += 1;
                self.crash(seat);
            }
            Action::CrashOn { seat, label } if is_up => {
                around.faults.fired[label] += 1;
                let (process, at) = (around.setup.view.at(seat), around.witness.now);
                around.faults.died.push(Crash { process, at });
                self.crash(seat);
            }
            Action::Return { seat, label, same } if !is_up => {
                around.faults.fired[label] += 1;
                self.come_back(seat, same);
            }
            Action::Pause { seat, label } if is_up && !is_paused => {
                around.faults.fired[label] += 1;
                around.pause(seat);
            }
            Action::Resume { seat } => self.resume(seat),
            Action::Cut { partition, label } => around.cut(partition, label),
            Action::Heal { partition } => self.heal(partition),
            // Somebody intervened: it is as the plan wants it already.
            Action::Crash { .. }
            | Action::CrashOn { .. }
            | Action::Return { .. }
            | Action::Pause { .. } => {}
        }
    }

    fn crash(&mut self, seat: Seat) {
        self.around.witness.event(seat, What::Crashed);
        self.processes[seat.index()] = None;
        self.around.lose_held(seat);
        self.around.incarnations[seat.index()] += 1;
        self.around.timers.unset_all(seat);
        self.around.application.on_crash(seat);
    }

    /// Brings a crashed process back with what it persisted; or, if it is not the same one, another
    /// of its name that knows nothing.
    fn come_back(&mut self, seat: Seat, is_same: bool) {
        self.around.witness.event(seat, if is_same { What::Returned } else { What::Replaced });
        if !is_same {
            self.around.stored[seat.index()] = None;
        }
        self.start(seat, Arrival::Returning);
        let around = &mut self.around;
        around.application.on_return(seat, around.desk.at(around.witness.now));
        around.take_orders();
    }

    /// What arrived during the pause is taken in now, in the order in which it came; but a deadline
    /// that is due comes before all of it.
    fn resume(&mut self, seat: Seat) {
        let Some(held) = self.around.paused[seat.index()].take() else { return };
        self.around.witness.event(seat, What::Resumed);
        // Its application was paused as well: what it wanted meanwhile it only asks for now.
        let (late, held): (VecDeque<_>, VecDeque<_>) =
            held.into_iter().partition(|held| matches!(held, Held::Command { .. }));
        for held in held.into_iter().chain(late) {
            if self.around.lines.is_slow(seat) {
                self.around.stand_in_line(seat, held);
                continue;
            }
            self.take_deadlines(seat);
            match held {
                Held::Message(flight) => self.deliver(flight),
                Held::Command { incarnation, command } => self.command(seat, incarnation, command),
                Held::Timer { timer, setting } => self.timer(seat, timer, setting),
            }
        }
        self.around.begin_step(seat);
    }

    fn take_deadlines(&mut self, seat: Seat) {
        while let Some(timer) = self.around.timers.first_deadline(seat, self.around.witness.now) {
            self.run_out(seat, timer);
        }
    }

    /// How many events have happened.
    pub(crate) fn events(&self) -> u64 {
        self.around.events
    }

    /// When the last of them happened.
    pub(crate) fn now(&self) -> Time {
        self.around.witness.now
    }

    /// What was recorded so far.
    pub(crate) fn records(&self) -> &[Record] {
        &self.around.witness.records
    }

    /// Who takes part.
    pub(crate) fn view(&self) -> &'a View {
        self.around.setup.view
    }

    /// What is on its way.
    pub(crate) fn wire(&self) -> &W {
        &self.around.wire
    }

    /// The process there; `None` while it is down.
    pub(crate) fn process(&self, seat: Seat) -> Option<&P> {
        self.processes[seat.index()].as_ref()
    }

    pub(crate) fn finish(mut self, ending: Ending) -> Outcome {
        // Of a run that was merely cut off, those who wait are not to be explained.
        let is_stuck = matches!(ending, Ending::Quiet | Ending::PatienceLost);
        let someone_waits = self.around.witness.judge.waiting() > 0;
        let diagnosis = (is_stuck && someone_waits).then(|| self.diagnose()).flatten();
        let around = self.around;
        let report = around.witness.judge.finish(ending);
        let setup = around.setup;
        // Whoever reads its clock does so before all that it takes in.
        let read: &[u64] = if P::READS_CLOCK { report.bandwidth.handled() } else { &[] };
        Outcome {
            faults: around.faults.told(setup.faults, setup.interventions, setup.view, read),
            report,
            diagnosis,
            records: around.witness.records,
            starts: around.witness.starts,
            died: around.faults.died,
            events: around.events,
        }
    }

    /// Asks everybody whom it waits for, and follows that to its root.
    fn diagnose(&mut self) -> Option<Diagnosis> {
        let view = self.around.setup.view;
        let waits_for =
            |process: &P| process.waits_for().into_iter().filter_map(|id| view.seat(id)).collect();
        let edges = self.processes.iter().map(|it| it.as_ref().map(waits_for).unwrap_or_default());
        let diagnosis = WaitGraph::new(edges.collect()).diagnose(&self.around.witness.judge)?;
        for (waiter, whom) in diagnosis.edges() {
            self.around.witness.event(waiter, What::WaitsFor { whom });
        }
        Some(diagnosis)
    }
}

impl<'a, P, A, W, const RECORDS: bool> Surroundings<'a, P, A, W, RECORDS>
where
    P: Observed,
    A: Application<P::Family>,
    W: Wire<P::Message>,
{
    fn new(setup: &'a Setup<'a, P>, application: A, wire: W) -> Self {
        let members = setup.view.len();
        let Setup { ordering, promises, .. } = *setup;
        let brief = Brief { ids: setup.view.members(), promises, ordering };
        let judge = Judge::new(P::Family::VOCABULARY, P::Message::KINDS, &brief);
        let mut agenda = Agenda::new();
        let starts = if RECORDS && setup.show.is_some() { vec![None; members] } else { Vec::new() };
        Self {
            setup,
            seat: Seat(0),
            application,
            desk: Desk { now: Time::ZERO, orders: Vec::new() },
            paused: (0..members).map(|_| None).collect(),
            lines: Lines::new(setup.faults, setup.view, setup.network.typical()),
            withheld: Vec::new(),
            incarnations: vec![0; members],
            wire,
            own: VecDeque::new(),
            stored: vec![None; members],
            rates: setup.faults.rates(setup.view),
            timer_stream: Stream::new(setup.seed, "timers"),
            timers: Timers::new(members),
            numbers: MessageNumbers::new(members),
            faults: FaultsUnderWay::plan(setup, &mut agenda),
            agenda,
            calls_in_flight: 0,
            events: 0,
            can_wait: !setup.faults.pauses.is_empty() || !setup.faults.slow.is_empty(),
            wants_quiet: judge.wants_quiet(),
            witness: Witness { now: Time::ZERO, judge, records: Vec::new(), starts },
            has_news: false,
            took_own: false,
            is_looked_at_next: false,
            is_explained: false,
        }
    }

    /// When something happens next; and what, if it is due and is not a message.
    #[inline]
    fn next(&mut self) -> (Time, Option<Rank>) {
        let arrives_at = self.wire.next_at();
        let (due_at, rank) = self.agenda.next();
        let is_due = (due_at, rank) < (arrives_at, Rank::Message);
        (arrives_at.min(due_at), is_due.then_some(rank))
    }

    /// Whether only faults that have not begun could still change anything: a deadlock that came
    /// before them is none of theirs.
    fn is_deadlocked(&self) -> bool {
        self.witness.judge.faults() == 0
            && self.witness.judge.waiting() > 0
            && self.wire.len() == 0
            && self.timers.is_empty()
            && self.agenda.commands() == 0
    }

    /// Whether the verdict is known, and nobody wants to see more.
    #[inline]
    fn is_decided(&self) -> bool {
        self.witness.judge.has_seen_enough() && self.setup.after_violation == AfterViolation::Stop
    }

    fn is_patience_lost(&self, at: Time) -> bool {
        self.witness.judge.waited_in_vain(at) > self.setup.limits.patience
    }

    /// Whether the first entry of the agenda is a timer that is still set to that time. If it is
    /// not, the entry goes: that was no event, and no time has passed.
    #[inline(never)]
    fn does_timer_run_out(&mut self) -> bool {
        let Some((at, &Item::Timer { seat, timer, number, is_deadline })) = self.agenda.first()
        else {
            return true;
        };
        let becomes = self.timers.on_entry(seat, timer, SetTimer { at, number, is_deadline });
        if becomes == timers::Becomes::RunsOut {
            return true;
        }
        self.agenda.pop();
        if let timers::Becomes::Moves(setting) = becomes {
            self.enter(seat, timer, setting);
        }
        false
    }

    fn enter(&mut self, seat: Seat, timer: P::Timer, setting: SetTimer) {
        let SetTimer { at, number, is_deadline } = setting;
        self.agenda.push(at, Item::Timer { seat, timer, number, is_deadline });
    }

    #[inline]
    fn launch(&mut self, flight: Flight<P::Message>) {
        self.calls_in_flight += u64::from(is_call(&flight.message));
        self.wire.send(self.witness.now, flight);
    }

    fn pause(&mut self, seat: Seat) {
        self.can_wait = true;
        self.witness.event(seat, What::Paused);
        self.paused[seat.index()] = Some(VecDeque::new());
    }

    /// Whether the order of its channel lets that message arrive now.
    fn can_be_delivered(&self, message: MessageId) -> bool {
        let flights = self.wire.flights();
        let Some(its) = flights.iter().find(|it| it.id == message) else { return false };
        let is_before =
            |it: &&Flight<P::Message>| (it.from, it.to, true) == (its.from, its.to, it.id < its.id);
        self.setup.order == ChannelOrder::Any || !flights.iter().any(is_before)
    }

    fn take_off_wire(&mut self, message: MessageId) -> Option<Flight<P::Message>> {
        let flight = self.wire.take(message)?;
        self.calls_in_flight -= u64::from(is_call(&flight.message));
        Some(flight)
    }

    fn take_orders(&mut self) {
        for (at, seat, command) in self.desk.orders.drain(..) {
            let incarnation = self.incarnations[seat.index()];
            self.agenda.push(at, Item::Command { seat, incarnation, command });
        }
    }
}

impl<P, A, W, const RECORDS: bool> Environment<P> for Surroundings<'_, P, A, W, RECORDS>
where
    P: Observed,
    A: Application<P::Family>,
    W: Wire<P::Message>,
{
    #[inline(always)]
    fn view(&self) -> &View {
        self.setup.view
    }

    #[inline(always)]
    fn seat(&self) -> Seat {
        self.seat
    }

    fn reading(&self) -> Option<Duration> {
        let clock = self.rates[self.seat.index()].clock_at(self.witness.now);
        Some(Duration::from_nanos(clock))
    }

    #[inline(always)]
    fn stepped(&mut self, process: &P, rules: Vec<&'static str>) {
        if self.setup.check_invariants
            && let Err(broken) = process.invariants()
        {
            let (id, now) = (self.setup.view.at(self.seat), self.witness.now);
            panic!("invariant broken at process {id}, time {now}: {broken}\n{process:#?}");
        }
        if RECORDS
            && self.is_explained
            && let Some(record) = self.witness.records.last_mut()
        {
            record.rules = rules.into_iter().map(Cow::Borrowed).collect();
        }
    }

    #[inline(always)]
    fn send(&mut self, to: Seat, message: P::Message, copy: bool) {
        let (from, id, kind) = (self.seat, self.numbers.next_of(self.seat), message.kind());
        let text = || Some(format!("{message:?}"));
        self.witness.event_with(from, What::Sent { message: id, to, kind, copy }, text);
        self.witness.judge.on_content(&message);
        let flight = Flight { id, from, to, message };
        if self.faults.touch_messages {
            self.send_faultily(flight);
        } else {
            self.launch(flight);
        }
    }

    #[inline(never)]
    fn send_own(&mut self, message: &P::Message, copy: bool) {
        let (to, id, kind) = (self.seat, self.numbers.next_of(self.seat), message.kind());
        let text = || Some(format!("{message:?}"));
        self.witness.event_with(to, What::Sent { message: id, to, kind, copy }, text);
        self.witness.judge.on_content(message);
        self.own.push_back(id);
    }

    #[inline(never)]
    fn take_own(&mut self, message: &P::Message) {
        let Some(id) = self.own.pop_front() else { return };
        self.took_own = true;
        let (from, kind) = (self.seat, message.kind());
        let text = || Some(format!("{message:?}"));
        self.witness.event_with(from, What::Received { message: id, from, kind }, text);
    }

    fn notify(&mut self, notice: NoticeOf<P>) {
        self.has_news = true;
        if let Some(said) = P::Family::told(&notice, self.setup.view) {
            self.witness.event(self.seat, What::Told(said));
            self.doom_if_scripted(self.seat, &said);
        }
        self.application.on_notice(self.seat, &notice, self.desk.at(self.witness.now));
        self.take_orders();
    }

    /// Its own clock runs it out, so a fast clock does so early.
    fn set_timer(&mut self, timer: P::Timer, due: Due) {
        let (after, is_deadline) = match due {
            Due::Within { after, at_most } if after < at_most => {
                (self.timer_stream.between(Time::of(after), Time::of(at_most)), false)
            }
            Due::Within { after, .. } => (Time::of(after), false),
            Due::Deadline(after) => (Time::of(after), true),
        };
        let at = self.witness.now + self.rates[self.seat.index()].real(after);
        if let Some(setting) = self.timers.set(self.seat, timer, at, is_deadline) {
            self.enter(self.seat, timer, setting);
        }
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.timers.unset(self.seat, timer);
    }

    fn persist(&mut self, stored: P::Stored) {
        self.stored[self.seat.index()] = Some(stored);
    }
}

#[inline]
fn is_call<M: Message>(message: &M) -> bool {
    M::KINDS[usize::from(message.kind())].phase != Phase::Upkeep
}

impl<const RECORDS: bool> Witness<RECORDS> {
    fn event(&mut self, seat: Seat, what: What) {
        self.event_with(seat, what, || None);
    }

    /// Shows an event to the judge, and keeps it where events are kept.
    #[inline(always)]
    fn event_with(&mut self, seat: Seat, what: What, text: impl FnOnce() -> Option<String>) {
        let event = Event { at: self.now, seat, what };
        self.judge.on(&event);
        if RECORDS {
            self.records.push(Record { text: text(), ..Record::of(event) });
        }
    }
}
