//! Cuts a run into strips, so that a picture is no wider than its sheet.

use alloc::vec::Vec;

use conclave_observe::Time;

use crate::fold::{self, Room, Slope, TimeScale};
use crate::geometry::{Px, px};
use crate::history::History;

/// What it costs to cut through a message, as if the cut were that much out of place.
const CROSSED: i64 = 40;

/// A part of a run that is drawn from left to right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    /// All that happens from the first time to the second.
    pub window: (Time, Time),
    /// How much room is left beyond its first and its last moment, where it was cut.
    pub beside: (Option<Px>, Option<Px>),
    /// How long nothing happened before it, where that is long.
    pub quiet_before: Option<Time>,
}

/// Cuts a window into pieces that have that `room`, between two moments each: where few messages
/// are under way, and so that all pieces are about equally long.
pub(crate) fn cut(
    history: &History,
    window: (Time, Time),
    slope: Slope,
    room: &Room,
) -> Vec<Piece> {
    let whole = Piece { window, beside: (None, None), quiet_before: None };
    let scale = TimeScale::new(history, window, slope, Px::ZERO);
    let seen = history.moments.iter().copied().filter(|&at| window.0 < at && at < window.1);
    let moments: Vec<Time> = [window.0].into_iter().chain(seen).chain([window.1]).collect();
    let places: Vec<Px> = moments.iter().map(|&at| scale.x(at)).collect();
    let mut pieces = Vec::new();
    let (mut first, mut rest) = (0, whole);
    while let Some(last) = next_cut(history, &moments, &places, first, room) {
        let (end, begin) = (moments[last], moments[last + 1]);
        let apart = places[last + 1] - places[last];
        // Never as much as to the next moment.
        let beside = Some(apart.half().min(room.beside));
        let piece = Piece { window: (rest.window.0, end), beside: (rest.beside.0, beside), ..rest };
        pieces.push(piece);
        let quiet_before = fold::is_quiet(history, end, begin).then(|| begin - end);
        rest = Piece { window: (begin, window.1), beside: (beside, None), quiet_before };
        first = last + 1;
    }
    pieces.push(rest);
    pieces
}

/// The last moment of the piece that begins with that one; none, if all that follows has room.
fn next_cut(
    history: &History,
    moments: &[Time],
    places: &[Px],
    first: usize,
    room: &Room,
) -> Option<usize> {
    let end = moments.len() - 1;
    let left = places[end] - places[first];
    let is_alone = first == 0;
    if left <= if is_alone { room.alone } else { room.among } {
        return None;
    }
    let room = room.among;
    let target = left / (left.holds(room) + 1);
    let candidates = (first..end).filter(|&last| {
        let wide = places[last] - places[first];
        wide <= room && wide * 4 >= target * 3
    });
    let cost = |last: usize| {
        let wide = places[last] - places[first];
        let off = if wide > target { wide - target } else { target - wide };
        off.holds(px(1)) + CROSSED * crossings(history, moments[last], moments[last + 1])
    };
    let best = candidates.min_by_key(|&last| cost(last));
    // Where nothing happens for wider than the room, a piece is what happens before.
    let fitting = || (first..end).rev().find(|&last| places[last] - places[first] <= room);
    best.or_else(fitting)
}

/// How many messages are under way from before the one time until after the other.
fn crossings(history: &History, before: Time, after: Time) -> i64 {
    let is_seen = |sent: Time, until: Option<Time>| {
        sent <= before && until.is_none_or(|until| until >= after)
    };
    let flights = history.flights.iter().filter(|it| !it.is_background);
    let count = flights.filter(|flight| is_seen(flight.sent, flight.until())).count();
    i64::try_from(count).unwrap_or(i64::MAX / CROSSED)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::fold::testing::{at, room};
    use crate::sheet::Sheet;

    fn cut_at(moments: &[u64], wide: i64) -> Vec<Piece> {
        let history = at(moments);
        let window = (history.start(), history.end());
        let slope = fold::slope(&history, window, 0, &Sheet::PAGE, &room(wide));
        cut(&history, window, slope, &room(wide))
    }

    #[test]
    fn what_has_room_is_one_piece() {
        let pieces = cut_at(&[0, 1, 2, 3], 1_000);
        let window = (Time::ZERO, Time::delays(3));
        assert_eq!(pieces, [Piece { window, beside: (None, None), quiet_before: None }]);
    }

    #[test]
    fn every_moment_is_in_one_piece_and_no_piece_is_wider_than_its_room() {
        let moments: Vec<u64> = (0..40).collect();
        let pieces = cut_at(&moments, 1_000);
        assert!(pieces.len() >= 4, "{pieces:?}");
        let mut seen = vec![];
        for piece in &pieces {
            let window = (piece.window.0, piece.window.1);
            assert!(Time::delays(10) > window.1 - window.0, "{piece:?}");
            seen.extend((0..40).map(Time::delays).filter(|&at| window.0 <= at && at <= window.1));
        }
        assert_eq!(seen, (0..40).map(Time::delays).collect::<Vec<_>>());
    }

    #[test]
    fn a_cut_through_a_quiet_stretch_says_how_long_it_is() {
        let moments: Vec<u64> = (0..7).chain(100..107).collect();
        let pieces = cut_at(&moments, 900);
        let [one, two] = &pieces[..] else { panic!("{pieces:?}") };
        assert_eq!((one.window.1, two.window.0), (Time::delays(6), Time::delays(100)));
        assert_eq!((one.quiet_before, two.quiet_before), (None, Some(Time::delays(94))));
    }
}
