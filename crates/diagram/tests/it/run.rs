//! Traces written by hand, and a small simulation that writes longer ones.

use conclave_core::election::{ONE_AT_A_TIME, TERMS, Term, Version};
use conclave_core::mutex::{LIVENESS, ORDERING};
use conclave_core::{Fence, Kind, KindIndex, ProcessId, Promises, Seat};
use conclave_diagram::scene::{Scene, Strip};
use conclave_diagram::{Medium, Options};
use conclave_observe::family::{detectors, elections, locks};
use conclave_observe::trace::{Header, Record, Standing, Trace};
use conclave_observe::{Event, LockName, LossCause, MessageId, MessageNumbers, Side, Time, What};

/// A trace in the making. Processes are named by number from 1, times are hundredths of a delay.
pub struct Run {
    trace: Trace,
    messages: MessageNumbers,
}

/// How many may send something.
const NUMBERED: usize = 64;

pub const REQUESTED: What = locks::Seen::Requested.what();
pub const LEAVING: What = locks::Seen::Leaving.what();
pub const LEFT: What = locks::Seen::Left.what();
pub const CALLED: What = elections::Seen::Called.what();
pub const ELECTING: What = elections::Seen::Electing.what();
pub const VACANT: What = elections::Seen::Vacant.what();
pub const READING: What = elections::Seen::Reading.what();
pub const REFUSED: What = elections::Seen::Refused.what();

pub fn entered(fence: u64) -> What {
    locks::Seen::Entered { fence: Fence(fence) }.what()
}

pub fn writing(value: u64) -> What {
    elections::Seen::Writing { value }.what()
}

pub fn wrote(version: u64) -> What {
    elections::Seen::Wrote { version: Version(version) }.what()
}

pub fn read(version: u64, value: u64) -> What {
    elections::Seen::Read { version: Version(version), value }.what()
}

pub fn suspected(whom: u32) -> What {
    detectors::Seen::Suspected { whom: seat(whom) }.what()
}

pub fn trusted(whom: u32) -> What {
    detectors::Seen::Trusted { whom: seat(whom) }.what()
}

/// The same about that lock, if it is something that is said.
pub fn about(lock: u32, what: What) -> What {
    what.said().map_or(what, |said| said.about(LockName(lock)).what())
}

pub const REQUEST: KindIndex = 0;
pub const REPLY: KindIndex = 1;
pub const RELEASE: KindIndex = 2;

/// The kinds of elections and detectors.
pub const ELECTION: KindIndex = 0;
pub const ANSWER: KindIndex = 1;
pub const COORDINATOR: KindIndex = 2;
pub const BEAT: KindIndex = 3;

impl Run {
    pub fn new(algorithm: &str, members: u32) -> Self {
        let kinds = [
            Kind::enter("Request"),
            Kind::enter("Reply"),
            Kind::leave("Release"),
            Kind::enter("Fail"),
            Kind::enter("Inquire"),
            Kind::enter("Yield"),
        ];
        let header = Header {
            algorithm: algorithm.into(),
            seed: 1,
            network: "unit".into(),
            members: (1..=members).map(ProcessId).collect(),
            kinds: kinds.map(Into::into).to_vec(),
            vocabulary: &locks::VOCABULARY,
            promises: LIVENESS.and(ORDERING),
            options: vec![],
            repeats_from: None,
            is_stuck: false,
            starts: vec![],
        };
        Self { trace: Trace { header, records: vec![] }, messages: MessageNumbers::new(NUMBERED) }
    }

    /// An election, that promises this; with beats besides.
    pub fn election(algorithm: &str, ids: &[u32], one_at_a_time: bool) -> Self {
        let mut run = Self::new(algorithm, 0);
        let kinds = [
            Kind::elect("Election"),
            Kind::elect("Answer"),
            Kind::elect("Coordinator"),
            Kind::upkeep("Beat"),
        ];
        let header = &mut run.trace.header;
        header.members = ids.iter().copied().map(ProcessId).collect();
        header.kinds = kinds.map(Into::into).to_vec();
        header.vocabulary = &elections::VOCABULARY;
        header.promises = if one_at_a_time { TERMS.and(ONE_AT_A_TIME) } else { TERMS };
        run
    }

