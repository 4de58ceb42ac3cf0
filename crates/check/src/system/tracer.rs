//! A way through the states as an ordinary trace: every step taken again, by the processes
//! themselves, and written down.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_core::{Arrival, Family, Host, Input, Message, Protocol, Seat};
use conclave_observe::trace::{PendingTimer, Record, Standing, Trace};
use conclave_observe::{Event, LossCause, MessageId, MessageNumbers, Observed, Spoken, Time, What};
use smallvec::SmallVec;

use super::channel::{Channel, InFlight};
use super::node::{Node, Timer, Witness};
use super::{Deed, Flaw, System, Users, timer_tags};
use crate::{Fingerprint, Lasso, Model, Step, Successors, Worker};

/// What happened on a way, and where its loop begins if it has one.
#[derive(Clone, Debug)]
pub struct Told {
    /// What happened, event by event.
    pub records: Vec<Record>,
    /// The first record of the loop.
    pub repeats_from: Option<u64>,
    /// The timers that are set, wherever a process took a step.
    timers: Timers,
}

/// The timers that processes have set, by name.
#[derive(Clone, Default, Debug)]
struct Timers {
    /// By seat, at the beginning.
    first: Vec<Vec<PendingTimer>>,
    /// By the last record of each step.
    later: Vec<(usize, Vec<PendingTimer>)>,
}

impl Told {
    /// The trace with the timers of the processes, as pictures need them: beside each step, and
    /// without states. A trace that is kept goes without, as it can be taken again.
    pub fn timed(&self, mut trace: Trace) -> Trace {
        let standing = |timers: &Vec<PendingTimer>| Standing {
            state: String::from("null"),
            timers: timers.clone(),
        };
        trace.header.starts = self.timers.first.iter().map(standing).map(Some).collect();
        for (index, timers) in &self.timers.later {
            if let Some(record) = trace.records.get_mut(*index) {
                record.after = Some(Box::new(standing(timers)));
            }
        }
        trace
    }
}

/// Takes steps and writes them down.
struct Tracer<'a, P: Protocol, C: Users<P::Family>> {
    system: &'a System<'a, P, C>,
    nodes: Vec<Node<P, C::State>>,
    /// By sender and receiver.
    channels: Vec<Vec<Vec<Numbered<P::Message>>>>,
    /// How many of the dead can still come back.
    returns: u8,
    host: Host<P>,
    page: Page<P::Message>,
}

/// A message on its way, by its number.
type Numbered<M> = (MessageId, InFlight<M>);

/// What is written.
struct Page<M> {
    seat: Seat,
    at: Time,
    records: Vec<Record>,
    /// The record that the rules of a step belong to.
    step: usize,
    numbers: MessageNumbers,
    /// What was sent and is not on its way yet: from whom, to whom.
    sends: Vec<((Seat, Seat), MessageId, M)>,
    /// Messages of a process to itself that it has not taken in yet.
    own: alloc::collections::VecDeque<MessageId>,
    timers: Timers,
}

