//! Plane: a line of a finite projective plane.
//!
//! **Idea.** Members are the points of a plane in which any two lines meet, voting sets are its
//! lines. Over the field GF(q) the points are the vectors (a, b, c) but 0, multiples counted as
//! one: N = q^2+q+1 of them. Singer found that one linear map T can turn through all of them:
//! number the points 0, 1, 2, ... as T reaches them, let D be the points of one line, and the lines
//! are just the shifts of D: `V_i = {i + d mod N : d in D}`. We look for T among the maps "times x"
//! in `GF(q)[x] / (x^3 - c2 x^2 - c1 x - c0)`, which is GF(q^3) then; point 0 is 1, and the line is
//! c = 0, the polynomials without x^2. It goes through point 0, so that everyone is in its own set.
//!
//! **K** = q+1, the points of a line, as few as can be (see [`optimum`](super::optimum)). **M** =
//! K: a member j is in the sets of j - d, for each d in D.
//!
//! **Why any two sets intersect.** A line is a space of two dimensions in a space of three, and T
//! turns lines into lines, so any two share at least one dimension: a point. And only one: V_i and
//! V_j meet once for each way to write i - j as a difference in D, there are q(q+1) = N-1
//! differences and as many values of i - j but 0, each taken at least once; so D is a *perfect
//! difference set*.
//!
//! **N** must be q^2+q+1 with q a prime power. No plane with another number of points is known;
//! whether there is one (of order 12, with 157 points, say) is an open question.
//!
//! **Papers.** Maekawa 1985. J. Singer, *A Theorem in Finite Projective Geometry and Some
//! Applications to Number Theory*, Trans. AMS 43(3), 1938: such a T exists for every q.

use alloc::vec::Vec;

use conclave_core::Seat;

use super::field::{Element, Field, prime_of_power};

/// The set of `seat` among `n` members, given the line through seat 0.
pub(super) fn set(line: &[Seat], n: usize, seat: Seat) -> Vec<Seat> {
    let mut set: Vec<_> = line.iter().map(|d| Seat::at((seat.index() + d.index()) % n)).collect();
    set.sort_unstable();
    set
}

/// The perfect difference set D for `n` points, if there is a plane: the set of seat 0.
pub(super) fn difference_set(n: usize) -> Option<Vec<Seat>> {
    let q = n.isqrt();
    if points(q) != n {
        return None;
    }
    let field = Field::new(q)?;
    let mut rules =
        (0..q).flat_map(|c2| (0..q).flat_map(move |c1| (1..q).map(move |c0| [c0, c1, c2])));
    rules.find_map(|rule| line_under(&field, rule, n))
}

/// The points with c = 0, numbered by `rule`, if times x goes through all `n` points.
///
/// c0 is not 0, so times x is one to one and comes back to point 0: the question is only when.
fn line_under(field: &Field, rule: [Element; 3], n: usize) -> Option<Vec<Seat>> {
    let mut line = Vec::new();
    let mut point = [1, 0, 0];
    for number in 0..n {
        match point {
            [_, 0, 0] if number > 0 => return None,
            [_, _, 0] => line.push(Seat::at(number)),
            _ => {}
        }
        point = times_x(field, rule, point);
    }
    Some(line)
}

/// x (a + bx + cx^2) = ax + bx^2 + c (c0 + c1 x + c2 x^2).
fn times_x(field: &Field, rule: [Element; 3], [a, b, c]: [Element; 3]) -> [Element; 3] {
    let [back0, back1, back2] = rule.map(|coefficient| field.mul(c, coefficient));
    [back0, field.add(a, back1), field.add(b, back2)]
}

/// The largest number of points below `n` for which there is a plane.
pub(super) fn points_below(n: usize) -> Option<usize> {
    (2..=n.isqrt()).rev().filter(|&q| prime_of_power(q).is_some()).map(points).find(|&at| at < n)
}

/// The smallest number of points above `n` for which there is a plane.
pub(super) fn points_above(n: usize) -> usize {
    let mut q = n.isqrt();
    while points(q) <= n || prime_of_power(q).is_none() {
        q += 1;
    }
    points(q)
}

/// How many points a plane over GF(q) has.
fn points(q: usize) -> usize {
    q * q + q + 1
}
