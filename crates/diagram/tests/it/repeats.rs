//! A run that ends in a loop.

use conclave_diagram::Options;
use conclave_diagram::scene::{LabelRole, Scene};
use conclave_observe::trace::Trace;

use crate::run::{REQUEST, Run, only, scroll, time};

/// A token goes round; the records from the third on are one turn.
fn looping() -> Trace {
    let mut run = Run::new("token-ring", 3);
    for (hop, from, to) in [(0, 1, 2), (1, 2, 3), (2, 3, 1), (3, 1, 2)] {
        run.message(REQUEST, (from, hop * 100), (to, hop * 100 + 100), "Token");
    }
    let mut trace = run.trace();
    trace.header.repeats_from = Some(2);
    trace
}

fn words(scene: &Scene) -> Vec<&str> {
    let labels = scene.labels.iter().filter(|label| label.role == LabelRole::Repeat);
    labels.map(|label| &*label.text).collect()
}

#[test]
fn a_loop_lies_between_two_lines_across_all_processes() {
    let trace = looping();
    let scene = Scene::of(&trace, &scroll());
    let repeat = only(&scene).repeat.unwrap();
    assert_eq!((repeat.from, repeat.to), (trace.records[2].event.at, time(400)));
    assert_eq!(repeat.edges().collect::<Vec<_>>(), [repeat.left, repeat.right]);
    assert!(only(&scene).plot.left < repeat.left && repeat.left < repeat.right);
    assert_eq!(words(&scene), ["all this again and again, for ever"]);
    assert!(scene.to_svg().contains("class=\"repeat\""));
}

#[test]
fn a_window_shows_only_the_lines_that_are_in_it() {
    let options = Options { from: Some(time(200)), to: Some(time(300)), ..scroll() };
    let repeat = only(&Scene::of(&looping(), &options)).repeat.unwrap();
    assert_eq!(repeat.edges().count(), 0);
    let before = Options { to: Some(time(50)), ..scroll() };
    assert_eq!(only(&Scene::of(&looping(), &before)).repeat, None);
}

#[test]
fn a_run_without_a_loop_has_no_such_lines() {
    let mut trace = looping();
    trace.header.repeats_from = None;
    let scene = Scene::of(&trace, &scroll());
    assert_eq!(only(&scene).repeat, None);
    assert!(words(&scene).is_empty());
}
