//! Who asks for what, and when.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use conclave_core::mutex::{Command, Locks, Notice};
use conclave_core::{Family, ProcessId, Seat, View};
use conclave_observe::Time;

use crate::seed::Stream;

/// The application on top of a protocol of that family: it gives commands and hears notices.
pub trait Application<F: Family> {
    /// The run begins.
    fn begin(&mut self, desk: &mut Desk<F::Command>);
    /// A process was told something.
    fn on_notice(&mut self, seat: Seat, notice: &F::Notice, desk: &mut Desk<F::Command>);
    /// A process died, and its application with it.
    fn on_crash(&mut self, seat: Seat);
    /// A process came back, and its application begins anew.
    fn on_return(&mut self, seat: Seat, desk: &mut Desk<F::Command>);
    /// Whether [`on_quiet`](Self::on_quiet) is to be called as soon as all is quiet.
    fn awaits_quiet(&self) -> bool;
    /// No call is under way and no message that belongs to one is in flight.
    fn on_quiet(&mut self, desk: &mut Desk<F::Command>);
    /// Whether all that was to be done is done. What comes next comes at that time, if the run goes
    /// on.
    fn is_done(&self, next: Time) -> bool;
}

/// Where an application puts its commands.
#[derive(Debug)]
pub struct Desk<C> {
    pub(crate) now: Time,
    pub(crate) orders: Vec<(Time, Seat, C)>,
}

impl<C> Desk<C> {
    /// What time it is.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The desk, when it is `now`.
    pub(crate) fn at(&mut self, now: Time) -> &mut Self {
        self.now = now;
        self
    }

    /// Gives `command` at `seat`, `after` that time.
    pub fn order(&mut self, seat: Seat, command: C, after: Time) {
        self.orders.push((self.now + after, seat, command));
    }
}

/// Who asks for the lock, and when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Workload {
    /// One after the other, each alone: the next asks when all is quiet.
    One,
    /// Everybody at once, and again as soon as it is out.
    Contend,
    /// Everybody after thinking for an exponential time with this mean, and again.
    Think {
        /// The mean time that one thinks.
        mean: Time,
    },
    /// One is greedy: it asks again as soon as it is out. All others think before they ask, for an
    /// exponential time with this mean.
    Greedy {
        /// Who.
        who: ProcessId,
        /// The mean of the others.
        mean: Time,
    },
    /// As a scenario says.
    Script(Vec<ScriptedRequest>),
}

/// `request 80@3ms hold 2ms`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScriptedRequest {
    /// The process that asks.
    pub process: ProcessId,
    /// When; or as soon as its request before is over.
    pub at: Time,
    /// For how long it holds, if that differs from the others.
    pub hold: Option<Time>,
}

/// The application of every mutual exclusion algorithm: it asks, holds, leaves.
#[derive(Debug)]
pub struct MutexApplication {
    workload: Workload,
    /// Who asks: coordinators do not.
    clients: Vec<Seat>,
    /// Who never thinks before it asks, if one does not.
    greedy: Option<Seat>,
    hold: Time,
    stream: Stream,
    /// How many entries there are to be; fewer if a process dies while it waits.
    target: u64,
    asked: u64,
    left: u64,
    /// What each process does, by seat.
    states: Vec<State>,
    /// By seat: what the script has it ask for after this, first at the end.
    backlog: Vec<Vec<ScriptedRequest>>,
    /// Whose turn it is, of those who ask one by one.
    turn: usize,
    /// How many are not idle.
    busy: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Down,
    Idle,
    /// It asked, or is going to; it will hold for that long.
    Waiting {
        hold: Time,
    },
    Holding,
}

impl MutexApplication {
    /// `entries` in all, of `clients` out of `view`, each held for `hold`; `holder` is in from the
    /// start.
    pub fn new(
        workload: Workload,
        view: &View,
        clients: Vec<Seat>,
        entries: u64,
        hold: Time,
        holder: Option<ProcessId>,
        seed: u64,
    ) -> Self {
        let mut backlog = vec![Vec::new(); view.len()];
        let mut target = entries;
        if let Workload::Script(requests) = &workload {
            target = requests.len() as u64;
            for request in requests.iter().rev() {
                let seat = view.seat(request.process).expect("a scenario is checked first");
                backlog[seat.index()].push(*request);
            }
        }
        let mut states = vec![State::Idle; view.len()];
        let holder = holder.and_then(|id| view.seat(id));
        if let Some(holder) = holder {
            states[holder.index()] = State::Holding;
        }
        let greedy = match &workload {
            &Workload::Greedy { who, .. } => view.seat(who),
            _ => None,
        };
        Self {
            workload,
            clients,
            greedy,
            hold,
            stream: Stream::new(seed, "workload"),
            // The first holder leaves too, without having asked.
            target: target + u64::from(holder.is_some()),
            asked: u64::from(holder.is_some()),
            left: 0,
            states,
            backlog,
            turn: 0,
            busy: usize::from(holder.is_some()),
        }
    }

