//! A picture is no wider than a page: what needs more room goes on in a strip below.

use std::collections::BTreeSet;

use conclave_diagram::Options;
use conclave_diagram::geometry::px;
use conclave_diagram::scene::{LabelRole, Scene, Strip};
use conclave_observe::Time;
use conclave_observe::trace::Trace;

use crate::gallery;
use crate::run::{REQUEST, Run, contend, faulty, only, random, scroll, time};

fn traces() -> Vec<Trace> {
    let crowds = (1..6).map(|seed| contend(5, 4, "exponential:1", random(seed, 1..400)));
    let pictures = gallery::all().into_iter().map(|(_, trace, _)| trace);
    pictures.chain((0..10).map(faulty)).chain(crowds).collect()
}

#[test]
fn no_picture_is_wider_than_a_page() {
    let mut wider = 0;
    for trace in traces() {
        let page = Scene::of(&trace, &Options::default());
        assert!(page.width <= px(1_700), "{}: {}", page.title, page.width);
        wider += usize::from(Scene::of(&trace, &scroll()).width > px(1_700));
    }
    assert!(wider > 5, "{wider} would be wider");
}

/// All that happens at some moment.
fn moments(strip: &Strip) -> impl Iterator<Item = (Time, usize)> {
    strip.marks.iter().map(|mark| (mark.at, mark.seat.index()))
}

#[test]
fn strips_show_together_what_one_strip_shows() {
    let mut cut = 0;
    for trace in traces() {
        let (page, whole) = (Scene::of(&trace, &Options::default()), Scene::of(&trace, &scroll()));
        let whole = only(&whole);
        assert_eq!(page.window, whole.window);
        let strips = || page.strips.iter();
        let arrows: BTreeSet<_> = strips().flat_map(|it| &it.arrows).map(|it| it.message).collect();
        assert_eq!(arrows, whole.arrows.iter().map(|it| it.message).collect::<BTreeSet<_>>());
        // Every arrowhead is drawn once, and so is every mark.
        let heads = strips().flat_map(|it| &it.arrows).filter(|arrow| !arrow.leaves).count();
        assert_eq!(heads, whole.arrows.iter().filter(|arrow| !arrow.leaves).count());
        let mut marks: Vec<_> = strips().flat_map(moments).collect();
        let mut expected: Vec<_> = moments(whole).collect();
        marks.sort_unstable();
        expected.sort_unstable();
        assert_eq!(marks, expected, "{}", page.title);
        cut += page.strips.len() - 1;
    }
    assert!(cut > 10, "{cut}");
}

#[test]
fn strips_lie_below_each_other_and_time_goes_on_from_one_to_the_next() {
    let scene = Scene::of(&contend(3, 6, "unit", || 100), &Options::default());
    assert!(scene.strips.len() > 1);
    for pair in scene.strips.windows(2) {
        assert!(pair[0].plot.bottom < pair[1].plot.top);
        assert!(pair[0].window.1 < pair[1].window.0);
        let width = |strip: &Strip| strip.ticks[1].x - strip.ticks[0].x;
        assert_eq!(width(&pair[0]), width(&pair[1]), "the same time is as wide in both");
    }
    let units = scene.labels.iter().filter(|label| label.role == LabelRole::Axis);
    assert_eq!(units.count(), 1, "what time is counted in is said once");
}

#[test]
fn what_lasts_over_a_cut_is_open_at_both_edges() {
    let mut run = Run::new("central", 2);
    run.entry(1, (0, 100, 4_000), 1);
    for at in (0..40).map(|at| at * 100) {
        run.message(REQUEST, (2, at), (1, at + 90), "Request");
    }
    let scene = Scene::of(&run.trace(), &Options::default());
    assert!(scene.strips.len() > 1);
    for pair in scene.strips.windows(2) {
        let held =
            |strip: &Strip| strip.bars.iter().find(|bar| bar.to == Some(time(4_000))).copied();
        let (above, below) = (held(&pair[0]).unwrap(), held(&pair[1]).unwrap());
        assert_eq!((above.area.right, below.area.left), (pair[0].plot.right, pair[1].plot.left));
    }
}

#[test]
fn a_quiet_stretch_between_two_strips_is_told() {
    let mut run = Run::new("central", 2);
    for at in (0..12).chain(500..512).map(|at| at * 100) {
        run.message(REQUEST, (1, at), (2, at + 90), "Request");
    }
    let scene = Scene::of(&run.trace(), &Options::default());
    assert_eq!(scene.strips.len(), 2);
    assert_eq!(scene.strips[1].quiet_before, Some(time(50_000) - time(1_190)));
    assert!(scene.labels.iter().any(|label| label.text.starts_with("488.1 delays later")));
}