impl<P, C> System<'_, P, C>
where
    P: Observed,
    C: Users<P::Family>,
{
    /// What happens on a way to a flaw. Where that is that nothing happens any more, it is said
    /// who waits for whom.
    pub fn tell(&self, path: &[Step], flaw: Flaw) -> Told {
        let is_stuck = matches!(flaw, Flaw::Deadlock | Flaw::Stalled);
        match is_stuck {
            true => self.tell_from(path, None, true).0,
            false => self.tell_from(&self.until_it_shows(path), None, false).0,
        }
    }

    /// A way to what is wrong, and on to what happens next if it is wrong because time passed: what
    /// is told is what happens, and nothing happens as time passes.
    fn until_it_shows(&self, path: &[Step]) -> Vec<Step> {
        let mut path = path.to_vec();
        let mut next = path.last().copied().filter(|&step| Deed::from(step) == Deed::Tick);
        while next.is_some_and(|step| Deed::from(step) == Deed::Tick) {
            next = self.due_after(&path);
            path.extend(next);
        }
        path
    }

    /// What must happen next at the end of a way, if anything must: time passes last.
    fn due_after(&self, path: &[Step]) -> Option<Step> {
        let (mut hand, mut out) = (self.hand(), Successors::new(self.width(), 1));
        // The way is one that processes go, by their own names.
        hand.orbits = None;
        hand.begin(&mut out);
        let mut state = out.take().next()?;
        for &step in path {
            hand.expand(&state.words, state.print, &mut out);
            state = out.take().find(|next| next.step == step)?;
        }
        hand.expand(&state.words, state.print, &mut out);
        let due = out.take().map(|next| next.step).filter(|&step| Deed::from(step).is_due());
        due.min_by_key(|&step| Deed::from(step) == Deed::Tick)
    }

    /// What happens on a way without an end.
    pub fn tell_loop(&self, lasso: &Lasso) -> Told {
        let whole: Vec<Step> = lasso.stem.iter().chain(&lasso.turn).copied().collect();
        let (told, at) = self.tell_from(&whole, Some(lasso.stem.len()), false);
        // Where nothing happens for ever, what repeats is the end.
        let from = at.unwrap_or(told.records.len());
        Told { repeats_from: Some(from as u64), ..told }
    }

    fn tell_from(
        &self,
        path: &[Step],
        marked: Option<usize>,
        is_stuck: bool,
    ) -> (Told, Option<usize>) {
        let mut tracer = Tracer::new(self);
        let times = self.times(path);
        let mut mark = None;
        for (index, (&step, &at)) in path.iter().zip(&times).enumerate() {
            if marked == Some(index) {
                mark = Some(tracer.page.records.len());
            }
            tracer.page.at = at;
            tracer.take(step.into());
        }
        if is_stuck {
            tracer.say_who_waits();
        }
        let Page { records, timers, .. } = tracer.page;
        (Told { records, repeats_from: None, timers }, mark)
    }

    /// When each step happens, as far as it is drawn: one after the other, or at its tick.
    fn times(&self, path: &[Step]) -> Vec<Time> {
        if !self.setup.time.is_sync() {
            return (1..=path.len() as u64).map(Time::delays).collect();
        }
        let is_tick = |step: &Step| Deed::from(*step) == Deed::Tick;
        let mut times = Vec::new();
        for (tick, steps) in path.split_inclusive(is_tick).enumerate() {
            let steps = steps.len() as u64;
            let tick = Time::delays(tick as u64);
            let within = (0..steps).map(|place| Time(tick.0 + place * Time::DELAY.0 / steps));
            times.extend(within);
        }
        times
    }
}

