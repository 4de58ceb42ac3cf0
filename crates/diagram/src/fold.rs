//! From the run's time to places in the picture: in proportion, but for quiet stretches, which are
//! folded to a fixed width.

use alloc::vec::Vec;

use conclave_observe::Time;

use crate::geometry::{Px, px};
use crate::history::History;
use crate::sheet::Sheet;
use crate::style;

/// A stretch is quiet if nothing happens for longer than that many messages typically take.
const QUIET: u64 = 4;
/// The widest that a message delay is drawn, where a run is short or crowded.
const DELAY_WIDTH_MOST: Px = px(260);
/// What a short run is stretched to.
const PLOT_WIDTH_GOOD: Px = px(640);
/// A delay may be drawn that many percent as wide, if the run then takes fewer strips.
const TIGHT: u64 = 72;
/// How many percent of their room strips fill at most if there are several: they are cut where it
/// is quiet, not where they are full.
const FILLED: i64 = 92;
/// What all folds together may take.
const FOLDS_MOST: Px = px(100_000);
/// With more messages than that under way at once, on average, a delay is drawn wider.
const CROWD: u64 = 12;

/// A mapping from times to horizontal coordinates.
pub(crate) struct TimeScale {
    /// Without gaps, in order; never empty.
    pieces: Vec<Piece>,
    slope: Slope,
}

/// How wide the time of a strip may be drawn.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    /// If it is the only one.
    pub alone: Px,
    /// If it is one of several, so that there must be room beside the cuts.
    pub among: Px,
    /// What is left there at most.
    pub beside: Px,
}

/// How wide time is drawn outside of folds.
#[derive(Clone, Copy)]
pub(crate) struct Slope {
    /// So long a time ...
    time: Time,
    /// ... is so wide.
    width: Px,
}

impl Slope {
    fn width(self, time: Time) -> Px {
        self.width.scaled(time.0, self.time.0)
    }
}

/// A stretch of time that is drawn in proportion.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    pub from: Time,
    pub to: Time,
    pub left: Px,
    pub right: Px,
    pub is_folded: bool,
}

impl TimeScale {
    /// A scale for that part of a run; its first moment is at `left`.
    pub fn new(history: &History, window: (Time, Time), slope: Slope, left: Px) -> Self {
        let quiet = quiet_stretches(history, window);
        let fold = fold_width(quiet.len());
        let mut scale = Self { pieces: Vec::new(), slope };
        let (mut from, mut x) = (window.0, left);
        for (begin, end) in quiet {
            x = scale.push(from, begin, x, scale.width(begin - from), false);
            x = scale.push(begin, end, x, fold, true);
            from = end;
        }
        scale.push(from, window.1, x, scale.width(window.1 - from), false);
        scale
    }

    fn push(&mut self, from: Time, to: Time, left: Px, width: Px, is_folded: bool) -> Px {
        let right = left + width;
        self.pieces.push(Piece { from, to, left, right, is_folded });
        right
    }

    /// How wide a time is drawn outside of folds.
    pub fn width(&self, time: Time) -> Px {
        self.slope.width(time)
    }

    /// Where that time is; beyond the window as if nothing were folded there.
    pub fn x(&self, at: Time) -> Px {
        let (first, last) = (self.pieces[0], self.pieces[self.pieces.len() - 1]);
        if at < first.from {
            return first.left - self.width(first.from - at);
        }
        let index = self.pieces.partition_point(|piece| piece.to < at);
        match self.pieces.get(index) {
            Some(piece) => {
                let run = (piece.to - piece.from).0;
                piece.left + (piece.right - piece.left).scaled((at - piece.from).0, run)
            }
            None => last.right + self.width(at - last.to),
        }
    }

    /// Where the window ends.
    pub fn right(&self) -> Px {
        self.pieces[self.pieces.len() - 1].right
    }

    /// Its stretches, folded or not, in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }
}

/// Whether that part of a run, drawn as narrow as can be read, is no wider than all strips of a
/// picture together may be.
pub(crate) fn fits(history: &History, window: (Time, Time), sheet: &Sheet) -> bool {
    let quiet = quiet_stretches(history, window);
    let least = Slope { time: history.delay, width: sheet.delay_least };
    least.width(loud_time(window, &quiet)) + folds_width(quiet.len()) <= sheet.strips_most
}

