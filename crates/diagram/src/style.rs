//! How things look: sizes, shades and line styles, each decided once.
//!
//! A diagram is often printed or projected without its colours. So whatever has to be told apart
//! differs in its dashes or its shape first, in its shade second, and in its colour last.
//!
//! Readers who have set a dark screen see the same picture in other shades.

use conclave_core::KindIndex;

use crate::geometry::{Px, px};

/// Fonts that are nearly everywhere, the narrow ones first.
pub(crate) const FONTS: &str = "Liberation Sans, Arial, Helvetica, DejaVu Sans, sans-serif";

/// The size of the title.
pub(crate) const TITLE: Px = px(19);
/// The size of the names of processes.
pub(crate) const PROCESS: Px = px(16);
/// The size of the lines below the picture, and of the legend.
pub(crate) const CAPTION: Px = px(14);
/// The size of everything else.
pub(crate) const SMALL: Px = px(12);
/// The size of what is written at timers and at messages to oneself.
pub(crate) const TINY: Px = px(11);

/// What is left free around everything.
pub(crate) const MARGIN: Px = px(16);
/// The narrowest picture: below that a title has no room.
pub(crate) const NARROWEST: Px = px(560);
/// The distance of two lifelines, if there are few.
pub(crate) const LANE: Px = px(68);
/// The distance of two lifelines, if there are many.
pub(crate) const LANE_LEAST: Px = px(28);
/// Half the height of a bar.
pub(crate) const BAR_HALF: Px = px(7);
/// The height of the bar of a timer.
pub(crate) const TIMER: Px = px(3);
/// The least width of a bar, so that even an instant can be seen.
pub(crate) const BAR_LEAST: Px = px(4);
/// The length of an arrowhead.
pub(crate) const HEAD: Px = px(11);
/// Half the width of an arrowhead.
pub(crate) const HEAD_HALF: Px = px(4);
/// What a folded stretch is drawn as.
pub(crate) const FOLD: Px = px(76);
/// Half the width of the strip that is torn out of its middle.
pub(crate) const TEAR_HALF: Px = px(7);
/// How far the edges of that strip go to and fro.
pub(crate) const TOOTH: Px = px(3);
/// Half the size of a cross that means a crash.
pub(crate) const CRASH_HALF: Px = px(9);
/// Half the size of a cross that means a loss.
pub(crate) const LOSS_HALF: Px = px(5);
/// Half the size of a small mark.
pub(crate) const NOTE_HALF: Px = px(5);

/// How far above the plot the arrow is that leads back to the beginning of a loop.
pub(crate) const BACK_ABOVE: Px = px(8);

/// The colour of text, and of whatever is most important.
pub(crate) const INK: &str = "#1a1a1a";
/// The colour of text that explains.
pub(crate) const PALE_INK: &str = "#555";
/// The colour of what must be noticed; dark enough for grey.
pub(crate) const ALARM: &str = "#b3001b";

/// How messages of one kind are drawn.
#[derive(Clone, Copy)]
pub(crate) struct KindStyle {
    /// The colour of their arrows, as SVG spells it.
    pub stroke: &'static str,
    /// Its dashes, as SVG spells them; empty for a line without gaps.
    pub dashes: &'static str,
    /// The thickness of their arrows.
    pub width: Px,
}

const fn kind(stroke: &'static str, dashes: &'static str, tenths: i64) -> KindStyle {
    KindStyle { stroke, dashes, width: Px::tenths(tenths) }
}

/// So many kinds of messages look different; what comes after them begins again.
pub const LOOKS: usize = 12;

/// No two have the same dashes but the first and the fifth, of which one is far lighter.
const KINDS: [KindStyle; LOOKS] = [
    kind("#1a1a1a", "", 15),
    kind("#1f5fa8", "8 4", 16),
    kind("#a34700", "2 3", 19),
    kind("#2b6b3f", "11 3 2 3", 16),
    kind("#8c8c8c", "", 24),
    kind("#6b3fa0", "16 5", 16),
    kind("#7a5c00", "5 3 2 3 2 3", 17),
    kind("#777", "4 6", 20),
    kind("#0f6f78", "14 3 4 3 4 3", 16),
    kind("#94205f", "1 6", 26),
    kind("#465a9c", "22 4 6 4", 16),
    kind("#5a4632", "6 2", 15),
];

/// The colour of messages that are the background of others.
pub(crate) const FAINT: &str = "#b4b4b4";
/// The colour of the cross where one of them is lost.
pub(crate) const FAINT_ALARM: &str = "#d08a94";
/// The thickness of messages that are the background of others.
pub(crate) const FAINT_WIDTH: Px = Px::tenths(8);

/// How that kind is drawn as the background of others: by its dashes alone.
pub(crate) fn of_background(kind: KindIndex) -> KindStyle {
    KindStyle { stroke: FAINT, dashes: of_kind(kind).dashes, width: FAINT_WIDTH }
}

/// How that kind is drawn; more kinds than styles begin again at the first.
pub(crate) fn of_kind(kind: KindIndex) -> &'static KindStyle {
    &KINDS[usize::from(kind) % KINDS.len()]
}

/// The colour of what is written about that kind: its own, unless that is too pale for letters.
pub(crate) fn ink_of(kind: KindIndex) -> &'static str {
    match of_kind(kind).stroke {
        "#8c8c8c" | "#777" => PALE_INK,
        stroke => stroke,
    }
}

/// Every colour of a picture on white paper, and what it is for a reader who has set a dark screen.
/// What was light becomes dark: so white numbers on dark bars become dark ones on light bars.
pub(crate) const SHADES: [(&str, &str); 26] = [
    ("#fff", "#16181d"),
    (INK, "#ececec"),
    (PALE_INK, "#b0b4ba"),
    (ALARM, "#ff7583"),
    ("#3d3d3d", "#c4c8ce"),
    ("#777", "#969ba2"),
    ("#888", "#9a9fa6"),
    ("#999", "#7d828a"),
    ("#dcdcdc", "#3d424a"),
    ("#e2e2e2", "#34383f"),
    ("#e6e6e6", "#2c3036"),
    ("#f3f3f3", "#24272c"),
    ("#f7d0d5", "#4a1f26"),
    ("#8aa4bd", "#6385a6"),
    ("#1f5fa8", "#7db4f5"),
    ("#a34700", "#f0985a"),
    ("#2b6b3f", "#74c98d"),
    ("#8c8c8c", "#8a8f96"),
    ("#6b3fa0", "#c19cf0"),
    ("#7a5c00", "#d9b23c"),
    ("#0f6f78", "#54c5cf"),
    ("#94205f", "#f08abf"),
    ("#465a9c", "#9fb1f0"),
    ("#5a4632", "#c9ac8c"),
    (FAINT, "#5f646b"),
    (FAINT_ALARM, "#96505b"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_differ_without_their_colours() {
        for (index, one) in KINDS.iter().enumerate() {
            for other in &KINDS[index + 1..] {
                assert!(
                    one.dashes != other.dashes
                        || one.width >= other.width + Px::tenths(8)
                        || other.width >= one.width + Px::tenths(8),
                    "{} {} looks like {}",
                    one.stroke,
                    one.dashes,
                    other.stroke
                );
            }
        }
    }
}
