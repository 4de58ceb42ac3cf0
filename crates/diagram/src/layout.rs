//! Decides what is drawn, and where.

mod arrows;
mod axis;
mod bands;
mod bars;
mod frame;
mod legend;
mod lifelines;
mod notes;
mod own;
mod repeats;
mod timers;
mod waits;
mod words;

use alloc::vec::Vec;

use conclave_observe::trace::Trace;

use crate::Options;
use crate::geometry::{Area, Point, Px, Room, px};
use crate::history::History;
use crate::placer::Placer;
use crate::scene::{Repeat, Scene};
use crate::style;
use crate::window::Window;
use frame::{Frame, Rows};
pub(crate) use legend::SAMPLE;
pub(crate) use words::paragraph;

/// From top to bottom: title and notices, the plot with its time axis, the legend, the caption.
pub(crate) fn lay_out(trace: &Trace, options: &Options) -> Scene {
    let history = History::of(trace);
    let window = Window::choose(&history, options);
    let rows = Rows::choose(trace, &history, window.ends());
    let plan = waits::Plan::new(&history, &window, &rows);
    let mut frame = Frame::new(trace, &history, window.ends(), rows);
    let names_end = frame.right + lifelines::right_margin(trace, &frame, &plan);
    let width = (names_end + plan.width()).max(style::NARROWEST - style::MARGIN) + style::MARGIN;

    let mut placer = Placer::new(width);
    let title = options.title.clone().unwrap_or_else(|| words::title(trace));
    let notices = words::notices(trace, &window, &frame);
    let repeat = repeats::lay(trace, &frame);
    let above = if repeat.is_some() { repeats::HEIGHT } else { Px::ZERO };
    frame.set_top(words::header(&title, &notices, width, &mut placer) + above);

    let arrows = arrows::lay(trace, &history, &frame);
    let (bands, walls) = bands::lay(&history, &frame);
    let mut marks = lifelines::marks(&history, &frame);
    marks.extend(notes::lay(&history, &frame));
    let mut scene = Scene {
        width,
        height: Px::ZERO,
        description: words::description(trace, options, &window, arrows.len()),
        title,
        window: window.ends(),
        plot: frame.plot(),
        ticks: axis::ticks(trace, &frame),
        lifelines: lifelines::lay(&history, &frame),
        bars: bars::lay(&history, &frame),
        arrows,
        marks,
        bands,
        walls,
        clashes: bars::clashes(&history, &frame),
        folds: axis::folds(&frame),
        timers: timers::lay(&history, &frame),
        own: own::lay(trace, &history, &frame),
        waits: plan.lay(names_end, &frame),
        repeat,
        legend: Vec::new(),
        labels: Vec::new(),
    };

    // First what has its place, then what must be said, last what line styles and legend say too.
    lifelines::name(trace, &scene, &frame, &mut placer);
    axis::label(trace, &scene, &frame, &mut placer);
    if let Some(repeat) = &scene.repeat {
        repeats::label(repeat, scene.plot.top, &mut placer);
    }
    reserve(&scene, &mut placer);
    bars::label_clashes(&scene.clashes, frame.lane, &mut placer);
    plan.label(&scene.waits, &frame, &mut placer);
    lifelines::label_marks(&history, &scene.marks, &frame, &mut placer);
    bars::label_fences(&scene.bars, &scene.folds, &mut placer);
    // What is written there has its place by now: nothing else may cover a solid bar.
    for bar in scene.bars.iter().filter(|bar| bar.kind.sort.is_solid) {
        placer.take(bar.area.room());
    }
    timers::label(&scene.timers, &mut placer);
    notes::label(trace, &scene.marks, &mut placer);
    own::label(&scene.own, &mut placer);
    bands::label(trace, &scene.bands, &mut placer);
    arrows::label(trace, &scene.arrows, &mut placer);

    let below_plot = scene.plot.bottom + axis::HEIGHT;
    let below_legend = legend::lay(trace, &history, &mut scene, below_plot, &mut placer);
    let bottom = words::caption(&options.caption, below_legend, width, &mut placer);
    scene.height = bottom + style::MARGIN;
    scene.labels = placer.finish();
    scene
}

/// Tells the placer what labels must not or should not cover.
fn reserve(scene: &Scene, placer: &mut Placer) {
    let Area { left, right, .. } = scene.plot;
    for y in scene.lifelines.iter().map(|lifeline| lifeline.y) {
        placer.take_line(&[Point::new(left, y), Point::new(right, y)], px(4));
    }
    for bar in &scene.bars {
        // Its two long sides.
        let ends = [bar.area.left, bar.area.right].map(|x| Point::new(x, bar.area.center().y));
        placer.take_line(&ends, bar.area.height());
        placer.take_line(&ends, bar.area.height());
    }
    for mark in &scene.marks {
        let half = match mark.kind.meaning() {
            Some(_) => style::NOTE_HALF,
            None => style::CRASH_HALF,
        };
        placer.take(Room::square(mark.place, half));
    }
    for arrow in &scene.arrows {
        arrows::reserve(arrow, placer);
    }
    for x in scene.repeat.iter().flat_map(Repeat::edges) {
        let ends = [scene.plot.top, scene.plot.bottom].map(|y| Point::new(x, y));
        placer.take_line(&ends, px(2));
    }
}
