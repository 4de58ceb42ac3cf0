//! Small marks for what a process is told, asks for and suspects, each with a word or two.

use alloc::string::String;
use alloc::vec::Vec;

use conclave_observe::trace::Trace;

use super::frame::Frame;
use crate::geometry::{Point, Px, px};
use crate::history::History;
use crate::placer::Placer;
use crate::scene::{Label, LabelRole, Mark, MarkKind};
use crate::{style, text};

/// Places the marks of what happens at one moment.
pub(super) fn lay(history: &History, frame: &Frame) -> Vec<Mark> {
    let notes = history.notes.iter().filter(|&&(at, ..)| frame.sees(at, Some(at)));
    notes
        .filter_map(|&(at, seat, kind)| {
            Some(Mark { seat, at, kind, place: Point::new(frame.x(at), frame.y(seat)?) })
        })
        .collect()
}

/// What is written beside a mark; nothing, if that is not said here.
pub(super) fn words(trace: &Trace, mark: &Mark) -> Option<String> {
    match mark.kind {
        MarkKind::Crash | MarkKind::Return | MarkKind::Replace => None,
        MarkKind::Said { said, sort } => {
            Some((sort.words)(&said, mark.seat, &|seat| trace.id(seat)))
        }
    }
}

/// Writes them where nothing is crossed, or else where there is room at all; where there is none,
/// the shape and the legend have to do.
pub(super) fn label(trace: &Trace, marks: &[Mark], placer: &mut Placer) {
    for mark in marks {
        let Some(words) = words(trace, mark) else { continue };
        if !placer.put_best(places(mark, &words)) {
            placer.put_first(places(mark, &words).map(|(_, label)| label));
        }
    }
}

/// Where a text could stand beside a mark, and how much worse than just above it that would be.
fn places(mark: &Mark, words: &str) -> impl Iterator<Item = (usize, Label)> {
    let aside = text::width(words, style::SMALL).half() + px(4);
    let places = [
        (0, Px::ZERO, -16),
        (5, Px::ZERO, 16),
        (10, aside, -16),
        (12, -aside, -16),
        (15, aside, 16),
        (17, -aside, 16),
        (40, Px::ZERO, -30),
        (45, Px::ZERO, 30),
    ];
    places.into_iter().map(|(price, dx, dy)| {
        let center = Point::new(mark.place.x + dx, mark.place.y + px(dy));
        (price, Label::centred(LabelRole::Note, words.into(), style::SMALL, center))
    })
}
