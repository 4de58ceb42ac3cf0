//! Where times and processes are.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_observe::Time;
use conclave_observe::trace::Trace;

use super::lifelines;
use crate::fold::{self, Room, TimeScale};
use crate::geometry::{Area, Px, px};
use crate::history::{History, is_within};
use crate::sheet::Sheet;
use crate::strips::{self, Piece};
use crate::style;

/// Up to that many processes are all drawn; of more, only those to which something happens.
const ROWS_ALL: usize = 32;
/// Up to that many are drawn at their full distance.
const ROWS_SPACIOUS: i64 = 20;
/// So many in several strips are nearer to each other.
const ROWS_TALL: usize = 7;
/// What is left between the edge of the plot and the first or last moment.
const PAD: Px = px(16);
/// What is left there where arrows cross the edge: enough to see which way they go.
const PAD_CROSSED: Px = px(64);
/// In pictures wider than that, names are written at both ends.
const NAMED_TWICE: Px = px(1_100);
/// The least width of a plot.
const PLOT_LEAST: Px = px(420);

/// Which processes are drawn, from top to bottom.
#[derive(Clone)]
pub(crate) struct Rows {
    seats: Vec<Seat>,
    by_seat: Vec<Option<usize>>,
}

impl Rows {
    pub fn choose(trace: &Trace, history: &History, window: (Time, Time)) -> Self {
        let members = trace.header.members.len();
        let mut is_drawn = vec![members <= ROWS_ALL; members];
        let flights = history.flights.iter();
        for flight in flights.filter(|flight| is_within(flight.sent, flight.until(), window)) {
            is_drawn[flight.from.index()] = true;
            is_drawn[flight.to.index()] = true;
        }
        let stays = history.stays.iter().map(|stay| (stay.seat, stay.from, stay.to));
        let absences = history.absences.iter().map(|away| (away.seat, away.from, away.to));
        for (seat, from, to) in stays.chain(absences) {
            is_drawn[seat.index()] |= is_within(from, to, window);
        }
        for &(at, seat, _) in &history.notes {
            is_drawn[seat.index()] |= is_within(at, Some(at), window);
        }
        for &(at, waiter, whom) in &history.waits {
            is_drawn[waiter.index()] |= is_within(at, Some(at), window);
            is_drawn[whom.index()] |= is_within(at, Some(at), window);
        }
        let seats: Vec<Seat> =
            (0..members).filter(|&index| is_drawn[index]).map(Seat::at).collect();
        let mut by_seat = vec![None; members];
        for (row, seat) in seats.iter().enumerate() {
            by_seat[seat.index()] = Some(row);
        }
        Self { seats, by_seat }
    }

    pub fn len(&self) -> usize {
        self.seats.len()
    }

    /// The row of a process, if it is drawn.
    pub fn of(&self, seat: Seat) -> Option<usize> {
        self.by_seat[seat.index()]
    }

    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }
}

/// Where times and processes are, in one strip.
pub(crate) struct Frame {
    pub window: (Time, Time),
    pub scale: TimeScale,
    pub rows: Rows,
    /// The edges of the plot.
    pub left: Px,
    pub right: Px,
    top: Px,
    /// The distance of two lifelines.
    pub lane: Px,
    /// Which strip it is, from above.
    pub strip: usize,
    /// Whether it is the lowest one.
    pub is_last: bool,
    /// How long nothing happened since the strip above, if that is long.
    pub quiet_before: Option<Time>,
    /// When the picture ends.
    pub end: Time,
    /// Whether names stand at both ends of the lifelines.
    pub is_named_twice: bool,
}

