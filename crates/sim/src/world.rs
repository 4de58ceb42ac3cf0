//! The loop: take what happens next, let one process take a step, perform what it wants done.

use std::borrow::Cow;
use std::collections::VecDeque;

use conclave_core::{
    Arrival, Effect, Effects, Fence, Input, Message, Phase, Promises, Protocol, Seat, Start,
};
use conclave_observe::trace::Record;
use conclave_observe::{
    Diagnosis, Ending, Event, Judge, LossCause, MessageNumbers, Observable, Side, Time, WaitGraph,
    What,
};

use crate::agenda::{Agenda, Item, Rank};
use crate::faults_under_way::{Action, Cut, FaultsUnderWay};
use crate::seed::Stream;
use crate::timers::{self, Due, Timers};
use crate::wire::{Flight, TimedWire, UnitWire, Wire};
use crate::{Application, Desk, FiredFault, Network, Outcome, Rate, Recording, Setup};

/// Runs `application` on the protocol `P`. `progress` is told the number of entries now and then.
pub fn simulate<P, A>(
    setup: &Setup<'_, P>,
    application: A,
    progress: &mut dyn FnMut(u64),
) -> Outcome
where
    P: Protocol<Command: Observable, Notice: Observable>,
    A: Application<P>,
{
    let timed = || TimedWire::new(setup.network, setup.order, setup.view.len(), setup.seed);
    match (setup.recording, setup.network) {
        (Recording::Nothing, Network::Unit) => {
            World::<P, A, _, false>::new(setup, application, UnitWire::new()).run(progress)
        }
        (Recording::Nothing, _) => {
            World::<P, A, _, false>::new(setup, application, timed()).run(progress)
        }
        // Whoever records pays for that: a wire of its own for equal times would gain nothing.
        (Recording::Everything, _) => {
            World::<P, A, _, true>::new(setup, application, timed()).run(progress)
        }
    }
}

struct World<'a, P: Protocol, A, W, const RECORDS: bool> {
    setup: &'a Setup<'a, P>,
    application: A,
    desk: Desk<P::Command>,
    /// By seat; `None` while it is down.
    processes: Vec<Option<P>>,
    /// By seat: what waits for the end of its pause; `None` while it is not paused.
    paused: Vec<Option<VecDeque<Held<P>>>>,
    /// By seat: how often it has started, so that what was meant for an earlier life is not done.
    incarnations: Vec<u32>,
    wire: W,
    /// Messages to oneself: they take no time, and come before anything else.
    to_self: VecDeque<Flight<P::Message>>,
    agenda: Agenda<P::Command, P::Timer>,
    /// By seat: what it persisted last, which no crash loses.
    stored: Vec<Option<P::Stored>>,
    /// By seat: how fast its clock runs.
    rates: Vec<Rate>,
    /// Where the time of a timer is drawn from, if it has a range.
    timer_stream: Stream,
    timers: Timers<P::Timer>,
    out: Effects<P>,
    numbers: MessageNumbers,
    watch: Watch<RECORDS>,
    faults: FaultsUnderWay,
    /// Messages in flight that belong to a call: all but those of upkeep.
    calls_in_flight: u64,
    events: u64,
    /// Whether the plan has pauses at all.
    has_pauses: bool,
    /// Whether the judge wants to know when all is quiet.
    watches_elections: bool,
    /// Whether an application was told something that the judge may have had enough of.
    has_news: bool,
}

/// Something that arrived during a pause.
enum Held<P: Protocol> {
    Message(Flight<P::Message>),
    Command { incarnation: u32, command: P::Command },
    Timer { timer: P::Timer, due: Due },
}

/// The judge and the recorder, which is there or not once and for all, so that a run which is not
/// recorded does not pay for the question.
struct Watch<const RECORDS: bool> {
    now: Time,
    judge: Judge,
    records: Vec<Record>,
}

