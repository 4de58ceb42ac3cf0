//! Phi accrual: how long a silence must last to be suspicious is learnt from the beats themselves.
//!
//! **Idea.** Beats as with the heartbeat, every T. Whoever receives them keeps the last times
//! between two of them, of each sender apart, and takes these for normally distributed. A silence
//! that has lasted for t is as suspicious as it is unlikely: `phi(t) = -log10(P(interval > t))`. At
//! phi 1 one suspicion in ten is wrong, at phi 8 one in a hundred million. Who reaches the
//! threshold is suspected. A beat of a suspect clears it.
//!
//! **Without polling.** Of a normal distribution phi depends only on how many standard deviations t
//! is above the mean. So the threshold is a number of deviations z, found once by bisection, and
//! with every beat the one timer is set to the time at which phi will cross it: mean + z times
//! deviation. Steps compute with integers alone, and the one use of logarithms is portable: a run
//! is the same on every machine.
//!
//! **Assumes** no bound, and cannot be perfect without one: it errs as rarely as its threshold says
//! if delays are distributed as it believes. Channels need not be FIFO.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `beat` | "I am here" | to all others, every T |
//!
//! **Cost.** N(N-1) messages every T.
//!
//! **Details.** Until three intervals are known, it expects T with a deviation of T/4. The
//! deviation is never taken for less than T/10: a network that was perfectly regular so far does
//! not make it nervous. An interval counts for at most twice what it was allowed to last: errors
//! are learnt from, and one long outage does not make it blind.
//!
//! **Source.** N. Hayashibara, X. Defago, R. Yared, T. Katayama, *The phi Accrual Failure
//! Detector*, SRDS 2004; the first estimate and the least deviation are as in Akka.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use conclave_core::detector::{Detectors, Notice};
use conclave_core::{
    Effects, Family, Input, Kind, KindIndex, NoWord, ProcessId, Protocol, Start, View,
};

use crate::catalogue::{Cost, Entry, Measure, Needs, Places, Promises, Setting, Timing};

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
    /// To suspect that one, unless it is heard of before: then phi crosses the threshold.
    Silence(ProcessId),
}

/// What the members agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// T: the time from beat to beat.
    pub beat: Duration,
    /// How many standard deviations above the mean phi reaches the threshold; in millionths.
    pub deviations: u64,
    /// The least that the standard deviation is taken for.
    pub deviation_min: Duration,
}

/// One process of the phi accrual detector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Phi {
    me: ProcessId,
    view: View,
    #[cfg_attr(feature = "serde", serde(skip))]
    config: Config,
    /// What its clock showed last.
    now: Duration,
    /// What is known of each member, by seat; its own row is never used.
    peers: Vec<Peer>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
struct Peer {
    /// What the own clock showed at its last beat; `None` before the first.
    heard_at: Option<Duration>,
    /// How long it may be silent, since then.
    allowed: Nanos,
    is_suspect: bool,
    intervals: Intervals,
}

/// A time in nanoseconds.
type Nanos = u64;

/// The last times between two beats, with their sums.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
struct Intervals {
    /// Oldest first, at most [`WINDOW`].
    last: VecDeque<Nanos>,
    #[cfg_attr(feature = "serde", serde(skip))]
    sum: u128,
    #[cfg_attr(feature = "serde", serde(skip))]
    sum_of_squares: u128,
}