impl<'a, P, C> Tracer<'a, P, C>
where
    P: Observed,
    C: Users<P::Family>,
{
    fn new(system: &'a System<'a, P, C>) -> Self {
        let setup = system.setup;
        let page = Page {
            seat: Seat(0),
            at: Time::ZERO,
            records: Vec::new(),
            step: 0,
            numbers: MessageNumbers::new(setup.view.len()),
            sends: Vec::new(),
            own: alloc::collections::VecDeque::new(),
            timers: Timers::default(),
        };
        let members = setup.view.len();
        let none = || (0..members).map(|_| Vec::new()).collect();
        let channels = (0..members).map(|_| none()).collect();
        let host = Host::explained().tampered(setup.tamper.as_ref());
        let nodes = Vec::new();
        let returns = setup.faults.returns;
        let mut tracer = Self { system, nodes, channels, returns, host, page };
        for seat in (0..setup.view.len()).map(Seat::at) {
            let client = setup.client.first(seat);
            let timers = SmallVec::new();
            tracer.nodes.push(Node { seat, process: None, client, timers, stored: None });
            tracer.page.seat = seat;
            // What starts at the beginning has no record of its own that rules could belong to.
            tracer.page.step = usize::MAX;
            tracer.nodes[seat.index()].start(
                setup,
                Arrival::Founding,
                &mut tracer.host,
                &mut tracer.page,
            );
        }
        tracer.send_all();
        tracer.page.timers.first =
            (0..setup.view.len()).map(|index| tracer.timers(Seat::at(index))).collect();
        for seat in (0..setup.view.len()).map(Seat::at) {
            let told = P::Family::told_at_first(&setup.opening(seat), setup.view.at(seat));
            if let Some(said) = told.and_then(|notice| P::Family::told(&notice, setup.view)) {
                tracer.page.seat = seat;
                tracer.page.event(What::Told(said));
            }
        }
        tracer
    }

    fn take(&mut self, deed: Deed) {
        let setup = self.system.setup;
        match deed {
            Deed::Tick => {
                self.nodes.iter_mut().for_each(Node::tick);
                for (_, flight) in self.channels.iter_mut().flatten().flatten() {
                    flight.due_in = flight.due_in.saturating_sub(1);
                }
            }
            Deed::Asks(seat) | Deed::Leaves(seat) => {
                let node = &mut self.nodes[seat.index()];
                let Some(ask) = setup.client.asks(&node.client) else { return };
                setup.client.asked(&mut node.client);
                let said = P::Family::asked(&ask.command, setup.view);
                self.page.begin(seat, What::Asked(said), None);
                self.go_on(seat, Input::Command(ask.command));
            }
            Deed::Arrives { from, to, tag } => self.arrive(from, to, tag),
            Deed::RunsOut { seat, tag } => {
                let node = &mut self.nodes[seat.index()];
                let tags = timer_tags(&node.timers);
                let Some(index) = tags.iter().position(|&it| it == tag) else { return };
                let timer = node.run_out(index);
                self.page.begin(seat, What::TimerFired, Some(format!("{timer:?}")));
                self.go_on(seat, Input::Timer(timer));
            }
            Deed::Crashes(seat) => {
                self.page.begin(seat, What::Crashed, None);
                self.nodes[seat.index()].crash(&setup.client);
                if self.returns == 0 {
                    self.give_up_what_goes_to(seat);
                }
            }
            Deed::Returns(seat) => {
                self.page.begin(seat, What::Returned, None);
                self.returns = self.returns.saturating_sub(1);
                self.nodes[seat.index()].start(
                    setup,
                    Arrival::Returning,
                    &mut self.host,
                    &mut self.page,
                );
                self.send_all();
                self.stand(seat);
            }
            Deed::IsLost { from, to, tag } => {
                if let Some((message, _)) = self.pick(from, to, tag, true) {
                    let cause = LossCause::Network;
                    self.page.begin(from, What::Lost { message, to, cause }, None);
                }
            }
            Deed::IsDoubled { from, to, tag } => {
                if let Some((message, flight)) = self.pick(from, to, tag, false) {
                    self.page.begin(from, What::Duplicated { message, to }, None);
                    self.channels[from.index()][to.index()].push((message, flight));
                }
            }
        }
    }

    /// The timers that are set there.
    fn timers(&self, seat: Seat) -> Vec<PendingTimer> {
        let pending = |timer: &Timer<P::Timer>| PendingTimer {
            name: format!("{:?}", timer.name),
            due: self.page.at + Time::delays(timer.after.into()),
            is_deadline: timer.is_deadline,
        };
        self.nodes[seat.index()].timers.iter().map(pending).collect()
    }

    /// A step of that process is over: what it has set now stands beside the last that it did.
    fn stand(&mut self, seat: Seat) {
        let is_its = |record: &Record| record.event.seat == seat;
        if let Some(index) = self.page.records.iter().rposition(is_its) {
            let timers = self.timers(seat);
            self.page.timers.later.push((index, timers));
        }
    }

    fn arrive(&mut self, from: Seat, to: Seat, tag: u16) {
        let Some((message, flight)) = self.pick(from, to, tag, true) else { return };
        if self.nodes[to.index()].process.is_none() {
            let cause = LossCause::ReceiverDown;
            return self.page.begin(from, What::Lost { message, to, cause }, None);
        }
        let kind = flight.message.kind();
        let text = Some(format!("{:?}", flight.message));
        self.page.begin(to, What::Received { message, from, kind }, text);
        let from = self.system.setup.view.at(from);
        self.go_on(to, Input::Message { from, message: flight.message });
    }

    fn go_on(&mut self, seat: Seat, input: Input<P>) {
        let node = &mut self.nodes[seat.index()];
        node.take(self.system.setup, input, &mut self.host, &mut self.page);
        self.send_all();
        self.stand(seat);
    }

    fn send_all(&mut self) {
        let due_in = self.system.setup.time.bound().count;
        for ((from, to), id, message) in core::mem::take(&mut self.page.sends) {
            self.channels[from.index()][to.index()].push((id, InFlight { message, due_in }));
        }
        if self.returns == 0 {
            let dead = self.nodes.iter().filter(|it| it.process.is_none()).map(|it| it.seat);
            let dead: Vec<Seat> = dead.collect();
            dead.into_iter().for_each(|seat| self.give_up_what_goes_to(seat));
        }
    }

    /// Nobody will ever take it in: as in the search, it is lost at once.
    fn give_up_what_goes_to(&mut self, dead: Seat) {
        for (from, flights) in self.channels.iter_mut().enumerate() {
            for (message, _) in flights[dead.index()].drain(..) {
                self.page.seat = Seat::at(from);
                let cause = LossCause::ReceiverDown;
                self.page.event(What::Lost { message, to: dead, cause });
            }
        }
    }

    /// Finds a message by what the search calls it, and takes it out.
    fn pick(
        &mut self,
        from: Seat,
        to: Seat,
        tag: u16,
        takes_out: bool,
    ) -> Option<Numbered<P::Message>> {
        let wires = &self.system.wires;
        let flights = &mut self.channels[from.index()][to.index()];
        if wires.order == super::Channels::Unordered {
            flights.sort_by_cached_key(|(_, flight)| Fingerprint::of(flight));
        }
        let channel = Channel(flights.iter().map(|(_, flight)| flight.clone()).collect());
        let place = wires.place(&channel, tag)?;
        Some(if takes_out { flights.remove(place) } else { flights[place].clone() })
    }

    /// Who waits, for whom, at the end.
    fn say_who_waits(&mut self) {
        let setup = self.system.setup;
        for node in &self.nodes {
            let Some(process) = node.process.as_ref() else { continue };
            let mut whom: Vec<Seat> =
                process.waits_for().into_iter().filter_map(|id| setup.view.seat(id)).collect();
            whom.dedup();
            // Who waits for its own vote as well does not have it because of somebody else.
            if whom.iter().any(|&it| it != node.seat) {
                whom.retain(|&it| it != node.seat);
            }
            if setup.vocabulary.is_contended && !setup.client.waits(&node.client) {
                continue;
            }
            self.page.seat = node.seat;
            for whom in whom {
                self.page.event(What::WaitsFor { whom });
            }
        }
    }
}

