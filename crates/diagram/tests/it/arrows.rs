//! Arrows are the messages of the network: all of them, from the true time to the true time.

use std::collections::BTreeMap;

use conclave_diagram::Options;
use conclave_diagram::geometry::{Point, Px, px};
use conclave_diagram::scene::{Arrow, Fate, Scene};
use conclave_observe::trace::Trace;
use conclave_observe::{LossCause, MessageId, Time, What};

use crate::gallery;
use crate::run::{REPLY, REQUEST, Run, contend, faulty, only, random, scroll, seat, time};

/// One journey of a message as the trace tells it, found the slow way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum End {
    Received(Time),
    LostOnTheWay,
    LostAtTheDoor(Time),
    Unknown,
}

/// All journeys: a message has one, and one more for every duplication.
fn journeys(trace: &Trace) -> Vec<(MessageId, Time, End)> {
    let mut journeys = vec![];
    for sending in &trace.records {
        let What::Sent { message: sent, to, .. } = sending.event.what else { continue };
        if to == sending.event.seat {
            continue;
        }
        let (mut copies, mut ends) = (1, vec![]);
        for other in &trace.records {
            match other.event.what {
                What::Duplicated { message, .. } if message == sent => copies += 1,
                What::Received { message, .. } if message == sent => {
                    ends.push(End::Received(other.event.at));
                }
                What::Lost { message, cause: LossCause::ReceiverDown, .. } if message == sent => {
                    ends.push(End::LostAtTheDoor(other.event.at));
                }
                What::Lost { message, .. } if message == sent => ends.push(End::LostOnTheWay),
                _ => {}
            }
        }
        ends.resize(copies, End::Unknown);
        journeys.extend(ends.into_iter().map(|end| (sent, sending.event.at, end)));
    }
    journeys.sort_unstable();
    journeys
}

fn drawn(scene: &Scene, at_the_door: &BTreeMap<MessageId, Time>) -> Vec<(MessageId, Time, End)> {
    let end = |arrow: &Arrow| match arrow.fate {
        Fate::Received { at } => End::Received(at),
        Fate::Lost { cause: LossCause::ReceiverDown } => {
            End::LostAtTheDoor(at_the_door[&arrow.message])
        }
        Fate::Lost { .. } => End::LostOnTheWay,
        Fate::InFlight => End::Unknown,
    };
    let mut drawn: Vec<_> =
        only(scene).arrows.iter().map(|arrow| (arrow.message, arrow.sent, end(arrow))).collect();
    drawn.sort_unstable();
    drawn
}

fn at_the_door(trace: &Trace) -> BTreeMap<MessageId, Time> {
    let lost = trace.records.iter().filter_map(|record| match record.event.what {
        What::Lost { message, .. } => Some((message, record.event.at)),
        _ => None,
    });
    lost.collect()
}

#[test]
fn every_message_of_the_network_is_one_arrow() {
    let traces =
        gallery::pictures().into_iter().map(|(_, trace, _)| trace).chain((0..40).map(faulty));
    let (mut compared, mut lost, mut copied) = (0, 0, 0);
    for trace in traces.filter(|trace| trace.records.len() < 400) {
        let scene = Scene::of(&trace, &scroll());
        assert_eq!(drawn(&scene, &at_the_door(&trace)), journeys(&trace), "{}", scene.title);
        compared += only(&scene).arrows.len();
        lost += only(&scene)
            .arrows
            .iter()
            .filter(|arrow| matches!(arrow.fate, Fate::Lost { .. }))
            .count();
        copied += only(&scene).arrows.iter().filter(|arrow| arrow.is_copy).count();
    }
    assert!(compared > 1_000 && lost > 50 && copied > 50, "{compared} {lost} {copied}");
}

#[test]
fn a_window_has_the_arrows_that_are_under_way_in_it() {
    for seed in 0..40 {
        let trace = faulty(seed);
        let (from, to) = (time(300), time(600));
        let options = Options { from: Some(from), to: Some(to), ..scroll() };
        let seen = |&(_, sent, end): &(MessageId, Time, End)| {
            let until = match end {
                End::Received(at) | End::LostAtTheDoor(at) => at,
                // It is seen as long as it is under way, which the trace does not tell: not at all
                // where it was sent before, surely where it was sent within.
                End::LostOnTheWay => sent,
                End::Unknown => Time::NEVER,
            };
            sent <= to && until >= from
        };
        let mut expected = journeys(&trace);
        expected.retain(seen);
        let mut drawn = drawn(&Scene::of(&trace, &options), &at_the_door(&trace));
        drawn.retain(|&(_, sent, end)| end != End::LostOnTheWay || sent >= from);
        assert_eq!(drawn, expected, "seed {seed}");
        assert!(expected.len() < journeys(&trace).len(), "something is outside");
    }
}

