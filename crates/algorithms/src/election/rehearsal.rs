//! A few processes that really talk to each other, for tests that count: every message takes one
//! delay, and one that arrives as a timer runs out is in time.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use conclave_core::election::{Command, Election, Notice};
use conclave_core::{
    Arrival, Due, Environment, Host, Input, Message, ProcessId, Protocol, Seat, Start, View,
};

/// How long a message takes in a rehearsal.
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
    Deadline,
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
        let id = ProcessId(id);
        let (view, config) = (self.view.clone(), self.config.clone());
        let start = Start { arrival, ..Start::founding(id, &view, &config) };
        let process = Host::new().start(start, &mut Stage { of: id, run: self });
        self.processes.insert(id, process);
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
        let Some(mut process) = self.processes.remove(&id) else { return };
        Host::new().take(&mut process, input, &mut Stage { of: id, run: self });
        self.processes.insert(id, process);
    }
}

/// Rings of up to 256, to try a bound on: ids rising, falling, in the order of their bits reversed,
/// and shuffled three times.
pub(crate) fn rings() -> Vec<Vec<u32>> {
    let sizes = [2_u32, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 64, 65, 100, 127, 128, 129, 255, 256];
    let mut rings = Vec::new();
    for n in sizes {
        let rising: Vec<u32> = (1..=n).collect();
        let falling = rising.iter().rev().copied().collect();
        let mut by_bits = rising.clone();
        by_bits.sort_by_key(|id| id.reverse_bits());
        rings.extend([rising.clone(), falling, by_bits]);
        for seed in 0..3 {
            let (mut ring, mut x) = (rising.clone(), seed + n);
            for place in (1..ring.len()).rev() {
                x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                ring.swap(place, (x >> 8) as usize % (place + 1));
            }
            rings.push(ring);
        }
    }
    rings
}

/// The world of one process while it takes a step.
struct Stage<'a, P: Protocol> {
    of: ProcessId,
    run: &'a mut Rehearsal<P>,
}

impl<P: Election> Stage<'_, P> {
    fn comes(&mut self, after: Duration, rank: Rank, coming: Coming<P>) -> u64 {
        self.run.count += 1;
        self.run.agenda.insert((self.run.now + after, rank, self.run.count), coming);
        self.run.count
    }
}

impl<P: Election> Environment<P> for Stage<'_, P> {
    fn view(&self) -> &View {
        &self.run.view
    }

    fn seat(&self) -> Seat {
        self.run.view.seat(self.of).unwrap()
    }

    fn stepped(&mut self, process: &P, _: Vec<&'static str>) {
        assert_eq!(process.invariants(), Ok(()));
    }

    fn send(&mut self, to: Seat, message: P::Message, _: bool) {
        let kind = P::Message::KINDS[usize::from(message.kind())].name;
        *self.run.sent.entry(kind).or_default() += 1;
        let (from, to) = (self.of, self.run.view.at(to));
        self.comes(DELAY, Rank::Message, Coming::Message { from, to, message });
    }

    fn send_own(&mut self, _: &P::Message, _: bool) {}

    fn take_own(&mut self, _: &P::Message) {}

    fn notify(&mut self, notice: Notice) {
        self.run.told.push((self.run.now, self.of.0, notice));
    }

    fn set_timer(&mut self, timer: P::Timer, due: Due) {
        let (after, rank) = match due {
            Due::Within { after, .. } => (after, Rank::Timer),
            Due::Deadline(after) => (after, Rank::Deadline),
        };
        let number = self.comes(after, rank, Coming::Timer { of: self.of, timer });
        self.run.timers.insert((self.of, timer), number);
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.run.timers.remove(&(self.of, timer));
    }

    fn persist(&mut self, _: P::Stored) {}
}
