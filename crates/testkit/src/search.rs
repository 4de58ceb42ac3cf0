//! Every interleaving, breadth first: a small exhaustive search for tests.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use conclave_core::mutex::{Command, Mutex, Notice};
use conclave_core::{Effect, Effects, Fence, Input, ProcessId, Seat, Start, View};

#[expect(clippy::disallowed_types, reason = "asked whether it holds a state, never iterated")]
type Visited<P> = std::collections::HashSet<State<P>>;

/// What to search.
#[derive(Clone, Debug)]
pub struct Search<'a, C> {
    /// Who takes part.
    pub view: &'a View,
    /// Who asks for the lock.
    pub clients: Vec<Seat>,
    /// What they agreed on.
    pub config: &'a C,
    /// Who is in from the start.
    pub holder: Option<ProcessId>,
    /// How often each asks.
    pub requests: u8,
    /// Whether channels keep the order.
    pub fifo: bool,
    /// How many states to look at; more is a failure of the test, not a proof.
    pub states_max: usize,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Different states.
    pub distinct: usize,
    /// Steps taken.
    pub generated: usize,
    /// The longest shortest way to a state.
    pub depth: usize,
    /// In how many states two or more waited at once.
    pub contended: usize,
    /// In how many states all was done and nothing was in flight but what never rests.
    pub finished: usize,
    /// What went wrong first, with the number of steps to it.
    pub flaw: Option<(Flaw, usize)>,
}

