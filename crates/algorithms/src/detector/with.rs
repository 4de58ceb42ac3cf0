//! A protocol composed with a failure detector: two state machines that are one.
//!
//! **Idea.** Both live in one process and know nothing of each other. What the detector says to its
//! application goes to the protocol instead, as [`Input::Word`], in the same step. All else
//! goes to the part that it is meant for: messages and timers say which that is, and commands are
//! the protocol's.
//!
//! The detector persists nothing, so what survives a crash is the protocol's alone.

use alloc::vec::Vec;

use conclave_core::detector::{self, Detector};
use conclave_core::{Effects, Input, Kind, KindIndex, Lift, NoWord, ProcessId, Protocol, Start};

/// What processes say to each other: the protocol's messages, and the detector's.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<P, D> {
    /// One of the protocol's.
    Protocol(P),
    /// One of the detector's.
    Detector(D),
}

/// The timers of both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Timer<P, D> {
    /// One of the protocol's.
    Protocol(P),
    /// One of the detector's.
    Detector(D),
}

/// One process: the protocol, and the detector that serves it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct With<P, D> {
    protocol: P,
    detector: D,
}

/// How many kinds of messages both may have together.
const KINDS_MAX: usize = 32;

impl<P: conclave_core::Message, D: conclave_core::Message> Message<P, D> {
    /// All kinds, and then some that nothing refers to.
    const JOINED: &'static [Kind; KINDS_MAX] = &join(P::KINDS, D::KINDS);
}

/// Both lists, one after the other. It is called at compile time, so lists that are too long are
/// an error of compilation.
const fn join(first: &[Kind], second: &[Kind]) -> [Kind; KINDS_MAX] {
    assert!(first.len() + second.len() <= KINDS_MAX, "too many kinds of messages");
    let mut all = [Kind::upkeep(""); KINDS_MAX];
    let mut next = 0;
    while next < first.len() + second.len() {
        all[next] = if next < first.len() { first[next] } else { second[next - first.len()] };
        next += 1;
    }
    all
}

impl<P: conclave_core::Message, D: conclave_core::Message> conclave_core::Message
    for Message<P, D>
{
    const KINDS: &'static [Kind] =
        Self::JOINED.as_slice().split_at(P::KINDS.len() + D::KINDS.len()).0;

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "there are at most 32 kinds")]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Protocol(message) => message.kind(),
            Message::Detector(message) => P::KINDS.len() as KindIndex + message.kind(),
        }
    }
}

impl<P, D> Protocol for With<P, D>
where
    P: Protocol<Word = detector::Notice>,
    D: Detector<Stored = (), Word = NoWord>,
{
    type Family = P::Family;
    type Config = (P::Config, D::Config);
    type Message = Message<P::Message, D::Message>;
    type Timer = Timer<P::Timer, D::Timer>;
    type Stored = P::Stored;
    type Word = NoWord;

    const READS_CLOCK: bool = P::READS_CLOCK || D::READS_CLOCK;

    fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
        let (config, detectors) = start.config;
        let mut of_protocol = out.inner();
        let part = Start { stored: start.stored, ..start.part(config, start.opening.clone()) };
        let protocol = P::start(part, &mut of_protocol);
        pass_on(&mut of_protocol, out);
        let mut of_detector = out.inner();
        let detector = D::start(start.part(detectors, ()), &mut of_detector);
        let mut both = Self { protocol, detector };
        both.carry_out(&mut of_detector, out);
        both
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Command(command) => self.tell(Input::Command(command), out),
            Input::Message { from, message: Message::Protocol(message) } => {
                self.tell(Input::Message { from, message }, out);
            }
            Input::Message { from, message: Message::Detector(message) } => {
                self.tell_detector(Input::Message { from, message }, out);
            }
            Input::Timer(Timer::Protocol(timer)) => self.tell(Input::Timer(timer), out),
            Input::Timer(Timer::Detector(timer)) => self.tell_detector(Input::Timer(timer), out),
            Input::Word(word) => match word {},
            Input::Reading(now) => {
                if P::READS_CLOCK {
                    self.tell(Input::Reading(now), out);
                }
                if D::READS_CLOCK {
                    self.tell_detector(Input::Reading(now), out);
                }
            }
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        self.protocol.invariants().and_then(|()| self.detector.invariants())
    }

    /// A detector waits for nobody.
    fn waits_for(&self) -> Vec<ProcessId> {
        self.protocol.waits_for()
    }
}

impl<P, D> With<P, D>
where
    P: Protocol<Word = detector::Notice>,
    D: Detector<Stored = (), Word = NoWord>,
{
    fn tell(&mut self, input: Input<P>, out: &mut Effects<Self>) {
        let mut inner = out.inner();
        self.protocol.on(input, &mut inner);
        pass_on(&mut inner, out);
    }

    fn tell_detector(&mut self, input: Input<D>, out: &mut Effects<Self>) {
        let mut inner = out.inner();
        self.detector.on(input, &mut inner);
        self.carry_out(&mut inner, out);
    }

    /// Does what the detector wants done; what it has to say, it says to the protocol.
    fn carry_out(&mut self, inner: &mut Effects<D>, out: &mut Effects<Self>) {
        out.lift(
            inner,
            Lift {
                send: |to, message| Some((to, Message::Detector(message))),
                timer: Timer::Detector,
                stored: |()| None,
                notice: |word, out: &mut Effects<Self>| self.tell(Input::Word(word), out),
            },
        );
    }
}

