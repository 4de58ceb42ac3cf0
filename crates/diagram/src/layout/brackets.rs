//! Brackets over delays, with their lengths.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_observe::trace::Trace;

use super::axis::Unit;
use super::frame::Frame;
use crate::geometry::{Point, Px, px};
use crate::history::History;
use crate::placer::Placer;
use crate::scene::{Bracket, DelaySort, Label, LabelRole};
use crate::{style, text};

/// How far above its lifeline a bracket is: just above the bar.
const ABOVE: Px = px(13);

/// The brackets of the entries in that strip.
pub(super) fn lay(history: &History, frame: &Frame) -> Vec<Bracket> {
    let seen = history.delays.iter().filter(|delay| frame.sees(delay.to, Some(delay.to)));
    let brackets = seen.filter_map(|delay| {
        let y = frame.y(delay.seat)? - ABOVE;
        let (left, right) = (frame.x(delay.from), frame.x(delay.to));
        let is_open = delay.from < frame.window.0;
        let (seat, sort, from, to) = (delay.seat, delay.sort, delay.from, delay.to);
        Some(Bracket { seat, sort, from, to, left: Point::new(left, y), right, is_open })
    });
    brackets.collect()
}

/// Writes above each what it measures, and how long it is.
pub(super) fn label(trace: &Trace, brackets: &[Bracket], placer: &mut Placer) {
    for bracket in brackets {
        let length = bracket.to - bracket.from;
        let unit = Unit::of(trace, length);
        let name = match bracket.sort {
            DelaySort::Client => "client",
            DelaySort::Sync => "sync",
        };
        let length = match unit {
            Unit::Delays => unit.show(length),
            _ => format!("{} {}", unit.show(length), unit.name()),
        };
        let full = format!("{name} {length}");
        let middle = (bracket.left.x + bracket.right).half();
        let places = |words: &String| {
            let half = text::width(words, style::TINY).half();
            let xs = [middle, bracket.right - half, bracket.left.x + half];
            let tries = xs.map(|x| (x, -9)).into_iter().chain([(middle, -20)]);
            let place = |(x, dy)| {
                let center = Point::new(x, bracket.left.y + px(dy));
                Label::centred(LabelRole::Delay, words.clone(), style::TINY, center)
            };
            tries.map(place).collect::<Vec<_>>()
        };
        if !placer.put_first(places(&full)) {
            placer.put_first(places(&length));
        }
    }
}
