//! What a runner promises, written down once more in the plainest way: a state is what is there,
//! and a step makes another of it. Nothing is numbered, shared or remembered, so that a search of
//! it says something about a search that does all that.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use conclave_check::system::{Bounds, Channels, Faults, TimeModel};
use conclave_core::detector::Detectors;
use conclave_core::election::Elections;
use conclave_core::mutex::Locks;
use conclave_core::process::{self, Processes};
use conclave_core::{
    Arrival, Due, Environment, Family, Host, Input, Message, NoticeOf, Phase, ProcessId, Promises,
    Protocol, Seat, Start, View, detector, election, mutex,
};
use conclave_observe::{
    AnyMemory, Breach, Brief, JudgeOrdering, Observed, Spoken, Vocabulary, What,
};
use stateright::{Model, Property};

/// What applications do: each asks for what it wants, so many times.
pub trait Application<F: Family>: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// What it can ask for, and whether it must eventually.
    fn wants(&self) -> Option<(F::Command, bool)>;
    /// It has asked for that.
    fn asked(&mut self);
    /// It is told something.
    fn told(&mut self, notice: &F::Notice);
    /// Its process dies.
    fn dies(&mut self);
    /// Whether it waits for something that must come.
    fn waits(&self) -> bool;
    /// Whether it has had all that it wanted.
    fn is_done(&self) -> bool;
}

/// Enters the critical section so many times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Enterer {
    pub left: u8,
    pub place: Place,
}

/// Where an application is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    Outside,
    AtTheDoor,
    Inside,
}

impl Application<Locks> for Enterer {
    fn wants(&self) -> Option<(mutex::Command, bool)> {
        match self.place {
            Place::Outside => (self.left > 0).then_some((mutex::Command::Enter, false)),
            Place::AtTheDoor => None,
            Place::Inside => Some((mutex::Command::Leave, true)),
        }
    }

    fn asked(&mut self) {
        if self.place == Place::Outside {
            (self.left, self.place) = (self.left - 1, Place::AtTheDoor);
        }
    }

    fn told(&mut self, notice: &mutex::Notice) {
        self.place = match notice {
            mutex::Notice::Entered { .. } => Place::Inside,
            mutex::Notice::Left => Place::Outside,
        };
    }

    fn dies(&mut self) {
        self.place = Place::Outside;
    }

    fn waits(&self) -> bool {
        self.place == Place::AtTheDoor
    }

    fn is_done(&self) -> bool {
        self.left == 0 && self.place == Place::Outside
    }
}

/// Calls for an election so many times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Caller(pub u8);

impl Application<Elections> for Caller {
    fn wants(&self) -> Option<(election::Command, bool)> {
        (self.0 > 0).then_some((election::Command::Call, false))
    }

    fn asked(&mut self) {
        self.0 -= 1;
    }

    fn told(&mut self, _: &election::Notice) {}

    fn dies(&mut self) {}

    fn waits(&self) -> bool {
        false
    }

    fn is_done(&self) -> bool {
        self.0 == 0
    }
}

/// Lets its process take so many steps: by turns a message to another, and one alone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Stepper {
    /// Whom it can send to, nearest first.
    pub others: Vec<ProcessId>,
    pub left: u8,
    pub taken: u8,
}

impl Application<Processes> for Stepper {
    fn wants(&self) -> Option<(process::Command, bool)> {
        let is_sending = self.taken.is_multiple_of(2);
        let whom = self.others.iter().cycle().nth(usize::from(self.taken / 2));
        let command = match whom {
            Some(&other) if is_sending => process::Command::Send(other),
            _ => process::Command::Work,
        };
        (self.left > 0).then_some((command, false))
    }

    fn asked(&mut self) {
        (self.left, self.taken) = (self.left - 1, self.taken + 1);
    }

    fn told(&mut self, _: &process::Notice) {}

    fn dies(&mut self) {}

    fn waits(&self) -> bool {
        false
    }

    fn is_done(&self) -> bool {
        self.left == 0
    }
}

