//! Messages: arrows from the true time of sending to the true time of receipt.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use conclave_core::{KindIndex, Phase, Seat};
use conclave_observe::trace::{Trace, brief};
use conclave_observe::{LossCause, Time};

use super::frame::Frame;
use crate::geometry::{Direction, Point, Px, Room, px};
use crate::history::{Cut, Flight, History, is_within};
use crate::placer::Placer;
use crate::scene::{Arrow, Fate, Label, LabelRole};
use crate::{style, text};

/// How far a second arrow between the same ends is bent aside.
const BOW: Px = px(13);
/// No text longer than that is written along an arrow.
const LETTERS_MOST: usize = 30;

/// Places the arrows of all messages that are seen.
pub(super) fn lay(trace: &Trace, history: &History, frame: &Frame) -> Vec<Arrow> {
    let mut twins: BTreeMap<(Seat, Seat, Px, Px), i64> = BTreeMap::new();
    let flights = history.flights.iter();
    flights
        .filter(|flight| frame.sees(flight.sent, flight.until()))
        .filter_map(|flight| {
            let mut arrow = arrow(trace, flight, history, frame)?;
            let twin = twins
                .entry((arrow.from, arrow.to, arrow.tail.x, arrow.head.x))
                .and_modify(|twin| *twin += 1)
                .or_default();
            // Straight, then by turns to one side and the other, further each time.
            arrow.bow = BOW * ((*twin + 1) / 2) * if *twin % 2 == 1 { 1 } else { -1 };
            Some(arrow)
        })
        .collect()
}

fn arrow(trace: &Trace, flight: &Flight, history: &History, frame: &Frame) -> Option<Arrow> {
    let sender = Point::new(frame.scale.x(flight.sent), frame.y(flight.from)?);
    let arrival = match flight.fate {
        // Nothing is known of its end but that it comes after that of the picture.
        Fate::InFlight if frame.is_last => {
            let least = frame.right + frame.scale.width(history.delay) / 4;
            frame.scale.x(flight.arrival).max(least)
        }
        Fate::InFlight => {
            let least = Time(frame.end.0.saturating_add(history.delay.0 / 4));
            frame.scale.x(flight.arrival.max(least))
        }
        Fate::Received { .. } | Fate::Lost { .. } => frame.scale.x(flight.arrival),
    };
    let receiver = Point::new(arrival, frame.y(flight.to)?);
    let end = match flight.fate {
        Fate::Lost { cause: LossCause::Partition } => {
            let cut = cut_between(flight, history, frame);
            cut.map_or_else(
                || lost_on_way(flight, sender, receiver),
                |cut| match flight.is_told {
                    // It came as far as the cut, and would have arrived then.
                    true => Point::new(receiver.x, cut),
                    false => Point::new(sender.x_at(receiver, cut), cut),
                },
            )
        }
        Fate::Lost { cause: LossCause::Network } => lost_on_way(flight, sender, receiver),
        _ => receiver,
    };
    let (enters, leaves) = (sender.x < frame.left, end.x > frame.right);
    Some(Arrow {
        message: flight.message,
        kind: flight.kind,
        from: flight.from,
        to: flight.to,
        sent: flight.sent,
        fate: flight.fate,
        is_copy: flight.is_copy,
        is_background: flight.is_background,
        text: flight.text.clone().unwrap_or_else(|| kind_name(trace, flight.kind)),
        tail: if enters { sender.on_way(end, frame.left) } else { sender },
        head: if leaves { sender.on_way(end, frame.right) } else { end },
        enters,
        leaves,
        bow: Px::ZERO,
    })
}

fn lost_on_way(flight: &Flight, sender: Point, receiver: Point) -> Point {
    sender.towards(receiver, flight.lost_after().into())
}

/// How far down the partition that loses a message is drawn: where the side of its receiver begins.
fn cut_between(flight: &Flight, history: &History, frame: &Frame) -> Option<Px> {
    let at = if flight.is_told { flight.arrival } else { flight.sent };
    let lasts = |cut: &&Cut| is_within(cut.from, cut.to, (at, at));
    let side = |partition: u16, seat: Seat| {
        let mut cuts = history.cuts.iter().filter(lasts);
        cuts.find(|cut| (cut.partition, cut.seat) == (partition, seat)).map(|cut| cut.side)
    };
    let partition = history.cuts.iter().filter(lasts).map(|cut| cut.partition).find(|&it| {
        let sides = (side(it, flight.from), side(it, flight.to));
        matches!(sides, (Some(from), Some(to)) if from != to)
    })?;
    let own = side(partition, flight.to);
    let (from, to) = (frame.rows.of(flight.from)?, frame.rows.of(flight.to)?);
    let is_own = |row: &usize| {
        frame.rows.seats().get(*row).is_some_and(|&seat| side(partition, seat) == own)
    };
    // From the receiver on, back to the first who is not on its side.
    match from < to {
        true => (from..to).rev().find(|row| !is_own(row)).map(|row| frame.row_top(row + 1)),
        false => (to + 1..=from).find(|row| !is_own(row)).map(|row| frame.row_top(row)),
    }
}