/// Whether that is a quiet stretch.
pub(crate) fn is_quiet(history: &History, from: Time, to: Time) -> bool {
    to.0.saturating_sub(from.0) > history.delay.0.saturating_mul(QUIET)
}

/// Where nothing is to be seen for longer than a few delays.
fn quiet_stretches(history: &History, window: (Time, Time)) -> Vec<(Time, Time)> {
    let first = history.moments.partition_point(|&at| at <= window.0);
    let last = history.moments.partition_point(|&at| at < window.1).max(first);
    let ends = history.moments[first..last].iter().copied().chain([window.1]);
    let mut before = window.0;
    ends.map(|at| (core::mem::replace(&mut before, at), at))
        .filter(|&(from, to)| is_quiet(history, from, to))
        .collect()
}

/// How much of the window is not folded.
fn loud_time(window: (Time, Time), quiet: &[(Time, Time)]) -> Time {
    window.1 - window.0 - Time(quiet.iter().map(|&(from, to)| (to - from).0).sum())
}

/// How wide a fold is: all alike, and less only where a chosen window has thousands.
fn fold_width(folds: usize) -> Px {
    style::FOLD.min(FOLDS_MOST / i64::try_from(folds.max(1)).unwrap_or(i64::MAX))
}

fn folds_width(folds: usize) -> Px {
    fold_width(folds) * i64::try_from(folds).unwrap_or(0)
}

/// How wide to draw a delay in that part of a run, in which so many `arrows` are to be seen: wider
/// if the picture would be small or crowded, narrower if it would be too wide. Strips have
/// that room.
pub(crate) fn slope(
    history: &History,
    window: (Time, Time),
    arrows: usize,
    sheet: &Sheet,
    room: &Room,
) -> Slope {
    let quiet = quiet_stretches(history, window);
    let (delay, loud) = (history.delay, loud_time(window, &quiet));
    let folds = folds_width(quiet.len());
    let good = PLOT_WIDTH_GOOD.min(room.alone).scaled(delay.0, loud.0);
    let under_way = u64::try_from(arrows).unwrap_or(0).saturating_mul(delay.0) / loud.0.max(1);
    let crowded = sheet.delay.scaled(under_way, CROWD);
    let width = good.max(crowded).clamp(sheet.delay, sheet.delay.max(DELAY_WIDTH_MOST));
    let wanted = Slope { time: delay, width };
    // A window that somebody chose is drawn whatever it holds, but not without bounds.
    let most = (sheet.strips_most - folds).max(sheet.strips_most.half());
    let is_fit = wanted.width(loud) <= most;
    let wanted = if is_fit { wanted } else { Slope { time: loud, width: most } };
    fewer_strips(wanted, loud, folds, room)
}

/// Somewhat narrower, if that saves a strip; then as wide as these strips allow.
fn fewer_strips(wanted: Slope, loud: Time, folds: Px, room: &Room) -> Slope {
    let strips = |width: Px| match width + folds {
        all if all <= room.alone => 1,
        all => (all - Px::LEAST).holds(room.among) + 1,
    };
    let full = wanted.width(loud);
    let few = strips(full.scaled(TIGHT, 100));
    if few >= strips(full) {
        return wanted;
    }
    let filled = if few == 1 { room.alone } else { room.among * few * FILLED / 100 };
    let width = (filled - folds).min(full).max(full.scaled(TIGHT, 100));
    Slope { time: loud, width }
}

#[cfg(test)]
pub(crate) mod testing {
    use alloc::vec;

    use super::*;

    /// So much room, in any case.
    pub fn room(pixels: i64) -> Room {
        Room { alone: px(pixels), among: px(pixels), beside: px(80) }
    }

