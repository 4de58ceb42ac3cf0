//! Who waits for whom at the end of the run: arrows beside the plot, so that a cycle is seen at a
//! glance.

use alloc::collections::btree_map::Entry;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cmp::Reverse;

use conclave_core::Seat;

use super::frame::{Frame, Rows};
use crate::geometry::{Point, Px, px};
use crate::history::{History, is_within};
use crate::placer::Placer;
use crate::scene::{Label, LabelRole, Wait};
use crate::style;
use crate::window::Window;

/// The distance of two arrows beside each other, if there is a word on each.
const TRACK: Px = px(74);
/// The distance of two arrows beside each other, if there are no words on them.
const TRACK_LEAST: Px = px(26);
/// How far out the innermost arrow swings.
const FIRST_TRACK: Px = px(44);
/// Up to that many arrows beside each other have their words.
const TRACKS_LABELLED: usize = 4;
/// How far apart arrows touch the same lifeline.
const PORT: Px = px(11);

/// The arrows, before they have a place.
pub(super) struct Plan {
    edges: Vec<Edge>,
    tracks: usize,
}

struct Edge {
    waiter: Seat,
    whom: Seat,
    /// The rows of the two.
    rows: (usize, usize),
    /// How many others it goes around.
    track: usize,
    is_in_cycle: bool,
}

impl Edge {
    fn span(&self) -> (usize, usize) {
        (self.rows.0.min(self.rows.1), self.rows.0.max(self.rows.1))
    }

    fn length(&self) -> usize {
        self.rows.0.abs_diff(self.rows.1)
    }
}

impl Plan {
    pub fn new(history: &History, window: &Window, rows: &Rows) -> Self {
        let seen = history.waits.iter();
        let seen = seen.filter(|&&(at, ..)| is_within(at, Some(at), window.ends()));
        let pairs: BTreeSet<(Seat, Seat)> = seen.map(|&(_, waiter, whom)| (waiter, whom)).collect();
        let cyclic = in_cycles(&pairs);
        let edge = |&(waiter, whom): &(Seat, Seat)| {
            let rows = (rows.of(waiter)?, rows.of(whom)?);
            let is_in_cycle = cyclic.contains(&(waiter, whom));
            Some(Edge { waiter, whom, rows, track: 0, is_in_cycle })
        };
        let mut edges: Vec<Edge> =
            pairs.iter().filter(|(waiter, whom)| waiter != whom).filter_map(edge).collect();
        // Short ones inside, long ones around them.
        edges.sort_by_key(|edge| (edge.length(), edge.span()));
        let tracks = assign_tracks(&mut edges);
        Self { edges, tracks }
    }

    fn is_labelled(&self) -> bool {
        self.tracks <= TRACKS_LABELLED
    }

    fn track_width(&self) -> Px {
        if self.is_labelled() { TRACK } else { TRACK_LEAST }
    }

    /// How much room they take.
    pub fn width(&self) -> Px {
        let tracks = i64::try_from(self.tracks).unwrap_or(0);
        if tracks == 0 { Px::ZERO } else { FIRST_TRACK * 2 + self.track_width() * (tracks - 1) }
    }

    /// Gives them their places to the right of `left`.
    pub fn lay(&self, left: Px, frame: &Frame) -> Vec<Wait> {
        let ports = ports(&self.edges);
        let place = |index: usize, row: usize| {
            let (port, of) = ports[&(index, row)];
            let spread = PORT.min(frame.lane.scaled(6, 10) / of);
            let aside = spread * (2 * port + 1 - of) / 2;
            Point::new(left, frame.row_top(row) + frame.lane.half() + aside)
        };
        let edges = self.edges.iter().enumerate();
        edges
            .map(|(index, edge)| {
                let track = i64::try_from(edge.track).unwrap_or(0);
                Wait {
                    waiter: edge.waiter,
                    whom: edge.whom,
                    is_in_cycle: edge.is_in_cycle,
                    tail: place(index, edge.rows.0),
                    head: place(index, edge.rows.1),
                    apex: left + FIRST_TRACK + self.track_width() * track,
                }
            })
            .collect()
    }

    /// Writes "waits for" on each, or once above all of them if they are too many.
    pub fn label(&self, waits: &[Wait], frame: &Frame, placer: &mut Placer) {
        let write = |place: Point| {
            Label::centred(LabelRole::WaitsFor, "waits for".into(), style::SMALL, place)
        };
        if !self.is_labelled() && !waits.is_empty() {
            let apex = waits.iter().map(|wait| wait.apex).min().unwrap_or_default();
            placer.put_first([write(Point::new(apex + px(20), frame.plot().top + px(6)))]);
            return;
        }
        for wait in waits {
            let middle = (wait.tail.y + wait.head.y).half();
            placer.put_first(
                [0, -14, 14, -28, 28].map(|dy| write(Point::new(wait.apex, middle + px(dy)))),
            );
        }
    }
}

/// Gives every edge the innermost track on which it meets no other; returns how many there are.
fn assign_tracks(edges: &mut [Edge]) -> usize {
    let mut tracks: Vec<Vec<(usize, usize)>> = Vec::new();
    for edge in edges {
        let (top, bottom) = edge.span();
        // It must also go around whatever lies inside of it.
        let inner = tracks.iter().rposition(|spans| {
            spans.iter().any(|&(other_top, other_bottom)| top < other_bottom && other_top < bottom)
        });
        edge.track = inner.map_or(0, |inner| inner + 1);
        if edge.track == tracks.len() {
            tracks.push(Vec::new());
        }
        tracks[edge.track].push((top, bottom));
    }
    tracks.len()
}

