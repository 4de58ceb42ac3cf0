//! Crashes, pauses and partitions.

use conclave_diagram::Options;
use conclave_diagram::geometry::Px;
use conclave_diagram::scene::{MarkKind, Scene};
use conclave_observe::{LossCause, Side, What};

use crate::gallery;
use crate::run::{REQUEST, REQUESTED, Run, only, scroll, seat, time};

fn strokes(scene: &Scene, process: usize) -> Vec<(Px, Px, bool)> {
    let strokes = only(scene).lifelines[process - 1].strokes.iter();
    strokes.map(|stroke| (stroke.left, stroke.right, stroke.is_paused)).collect()
}

#[test]
fn a_lifeline_ends_with_a_crash_and_begins_again_with_the_return() {
    let mut run = Run::new("central", 2);
    run.event(0, 1, REQUESTED).event(400, 1, REQUESTED);
    run.event(100, 2, What::Crashed).event(300, 2, What::Returned);
    let scene = Scene::of(&run.trace(), &scroll());
    let (crash, back) = (only(&scene).ticks[1].x, only(&scene).ticks[3].x);
    let (left, right) = (only(&scene).plot.left, only(&scene).plot.right);
    assert_eq!(strokes(&scene, 2), [(left, crash, false), (back, right, false)]);
    assert_eq!(strokes(&scene, 1), [(left, right, false)]);
    let marks: Vec<_> =
        only(&scene).marks.iter().map(|mark| (mark.seat, mark.at, mark.kind)).collect();
    assert_eq!(
        marks,
        [(seat(2), time(100), MarkKind::Crash), (seat(2), time(300), MarkKind::Return)]
    );
    assert_eq!(only(&scene).marks[0].place.x, crash);
}

#[test]
fn who_never_returns_has_no_lifeline_any_more() {
    let mut run = Run::new("central", 2);
    run.event(0, 1, REQUESTED).event(100, 2, What::Crashed).event(200, 1, REQUESTED);
    let scene = Scene::of(&run.trace(), &scroll());
    assert_eq!(strokes(&scene, 2), [(only(&scene).plot.left, only(&scene).ticks[1].x, false)]);
    let later = Options { from: Some(time(150)), ..scroll() };
    let scene = Scene::of(&run.trace(), &later);
    assert_eq!((strokes(&scene, 2), only(&scene).marks.len()), (vec![], 0));
}

#[test]
fn a_lifeline_is_dotted_during_a_pause() {
    let mut run = Run::new("central", 1);
    run.event(0, 1, REQUESTED).event(100, 1, What::Paused);
    run.event(200, 1, What::Resumed).event(300, 1, REQUESTED);
    let scene = Scene::of(&run.trace(), &scroll());
    let [_, paused, resumed, _] = only(&scene).ticks[..] else { panic!("0 to 3") };
    assert_eq!(
        strokes(&scene, 1),
        [
            (only(&scene).plot.left, paused.x, false),
            (paused.x, resumed.x, true),
            (resumed.x, only(&scene).plot.right, false)
        ]
    );
}

#[test]
fn a_partition_is_a_band_over_those_it_names_and_a_wall_between_its_sides() {
    let mut run = Run::new("central", 5);
    run.partition(&[1, 2], &[3, 4], 100, 300).event(400, 5, REQUESTED);
    let scene = Scene::of(&run.trace(), &scroll());
    let bands: Vec<_> =
        only(&scene).bands.iter().map(|band| (band.seat, band.side, band.from, band.to)).collect();
    let (from, to) = (time(100), Some(time(300)));
    assert_eq!(
        bands,
        [
            (seat(1), Side::Left, from, to),
            (seat(2), Side::Left, from, to),
            (seat(3), Side::Right, from, to),
            (seat(4), Side::Right, from, to),
        ]
    );
    let (left, right) = (only(&scene).ticks[0].x, only(&scene).ticks[2].x);
    assert!(
        only(&scene).bands.iter().all(|band| (band.area.left, band.area.right) == (left, right))
    );
    let [wall] = &only(&scene).walls[..] else { panic!("one wall") };
    assert_eq!(
        (wall.left.x, wall.left.y, wall.right),
        (left, only(&scene).bands[2].area.top, right)
    );
    assert!(scene.labels.iter().any(|label| label.text == "partition: p1 p2 | p3 p4"));
}

#[test]
fn what_a_partition_loses_ends_at_the_cut_and_at_the_time_that_is_told() {
    let mut run = Run::new("central", 4);
    run.partition(&[1, 2], &[3, 4], 100, 400).event(500, 1, REQUESTED);
    let late = run.sent(REQUEST, (1, 50), 4, "Request(1)");
    run.lost(late, (1, 150), 4, LossCause::Partition);
    for (at, from, to) in [(150, 4, 1), (250, 2, 3), (300, 1, 3)] {
        let message = run.sent(REQUEST, (from, at), to, "Request(1)");
        run.lost(message, (from, at), to, LossCause::Partition);
    }
    let scene = Scene::of(&run.trace(), &scroll());
    let wall = only(&scene).walls[0].left.y;
    assert_eq!(only(&scene).arrows.len(), 4);
    for arrow in &only(&scene).arrows {
        assert_eq!(arrow.head.y, wall, "{arrow:?}");
    }
    let [told, now, ..] = &only(&scene).arrows[..] else { panic!("four") };
    assert_eq!(told.head.x, now.tail.x);
}

#[test]
fn a_partition_that_is_too_short_for_its_names_is_still_called_one() {
    let mut run = Run::new("central", 4);
    run.partition(&[1, 2], &[3, 4], 100, 110).event(400, 1, REQUESTED);
    let scene = Scene::of(&run.trace(), &scroll());
    assert!(scene.labels.iter().any(|label| label.text == "partition"));
}

#[test]
fn a_partition_that_never_heals_lasts_to_the_edge() {
    let mut run = Run::new("central", 2);
    run.event(0, 1, What::Cut { partition: 3, side: Side::Left });
    run.event(0, 2, What::Cut { partition: 3, side: Side::Right });
    run.event(200, 1, What::Healed { partition: 3 }).event(300, 1, REQUESTED);
    let scene = Scene::of(&run.trace(), &scroll());
    let ends: Vec<_> = only(&scene).bands.iter().map(|band| (band.to, band.area.right)).collect();
    assert_eq!(ends, [(Some(time(200)), only(&scene).ticks[2].x), (None, only(&scene).plot.right)]);
}

#[test]
fn the_legend_explains_what_is_there_and_nothing_else() {
    let words = |scene: &Scene| -> Vec<String> {
        let labels = scene.labels.iter();
        let legend =
            labels.filter(|label| label.role == conclave_diagram::scene::LabelRole::Legend);
        legend.map(|label| label.text.clone()).collect()
    };
    let lone = Scene::of(&gallery::lone_entry(), &scroll());
    assert_eq!(words(&lone), ["Request", "Reply", "waiting", "holding, #fence"]);
    let crash = Scene::of(&gallery::crash(), &scroll());
    assert_eq!(words(&crash), ["Request", "Reply", "waiting", "lost", "paused"]);
    assert_eq!(crash.legend.len(), 5);
}