impl<'a, P, A, W, const RECORDS: bool> World<'a, P, A, W, RECORDS>
where
    P: Protocol<Command: Observable, Notice: Observable>,
    A: Application<P>,
    W: Wire<P::Message>,
{
    fn new(setup: &'a Setup<'a, P>, application: A, wire: W) -> Self {
        let members = setup.view.len();
        let judge =
            Judge::new(setup.view.members(), P::Message::KINDS, setup.ordering, setup.promises);
        let mut agenda = Agenda::new();
        Self {
            setup,
            application,
            desk: Desk { now: Time::ZERO, orders: Vec::new() },
            processes: Vec::with_capacity(members),
            paused: (0..members).map(|_| None).collect(),
            incarnations: vec![0; members],
            wire,
            to_self: VecDeque::new(),
            stored: vec![None; members],
            rates: setup.faults.rates(setup.view),
            timer_stream: Stream::new(setup.seed, "timers"),
            timers: Timers::new(members),
            out: if RECORDS { Effects::explained() } else { Effects::new() },
            numbers: MessageNumbers::default(),
            watch: Watch { now: Time::ZERO, judge, records: Vec::new() },
            faults: FaultsUnderWay::plan(setup, &mut agenda),
            agenda,
            calls_in_flight: 0,
            events: 0,
            has_pauses: !setup.faults.pauses.is_empty(),
            watches_elections: matches!(setup.promises, Promises::Election { .. }),
            has_news: false,
        }
    }

    fn run(mut self, progress: &mut dyn FnMut(u64)) -> Outcome {
        self.begin();
        let ending = loop {
            if let Some(ending) = self.step() {
                break ending;
            }
            if self.events.is_multiple_of(1 << 20) {
                progress(self.watch.judge.entries());
            }
        };
        self.finish(ending)
    }

    fn begin(&mut self) {
        for seat in (0..self.setup.view.len()).map(Seat::at) {
            self.processes.push(None);
            if let Some(label) = self.faults.dead(seat) {
                self.faults.fired[label] += 1;
                self.watch.event(seat, What::Crashed);
                self.application.on_crash(seat);
                continue;
            }
            self.processes[seat.index()] = Some(self.start(seat, Arrival::Founding));
            self.perform(seat);
        }
        if let Some(holder) = self.setup.holder.and_then(|id| self.setup.view.seat(id)) {
            self.watch.event(holder, What::Entered { fence: Fence::default() });
        }
        self.application.begin(&mut self.desk);
        self.take_orders();
    }

    fn start(&mut self, seat: Seat, arrival: Arrival) -> P {
        self.out.set_now(self.rates[seat.index()].clock_at(self.watch.now));
        let me = self.setup.view.at(seat);
        let clock = self.setup.clocks.iter().find(|(id, _)| *id == me);
        let start = Start {
            me,
            view: self.setup.view,
            holder: self.setup.holder.filter(|_| arrival == Arrival::Founding),
            clock: clock.map(|&(_, time)| time).unwrap_or_default(),
            arrival,
            stored: self.stored[seat.index()].as_ref(),
            config: self.setup.config,
        };
        let process = P::start(start, &mut self.out);
        // A founder starts before there is anything to explain.
        let rules = self.out.take_rules();
        if RECORDS
            && arrival == Arrival::Returning
            && let Some(record) = self.watch.records.last_mut()
        {
            record.rules = rules.into_iter().map(Cow::Borrowed).collect();
        }
        process
    }

    /// Lets the next thing happen; says how the run ended if nothing more is to come of it.
    #[inline]
    fn step(&mut self) -> Option<Ending> {
        if !self.to_self.is_empty() {
            self.take_from_self();
            return None;
        }
        let (mut at, mut due) = self.next();
        if due == Some(Rank::Timer) && !self.does_timer_run_out() {
            return None;
        }
        if self.calls_in_flight == 0 {
            let watches = self.watches_elections && !self.is_anyone_paused();
            if watches
                && self.watch.judge.on_quiet(self.watch.now)
                && self.watch.judge.has_seen_enough()
            {
                return Some(Ending::Stopped);
            }
            if self.application.is_done(at) && !self.is_anyone_paused() {
                return Some(Ending::Finished);
            }
            if self.application.awaits_quiet() {
                self.application.on_quiet(self.desk.at(self.watch.now));
                self.take_orders();
                (at, due) = self.next();
            }
        }
        self.events += 1;
        if at > self.setup.limits.time || self.events > self.setup.limits.events {
            let is_over = at == Time::NEVER;
            return Some(if is_over { Ending::Quiet } else { Ending::BudgetSpent });
        }
        if self.watch.judge.faults() > 0 && self.is_patience_lost(at) {
            return Some(Ending::PatienceLost);
        }
        if let Some(rank) = due {
            if rank == Rank::Fault && self.is_deadlocked() {
                return Some(Ending::Quiet);
            }
            self.watch.now = at;
            self.do_due();
        } else {
            self.watch.now = at;
            if let Some(flight) = self.wire.receive() {
                self.calls_in_flight -= u64::from(is_call(&flight.message));
                self.arrive(flight);
            }
        }
        if std::mem::take(&mut self.has_news) && self.watch.judge.has_seen_enough() {
            return Some(Ending::Stopped);
        }
        None
    }

    /// When something happens next; and what, if it is due and is not a message.
    #[inline]
    fn next(&mut self) -> (Time, Option<Rank>) {
        let arrives_at = self.wire.next_at();
        let (due_at, rank) = self.agenda.next();
        let is_due = (due_at, rank) < (arrives_at, Rank::Message);
        (arrives_at.min(due_at), is_due.then_some(rank))
    }

    #[inline(never)]
    fn take_from_self(&mut self) {
        if let Some(flight) = self.to_self.pop_front() {
            self.deliver(flight);
        }
    }

    /// Whether only faults that have not begun could still change anything: a deadlock that came
    /// before them is none of theirs.
    fn is_deadlocked(&self) -> bool {
        self.watch.judge.faults() == 0
            && self.watch.judge.waiting() > 0
            && self.wire.len() == 0
            && self.timers.is_empty()
            && self.agenda.commands() == 0
    }

    fn is_patience_lost(&self, at: Time) -> bool {
        self.watch.judge.waited_in_vain(at) > self.setup.limits.patience
    }

    fn is_anyone_paused(&self) -> bool {
        self.has_pauses && self.paused.iter().any(Option::is_some)
    }

    fn do_due(&mut self) {
        match self.agenda.pop() {
            Some((_, Item::Command { seat, incarnation, command })) => {
                self.command(seat, incarnation, command);
            }
            Some((at, Item::Timer { seat, timer, setting })) => {
                self.timers.on_taken(seat, timer);
                self.timer(seat, timer, (at, setting));
            }
            Some((_, Item::Fault(number))) => self.fault(self.faults.actions[number]),
            None => {}
        }
    }

    fn command(&mut self, seat: Seat, incarnation: u32, command: P::Command) {
        if incarnation != self.incarnations[seat.index()] {
            return;
        }
        if let Some(held) = &mut self.paused[seat.index()] {
            held.push_back(Held::Command { incarnation, command });
            return;
        }
        if let Some(what) = command.what(self.setup.view) {
            self.watch.event(seat, what);
        }
        self.process_input(seat, Input::Command(command));
    }

    /// Whether the first entry of the agenda is a timer that is still set to that time. If it is
    /// not, the entry goes: that was no event, and no time has passed.
    #[inline(never)]
    fn does_timer_run_out(&mut self) -> bool {
        let Some((at, &Item::Timer { seat, timer, setting })) = self.agenda.first() else {
            return true;
        };
        let becomes = self.timers.on_entry(seat, timer, (at, setting));
        if becomes == timers::Entry::RunsOut {
            return true;
        }
        self.agenda.pop();
        if let timers::Entry::Moves((at, setting)) = becomes {
            self.agenda.push(at, Item::Timer { seat, timer, setting });
        }
        false
    }

    fn timer(&mut self, seat: Seat, timer: P::Timer, due: Due) {
        if !self.timers.is_set(seat, timer, due) {
            return;
        }
        if let Some(held) = &mut self.paused[seat.index()] {
            held.push_back(Held::Timer { timer, due });
            return;
        }
        self.timers.unset(seat, timer);
        self.watch.event_with(seat, What::TimerFired, || Some(format!("{timer:?}")));
        self.process_input(seat, Input::Timer(timer));
    }

    /// A message reaches the door of its receiver.
    #[inline(always)]
    fn arrive(&mut self, flight: Flight<P::Message>) {
        if self.faults.touch_messages
            && let Some(label) = self.faults.cut_between(flight.from, flight.to)
        {
            self.faults.fired[label] += 1;
            self.lose(&flight, LossCause::Partition);
            return;
        }
        if self.has_pauses
            && let Some(held) = &mut self.paused[flight.to.index()]
        {
            held.push_back(Held::Message(flight));
            return;
        }
        self.deliver(flight);
    }

    #[inline(always)]
    fn deliver(&mut self, flight: Flight<P::Message>) {
        let Flight { id: message, from, to, message: content } = flight;
        if self.processes[to.index()].is_none() {
            let flight = Flight { id: message, from, to, message: content };
            return self.lose(&flight, LossCause::ReceiverDown);
        }
        let kind = content.kind();
        let text = || Some(format!("{content:?}"));
        self.watch.event_with(to, What::Received { message, from, kind }, text);
        let from = self.setup.view.at(from);
        self.process_input(to, Input::Message { from, message: content });
    }

    /// The one place where a protocol takes a step. The event that it answers was seen just before.
    #[inline(always)]
    fn process_input(&mut self, seat: Seat, input: Input<P>) {
        let Some(process) = &mut self.processes[seat.index()] else { return };
        self.out.set_now(self.rates[seat.index()].clock_at(self.watch.now));
        process.on(input, &mut self.out);
        if self.setup.check_invariants
            && let Err(broken) = process.invariants()
        {
            let (id, now) = (self.setup.view.at(seat), self.watch.now);
            panic!("invariant broken at process {id}, time {now}: {broken}\n{process:#?}");
        }
        if RECORDS && let Some(record) = self.watch.records.last_mut() {
            record.rules = self.out.take_rules().into_iter().map(Cow::Borrowed).collect();
        }
        if !self.out.is_empty() {
            self.perform(seat);
        }
    }

    /// Performs all effects of a step, in order.
    #[inline(never)]
    fn perform(&mut self, seat: Seat) {
        // A multicast is one transmission, however many copies leave this process.
        let mut is_transmitted = false;
        while let Some(effect) = self.out.pop() {
            match effect {
                Effect::Send { to, message, continues } => {
                    let Some(to) = self.setup.view.seat(to) else { continue };
                    is_transmitted &= continues;
                    self.send(seat, to, message, is_transmitted);
                    is_transmitted |= to != seat;
                }
                Effect::Notify(notice) => {
                    self.has_news = true;
                    if let Some(what) = notice.what(self.setup.view) {
                        self.watch.event(seat, what);
                    }
                    self.application.on_notice(seat, &notice, self.desk.at(self.watch.now));
                    self.take_orders();
                }
                Effect::SetTimer { timer, after, at_most } => {
                    self.set_timer(seat, timer, Time::of(after), Time::of(at_most));
                }
                Effect::CancelTimer(timer) => self.timers.unset(seat, timer),
                Effect::Persist(stored) => self.stored[seat.index()] = Some(stored),
            }
        }
    }

    /// Its own clock runs it out, so a fast clock does so early.
    fn set_timer(&mut self, seat: Seat, timer: P::Timer, after: Time, at_most: Time) {
        let after = if after < at_most { self.timer_stream.between(after, at_most) } else { after };
        let after = self.rates[seat.index()].real(after);
        if let Some((at, setting)) = self.timers.set(seat, timer, self.watch.now + after) {
            self.agenda.push(at, Item::Timer { seat, timer, setting });
        }
    }

    #[inline(always)]
    fn send(&mut self, from: Seat, to: Seat, message: P::Message, copy: bool) {
        let (id, kind) = (self.numbers.next_id(), message.kind());
        let text = || Some(format!("{message:?}"));
        self.watch.event_with(from, What::Sent { message: id, to, kind, copy }, text);
        self.watch.judge.on_content(&message);
        let flight = Flight { id, from, to, message };
        if from == to {
            self.to_self.push_back(flight);
        } else if self.faults.touch_messages {
            self.send_faultily(flight);
        } else {
            self.launch(flight);
        }
    }

    #[inline]
    fn launch(&mut self, flight: Flight<P::Message>) {
        self.calls_in_flight += u64::from(is_call(&flight.message));
        self.wire.send(self.watch.now, flight);
    }

    fn send_faultily(&mut self, flight: Flight<P::Message>) {
        if let Some(label) = self.faults.cut_between(flight.from, flight.to) {
            self.faults.fired[label] += 1;
            return self.lose(&flight, LossCause::Partition);
        }
        let (loss, duplicate) = (self.setup.faults.loss, self.setup.faults.duplicate);
        if !loss.is_zero() && loss.happens(self.faults.stream.bits()) {
            self.faults.count_loss();
            return self.lose(&flight, LossCause::Network);
        }
        if !duplicate.is_zero() && duplicate.happens(self.faults.stream.bits()) {
            self.faults.count_duplicate();
            let what = What::Duplicated { message: flight.id, to: flight.to };
            self.watch.event(flight.from, what);
            self.launch(flight.clone());
        }
        self.launch(flight);
    }

    fn lose(&mut self, flight: &Flight<P::Message>, cause: LossCause) {
        let what = What::Lost { message: flight.id, to: flight.to, cause };
        self.watch.event(flight.from, what);
    }

    fn fault(&mut self, action: Action) {
        match action {
            Action::Crash { seat, label } => {
                self.faults.fired[label] += 1;
                self.watch.event(seat, What::Crashed);
                self.processes[seat.index()] = None;
                self.lose_held(seat);
                self.incarnations[seat.index()] += 1;
                self.timers.unset_all(seat);
                self.application.on_crash(seat);
            }
            Action::Return { seat, label, same } => {
                self.faults.fired[label] += 1;
                self.watch.event(seat, if same { What::Returned } else { What::Replaced });
                if !same {
                    self.stored[seat.index()] = None;
                }
                let process = self.start(seat, Arrival::Returning);
                self.processes[seat.index()] = Some(process);
                self.perform(seat);
                self.application.on_return(seat, self.desk.at(self.watch.now));
                self.take_orders();
            }
            Action::Pause { seat, label } if self.processes[seat.index()].is_some() => {
                self.faults.fired[label] += 1;
                self.watch.event(seat, What::Paused);
                self.paused[seat.index()] = Some(VecDeque::new());
            }
            Action::Resume { seat } => self.resume(seat),
            Action::Cut { partition, label } => self.cut(partition, label),
            Action::Heal { partition } => self.heal(partition),
            Action::Pause { .. } => {}
        }
    }

    /// What arrived during the pause is taken in now, in the order in which it came.
    fn resume(&mut self, seat: Seat) {
        let Some(held) = self.paused[seat.index()].take() else { return };
        self.watch.event(seat, What::Resumed);
        // Its application was paused as well: what it wanted meanwhile it only asks for now.
        let (late, held): (VecDeque<_>, VecDeque<_>) =
            held.into_iter().partition(|held| matches!(held, Held::Command { .. }));
        for held in held.into_iter().chain(late) {
            match held {
                Held::Message(flight) => self.deliver(flight),
                Held::Command { incarnation, command } => self.command(seat, incarnation, command),
                Held::Timer { timer, due } => self.timer(seat, timer, due),
            }
            while !self.to_self.is_empty() {
                self.take_from_self();
            }
        }
    }

    /// What a paused process had not taken in when it died is lost with it.
    fn lose_held(&mut self, seat: Seat) {
        let Some(held) = self.paused[seat.index()].take() else { return };
        for held in held {
            if let Held::Message(flight) = held {
                self.lose(&flight, LossCause::ReceiverDown);
            }
        }
    }

    fn cut(&mut self, partition: usize, label: usize) {
        let (plan, view) = (&self.setup.faults.partitions[partition], self.setup.view);
        let mut sides = vec![None; view.len()];
        for (ids, side) in [(&plan.left, Side::Left), (&plan.right, Side::Right)] {
            for seat in ids.iter().filter_map(|&id| view.seat(id)) {
                sides[seat.index()] = Some(side);
                let partition = u16::try_from(partition).unwrap_or(u16::MAX);
                self.watch.event(seat, What::Cut { partition, side });
            }
        }
        self.faults.cuts.push(Cut { partition, label, sides, one_way: plan.one_way });
    }

    fn heal(&mut self, partition: usize) {
        let plan = &self.setup.faults.partitions[partition];
        self.faults.cuts.retain(|cut| cut.partition != partition);
        for seat in plan.left.iter().chain(&plan.right).filter_map(|&id| self.setup.view.seat(id)) {
            let partition = u16::try_from(partition).unwrap_or(u16::MAX);
            self.watch.event(seat, What::Healed { partition });
        }
    }

    fn take_orders(&mut self) {
        for (at, seat, command) in self.desk.orders.drain(..) {
            let incarnation = self.incarnations[seat.index()];
            self.agenda.push(at, Item::Command { seat, incarnation, command });
        }
    }

    fn finish(mut self, ending: Ending) -> Outcome {
        // Of a run that was merely cut off, those who wait are not to be explained.
        let is_stuck = matches!(ending, Ending::Quiet | Ending::PatienceLost);
        let diagnosis =
            (is_stuck && self.watch.judge.waiting() > 0).then(|| self.diagnose()).flatten();
        let faults = self.setup.faults.labels().into_iter().zip(&self.faults.fired);
        Outcome {
            report: self.watch.judge.finish(ending),
            faults: faults.map(|(label, &count)| FiredFault { label, count }).collect(),
            diagnosis,
            records: self.watch.records,
            events: self.events,
        }
    }

    /// Asks everybody whom it waits for, and follows that to its root.
    fn diagnose(&mut self) -> Option<Diagnosis> {
        let waits_for = |process: &P| {
            let whom = process.waits_for();
            whom.into_iter().filter_map(|id| self.setup.view.seat(id)).collect()
        };
        let edges = self
            .processes
            .iter()
            .map(|it| it.as_ref().map(waits_for).unwrap_or_default())
            .collect();
        let diagnosis = WaitGraph::new(edges).diagnose(&self.watch.judge)?;
        for (waiter, whom) in diagnosis.edges() {
            self.watch.event(waiter, What::WaitsFor { whom });
        }
        Some(diagnosis)
    }
}

#[inline]
fn is_call<M: Message>(message: &M) -> bool {
    M::KINDS[usize::from(message.kind())].phase != Phase::Upkeep
}

impl<const RECORDS: bool> Watch<RECORDS> {
    fn event(&mut self, seat: Seat, what: What) {
        self.event_with(seat, what, || None);
    }

    /// Shows an event to the judge, and keeps it where events are kept.
    #[inline(always)]
    fn event_with(&mut self, seat: Seat, what: What, text: impl FnOnce() -> Option<String>) {
        let event = Event { at: self.now, seat, what };
        self.judge.on(&event);
        if RECORDS {
            self.records.push(Record { event, text: text(), rules: Vec::new() });
        }
    }
}
