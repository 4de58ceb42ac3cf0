//! Where things are: whole numbers only, so that a picture is the same on every machine.

use core::fmt;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// A length or a coordinate, in hundredths of a pixel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Px(i64);

/// That many whole pixels.
pub const fn px(pixels: i64) -> Px {
    Px(pixels * 100)
}

impl Px {
    /// A length of nothing.
    pub const ZERO: Self = Self(0);

    /// The shortest length there is.
    pub const LEAST: Self = Self(1);

    /// Further out than anything is ever drawn, and small enough that products still fit.
    const FAR: i128 = 1_000_000_000;

    /// That many tenths of a pixel.
    pub const fn tenths(tenths: i64) -> Self {
        Self(tenths * 10)
    }

    /// A fraction of this length; what would be absurdly far is brought back to merely far.
    pub fn scaled(self, numerator: u64, denominator: u64) -> Self {
        let exact = i128::from(self.0) * i128::from(numerator) / i128::from(denominator.max(1));
        Self(i64::try_from(exact.clamp(-Self::FAR, Self::FAR)).unwrap_or(0))
    }

    /// As long as it is if what is `whole` long becomes as long as `part`.
    pub fn in_proportion(self, part: Self, whole: Self) -> Self {
        Self(self.0 * part.0 / whole.0.max(1))
    }

    /// Half of it.
    pub const fn half(self) -> Self {
        Self(self.0 / 2)
    }

    /// How often `part` fits into it.
    pub fn holds(self, part: Self) -> i64 {
        self.0 / part.0.max(1)
    }
}

/// In pixels with at most two decimals, without needless zeros.
impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, rest) = (self.0.unsigned_abs() / 100, self.0.unsigned_abs() % 100);
        match rest {
            0 => write!(f, "{sign}{whole}"),
            _ if rest % 10 == 0 => write!(f, "{sign}{whole}.{}", rest / 10),
            _ => write!(f, "{sign}{whole}.{rest:02}"),
        }
    }
}

impl fmt::Debug for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}px")
    }
}

impl Add for Px {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Px {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Neg for Px {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Mul<i64> for Px {
    type Output = Self;
    fn mul(self, times: i64) -> Self {
        Self(self.0 * times)
    }
}

impl Div<i64> for Px {
    type Output = Self;
    fn div(self, parts: i64) -> Self {
        Self(self.0 / parts)
    }
}

impl core::iter::Sum for Px {
    fn sum<I: Iterator<Item = Self>>(lengths: I) -> Self {
        lengths.fold(Self::ZERO, Add::add)
    }
}

/// A place in the picture; `y` grows downwards, as in SVG.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Point {
    /// From the left.
    pub x: Px,
    /// From the top.
    pub y: Px,
}

impl Point {
    /// The place at these coordinates.
    pub const fn new(x: Px, y: Px) -> Self {
        Self { x, y }
    }

    /// The place `along` that direction and `aside` to its right hand, seen from here.
    pub fn moved(self, direction: Direction, along: Px, aside: Px) -> Self {
        let (dx, dy) = (direction.dx, direction.dy);
        Self {
            x: self.x + Px((along.0 * dx - aside.0 * dy) / Direction::ONE),
            y: self.y + Px((along.0 * dy + aside.0 * dx) / Direction::ONE),
        }
    }

    /// How far it is from here to there.
    pub fn distance(self, there: Self) -> Px {
        let (dx, dy) = (there.x.0 - self.x.0, there.y.0 - self.y.0);
        Px((dx * dx + dy * dy).isqrt())
    }

    /// The place `percent` of the way from here to there.
    pub fn towards(self, there: Self, percent: i64) -> Self {
        Self {
            x: self.x + (there.x - self.x) * percent / 100,
            y: self.y + (there.y - self.y) * percent / 100,
        }
    }

    /// Where, from left to right, the straight line from here to there is at `y`.
    pub fn x_at(self, there: Self, y: Px) -> Px {
        let rise = i128::from(there.y.0 - self.y.0);
        if rise == 0 {
            return self.x;
        }
        let run = i128::from(there.x.0 - self.x.0) * i128::from(y.0 - self.y.0) / rise;
        self.x + Px(i64::try_from(run).unwrap_or(0))
    }

    /// Where the straight line from here to there is at `x`.
    pub fn on_way(self, there: Self, x: Px) -> Self {
        let run = i128::from(there.x.0 - self.x.0);
        if run == 0 {
            return Self { x, y: self.y };
        }
        let rise = i128::from(there.y.0 - self.y.0) * i128::from(x.0 - self.x.0) / run;
        Self { x, y: self.y + Px(i64::try_from(rise).unwrap_or(0)) }
    }
}

/// Which way something points: a vector of length [`Direction::ONE`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Direction {
    /// How much to the right, in ten-thousandths.
    pub dx: i64,
    /// How much down, in ten-thousandths.
    pub dy: i64,
}

impl Direction {
    /// The length of every direction: four decimals.
    pub const ONE: i64 = 10_000;
    /// As text runs.
    pub const RIGHT: Self = Self { dx: Self::ONE, dy: 0 };

    /// From one place to another; to the right if they are the same.
    pub fn between(from: Point, to: Point) -> Self {
        let length = from.distance(to).0;
        if length == 0 {
            return Self::RIGHT;
        }
        let (dx, dy) = (to.x.0 - from.x.0, to.y.0 - from.y.0);
        Self { dx: dx * Self::ONE / length, dy: dy * Self::ONE / length }
    }

