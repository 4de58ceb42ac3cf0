//! The time axis, and how times are written.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_observe::Time;
use conclave_observe::trace::Trace;

use super::frame::Frame;
use crate::geometry::{Point, Px, px};
use crate::placer::Placer;
use crate::scene::{Fold, Label, LabelRole, Strip, Tick};
use crate::style;

/// How high the axis of a strip is, with all that is written below it: the times, and what they are
/// counted in or how long a fold is, if that is said there.
pub(super) fn height(frame: &Frame) -> Px {
    let is_folded = frame.scale.pieces().iter().any(|piece| piece.is_folded);
    let has_words = frame.is_last || is_folded || frame.quiet_before.is_some();
    if has_words { px(52) } else { px(36) }
}
/// Two ticks are at least that far apart.
const TICKS_APART: Px = px(70);

/// What times are counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    Delays,
    /// Where time is not counted, but what happened after what.
    Steps,
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

impl Unit {
    /// The unit in which a time of about that length is written with few digits.
    pub fn of(trace: &Trace, length: Time) -> Self {
        match length.0 {
            _ if trace.header.network == "unit" => Unit::Delays,
            _ if trace.header.network == "async" => Unit::Steps,
            1_000_000_000.. => Unit::Seconds,
            100_000.. => Unit::Milliseconds,
            100.. => Unit::Microseconds,
            _ => Unit::Nanoseconds,
        }
    }

    /// As it is written behind a number.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Delays => "delays",
            Unit::Steps => "steps",
            Unit::Seconds => "s",
            Unit::Milliseconds => "ms",
            Unit::Microseconds => "µs",
            Unit::Nanoseconds => "ns",
        }
    }

    fn length(self) -> u64 {
        match self {
            Unit::Delays | Unit::Steps => Time::DELAY.0,
            Unit::Seconds => 1_000_000_000,
            Unit::Milliseconds => 1_000_000,
            Unit::Microseconds => 1_000,
            Unit::Nanoseconds => 1,
        }
    }

    /// A time in this unit, with at most two decimals.
    pub fn show(self, time: Time) -> String {
        let (whole, rest) = (time.0 / self.length(), time.0 % self.length());
        let hundredths = rest * 100 / self.length();
        match (hundredths / 10, hundredths % 10) {
            (0, 0) => format!("{whole}"),
            (tenths, 0) => format!("{whole}.{tenths}"),
            (tenths, rest) => format!("{whole}.{tenths}{rest}"),
        }
    }
}

/// The folded stretches.
pub(super) fn folds(frame: &Frame) -> Vec<Fold> {
    let folded = frame.scale.pieces().iter().filter(|piece| piece.is_folded);
    folded
        .map(|piece| Fold { from: piece.from, to: piece.to, left: piece.left, right: piece.right })
        .collect()
}

/// Multiples of a round time, wherever time is not folded.
pub(super) fn ticks(trace: &Trace, frame: &Frame) -> Vec<Tick> {
    let step = step(trace, frame);
    let pieces = frame.scale.pieces().iter().filter(|piece| !piece.is_folded);
    pieces
        .flat_map(|piece| piece.from.0.div_ceil(step.0)..=piece.to.0 / step.0)
        .map(|multiple| Time(multiple * step.0))
        .map(|at| Tick { at, x: frame.x(at) })
        .collect()
}

/// Writes the axis: how long folded stretches are, then times for which there is room.
pub(super) fn label(trace: &Trace, strip: &Strip, frame: &Frame, placer: &mut Placer) {
    let unit = Unit::of(trace, step(trace, frame));
    let (upper, lower) = (strip.plot.bottom + px(16), strip.plot.bottom + px(36));
    let words = match unit {
        Unit::Delays => String::from("time in message delays"),
        Unit::Steps => String::from("steps, one after the other"),
        _ => format!("time in {}", unit.name()),
    };
    let start = Point::new(strip.plot.left, lower);
    let words = frame.is_last.then_some(words);
    let later = strip.quiet_before.map(|time| {
        let unit = Unit::of(trace, time);
        format!("{} {} later", unit.show(time), unit.name())
    });
    let words: Vec<String> = later.into_iter().chain(words).collect();
    if !words.is_empty() {
        let words = words.join("; ");
        placer.put(Label::beginning(LabelRole::Axis, words, style::SMALL, start));
    }
    for fold in &strip.folds {
        let length = fold.to - fold.from;
        let unit = Unit::of(trace, length);
        let words = format!("{} {}", unit.show(length), unit.name());
        let x = (fold.left + fold.right).half();
        placer.put_first([lower, upper].map(|y| {
            Label::centred(LabelRole::Fold, words.clone(), style::SMALL, Point::new(x, y))
        }));
    }
    for tick in &strip.ticks {
        let (words, center) = (unit.show(tick.at), Point::new(tick.x, upper));
        placer.put_first([Label::centred(LabelRole::Tick, words, style::SMALL, center)]);
    }
}

/// The smallest round time that is wide enough.
fn step(trace: &Trace, frame: &Frame) -> Time {
    let is_counted = matches!(&*trace.header.network, "unit" | "async");
    let least = if is_counted { Time::DELAY.0 } else { 1 };
    let decades = core::iter::successors(Some(least), |step| step.checked_mul(10));
    decades
        .flat_map(|decade| [1, 2, 5].map(|factor| Time(decade.saturating_mul(factor))))
        .find(|&step| frame.scale.width(step) >= TICKS_APART)
        .unwrap_or(Time::NEVER)
}
