//! Decides what is drawn, and where.

mod arrows;
mod axis;
mod bands;
mod bars;
mod brackets;
mod frame;
mod legend;
mod lifelines;
mod notes;
mod own;
mod repeats;
mod slide;
mod timers;
mod waits;
mod words;

use alloc::vec::Vec;

use conclave_observe::trace::Trace;

use crate::geometry::{Area, Point, Px, Room, px};
use crate::history::History;
use crate::placer::Placer;
use crate::scene::{Repeat, Scene, Strip, Wait};
use crate::sheet::Sheet;
use crate::style;
use crate::window::Window;
use crate::{Medium, Options};
use frame::{Frame, Rows};
pub(crate) use legend::SAMPLE;
pub(crate) use words::paragraph;

/// Lays a trace out on what is right for its medium.
pub(crate) fn lay_out(trace: &Trace, options: &Options) -> Scene {
    let history = History::of(trace);
    match options.medium {
        Medium::Page => lay_on(&Sheet::PAGE, trace, &history, options),
        Medium::Scroll => lay_on(&Sheet::SCROLL, trace, &history, options),
        Medium::Slide => slide::lay(trace, &history, options),
    }
}

/// From top to bottom: title and notices, the strips with their time axes, the legend, the caption.
fn lay_on(sheet: &Sheet, trace: &Trace, history: &History, options: &Options) -> Scene {
    let window = Window::choose(history, options, sheet);
    let rows = Rows::choose(trace, history, window.ends());
    let plan = waits::Plan::new(history, &window, &rows);
    let mut frames = Frame::strips(trace, history, window.ends(), &rows, sheet, plan.width());
    let names_end = |frame: &Frame| frame.right + lifelines::right_margin(trace, frame);
    let right = frames.iter().map(|frame| match frame.is_last {
        true => names_end(frame) + plan.width(),
        false => names_end(frame),
    });
    let right = right.max().unwrap_or_default();
    let least = sheet.height.map_or(style::NARROWEST, |_| sheet.width);
    let width = right.max(least - style::MARGIN) + style::MARGIN;

    let mut placer = Placer::new(width);
    let title = options.title.clone().unwrap_or_else(|| words::title(trace));
    let notices = words::notices(trace, &window, &rows);
    let mut top = words::header(&title, &notices, width, &mut placer);
    for frame in &mut frames {
        let is_below_loop = repeats::lay(trace, frame).is_some();
        frame.set_top(top + if is_below_loop { repeats::HEIGHT } else { Px::ZERO });
        top = frame.plot().bottom + axis::height(frame);
    }
    let strips = frames.iter().map(|frame| {
        let waits = match frame.is_last {
            true => plan.lay(names_end(frame), frame),
            false => Vec::new(),
        };
        strip(trace, history, options, frame, waits)
    });
    let mut scene = Scene {
        width,
        height: Px::ZERO,
        shown: Px::ZERO,
        description: words::description(trace, options, &window, history),
        title,
        window: window.ends(),
        strips: strips.collect(),
        legend: Vec::new(),
        labels: Vec::new(),
    };
    for (strip, frame) in scene.strips.iter().zip(&frames) {
        label(trace, history, strip, frame, &plan, &mut placer);
    }
    let below_legend = legend::lay(trace, history, &mut scene, top, &mut placer);
    let bottom = words::caption(&options.caption, below_legend, width, &mut placer);
    (scene.height, scene.shown) = (bottom + style::MARGIN, width);
    scene.labels = placer.finish();
    scene
}

/// What is in a strip.
fn strip(
    trace: &Trace,
    history: &History,
    options: &Options,
    frame: &Frame,
    waits: Vec<Wait>,
) -> Strip {
    let (bands, walls) = bands::lay(history, frame);
    let mut marks = lifelines::marks(history, frame);
    marks.extend(notes::lay(history, frame));
    Strip {
        window: frame.window,
        quiet_before: frame.quiet_before,
        plot: frame.plot(),
        ticks: axis::ticks(trace, frame),
        lifelines: lifelines::lay(history, frame),
        bars: bars::lay(history, frame),
        arrows: arrows::lay(trace, history, frame),
        marks,
        bands,
        walls,
        clashes: bars::clashes(history, frame),
        folds: axis::folds(frame),
        timers: timers::lay(history, frame),
        brackets: match options.delays {
            true => brackets::lay(history, frame),
            false => Vec::new(),
        },
        own: own::lay(trace, history, frame),
        waits,
        repeat: repeats::lay(trace, frame),
    }
}

/// Writes what is to be written in a strip: first what has its place, then what must be said, last
/// what line styles and legend say too.
fn label(
    trace: &Trace,
    history: &History,
    strip: &Strip,
    frame: &Frame,
    plan: &waits::Plan,
    placer: &mut Placer,
) {
    lifelines::name(trace, strip, frame, placer);
    axis::label(trace, strip, frame, placer);
    if let Some(repeat) = &strip.repeat {
        repeats::label(repeat, strip.plot.top, placer);
    }
    reserve(strip, placer);
    bars::label_clashes(&strip.clashes, frame.lane, placer);
    plan.label(&strip.waits, frame, placer);
    lifelines::label_marks(history, &strip.marks, frame, placer);
    bars::label_fences(&strip.bars, &strip.folds, placer);
    // What is written there has its place by now: nothing else may cover a solid bar.
    for bar in strip.bars.iter().filter(|bar| bar.kind.sort.is_solid) {
        placer.take(bar.area.room());
    }
    brackets::label(trace, &strip.brackets, placer);
    timers::label(&strip.timers, placer);
    notes::label(trace, &strip.marks, placer);
    own::label(&strip.own, placer);
    bands::label(trace, &strip.bands, placer);
    // What messages say does not notch the outline of a bar.
    for bar in strip.bars.iter().filter(|bar| !bar.kind.sort.is_solid) {
        for y in [bar.area.top, bar.area.bottom] {
            let ends = [bar.area.left, bar.area.right].map(|x| Point::new(x, y));
            placer.take(Room::line(ends[0], ends[1], px(1)));
        }
    }
    arrows::label(trace, &strip.arrows, frame.strip, placer);
}

/// Tells the placer what labels must not or should not cover.
fn reserve(strip: &Strip, placer: &mut Placer) {
    let Area { left, right, .. } = strip.plot;
    for y in strip.lifelines.iter().map(|lifeline| lifeline.y) {
        placer.take_line(&[Point::new(left, y), Point::new(right, y)], px(4));
    }
    for bar in &strip.bars {
        // Its two long sides.
        let ends = [bar.area.left, bar.area.right].map(|x| Point::new(x, bar.area.center().y));
        placer.take_line(&ends, bar.area.height());
        placer.take_line(&ends, bar.area.height());
    }
    for mark in &strip.marks {
        let half = match mark.kind.meaning() {
            Some(_) => style::NOTE_HALF,
            None => style::CRASH_HALF,
        };
        placer.take(Room::square(mark.place, half));
    }
    for bracket in &strip.brackets {
        let ends = [bracket.left, Point::new(bracket.right, bracket.left.y)];
        placer.take(Room::line(ends[0], ends[1], px(3)));
    }
    for arrow in &strip.arrows {
        arrows::reserve(arrow, placer);
    }
    for x in strip.repeat.iter().flat_map(Repeat::edges) {
        let ends = [strip.plot.top, strip.plot.bottom].map(|y| Point::new(x, y));
        placer.take_line(&ends, px(2));
    }
}