/// How many intervals are remembered.
const WINDOW: usize = 100;
/// How many there must be to be believed.
const SAMPLES_MIN: usize = 3;
/// No interval counts for more, two years: so the sum of [`WINDOW`] squares fits.
const INTERVAL_MAX: Nanos = 1 << 56;
/// A standard deviation, in the units of [`Config::deviations`].
const DEVIATION: u64 = 1_000_000;
/// Beyond so many deviations the tail of the distribution is smaller than any number.
const DEVIATIONS_MAX: u64 = 40 * DEVIATION;

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "phi",
    title: "Phi accrual",
    citation: "N. Hayashibara et al., The phi Accrual Failure Detector, SRDS 2004",
    summary: "a beat to all others every T; how long a silence is suspicious is learnt from them",
    family: <Detectors as Family>::NAME,
    promises: Promises::NONE,
    needs: Needs { steadiness: true, ..Needs::NOTHING },
    settings: &[Setting::Bound, Setting::Beat, Setting::Phi],
    crash: "all others suspect the dead one once its silence is unlikely enough",
    problems: "delays that change: live ones are suspected until it has learnt them",
    crash_example: None,
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[],
    costs: &[Cost::exactly(Measure::Beats, "N(N-1)", |size| size.n * (size.n - 1.0))],
    remarks: &[],
};

impl Config {
    /// As the times of a run have it.
    pub fn new(timing: &Timing) -> Self {
        let beat = timing.beat();
        let deviations = deviations(f64::from(timing.phi_hundredths) / 100.0);
        Self { beat, deviations, deviation_min: beat / 10 }
    }
}

