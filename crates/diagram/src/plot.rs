//! Figures of many runs as curves: one panel beside the other, with the same axes.
//!
//! Both axes are logarithmic, because what is traded for what differs by orders of magnitude. What
//! never happened has a row of its own below the plot, as a logarithm has no place for zero; and
//! what has no place across, because it never came to its end, a column of its own at the right.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use conclave_core::KindIndex;
use conclave_observe::Shape;

use crate::geometry::{Area, Direction, Point, Px, Room, px};
use crate::layout::paragraph;
use crate::placer::Placer;
use crate::scene::{Label, LabelRole};
use crate::style;
use crate::svg::pen::{self, Pen, draw};
use crate::svg::{self, WHITE};
use crate::text;

/// What is to be drawn.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plot {
    /// The name of the picture.
    pub title: String,
    /// What the horizontal axis is, with its unit.
    pub across: String,
    /// What the vertical axis is, with its unit.
    pub up: String,
    /// What it means that a value has no place across.
    pub beyond: String,
    /// What the ring around a marker means.
    pub ringed: String,
    /// From left to right.
    pub panels: Vec<Panel>,
    /// Lines below the picture; long ones are wrapped.
    pub caption: Vec<String>,
}

/// One pair of axes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Panel {
    /// What is special about it.
    pub title: String,
    /// Curves; those of the same index look alike in all panels.
    pub curves: Vec<Curve>,
}

/// Points that belong together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Curve {
    /// What the legend calls it.
    pub name: String,
    /// In the order in which they are joined.
    pub points: Vec<Value>,
}

/// A point of a curve.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Value {
    /// How far to the right, in millionths of the axis' unit; `None` if it is beyond all numbers.
    pub across: Option<u64>,
    /// How far up, in millionths of the axis' unit.
    pub up: u64,
    /// What is written beside it.
    pub label: String,
    /// Whether there is something to it that the plot's [`Plot::ringed`] says.
    pub is_ringed: bool,
}

/// The size of a panel's plot.
const WIDTH: Px = px(470);
const HEIGHT: Px = px(390);
/// What is left for the numbers of the vertical axis.
const NUMBERS: Px = px(64);
/// What is left between the edge of a plot and the first or last point.
const PAD: Px = px(34);
/// How high the row for zero is.
const ZERO_ROW: Px = px(94);
/// How wide the column is for what is beyond all numbers.
const BEYOND_COLUMN: Px = px(54);
/// How far a ring is from the middle of its marker.
const RING_HALF: Px = px(10);
/// A label that far from its point is joined to it by a line.
const FAR: Px = px(22);
/// The line above the row for zero, and the one beside the column for what is beyond.
const ABOVE_ZERO: &str = r##"stroke="#999" stroke-width="1.2" stroke-dasharray="3 4""##;
/// The line from a label to its point.
const LEADER: &str = r##"stroke="#999" stroke-width="0.8""##;
const MARKER_HALF: Px = px(5);
const SAMPLE: Px = px(46);
/// One, in millionths.
const ONE: u64 = 1_000_000;