impl Frame {
    /// The strips of a picture, as wide as its sheet allows if there is `beside` left at their
    /// right.
    pub fn strips(
        trace: &Trace,
        history: &History,
        window: (Time, Time),
        rows: &Rows,
        sheet: &Sheet,
        beside: Px,
    ) -> Vec<Self> {
        let names = lifelines::name_width(trace, rows);
        let left = style::MARGIN + names + px(10);
        // On a slide, names stand at one end, unless arrows begin and end at the other.
        let is_named_twice = sheet.height.is_none() || beside > Px::ZERO;
        let after = if is_named_twice { names + px(16) } else { Px::ZERO };
        let plot = sheet.width - left - after - beside - style::MARGIN;
        let whole = Piece { window, beside: (None, None), quiet_before: None };
        let (before, behind) = pads(history, &whole);
        let room = Room {
            alone: (plot - before - behind).max(PLOT_LEAST),
            among: (plot - sheet.beside * 2).max(PLOT_LEAST),
            beside: sheet.beside,
        };
        let seen = history.flights.iter();
        let arrows = seen.filter(|flight| is_within(flight.sent, flight.until(), window)).count();
        let slope = fold::slope(history, window, arrows, sheet, &room);
        let pieces = strips::cut(history, window, slope, &room);
        let last = pieces.len() - 1;
        let count = i64::try_from(rows.len().max(1)).unwrap_or(i64::MAX);
        let most = match rows.len() {
            ROWS_TALL.. if last > 0 => sheet.lane_tall,
            _ => sheet.lane,
        };
        let lane = (sheet.lane * ROWS_SPACIOUS / count).clamp(style::LANE_LEAST.min(most), most);
        let mut frames: Vec<Self> = Vec::new();
        for (strip, piece) in pieces.into_iter().enumerate() {
            let (before, behind) = pads(history, &piece);
            let scale = TimeScale::new(history, piece.window, slope, left + before);
            let right = (scale.right() + behind).max(left + PLOT_LEAST);
            frames.push(Self {
                window: piece.window,
                scale,
                rows: rows.clone(),
                left,
                right,
                top: Px::ZERO,
                lane,
                strip,
                is_last: strip == last,
                quiet_before: piece.quiet_before,
                end: window.1,
                is_named_twice: false,
            });
        }
        let is_wide = frames.iter().any(|frame| frame.right - frame.left > NAMED_TWICE);
        for frame in &mut frames {
            frame.is_named_twice = is_named_twice && (is_wide || beside > Px::ZERO);
        }
        frames
    }

    /// Moves the plot down to there.
    pub fn set_top(&mut self, top: Px) {
        self.top = top;
    }

    /// Where lifelines, bars and arrows are.
    pub fn plot(&self) -> Area {
        let bottom = self.row_top(self.rows.len());
        Area { left: self.left, top: self.top, right: self.right, bottom }
    }

    /// Where the lane of that row begins.
    pub fn row_top(&self, row: usize) -> Px {
        self.top + self.lane * i64::try_from(row).unwrap_or(0)
    }

    /// Where the lifeline of that process is, if it is drawn.
    pub fn y(&self, seat: Seat) -> Option<Px> {
        self.rows.of(seat).map(|row| self.row_top(row) + self.lane.half())
    }

    /// Where that time is, or the edge of the plot, if it lies beyond.
    pub fn x(&self, at: Time) -> Px {
        self.scale.x(at).clamp(self.left, self.right)
    }

    /// Where the end of something is; the right edge of the plot, if it has not ended.
    pub fn x_end(&self, at: Option<Time>) -> Px {
        at.map_or(self.right, |at| self.x(at))
    }

    /// Whether something that lasts from one time to another is to be seen.
    pub fn sees(&self, from: Time, to: Option<Time>) -> bool {
        is_within(from, to, self.window)
    }
}

/// What is left beyond the first and the last moment of a piece: more where arrows cross the edge.
fn pads(history: &History, piece: &Piece) -> (Px, Px) {
    let window = piece.window;
    let flights = history.flights.iter();
    let seen: Vec<_> =
        flights.filter(|flight| is_within(flight.sent, flight.until(), window)).collect();
    let enters = seen.iter().any(|flight| flight.sent < window.0);
    let leaves = seen.iter().any(|flight| flight.until().is_none_or(|until| until > window.1));
    let pad = |is_crossed| if is_crossed { PAD_CROSSED } else { PAD };
    (piece.beside.0.unwrap_or(pad(enters)), piece.beside.1.unwrap_or(pad(leaves)))
}
