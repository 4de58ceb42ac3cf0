//! Strokes, shapes and text in the words of SVG.

use alloc::string::String;
use core::fmt::{self, Write};

use conclave_observe::Shape;

use crate::geometry::{Area, Direction, Point, Px, Room};
use crate::style;

/// Collects elements, one per line.
#[derive(Default)]
pub(crate) struct Pen(String);

/// Adds one line, written like a format string.
macro_rules! draw {
    ($pen:expr, $($words:tt)*) => { $pen.add(format_args!($($words)*)) };
}
pub(crate) use draw;

impl Pen {
    pub fn add(&mut self, line: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.0.write_fmt(line);
        self.0.push('\n');
    }

    /// All that another has drawn.
    pub fn append(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }

    /// Begins a picture: its size, how wide it is shown, what it is, its background; then all that
    /// was drawn elsewhere.
    pub fn picture(
        (width, height): (Px, Px),
        shown: Px,
        title: &str,
        description: &str,
        drawn: &Self,
    ) -> Self {
        let mut pen = Self::default();
        let fonts = style::FONTS;
        draw!(pen, r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}""#);
        let (wide, high) = (shown, height.in_proportion(shown, width));
        draw!(pen, r#" width="{wide}" height="{high}" role="img" font-family="{fonts}">"#);
        pen.titled(title);
        pen.text_element("desc", description);
        pen.dark(drawn);
        draw!(pen, r#"<rect width="{width}" height="{height}" fill="{}"/>"#, super::WHITE);
        pen.append(drawn);
        pen
    }

    /// How what was drawn looks to readers who have set a dark screen. Whoever does not know of
    /// that shows the colours that are written where they are used.
    fn dark(&mut self, drawn: &Self) {
        draw!(self, "<style>@media (prefers-color-scheme: dark) {{");
        for (light, dark) in style::SHADES {
            for property in ["fill", "stroke"] {
                let used = alloc::format!(r#"{property}="{light}""#);
                if drawn.0.contains(&used) || (light, property) == (super::WHITE, "fill") {
                    draw!(self, "[{used}]{{{property}:{dark}}}");
                }
            }
        }
        draw!(self, "}}</style>");
    }

    pub fn close(&mut self, element: &str) {
        draw!(self, "</{element}>");
    }

    /// Closes the outermost element and hands out the picture.
    pub fn end(mut self, element: &str) -> String {
        self.close(element);
        self.0
    }

    /// Says what the enclosing element is: viewers show it when one points there.
    pub fn titled(&mut self, title: &str) {
        self.text_element("title", title);
    }

    pub fn text_element(&mut self, element: &str, text: &str) {
        draw!(self, "<{element}>{}</{element}>", escaped(text));
    }

    pub fn rect(&mut self, class: &str, area: &Area, look: &str) {
        let (x, y, width, height) = (area.left, area.top, area.width(), area.height());
        draw!(
            self,
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}" {look}/>"#
        );
    }

    pub fn line(&mut self, from: Point, to: Point, look: &str) {
        let (x1, y1, x2, y2) = (from.x, from.y, to.x, to.y);
        draw!(self, r#"<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" {look}/>"#);
    }

    /// A line that need not be straight.
    pub fn path(&mut self, class: &str, path: &str, look: &str) {
        draw!(self, r#"<path class="{class}" d="{path}" fill="none" {look}/>"#);
    }

    /// Parallel slanted lines all over an area.
    pub fn hatch(&mut self, area: &Area, apart: Px, look: &str) {
        let mut path = String::new();
        // On each of these lines, x + y is the same.
        let (first, last) = (area.left + area.top, area.right + area.bottom);
        for index in 1..=(last - first).holds(apart) {
            let sum = first + apart * index;
            let (left, right) =
                ((sum - area.bottom).max(area.left), (sum - area.top).min(area.right));
            let _ = write!(path, "M{left} {} L{right} {} ", sum - left, sum - right);
        }
        self.path("hatch", path.trim_end(), look);
    }

    /// A filled triangle whose tip is there.
    pub fn head(&mut self, tip: Point, direction: Direction, look: &str) {
        let [left, right] = [-style::HEAD_HALF, style::HEAD_HALF]
            .map(|aside| tip.moved(direction, -style::HEAD, aside));
        draw!(
            self,
            r#"<path d="M{} {} L{} {} L{} {} Z" {look}/>"#,
            tip.x,
            tip.y,
            left.x,
            left.y,
            right.x,
            right.y
        );
    }

    pub fn cross(&mut self, center: Point, half: Px, look: &str) {
        let Point { x, y } = center;
        let (left, right, top, bottom) = (x - half, x + half, y - half, y + half);
        let path =
            alloc::format!("M{left} {top} L{right} {bottom} M{left} {bottom} L{right} {top}");
        self.path("cross", &path, look);
    }

    pub fn shape(&mut self, class: &str, shape: Shape, center: Point, half: Px, look: &str) {
        let Point { x, y } = center;
        let (left, right, top, bottom) = (x - half, x + half, y - half, y + half);
        let outline = match shape {
            Shape::Dot => {
                let r = half.scaled(9, 10);
                draw!(self, r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}" {look}/>"#);
                return;
            }
            Shape::Square => {
                alloc::format!("M{left} {top} L{right} {top} L{right} {bottom} L{left} {bottom} Z")
            }
            Shape::Diamond => alloc::format!("M{x} {top} L{right} {y} L{x} {bottom} L{left} {y} Z"),
            Shape::TriangleUp => {
                alloc::format!("M{left} {bottom} L{right} {bottom} L{x} {top} Z")
            }
            Shape::TriangleDown => alloc::format!("M{left} {top} L{right} {top} L{x} {bottom} Z"),
        };
        draw!(self, r#"<path class="{class}" d="{outline}" {look}/>"#);
    }

    /// What keeps a text readable that lies on something else.
    pub fn plate(&mut self, room: &Room) {
        // Rooms are generous, for fonts that are wide; a plate that large would hide too much.
        let (half_width, half_height) = (room.half_width * 88 / 100, room.half_height);
        let area =
            Area { left: -half_width, top: -half_height, right: half_width, bottom: half_height };
        let look =
            alloc::format!(r##"transform="{}" fill="#fff" fill-opacity="0.82""##, turn(room));
        self.rect("plate", &area, &look);
    }
}

/// The transformation that brings the origin to the middle of a room, and turns as it is turned.
/// A matrix, because angles would need a sine.
pub(crate) fn turn(room: &Room) -> impl fmt::Display {
    struct Turn(Room);
    impl fmt::Display for Turn {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let Direction { dx, dy } = self.0.direction;
            let (dx, dy, back) = (Decimal(dx), Decimal(dy), Decimal(-dy));
            let Point { x, y } = self.0.center;
            write!(f, "matrix({dx} {dy} {back} {dx} {x} {y})")
        }
    }
    Turn(*room)
}

/// Ten-thousandths, spelled out.
struct Decimal(i64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let size = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:04}", size / 10_000, size % 10_000)
    }
}

/// The attribute for these dashes, if there are any.
pub(crate) fn dashes(dashes: &str) -> String {
    match dashes {
        "" => String::new(),
        _ => alloc::format!(r#" stroke-dasharray="{dashes}""#),
    }
}

/// A text as XML wants it; what XML cannot say at all becomes a replacement character.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::px;

    #[test]
    fn what_xml_would_misread_is_escaped() {
        assert_eq!(escaped("a<b & \"c\">d"), "a&lt;b &amp; &quot;c&quot;&gt;d");
        assert_eq!(escaped("bell\u{7} line\nbreak"), "bell\u{fffd} line break");
    }

    #[test]
    fn hatching_stays_inside_its_area() {
        let area = Area { left: px(10), top: px(20), right: px(40), bottom: px(30) };
        let mut pen = Pen::default();
        pen.hatch(&area, px(10), "");
        // Four corners cut off by the lines x + y = 40, 50, 60 and, at a corner, 70.
        let path = "M10 30 L20 20 M20 30 L30 20 M30 30 L40 20 M40 30 L40 30";
        assert!(pen.0.contains(&alloc::format!("d=\"{path}\"")), "{}", pen.0);
    }

    #[test]
    fn a_direction_is_spelled_with_four_decimals() {
        assert_eq!(alloc::format!("{} {}", Decimal(-7_071), Decimal(10_000)), "-0.7071 1.0000");
    }
}
