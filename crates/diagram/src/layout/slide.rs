//! A slide: 16 to 9, in type that can be read from the last row.
//!
//! A slide is drawn on a small canvas and shown large. The smaller the canvas, the larger the type:
//! so the smallest one is chosen on which all of the run has room, but for runs that would need one
//! on which nobody could read anything. Of those a part is drawn.

use conclave_observe::Time;
use conclave_observe::trace::Trace;

use super::lay_on;
use crate::Options;
use crate::fold;
use crate::geometry::{Px, px};
use crate::history::History;
use crate::scene::Scene;
use crate::sheet::Sheet;

/// How wide a slide is shown.
const SHOWN: Px = px(1_600);
/// The widths of canvases, those with the largest type first.
const CANVASES: [i64; 4] = [640, 704, 768, 832];
/// How wide a message delay is drawn, the best first.
const DELAYS: [i64; 4] = [140, 100, 72, 54];
/// The same where only a part has room anyway.
const DELAY_OF_PART: i64 = 80;
/// Lifelines are no nearer to each other where there are timers between them to see, ...
const LANE_OF_TIMERS: i64 = 44;
/// ... nor otherwise, if there is room, and no nearer at all.
const LANES: [i64; 2] = [40, 30];
/// Nor are they further apart.
const LANE_MOST: Px = px(84);
/// With so many rows nothing can be read; then a canvas is as wide as it must be.
const CANVAS_MOST: i64 = 6_400;

/// Lays a trace out on a slide.
pub(super) fn lay(trace: &Trace, history: &History, options: &Options) -> Scene {
    let with_timers = sizes().map(|(width, delay)| (width, delay, LANE_OF_TIMERS));
    let with_timers = with_timers.filter(|_| !history.timers.is_empty());
    let others = sizes().flat_map(|(width, delay)| LANES.map(|lane| (width, delay, lane)));
    for (width, delay, lane) in with_timers.chain(others) {
        let sheet = canvas(width, delay, lane);
        if let Some(scene) = whole_on(&sheet, trace, history, options) {
            return shown(scene, &sheet, trace, history, options);
        }
    }
    part(trace, history, options)
}

/// As much of it as can be seen, on the smallest canvas on which anything can.
fn part(trace: &Trace, history: &History, options: &Options) -> Scene {
    let (step, mut width) = (CANVASES[1] - CANVASES[0], CANVASES[CANVASES.len() - 1]);
    loop {
        let sheet = canvas(width, DELAY_OF_PART, LANES[LANES.len() - 1]);
        let in_strips = |strips: i64| {
            let sheet = Sheet { strips_most: room(&sheet) * strips, ..sheet };
            (lay_on(&sheet, trace, history, options), sheet)
        };
        let (one, narrow) = in_strips(1);
        let spare = height(&sheet) - one.height;
        let is_last = width >= CANVAS_MOST;
        if (spare >= Px::ZERO && one.width <= sheet.width) || is_last {
            let strip = one.strips[0].plot.height() + px(36);
            let more = (2..=1 + spare.max(Px::ZERO).holds(strip)).rev().map(in_strips);
            let best = more.into_iter().find(|(scene, sheet)| is_on(scene, sheet));
            let (scene, sheet) = best.unwrap_or((one, narrow));
            return shown(scene, &sheet, trace, history, options);
        }
        // At least as wide as what is drawn is high, or wide.
        let needed = (one.height * 16 / 9).max(one.width).holds(px(step)) * step;
        width = needed.clamp(width + step, CANVAS_MOST.max(width + step));
    }
}

/// How wide a canvas and a delay may be, the best first.
fn sizes() -> impl Iterator<Item = (i64, i64)> {
    CANVASES.into_iter().flat_map(|width| DELAYS.map(|delay| (width, delay)))
}

fn canvas(width: i64, delay: i64, lane: i64) -> Sheet {
    let (width, delay, lane) = (px(width), px(delay), px(lane));
    Sheet {
        width,
        strips_most: width * 8,
        delay,
        delay_least: delay,
        lane,
        lane_tall: lane,
        height: Some(width * 9 / 16),
        beside: px(36),
        ..Sheet::PAGE
    }
}

/// Whether a picture is no larger than its canvas.
fn is_on(scene: &Scene, sheet: &Sheet) -> bool {
    scene.width <= sheet.width && scene.height <= height(sheet)
}

fn height(sheet: &Sheet) -> Px {
    sheet.height.unwrap_or_default()
}

/// About how wide a strip is.
fn room(sheet: &Sheet) -> Px {
    sheet.width * 4 / 5
}

/// The picture on that canvas, if all that was asked for has room there as it should be drawn.
fn whole_on(sheet: &Sheet, trace: &Trace, history: &History, options: &Options) -> Option<Scene> {
    let from = options.from.unwrap_or(history.start());
    let to = options.to.map_or(history.end(), |to| to.min(history.end())).max(from);
    let window: (Time, Time) = (from, to);
    if !fold::fits(history, window, sheet) {
        return None;
    }
    let scene = lay_on(sheet, trace, history, options);
    (scene.window == window && is_on(&scene, sheet)).then_some(scene)
}

/// The same with its lifelines as far apart as there is room, and as large as it is shown.
fn shown(
    scene: Scene,
    sheet: &Sheet,
    trace: &Trace,
    history: &History,
    options: &Options,
) -> Scene {
    let rows: usize = scene.strips.iter().map(|strip| strip.lifelines.len()).sum();
    let spare = (height(sheet) - scene.height).max(Px::ZERO);
    let lane = sheet.lane + spare / i64::try_from(rows.max(1)).unwrap_or(i64::MAX);
    let lane = lane.min(LANE_MOST);
    let sheet = Sheet { lane, lane_tall: lane, ..*sheet };
    let wide = lay_on(&sheet, trace, history, options);
    let scene = if is_on(&wide, &sheet) { wide } else { scene };
    Scene { width: sheet.width, height: height(&sheet), shown: SHOWN, ..scene }
}