/// Listens to what a detector says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Listener;

impl Application<Detectors> for Listener {
    fn wants(&self) -> Option<(detector::Command, bool)> {
        None
    }

    fn asked(&mut self) {}

    fn told(&mut self, _: &detector::Notice) {}

    fn dies(&mut self) {}

    fn waits(&self) -> bool {
        false
    }

    fn is_done(&self) -> bool {
        true
    }
}

/// A system, and what can happen to it.
#[derive(Clone, Debug)]
pub struct Plain<P: Protocol, A> {
    pub view: View,
    /// By seat.
    pub configs: Vec<P::Config>,
    pub vocabulary: &'static Vocabulary,
    pub promises: Promises,
    pub applications: Vec<A>,
    pub channels: Channels,
    pub time: TimeModel,
    pub faults: Faults,
    pub bounds: Bounds,
    /// Whether anything can be wrong with a state: otherwise all of them are looked at.
    pub is_judged: bool,
    /// What is looked for, if not everything is to be looked at.
    pub wanted: Wanted,
    /// What was seen on the way.
    pub seen: Arc<Seen>,
}

/// What a search looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Nothing: it goes on to the end.
    Nothing,
    /// Anything that is wrong.
    AnyFlaw,
    /// This.
    Flaw(Flaw),
}

/// What can be wrong with a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    Breach(Breach),
    Invariant,
    Deadlock,
    Stalled,
}

/// How many states and steps there were of some sorts.
#[derive(Debug, Default)]
pub struct Seen {
    pub two_wait: AtomicU64,
    pub finished: AtomicU64,
    pub crashed: AtomicU64,
    pub flawed: AtomicU64,
}

/// All there is at one moment.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State<P: Protocol, A> {
    /// By seat; none while it is down.
    processes: Vec<Option<P>>,
    applications: Vec<A>,
    /// From whom to whom: what is on its way.
    channels: BTreeMap<(usize, usize), Vec<Flight<P::Message>>>,
    timers: BTreeMap<(usize, P::Timer), Setting>,
    stored: Vec<Option<P::Stored>>,
    left: Left,
    pub watch: Watched,
}

/// When a timer runs out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Setting {
    /// How many ticks from now it may.
    after: u16,
    /// How many ticks from now it must have.
    at_most: u16,
    /// Whether it comes before anything else that happens to its process then.
    is_deadline: bool,
}

/// A message on its way, and how many ticks it has left.
type Flight<M> = (M, u16);

/// What is left of all that is bounded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Left {
    crashes: u8,
    returns: u8,
    losses: u8,
    duplications: u8,
    timeouts: Option<u8>,
}

/// What can happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action<T> {
    Ask(usize),
    /// From whom, to whom, at which place of the channel.
    Arrive(usize, usize, usize),
    RunOut(usize, T),
    Tick,
    Crash(usize),
    Return(usize),
    Lose(usize, usize, usize),
    Double(usize, usize, usize),
}

/// What was seen of a step, in order.
pub type Account = Vec<Sight>;

/// Something that was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// It happened at this one.
    What(Seat, What),
    /// A tick passed.
    Tick,
    /// Nothing that belongs to a call is in flight.
    Quiet,
}

/// What the judge remembers; two that remember the same are equal.
#[derive(Clone, Debug)]
pub struct Watched(Box<dyn AnyMemory>);

impl PartialEq for Watched {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_same(&*other.0)
    }
}

impl Eq for Watched {}

