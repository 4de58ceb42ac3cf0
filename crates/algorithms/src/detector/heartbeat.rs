//! Heartbeat: who is alive says so every T, and who is silent for T + D is suspected.
//!
//! **Idea.** Every process sends a beat to all others at its start, and again every T. Whoever
//! hears no beat of another for T + D suspects it. A beat of a suspect clears it.
//!
//! **Assumes** that every message takes at most D, a bound that all know: a synchronous system. One
//! that dies and is back before its death was noticed can be suspected until its first beat
//! arrives, which is right of its earlier life and wrong of this one. Channels need not be FIFO.
//! Without the bound it errs both ways: where D is too small, live ones are suspected; where it is
//! too large, dead ones are believed alive for long.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `beat` | "I am here" | to all others, every T |
//!
//! **Cost.** N(N-1) messages every T.
//!
//! **Source.** The timed beats of the textbooks, e.g. G. Coulouris et al., *Distributed Systems*,
//! 5th ed., section 15.1 ("Failure assumptions and failure detectors").
//!
//! **Why no live one is suspected.** Of all its beats that have arrived, let the latest be the one
//! sent at time s. The silence is counted from an arrival no earlier than s. The next beat is sent
//! at s + T and arrives by s + T + D, and a message is taken in before a timer that runs out at the
//! same time. Before the first beat, silence is counted from the own start: those who start
//! together beat at once, and one that comes back hears of all others within T + D.
//!
//! **Why a dead one is.** Who crashes at time c sent its last beat at c at the latest. It arrives
//! by c + D, and T + D later the silence has lasted too long: by c + T + 2D.

use core::time::Duration;

use conclave_core::detector::{Detectors, Notice};
use conclave_core::{
    Effects, Family, Input, Kind, KindIndex, NoWord, ProcessId, Protocol, Renaming, SeatSet, Start,
    Symmetry, View,
};

use crate::catalogue::{Bounds, Cost, Entry, Measure, Needs, Places, Promises, Setting, Timing};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// I am here.
    Beat,
}

/// What it waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Timer {
    /// It is time to beat again.
    Beat,
    /// To suspect that one, unless it is heard of before.
    Silence(ProcessId),
}

/// What the members agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// T: the time from beat to beat.
    pub beat: Duration,
    /// D: how long a beat takes at most.
    pub bound: Duration,
}

/// One process of the heartbeat detector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Heartbeat {
    me: ProcessId,
    view: View,
    #[cfg_attr(feature = "serde", serde(skip))]
    config: Config,
    /// Whom it suspects; for all others a `Silence` is set.
    suspects: SeatSet,
}

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "heartbeat",
    title: "Heartbeat",
    citation: "textbook, e.g. Coulouris et al., Distributed Systems, 5th ed., section 15.1",
    summary: "a beat to all others every T; who is silent for T + D is suspected",
    family: <Detectors as Family>::NAME,
    promises: Promises::NONE,
    needs: Needs { synchrony: true, ..Needs::NOTHING },
    settings: &[Setting::Bound, Setting::Beat],
    crash: "all others suspect the dead one, at most T + 2D later",
    problems: "D too small: live ones are suspected; too large: dead ones are trusted for long",
    crash_example: None,
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[
        Bounds::of(3, 0).sync(1).beat(2).crashes(1).lossy(),
        Bounds::of(3, 0).sync(1).beat(2).crashes(1).returns(1).refuted(),
        Bounds::of(2, 0).refuted(),
    ],
    costs: &[Cost::exactly(Measure::Beats, "N(N-1)", |size| size.n * (size.n - 1.0))],
    remarks: &[],
};

impl Config {
    /// As the times of a run have it.
    pub fn new(timing: &Timing) -> Self {
        Self { beat: timing.beat(), bound: timing.bound }
    }

    /// How long the silence of a live one lasts at most.
    fn silence(self) -> Duration {
        self.beat + self.bound
    }
}

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[Kind::upkeep("beat")];

    #[inline]
    fn kind(&self) -> KindIndex {
        0
    }
}

impl Protocol for Heartbeat {
    type Family = Detectors;
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
        let process = Self {
            me: start.me,
            view: start.view.clone(),
            config: *start.config,
            suspects: SeatSet::empty(start.view.len()),
        };
        process.beat(out);
        for other in process.view.others(process.me) {
            out.set_timer(Timer::Silence(other), process.config.silence());
        }
        process
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Timer(Timer::Beat) => self.beat(out),
            Input::Timer(Timer::Silence(other)) => self.suspect(other, out),
            Input::Message { from, message: Message::Beat } => self.hear_of(from, out),
            Input::Command(command) => match command {},
            Input::Word(word) => match word {},
            Input::Reading(_) => {}
        }
    }

    fn symmetry() -> Option<&'static dyn Symmetry<Self>> {
        Some(&Alike)
    }
}

