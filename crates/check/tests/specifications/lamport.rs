//! Lamport's mutual exclusion, as `LamportMutex.tla` of the TLA+ examples specifies it, with the
//! bounds of its `MCLamportMutex`: three processes, clocks up to six.
//!
//! A state is three words for the processes and six for the channels between them. The same states
//! and steps serve the tests and the benchmark.

use conclave_check::{Fingerprint, FlawCode, Look, Model, Step, Successors, Worker};

/// What the distribution of the specification says that TLC finds: different states, those that
/// were worked out, and how many levels they have.
pub const PUBLISHED: [u64; 3] = [724_274, 2_729_079, 61];

const PROCESSES: usize = 3;
/// What clocks show at most in the states that are searched.
pub const MOST: u32 = 6;
const EVERYBODY: u32 = (1 << PROCESSES) - 1;

/// Two are in the critical section.
pub const MUTEX: FlawCode = 0;
/// A channel holds more than three messages.
pub const BOUNDED_NETWORK: FlawCode = 1;
/// A value is none that its variable may have.
pub const TYPE_OK: FlawCode = 2;

/// How many words a state has.
pub const WIDTH: usize = PROCESSES * PROCESSES;

/// All processes, and all channels.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct State(pub [u32; WIDTH]);

/// What can happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    Request(usize),
    Enter(usize),
    Exit(usize),
    Receive { at: usize, from: usize },
}

/// Whose rules processes keep: a search must tell the mutants from the original.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rules {
    Published,
    /// Of two requests of the same time, each takes its own for the earlier one.
    BothWinTies,
    /// Nobody waits until others have acknowledged.
    WithoutAcknowledgements,
}

// A process is a word: its clock, the times of the requests it knows of (none is 0), who has
// acknowledged its own (one bit each), and whether it is in the critical section.
const CLOCK: u32 = 0;
const REQUESTS: usize = 4;
const ACKNOWLEDGED: u32 = 16;
const CRITICAL: u32 = 20;
/// Clocks, times and messages have four bits each.
const FOUR: u32 = 0xf;

// A channel is a word of up to eight messages, the first one lowest. A request is its time and
// this many more.
const ACKNOWLEDGEMENT: u32 = 1;
const RELEASE: u32 = 2;

const fn channel(from: usize, to: usize) -> usize {
    PROCESSES + from * (PROCESSES - 1) + to - (to > from) as usize
}

fn others(process: usize) -> impl Iterator<Item = usize> {
    (0..PROCESSES).filter(move |&other| other != process)
}

impl State {
    /// The one that everything begins in.
    pub const FIRST: Self = {
        let mut words = [0; WIDTH];
        let mut process = 0;
        while process < PROCESSES {
            words[process] = 1 << CLOCK;
            process += 1;
        }
        Self(words)
    };

    /// What all clocks show.
    pub fn clocks(&self) -> [u32; PROCESSES] {
        std::array::from_fn(|process| self.clock(process))
    }

    /// Whether all channels are empty.
    pub fn is_quiet(&self) -> bool {
        self.0[PROCESSES..].iter().all(|&messages| messages == 0)
    }

    #[inline]
    fn clock(&self, process: usize) -> u32 {
        self.0[process] >> CLOCK & FOUR
    }

    /// The time of the request of `of`, as far as `process` knows.
    #[inline]
    fn request(&self, process: usize, of: usize) -> u32 {
        self.0[process] >> request_at(of) & FOUR
    }

    #[inline]
    fn is_critical(&self, process: usize) -> bool {
        self.0[process] >> CRITICAL & 1 == 1
    }

    #[inline]
    fn set_request(&mut self, process: usize, of: usize, time: u32) {
        let at = request_at(of);
        self.0[process] = self.0[process] & !(FOUR << at) | time << at;
    }

    #[inline]
    fn send(&mut self, from: usize, to: usize, message: u32) {
        let channel = &mut self.0[channel(from, to)];
        let end = (u32::BITS - channel.leading_zeros()).next_multiple_of(4);
        *channel |= message << end;
    }

    /// Whether it is one of those that are searched.
    #[inline]
    pub fn is_within_bounds(&self) -> bool {
        (0..PROCESSES).all(|process| self.clock(process) <= MOST)
    }

    /// What is wrong with it.
    #[inline]
    pub fn flaw(&self) -> Option<FlawCode> {
        if (0..PROCESSES).filter(|&process| self.is_critical(process)).count() > 1 {
            return Some(MUTEX);
        }
        let (processes, channels) = self.0.split_at(PROCESSES);
        if channels.iter().any(|&messages| messages >> 12 != 0) {
            return Some(BOUNDED_NETWORK);
        }
        // Times are at most seven: the highest of their four bits is never set.
        let is_time = |&word: &u32| word & 0x8888 == 0 && word >> CLOCK & FOUR != 0;
        let is_message = |&word: &u32| {
            let mut message = word;
            while message != 0 {
                if message & FOUR == 0 || message & FOUR > RELEASE + MOST + 1 {
                    return false;
                }
                message >>= 4;
            }
            true
        };
        let is_sound = processes.iter().all(is_time) && channels.iter().all(is_message);
        (!is_sound).then_some(TYPE_OK)
    }
}