    /// A run of which nothing is known but when something happens.
    pub fn at(moments: &[u64]) -> History {
        History {
            flights: vec![],
            stays: vec![],
            absences: vec![],
            cuts: vec![],
            clashes: vec![],
            wrongs: vec![],
            timers: vec![],
            delays: vec![],
            own: vec![],
            notes: vec![],
            waits: vec![],
            moments: moments.iter().copied().map(Time::delays).collect(),
            is_thinned: false,
            delay: Time::DELAY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{at, room};
    use super::*;

    fn scale_of(history: &History, arrows: usize, left: Px) -> TimeScale {
        let window = (history.start(), history.end());
        let slope = slope(history, window, arrows, &Sheet::PAGE, &room(100_000));
        TimeScale::new(history, window, slope, left)
    }

    fn scale(moments: &[u64]) -> TimeScale {
        scale_of(&at(moments), 0, px(10))
    }

    #[test]
    fn equal_times_are_equally_wide() {
        let scale = scale(&[0, 1, 2, 3]);
        let steps = [0, 1, 2].map(|at| scale.x(Time::delays(at + 1)) - scale.x(Time::delays(at)));
        assert_eq!(scale.x(Time::ZERO), px(10));
        assert_eq!(steps, [scale.width(Time::DELAY); 3]);
        assert_eq!(scale.pieces().iter().filter(|piece| piece.is_folded).count(), 0);
    }

    #[test]
    fn a_stretch_is_folded_if_it_is_longer_than_four_delays_and_not_if_it_is_as_long() {
        let folded = |moments: &[u64]| -> Vec<(Time, Time)> {
            let scale = scale(moments);
            let folded = scale.pieces().iter().filter(|piece| piece.is_folded);
            folded.map(|piece| (piece.from, piece.to)).collect()
        };
        assert_eq!(folded(&[0, 1, 2, 6]), []);
        assert_eq!(folded(&[0, 1, 2, 7, 8]), [(Time::delays(2), Time::delays(7))]);
    }

    #[test]
    fn a_fold_is_as_wide_as_any_other_and_time_goes_on_behind_it() {
        let scale = scale(&[0, 1, 2, 1_002, 1_003]);
        let (before, behind) = (Time::delays(2), Time::delays(1_002));
        assert_eq!(scale.x(behind) - scale.x(before), style::FOLD);
        assert_eq!(scale.x(Time::delays(502)) - scale.x(before), style::FOLD.half());
        assert_eq!(scale.x(Time::delays(1_003)) - scale.x(behind), scale.width(Time::DELAY));
    }

    #[test]
    fn time_goes_on_in_proportion_outside_of_the_window() {
        let (history, window) = (at(&[0, 1, 2, 3, 4]), (Time::delays(2), Time::delays(3)));
        let slope = slope(&history, window, 0, &Sheet::PAGE, &room(1_500));
        let scale = TimeScale::new(&history, window, slope, px(1_000));
        assert_eq!(scale.x(Time::ZERO), px(1_000) - scale.width(Time::delays(2)));
        assert_eq!(scale.x(Time::delays(5)), scale.right() + scale.width(Time::delays(2)));
    }

    #[test]
    fn a_long_window_is_drawn_in_less_width_per_delay_and_a_crowded_one_in_more() {
        let long: Vec<u64> = (0..1_000).collect();
        let few: Vec<u64> = (0..10).collect();
        let page = &Sheet::PAGE;
        let width =
            |moments: &[u64], arrows| scale_of(&at(moments), arrows, Px::ZERO).width(Time::DELAY);
        assert!(width(&long, 10) < page.delay_least);
        assert_eq!(width(&few, 10), page.delay);
        assert_eq!(width(&few, 1_000), DELAY_WIDTH_MOST);
        assert!(!fits(&at(&long), (Time::ZERO, Time::delays(999)), page));
        assert!(fits(&at(&few), (Time::ZERO, Time::delays(9)), page));
    }
    #[test]
    fn a_delay_is_drawn_narrower_where_that_saves_a_strip_and_no_narrower_than_it_must() {
        let moments: Vec<u64> = (0..=15).collect();
        let history = at(&moments);
        let width = |wide| {
            let slope =
                slope(&history, (Time::ZERO, Time::delays(15)), 0, &Sheet::PAGE, &room(wide));
            slope.width(Time::DELAY)
        };
        assert_eq!(width(15 * 140), px(140));
        assert_eq!(width(15 * 110), px(110));
        assert_eq!(width(15 * 90), px(140), "two strips either way");
    }
}
