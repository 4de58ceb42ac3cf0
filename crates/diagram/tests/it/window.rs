//! Which part of a run is drawn.

use conclave_diagram::Options;
use conclave_diagram::geometry::px;
use conclave_diagram::scene::{LabelRole, Scene};
use conclave_observe::Time;
use conclave_observe::trace::Trace;

use crate::run::{REQUEST, Run, contend, only, random, scroll, time};

fn notices(scene: &Scene) -> Vec<&str> {
    let labels = scene.labels.iter().filter(|label| label.role == LabelRole::Notice);
    labels.map(|label| &label.text[..]).collect()
}

fn end(trace: &Trace) -> Time {
    trace.records.last().unwrap().event.at
}

fn long() -> Trace {
    contend(7, 12, "exponential:1", random(3, 10..240))
}

#[test]
fn a_run_that_fits_is_drawn_whole_and_says_nothing_about_it() {
    let trace = contend(4, 2, "unit", || 100);
    let scene = Scene::of(&trace, &scroll());
    assert_eq!(scene.window, (Time::ZERO, end(&trace)));
    assert_eq!(notices(&scene), [""; 0]);
}

#[test]
fn of_a_run_that_does_not_fit_the_end_is_drawn_and_the_picture_says_what_is_missing() {
    let trace = long();
    let scene = Scene::of(&trace, &scroll());
    assert_eq!(scene.window.1, end(&trace));
    assert!(
        only(&scene).arrows.len() <= 400 && only(&scene).arrows.len() > 350,
        "{}",
        only(&scene).arrows.len()
    );
    let before = trace.records.iter().filter(|record| record.event.at < scene.window.0).count();
    let total = trace.records.len();
    assert!(before > 0);
    let missing = format!("first {before} of {total} events not drawn; choose the times to draw");
    assert_eq!(notices(&scene), [missing]);
}

#[test]
fn a_run_with_few_messages_over_a_long_time_is_cut_too() {
    // A token that goes around and around: one message per delay.
    let mut run = Run::new("token-ring", 5);
    for at in 0..390_u32 {
        let (from, to) = (at % 5 + 1, (at + 1) % 5 + 1);
        let at = u64::from(at) * 100;
        run.message(REQUEST, (from, at), (to, at + 100), "Token");
    }
    let scene = Scene::of(&run.trace(), &scroll());
    assert!(scene.width < px(6_300), "{}", scene.width);
    assert!(
        only(&scene).arrows.len() > 100 && only(&scene).arrows.len() < 390,
        "{}",
        only(&scene).arrows.len()
    );
}

#[test]
fn a_window_that_was_asked_for_is_drawn_whatever_it_holds() {
    let trace = long();
    let options = Options { from: Some(Time::ZERO), to: Some(end(&trace)), ..scroll() };
    let scene = Scene::of(&trace, &options);
    assert!(only(&scene).arrows.len() > 900);
    assert_eq!(notices(&scene), [""; 0], "nothing is missing");
    assert!(scene.width < px(6_300));
}

#[test]
fn a_window_says_that_it_is_a_part() {
    let trace = contend(4, 2, "unit", || 100);
    let options = Options { from: Some(time(200)), to: Some(time(400)), ..scroll() };
    let scene = Scene::of(&trace, &options);
    let seen = |at: Time| at >= time(200) && at <= time(400);
    let events = trace.records.iter().filter(|record| seen(record.event.at)).count();
    let total = trace.records.len();
    assert_eq!(notices(&scene), [format!("a part of the run: {events} of {total} events")]);
}

#[test]
fn with_a_beginning_alone_what_follows_is_drawn_as_far_as_it_fits() {
    let trace = long();
    let options = Options { from: Some(time(500)), ..scroll() };
    let scene = Scene::of(&trace, &options);
    assert_eq!(scene.window.0, time(500));
    assert!(scene.window.1 < end(&trace));
    assert!(
        only(&scene).arrows.len() <= 400 && only(&scene).arrows.len() > 350,
        "{}",
        only(&scene).arrows.len()
    );
    let after = trace.records.iter().filter(|record| record.event.at > scene.window.1).count();
    assert!(notices(&scene)[0].starts_with(&format!("last {after} of ")));
}

#[test]
fn with_an_end_alone_what_precedes_is_drawn_as_far_as_it_fits() {
    let trace = long();
    let scene = Scene::of(&trace, &Options { to: Some(time(6_000)), ..scroll() });
    assert_eq!(scene.window.1, time(6_000));
    assert!(scene.window.0 > Time::ZERO);
    assert!(notices(&scene)[0].starts_with("first "));
}

#[test]
fn a_window_beyond_the_end_of_the_run_shows_how_things_stand_there() {
    let trace = contend(4, 1, "unit", || 100);
    let options = Options { from: Some(time(90_000)), to: Some(time(99_000)), ..scroll() };
    let scene = Scene::of(&trace, &options);
    assert_eq!(
        (only(&scene).arrows.len(), only(&scene).bars.len(), only(&scene).lifelines.len()),
        (0, 0, 4)
    );
}

#[test]
fn of_very_many_processes_only_those_are_drawn_to_which_something_happens() {
    let mut run = Run::new("central", 1_000);
    run.message(REQUEST, (7, 0), (900, 100), "Request").entry(44, (0, 50, 100), 1);
    let scene = Scene::of(&run.trace(), &scroll());
    let drawn: Vec<u32> = only(&scene).lifelines.iter().map(|line| line.seat.0 + 1).collect();
    assert_eq!(drawn, [7, 44, 900]);
    assert_eq!(notices(&scene), ["not drawn: 997 processes to which nothing happens"]);
}

#[test]
fn the_axis_counts_delays_where_all_are_alike_and_milliseconds_elsewhere() {
    let axis = |network: &str| {
        let scene = Scene::of(&contend(3, 1, network, || 100), &scroll());
        let labels = scene.labels.into_iter();
        let mut words = labels.filter(|label| label.role == LabelRole::Axis);
        words.next().unwrap().text
    };
    assert_eq!(axis("unit"), "time in message delays");
    assert_eq!(axis("sync:1"), "time in ms");
}

#[test]
fn short_times_are_counted_in_microseconds() {
    let mut trace = contend(3, 1, "sync:0.001", || 100);
    for record in &mut trace.records {
        record.event.at = Time(record.event.at.0 / 1_000);
    }
    let scene = Scene::of(&trace, &scroll());
    assert!(scene.labels.iter().any(|label| label.text == "time in µs"));
    let ticks: Vec<Time> = only(&scene).ticks.iter().map(|tick| tick.at).collect();
    assert!(ticks.starts_with(&[Time(0), Time(500), Time(1_000)]), "{ticks:?}");
}
