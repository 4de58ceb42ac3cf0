//! The scene as SVG: no decisions, only spelling.
//!
//! Plain elements with plain attributes, no markers, patterns or fonts of our own: slides, papers
//! and browsers then show the same picture. The one style sheet there is only says how it looks to
//! readers who have set a dark screen.

pub(crate) mod pen;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_observe::{BarSort, Fill, LossCause, MarkSort, Side, Time};

use crate::geometry::{Area, Direction, Point, Px, px};
use crate::layout::SAMPLE;
use crate::scene::{
    Anchor, Arrow, DelaySort, Fate, Fold, Label, LabelRole, LegendEntry, MarkKind, Repeat, Sample,
    Scene, Strip, Wait,
};
use crate::style::{self, ALARM, INK, PALE_INK};
use pen::{Pen, draw};

pub(crate) const WHITE: &str = "#fff";
const DARK: &str = "#3d3d3d";
/// The colour of delays.
const BRACKET: &str = "#94205f";

/// Writes a scene, from the back to the front.
pub(crate) fn write(scene: &Scene) -> String {
    let mut pen = Pen::default();
    for strip in &scene.strips {
        self::strip(strip, &mut pen);
    }
    for entry in &scene.legend {
        sample(entry, &mut pen);
    }
    for label in &scene.labels {
        self::label(label, &mut pen);
    }
    let size = (scene.width, scene.height);
    Pen::picture(size, scene.shown, &scene.title, &scene.description, &pen).end("svg")
}

/// One strip, from the back to the front.
fn strip(strip: &Strip, pen: &mut Pen) {
    bands(strip, pen);
    axis(strip, pen);
    clashes(strip, pen);
    lifelines(strip, false, pen);
    bars(strip, pen);
    for timer in &strip.timers {
        // What follows one that was cancelled is another: there is a gap.
        let gap = if timer.runs_out || timer.to.is_none() { Px::ZERO } else { px(3) };
        let area = Area { right: (timer.area.right - gap).max(timer.area.left), ..timer.area };
        self::timer(&area, timer.runs_out, pen);
    }
    // A pause is seen within a bar too: whoever waits or holds may do nothing for a while.
    lifelines(strip, true, pen);
    for fold in &strip.folds {
        tear(fold, &strip.plot, pen);
    }
    if let Some(repeat) = &strip.repeat {
        self::repeat(repeat, &strip.plot, pen);
    }
    for arrow in &strip.arrows {
        self::arrow(arrow, pen);
    }
    for bracket in &strip.brackets {
        let (left, right) = (bracket.left, bracket.right);
        self::bracket(bracket.sort, left, right, bracket.is_open, pen);
    }
    for own in &strip.own {
        self::own(own.place, pen);
    }
    marks(strip, pen);
    for wait in &strip.waits {
        self::wait(wait, pen);
    }
}

