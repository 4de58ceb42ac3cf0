//! Upkeep does not drown the picture.

use conclave_core::Kind;
use conclave_diagram::scene::{LabelRole, Sample, Scene};

use crate::gallery;
use crate::run::{BEAT, ELECTION, Run, only, scroll, suspected, time};

fn scene(run: &Run) -> Scene {
    Scene::of(&run.trace(), &scroll())
}

fn labelled(scene: &Scene) -> Vec<usize> {
    let labels = scene.labels.iter().filter_map(|label| match label.role {
        LabelRole::Message { arrow, .. } => Some(arrow),
        _ => None,
    });
    labels.collect()
}

#[test]
fn beats_of_all_to_all_are_drawn_faintly_and_without_words_and_nothing_else_is() {
    let mut run = Run::detector(3, 2);
    run.message(ELECTION, (1, 20), (2, 130), "Election");
    let scene = scene(&run);
    assert_eq!(only(&scene).arrows.len(), 13);
    for (index, arrow) in only(&scene).arrows.iter().enumerate() {
        assert_eq!(arrow.is_background, arrow.kind == BEAT);
        assert_eq!(labelled(&scene).contains(&index), arrow.kind != BEAT);
    }
    let samples: Vec<Sample> = scene.legend.iter().map(|entry| entry.sample).collect();
    assert_eq!(samples[..2], [Sample::Kind(ELECTION), Sample::Background(BEAT)]);
}

#[test]
fn a_token_that_wanders_for_ever_is_no_background() {
    let mut run = Run::detector(3, 0);
    for hop in 0..9 {
        let from = u32::try_from(hop % 3).unwrap() + 1;
        run.message(BEAT, (from, hop * 100), (from % 3 + 1, hop * 100 + 100), "token");
    }
    let scene = scene(&run);
    assert!(only(&scene).arrows.iter().all(|arrow| !arrow.is_background));
    assert_eq!(labelled(&scene).len(), 9);
}

#[test]
fn a_token_is_seen_among_beats_and_the_legend_tells_them_apart() {
    let mut run = Run::detector(3, 2);
    for hop in 0..9 {
        let from = u32::try_from(hop % 3).unwrap() + 1;
        run.message(ELECTION, (from, hop * 100), (from % 3 + 1, hop * 100 + 100), "token");
    }
    let mut trace = run.trace();
    trace.header.kinds[usize::from(ELECTION)] = Kind::upkeep("token").into();
    let scene = Scene::of(&trace, &scroll());
    for arrow in &only(&scene).arrows {
        assert_eq!(arrow.is_background, arrow.kind == BEAT);
    }
    assert!(labelled(&scene).len() >= 5, "{}", labelled(&scene).len());
    let samples: Vec<Sample> = scene.legend.iter().map(|entry| entry.sample).collect();
    assert_eq!(samples[..2], [Sample::Kind(ELECTION), Sample::Background(BEAT)]);
    // By any other name it is one kind of upkeep among others.
    trace.header.kinds[usize::from(ELECTION)] = Kind::upkeep("renewal").into();
    let scene = Scene::of(&trace, &scroll());
    assert!(only(&scene).arrows.iter().all(|arrow| arrow.is_background));
}

#[test]
fn the_same_beats_are_left_out_where_nothing_else_happens_and_kept_around_what_does() {
    let scene = Scene::of(&gallery::detector(), &scroll());
    let mut rounds: Vec<_> = only(&scene).arrows.iter().map(|arrow| arrow.sent).collect();
    rounds.dedup();
    // At the start; around the crash at 32.5 and the suspicions at 43; and at the end.
    let kept = [0, 10, 20, 30, 40, 50, 280, 290].map(|delays| time(delays * 100));
    assert_eq!(rounds, kept);
    let longest = only(&scene).folds.iter().map(|fold| fold.to - fold.from).max();
    assert_eq!(longest, Some(time(22_900)), "what is left out is folded");
    let says = |words: &str| scene.labels.iter().any(|label| label.text == words);
    assert!(says("quiet but for upkeep, shortened") && !says("quiet, shortened"));
}

#[test]
fn no_beat_is_left_out_of_a_run_in_which_something_happens_all_the_time() {
    let mut run = Run::detector(3, 10);
    for at in 0..10 {
        run.event(at * 1_000 + 500, 1, suspected(2));
    }
    let scene = scene(&run);
    assert_eq!(only(&scene).arrows.len(), 60);
    assert!(scene.labels.iter().any(|label| label.text == "quiet, shortened"));
}
