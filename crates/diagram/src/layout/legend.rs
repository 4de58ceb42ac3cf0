//! What line styles and bars mean.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_core::KindIndex;
use conclave_observe::trace::Trace;

use super::arrows::kind_name;
use crate::geometry::{Point, Px, px};
use crate::placer::Placer;
use crate::scene::{BarKind, Fate, Label, LabelRole, LegendEntry, Sample, Scene};
use crate::{style, text};

/// How wide a sample is.
pub(crate) const SAMPLE: Px = px(46);
const LINE: Px = px(26);

/// Explains what the scene shows, and nothing else; returns how far down it got.
pub(super) fn lay(trace: &Trace, scene: &mut Scene, top: Px, placer: &mut Placer) -> Px {
    let (mut x, mut y) = (style::MARGIN, top + LINE.half());
    let entries = entries(trace, scene);
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

fn entries(trace: &Trace, scene: &Scene) -> Vec<(Sample, String)> {
    let kinds: BTreeSet<KindIndex> = scene.arrows.iter().map(|arrow| arrow.kind).collect();
    let kinds = kinds.into_iter().map(|kind| (Sample::Kind(kind), kind_name(trace, kind)));
    let has_bar = |is_meant: fn(&BarKind) -> bool| scene.bars.iter().any(|bar| is_meant(&bar.kind));
    let is_lost = |fate: &Fate| matches!(fate, Fate::Lost { .. });
    let others = [
        (Sample::Waiting, "waiting", has_bar(|kind| *kind == BarKind::Waiting)),
        (Sample::Holding, "holding, #fence", has_bar(|kind| *kind != BarKind::Waiting)),
        (Sample::Lost, "lost", scene.arrows.iter().any(|arrow| is_lost(&arrow.fate))),
        (Sample::Copy, "copy made by the network", scene.arrows.iter().any(|arrow| arrow.is_copy)),
        (Sample::Paused, "paused", is_paused(scene)),
        (Sample::Fold, "quiet, shortened", !scene.folds.is_empty()),
    ];
    let others = others.into_iter().filter(|&(_, _, is_seen)| is_seen);
    kinds.chain(others.map(|(sample, words, _)| (sample, words.into()))).collect()
}

fn is_paused(scene: &Scene) -> bool {
    let mut strokes = scene.lifelines.iter().flat_map(|lifeline| &lifeline.strokes);
    strokes.any(|stroke| stroke.is_paused)
}