/// The name of a kind; a number, if the header does not name it.
pub(super) fn kind_name(trace: &Trace, kind: KindIndex) -> String {
    let known = trace.header.kinds.get(usize::from(kind));
    known.map_or_else(|| format!("kind {kind}"), |kind| kind.name.to_string())
}

/// Tells the placer where an arrow is, and that its head must stay visible; what is drawn faintly
/// may be written over.
pub(super) fn reserve(arrow: &Arrow, placer: &mut Placer) {
    if arrow.is_background {
        return;
    }
    // A bent arrow is three straight ones, near enough.
    let stops = [0, 33, 67, 100].map(|percent| on(arrow, percent));
    let width = style::of_kind(arrow.kind).width;
    match arrow.bow {
        Px::ZERO => placer.take_arrow(&[arrow.tail, arrow.head], width),
        _ => placer.take_arrow(&stops, width),
    }
    match arrow.fate {
        _ if arrow.leaves => {}
        Fate::Lost { .. } => placer.take(Room::square(arrow.head, style::LOSS_HALF)),
        _ => {
            let direction = Direction::between(stops[2], arrow.head);
            let back = arrow.head.moved(direction, -style::HEAD, Px::ZERO);
            placer.take(Room::line(back, arrow.head, style::HEAD_HALF));
        }
    }
}

/// The place that far along an arrow, bent as it is.
fn on(arrow: &Arrow, percent: i64) -> Point {
    let direction = Direction::between(arrow.tail, arrow.head);
    let aside = arrow.bow * (4 * percent * (100 - percent)) / 10_000;
    arrow.tail.towards(arrow.head, percent).moved(direction, Px::ZERO, aside)
}

/// Writes along each arrow what it says: in full, or its values, or at least its kind; if there is
/// no room for either, its line style and the legend have to do. They must do for what is drawn
/// faintly.
pub(super) fn label(trace: &Trace, arrows: &[Arrow], strip: usize, placer: &mut Placer) {
    let foreground = arrows.iter().enumerate().filter(|(_, arrow)| !arrow.is_background);
    for (index, arrow) in foreground {
        let role = LabelRole::Message { strip, arrow: index };
        let copy = if arrow.is_copy { "copy: " } else { "" };
        let full = format!("{copy}{}", brief::plain(&arrow.text));
        let values = format!("{copy}{}", brief::brief(&arrow.text));
        let short = if arrow.is_copy { "copy".into() } else { kind_name(trace, arrow.kind) };
        let bare = if is_decided_by_values(trace, arrow) { bare(&values) } else { None };
        let texts: Vec<String> = [full, values].into_iter().chain(bare).chain([short]).collect();
        let fitting = texts.iter().filter(|text| text.chars().count() <= LETTERS_MOST);
        for words in fitting {
            if placer.put_best(places(arrow, role, words)) {
                break;
            }
        }
    }
}

/// Whether it matters more what a message says than of which kind it is, which its line tells too:
/// so it is where ids and terms decide.
fn is_decided_by_values(trace: &Trace, arrow: &Arrow) -> bool {
    let kind = trace.header.kinds.get(usize::from(arrow.kind));
    kind.is_some_and(|kind| kind.phase == Phase::Elect) && !arrow.is_copy
}

/// What is in the brackets of `Election(p3, p80)`.
fn bare(values: &str) -> Option<String> {
    let (_, inner) = values.strip_suffix(')')?.split_once('(')?;
    Some(inner.into())
}

/// Where along an arrow a text could stand, and how much worse than in its middle that would be.
fn places(arrow: &Arrow, role: LabelRole, words: &str) -> impl Iterator<Item = (usize, Label)> {
    let direction = Direction::between(arrow.tail, arrow.head);
    let length = arrow.tail.distance(arrow.head);
    let half = text::width(words, style::SMALL).half();
    let aside = style::SMALL.scaled(6, 10) + px(2);
    let percents =
        [(50, 0), (42, 4), (58, 4), (34, 8), (66, 8), (26, 16), (74, 16), (18, 24), (82, 24)];
    percents
        .into_iter()
        .filter(move |&(percent, _)| {
            let (before, after) = (length * percent / 100, length * (100 - percent) / 100);
            half + px(6) <= before && half + style::HEAD <= after
        })
        .flat_map(move |(percent, price)| [(percent, price, -aside), (percent, price + 10, aside)])
        .map(move |(percent, price, aside)| {
            let center = on(arrow, percent).moved(direction, Px::ZERO, aside);
            (price, Label::tilted(role, words.into(), style::SMALL, center, direction))
        })
}
