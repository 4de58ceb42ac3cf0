//! What a picture is drawn on: how wide it may get, and how narrow things may be drawn.

use crate::geometry::{Px, px};
use crate::style;

/// The measures of a picture.
#[derive(Clone, Copy)]
pub(crate) struct Sheet {
    /// No picture is wider; what needs more room goes on in a strip below.
    pub width: Px,
    /// How wide all strips of a picture may be together: of more than that, a part is drawn.
    pub strips_most: Px,
    /// What a message delay is drawn as, if nothing speaks against it.
    pub delay: Px,
    /// Below that, slanted arrows become walls.
    pub delay_least: Px,
    /// With more arrows than that, a picture is a grey patch.
    pub arrows_most: usize,
    /// The distance of two lifelines, if there are few.
    pub lane: Px,
    /// The same for many processes in several strips: the picture would be too high.
    pub lane_tall: Px,
    /// What is left beside a cut for whatever goes on there, at most.
    pub beside: Px,
    /// How high the picture is, and then it is as wide as may be; otherwise it is as large as it
    /// must.
    pub height: Option<Px>,
}

impl Sheet {
    /// A page of a book or of the web.
    pub const PAGE: Self = Self {
        width: px(1_700),
        strips_most: px(6_000),
        delay: px(140),
        delay_least: px(48),
        arrows_most: 400,
        lane: style::LANE,
        lane_tall: px(54),
        beside: px(80),
        height: None,
    };

    /// As long as it takes.
    pub const SCROLL: Self = Self { width: px(1_000_000), ..Self::PAGE };
}