impl Hash for Watched {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Deref for Watched {
    type Target = dyn AnyMemory;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl DerefMut for Watched {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.0
    }
}

impl<P, A> Plain<P, A>
where
    P: Observed,
    A: Application<P::Family>,
{
    fn watch(&self) -> Watched {
        let (ids, promises) = (self.view.members(), self.promises);
        Watched((self.vocabulary.memory)(&Brief { ids, promises, ordering: JudgeOrdering::No }))
    }

    /// Everybody starts, one after the other.
    pub fn first(&self, account: &mut Account) -> State<P, A> {
        let members = self.view.len();
        let Faults { crashes, returns, losses, duplications } = self.faults;
        let timeouts = self.bounds.timeouts;
        let mut state = State {
            processes: vec![None; members],
            applications: self.applications.clone(),
            channels: BTreeMap::new(),
            timers: BTreeMap::new(),
            stored: vec![None; members],
            left: Left { crashes, returns, losses, duplications, timeouts },
            watch: self.watch(),
        };
        for seat in 0..members {
            // Who has not started yet will take in what is sent to it.
            let mut around =
                Around { gone: vec![false; members], ..self.around(&mut state, seat, account) };
            let process = Host::new().start(self.beginning(seat), &mut around);
            state.processes[seat] = Some(process);
            self.tell_if_quiet(&mut state, account);
        }
        state
    }

    fn beginning(&self, seat: usize) -> Start<'_, P> {
        Start::founding(self.view.at(Seat::at(seat)), &self.view, &self.configs[seat])
    }

