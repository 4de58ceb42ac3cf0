//! Messages to oneself: a small loop at the lifeline, with what they say.

use alloc::string::String;
use alloc::vec::Vec;

use conclave_observe::trace::{Trace, brief};

use super::arrows::kind_name;
use super::frame::Frame;
use crate::geometry::{Point, px};
use crate::history::History;
use crate::placer::Placer;
use crate::scene::{Label, LabelRole, OwnLoop};
use crate::{style, text};

/// Where more than that is to be seen, what processes say to themselves only hides it.
const ARROWS_MOST: usize = 30;

/// The loops: one for all that a process says to itself at one moment.
pub(super) fn lay(trace: &Trace, history: &History, frame: &Frame) -> Vec<OwnLoop> {
    let arrows = history.flights.iter().filter(|it| frame.sees(it.sent, it.until())).count();
    let own = history.own.iter().filter(|own| frame.sees(own.at, Some(own.at)));
    if frame.lane < style::LANE || arrows > ARROWS_MOST {
        return Vec::new();
    }
    let mut loops: Vec<OwnLoop> = Vec::new();
    for own in own {
        let Some(y) = frame.y(own.seat) else { continue };
        let said = own.text.as_deref().map(brief::brief);
        let words = said.unwrap_or_else(|| kind_name(trace, own.kind));
        match loops.iter_mut().find(|it| (it.seat, it.at) == (own.seat, own.at)) {
            Some(earlier) => {
                earlier.words.push_str(", ");
                earlier.words.push_str(&words);
            }
            None => loops.push(OwnLoop {
                seat: own.seat,
                at: own.at,
                words,
                place: Point::new(frame.x(own.at), y),
            }),
        }
    }
    loops
}

/// Writes what is said, above or below the loop.
pub(super) fn label(loops: &[OwnLoop], placer: &mut Placer) {
    for own in loops {
        let words: String = own.words.clone();
        let half = text::width(&words, style::TINY).half();
        let Point { x, y } = own.place;
        let places = [(0, -28), (1, -28), (-1, -28), (0, -40), (0, 24), (1, 24), (-1, 24)];
        let places = places.into_iter().enumerate().map(|(price, (side, dy))| {
            let center = Point::new(x + half * side, y + px(dy));
            (5 * price, Label::centred(LabelRole::Own, words.clone(), style::TINY, center))
        });
        let places: Vec<_> = places.collect();
        if !placer.put_best(places.clone()) {
            placer.put_first(places.into_iter().map(|(_, label)| label));
        }
    }
}