    /// A detector: everybody beats to all others, `rounds` times, every 10 delays.
    pub fn detector(members: u32, rounds: u64) -> Self {
        let ids: Vec<u32> = (1..=members).collect();
        let mut run = Self::election("heartbeat", &ids, false);
        run.trace.header.vocabulary = &detectors::VOCABULARY;
        run.trace.header.promises = Promises::NONE;
        for (round, from, to) in (0..rounds)
            .flat_map(|round| ids.iter().map(move |&from| (round, from)))
            .flat_map(|(round, from)| ids.iter().map(move |&to| (round, from, to)))
            .filter(|&(_, from, to)| from != to)
        {
            run.message(BEAT, (from, round * 1_000), (to, round * 1_000 + 100), "beat");
        }
        run
    }

    pub fn elected(&mut self, at: u64, process: u32, leader: u32, term: u64) -> &mut Self {
        let seen = elections::Seen::Elected { leader: seat(leader), term: Term(term) };
        self.event(at, process, seen.what())
    }

    /// What is promised.
    pub fn promises(&mut self, promises: Promises) -> &mut Self {
        self.trace.header.promises = promises;
        self
    }

    /// How the process of the last event stands after it.
    pub fn after(&mut self, standing: Option<Box<Standing>>) -> &mut Self {
        self.trace.records.last_mut().unwrap().after = standing;
        self
    }

    /// What is said of the last event.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.trace.records.last_mut().unwrap().text = Some(text.into());
        self
    }

    pub fn network(mut self, network: &str) -> Self {
        self.trace.header.network = network.into();
        self
    }

    pub fn event(&mut self, at: u64, process: u32, what: What) -> &mut Self {
        self.say(at, process, what, None)
    }

    fn say(&mut self, at: u64, process: u32, what: What, text: Option<&str>) -> &mut Self {
        let event = Event { at: time(at), seat: seat(process), what };
        let text = text.map(Into::into);
        self.trace.records.push(Record { text, ..Record::of(event) });
        self
    }

    /// A message that arrives.
    pub fn message(
        &mut self,
        kind: KindIndex,
        (from, sent): (u32, u64),
        (to, received): (u32, u64),
        text: &str,
    ) -> &mut Self {
        let message = self.sent(kind, (from, sent), to, text);
        self.received(message, kind, from, (to, received))
    }

    pub fn sent(
        &mut self,
        kind: KindIndex,
        (from, at): (u32, u64),
        to: u32,
        text: &str,
    ) -> MessageId {
        let message = self.messages.next_of(seat(from));
        let what = What::Sent { message, to: seat(to), kind, copy: false };
        self.say(at, from, what, Some(text));
        message
    }

    pub fn received(
        &mut self,
        message: MessageId,
        kind: KindIndex,
        from: u32,
        (to, at): (u32, u64),
    ) -> &mut Self {
        self.event(at, to, What::Received { message, from: seat(from), kind })
    }

    pub fn lost(
        &mut self,
        message: MessageId,
        (from, at): (u32, u64),
        to: u32,
        cause: LossCause,
    ) -> &mut Self {
        self.event(at, from, What::Lost { message, to: seat(to), cause })
    }

    pub fn duplicated(&mut self, message: MessageId, (from, at): (u32, u64), to: u32) -> &mut Self {
        self.event(at, from, What::Duplicated { message, to: seat(to) })
    }

    /// From asking over entering to leaving.
    pub fn entry(&mut self, process: u32, times: (u64, u64, u64), fence: u64) -> &mut Self {
        let (asked, enters, left) = times;
        self.event(asked, process, REQUESTED)
            .event(enters, process, entered(fence))
            .event(left, process, LEFT)
    }

    pub fn partition(&mut self, left: &[u32], right: &[u32], from: u64, to: u64) -> &mut Self {
        for (side, processes) in [(Side::Left, left), (Side::Right, right)] {
            for &process in processes {
                self.event(from, process, What::Cut { partition: 0, side });
                self.event(to, process, What::Healed { partition: 0 });
            }
        }
        self
    }

    pub fn waits_for(&mut self, at: u64, waiter: u32, whom: u32) -> &mut Self {
        self.event(at, waiter, What::WaitsFor { whom: seat(whom) })
    }

    /// The trace, in the order of time; what was said first comes first among equals.
    pub fn trace(&self) -> Trace {
        let mut trace = self.trace.clone();
        trace.records.sort_by_key(|record| record.event.at);
        trace
    }
}

/// A picture in one strip, however wide.
pub fn scroll() -> Options {
    Options { medium: Medium::Scroll, ..Options::default() }
}

/// The strip of a picture that has but one.
pub fn only(scene: &Scene) -> &Strip {
    let [strip] = &scene.strips[..] else { panic!("{} strips", scene.strips.len()) };
    strip
}