    /// All that is around a process while it takes a step.
    fn around<'a>(
        &'a self,
        state: &'a mut State<P, A>,
        seat: usize,
        account: &'a mut Account,
    ) -> Around<'a, P, A> {
        let gone = (0..self.view.len()).map(|seat| is_gone(state, seat)).collect();
        Around { plain: self, state, seat, gone, account }
    }

    fn input(&self, state: &mut State<P, A>, seat: usize, input: Input<P>, to: &mut Account) {
        if let Some(mut process) = state.processes[seat].take() {
            Host::new().take(&mut process, input, &mut self.around(state, seat, to));
            state.processes[seat] = Some(process);
        }
    }

    fn bound(&self) -> u16 {
        match self.time {
            TimeModel::Async => 0,
            TimeModel::Sync { bound, .. } => bound,
        }
    }

    /// In ticks, and a part of one is a whole one.
    fn ticks(&self, time: Duration) -> u16 {
        match self.time {
            TimeModel::Async => 0,
            TimeModel::Sync { tick, .. } => {
                let ticks = time.as_nanos().div_ceil(tick.as_nanos());
                u16::try_from(ticks).unwrap_or(u16::MAX)
            }
        }
    }

    /// Changes what is in a channel, and keeps it so that states that mean the same are the same.
    fn change_channel(
        &self,
        state: &mut State<P, A>,
        ends: (usize, usize),
        change: impl FnOnce(&mut Vec<Flight<P::Message>>),
    ) {
        let channel = state.channels.entry(ends).or_default();
        change(channel);
        if self.channels == Channels::Unordered {
            channel.sort_by_cached_key(|flight| format!("{flight:?}"));
        }
        if channel.is_empty() {
            state.channels.remove(&ends);
        }
    }

    fn take_message(
        &self,
        state: &mut State<P, A>,
        ends: (usize, usize),
        place: usize,
    ) -> P::Message {
        let mut taken = None;
        self.change_channel(state, ends, |channel| taken = Some(channel.remove(place).0));
        taken.expect("it was there")
    }

    fn tell_if_quiet(&self, state: &mut State<P, A>, account: &mut Account) {
        let is_upkeep = |message: &P::Message| {
            P::Message::KINDS[usize::from(message.kind())].phase == Phase::Upkeep
        };
        let wants_quiet = state.watch.wants_quiet();
        if wants_quiet && state.channels.values().flatten().all(|(it, _)| is_upkeep(it)) {
            state.watch.on_quiet();
            account.push(Sight::Quiet);
        }
    }

    /// A tick later; the same if nothing waits for time to pass.
    fn later(&self, state: &State<P, A>) -> State<P, A> {
        let mut later = state.clone();
        for Setting { after, at_most, .. } in later.timers.values_mut() {
            (*after, *at_most) = (after.saturating_sub(1), at_most.saturating_sub(1));
        }
        let all: Vec<_> = later.channels.keys().copied().collect();
        for ends in all {
            self.change_channel(&mut later, ends, |channel| {
                channel.iter_mut().for_each(|(_, left)| *left = left.saturating_sub(1));
            });
        }
        later
    }

    /// Each place of a channel that is worth naming: one of several that are alike is enough where
    /// there is no order.
    fn places(&self, channel: &[Flight<P::Message>]) -> Vec<usize> {
        let is_first = |place: &usize| *place == 0 || channel[*place] != channel[*place - 1];
        match self.channels {
            Channels::Fifo => (0..channel.len()).collect(),
            Channels::Unordered => (0..channel.len()).filter(is_first).collect(),
        }
    }

    /// Whether a timer is a deadline that is due.
    fn is_first(&self, setting: Setting) -> bool {
        self.time.is_sync() && setting.is_deadline && setting.at_most == 0
    }

    /// Whether nothing but a deadline can happen to that one.
    fn has_deadline(&self, state: &State<P, A>, seat: usize) -> bool {
        let mut own = state.timers.iter().filter(|((whose, _), _)| *whose == seat);
        own.any(|(_, setting)| self.is_first(*setting))
    }

    /// The timers that can run out, as far as no bound keeps them from it.
    fn ripe(&self, state: &State<P, A>) -> Vec<(usize, P::Timer)> {
        let awaits = |seat: usize| {
            let mut to_it = state.channels.iter().filter(|((_, to), _)| *to == seat);
            self.time.is_sync() && to_it.any(|(_, it)| it.iter().any(|(_, left)| *left == 0))
        };
        let is_ripe = |seat: usize, setting: Setting| match self.has_deadline(state, seat) {
            true => self.is_first(setting),
            false => setting.after == 0 && !awaits(seat),
        };
        let ripe = state.timers.iter().filter(|((seat, _), setting)| is_ripe(*seat, **setting));
        ripe.map(|(&timer, _)| timer).collect()
    }

    fn can_tick(&self, state: &State<P, A>) -> bool {
        let is_timer_due = state.timers.values().any(|setting| setting.at_most == 0);
        let is_message_due = state.channels.values().flatten().any(|(_, left)| *left == 0);
        self.time.is_sync() && !is_timer_due && !is_message_due && self.later(state) != *state
    }

    /// What comes of an action; none if it lies beyond a bound.
    pub fn take(
        &self,
        last: &State<P, A>,
        action: Action<P::Timer>,
        account: &mut Account,
    ) -> Option<State<P, A>> {
        let mut state = last.clone();
        match action {
            Action::Ask(seat) => {
                let (command, _) = state.applications[seat].wants().expect("it can ask");
                let said = P::Family::asked(&command, &self.view);
                see(&mut state, seat, What::Asked(said), account);
                state.applications[seat].asked();
                self.input(&mut state, seat, Input::Command(command), account);
            }
            Action::Arrive(from, to, place) => {
                let message = self.take_message(&mut state, (from, to), place);
                let from = self.view.at(Seat::at(from));
                self.input(&mut state, to, Input::Message { from, message }, account);
            }
            Action::RunOut(seat, timer) => {
                state.timers.remove(&(seat, timer));
                state.left.timeouts = state.left.timeouts.map(|left| left - 1);
                self.input(&mut state, seat, Input::Timer(timer), account);
            }
            Action::Tick => {
                state = self.later(&state);
                state.watch.on_tick();
                account.push(Sight::Tick);
            }
            Action::Crash(seat) => {
                state.left.crashes -= 1;
                state.processes[seat] = None;
                state.applications[seat].dies();
                state.timers.retain(|(of, _), _| *of != seat);
                if is_gone(&state, seat) {
                    state.channels.retain(|(_, to), _| *to != seat);
                }
                self.seen.crashed.fetch_add(1, Ordering::Relaxed);
                see(&mut state, seat, What::Crashed, account);
            }
            Action::Return(seat) => {
                state.left.returns -= 1;
                see(&mut state, seat, What::Returned, account);
                let stored = state.stored[seat].clone();
                let (arrival, stored) = (Arrival::Returning, stored.as_ref());
                let start = Start { arrival, stored, ..self.beginning(seat) };
                let process = Host::new().start(start, &mut self.around(&mut state, seat, account));
                state.processes[seat] = Some(process);
            }
            Action::Lose(from, to, place) => {
                state.left.losses -= 1;
                self.take_message(&mut state, (from, to), place);
            }
            Action::Double(from, to, place) => {
                state.left.duplications -= 1;
                self.change_channel(&mut state, (from, to), |channel| {
                    channel.push(channel[place].clone());
                });
            }
        }
        self.tell_if_quiet(&mut state, account);
        let term = state.processes.iter().flatten().map(Protocol::epoch).max();
        let is_beyond = self.bounds.terms.is_some_and(|most| term > Some(most));
        (!is_beyond).then_some(state)
    }

    /// Who waits for something that must come.
    fn waiting(&self, state: &State<P, A>) -> usize {
        let is_pending = |seat: usize| state.watch.pending().iter().any(|it| it.index() == seat);
        let waits = |seat: &usize| state.applications[*seat].waits() || is_pending(*seat);
        (0..self.view.len()).filter(waits).count()
    }

    /// All that is wrong with a state.
    pub fn flaws(&self, state: &State<P, A>) -> Vec<Flaw> {
        if !self.is_judged {
            return Vec::new();
        }
        let mut flaws: Vec<Flaw> = state.watch.broken().map(Flaw::Breach).into_iter().collect();
        if state.processes.iter().flatten().any(|process| process.invariants().is_err()) {
            flaws.push(Flaw::Invariant);
        }
        let must_leave = |(it, process): (&A, &Option<P>)| {
            process.is_some() && it.wants().is_some_and(|(_, is_due)| is_due)
        };
        let has_duty = state.applications.iter().zip(&state.processes).any(must_leave)
            || !state.channels.is_empty()
            || !self.ripe(state).is_empty()
            || self.can_tick(state);
        if self.waiting(state) > 0 && !has_duty {
            let Left { crashes, returns, losses, duplications, .. } = state.left;
            let is_calm = self.faults == Faults { crashes, returns, losses, duplications };
            flaws.push(if is_calm { Flaw::Deadlock } else { Flaw::Stalled });
        }
        flaws
    }

    fn count(&self, state: &State<P, A>) {
        let waiting = self.waiting(state);
        self.seen.two_wait.fetch_add(u64::from(waiting > 1), Ordering::Relaxed);
        let mut all = state.applications.iter().zip(&state.processes);
        let is_over = state.watch.pending().is_empty()
            && all.all(|(it, process)| process.is_none() || it.is_done());
        self.seen.finished.fetch_add(u64::from(is_over), Ordering::Relaxed);
        let is_flawed = !self.flaws(state).is_empty();
        self.seen.flawed.fetch_add(u64::from(is_flawed), Ordering::Relaxed);
    }
}

