//! A few processes that really talk to each other, for tests that count: every message takes one
//! delay, and one that arrives as a timer runs out is in time.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use conclave_core::election::{Command, Election, Notice};
use conclave_core::{Arrival, Effect, Effects, Input, Message, ProcessId, Protocol, Start, View};

/// One delay.
pub(crate) const DELAY: Duration = Duration::from_millis(1);

/// A run of an election.
pub(crate) struct Rehearsal<P: Protocol> {
    view: View,
    config: P::Config,
    processes: BTreeMap<ProcessId, P>,
    /// What comes, by when, rank and number.
    agenda: BTreeMap<(Duration, Rank, u64), Coming<P>>,
    timers: BTreeMap<(ProcessId, P::Timer), u64>,
    count: u64,
    pub(crate) now: Duration,
    /// Who was told what, when.
    pub(crate) told: Vec<(Duration, u32, Notice)>,
    /// How many messages of each kind were sent to others.
    pub(crate) sent: BTreeMap<&'static str, usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    ToSelf,
    Message,
    Timer,
}

enum Coming<P: Protocol> {
    Message { from: ProcessId, to: ProcessId, message: P::Message },
    Timer { of: ProcessId, timer: P::Timer },
}

impl<P: Election> Rehearsal<P> {
    /// Everybody founds the system, but for the dead.
    pub(crate) fn of(ids: &[u32], dead: &[u32], config: &P::Config) -> Self {
        let view = View::new(ids.iter().copied().map(ProcessId)).unwrap();
        let mut run = Self {
            view,
            config: config.clone(),
            processes: BTreeMap::new(),
            agenda: BTreeMap::new(),
            timers: BTreeMap::new(),
            count: 0,
            now: Duration::ZERO,
            told: Vec::new(),
            sent: BTreeMap::new(),
        };
        for id in ids.iter().filter(|id| !dead.contains(id)) {
            run.start(*id, Arrival::Founding);
        }
        run
    }

    fn start(&mut self, id: u32, arrival: Arrival) {
        let (id, mut out) = (ProcessId(id), Effects::new());
        let (view, config) = (self.view.clone(), self.config.clone());
        let start = Start { arrival, ..Start::founding(id, &view, &config) };
        self.processes.insert(id, P::start(start, &mut out));
        self.perform(id, &mut out);
    }

    /// The application of that process calls an election.
    pub(crate) fn call(&mut self, id: u32) {
        self.input(ProcessId(id), Input::Command(Command::Call));
    }

    /// That process dies; what it has sent arrives all the same.
    pub(crate) fn crash(&mut self, id: u32) {
        self.processes.remove(&ProcessId(id));
        self.timers.retain(|&(of, _), _| of != ProcessId(id));
    }

    /// That process comes back without its memory.
    pub(crate) fn comes_back(&mut self, id: u32) {
        self.start(id, Arrival::Returning);
    }

    /// Lets everything happen that comes until then, inclusive.
    pub(crate) fn until(&mut self, end: Duration) {
        while let Some(entry) = self.agenda.first_entry() {
            if entry.key().0 > end {
                break;
            }
            let ((at, _, number), coming) = entry.remove_entry();
            self.now = self.now.max(at);
            match coming {
                Coming::Message { from, to, message } => {
                    self.input(to, Input::Message { from, message });
                }
                Coming::Timer { of, timer } => {
                    if self.timers.get(&(of, timer)) == Some(&number) {
                        self.timers.remove(&(of, timer));
                        self.input(of, Input::Timer(timer));
                    }
                }
            }
        }
        self.now = self.now.max(end);
    }

    /// Lets everything happen that comes at all: it must end.
    pub(crate) fn run_to_end(&mut self) {
        self.until(self.now + 100_000 * DELAY);
        assert!(self.agenda.is_empty(), "it never ends");
    }

    /// All messages that were sent to others.
    pub(crate) fn messages(&self) -> usize {
        self.sent.values().sum()
    }

    /// Whom each living process was last told to be elected; nobody, if it takes part since.
    pub(crate) fn leaders(&self) -> BTreeMap<u32, Option<u32>> {
        let mut leaders: BTreeMap<_, _> = self.processes.keys().map(|id| (id.0, None)).collect();
        for (_, id, notice) in &self.told {
            if let Some(leader) = leaders.get_mut(id) {
                *leader = match notice {
                    Notice::Elected { leader, .. } => Some(leader.0),
                    _ => None,
                };
            }
        }
        leaders
    }

    /// Whether every living process was told that this one is elected, and nothing since.
    pub(crate) fn all_follow(&self, leader: u32) -> bool {
        self.leaders().values().all(|&it| it == Some(leader))
    }

    fn input(&mut self, id: ProcessId, input: Input<P>) {
        let Some(process) = self.processes.get_mut(&id) else { return };
        let mut out = Effects::new();
        out.set_now(u64::try_from(self.now.as_nanos()).unwrap());
        process.on(input, &mut out);
        assert_eq!(process.invariants(), Ok(()));
        self.perform(id, &mut out);
    }

    fn perform(&mut self, id: ProcessId, out: &mut Effects<P>) {
        for effect in out.drain() {
            self.count += 1;
            match effect {
                Effect::Send { to, message, .. } if to == id => {
                    let coming = Coming::Message { from: id, to, message };
                    self.agenda.insert((self.now, Rank::ToSelf, self.count), coming);
                }
                Effect::Send { to, message, .. } => {
                    let kind = P::Message::KINDS[usize::from(message.kind())].name;
                    *self.sent.entry(kind).or_default() += 1;
                    let coming = Coming::Message { from: id, to, message };
                    self.agenda.insert((self.now + DELAY, Rank::Message, self.count), coming);
                }
                Effect::SetTimer { timer, after, .. } => {
                    self.timers.insert((id, timer), self.count);
                    let coming = Coming::Timer { of: id, timer };
                    self.agenda.insert((self.now + after, Rank::Timer, self.count), coming);
                }
                Effect::CancelTimer(timer) => {
                    self.timers.remove(&(id, timer));
                }
                Effect::Notify(notice) => self.told.push((self.now, id.0, notice)),
                Effect::Persist(_) => {}
            }
        }
    }
}
