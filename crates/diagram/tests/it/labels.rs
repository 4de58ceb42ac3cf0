//! What is written can be read.

use conclave_diagram::Options;
use conclave_diagram::geometry::{Point, Px, Room, px};
use conclave_diagram::scene::{Label, LabelRole, Scene};
use conclave_observe::What;

use crate::gallery;
use crate::run::{Run, contend, faulty, only, random, scroll};

fn scenes() -> Vec<Scene> {
    let pictures = gallery::all().into_iter();
    let mut scenes: Vec<Scene> =
        pictures.map(|(_, trace, options)| Scene::of(&trace, &options)).collect();
    for seed in 1..6 {
        scenes.push(Scene::of(&faulty(seed), &Options::default()));
        let crowd = contend(6, 2, "exponential:1", random(seed, 1..400));
        scenes.push(Scene::of(&crowd, &Options::default()));
    }
    scenes
}

#[test]
fn labels_do_not_overlap() {
    let mut pairs = 0;
    for scene in scenes() {
        for (index, label) in scene.labels.iter().enumerate() {
            for other in &scene.labels[index + 1..] {
                assert!(
                    !label.room.overlaps(&other.room),
                    "{}: {:?} {:?} over {:?} {:?}",
                    scene.title,
                    label.role,
                    label.text,
                    other.role,
                    other.text
                );
                pairs += 1;
            }
        }
    }
    assert!(pairs > 10_000, "{pairs}");
}

#[test]
fn everything_that_is_written_is_within_the_picture() {
    for scene in scenes() {
        for Label { text, room, .. } in &scene.labels {
            let ((left, right), (top, bottom)) = (room.sides(), room.ends());
            let is_within = left >= Px::ZERO
                && right <= scene.width
                && top >= Px::ZERO
                && bottom <= scene.height;
            assert!(is_within, "{}: {text:?} at {room:?}", scene.title);
        }
    }
}

#[test]
fn what_happens_last_is_still_labelled_within_the_picture() {
    let mut run = Run::new("central", 2);
    run.entry(1, (0, 100, 600), 1).event(640, 2, What::Crashed);
    let scene = Scene::of(&run.trace(), &scroll());
    let label = scene.labels.iter().find(|label| label.text == "crash").unwrap();
    assert!(label.room.sides().1 <= scene.width, "{label:?}");
}

#[test]
fn nothing_is_written_smaller_than_eleven_pixels() {
    assert!(scenes().iter().flat_map(|scene| &scene.labels).all(|label| label.size >= px(11)));
}

#[test]
fn every_process_is_named_at_its_lifeline() {
    for scene in scenes() {
        let lifelines = scene.strips.iter().flat_map(|strip| &strip.lifelines);
        for lifeline in lifelines {
            let is_named_otherwise = scene.title.starts_with("bully");
            let number = lifeline.seat.index();
            let id = if is_named_otherwise { [3, 5, 6, 80][number] } else { number + 1 };
            let name = format!("p{id}");
            let named = scene.labels.iter().any(|label| {
                label.role == LabelRole::Process
                    && label.text == name
                    && label.room.center.y == lifeline.y
                    && label.room.sides().1 < scene.strips[0].plot.left
            });
            assert!(named, "{}: {name}", scene.title);
        }
    }
}

fn messages(scene: &Scene) -> Vec<(usize, &str)> {
    let labels = scene.labels.iter().filter_map(|label| match label.role {
        LabelRole::Message { arrow, .. } => Some((arrow, &label.text[..])),
        _ => None,
    });
    labels.collect()
}

#[test]
fn where_there_is_room_every_arrow_says_all_it_has_to_say() {
    let scene = Scene::of(&gallery::lone_entry(), &scroll());
    let texts: Vec<_> = messages(&scene).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, [["Request(1)"; 4], ["Reply(#0)"; 4]].concat());
}

#[test]
fn a_label_lies_along_its_own_arrow() {
    for scene in scenes() {
        for label in &scene.labels {
            let LabelRole::Message { strip, arrow } = label.role else { continue };
            let arrow = &scene.strips[strip].arrows[arrow];
            let there = arrow.tail.on_way(arrow.head, label.room.center.x);
            let is_steep = arrow.head.x - arrow.tail.x < px(4);
            let off = there.distance(label.room.center);
            // Across it is a dozen pixels plus its bow; measured down, the more the steeper it is.
            let length = arrow.tail.distance(arrow.head);
            let run = (arrow.head.x - arrow.tail.x).max(px(1));
            let bow = arrow.bow.max(-arrow.bow);
            let most = (px(12) + bow) * length.holds(run) + px(12) + bow;
            assert!(is_steep || off <= most, "{}: {:?} is {off} off", scene.title, label.text);
        }
    }
}

#[test]
fn in_a_crowd_a_label_is_shortened_or_dropped_and_the_arrow_still_knows_it() {
    let scene = Scene::of(&contend(9, 1, "unit", || 100), &scroll());
    let labelled = messages(&scene);
    assert!(labelled.len() < only(&scene).arrows.len());
    assert!(labelled.iter().any(|&(_, text)| text == "Request"), "shortened");
    assert!(only(&scene).arrows.iter().any(|arrow| arrow.text == "Request(1)"));
}

#[test]
fn where_ids_decide_an_arrow_too_short_for_all_says_them_rather_than_its_kind() {
    let said = |run: &mut Run, kind| {
        for at in (0..30).map(|at| at * 100) {
            run.message(kind, (1, at), (2, at + 50), "Election { initiator: p3, id: p80 }");
        }
        let scene = Scene::of(&run.trace(), &Options::default());
        messages(&scene).into_iter().map(|(_, text)| text.to_owned()).collect::<Vec<_>>()
    };
    let election = said(&mut Run::election("chang-roberts", &[3, 80], false), 0);
    assert!(election.iter().all(|text| text == "p3, p80") && election.len() > 20, "{election:?}");
    let lock = said(&mut Run::new("ricart-agrawala", 2), 0);
    assert!(lock.iter().all(|text| text == "Request"), "{lock:?}");
}

#[test]
fn what_messages_say_does_not_notch_a_bar() {
    let mut compared = 0;
    for scene in scenes() {
        for label in &scene.labels {
            let LabelRole::Message { strip, .. } = label.role else { continue };
            for bar in &scene.strips[strip].bars {
                let sides = [bar.area.top, bar.area.bottom];
                let ends = sides.map(|y| [bar.area.left, bar.area.right].map(|x| Point::new(x, y)));
                let is_crossed = match bar.kind.sort.is_solid {
                    true => label.room.overlaps(&bar.area.room()),
                    false => ends
                        .iter()
                        .any(|&[left, right]| label.room.overlaps(&Room::line(left, right, px(1)))),
                };
                assert!(!is_crossed, "{}: {} at {:?}", scene.title, label.text, bar.area);
                compared += 1;
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
}