/// All that is around a process while it takes a step.
struct Around<'a, P: Protocol, A> {
    plain: &'a Plain<P, A>,
    state: &'a mut State<P, A>,
    seat: usize,
    /// By seat: whether it will never take anything in.
    gone: Vec<bool>,
    account: &'a mut Account,
}

impl<P, A> Environment<P> for Around<'_, P, A>
where
    P: Observed,
    A: Application<P::Family>,
{
    fn view(&self) -> &View {
        &self.plain.view
    }

    fn seat(&self) -> Seat {
        Seat::at(self.seat)
    }

    fn stepped(&mut self, _: &P, _: Vec<&'static str>) {}

    fn send(&mut self, to: Seat, message: P::Message, _: bool) {
        if !self.gone[to.index()] {
            let (ends, flight) = ((self.seat, to.index()), (message, self.plain.bound()));
            self.plain.change_channel(self.state, ends, |channel| channel.push(flight));
        }
    }

    fn send_own(&mut self, _: &P::Message, _: bool) {}

    fn take_own(&mut self, _: &P::Message) {}

    fn notify(&mut self, notice: NoticeOf<P>) {
        if let Some(said) = P::Family::told(&notice, &self.plain.view) {
            let what = What::Told(said);
            see(self.state, self.seat, what, self.account);
        }
        self.state.applications[self.seat].told(&notice);
    }

    fn set_timer(&mut self, timer: P::Timer, due: Due) {
        let (after, at_most, is_deadline) = match due {
            Due::Within { after, at_most } => (after, at_most, false),
            Due::Deadline(after) => (after, after, true),
        };
        let (after, at_most) = (self.plain.ticks(after), self.plain.ticks(at_most));
        let setting = Setting { after, at_most, is_deadline };
        self.state.timers.insert((self.seat, timer), setting);
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.state.timers.remove(&(self.seat, timer));
    }

    fn persist(&mut self, stored: P::Stored) {
        self.state.stored[self.seat] = Some(stored);
    }
}

fn see<P: Protocol, A>(state: &mut State<P, A>, seat: usize, what: What, account: &mut Account) {
    state.watch.on(Seat::at(seat), what);
    account.push(Sight::What(Seat::at(seat), what));
}

/// Whether nobody will ever take in what is sent to that one.
fn is_gone<P: Protocol, A>(state: &State<P, A>, seat: usize) -> bool {
    state.processes[seat].is_none() && state.left.returns == 0
}

impl<P, A> Model for Plain<P, A>
where
    P: Observed,
    A: Application<P::Family>,
{
    type State = State<P, A>;
    type Action = Action<P::Timer>;

    fn init_states(&self) -> Vec<State<P, A>> {
        vec![self.first(&mut Account::default())]
    }

    fn actions(&self, state: &State<P, A>, actions: &mut Vec<Action<P::Timer>>) {
        let is_up = |seat: &usize| state.processes[*seat].is_some();
        let seats = || 0..self.view.len();
        let asking = seats().filter(is_up).filter(|&it| state.applications[it].wants().is_some());
        let is_free = |seat: usize| !self.has_deadline(state, seat);
        actions.extend(asking.filter(|&seat| is_free(seat)).map(Action::Ask));
        for (&(from, to), channel) in state.channels.iter().filter(|((_, to), _)| is_free(*to)) {
            let next = match self.channels {
                Channels::Fifo => vec![0],
                Channels::Unordered => self.places(channel),
            };
            actions.extend(next.into_iter().map(|place| Action::Arrive(from, to, place)));
        }
        if state.left.timeouts != Some(0) {
            let ripe = self.ripe(state).into_iter();
            actions.extend(ripe.map(|(seat, timer)| Action::RunOut(seat, timer)));
        }
        if self.can_tick(state) {
            actions.push(Action::Tick);
        }
        if state.left.crashes > 0 {
            actions.extend(seats().filter(is_up).map(Action::Crash));
        }
        if state.left.returns > 0 {
            actions.extend(seats().filter(|seat| !is_up(seat)).map(Action::Return));
        }
        for (&(from, to), channel) in &state.channels {
            for place in self.places(channel) {
                if state.left.losses > 0 {
                    actions.push(Action::Lose(from, to, place));
                }
                if state.left.duplications > 0 {
                    actions.push(Action::Double(from, to, place));
                }
            }
        }
    }

    fn next_state(&self, last: &State<P, A>, action: Action<P::Timer>) -> Option<State<P, A>> {
        self.take(last, action, &mut Account::default())
    }

    fn properties(&self) -> Vec<Property<Self>> {
        match self.wanted {
            // What is never found ends no search; it is asked of each state once.
            Wanted::Nothing => vec![Property::sometimes("nothing", |model: &Self, state| {
                model.count(state);
                false
            })],
            Wanted::AnyFlaw => vec![Property::always("no flaw", |model: &Self, state| {
                model.flaws(state).is_empty()
            })],
            Wanted::Flaw(_) => vec![Property::always("not this flaw", |model: &Self, state| {
                let flaws = model.flaws(state);
                !flaws.iter().any(|&flaw| model.wanted == Wanted::Flaw(flaw))
            })],
        }
    }
}