const fn request_at(of: usize) -> usize {
    REQUESTS + 4 * of
}

impl Rules {
    /// Everything that can happen, in an order that depends on the state alone.
    #[inline]
    pub fn enabled(self, state: &State, mut each: impl FnMut(Event)) {
        for process in 0..PROCESSES {
            if state.request(process, process) == 0 {
                each(Event::Request(process));
            }
            // Who is in already may enter again: the specification allows it.
            if self.may_enter(state, process) {
                each(Event::Enter(process));
            }
            if state.is_critical(process) {
                each(Event::Exit(process));
            }
            for from in others(process) {
                if state.0[channel(from, process)] != 0 {
                    each(Event::Receive { at: process, from });
                }
            }
        }
    }

    #[inline]
    fn may_enter(self, state: &State, process: usize) -> bool {
        let acknowledged = state.0[process] >> ACKNOWLEDGED & EVERYBODY;
        let is_acknowledged = match self {
            // Its own request is what only itself can acknowledge.
            Self::WithoutAcknowledgements => acknowledged != 0,
            Self::Published | Self::BothWinTies => acknowledged == EVERYBODY,
        };
        let own = state.request(process, process);
        is_acknowledged
            && others(process).all(|other| {
                let theirs = state.request(process, other);
                let wins_ties = process < other || self == Self::BothWinTies;
                theirs == 0 || own < theirs || own == theirs && wins_ties
            })
    }

    /// Where it leads.
    #[inline]
    pub fn after(self, state: &State, event: Event) -> State {
        let mut next = *state;
        match event {
            Event::Request(process) => {
                let time = state.clock(process);
                next.set_request(process, process, time);
                next.0[process] &= !(EVERYBODY << ACKNOWLEDGED);
                next.0[process] |= 1 << process << ACKNOWLEDGED;
                others(process).for_each(|other| next.send(process, other, RELEASE + time));
            }
            Event::Enter(process) => next.0[process] |= 1 << CRITICAL,
            Event::Exit(process) => {
                next.set_request(process, process, 0);
                next.0[process] &= !(EVERYBODY << ACKNOWLEDGED | 1 << CRITICAL);
                others(process).for_each(|other| next.send(process, other, RELEASE));
            }
            Event::Receive { at, from } => {
                let message = state.0[channel(from, at)] & FOUR;
                next.0[channel(from, at)] >>= 4;
                match message {
                    ACKNOWLEDGEMENT => next.0[at] |= 1 << from << ACKNOWLEDGED,
                    RELEASE => next.set_request(at, from, 0),
                    request => {
                        let time = request - RELEASE;
                        let clock = state.clock(at);
                        next.set_request(at, from, time);
                        next.0[at] += (time.max(clock) + 1 - clock) << CLOCK;
                        next.send(at, from, ACKNOWLEDGEMENT);
                    }
                }
            }
        }
        next
    }
}

impl Event {
    /// As the search knows it.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "there are fewer than twenty")]
    pub fn step(self) -> Step {
        let number = match self {
            Self::Request(process) => process,
            Self::Enter(process) => PROCESSES + process,
            Self::Exit(process) => 2 * PROCESSES + process,
            Self::Receive { at, from } => (3 + from) * PROCESSES + at,
        };
        Step(number as u32)
    }
}

impl Model for Rules {
    fn width(&self) -> usize {
        WIDTH
    }

    fn worker(&self) -> Box<dyn Worker + Send + '_> {
        Box::new(*self)
    }
}

impl Worker for Rules {
    fn begin(&mut self, out: &mut Successors) {
        let State(words) = State::FIRST;
        out.push(Step(0), &words, Fingerprint::of_words(&words), None);
    }

    fn expand(&mut self, words: &[u32], print: Fingerprint, out: &mut Successors) -> Look {
        let state = State(words.try_into().expect("all states are equally wide"));
        self.enabled(&state, |event| {
            let next = self.after(&state, event);
            if !next.is_within_bounds() {
                return out.pass_over();
            }
            let mut print = print;
            for place in 0..WIDTH {
                let (from, to) = (state.0[place], next.0[place]);
                if from != to {
                    let part = Fingerprint::of_number;
                    print.change(place, part(from), part(to));
                }
            }
            out.push(event.step(), &next.0, print, None);
        });
        Look { pending: 0, flaw: state.flaw() }
    }
}