/// What can go wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// Two are in.
    TwoHolders,
    /// A fence did not grow.
    FenceFell,
    /// Somebody waits and nothing can happen.
    Deadlock,
    /// A process broke its own invariant.
    Invariant(&'static str),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State<P: Mutex> {
    processes: Vec<P>,
    applications: Vec<Application>,
    channels: BTreeMap<(Seat, Seat), VecDeque<P::Message>>,
    timers: BTreeSet<(Seat, P::Timer)>,
    last_fence: Fence,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Application {
    left_to_ask: u8,
    is: Is,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Is {
    Out,
    Waiting,
    In,
}

impl<C> Search<'_, C> {
    /// Looks at every state that can be reached, until something is wrong.
    ///
    /// # Panics
    ///
    /// If there are more states than the search allows.
    pub fn run<P: Mutex<Config = C>>(&self) -> Found {
        let mut out = Effects::new();
        let first = self.first::<P>(&mut out);
        let mut found = Found {
            distinct: 1,
            generated: 1,
            depth: 0,
            contended: 0,
            finished: 0,
            flaw: first.1.map(|flaw| (flaw, 0)),
        };
        let mut visited = Visited::<P>::default();
        let mut frontier = vec![first.0.clone()];
        visited.insert(first.0);
        while !frontier.is_empty() && found.flaw.is_none() {
            let mut next = Vec::new();
            for state in &frontier {
                self.look(state, &mut found);
                for (successor, flaw) in self.successors(state, &mut out) {
                    found.generated += 1;
                    if let (Some(flaw), None) = (flaw, found.flaw) {
                        found.flaw = Some((flaw, found.depth + 1));
                    }
                    if visited.insert(successor.clone()) {
                        next.push(successor);
                    }
                }
            }
            found.depth += usize::from(!next.is_empty());
            found.distinct = visited.len();
            assert!(found.distinct <= self.states_max, "more than {} states", self.states_max);
            frontier = next;
        }
        found
    }

    fn look<P: Mutex>(&self, state: &State<P>, found: &mut Found) {
        let waiting = state.applications.iter().filter(|app| app.is == Is::Waiting).count();
        found.contended += usize::from(waiting > 1);
        let is_idle = |app: &Application| app.is == Is::Out && app.left_to_ask == 0;
        found.finished += usize::from(state.applications.iter().all(is_idle));
        let is_stuck = state.channels.is_empty()
            && state.timers.is_empty()
            && state.applications.iter().all(|app| is_idle(app) || app.is == Is::Waiting);
        if waiting > 0 && is_stuck && found.flaw.is_none() {
            found.flaw = Some((Flaw::Deadlock, found.depth));
        }
    }

    fn first<P: Mutex<Config = C>>(&self, out: &mut Effects<P>) -> (State<P>, Option<Flaw>) {
        let mut state = State {
            processes: Vec::new(),
            applications: vec![Application { left_to_ask: 0, is: Is::Out }; self.view.len()],
            channels: BTreeMap::new(),
            timers: BTreeSet::new(),
            last_fence: Fence::default(),
        };
        for &client in &self.clients {
            state.applications[client.index()].left_to_ask = self.requests;
        }
        if let Some(holder) = self.holder.and_then(|id| self.view.seat(id)) {
            state.applications[holder.index()].is = Is::In;
        }
        let mut flaw = None;
        for &me in self.view.members() {
            let start =
                Start { holder: self.holder, ..Start::founding(me, self.view, self.config) };
            state.processes.push(P::start(start, out));
            let seat = Seat::at(state.processes.len() - 1);
            flaw = flaw.or(self.perform(&mut state, seat, out));
        }
        (state, flaw)
    }

    fn successors<P: Mutex>(
        &self,
        state: &State<P>,
        out: &mut Effects<P>,
    ) -> Vec<(State<P>, Option<Flaw>)> {
        let mut all = Vec::new();
        for (index, app) in state.applications.iter().enumerate() {
            let command = match app.is {
                Is::Out if app.left_to_ask > 0 => Command::Enter,
                Is::In => Command::Leave,
                _ => continue,
            };
            let mut next = state.clone();
            if command == Command::Enter {
                next.applications[index].left_to_ask -= 1;
                next.applications[index].is = Is::Waiting;
            }
            let flaw = self.step(&mut next, Seat::at(index), Input::Command(command), out);
            all.push((next, flaw));
        }
        for (&(from, to), queue) in &state.channels {
            let deliverable = if self.fifo { 1 } else { queue.len() };
            for place in 0..deliverable {
                let mut next = state.clone();
                let Some(message) = take(&mut next.channels, (from, to), place) else { continue };
                let input = Input::Message { from: self.view.at(from), message };
                let flaw = self.step(&mut next, to, input, out);
                all.push((next, flaw));
            }
        }
        for &(seat, timer) in &state.timers {
            let mut next = state.clone();
            next.timers.remove(&(seat, timer));
            let flaw = self.step(&mut next, seat, Input::Timer(timer), out);
            all.push((next, flaw));
        }
        all
    }

    fn step<P: Mutex>(
        &self,
        state: &mut State<P>,
        seat: Seat,
        input: Input<P>,
        out: &mut Effects<P>,
    ) -> Option<Flaw> {
        state.processes[seat.index()].on(input, out);
        let broken = state.processes[seat.index()].invariants().err().map(Flaw::Invariant);
        broken.or(self.perform(state, seat, out))
    }

    fn perform<P: Mutex>(
        &self,
        state: &mut State<P>,
        seat: Seat,
        out: &mut Effects<P>,
    ) -> Option<Flaw> {
        let mut flaw = None;
        let mut to_self = VecDeque::new();
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message, .. } if to == self.view.at(seat) => {
                    to_self.push_back(message);
                }
                Effect::Send { to, message, .. } => {
                    let to = self.view.seat(to).expect("messages go to members");
                    state.channels.entry((seat, to)).or_default().push_back(message);
                }
                Effect::Notify(Notice::Entered { fence }) => {
                    let someone_is_in = state.applications.iter().any(|app| app.is == Is::In);
                    flaw = flaw.or(someone_is_in.then_some(Flaw::TwoHolders));
                    flaw = flaw.or((fence <= state.last_fence).then_some(Flaw::FenceFell));
                    state.last_fence = fence;
                    state.applications[seat.index()].is = Is::In;
                }
                Effect::Notify(Notice::Left) => state.applications[seat.index()].is = Is::Out,
                Effect::SetTimer { timer, .. } => drop(state.timers.insert((seat, timer))),
                Effect::CancelTimer(timer) => drop(state.timers.remove(&(seat, timer))),
                // Nobody crashes here, so nothing is ever asked for again.
                Effect::Persist(_) => {}
            }
        }
        for message in to_self {
            let input = Input::Message { from: self.view.at(seat), message };
            flaw = flaw.or(self.step(state, seat, input, out));
        }
        flaw
    }
}

/// Takes one message out of a channel, and the channel away once it is empty, so that states that
/// mean the same are the same.
fn take<M>(
    channels: &mut BTreeMap<(Seat, Seat), VecDeque<M>>,
    channel: (Seat, Seat),
    place: usize,
) -> Option<M> {
    let queue = channels.get_mut(&channel)?;
    let message = queue.remove(place);
    if queue.is_empty() {
        channels.remove(&channel);
    }
    message
}