impl<M> Page<M> {
    fn event(&mut self, what: What) {
        self.write(what, None);
    }

    fn write(&mut self, what: What, text: Option<String>) {
        let event = Event { at: self.at, seat: self.seat, what };
        self.records.push(Record { text, ..Record::of(event) });
    }

    /// A step begins with this.
    fn begin(&mut self, seat: Seat, what: What, text: Option<String>) {
        self.seat = seat;
        self.step = self.records.len();
        self.write(what, text);
    }
}

impl<M: Message> Witness<M> for Page<M> {
    fn sent(&mut self, to: Seat, message: &M, copy: bool) {
        let (id, kind) = (self.numbers.next_of(self.seat), message.kind());
        let text = Some(format!("{message:?}"));
        self.write(What::Sent { message: id, to, kind, copy }, text);
        if to == self.seat {
            self.own.push_back(id);
        } else {
            self.sends.push(((self.seat, to), id, message.clone()));
        }
    }

    fn took_own(&mut self, message: &M) {
        let Some(id) = self.own.pop_front() else { return };
        let (from, kind) = (self.seat, message.kind());
        let text = Some(format!("{message:?}"));
        self.begin(from, What::Received { message: id, from, kind }, text);
    }

    fn told(&mut self, what: What) {
        self.event(what);
    }

    fn rules(&mut self, rules: Vec<&'static str>) {
        if let Some(record) = self.records.get_mut(self.step) {
            record.rules.extend(rules.into_iter().map(Into::into));
        }
    }
}
