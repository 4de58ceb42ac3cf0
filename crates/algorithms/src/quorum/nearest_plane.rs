//! Nearest plane: voting sets almost as small as those of a plane, for every N.
//!
//! **Idea.** Take the projective plane whose number of points P is nearest to N, the larger one if
//! two are as near, and mend what does not fit.
//!
//! - *P > N*: the points beyond the last member are played by the first members, beside their own:
//!   point p by member p mod N. The set of i is whoever plays a point of line i.
//! - *P < N*: members beyond the last point are voters for nobody but themselves. The set of i is
//!   line i mod P, and i.
//!
//! **K** is at most q+1 in the first case, less where one member plays two points of a line; q+1 or
//! q+2 in the second. **M** is uneven: who plays two points is asked by twice as many, who is no
//! point by nobody else.
//!
//! **Why any two sets intersect.** Any two lines have a point in common. Whoever plays it is in
//! both sets. Two members with the same line have all of it in common.
//!
//! **Source.** Maekawa 1985 asks for planes only, and suggests to leave out points of a larger one.
//! Going to the nearest, also the smaller one, is ours.

use alloc::vec::Vec;

use conclave_core::Seat;

use super::plane::{difference_set, points_above, points_below, set as line_of};

/// The line through point 0 of the nearest plane, and how many points that has.
pub(super) fn nearest(n: usize) -> Option<(Vec<Seat>, usize)> {
    if let Some(line) = difference_set(n) {
        return Some((line, n));
    }
    let above = points_above(n);
    let points = points_below(n).filter(|below| n - below < above - n).unwrap_or(above);
    Some((difference_set(points)?, points))
}

/// The set of `seat` among `n` members, given the line through point 0 of a plane.
pub(super) fn set((line, points): &(Vec<Seat>, usize), n: usize, seat: Seat) -> Vec<Seat> {
    let own = Seat::at(seat.index() % points);
    let mut set = line_of(line, *points, own);
    set.iter_mut().for_each(|point| *point = Seat::at(point.index() % n));
    set.push(seat);
    set.sort_unstable();
    set.dedup();
    set
}
