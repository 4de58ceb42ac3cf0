//! A recorded run as a space-time diagram.
//!
//! Time runs from left to right, one horizontal lifeline per process; a message is a slanted arrow
//! from the true time of its sending to the true time of its receipt. In three stages, each of
//! which is a value that can be looked at:
//!
//! 1. a trace tells what happened moment by moment; the history joins it into things that last:
//!    journeys of messages, waiting, holding, pauses, partitions;
//! 2. the [layout](scene::Scene::of) decides which part of the run is shown, folds its quiet
//!    stretches and gives everything its place: a [`Scene`](scene::Scene);
//! 3. a thin writer turns the scene into [SVG](scene::Scene::to_svg).
//!
//! Besides, [`plot`](plot::plot) draws figures of many runs as curves, in the same style.
//!
//! All of it is integer arithmetic on the trace: same trace, same bytes, on any machine.

#![no_std]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

extern crate alloc;

pub mod geometry;
pub mod plot;
pub mod scene;

mod fold;
mod history;
mod layout;
mod placer;
mod sheet;
mod strips;
mod style;
mod svg;
mod text;
mod window;

pub use style::LOOKS;

use alloc::string::String;
use alloc::vec::Vec;

use conclave_observe::Time;
use conclave_observe::trace::Trace;

/// What is to be drawn of a trace, and what is to be written around it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The first time to be seen; the run's beginning if there is none.
    pub from: Option<Time>,
    /// The last time to be seen; the run's end if there is none.
    pub to: Option<Time>,
    /// The title; made from the trace's header if there is none.
    pub title: Option<String>,
    /// Lines below the picture, such as the verdict and its reason; long ones are wrapped.
    pub caption: Vec<String>,
    /// What it is drawn for.
    pub medium: Medium,
    /// Whether brackets show how long it took to get in: client and synchronisation delay.
    pub delays: bool,
}

/// What a picture is drawn for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Medium {
    /// A page: no wider than one, and cut into strips if the run needs more room.
    #[default]
    Page,
    /// A window that can be scrolled: the run in one strip, however wide.
    Scroll,
    /// A slide: 16 to 9, in large type, with as much of the run as can be read from afar.
    Slide,
}

/// Draws a trace as SVG.
///
/// Without a window, a run that would not fit into a picture is cut: its end is drawn, because that
/// is where the verdict is, and the picture says how much is missing.
pub fn draw(trace: &Trace, options: &Options) -> String {
    scene::Scene::of(trace, options).to_svg()
}
