//! One line per process, broken where it is down, dotted where it pauses.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_observe::trace::Trace;

use super::frame::{Frame, Rows};
use crate::geometry::{Point, Px, px};
use crate::history::{Absence, History};
use crate::placer::Placer;
use crate::scene::{AbsenceKind, Label, LabelRole, Lifeline, Mark, MarkKind, Strip, Stroke};
use crate::{style, text};

/// The name of a process.
pub(super) fn name_of(trace: &Trace, seat: Seat) -> String {
    format!("p{}", trace.id(seat))
}

/// How wide the widest name is.
pub(super) fn name_width(trace: &Trace, rows: &Rows) -> Px {
    let names = rows.seats().iter().map(|&seat| name_of(trace, seat));
    names.map(|name| text::width(&name, style::PROCESS)).max().unwrap_or_default()
}

/// Places the lifelines, with their pieces.
pub(super) fn lay(history: &History, frame: &Frame) -> Vec<Lifeline> {
    let seats = frame.rows.seats().iter();
    seats
        .filter_map(|&seat| {
            let absences = history.absences.iter().filter(|absence| absence.seat == seat);
            Some(Lifeline { seat, y: frame.y(seat)?, strokes: strokes(absences, frame) })
        })
        .collect()
}

fn strokes<'a>(absences: impl Iterator<Item = &'a Absence>, frame: &Frame) -> Vec<Stroke> {
    let mut strokes = Vec::new();
    let mut stroke = |left: Px, right: Px, is_paused| {
        if left < right {
            strokes.push(Stroke { left, right, is_paused });
        }
    };
    let mut reached = frame.left;
    for absence in absences {
        // Who is down from the start never had a line.
        let from =
            if absence.is_from_the_start { reached } else { frame.x(absence.from).max(reached) };
        let to = frame.x_end(absence.to).max(from);
        stroke(reached, from, false);
        if absence.kind == AbsenceKind::Paused {
            stroke(from, to, true);
        }
        reached = to;
    }
    stroke(reached, frame.right, false);
    strokes
}

/// Crashes and returns.
pub(super) fn marks(history: &History, frame: &Frame) -> Vec<Mark> {
    let downs = history.absences.iter().filter(|absence| absence.kind == AbsenceKind::Down);
    downs
        .flat_map(|down| {
            let crash = (down.seat, Some(down.from), MarkKind::Crash);
            let back = if down.is_replaced { MarkKind::Replace } else { MarkKind::Return };
            [crash, (down.seat, down.to, back)]
        })
        .filter_map(|(seat, at, kind)| {
            let at = at.filter(|&at| frame.sees(at, Some(at)))?;
            Some(Mark { seat, at, kind, place: Point::new(frame.x(at), frame.y(seat)?) })
        })
        .collect()
}

/// How much room names take at the right end.
pub(super) fn right_margin(trace: &Trace, frame: &Frame) -> Px {
    if frame.is_named_twice { name_width(trace, &frame.rows) + px(16) } else { Px::ZERO }
}

/// Writes the names.
pub(super) fn name(trace: &Trace, strip: &Strip, frame: &Frame, placer: &mut Placer) {
    let size = style::PROCESS.min(frame.lane.scaled(6, 10));
    for lifeline in &strip.lifelines {
        let name = name_of(trace, lifeline.seat);
        let width = text::width(&name, size);
        let mut write = |x: Px| {
            let start = Point::new(x, lifeline.y);
            placer.put(Label::beginning(LabelRole::Process, name.clone(), size, start));
        };
        write(frame.left - px(8) - width);
        if frame.is_named_twice {
            write(frame.right + px(8));
        }
    }
}

/// Says in words what crosses, rings and dots mean.
pub(super) fn label_marks(history: &History, marks: &[Mark], frame: &Frame, placer: &mut Placer) {
    let is_from_the_start = |mark: &Mark| {
        let mut downs = history.absences.iter().filter(|absence| absence.is_from_the_start);
        downs.any(|down| (down.seat, down.from) == (mark.seat, mark.at))
    };
    for mark in marks {
        let word = match mark.kind {
            MarkKind::Crash if is_from_the_start(mark) => "down from the start",
            MarkKind::Crash => "crash",
            MarkKind::Return => "back",
            MarkKind::Replace => "replaced",
            // The others have their own words.
            _ => continue,
        };
        let half = text::width(word, style::SMALL).half();
        let aside = [(half, -18), (half, 18), (-half, -18), (-half, 18)];
        placer.put_first(aside.map(|(dx, dy)| {
            let center = Point::new(mark.place.x + dx, mark.place.y + px(dy));
            Label::centred(LabelRole::Mark, word.into(), style::SMALL, center)
        }));
    }
    let pauses = history.absences.iter().filter(|absence| absence.kind == AbsenceKind::Paused);
    for pause in pauses.filter(|pause| frame.sees(pause.from, pause.to)) {
        let Some(y) = frame.y(pause.seat) else { continue };
        let middle = (frame.x(pause.from) + frame.x_end(pause.to)).half();
        placer.put_first([-16, 16].map(|dy| {
            let center = Point::new(middle, y + px(dy));
            Label::centred(LabelRole::Mark, "paused".into(), style::SMALL, center)
        }));
    }
}