fn bands(strip: &Strip, pen: &mut Pen) {
    for band in &strip.bands {
        match band.side {
            Side::Left => pen.rect("partition", &band.area, r##"fill="#e2e2e2""##),
            Side::Right => {
                pen.rect("partition", &band.area, r##"fill="#f3f3f3""##);
                pen.hatch(&band.area, px(14), r##"stroke="#dcdcdc""##);
            }
        }
    }
    for wall in &strip.walls {
        let to = Point::new(wall.right, wall.left.y);
        pen.line(wall.left, to, r##"stroke="#555" stroke-width="2.5" stroke-dasharray="2 4""##);
    }
}

fn axis(strip: &Strip, pen: &mut Pen) {
    let plot = &strip.plot;
    for tick in &strip.ticks {
        let (top, bottom) = (Point::new(tick.x, plot.top), Point::new(tick.x, plot.bottom));
        pen.line(top, bottom, r##"stroke="#e6e6e6" stroke-width="1""##);
        pen.line(bottom, Point::new(tick.x, plot.bottom + px(6)), r##"stroke="#555""##);
    }
    let (left, right) = (Point::new(plot.left, plot.bottom), Point::new(plot.right, plot.bottom));
    pen.line(left, right, r##"stroke="#555" stroke-width="1.2""##);
}

/// Two lines, and an arrow above them that leads back.
fn repeat(repeat: &Repeat, plot: &Area, pen: &mut Pen) {
    let y = plot.top - style::BACK_ABOVE;
    let thin = format!(r#"stroke="{INK}" stroke-width="1""#);
    for x in repeat.edges() {
        let dashes = format!(r#"{thin} stroke-dasharray="7 3 1 3""#);
        pen.line(Point::new(x, y), Point::new(x, plot.bottom), &dashes);
    }
    pen.line(Point::new(repeat.right, y), Point::new(repeat.left, y), &thin);
    if repeat.begins {
        let (tip, back) = (repeat.left, repeat.left + px(9));
        let (above, below) = (y - px(4), y + px(4));
        draw!(
            pen,
            r#"<path class="repeat" d="M{tip} {y}L{back} {above}L{back} {below}Z" fill="{INK}"/>"#
        );
    }
}

fn clashes(strip: &Strip, pen: &mut Pen) {
    for clash in &strip.clashes {
        pen.rect("clash", &clash.area, r##"fill="#f7d0d5""##);
        pen.hatch(&clash.area, px(10), &format!(r#"stroke="{ALARM}" stroke-width="2.5""#));
        let outline = format!(r#"fill="none" stroke="{ALARM}" stroke-width="1.5""#);
        pen.rect("outline", &clash.area, &outline);
    }
}

/// The lifelines of those who are paused, or of all others.
fn lifelines(strip: &Strip, paused: bool, pen: &mut Pen) {
    for lifeline in &strip.lifelines {
        for stroke in lifeline.strokes.iter().filter(|stroke| stroke.is_paused == paused) {
            let (left, right) =
                (Point::new(stroke.left, lifeline.y), Point::new(stroke.right, lifeline.y));
            pen.line(left, right, life(stroke.is_paused));
        }
    }
}

fn life(is_paused: bool) -> &'static str {
    if is_paused {
        r##"stroke="#888" stroke-width="3.2" stroke-dasharray="0.1 6" stroke-linecap="round""##
    } else {
        r##"stroke="#777" stroke-width="1.4""##
    }
}

fn bars(strip: &Strip, pen: &mut Pen) {
    for bar in &strip.bars {
        self::bar(bar.kind.sort, &bar.area, Some(&strip.plot), pen);
    }
}

/// A bar; where it meets the edge of the plot, it is open: it goes on beyond.
fn bar(sort: &BarSort, area: &Area, plot: Option<&Area>, pen: &mut Pen) {
    let class = sort.name;
    match sort.is_solid {
        false => {
            pen.rect(class, area, &format!(r#"fill="{WHITE}""#));
            let Area { left, top, right, bottom } = *area;
            let turn = |is_open| if is_open { 'M' } else { 'L' };
            let before = turn(plot.is_some_and(|plot| left <= plot.left));
            let behind = turn(plot.is_some_and(|plot| right >= plot.right));
            let (above, below) = (
                format!("M{left} {top} L{right} {top}"),
                format!("{behind}{right} {bottom} L{left} {bottom} {before}{left} {top}"),
            );
            let look = format!(r#"stroke="{DARK}" stroke-width="1.4" stroke-linecap="square""#);
            pen.path("outline", &format!("{above} {below}"), &look);
        }
        true => {
            let solid = format!(r#"fill="{DARK}" stroke="{DARK}" stroke-width="1.4""#);
            pen.rect(class, area, &solid);
        }
    }
}

/// A thin bar; with a stop at its end, if the timer runs out.
fn timer(area: &Area, runs_out: bool, pen: &mut Pen) {
    pen.rect("timer", area, r##"fill="#8aa4bd""##);
    if runs_out {
        let stop = [area.top - px(3), area.bottom + px(3)].map(|y| Point::new(area.right, y));
        pen.line(stop[0], stop[1], &format!(r#"stroke="{INK}" stroke-width="2""#));
    }
}

/// A line with a stop at each end, double for what lasts from one holder to the next.
fn bracket(sort: DelaySort, left: Point, right: Px, is_open: bool, pen: &mut Pen) {
    let Point { x, y } = left;
    let (above, below) = (y - px(4), y + px(4));
    let begin = if is_open { String::new() } else { format!("M{x} {above} L{x} {below} ") };
    let end = format!("M{right} {above} L{right} {below}");
    let lines = match sort {
        DelaySort::Client => format!("M{x} {y} L{right} {y}"),
        DelaySort::Sync => {
            let (upper, lower) = (y - Px::tenths(15), y + Px::tenths(15));
            format!("M{x} {upper} L{right} {upper} M{x} {lower} L{right} {lower}")
        }
    };
    let look = format!(r#"stroke="{BRACKET}" stroke-width="1.5""#);
    pen.path("delay", &format!("{begin}{lines} {end}"), &look);
}

/// A small loop above the lifeline.
fn own(place: Point, pen: &mut Pen) {
    let Point { x, y } = place;
    let (left, right, top) = (x - px(9), x + px(9), y - px(24));
    let path = format!("M{x} {y} C{left} {top} {right} {top} {x} {y}");
    pen.path("own", &path, &format!(r#"stroke="{INK}" stroke-width="1.3""#));
}

/// A stretch torn out of the paper.
fn tear(fold: &Fold, plot: &Area, pen: &mut Pen) {
    let middle = (fold.left + fold.right).half();
    let top = plot.top - px(2);
    let edges = [middle - style::TEAR_HALF, middle + style::TEAR_HALF];
    let edges = edges.map(|x| zigzag(x, top, plot.bottom + px(8)));
    let [there, back] = edges;
    let outline: Vec<&str> = there.iter().chain(back.iter().rev()).map(String::as_str).collect();
    let outline = format!("M{} Z", outline.join(" L"));
    draw!(pen, r#"<path class="fold" d="{outline}" fill="{WHITE}"/>"#);
    for edge in [there, back] {
        let edge = edge.join(" L");
        pen.path("edge", &format!("M{edge}"), r##"stroke="#777" stroke-width="1.2""##);
    }
}

fn zigzag(x: Px, top: Px, bottom: Px) -> Vec<String> {
    let teeth = (bottom - top).holds(px(9));
    (0..=teeth)
        .map(|tooth| {
            let aside = if tooth % 2 == 0 { -style::TOOTH } else { style::TOOTH };
            format!("{} {}", x + aside, top + px(9) * tooth)
        })
        .collect()
}

fn arrow(arrow: &Arrow, pen: &mut Pen) {
    let look = if arrow.is_background {
        style::of_background(arrow.kind)
    } else {
        *style::of_kind(arrow.kind)
    };
    let stroke = look.stroke;
    draw!(pen, r#"<g class="arrow" stroke="{stroke}" fill="{stroke}">"#);
    pen.titled(&arrow.text);
    let direction = Direction::between(arrow.tail, arrow.head);
    // A curve whose middle is off by the bow has its control point off by twice as much.
    let control = arrow.tail.towards(arrow.head, 50).moved(direction, Px::ZERO, arrow.bow * 2);
    let end = Direction::between(control, arrow.head);
    let is_headed = !arrow.leaves && matches!(arrow.fate, Fate::Received { .. });
    let stop = if is_headed { arrow.head.moved(end, px(-8), Px::ZERO) } else { arrow.head };
    let path = if arrow.bow == Px::ZERO {
        format!("M{} {} L{} {}", arrow.tail.x, arrow.tail.y, stop.x, stop.y)
    } else {
        let (c, s) = (control, stop);
        format!("M{} {} Q{} {} {} {}", arrow.tail.x, arrow.tail.y, c.x, c.y, s.x, s.y)
    };
    let dashes = pen::dashes(look.dashes);
    draw!(pen, r#"<path d="{path}" fill="none" stroke-width="{}"{dashes}/>"#, look.width);
    match arrow.fate {
        _ if arrow.leaves => {}
        Fate::Received { .. } if arrow.is_copy => pen.head(arrow.head, end, "fill=\"#fff\""),
        Fate::Received { .. } => pen.head(arrow.head, end, "stroke=\"#fff\" stroke-width=\"0.8\""),
        Fate::Lost { cause } => {
            let half = match cause {
                LossCause::ReceiverDown => style::LOSS_HALF.scaled(8, 10),
                LossCause::Network | LossCause::Partition => style::LOSS_HALF,
            };
            let look = if arrow.is_background {
                format!(r#"stroke="{}" stroke-width="1.4""#, style::FAINT_ALARM)
            } else {
                format!(r#"stroke="{ALARM}" stroke-width="2.2""#)
            };
            pen.cross(arrow.head, half, &look);
        }
        Fate::InFlight => {}
    }
    pen.close("g");
}

fn marks(strip: &Strip, pen: &mut Pen) {
    for mark in &strip.marks {
        match mark.kind {
            MarkKind::Crash => {
                let look = format!(r#"stroke="{INK}" stroke-width="3.6""#);
                pen.cross(mark.place, style::CRASH_HALF, &look);
            }
            MarkKind::Return | MarkKind::Replace => {
                let Point { x, y } = mark.place;
                let look = format!(r#"fill="{WHITE}" stroke="{INK}" stroke-width="2""#);
                draw!(pen, r#"<circle class="return" cx="{x}" cy="{y}" r="5.5" {look}/>"#);
            }
            MarkKind::Said { sort, .. } => note(sort, mark.place, pen),
        }
    }
}

/// A small mark: its shape says of what kind it is, solid or hollow. It may lie on a dark bar.
fn note(sort: &MarkSort, place: Point, pen: &mut Pen) {
    let fill = match sort.fill {
        Fill::Solid => INK,
        Fill::Hollow => WHITE,
        Fill::Alarming => ALARM,
    };
    let stroke = match fill {
        WHITE => INK,
        ALARM => ALARM,
        _ => WHITE,
    };
    let look = format!(r#"fill="{fill}" stroke="{stroke}" stroke-width="1.4""#);
    pen.shape("note", sort.shape, place, style::NOTE_HALF, &look);
}

fn wait(wait: &Wait, pen: &mut Pen) {
    let (colour, width) = if wait.is_in_cycle { (ALARM, "2.8") } else { ("#777", "1.6") };
    // A cubic whose two handles are equally far out reaches three quarters of that.
    let out = wait.tail.x + (wait.apex - wait.tail.x) * 4 / 3;
    let (tail, head) = (wait.tail, wait.head);
    let stop = head.x + px(8);
    draw!(pen, r#"<g class="wait" stroke="{colour}" fill="{colour}">"#);
    let path =
        format!("M{} {} C{out} {} {out} {} {stop} {}", tail.x, tail.y, tail.y, head.y, head.y);
    pen.path("line", &path, &format!(r#"stroke-width="{width}" stroke-dasharray="9 4""#));
    let left = Direction { dx: -Direction::ONE, dy: 0 };
    pen.head(head, left, "stroke-width=\"1\"");
    pen.close("g");
}

fn sample(entry: &LegendEntry, pen: &mut Pen) {
    let start = entry.place;
    let end = Point::new(start.x + SAMPLE, start.y);
    let area = Area {
        left: start.x,
        top: start.y - style::BAR_HALF,
        right: end.x,
        bottom: start.y + style::BAR_HALF,
    };
    match entry.sample {
        Sample::Kind(kind) | Sample::Background(kind) => {
            let is_background = matches!(entry.sample, Sample::Background(_));
            let look =
                if is_background { style::of_background(kind) } else { *style::of_kind(kind) };
            let (stroke, dashes) = (look.stroke, pen::dashes(look.dashes));
            let line = format!(r#"stroke="{stroke}" stroke-width="{}"{dashes}"#, look.width);
            pen.line(start, Point::new(end.x - px(8), end.y), &line);
            pen.head(end, Direction::RIGHT, &format!(r#"fill="{stroke}""#));
        }
        Sample::Bar(sort) => bar(sort, &area, None, pen),
        Sample::Mark(kind) => {
            pen.line(start, end, life(false));
            if let MarkKind::Said { sort, .. } = kind {
                note(sort, start.towards(end, 50), pen);
            }
        }
        Sample::Lost => {
            let stop = Point::new(end.x - px(14), end.y);
            pen.line(start, stop, &format!(r#"stroke="{INK}" stroke-width="1.5""#));
            let look = format!(r#"stroke="{ALARM}" stroke-width="2.2""#);
            pen.cross(stop, style::LOSS_HALF, &look);
        }
        Sample::Copy => {
            let stop = Point::new(end.x - px(8), end.y);
            pen.line(start, stop, &format!(r#"stroke="{INK}" stroke-width="1.5""#));
            pen.head(end, Direction::RIGHT, &format!(r#"fill="{WHITE}" stroke="{INK}""#));
        }
        Sample::Paused => pen.line(start, end, life(true)),
        Sample::Timer => {
            let top = start.y - px(1);
            let area = Area { top, bottom: top + style::TIMER, ..area };
            timer(&area, true, pen);
        }
        Sample::Delay(sort) => bracket(sort, start, end.x, false, pen),
        Sample::Own => {
            let low = Point::new(start.x, start.y + px(6));
            pen.line(low, Point::new(end.x, low.y), life(false));
            own(Point::new(start.x + SAMPLE.half(), low.y), pen);
        }
        Sample::Fold => {
            pen.line(start, end, life(false));
            let fold = Fold { from: Time::ZERO, to: Time::ZERO, left: start.x, right: end.x };
            tear(&fold, &Area { bottom: area.bottom - px(2), ..area }, pen);
        }
    }
}

pub(crate) fn label(label: &Label, pen: &mut Pen) {
    let Label { role, ref text, room, anchor, size } = *label;
    let center = room.center;
    let is_on_plot = matches!(
        role,
        LabelRole::Message { .. }
            | LabelRole::Clash
            | LabelRole::FenceAside
            | LabelRole::Mark
            | LabelRole::Note
            | LabelRole::Own
            | LabelRole::Timer
            | LabelRole::Delay
            | LabelRole::Curve(_)
            | LabelRole::WaitsFor
    );
    if is_on_plot {
        pen.plate(&room);
    }
    let (colour, weight) = match role {
        LabelRole::Title | LabelRole::Process => (INK, "bold"),
        LabelRole::Clash => (ALARM, "bold"),
        LabelRole::Curve(index) => (style::ink_of(index), "normal"),
        LabelRole::Fence => (WHITE, "bold"),
        LabelRole::Delay => (BRACKET, "bold"),
        LabelRole::FenceAside | LabelRole::Mark | LabelRole::Repeat => (INK, "bold"),
        LabelRole::Timer
        | LabelRole::Tick
        | LabelRole::Axis
        | LabelRole::Fold
        | LabelRole::Notice => (PALE_INK, "normal"),
        _ => (INK, "normal"),
    };
    let (x, anchor) = match anchor {
        Anchor::Start => (center.x - room.half_width, "start"),
        Anchor::Middle => (center.x, "middle"),
    };
    // Letters stand on their baseline: about a third of their size below their middle.
    let drop = size.scaled(35, 100);
    let place = if room.direction == Direction::RIGHT {
        format!(r#"x="{x}" y="{}""#, center.y + drop)
    } else {
        format!(r#"y="{drop}" transform="{}""#, pen::turn(&room))
    };
    let look = format!(r#"font-size="{size}" font-weight="{weight}" fill="{colour}""#);
    let text = pen::escaped(text);
    draw!(pen, r#"<text {place} {look} text-anchor="{anchor}">{text}</text>"#);
}
