//! Waiting and holding, electing and leading, and what must not be: two that hold or lead.

use alloc::format;
use alloc::vec::Vec;

use super::frame::Frame;
use crate::geometry::{Area, Point, Px, px};
use crate::history::{History, Stay};
use crate::placer::Placer;
use crate::scene::{Bar, ClashBand, Fold, Label, LabelRole};
use crate::{style, text};

/// Places the bars of what processes do for a while.
pub(super) fn lay(history: &History, frame: &Frame) -> Vec<Bar> {
    let stays = history.stays.iter().filter(|stay| frame.sees(stay.from, stay.to));
    let is_in_front = |stay: &&Stay| stay.kind.sort.is_in_front;
    let (front, others): (Vec<&Stay>, Vec<&Stay>) = stays.partition(is_in_front);
    others
        .into_iter()
        .chain(front)
        .filter_map(|stay| {
            let y = frame.y(stay.seat)?;
            let left = frame.x(stay.from);
            let right = frame.x_end(stay.to).max(left + style::BAR_LEAST);
            let area = Area { left, top: y - style::BAR_HALF, right, bottom: y + style::BAR_HALF };
            Some(Bar { seat: stay.seat, kind: stay.kind, from: stay.from, to: stay.to, area })
        })
        .collect()
}

/// Where more than one holds, or leads.
pub(super) fn clashes(history: &History, frame: &Frame) -> Vec<ClashBand> {
    let clashes = history.clashes.iter().filter(|clash| frame.sees(clash.from, clash.to));
    clashes
        .filter_map(|clash| {
            let rows = || clash.holders.iter().filter_map(|&seat| frame.y(seat));
            let (top, bottom) = (rows().min()?, rows().max()?);
            let left = frame.x(clash.from);
            let right = frame.x_end(clash.to).max(left + style::BAR_LEAST * 2);
            let area = Area { left, top, right, bottom };
            let (what, holders) = (clash.sort.who, clash.holders.clone());
            let words = match holders.len() {
                2 => format!("two {what}"),
                more => format!("{more} {what}"),
            };
            Some(ClashBand { words, holders, from: clash.from, to: clash.to, area })
        })
        .chain(wrongs(history, frame))
        .collect()
}

/// Where something else is wrong, from then on: over the lanes of those whom it is about.
fn wrongs(history: &History, frame: &Frame) -> impl Iterator<Item = ClashBand> {
    let seen = history.wrongs.iter().filter(|wrong| frame.sees(wrong.at, wrong.until));
    seen.filter_map(|wrong| {
        let rows = || wrong.seats.iter().filter_map(|&seat| frame.y(seat));
        let (top, bottom) = (rows().min()?, rows().max()?);
        let spare = if top == bottom { frame.lane / 3 } else { Px::ZERO };
        let (left, right) = (frame.x(wrong.at), frame.x_end(wrong.until));
        let left = left.min(right - style::BAR_LEAST * 4);
        let area = Area { left, top: top - spare, right, bottom: bottom + spare };
        let (words, holders) = (wrong.words.into(), wrong.seats.clone());
        Some(ClashBand { words, holders, from: wrong.at, to: wrong.until, area })
    })
}

/// Writes "two holders" on or beside each of them.
pub(super) fn label_clashes(clashes: &[ClashBand], lane: Px, placer: &mut Placer) {
    for clash in clashes {
        let words = &clash.words;
        let area = &clash.area;
        let half = text::width(words, style::CAPTION).half() + px(6);
        let Point { x, y: middle } = area.center();
        // Not on the bar of somebody in between.
        let is_on_lifeline = (area.height() / 2).holds(lane) * 2 == area.height().holds(lane);
        let y = if is_on_lifeline && area.height() > lane { middle - lane.half() } else { middle };
        let places = [
            (x, y),
            (x, area.top - px(20)),
            (x, area.bottom + px(20)),
            (area.right + half, y),
            (area.left - half, y),
            (area.right - half, area.bottom + px(14)),
            (area.right - half, area.top - px(14)),
        ];
        placer.put_first(places.map(|(x, y)| {
            Label::centred(LabelRole::Clash, words.clone(), style::CAPTION, Point::new(x, y))
        }));
    }
}

/// Writes each holder's number and each leader's term on its bar, or beside it; not where time is
/// torn out, because nothing of a bar is left there.
pub(super) fn label_fences(bars: &[Bar], folds: &[Fold], placer: &mut Placer) {
    for bar in bars {
        let Some(number) = bar.kind.label() else { continue };
        let (area, wide) = (&bar.area, text::width(&number, style::SMALL));
        let Point { x, y } = area.center();
        let place = |role, x: Px, y: Px| {
            Label::centred(role, number.clone(), style::SMALL, Point::new(x, y))
        };
        let is_clear = |x: &Px| {
            let (left, right) = (*x - wide.half(), *x + wide.half());
            folds.iter().map(Fold::tear).all(|(from, to)| right <= from || left >= to)
        };
        let inside = [50, 70, 30, 85, 15]
            .map(|percent| area.left + area.width() * percent / 100)
            .into_iter()
            .chain(middles(area, folds))
            .filter(|&x| x - wide.half() >= area.left && x + wide.half() <= area.right)
            .filter(is_clear)
            .map(|x| place(LabelRole::Fence, x, y));
        let above = [x].into_iter().chain(middles(area, folds)).filter(is_clear);
        let aside = above.flat_map(|x| [(x, -17), (x, 17)]);
        let aside = aside
            .chain([(area.right + wide.half() + px(3), -17)])
            .map(|(x, dy)| place(LabelRole::FenceAside, x, y + px(dy)));
        placer.put_first(inside.chain(aside));
    }
}

/// The middle of each piece that a bar is torn into, the widest first.
fn middles(area: &Area, folds: &[Fold]) -> Vec<Px> {
    let tears = folds.iter().map(Fold::tear);
    let tears = tears.filter(|&(from, to)| to > area.left && from < area.right);
    let (begins, ends): (Vec<Px>, Vec<Px>) = tears.map(|(from, to)| (to, from)).unzip();
    let begins = [area.left].into_iter().chain(begins);
    let mut pieces: Vec<(Px, Px)> = begins.zip(ends.into_iter().chain([area.right])).collect();
    pieces.retain(|(from, to)| from < to);
    pieces.sort_by_key(|&(from, to)| from - to);
    pieces.into_iter().map(|(from, to)| (from + to).half()).collect()
}