/// Draws it as SVG: same figures, same bytes.
pub fn plot(plot: &Plot) -> String {
    let panels = i64::try_from(plot.panels.len().max(1)).unwrap_or(1);
    let width = style::MARGIN * 2 + px(22) + (NUMBERS + WIDTH) * panels;
    let mut placer = Placer::new(width);
    let top =
        paragraph((LabelRole::Title, style::TITLE), &plot.title, style::MARGIN, width, &mut placer);
    let axes = Axes::of(plot);
    let areas: Vec<Area> = (0..panels).map(|index| area(index, top + px(34))).collect();
    let bottom = top + px(34) + HEIGHT;

    // First what has its place, then what is written where there is room.
    let mut pen = Pen::default();
    for (panel, area) in plot.panels.iter().zip(&areas) {
        axes.draw(area, &mut pen);
        axes.label(area, &mut placer);
        let center = Point::new(area.center().x, area.top - px(16));
        let title = panel.title.clone();
        placer.put(Label::centred(LabelRole::Process, title, style::PROCESS, center));
        let across = Point::new(area.center().x, area.bottom + px(38));
        placer.put(Label::centred(LabelRole::Axis, plot.across.clone(), style::CAPTION, across));
    }
    let turned = Point::new(style::MARGIN + px(8), (top + px(34) + bottom).half());
    let upwards = Direction { dx: 0, dy: -Direction::ONE };
    placer.put(Label::tilted(LabelRole::Axis, plot.up.clone(), style::CAPTION, turned, upwards));
    for (panel, area) in plot.panels.iter().zip(&areas) {
        let curves = || panel.curves.iter().enumerate();
        let places = |curve: &Curve| -> Vec<Point> {
            curve.points.iter().map(|value| axes.place(value, area)).collect()
        };
        for (index, curve) in curves() {
            self::curve(index, curve, &places(curve), &mut pen);
            reserve(curve, &places(curve), &mut placer);
        }
        // The last lies on top, so its points have the first choice.
        for (index, curve) in curves().rev() {
            label_points(index, curve, &places(curve), area, &mut pen, &mut placer);
        }
    }
    let below = legend(plot, &axes, (width, bottom + px(66)), &mut pen, &mut placer);
    let look = (LabelRole::Caption, style::CAPTION);
    let below =
        plot.caption.iter().fold(below, |top, line| paragraph(look, line, top, width, &mut placer));
    let height = below + style::MARGIN;
    finish(plot, (width, height), &pen, placer)
}

fn finish(plot: &Plot, (width, height): (Px, Px), drawn: &Pen, placer: Placer) -> String {
    let mut written = Pen::default();
    written.append(drawn);
    for label in placer.finish() {
        svg::label(&label, &mut written);
    }
    Pen::picture((width, height), width, &plot.title, &description(plot), &written).end("svg")
}

/// The picture in words, for whoever cannot see it.
fn description(plot: &Plot) -> String {
    let mut words = format!("{} over {}.", plot.up, plot.across);
    for panel in &plot.panels {
        for curve in &panel.curves {
            words.push_str(&format!(" {}, {}:", panel.title, curve.name));
            for Value { across, up, label, is_ringed } in &curve.points {
                let across = across.map_or_else(|| plot.beyond.clone(), number);
                let ringed = if *is_ringed { " (ringed)" } else { "" };
                words.push_str(&format!(" {label} at {across}, {}{ringed};", number(*up)));
            }
        }
    }
    words
}

fn area(index: i64, top: Px) -> Area {
    let left = style::MARGIN + px(22) + NUMBERS + (NUMBERS + WIDTH) * index;
    Area { left, top, right: left + WIDTH, bottom: top + HEIGHT }
}

/// The scales, the same for all panels so that they can be compared.
struct Axes {
    across: Scale,
    up: Scale,
    has_zero: bool,
    has_beyond: bool,
    has_rings: bool,
}

impl Axes {
    fn of(plot: &Plot) -> Self {
        let points =
            || plot.panels.iter().flat_map(|panel| &panel.curves).flat_map(|it| &it.points);
        let up = Scale::of(points().map(|value| value.up), &[1]);
        let across = Scale::of(points().filter_map(|value| value.across), &[1, 2, 5]);
        let has_zero = points().any(|value| value.up == 0);
        let has_beyond = points().any(|value| value.across.is_none());
        let has_rings = points().any(|value| value.is_ringed);
        Self { across, up, has_zero, has_beyond, has_rings }
    }

    /// Where the values are that have a place across.
    fn numbered(&self, area: &Area) -> Area {
        let right = if self.has_beyond { area.right - BEYOND_COLUMN } else { area.right };
        Area { right, ..*area }
    }

    /// Where the values above zero are.
    fn positive(&self, area: &Area) -> Area {
        Area { bottom: if self.has_zero { area.bottom - ZERO_ROW } else { area.bottom }, ..*area }
    }