#[test]
fn an_arrow_goes_from_the_time_of_sending_to_the_time_of_receipt() {
    let scene = Scene::of(&contend(6, 2, "unit", || 100), &scroll());
    let x: BTreeMap<Time, Px> = only(&scene).ticks.iter().map(|tick| (tick.at, tick.x)).collect();
    let y: BTreeMap<_, Px> =
        only(&scene).lifelines.iter().map(|line| (line.seat, line.y)).collect();
    let mut compared = 0;
    for arrow in &only(&scene).arrows {
        let Fate::Received { at } = arrow.fate else { panic!("all arrive") };
        assert_eq!((arrow.tail.y, arrow.head.y), (y[&arrow.from], y[&arrow.to]));
        if let (Some(&sent), Some(&received)) = (x.get(&arrow.sent), x.get(&at)) {
            assert_eq!((arrow.tail.x, arrow.head.x), (sent, received));
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn a_later_time_is_further_right_even_across_folds() {
    let scene = Scene::of(&gallery::quiet(), &scroll());
    let mut places: Vec<(Time, Px)> =
        only(&scene).arrows.iter().map(|arrow| (arrow.sent, arrow.tail.x)).collect();
    places.extend(only(&scene).arrows.iter().filter_map(|arrow| match arrow.fate {
        Fate::Received { at } => Some((at, arrow.head.x)),
        _ => None,
    }));
    places.sort_unstable();
    assert!(places.windows(2).all(|pair| (pair[0].0 < pair[1].0) == (pair[0].1 < pair[1].1)));
}

#[test]
fn a_message_to_oneself_is_no_arrow() {
    let mut run = Run::new("maekawa", 2);
    run.message(REQUEST, (1, 0), (1, 0), "Request").message(REPLY, (1, 0), (1, 0), "Reply");
    assert_eq!(only(&Scene::of(&run.trace(), &scroll())).arrows, []);
    run.message(REQUEST, (1, 0), (2, 100), "Request");
    let scene = Scene::of(&run.trace(), &scroll());
    assert_eq!(only(&scene).arrows.len(), 1);
    // It is a loop: one for all that is said at once.
    let [own] = &only(&scene).own[..] else { panic!("{:?}", only(&scene).own) };
    assert_eq!((own.seat, own.at, &*own.words), (seat(1), time(0), "Request, Reply"));
    assert!(scene.labels.iter().any(|label| label.text == "Request, Reply"));
}

#[test]
fn what_processes_say_to_themselves_is_left_out_where_there_is_more_to_see() {
    let mut run = Run::new("maekawa", 2);
    run.message(REQUEST, (1, 0), (1, 0), "Request");
    for at in 0..40 {
        run.message(REQUEST, (1, at * 100), (2, at * 100 + 50), "Request");
    }
    assert_eq!(only(&Scene::of(&run.trace(), &scroll())).own, []);
}

#[test]
fn a_message_of_which_the_trace_tells_no_text_is_called_by_its_kind() {
    let mut trace = gallery::lone_entry();
    for record in &mut trace.records {
        record.text = None;
    }
    let scene = Scene::of(&trace, &scroll());
    let said: Vec<_> = only(&scene).arrows.iter().map(|arrow| &arrow.text[..]).collect();
    assert_eq!(said, [["Request"; 4], ["Reply"; 4]].concat());
}

#[test]
fn a_message_that_the_network_loses_ends_between_two_lifelines() {
    for to in 2..=6 {
        let mut run = Run::new("central", 6);
        let message = run.sent(REQUEST, (1, 0), to, "Request");
        run.lost(message, (1, 0), to, LossCause::Network);
        run.message(REQUEST, (1, 0), (2, 100), "Request");
        let scene = Scene::of(&run.trace(), &scroll());
        let (lost, arrived) = (&only(&scene).arrows[0], &only(&scene).arrows[1]);
        assert!(lost.head.x > lost.tail.x && lost.head.x < arrived.head.x);
        let apart = |y: Px| if y > lost.head.y { y - lost.head.y } else { lost.head.y - y };
        assert!(only(&scene).lifelines.iter().all(|line| apart(line.y) > px(10)), "1 to {to}");
    }
}

#[test]
fn a_message_to_a_dead_process_reaches_its_lifeline_when_it_would_have_arrived() {
    let scene = Scene::of(&gallery::crash(), &scroll());
    let lost =
        only(&scene).arrows.iter().find(|arrow| matches!(arrow.fate, Fate::Lost { .. })).unwrap();
    assert_eq!(lost.head, Point::new(only(&scene).ticks[1].x, only(&scene).lifelines[2].y));
}

#[test]
fn arrows_with_the_same_ends_do_not_hide_each_other() {
    let scene = Scene::of(&gallery::copies(), &scroll());
    let mut bows: BTreeMap<_, Vec<Px>> = BTreeMap::new();
    for arrow in &only(&scene).arrows {
        let ends = (arrow.tail.x, arrow.tail.y, arrow.head.x, arrow.head.y);
        bows.entry(ends).or_default().push(arrow.bow);
    }
    let twins: Vec<_> = bows.into_values().filter(|bows| bows.len() > 1).collect();
    assert_eq!(twins.len(), 2, "a duplicate, and two messages at once");
    assert!(twins.iter().all(|bows| bows[0] == Px::ZERO && bows[1] != Px::ZERO), "{twins:?}");
}

#[test]
fn a_message_still_under_way_leaves_the_picture_at_its_edge() {
    let mut run = Run::new("central", 2);
    run.message(REQUEST, (1, 0), (2, 100), "Request");
    run.sent(REPLY, (2, 100), 1, "Reply");
    run.sent(REPLY, (1, 10), 2, "a late one");
    let scene = Scene::of(&run.trace(), &scroll());
    for arrow in &only(&scene).arrows[1..] {
        assert_eq!(arrow.fate, Fate::InFlight);
        assert!(
            arrow.leaves && arrow.head.x == only(&scene).plot.right && arrow.head.x > arrow.tail.x
        );
        assert_ne!(arrow.head.y, only(&scene).lifelines[arrow.to.index()].y, "it does not arrive");
    }
    assert!(!only(&scene).arrows[0].leaves);
}

/// Where a time would be in a picture without folds, as far as its ticks tell.
fn by_ticks(scene: &Scene, at: Time) -> Px {
    let [first, second, ..] = only(scene).ticks[..] else { panic!("two ticks") };
    let (step, width) = (second.at - first.at, second.x - first.x);
    if at >= first.at {
        first.x + width.scaled((at - first.at).0, step.0)
    } else {
        first.x - width.scaled((first.at - at).0, step.0)
    }
}

#[test]
fn what_crosses_the_edge_of_a_window_is_cut_there_and_keeps_its_direction() {
    let trace = contend(5, 3, "uniform:0.5..1.5", random(7, 50..150));
    let options = Options { from: Some(time(400)), to: Some(time(700)), ..scroll() };
    let scene = Scene::of(&trace, &options);
    let (left, right) = (only(&scene).plot.left, only(&scene).plot.right);
    let (mut entering, mut leaving) = (0, 0);
    for arrow in &only(&scene).arrows {
        let Fate::Received { at } = arrow.fate else { panic!("all arrive") };
        let y = |process: conclave_core::Seat| only(&scene).lifelines[process.index()].y;
        let sender = Point::new(by_ticks(&scene, arrow.sent), y(arrow.from));
        let receiver = Point::new(by_ticks(&scene, at), y(arrow.to));
        assert_eq!((arrow.enters, arrow.leaves), (sender.x < left, receiver.x > right));
        let tail = if arrow.enters { sender.on_way(receiver, left) } else { sender };
        let head = if arrow.leaves { sender.on_way(receiver, right) } else { receiver };
        assert!(tail.distance(arrow.tail) < px(1), "{arrow:?} should begin at {tail:?}");
        assert!(head.distance(arrow.head) < px(1), "{arrow:?} should end at {head:?}");
        entering += usize::from(arrow.enters);
        leaving += usize::from(arrow.leaves);
    }
    assert!(entering > 1 && leaving > 1, "{entering} enter, {leaving} leave");
}