/// All are interchangeable: each beats to all others, and each silence has a timer of its own.
struct Alike;

impl Symmetry<Heartbeat> for Alike {
    fn process(&self, process: &Heartbeat, names: &Renaming) -> Heartbeat {
        let (me, suspects) = (names.id(process.me), names.set(&process.suspects));
        Heartbeat { me, suspects, ..process.clone() }
    }

    fn timer(&self, timer: Timer, names: &Renaming) -> Timer {
        match timer {
            Timer::Beat => Timer::Beat,
            Timer::Silence(other) => Timer::Silence(names.id(other)),
        }
    }
}

impl Heartbeat {
    fn beat(&self, out: &mut Effects<Self>) {
        out.rule("is alive: it tells all others so");
        out.multicast(self.view.others(self.me), &Message::Beat);
        out.set_timer(Timer::Beat, self.config.beat);
    }

    fn suspect(&mut self, other: ProcessId, out: &mut Effects<Self>) {
        let Some(seat) = self.view.seat(other) else { return };
        if self.suspects.insert(seat) {
            out.rule("has heard no beat of another for T + D: it suspects that one");
            out.notify(Notice::Suspects(other));
        }
    }

    fn hear_of(&mut self, other: ProcessId, out: &mut Effects<Self>) {
        let Some(seat) = self.view.seat(other).filter(|_| other != self.me) else { return };
        if self.suspects.remove(seat) {
            out.rule("hears of a suspect: it trusts that one again");
            out.notify(Notice::Trusts(other));
        } else {
            out.rule("hears a beat: it waits T + D for the next");
        }
        out.set_timer(Timer::Silence(other), self.config.silence());
    }
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests {
    use super::Message::Beat;
    use super::Timer::Silence;
    use super::*;
    use crate::testing::Deed::{Sent, Set, Told};
    use crate::testing::{Deed, Probe};

    const T: Duration = Duration::from_millis(10);
    const D: Duration = Duration::from_millis(1);
    const CONFIG: Config = Config { beat: T, bound: D };

    /// One of three.
    fn process(me: u32) -> Probe<Heartbeat> {
        Probe::founding(me, &View::dense(1, 3), &CONFIG)
    }

    fn waits_for_a_beat_of(other: u32) -> Deed<Heartbeat> {
        Set(Silence(ProcessId(other)), T + D, T + D)
    }

    #[test]
    fn it_beats_at_its_start_and_counts_the_silence_of_all_others_from_there() {
        let start = [
            Sent(1, Beat),
            Sent(3, Beat),
            Set(Timer::Beat, T, T),
            waits_for_a_beat_of(1),
            waits_for_a_beat_of(3),
        ];
        assert_eq!(process(2).began, start);
        let returning = Probe::<Heartbeat>::returning(2, &View::dense(1, 3), &CONFIG, None);
        assert_eq!(returning.began, start, "whoever comes back beats at once too");
    }

    #[test]
    fn it_beats_again_every_t() {
        let again = [Sent(1, Beat), Sent(3, Beat), Set(Timer::Beat, T, T)];
        assert_eq!(process(2).timer(Timer::Beat), again);
    }

    #[test]
    fn a_beat_gives_its_sender_another_t_plus_d() {
        assert_eq!(process(2).receive(3, Beat), [waits_for_a_beat_of(3)]);
    }

    #[test]
    fn whoever_is_silent_for_too_long_is_suspected_once() {
        let mut process = process(2);
        let silence = Silence(ProcessId(3));
        assert_eq!(process.timer(silence), [Told(Notice::Suspects(ProcessId(3)))]);
        assert!(process.ignores(Input::Timer(silence)));
    }

    #[test]
    fn a_beat_of_a_suspect_clears_it_and_it_can_be_suspected_again() {
        let mut process = process(2);
        process.timer(Silence(ProcessId(3)));
        let cleared = [Told(Notice::Trusts(ProcessId(3))), waits_for_a_beat_of(3)];
        assert_eq!(process.receive(3, Beat), cleared);
        assert_eq!(process.receive(3, Beat), [waits_for_a_beat_of(3)], "it was cleared already");
        let suspected = [Told(Notice::Suspects(ProcessId(3)))];
        assert_eq!(process.timer(Silence(ProcessId(3))), suspected);
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let process = process(2);
        assert!(process.ignores(Input::Message { from: ProcessId(9), message: Beat }));
        assert!(process.ignores(Input::Message { from: ProcessId(2), message: Beat }));
        assert!(process.ignores(Input::Timer(Silence(ProcessId(9)))));
    }

    #[test]
    fn one_alone_watches_nobody() {
        let alone = Probe::<Heartbeat>::founding(1, &View::dense(1, 1), &CONFIG);
        assert_eq!(alone.began, [Set(Timer::Beat, T, T)]);
    }
}