    fn zero(&self, area: &Area) -> Px {
        area.bottom - ZERO_ROW.half()
    }

    fn x(&self, across: u64, area: &Area) -> Px {
        let area = self.numbered(area);
        area.left + PAD + self.across.place(across, area.width() - PAD * 2)
    }

    fn y(&self, up: u64, area: &Area) -> Px {
        if up == 0 {
            return self.zero(area);
        }
        let area = self.positive(area);
        area.bottom - px(8) - self.up.place(up, area.height() - px(16))
    }

    fn place(&self, value: &Value, area: &Area) -> Point {
        let beyond = area.right - BEYOND_COLUMN.half();
        let x = value.across.map_or(beyond, |across| self.x(across, area));
        Point::new(x, self.y(value.up, area))
    }

    fn draw(&self, area: &Area, pen: &mut Pen) {
        let (grid, frame) = (r##"stroke="#e6e6e6" stroke-width="1""##, r##"stroke="#555""##);
        for x in self.across.ticks.iter().map(|&tick| self.x(tick, area)) {
            let foot = Point::new(x, area.bottom);
            pen.line(Point::new(x, area.top), foot, grid);
            pen.line(foot, Point::new(x, area.bottom + px(6)), frame);
        }
        let zero = self.has_zero.then(|| self.zero(area));
        for y in self.up.ticks.iter().map(|&tick| self.y(tick, area)).chain(zero) {
            let foot = Point::new(area.left, y);
            pen.line(foot, Point::new(area.right, y), grid);
            pen.line(Point::new(area.left - px(6), y), foot, frame);
        }
        if self.has_zero {
            let y = self.positive(area).bottom;
            let (left, right) = (Point::new(area.left, y), Point::new(area.right, y));
            pen.line(left, right, ABOVE_ZERO);
        }
        if self.has_beyond {
            let [top, bottom] = self.beside(area);
            pen.line(top, bottom, ABOVE_ZERO);
        }
        pen.rect("panel", area, r##"fill="none" stroke="#555" stroke-width="1.2""##);
    }

    /// The line between what has a place across and what has none.
    fn beside(&self, area: &Area) -> [Point; 2] {
        let x = self.numbered(area).right;
        [Point::new(x, area.top), Point::new(x, area.bottom)]
    }

    fn label(&self, area: &Area, placer: &mut Placer) {
        if self.has_zero {
            let y = self.positive(area).bottom;
            placer.take_line(&[Point::new(area.left, y), Point::new(area.right, y)], px(2));
        }
        if self.has_beyond {
            placer.take_line(&self.beside(area), px(2));
        }
        for &tick in &self.across.ticks {
            let center = Point::new(self.x(tick, area), area.bottom + px(16));
            let label = Label::centred(LabelRole::Tick, number(tick), style::SMALL, center);
            placer.put_first([label]);
        }
        let zero = self.has_zero.then_some(0);
        for &tick in self.up.ticks.iter().chain(zero.as_ref()) {
            let words = number(tick);
            let wide = text::width(&words, style::SMALL).half();
            let center = Point::new(area.left - px(10) - wide, self.y(tick, area));
            placer.put_first([Label::centred(LabelRole::Tick, words, style::SMALL, center)]);
        }
    }
}

/// A logarithmic scale over all values above zero.
struct Scale {
    from: u64,
    to: u64,
    /// Round values, in order.
    ticks: Vec<u64>,
}

impl Scale {
    /// With ticks at these multiples of the powers of ten. An axis whose ticks are powers alone
    /// begins and ends with one.
    fn of(values: impl Iterator<Item = u64>, multiples: &[u64]) -> Self {
        let above_zero: BTreeSet<u64> = values.filter(|&value| value > 0).collect();
        let (min, max) = (above_zero.first().copied(), above_zero.last().copied());
        let (min, max) = (min.unwrap_or(ONE), max.unwrap_or(ONE));
        let powers = || core::iter::successors(Some(1_u64), |power| power.checked_mul(10));
        let (from, to) = match multiples {
            [_] => (
                powers().take_while(|&power| power <= min).last().unwrap_or(1),
                powers().find(|&power| power >= max.max(min.saturating_mul(2))).unwrap_or(u64::MAX),
            ),
            _ => (min, max.max(min.saturating_add(1))),
        };
        let ticks = powers().flat_map(|power| {
            multiples.iter().filter_map(move |multiple| power.checked_mul(*multiple))
        });
        let ticks = ticks.filter(|tick| (from..=to).contains(tick)).collect();
        Self { from, to, ticks }
    }

    /// Where that is, on an axis of that length; what is too small is at its beginning.
    fn place(&self, value: u64, length: Px) -> Px {
        let above = |value: u64| log2(value).saturating_sub(log2(self.from));
        length.scaled(above(value.min(self.to)), above(self.to))
    }
}

/// The logarithm to the base of 2, in 65536ths: digit by digit, the same on every machine. That of
/// 0 is that of 1.
fn log2(value: u64) -> u64 {
    let value = value.max(1);
    let whole = u64::from(value.ilog2());
    // From 1 to 2, with 31 binary digits behind the point.
    let mut rest = (u128::from(value) << 31) >> whole;
    (0..16).fold(whole, |digits, _| {
        rest = (rest * rest) >> 31;
        let digit = rest >> 32;
        rest >>= digit;
        digits << 1 | u64::from(digit > 0)
    })
}

/// Millionths as a number, without needless zeros.
fn number(millionths: u64) -> String {
    let (whole, rest) = (millionths / ONE, millionths % ONE);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = format!("{rest:06}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

const SHAPES: [Shape; 4] = [Shape::Dot, Shape::Square, Shape::Diamond, Shape::TriangleUp];

/// Curves look like kinds of messages.
fn look_of(index: usize) -> KindIndex {
    KindIndex::try_from(index).unwrap_or(KindIndex::MAX)
}

/// A marker: by turns solid and hollow, each of another shape.
fn marker(index: usize, place: Point, pen: &mut Pen) {
    let stroke = style::of_kind(look_of(index)).stroke;
    let fill = if index.is_multiple_of(2) { stroke } else { WHITE };
    let look = format!(r#"fill="{fill}" stroke="{stroke}" stroke-width="1.6""#);
    pen.shape("marker", SHAPES[index % SHAPES.len()], place, MARKER_HALF, &look);
}

fn line_look(index: usize) -> String {
    let look = style::of_kind(look_of(index));
    let dashes = pen::dashes(look.dashes);
    format!(r#"stroke="{}" stroke-width="{}"{dashes}"#, look.stroke, look.width)
}

fn curve(index: usize, curve: &Curve, places: &[Point], pen: &mut Pen) {
    draw!(pen, r#"<g class="curve">"#);
    pen.titled(&curve.name);
    let joined = curve.points.iter().zip(places).filter(|(value, _)| value.across.is_some());
    let stops: Vec<String> = joined.map(|(_, place)| format!("{} {}", place.x, place.y)).collect();
    if stops.len() > 1 {
        pen.path("line", &format!("M{}", stops.join(" L")), &line_look(index));
    }
    for (value, &place) in curve.points.iter().zip(places) {
        marker(index, place, pen);
        if value.is_ringed {
            ring(place, pen);
        }
    }
    pen.close("g");
}

/// Around a marker about which there is something to say.
fn ring(place: Point, pen: &mut Pen) {
    let look = format!(r#"fill="none" stroke="{}" stroke-width="1.4""#, style::ALARM);
    pen.shape("ring", Shape::Dot, place, RING_HALF, &look);
}

fn reserve(curve: &Curve, places: &[Point], placer: &mut Placer) {
    let points = || curve.points.iter().zip(places);
    let joined = points().filter(|(value, _)| value.across.is_some());
    placer.take_arrow(&joined.map(|(_, &place)| place).collect::<Vec<_>>(), px(2));
    for (value, &place) in points() {
        let half = if value.is_ringed { RING_HALF } else { MARKER_HALF };
        placer.take(Room::square(place, half));
    }
}

/// Where a label may be, seen from its point: the nearer the better, and of those equally near, the
/// first.
struct Ring {
    /// What the first place costs; each further one costs two more.
    price: usize,
    /// How many half widths of the label to the right, and how many pixels down.
    places: &'static [(i64, i64)],
}

const RINGS: [Ring; 4] = [
    // Beside the point: to the right first.
    Ring {
        price: 0,
        places: &[(1, -8), (1, 0), (1, 8), (0, -15), (-1, 8), (-1, 0), (0, 15), (-1, -8)],
    },
    // Too far not to need a line to the point.
    Ring { price: 40, places: &[(0, -32), (0, 32), (1, -28), (-1, 28), (1, 28), (-1, -28)] },
    Ring { price: 60, places: &[(2, -40), (-2, 40), (2, 40), (-2, -40)] },
    Ring { price: 70, places: &[(0, -56), (0, 56)] },
];

/// Writes beside each point what it stands for. Where others are too near for that, it is written
/// further away, with a line to its point.
fn label_points(
    index: usize,
    curve: &Curve,
    places: &[Point],
    area: &Area,
    pen: &mut Pen,
    placer: &mut Placer,
) {
    // Those of neighbouring curves on different sides, where both are in a row.
    let side = if index.is_multiple_of(2) { 1 } else { -1 };
    for (value, place) in curve.points.iter().zip(places) {
        let ring = if value.is_ringed { RING_HALF - MARKER_HALF } else { Px::ZERO };
        let wide = text::width(&value.label, style::SMALL).half() + px(8) + ring;
        let around = RINGS.iter().flat_map(|ring| {
            let places = (0..).step_by(2).zip(ring.places);
            places.map(|(later, &(wides, dy))| (ring.price + later, wide * wides, px(dy)))
        });
        // A column at the edge is narrower than most words: they end where it does.
        let to_edge = area.right - px(6) - wide + px(8) - place.x;
        let at_edge = [-20, 20, -36, 36].map(|dy| (1, to_edge, px(dy)));
        let at_edge = at_edge.into_iter().filter(|_| value.across.is_none());
        let labels = around.chain(at_edge).map(|(price, dx, dy)| {
            let away = if dy < Px::ZERO { -ring } else { ring };
            let away = if dx == Px::ZERO { away } else { Px::ZERO };
            let center = Point::new(place.x + dx, place.y + (dy + away) * side);
            let label = value.label.clone();
            (price, Label::centred(LabelRole::Curve(look_of(index)), label, style::SMALL, center))
        });
        let is_put = placer.put_best(labels.filter(|(_, label)| {
            let ((left, right), (top, bottom)) = (label.room.sides(), label.room.ends());
            left >= area.left && right <= area.right && top >= area.top && bottom <= area.bottom
        }));
        if let Some(label) = placer.last().filter(|_| is_put)
            && let Some(end) = far_end(label, *place)
        {
            pen.line(*place, end, LEADER);
            placer.take_arrow(&[*place, end], px(1));
        }
    }
}

/// Where a line from that point meets the label; none, if the label is beside it.
fn far_end(label: &Label, place: Point) -> Option<Point> {
    let ((left, right), (top, bottom)) = (label.room.sides(), label.room.ends());
    let y = if bottom < place.y { bottom } else { top };
    let away = if bottom < place.y { place.y - bottom } else { top - place.y };
    // The label's own height is part of the way from point to point.
    let is_far = away + style::SMALL.half() > FAR;
    is_far.then(|| Point::new(place.x.max(left + px(4)).min(right - px(4)), y))
}

/// What a line of the legend explains.
#[derive(Clone, Copy)]
enum Sample {
    Curve(usize),
    Zero,
    Beyond,
    Ring,
}

/// What the curves, the lines between them and the rings are; returns how far down it got.
fn legend(
    plot: &Plot,
    axes: &Axes,
    (width, mut y): (Px, Px),
    pen: &mut Pen,
    placer: &mut Placer,
) -> Px {
    let names = plot.panels.iter().max_by_key(|panel| panel.curves.len());
    let names = names.map(|panel| &panel.curves[..]).unwrap_or_default();
    let curves = names.iter().enumerate();
    let curves = curves.map(|(index, curve)| (Sample::Curve(index), curve.name.clone()));
    let others = [
        axes.has_zero.then(|| (Sample::Zero, BELOW_IT.into())),
        axes.has_beyond.then(|| (Sample::Beyond, format!("right of it: {}", plot.beyond))),
        axes.has_rings.then(|| (Sample::Ring, plot.ringed.clone())),
    ];
    let begin = style::MARGIN + px(22) + NUMBERS;
    let mut x = begin;
    for (sample, words) in curves.chain(others.into_iter().flatten()) {
        let wide = SAMPLE + px(8) + text::width(&words, style::CAPTION);
        if x > begin && x + wide > width {
            (x, y) = (begin, y + px(24));
        }
        let (start, end) = (Point::new(x, y), Point::new(x + SAMPLE, y));
        let middle = start.towards(end, 50);
        match sample {
            Sample::Curve(index) => {
                pen.line(start, end, &line_look(index));
                marker(index, middle, pen);
            }
            Sample::Zero => pen.line(start, end, ABOVE_ZERO),
            Sample::Beyond => {
                let ends = [-10, 10].map(|dy| Point::new(middle.x, middle.y + px(dy)));
                pen.line(ends[0], ends[1], ABOVE_ZERO);
            }
            Sample::Ring => ring(middle, pen),
        }
        let start = Point::new(end.x + px(8), y);
        placer.put(Label::beginning(LabelRole::Legend, words, style::CAPTION, start));
        x = x + wide + px(26);
    }
    y + px(20)
}

/// What the line above the row for zero means.
const BELOW_IT: &str = "below it: not once (zero has no logarithm)";

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn logarithms_are_right_to_four_digits() {
        for (value, expected) in [(1, 0), (2, 65_536), (10, 217_706), (1_000_000, 1_306_235)] {
            assert!(log2(value).abs_diff(expected) <= 1, "{value}: {}", log2(value));
        }
        assert_eq!((log2(0), log2(u64::MAX)), (0, 64 * 65_536 - 1));
    }

    #[test]
    fn numbers_have_no_needless_zeros() {
        let shown = [0, 1, 10_000, 1_500_000, 20_000_000].map(number);
        assert_eq!(shown, ["0", "0.000001", "0.01", "1.5", "20"]);
    }

    #[test]
    fn a_scale_of_powers_begins_and_ends_with_one_and_equal_ratios_are_equally_long() {
        let scale = Scale::of([30_000, 4_000_000].into_iter(), &[1]);
        assert_eq!(scale.ticks, [10_000, 100_000, 1_000_000, 10_000_000]);
        let places: Vec<i64> =
            scale.ticks.iter().map(|&tick| scale.place(tick, px(300)).holds(px(1))).collect();
        assert!(places == [0, 100, 200, 300] || places == [0, 99, 199, 300], "{places:?}");
        assert_eq!(scale.place(1, px(300)), Px::ZERO);
    }

    #[test]
    fn a_scale_of_nothing_or_of_one_value_is_a_scale() {
        for values in [vec![], vec![0], vec![7], vec![u64::MAX]] {
            for multiples in [&[1][..], &[1, 2, 5]] {
                let scale = Scale::of(values.iter().copied(), multiples);
                assert!(scale.from <= scale.to, "{values:?}");
                assert!(scale.place(7, px(100)) <= px(100), "{values:?}");
            }
        }
    }
}
