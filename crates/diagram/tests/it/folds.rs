//! Quiet stretches are folded, and nothing but quiet stretches.

use conclave_diagram::geometry::{Px, px};
use conclave_diagram::scene::{Fold, LabelRole, Scene};
use conclave_observe::What;
use conclave_observe::trace::Trace;

use crate::gallery;
use crate::run::{REQUEST, Run, only, random, scroll, time};

#[test]
fn a_long_quiet_stretch_is_folded_and_its_length_is_written() {
    let scene = Scene::of(&gallery::quiet(), &scroll());
    let folds: Vec<_> = only(&scene).folds.iter().map(|fold| (fold.from, fold.to)).collect();
    assert_eq!(folds, [(time(400), time(1_800)), (time(2_200), time(1_000_000))]);
    let words: Vec<_> = scene.labels.iter().filter(|label| label.role == LabelRole::Fold).collect();
    assert_eq!(
        words.iter().map(|label| &label.text[..]).collect::<Vec<_>>(),
        ["14 delays", "9978 delays"]
    );
    for (fold, label) in only(&scene).folds.iter().zip(words) {
        let center = label.room.center.x;
        assert!(fold.left < center && center < fold.right);
    }
}

#[test]
fn a_fold_takes_the_same_room_however_long_it_is() {
    let width = |length: u64| -> (Px, usize) {
        let mut run = Run::new("central", 1);
        run.entry(1, (0, 100, 200), 1).entry(1, (length, length + 100, length + 200), 2);
        let scene = Scene::of(&run.trace(), &scroll());
        (only(&scene).plot.right - only(&scene).plot.left, only(&scene).folds.len())
    };
    assert_eq!(width(1_000), width(1_000_000_000));
    assert_eq!((width(1_000).1, width(500).1), (1, 0));
    assert!(width(1_000).0 < px(1_200));
}

/// A few messages, now and then.
fn sparse(seed: u64) -> Trace {
    let mut run = Run::new("central", 2);
    let mut sent = random(seed, 0..20_000);
    for at in (0..20).map(|_| sent()) {
        run.message(REQUEST, (1, at), (2, at + 100), "Request");
    }
    run.trace()
}

#[test]
fn nothing_happens_within_a_fold() {
    let mut folds = 0;
    for trace in (1..20).map(sparse).chain([gallery::quiet()]) {
        let scene = Scene::of(&trace, &scroll());
        for fold in &only(&scene).folds {
            let inside = |at| fold.from < at && at < fold.to;
            assert!(!trace.records.iter().any(|record| inside(record.event.at)));
        }
        folds += only(&scene).folds.len();
    }
    assert!(folds > 100, "{folds}");
}

#[test]
fn timers_that_fire_unseen_do_not_keep_a_stretch_from_being_folded() {
    let mut run = Run::new("central", 1);
    run.entry(1, (0, 100, 200), 1).entry(1, (9_000, 9_100, 9_200), 2);
    for at in 2..90 {
        run.event(at * 100, 1, What::TimerFired);
    }
    assert_eq!(only(&Scene::of(&run.trace(), &scroll())).folds.len(), 1);
}

#[test]
fn no_tick_is_within_a_fold() {
    let scene = Scene::of(&gallery::quiet(), &scroll());
    assert!(only(&scene).ticks.len() > 9);
    for fold in &only(&scene).folds {
        assert!(only(&scene).ticks.iter().all(|tick| tick.at <= fold.from || tick.at >= fold.to));
    }
}

#[test]
fn the_number_of_a_bar_is_clear_of_what_is_torn_out_of_it() {
    let mut run = Run::new("central", 2);
    // Two stretches are torn out of the first bar, and the middle out of the second.
    run.entry(1, (0, 100, 9_000), 1).message(REQUEST, (1, 4_000), (2, 4_100), "Request");
    run.entry(2, (9_000, 9_100, 9_900), 2);
    let scene = Scene::of(&run.trace(), &scroll());
    let is_number = |role| matches!(role, LabelRole::Fence | LabelRole::FenceAside);
    let numbers: Vec<_> = scene.labels.iter().filter(|label| is_number(label.role)).collect();
    assert_eq!(numbers.len(), 2);
    assert_eq!(only(&scene).folds.len(), 3);
    for label in numbers {
        let (left, right) = label.room.sides();
        for (from, to) in only(&scene).folds.iter().map(Fold::tear) {
            assert!(right <= from || left >= to, "{} is cut", label.text);
        }
    }
}
