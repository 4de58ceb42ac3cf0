//! What is written above and below the plot.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_observe::Time;
use conclave_observe::trace::Trace;

use super::axis::Unit;
use super::frame::Rows;
use crate::geometry::{Point, Px, px};
use crate::history::{Flight, History, is_within};
use crate::placer::Placer;
use crate::scene::{Label, LabelRole};
use crate::window::Window;
use crate::{Options, style, text};

/// What was run, in a line.
pub(super) fn title(trace: &Trace) -> String {
    let header = &trace.header;
    format!(
        "{}, {}, network {}, seed {}",
        header.algorithm,
        count(header.members.len(), "process", "processes"),
        header.network,
        header.seed
    )
}

/// What is missing from the picture.
pub(super) fn notices(trace: &Trace, window: &Window, rows: &Rows) -> Vec<String> {
    let hidden = trace.header.members.len() - rows.len();
    let silent = (hidden > 0).then(|| {
        format!("not drawn: {} to which nothing happens", count(hidden, "process", "processes"))
    });
    window.notice(trace).into_iter().chain(silent).collect()
}

/// Writes the title and what is missing; returns how far down it got.
pub(super) fn header(title: &str, notices: &[String], width: Px, placer: &mut Placer) -> Px {
    let top = paragraph((LabelRole::Title, style::TITLE), title, style::MARGIN, width, placer);
    let look = (LabelRole::Notice, style::CAPTION);
    notices.iter().fold(top, |top, line| paragraph(look, line, top, width, placer)) + px(8)
}

/// Writes what is to be said below; returns how far down it got.
pub(super) fn caption(lines: &[String], top: Px, width: Px, placer: &mut Placer) -> Px {
    let look = (LabelRole::Caption, style::CAPTION);
    lines.iter().fold(top, |top, line| paragraph(look, line, top, width, placer))
}

/// Writes lines of text; returns how far down they got.
pub(crate) fn paragraph(
    (role, size): (LabelRole, Px),
    words: &str,
    top: Px,
    width: Px,
    placer: &mut Placer,
) -> Px {
    let height = size.scaled(14, 10);
    text::wrap(words, size, width - style::MARGIN * 2).into_iter().fold(top, |top, line| {
        let start = Point::new(style::MARGIN, top + height.half());
        placer.put(Label::beginning(role, line, size, start));
        top + height
    })
}

/// The picture in words.
pub(super) fn description(
    trace: &Trace,
    options: &Options,
    window: &Window,
    history: &History,
) -> String {
    let unit = Unit::of(trace, Time::DELAY);
    let events = trace.records.iter().map(|record| &record.event);
    let seen = events.filter(|event| is_within(event.at, Some(event.at), window.ends()));
    let said: Vec<_> = seen.filter_map(|event| Some((event.seat, *event.what.said()?))).collect();
    let flights = history.flights.iter();
    let is_seen = |it: &&Flight| is_within(it.sent, it.until(), window.ends());
    let messages = flights.filter(is_seen).count();
    let gist = (trace.header.vocabulary.summary)(&said);
    let mut description = format!(
        "Space-time diagram of {} with {}, from {} to {} {}: {}, {}.",
        trace.header.algorithm,
        count(trace.header.members.len(), "process", "processes"),
        unit.show(window.from),
        unit.show(window.to),
        unit.name(),
        gist,
        count(messages, "message", "messages"),
    );
    for line in &options.caption {
        description.push(' ');
        description.push_str(line);
    }
    description
}

fn count(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}
