//! What line styles and bars mean.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_core::KindIndex;
use conclave_observe::trace::Trace;

use super::arrows::kind_name;
use crate::geometry::{Point, Px, px};
use crate::history::History;
use crate::placer::Placer;
use crate::scene::{DelaySort, Fate, Label, LabelRole, LegendEntry, Sample, Scene};
use crate::{style, text};

/// How wide a sample is.
pub(crate) const SAMPLE: Px = px(46);
const LINE: Px = px(26);

/// Explains what the scene shows, and nothing else; returns how far down it got.
pub(super) fn lay(
    trace: &Trace,
    history: &History,
    scene: &mut Scene,
    top: Px,
    placer: &mut Placer,
) -> Px {
    let (mut x, mut y) = (style::MARGIN, top + LINE.half());
    let entries = entries(trace, history, scene);
    if entries.is_empty() {
        return top;
    }
    for (sample, words) in entries {
        let wide = SAMPLE + px(8) + text::width(&words, style::CAPTION) + px(22);
        if x + wide > scene.width && x > style::MARGIN {
            (x, y) = (style::MARGIN, y + LINE);
        }
        scene.legend.push(LegendEntry { sample, place: Point::new(x, y) });
        let start = Point::new(x + SAMPLE + px(8), y);
        placer.put(Label::beginning(LabelRole::Legend, words, style::CAPTION, start));
        x = x + wide;
    }
    y + LINE
}

fn entries(trace: &Trace, history: &History, scene: &Scene) -> Vec<(Sample, String)> {
    let strips = || scene.strips.iter();
    let arrows = || strips().flat_map(|strip| &strip.arrows);
    let kinds: BTreeSet<(KindIndex, bool)> =
        arrows().map(|arrow| (arrow.kind, arrow.is_background)).collect();
    let kinds = kinds.into_iter().map(|(kind, is_background)| {
        let sample = if is_background { Sample::Background(kind) } else { Sample::Kind(kind) };
        (sample, kind_name(trace, kind))
    });
    let quiet =
        if history.is_thinned { "quiet but for upkeep, shortened" } else { "quiet, shortened" };
    let has_delay = |sort| strips().flat_map(|it| &it.brackets).any(|it| it.sort == sort);
    let is_lost = |fate: &Fate| matches!(fate, Fate::Lost { .. });
    let others = [
        (Sample::Lost, "lost", arrows().any(|arrow| is_lost(&arrow.fate))),
        (Sample::Copy, "copy made by the network", arrows().any(|arrow| arrow.is_copy)),
        (Sample::Paused, "paused", is_paused(scene)),
        (
            Sample::Timer,
            "timer that runs out",
            strips().any(|it| it.timers.iter().any(|it| it.runs_out)),
        ),
        (Sample::Delay(DelaySort::Client), "client delay", has_delay(DelaySort::Client)),
        (Sample::Delay(DelaySort::Sync), "synchronisation delay", has_delay(DelaySort::Sync)),
        (Sample::Own, "says to itself", strips().any(|it| !it.own.is_empty())),
        (Sample::Fold, quiet, strips().any(|it| !it.folds.is_empty())),
    ];
    let others = others.into_iter().filter(|&(_, _, is_seen)| is_seen);
    let others = others.map(|(sample, words, _)| (sample, words.into()));
    kinds.chain(bars(trace, scene)).chain(others).chain(marks(scene)).collect()
}

/// One of each sort of bar, in the order in which the family names them.
fn bars(trace: &Trace, scene: &Scene) -> Vec<(Sample, String)> {
    let words = trace.header.vocabulary.words.iter();
    let changes = words.flat_map(|word| word.picture.bars);
    let mut samples: Vec<(Sample, String)> = Vec::new();
    for sort in changes.map(|change| change.sort()) {
        let bars = || scene.strips.iter().flat_map(|strip| &strip.bars);
        let seen = || bars().filter(|bar| bar.kind.sort.name == sort.name);
        let sample = Sample::Bar(sort);
        if seen().next().is_none() || samples.iter().any(|(other, _)| *other == sample) {
            continue;
        }
        let is_numbered = seen().any(|bar| bar.kind.is_numbered());
        let words = match sort.number.filter(|_| is_numbered) {
            Some(number) => format!("{}, #{number}", sort.name),
            None => sort.name.into(),
        };
        samples.push((sample, words));
    }
    samples
}

/// One of each shape, in the order in which they first appear.
fn marks(scene: &Scene) -> Vec<(Sample, String)> {
    let mut samples: Vec<(Sample, String)> = Vec::new();
    for mark in scene.strips.iter().flat_map(|strip| &strip.marks) {
        let Some(words) = mark.kind.meaning() else { continue };
        if samples.iter().all(|(_, other)| other != words) {
            samples.push((Sample::Mark(mark.kind), words.into()));
        }
    }
    samples
}

fn is_paused(scene: &Scene) -> bool {
    let lifelines = scene.strips.iter().flat_map(|strip| &strip.lifelines);
    lifelines.flat_map(|lifeline| &lifeline.strokes).any(|stroke| stroke.is_paused)
}