/// The least number of deviations at which phi is no smaller than `threshold`.
fn deviations(threshold: f64) -> u64 {
    let (mut low, mut high) = (0, DEVIATIONS_MAX);
    while low < high {
        let middle = (low + high) / 2;
        if phi(middle) >= threshold {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// How suspicious a silence is that has lasted so many deviations longer than the mean.
#[allow(clippy::cast_precision_loss, reason = "it is at most 40 millions")]
fn phi(deviations: u64) -> f64 {
    let deviations = deviations as f64 / DEVIATION as f64;
    -libm::log10(libm::erfc(deviations / core::f64::consts::SQRT_2) / 2.0)
}

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[Kind::upkeep("beat")];

    #[inline]
    fn kind(&self) -> KindIndex {
        0
    }
}

impl Protocol for Phi {
    type Family = Detectors;
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Stored = ();
    type Word = NoWord;

    const READS_CLOCK: bool = true;

    fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
        let (view, config) = (start.view.clone(), *start.config);
        let intervals = Intervals::default();
        let allowed = intervals.allow(&config);
        let peer = Peer { heard_at: None, allowed, is_suspect: false, intervals };
        let (peers, now) = (vec![peer; view.len()], Duration::ZERO);
        let process = Self { me: start.me, view, config, now, peers };
        process.beat(out);
        for other in process.view.others(process.me) {
            out.set_timer(Timer::Silence(other), Duration::from_nanos(allowed));
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
            Input::Reading(now) => self.now = now,
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        let add_up = |peer: &Peer| {
            let last = peer.intervals.last.iter().map(|&it| u128::from(it));
            last.clone().sum::<u128>() == peer.intervals.sum
                && last.map(|it| it * it).sum::<u128>() == peer.intervals.sum_of_squares
        };
        if !self.peers.iter().all(add_up) {
            return Err("the sums are not those of the intervals");
        }
        if self.peers.iter().any(|peer| peer.intervals.last.len() > WINDOW) {
            return Err("more intervals than the window has room for");
        }
        Ok(())
    }
}

impl Phi {
    fn beat(&self, out: &mut Effects<Self>) {
        out.rule("is alive: it tells all others so");
        out.multicast(self.view.others(self.me), &Message::Beat);
        out.set_timer(Timer::Beat, self.config.beat);
    }

    fn suspect(&mut self, other: ProcessId, out: &mut Effects<Self>) {
        let Some(seat) = self.view.seat(other) else { return };
        let peer = &mut self.peers[seat.index()];
        if !peer.is_suspect {
            out.rule("finds the silence of another too unlikely: it suspects that one");
            peer.is_suspect = true;
            out.notify(Notice::Suspects(other));
        }
    }

    fn hear_of(&mut self, other: ProcessId, out: &mut Effects<Self>) {
        let Some(seat) = self.view.seat(other).filter(|_| other != self.me) else { return };
        let peer = &mut self.peers[seat.index()];
        if core::mem::take(&mut peer.is_suspect) {
            out.rule("hears of a suspect: it trusts that one again");
            out.notify(Notice::Trusts(other));
        } else {
            out.rule("hears a beat: it learns how long they take");
        }
        if let Some(heard_at) = peer.heard_at.replace(self.now) {
            let interval = self.now.saturating_sub(heard_at);
            peer.intervals.learn(nanos(interval).min(peer.allowed.saturating_mul(2)));
        }
        peer.allowed = peer.intervals.allow(&self.config);
        out.set_timer(Timer::Silence(other), Duration::from_nanos(peer.allowed));
    }
}

impl Intervals {
    fn learn(&mut self, interval: Nanos) {
        let interval = interval.min(INTERVAL_MAX);
        if self.last.len() == WINDOW
            && let Some(oldest) = self.last.pop_front().map(u128::from)
        {
            self.sum -= oldest;
            self.sum_of_squares -= oldest * oldest;
        }
        self.last.push_back(interval);
        self.sum += u128::from(interval);
        self.sum_of_squares += u128::from(interval) * u128::from(interval);
    }

    /// How long a silence lasts until phi crosses the threshold.
    fn allow(&self, config: &Config) -> Nanos {
        let (mean, deviation) = self.estimate(nanos(config.beat));
        let deviation = deviation.max(nanos(config.deviation_min));
        let above = u128::from(deviation) * u128::from(config.deviations);
        let above = above.div_ceil(u128::from(DEVIATION));
        mean.saturating_add(Nanos::try_from(above).unwrap_or(Nanos::MAX))
    }

    /// The mean, and the standard deviation.
    fn estimate(&self, beat: Nanos) -> (Nanos, Nanos) {
        if self.last.len() < SAMPLES_MIN {
            return (beat, beat / 4);
        }
        let count = self.last.len() as u128;
        // n^2 times the variance; both terms are below 2^126.
        let spread = count * self.sum_of_squares - self.sum * self.sum;
        let nanos = |it: u128| Nanos::try_from(it).unwrap_or(Nanos::MAX);
        (nanos(self.sum / count), nanos(spread.isqrt() / count))
    }
}

fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
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

    const T: Duration = Duration::from_millis(100);

    fn config() -> Config {
        Config::new(&Timing { beat: Some(T), ..Timing::of(Duration::from_millis(10)) })
    }

    /// One of three.
    fn process(me: u32) -> Probe<Phi> {
        Probe::founding(me, &View::dense(1, 3), &config())
    }

    fn waits(other: u32, millis: f64) -> Deed<Phi> {
        let after = Duration::from_secs_f64(millis / 1000.0);
        Set(Silence(ProcessId(other)), after, after)
    }

    /// Process 3 beats at each of these times, in milliseconds: how long it is waited for after the
    /// last, in microseconds.
    fn allowed_after(process: &mut Probe<Phi>, beats: impl IntoIterator<Item = u64>) -> u128 {
        let mut allowed = 0;
        for beat in beats {
            process.clock_shows(Duration::from_millis(beat));
            let Some(Set(_, after, _)) = process.receive(3, Beat).pop() else { panic!("no timer") };
            allowed = after.as_micros();
        }
        allowed
    }

    #[test]
    fn the_threshold_is_a_number_of_deviations() {
        // The upper tail of the normal distribution, from its tables.
        for (threshold, expected) in [(1.0, 1.281_552), (3.0, 3.090_233), (8.0, 5.612_002)] {
            let found = deviations(threshold) as f64 / DEVIATION as f64;
            assert!((found - expected).abs() < 2e-6, "phi {threshold}: {found}");
        }
        assert_eq!(deviations(0.0), 0, "whoever suspects everything waits for the mean");
        assert!(deviations(1e9) <= DEVIATIONS_MAX, "and there is an end to patience");
    }

    #[test]
    fn it_beats_at_its_start_and_expects_beats_every_t_with_a_wide_margin() {
        let margin = 100.0 + 5.612_002 * 25.0;
        let mut process = process(2);
        let [Sent(1, Beat), Sent(3, Beat), Set(Timer::Beat, T, T), first, second] =
            &process.began[..]
        else {
            panic!("{:?}", process.began)
        };
        let allowed = |deed: &Deed<Phi>| match deed {
            Set(Silence(_), after, _) => after.as_secs_f64() * 1000.0,
            other => panic!("{other:?}"),
        };
        assert!((allowed(first) - margin).abs() < 0.001, "{first:?}");
        assert!((allowed(second) - margin).abs() < 0.001, "{second:?}");
        let again = [Sent(1, Beat), Sent(3, Beat), Set(Timer::Beat, T, T)];
        assert_eq!(process.timer(Timer::Beat), again);
    }

    #[test]
    fn regular_beats_make_it_strict_but_not_nervous() {
        let mut process = process(2);
        let first = allowed_after(&mut process, [7, 107, 207]);
        assert_eq!(first, 240_300, "two intervals are not believed yet");
        let strict = allowed_after(&mut process, (3..50).map(|beat| 7 + 100 * beat));
        assert_eq!(strict, 156_120, "the mean and 5.612 times the least deviation of 10 ms");
    }

    #[test]
    fn irregular_beats_make_it_patient() {
        let mut process = process(2);
        // 60 ms and 140 ms by turns: mean 100, deviation 40.
        let beats = (0..41).map(|beat| 100 * beat + 40 * (beat % 2));
        assert_eq!(allowed_after(&mut process, beats), 100_000 + 224_480);
    }

    #[test]
    fn what_is_long_ago_is_forgotten() {
        let mut process = process(2);
        let irregular = (0..41).map(|beat| 100 * beat + 40 * (beat % 2));
        let regular = (41..141).map(|beat| 100 * beat);
        assert_eq!(allowed_after(&mut process, irregular.chain(regular)), 156_120);
    }

    #[test]
    fn it_learns_each_sender_apart_and_from_differences_alone() {
        let mut process = process(2);
        allowed_after(&mut process, (0..41).map(|beat| 100 * beat + 40 * (beat % 2)));
        let beats = [9_000, 9_100, 9_200, 9_300];
        for beat in beats {
            process.clock_shows(Duration::from_millis(beat));
            process.receive(1, Beat);
        }
        process.clock_shows(Duration::from_millis(9_400));
        assert_eq!(process.receive(1, Beat), [waits(1, 156.120_020)]);
    }

    #[test]
    fn a_silence_that_is_too_unlikely_is_suspected_once_and_a_beat_clears_it() {
        let mut process = process(2);
        let silence = Silence(ProcessId(3));
        assert_eq!(process.timer(silence), [Told(Notice::Suspects(ProcessId(3)))]);
        assert!(process.ignores(Input::Timer(silence)));
        assert_eq!(process.receive(3, Beat)[0], Told(Notice::Trusts(ProcessId(3))));
        assert_eq!(process.timer(silence), [Told(Notice::Suspects(ProcessId(3)))]);
    }

    #[test]
    fn an_interval_counts_for_at_most_twice_what_it_was_allowed_to_last() {
        let (mut after_an_hour, mut after_twice) = (process(2), process(2));
        for process in [&mut after_an_hour, &mut after_twice] {
            allowed_after(process, (0..11).map(|beat| 100 * beat));
            process.timer(Silence(ProcessId(3)));
        }
        let an_hour = allowed_after(&mut after_an_hour, [3_601_000]);
        let twice = allowed_after(&mut after_twice, [1_000 + 313]);
        assert!(an_hour > 200_000, "it has learnt from it: {an_hour}");
        assert!(an_hour.abs_diff(twice) < 1_000, "{an_hour} and {twice}");
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let process = process(2);
        assert!(process.ignores(Input::Message { from: ProcessId(9), message: Beat }));
        assert!(process.ignores(Input::Message { from: ProcessId(2), message: Beat }));
        assert!(process.ignores(Input::Timer(Silence(ProcessId(9)))));
    }
}
