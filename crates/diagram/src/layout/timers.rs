//! Timers: thin bars below the lifelines of those who set them.

use alloc::vec::Vec;

use conclave_core::Seat;

use super::frame::Frame;
use crate::geometry::{Area, Point, Px, px};
use crate::history::{Countdown, History};
use crate::placer::Placer;
use crate::scene::{Label, LabelRole, TimerBar};
use crate::{style, text};

/// So many can be set at a process at a time, and all be seen.
const ROWS: usize = 3;
/// How far below each other they are.
const APART: Px = px(9);
/// Where lifelines are nearer to each other, timers would hide what is between them.
const LANE_LEAST: Px = px(44);
/// One that is set more often than that at a process is upkeep: it would hide the others.
const SETTINGS_MOST: usize = 10;

/// Places the bars of timers, in rows below their lifelines.
pub(super) fn lay(history: &History, frame: &Frame) -> Vec<TimerBar> {
    if frame.lane < LANE_LEAST {
        return Vec::new();
    }
    let seen = || history.timers.iter().filter(|timer| frame.sees(timer.from, timer.to));
    let count = |one: &Countdown| {
        let same = |it: &&Countdown| (it.seat, &it.name) == (one.seat, &one.name);
        seen().filter(same).count()
    };
    let mut bars: Vec<TimerBar> = Vec::new();
    // What takes no time cannot be seen.
    for timer in seen().filter(|it| it.to != Some(it.from) && count(it) <= SETTINGS_MOST) {
        let Some(y) = frame.y(timer.seat) else { continue };
        let (left, right) = (frame.x(timer.from), frame.x_end(timer.to));
        let Some(row) = free_row(&bars, timer.seat, left) else { continue };
        let top = y + style::BAR_HALF + px(7) + APART * i64::try_from(row).unwrap_or(0);
        bars.push(TimerBar {
            seat: timer.seat,
            name: timer.name.clone(),
            from: timer.from,
            to: timer.to,
            runs_out: timer.runs_out && timer.to.is_some_and(|to| to <= frame.window.1),
            row,
            area: Area { left, top, right: right.max(left + px(2)), bottom: top + style::TIMER },
        });
    }
    bars
}

/// The uppermost row in which nothing is any more.
fn free_row(bars: &[TimerBar], seat: Seat, left: Px) -> Option<usize> {
    let is_free = |row: &usize| {
        let same = |bar: &&TimerBar| (bar.seat, bar.row) == (seat, *row);
        bars.iter().filter(same).all(|bar| bar.area.right <= left)
    };
    (0..ROWS).find(is_free)
}

/// Writes what they are called into them, where there is room.
pub(super) fn label(bars: &[TimerBar], placer: &mut Placer) {
    for bar in bars {
        let words = bar.name.to_lowercase();
        let half = text::width(&words, style::TINY).half();
        let y = bar.area.center().y;
        let (left, right) = (bar.area.left + half + px(8), bar.area.right - half - px(8));
        let places = [(left + right).half(), left, right];
        let fitting = places.into_iter().filter(|_| left <= right);
        let places = fitting.enumerate().map(|(price, x)| {
            let role = LabelRole::Timer;
            (price, Label::centred(role, words.clone(), style::TINY, Point::new(x, y)))
        });
        placer.put_best(places);
    }
    for bar in bars {
        placer.take(bar.area.room());
    }
}
