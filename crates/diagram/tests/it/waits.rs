//! Who waits for whom at the end of the run.

use conclave_diagram::Options;
use conclave_diagram::scene::{LabelRole, Scene};

use crate::gallery;
use crate::run::{REQUESTED, Run, only, scroll, seat, time};

#[test]
fn a_deadlock_is_a_cycle_of_arrows_beside_the_plot() {
    let scene = Scene::of(&gallery::deadlock(), &scroll());
    let mut waits: Vec<_> =
        only(&scene).waits.iter().map(|wait| (wait.waiter, wait.whom, wait.is_in_cycle)).collect();
    waits.sort_unstable();
    let expected = [(1, 2), (2, 3), (3, 1)].map(|(waiter, whom)| (seat(waiter), seat(whom), true));
    assert_eq!(waits, expected);
    for wait in &only(&scene).waits {
        let lane = only(&scene).lifelines[1].y - only(&scene).lifelines[0].y;
        let near = |y, process: conclave_core::Seat| {
            let off = only(&scene).lifelines[process.index()].y - y;
            off < lane.half() && -off < lane.half()
        };
        assert!(near(wait.tail.y, wait.waiter) && near(wait.head.y, wait.whom), "{wait:?}");
        assert!(
            wait.tail.x > only(&scene).plot.right
                && wait.apex > wait.tail.x
                && wait.apex < scene.width
        );
    }
    let said = scene.labels.iter().filter(|label| label.role == LabelRole::WaitsFor).count();
    assert_eq!(said, 3);
}

#[test]
fn who_waits_for_a_dead_process_is_in_no_cycle() {
    let scene = Scene::of(&gallery::crash(), &scroll());
    let [wait] = &only(&scene).waits[..] else { panic!("one waits") };
    assert_eq!((wait.waiter, wait.whom, wait.is_in_cycle), (seat(1), seat(3), false));
}

#[test]
fn many_arrows_have_one_word_above_them_instead_of_one_each() {
    let scene = Scene::of(&gallery::many_waits(), &scroll());
    assert_eq!(only(&scene).waits.len(), 8, "one waits for itself, which is nothing to draw");
    let said = scene.labels.iter().filter(|label| label.role == LabelRole::WaitsFor).count();
    assert_eq!(said, 1);
}

#[test]
fn waiting_is_not_drawn_in_a_window_that_ends_before_the_run_does() {
    let mut run = Run::new("central", 2);
    run.event(0, 1, REQUESTED).event(100, 2, REQUESTED).waits_for(200, 1, 2);
    let early = Options { to: Some(time(150)), ..scroll() };
    assert_eq!(only(&Scene::of(&run.trace(), &early)).waits, []);
    assert_eq!(only(&Scene::of(&run.trace(), &scroll())).waits.len(), 1);
}