/// Does what the protocol wants done.
fn pass_on<P, D>(inner: &mut Effects<P>, out: &mut Effects<With<P, D>>)
where
    P: Protocol<Word = detector::Notice>,
    D: Detector<Stored = (), Word = NoWord>,
{
    out.lift(
        inner,
        Lift {
            send: |to, message| Some((to, Message::Protocol(message))),
            timer: Timer::Protocol,
            stored: Some,
            notice: |notice, out: &mut Effects<With<P, D>>| out.notify(notice),
        },
    );
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use core::time::Duration;

    use conclave_core::{Due, Effect, Family, Message as _, View};

    use super::*;
    use crate::detector::{Heartbeat, heartbeat};

    /// Says what it hears of the detector, and greets all others when it is asked to.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Parrot(View, ProcessId, Duration);

    enum Parrots {}

    impl Family for Parrots {
        const NAME: &'static str = "parrot";
        type Command = ();
        type Notice = (detector::Notice, Duration);
        type Opening = ();
    }

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Hello;

    impl conclave_core::Message for Hello {
        const KINDS: &'static [Kind] = &[Kind::enter("never"), Kind::enter("hello")];
        fn kind(&self) -> KindIndex {
            1
        }
    }

    impl Protocol for Parrot {
        type Family = Parrots;
        type Config = ();
        type Message = Hello;
        type Timer = u8;
        type Stored = u8;
        type Word = detector::Notice;

        const READS_CLOCK: bool = true;

        fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
            out.rule("starts");
            out.persist(start.stored.map_or(1, |times| times + 1));
            Self(start.view.clone(), start.me, Duration::ZERO)
        }

        fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
            match input {
                Input::Command(()) => out.multicast(self.0.others(self.1), &Hello),
                Input::Word(word) => {
                    out.rule("repeats it");
                    out.notify((word, self.2));
                }
                Input::Reading(now) => self.2 = now,
                Input::Message { .. } => out.set_timer(7, Duration::from_millis(2)),
                Input::Timer(timer) => out.cancel_timer(timer),
            }
        }
    }

    type Both = With<Parrot, Heartbeat>;

    const CONFIG: heartbeat::Config =
        heartbeat::Config { beat: Duration::from_millis(10), bound: Duration::from_millis(1) };

    fn started(stored: Option<&u8>) -> (Both, Effects<Both>) {
        let (view, config, mut out) = (View::dense(1, 3), ((), CONFIG), Effects::explained());
        let start = Start { stored, ..Start::founding(ProcessId(1), &view, &config) };
        let both = Both::start(start, &mut out);
        (both, out)
    }

    fn step(both: &mut Both, input: Input<Both>, out: &mut Effects<Both>) -> Vec<Effect<Both>> {
        both.on(input, out);
        out.drain().collect()
    }

    #[test]
    fn the_kinds_are_those_of_the_protocol_and_then_those_of_the_detector() {
        type Messages = <Both as Protocol>::Message;
        let names: Vec<_> = Messages::KINDS.iter().map(|kind| kind.name).collect();
        assert_eq!(names, ["never", "hello", "beat"]);
        assert_eq!(Messages::Protocol(Hello).kind(), 1);
        assert_eq!(Messages::Detector(heartbeat::Message::Beat).kind(), 2);
    }

    #[test]
    fn both_start_and_what_was_persisted_is_the_protocols() {
        let (_, mut out) = started(Some(&4));
        assert_eq!(out.take_rules(), ["starts", "is alive: it tells all others so"]);
        let effects: Vec<_> = out.drain().collect();
        assert_eq!(effects[0], Effect::Persist(5));
        let beat = Message::Detector(heartbeat::Message::Beat);
        let sent = |to, continues| Effect::Send { to, message: beat.clone(), continues };
        assert_eq!(effects[1..3], [sent(ProcessId(2), false), sent(ProcessId(3), true)]);
        assert_eq!(effects.len(), 6, "and three timers");
    }

    #[test]
    fn what_the_detector_says_goes_to_the_protocol_in_the_same_step() {
        let (mut both, mut out) = started(None);
        out.drain().for_each(drop);
        out.take_rules();
        both.on(Input::Reading(Duration::from_millis(11)), &mut out);
        let silence = heartbeat::Timer::Silence(ProcessId(3));
        let said = step(&mut both, Input::Timer(Timer::Detector(silence)), &mut out);
        let word = detector::Notice::Suspects(ProcessId(3));
        assert_eq!(said, [Effect::Notify((word, Duration::from_millis(11)))]);
        assert_eq!(out.take_rules().last(), Some(&"repeats it"));

        let beat = Message::Detector(heartbeat::Message::Beat);
        let input = Input::Message { from: ProcessId(3), message: beat };
        let said = step(&mut both, input, &mut out);
        let word = detector::Notice::Trusts(ProcessId(3));
        assert_eq!(said[0], Effect::Notify((word, Duration::from_millis(11))));
        assert!(matches!(said[1], Effect::SetTimer { timer: Timer::Detector(_), .. }), "in order");
    }

    #[test]
    fn all_else_goes_to_the_part_that_it_is_meant_for() {
        let (mut both, mut out) = started(None);
        out.drain().for_each(drop);
        let hello = Message::Protocol(Hello);
        let sent = |to, continues| Effect::Send { to, message: hello.clone(), continues };
        let greeted = step(&mut both, Input::Command(()), &mut out);
        assert_eq!(greeted, [sent(ProcessId(2), false), sent(ProcessId(3), true)]);
        let (from, two) = (ProcessId(2), Duration::from_millis(2));
        let set = Effect::SetTimer { timer: Timer::Protocol(7), due: Due::at(two) };
        let heard = Input::Message { from, message: hello.clone() };
        assert_eq!(step(&mut both, heard, &mut out), [set]);
        let cancelled = vec![Effect::CancelTimer(Timer::Protocol(7))];
        assert_eq!(step(&mut both, Input::Timer(Timer::Protocol(7)), &mut out), cancelled);
    }
}