pub fn time(hundredths: u64) -> Time {
    Time(hundredths * Time::DELAY.0 / 100)
}

pub fn seat(process: u32) -> Seat {
    Seat(process - 1)
}

/// Ricart and Agrawala's algorithm, played by hand: everybody asks `rounds` times, as soon as it
/// has left, in an order and with delays that `next` decides.
pub fn contend(members: u32, rounds: u32, network: &str, mut next: impl FnMut() -> u64) -> Trace {
    #[derive(Clone, Default)]
    struct Process {
        asked: Option<(u64, u32)>,
        clock: u64,
        replies: u32,
        deferred: Vec<u32>,
        rounds: u32,
    }
    #[derive(Clone, Copy)]
    enum Due {
        Ask,
        Leave,
        Message { message: MessageId, from: u32, kind: KindIndex, stamp: u64 },
    }
    let mut run = Run::new("ricart-agrawala", members).network(network);
    let mut processes = vec![Process::default(); members as usize + 1];
    let mut due: std::collections::BTreeMap<(u64, u64), (u32, Due)> =
        (1..=members).map(|process| ((0, u64::from(process)), (process, Due::Ask))).collect();
    let (mut number, mut fence) = (u64::from(members), 0);
    while let Some(((now, _), (me, what))) = due.pop_first() {
        let mut send = |run: &mut Run, to: u32, kind: KindIndex, stamp: u64, delay: u64| {
            let text = if kind == REQUEST { format!("Request({stamp})") } else { "Reply".into() };
            let message = run.sent(kind, (me, now), to, &text);
            number += 1;
            due.insert(
                (now + delay, number),
                (to, Due::Message { message, from: me, kind, stamp }),
            );
        };
        let process = &mut processes[me as usize];
        match what {
            Due::Ask => {
                process.clock += 1;
                let stamp = process.clock;
                (process.asked, process.replies) = (Some((stamp, me)), 0);
                process.rounds += 1;
                run.event(now, me, REQUESTED);
                for other in (1..=members).filter(|&other| other != me) {
                    send(&mut run, other, REQUEST, stamp, next());
                }
            }
            Due::Message { message, from, kind: REQUEST, stamp } => {
                run.received(message, REQUEST, from, (me, now));
                process.clock = process.clock.max(stamp) + 1;
                if process.asked.is_some_and(|asked| asked < (stamp, from)) {
                    process.deferred.push(from);
                } else {
                    send(&mut run, from, REPLY, 0, next());
                }
            }
            Due::Message { message, from, kind, .. } => {
                run.received(message, kind, from, (me, now));
                process.replies += 1;
                if process.replies == members - 1 {
                    fence += 1;
                    run.event(now, me, entered(fence));
                    number += 1;
                    due.insert((now + 50, number), (me, Due::Leave));
                }
            }
            Due::Leave => {
                run.event(now, me, LEFT);
                process.asked = None;
                for to in std::mem::take(&mut process.deferred) {
                    send(&mut run, to, REPLY, 0, next());
                }
                if process.rounds < rounds {
                    number += 1;
                    due.insert((now + 20, number), (me, Due::Ask));
                }
            }
        }
    }
    run.trace()
}

/// A generator that is good enough for pictures.
pub fn random(seed: u64, delays: std::ops::Range<u64>) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        delays.start + state % (delays.end - delays.start)
    }
}

/// Messages with every kind of fate, at random.
pub fn faulty(seed: u64) -> Trace {
    let mut number = random(seed + 1, 0..1_000_000);
    let mut run = Run::new("anything", 5);
    for _ in 0..60 {
        let (from, to) = (number() % 5 + 1, number() % 5 + 1);
        let (from, to) = (u32::try_from(from).unwrap(), u32::try_from(to).unwrap());
        let (sent, delay) = (number() % 900, number() % 150 + 1);
        let message = run.sent(REQUEST, (from, sent), to, "Request");
        let arrives = (to, sent + delay);
        match number() % 6 {
            _ if from == to => run.received(message, REQUEST, from, (to, sent)),
            0 => run.lost(message, (from, sent), to, LossCause::Network),
            1 => run.lost(message, (from, sent + delay), to, LossCause::ReceiverDown),
            2 => run
                .duplicated(message, (from, sent), to)
                .received(message, REQUEST, from, arrives)
                .received(message, REQUEST, from, (to, sent + delay + number() % 90)),
            3 => &mut run,
            _ => run.received(message, REQUEST, from, arrives),
        };
    }
    run.trace()
}
