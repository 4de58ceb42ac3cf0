//! A slide is 16 to 9, and what is written on it can be read from the last row.

use conclave_diagram::geometry::{Px, px};
use conclave_diagram::scene::{LabelRole, Scene};
use conclave_diagram::{Medium, Options, draw};
use conclave_observe::What;
use conclave_observe::trace::{PendingTimer, Standing, Trace};

use crate::gallery;
use crate::run::{CALLED, ELECTION, Run, contend, random, time};

fn slide(trace: &Trace) -> Scene {
    Scene::of(trace, &Options { medium: Medium::Slide, ..Options::default() })
}

fn traces() -> Vec<Trace> {
    let pictures = gallery::all().into_iter().map(|(_, trace, _)| trace);
    let crowds = [2, 5, 9, 30].map(|n| contend(n, 4, "exponential:1", random(7, 1..400)));
    pictures.chain(crowds).chain([Run::new("central", 0).trace()]).collect()
}

#[test]
fn a_slide_is_sixteen_to_nine_and_holds_all_that_is_drawn_on_it() {
    for trace in traces() {
        let scene = slide(&trace);
        assert_eq!(scene.width * 9, scene.height * 16, "{}", scene.title);
        let last = scene.strips.last().unwrap();
        assert!(last.plot.bottom < scene.height && last.plot.right <= scene.width);
        for label in &scene.labels {
            let ((left, right), (top, bottom)) = (label.room.sides(), label.room.ends());
            let is_within = left >= Px::ZERO && right <= scene.width && top >= Px::ZERO;
            assert!(is_within && bottom <= scene.height, "{}: {}", scene.title, label.text);
        }
    }
}

#[test]
fn nothing_on_a_slide_of_up_to_nine_is_smaller_than_a_fortieth_of_its_height() {
    let least = |scene: &Scene| scene.labels.iter().map(|label| label.size).min().unwrap();
    for trace in traces().iter().filter(|trace| trace.header.members.len() <= 9) {
        let scene = slide(trace);
        let tiny = |label: LabelRole| matches!(label, LabelRole::Timer | LabelRole::Own);
        let sizes = scene.labels.iter().filter(|it| !tiny(it.role)).map(|it| it.size);
        let size = sizes.min().unwrap_or(px(100));
        assert!(size * 40 >= scene.height, "{}: {size} of {}", scene.title, scene.height);
        let page = Scene::of(trace, &Options::default());
        assert!(least(&page) >= px(11), "and no less is written than on a page");
    }
}

#[test]
fn a_run_that_has_room_is_on_a_slide_as_a_whole_in_rows() {
    let trace = contend(3, 3, "unit", || 100);
    let scene = slide(&trace);
    assert_eq!(scene.window, (time(0), trace.records.last().unwrap().event.at));
    assert!(scene.strips.len() > 1, "in rows");
}

#[test]
fn of_a_run_that_has_none_the_end_is_on_a_slide_and_it_says_so() {
    let scene = slide(&contend(6, 8, "exponential:1", random(3, 10..240)));
    let mut notices = scene.labels.iter().filter(|label| label.role == LabelRole::Notice);
    assert!(notices.any(|label| label.text.contains("events not drawn")));
}

#[test]
fn a_slide_is_shown_as_large_as_a_screen() {
    let options = Options { medium: Medium::Slide, ..Options::default() };
    let written = draw(&gallery::lone_entry(), &options);
    assert!(written.contains(r#" width="1600" height="900""#), "{}", &written[..300]);
}

#[test]
fn timers_are_seen_on_a_slide_if_there_is_room_for_them() {
    let mut run = Run::election("bully", &[3, 5, 6, 12, 32, 80], false);
    let timers = vec![PendingTimer { name: "Answer".into(), due: time(300), is_deadline: false }];
    let standing = |timers| Some(Box::new(Standing { state: "null".into(), timers }));
    run.event(0, 1, CALLED).after(standing(timers));
    run.event(300, 1, What::TimerFired).text("Answer").after(standing(vec![]));
    run.message(ELECTION, (1, 0), (6, 100), "Election");
    run.elected(400, 1, 1, 0);
    let scene = slide(&run.trace());
    assert_eq!(scene.strips[0].timers.len(), 1);
    assert!(scene.labels.iter().any(|label| label.text == "answer"));
}