    fn ask(&mut self, seat: Seat, hold: Time, after: Time, desk: &mut Desk<Command>) {
        self.asked += 1;
        self.busy += 1;
        self.states[seat.index()] = State::Waiting { hold };
        desk.order(seat, Command::Enter, after);
    }

    /// Begins the next round of `seat`, if there is one.
    fn again(&mut self, seat: Seat, desk: &mut Desk<Command>) {
        let after = match &self.workload {
            Workload::One => return,
            Workload::Contend => Time::ZERO,
            Workload::Greedy { .. } if self.greedy == Some(seat) => Time::ZERO,
            Workload::Think { mean } | Workload::Greedy { mean, .. } => {
                self.stream.exponential(*mean)
            }
            Workload::Script(_) => {
                if let Some(next) = self.backlog[seat.index()].pop() {
                    let hold = next.hold.unwrap_or(self.hold);
                    self.ask(seat, hold, next.at - desk.now, desk);
                }
                return;
            }
        };
        if self.asked < self.target {
            self.ask(seat, self.hold, after, desk);
        }
    }
}

impl Application<Locks> for MutexApplication {
    fn begin(&mut self, desk: &mut Desk<Command>) {
        for seat in self.clients.clone() {
            match self.states[seat.index()] {
                State::Holding => desk.order(seat, Command::Leave, self.hold),
                State::Down => {}
                _ => self.again(seat, desk),
            }
        }
    }

    fn on_notice(&mut self, seat: Seat, notice: &Notice, desk: &mut Desk<Command>) {
        match (notice, self.states[seat.index()]) {
            (Notice::Entered { .. }, State::Waiting { hold }) => {
                self.states[seat.index()] = State::Holding;
                desk.order(seat, Command::Leave, hold);
            }
            (Notice::Left, State::Holding) => {
                self.states[seat.index()] = State::Idle;
                self.busy -= 1;
                self.left += 1;
                self.again(seat, desk);
            }
            // A broken algorithm may say anything; that is the judge's business.
            _ => {}
        }
    }

    fn on_crash(&mut self, seat: Seat) {
        let state = core::mem::replace(&mut self.states[seat.index()], State::Down);
        let was_waiting = u64::from(matches!(state, State::Waiting { .. }));
        let dropped = self.backlog[seat.index()].drain(..).count() as u64;
        self.busy -= usize::from(matches!(state, State::Waiting { .. } | State::Holding));
        self.left += u64::from(state == State::Holding);
        self.asked -= was_waiting;
        self.target -= was_waiting + dropped;
    }

    fn on_return(&mut self, seat: Seat, desk: &mut Desk<Command>) {
        self.states[seat.index()] = State::Idle;
        if self.clients.contains(&seat) {
            self.again(seat, desk);
        }
    }

    #[inline]
    fn awaits_quiet(&self) -> bool {
        self.workload == Workload::One && self.busy == 0 && self.asked < self.target
    }

    fn on_quiet(&mut self, desk: &mut Desk<Command>) {
        let order = (0..self.clients.len()).map(|step| (self.turn + step) % self.clients.len());
        let up = |&turn: &usize| self.states[self.clients[turn].index()] == State::Idle;
        match order.into_iter().find(up) {
            Some(turn) => {
                self.turn = turn + 1;
                self.ask(self.clients[turn], self.hold, Time::DELAY, desk);
            }
            // Nobody is left to ask.
            None => self.target = self.asked,
        }
    }

    #[inline]
    fn is_done(&self, _: Time) -> bool {
        self.busy == 0 && self.left >= self.target
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Workload::One => f.write_str("one"),
            Workload::Contend => f.write_str("contend"),
            Workload::Think { mean } => write!(f, "think:{mean}ms"),
            Workload::Greedy { who, mean } => write!(f, "greedy:{who}:{mean}ms"),
            Workload::Script(_) => f.write_str("scenario"),
        }
    }
}
