//! The loop in which a run ends, if it does: what lies between two lines comes again and again.

use conclave_observe::Time;
use conclave_observe::trace::Trace;

use super::frame::Frame;
use crate::geometry::{Point, Px, px};
use crate::placer::Placer;
use crate::scene::{Label, LabelRole, Repeat};
use crate::{style, text};

/// What the arrow back to the beginning takes above the plot, with its words.
pub(super) const HEIGHT: Px = px(34);

/// The loop, as far as it is seen.
pub(super) fn lay(trace: &Trace, frame: &Frame) -> Option<Repeat> {
    let first = usize::try_from(trace.header.repeats_from?).ok()?;
    let from = trace.records.get(first)?.event.at;
    let to = trace.records.last()?.event.at;
    let is_seen = |at: Time| frame.sees(at, Some(at));
    let repeat = Repeat {
        from,
        to,
        left: frame.x(from) - px(6),
        right: frame.x(to) + px(6),
        begins: is_seen(from),
        ends: is_seen(to),
    };
    frame.sees(from, Some(to)).then_some(repeat)
}

/// Writes above it how often it comes.
pub(super) fn label(repeat: &Repeat, top: Px, placer: &mut Placer) {
    let wide = repeat.right - repeat.left;
    let fits = |words: &&&str| text::width(words, style::SMALL) <= wide;
    let words = ["all this again and again, for ever", "again, for ever"];
    let words = words.iter().find(fits).copied().unwrap_or("for ever");
    let center = Point::new((repeat.left + repeat.right).half(), top - style::BACK_ABOVE - px(11));
    placer.put(Label::centred(LabelRole::Repeat, words.into(), style::SMALL, center));
}