/// Where on a lifeline each arrow touches it, by edge and row: its port, and of how many.
///
/// From top to bottom: those that come from above, the short ones first; then those that come from
/// below, the long ones first. So none crosses another without need.
fn ports(edges: &[Edge]) -> BTreeMap<(usize, usize), (i64, i64)> {
    let mut by_row: BTreeMap<usize, Vec<(bool, Reverse<usize>, usize)>> = BTreeMap::new();
    for (index, edge) in edges.iter().enumerate() {
        for (row, other) in [edge.rows, (edge.rows.1, edge.rows.0)] {
            let is_below = other > row;
            let rank = if is_below { edge.length() } else { usize::MAX - edge.length() };
            by_row.entry(row).or_default().push((is_below, Reverse(rank), index));
        }
    }
    let mut ports = BTreeMap::new();
    for (row, mut touching) in by_row {
        touching.sort_unstable();
        let of = i64::try_from(touching.len()).unwrap_or(i64::MAX);
        for ((_, _, index), port) in touching.into_iter().zip(0..) {
            ports.insert((index, row), (port, of));
        }
    }
    ports
}

/// Those that are part of a cycle: their two ends can reach each other.
///
/// Kosaraju's algorithm: whoever can still be reached backwards, in the reverse order in which a
/// search forwards was done with them, is in the same component.
fn in_cycles(pairs: &BTreeSet<(Seat, Seat)>) -> BTreeSet<(Seat, Seat)> {
    let reversed: BTreeSet<(Seat, Seat)> = pairs.iter().map(|&(from, to)| (to, from)).collect();
    let mut component: BTreeMap<Seat, Seat> = BTreeMap::new();
    for root in done_order(pairs).into_iter().rev() {
        let mut next = Vec::from([root]);
        while let Some(seat) = next.pop() {
            if let Entry::Vacant(vacant) = component.entry(seat) {
                vacant.insert(root);
                next.extend(onwards(&reversed, seat));
            }
        }
    }
    let is_cyclic = |(from, to): &(Seat, Seat)| component.get(from) == component.get(to);
    pairs.iter().copied().filter(is_cyclic).collect()
}

/// Everybody, in the order in which a depth-first search is done with them.
fn done_order(pairs: &BTreeSet<(Seat, Seat)>) -> Vec<Seat> {
    let (mut seen, mut done) = (BTreeSet::new(), Vec::new());
    let mut next: Vec<(Seat, bool)> = pairs.iter().map(|&(from, _)| (from, false)).collect();
    while let Some((seat, is_done)) = next.pop() {
        if is_done {
            done.push(seat);
        } else if seen.insert(seat) {
            next.push((seat, true));
            next.extend(onwards(pairs, seat).map(|to| (to, false)));
        }
    }
    done
}

fn onwards(pairs: &BTreeSet<(Seat, Seat)>, seat: Seat) -> impl Iterator<Item = Seat> {
    pairs.range((seat, Seat(0))..=(seat, Seat(u32::MAX))).map(|&(_, to)| to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(u32, u32)]) -> BTreeSet<(Seat, Seat)> {
        pairs.iter().map(|&(from, to)| (Seat(from), Seat(to))).collect()
    }

    #[test]
    fn only_what_leads_back_to_itself_is_a_cycle() {
        let cycle = [(0, 1), (1, 2), (2, 0)];
        assert_eq!(in_cycles(&pairs(&cycle)), pairs(&cycle));
        assert_eq!(in_cycles(&pairs(&[(0, 1), (1, 2), (0, 2)])), pairs(&[]));
    }

    #[test]
    fn what_leads_into_a_cycle_or_between_two_is_not_part_of_one() {
        let two = [(0, 1), (1, 0), (3, 4), (4, 3)];
        let with_bridges = [&two[..], &[(1, 3), (7, 0), (4, 9)]].concat();
        assert_eq!(in_cycles(&pairs(&with_bridges)), pairs(&two));
    }

    #[test]
    fn a_chain_of_thousands_is_searched_without_recursion() {
        let chain: Vec<(u32, u32)> = (0..20_000).map(|seat| (seat, seat + 1)).collect();
        assert_eq!(in_cycles(&pairs(&chain)).len(), 0);
        let closed = [&chain[..], &[(20_000, 0)]].concat();
        assert_eq!(in_cycles(&pairs(&closed)).len(), 20_001);
    }

    #[test]
    fn a_long_arrow_goes_around_the_short_ones_between_its_ends() {
        let edge = |from, to| Edge {
            waiter: Seat::at(from),
            whom: Seat::at(to),
            rows: (from, to),
            track: 0,
            is_in_cycle: false,
        };
        let mut edges = [edge(0, 1), edge(1, 2), edge(2, 0)];
        assert_eq!(assign_tracks(&mut edges), 2);
        assert_eq!(edges.map(|edge| edge.track), [0, 0, 1]);
    }

    #[test]
    fn arrows_touch_a_lifeline_at_different_places_and_the_outer_one_further_out() {
        let edge = |from, to| Edge {
            waiter: Seat::at(from),
            whom: Seat::at(to),
            rows: (from, to),
            track: 0,
            is_in_cycle: false,
        };
        let ports = ports(&[edge(0, 1), edge(1, 2), edge(2, 0)]);
        assert_eq!((ports[&(2, 0)], ports[&(0, 0)]), ((0, 2), (1, 2)), "p1: the outer one above");
        assert_eq!((ports[&(0, 1)], ports[&(1, 1)]), ((0, 2), (1, 2)), "p2: from above, to below");
        assert_eq!((ports[&(1, 2)], ports[&(2, 2)]), ((0, 2), (1, 2)), "p3: the outer one below");
    }
}
