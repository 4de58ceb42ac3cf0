//! Partitions: who is on which side, and the wall between them.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_observe::trace::Trace;
use conclave_observe::{Side, Time};

use super::frame::Frame;
use super::lifelines::name_of;
use crate::geometry::{Area, Point, px};
use crate::history::{Cut, History};
use crate::placer::Placer;
use crate::scene::{Band, Label, LabelRole, Wall};
use crate::{style, text};

/// A band over each lifeline concerned, and a wall between neighbours on different sides.
pub(super) fn lay(history: &History, frame: &Frame) -> (Vec<Band>, Vec<Wall>) {
    let cuts = history.cuts.iter().filter(|cut| frame.sees(cut.from, cut.to));
    let bands: Vec<Band> = cuts.filter_map(|cut| band(cut, frame)).collect();
    let walls = bands.iter().filter_map(|band| {
        let row = frame.rows.of(band.seat)?;
        let below = bands.iter().find(|below| {
            same_partition(below, band)
                && below.side != band.side
                && frame.rows.of(below.seat) == Some(row + 1)
        })?;
        let left = Point::new(band.area.left.max(below.area.left), below.area.top);
        let right = band.area.right.min(below.area.right);
        Some(Wall { partition: band.partition, left, right })
    });
    let walls = walls.collect();
    (bands, walls)
}

fn band(cut: &Cut, frame: &Frame) -> Option<Band> {
    let &Cut { partition, seat, side, from, to } = cut;
    let top = frame.row_top(frame.rows.of(seat)?);
    let (left, right) = (frame.x(from), frame.x_end(to));
    let area = Area { left, top, right, bottom: top + frame.lane };
    Some(Band { partition, seat, side, from, to, area })
}

fn same_partition(one: &Band, other: &Band) -> bool {
    (one.partition, one.from) == (other.partition, other.from)
}

/// Writes who is cut off from whom.
pub(super) fn label(trace: &Trace, bands: &[Band], placer: &mut Placer) {
    let mut partitions: BTreeMap<(Time, u16), Vec<&Band>> = BTreeMap::new();
    for band in bands {
        partitions.entry((band.from, band.partition)).or_default().push(band);
    }
    for bands in partitions.values() {
        let (left, right) = (names(trace, bands, Side::Left), names(trace, bands, Side::Right));
        let full = places(&format!("partition: {left} | {right}"), bands);
        let short = || places("partition", bands);
        if !placer.put_best(full) && !placer.put_best(short()) {
            // It must be said, even if it is crossed.
            placer.put_first(short().into_iter().map(|(_, label)| label));
        }
    }
}

/// Where these words could stand: at the beginning, the middle or the end of a band, along its
/// upper or its lower side; nowhere, if they are wider than it, unless they are but one.
fn places(words: &str, bands: &[&Band]) -> Vec<(usize, Label)> {
    let wide = text::width(words, style::SMALL) + px(8);
    let is_fit = |band: &&&Band| wide <= band.area.width() || !words.contains(' ');
    let starts = bands.iter().filter(is_fit).flat_map(|band| {
        let area = band.area;
        let free = (area.width() - wide).max(px(0));
        [0, 50, 100].into_iter().flat_map(move |percent| {
            let left = area.left + px(4) + free * percent / 100;
            [area.top + px(9), area.bottom - px(9)].map(|y| Point::new(left, y))
        })
    });
    let label = |start| Label::beginning(LabelRole::Partition, words.into(), style::SMALL, start);
    starts.zip(0..).map(|(start, price)| (price, label(start))).collect()
}

fn names(trace: &Trace, bands: &[&Band], side: Side) -> String {
    let mut names = String::new();
    for band in bands.iter().filter(|band| band.side == side) {
        if !names.is_empty() {
            names.push(' ');
        }
        names.push_str(&name_of(trace, band.seat));
    }
    names
}