    /// A quarter turn clockwise.
    pub fn turned(self) -> Self {
        Self { dx: -self.dy, dy: self.dx }
    }

    fn dot(self, x: i64, y: i64) -> i64 {
        (self.dx * x + self.dy * y) / Self::ONE
    }
}

/// An upright rectangle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Area {
    /// Its left side.
    pub left: Px,
    /// Its upper side.
    pub top: Px,
    /// Its right side.
    pub right: Px,
    /// Its lower side.
    pub bottom: Px,
}

impl Area {
    /// How wide it is.
    pub fn width(&self) -> Px {
        self.right - self.left
    }

    /// How high it is.
    pub fn height(&self) -> Px {
        self.bottom - self.top
    }

    /// The point in its middle.
    pub fn center(&self) -> Point {
        Point::new((self.left + self.right).half(), (self.top + self.bottom).half())
    }

    /// This rectangle as room that is taken, for a placer of labels.
    pub fn room(&self) -> Room {
        Room {
            center: self.center(),
            direction: Direction::RIGHT,
            half_width: self.width().half(),
            half_height: self.height().half(),
        }
    }
}

/// A rectangle that may be turned: the room that a text, a bar or a line takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Room {
    /// The point in its middle.
    pub center: Point,
    /// Which way its longer sides run.
    pub direction: Direction,
    /// Half its extent in that direction.
    pub half_width: Px,
    /// Half its extent across.
    pub half_height: Px,
}

impl Room {
    /// The square around a place.
    pub fn square(center: Point, half: Px) -> Self {
        Self { center, direction: Direction::RIGHT, half_width: half, half_height: half }
    }

    /// What a line of that thickness covers.
    pub fn line(from: Point, to: Point, thickness: Px) -> Self {
        Self {
            center: from.towards(to, 50),
            direction: Direction::between(from, to),
            half_width: from.distance(to).half(),
            half_height: thickness.half(),
        }
    }

    /// Its leftmost and its rightmost coordinate.
    pub fn sides(&self) -> (Px, Px) {
        let reach = self.reach(Direction::RIGHT);
        (self.center.x - Px(reach), self.center.x + Px(reach))
    }

    /// Its highest and its lowest coordinate.
    pub fn ends(&self) -> (Px, Px) {
        let reach = self.reach(Direction::RIGHT.turned());
        (self.center.y - Px(reach), self.center.y + Px(reach))
    }

    /// Whether the two share more than an edge.
    ///
    /// Two convex shapes are apart if and only if some line separates them, and for rectangles one
    /// of the four directions of their sides will do.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (dx, dy) = (other.center.x.0 - self.center.x.0, other.center.y.0 - self.center.y.0);
        let axes =
            [self.direction, self.direction.turned(), other.direction, other.direction.turned()];
        axes.iter().all(|&axis| axis.dot(dx, dy).abs() < self.reach(axis) + other.reach(axis))
    }

    /// How far it extends from its middle in that direction.
    fn reach(&self, axis: Direction) -> i64 {
        let across = self.direction.turned();
        (self.half_width.0 * axis.dot(self.direction.dx, self.direction.dy).abs()
            + self.half_height.0 * axis.dot(across.dx, across.dy).abs())
            / Direction::ONE
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn at(x: i64, y: i64) -> Point {
        Point::new(px(x), px(y))
    }

    fn upright(left: i64, top: i64, right: i64, bottom: i64) -> Room {
        Area { left: px(left), top: px(top), right: px(right), bottom: px(bottom) }.room()
    }

    #[test]
    fn a_length_is_shown_with_at_most_two_decimals() {
        let shown =
            [0, 1, 10, 99, 100, 1_250, -5, -250].map(|hundredths| Px(hundredths).to_string());
        assert_eq!(shown, ["0", "0.01", "0.1", "0.99", "1", "12.5", "-0.05", "-2.5"]);
    }

    #[test]
    fn a_place_beyond_all_pictures_stays_a_number_that_can_be_squared() {
        assert_eq!(px(100).scaled(u64::MAX, 1), px(10_000_000));
        assert_eq!(
            at(0, 0).distance(Point::new(px(10_000_000), px(10_000_000))).holds(px(1)),
            14_142_135
        );
    }

    #[test]
    fn a_line_is_cut_where_it_crosses() {
        assert_eq!(at(0, 0).on_way(at(10, 40), px(5)), at(5, 20));
        assert_eq!(at(5, 7).on_way(at(5, 9), px(5)), at(5, 7), "a vertical line starts at once");
    }

    #[test]
    fn rectangles_overlap_if_they_share_more_than_an_edge() {
        let square = upright(0, 0, 10, 10);
        assert!(square.overlaps(&upright(9, 9, 20, 20)));
        assert!(!square.overlaps(&upright(10, 0, 20, 10)));
    }

    #[test]
    fn a_slanted_line_may_pass_a_corner_that_its_bounding_box_covers() {
        let square = upright(0, 0, 10, 10);
        let near = Room::line(at(0, 25), at(25, 0), px(1));
        let through = Room::line(at(0, 15), at(15, 0), px(1));
        assert!(!square.overlaps(&near));
        assert!(square.overlaps(&through));
        assert!(upright(0, 0, 25, 25).overlaps(&near), "the bounding box is hit");
    }

    #[test]
    fn moving_aside_is_to_the_right_hand() {
        let down = Direction::between(at(0, 0), at(0, 9));
        assert_eq!(at(0, 0).moved(down, px(10), px(3)), at(-3, 10));
        assert_eq!(at(0, 0).moved(Direction::RIGHT, px(10), px(3)), at(10, 3));
    }
}
