//! Bars are the trace's requests, entries and leaves.

use std::collections::BTreeSet;

use conclave_core::{Fence, Seat};
use conclave_diagram::Options;
use conclave_diagram::scene::{BarKind, Scene};
use conclave_observe::trace::Trace;
use conclave_observe::{Time, What};

use crate::gallery;
use crate::run::{Run, contend, random, seat, time};

type Span = (Seat, Option<Fence>, Time, Option<Time>);

/// The slow way: for every beginning, the first end that follows at the same process.
fn expected(trace: &Trace) -> BTreeSet<Span> {
    let records = trace.records.iter().map(|record| record.event).enumerate();
    let spans = records.filter_map(|(index, event)| {
        let rest = trace.records[index + 1..].iter().map(|record| record.event);
        let mut rest = rest.filter(|later| later.seat == event.seat);
        let (fence, end) = match event.what {
            What::Requested => (
                None,
                rest.find(|later| matches!(later.what, What::Entered { .. } | What::Crashed)),
            ),
            What::Entered { fence } => {
                (Some(fence), rest.find(|later| matches!(later.what, What::Left | What::Crashed)))
            }
            _ => return None,
        };
        Some((event.seat, fence, event.at, end.map(|end| end.at)))
    });
    spans.collect()
}

fn drawn(scene: &Scene) -> BTreeSet<Span> {
    let spans = scene.bars.iter().filter_map(|bar| match bar.kind {
        BarKind::Waiting => Some((bar.seat, None, bar.from, bar.to)),
        BarKind::Holding { fence } => Some((bar.seat, Some(fence), bar.from, bar.to)),
        BarKind::Electing | BarKind::Leading { .. } => None,
    });
    spans.collect()
}

/// Entries that are cut short by crashes.
fn crashing() -> Trace {
    let mut run = Run::new("central", 3);
    run.entry(1, (0, 100, 400), 1);
    run.event(50, 2, What::Requested).event(120, 2, What::Crashed).event(200, 2, What::Returned);
    run.event(260, 2, What::Requested);
    run.event(10, 3, What::Requested).event(90, 3, What::Entered { fence: Fence(2) }).event(
        95,
        3,
        What::Crashed,
    );
    run.trace()
}

#[test]
fn every_request_is_a_waiting_bar_until_the_entry_and_every_entry_a_holding_bar_until_the_leave() {
    let mut traces: Vec<Trace> =
        gallery::pictures().into_iter().map(|(_, trace, _)| trace).collect();
    traces.extend((1..9).map(|seed| contend(4, 4, "uniform:1..2", random(seed, 10..200))));
    traces.push(crashing());
    let mut compared = 0;
    for trace in traces {
        let ends = trace.records.last().map(|record| record.event.at);
        let options =
            Options { from: Some(Time::ZERO), to: ends.or(Some(Time::ZERO)), ..Options::default() };
        let scene = Scene::of(&trace, &options);
        assert_eq!(drawn(&scene), expected(&trace), "{}", scene.title);
        assert_eq!(scene.bars.len(), expected(&trace).len(), "none is drawn twice");
        compared += scene.bars.len();
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn a_bar_begins_and_ends_where_its_times_are() {
    let scene = Scene::of(&gallery::lone_entry(), &Options::default());
    let x = |delays: usize| scene.ticks[delays].x;
    let [waiting, holding] = &scene.bars[..] else { panic!("one entry has two bars") };
    assert_eq!((waiting.area.left, waiting.area.right), (x(0), x(2)));
    assert_eq!((holding.area.left, holding.area.right), (x(2), x(3)));
    assert_eq!(waiting.area.center().y, scene.lifelines[2].y);
}

#[test]
fn an_instant_is_still_a_bar_that_can_be_seen() {
    let mut run = Run::new("central", 1);
    run.entry(1, (0, 0, 0), 1).event(100, 1, What::Requested);
    let scene = Scene::of(&run.trace(), &Options::default());
    assert!(scene.bars.iter().all(|bar| bar.area.right > bar.area.left));
    assert_eq!(scene.bars.len(), 3);
}

#[test]
fn bars_are_cut_at_the_edges_of_the_window_and_left_out_beyond() {
    let mut run = Run::new("central", 3);
    run.entry(1, (0, 100, 200), 1).entry(2, (150, 300, 500), 2).entry(3, (450, 800, 900), 3);
    let options = Options { from: Some(time(250)), to: Some(time(400)), ..Options::default() };
    let scene = Scene::of(&run.trace(), &options);
    let of_p2: BTreeSet<Span> =
        expected(&run.trace()).into_iter().filter(|span| span.0 == seat(2)).collect();
    assert_eq!(drawn(&scene), of_p2);
    assert_eq!(scene.bars[0].area.left, scene.plot.left);
    assert_eq!(scene.bars[1].area.right, scene.plot.right);
    assert_eq!(scene.bars[0].area.right, scene.bars[1].area.left);
}

#[test]
fn two_holders_are_marked_for_as_long_as_both_hold() {
    let scene = Scene::of(&gallery::violation(), &Options::default());
    let [clash] = &scene.clashes[..] else { panic!("one interval") };
    assert_eq!(clash.holders, [seat(1), seat(2)]);
    assert_eq!((clash.from, clash.to), (time(350), Some(time(480))));
    assert_eq!((clash.area.top, clash.area.bottom), (scene.lifelines[0].y, scene.lifelines[1].y));
    let said = scene.labels.iter().filter(|label| label.text == "two holders").count();
    assert_eq!(said, 1);
}

#[test]
fn holders_one_after_the_other_are_not_marked_even_at_the_same_time() {
    let mut run = Run::new("central", 2);
    run.entry(1, (0, 100, 200), 1).entry(2, (50, 200, 300), 2);
    assert_eq!(Scene::of(&run.trace(), &Options::default()).clashes, []);
    // The same times, but the second enters before the first leaves.
    let mut run = Run::new("central", 2);
    run.entry(2, (50, 200, 300), 2).entry(1, (0, 100, 200), 1);
    let scene = Scene::of(&run.trace(), &Options::default());
    assert_eq!(scene.clashes.len(), 1);
    assert!(scene.clashes[0].area.right > scene.clashes[0].area.left, "it can be seen");
}

#[test]
fn a_crashed_holder_clashes_with_nobody() {
    let mut run = Run::new("central", 2);
    run.event(0, 1, What::Entered { fence: Fence(1) }).event(100, 1, What::Crashed);
    run.entry(2, (50, 200, 300), 2);
    assert_eq!(Scene::of(&run.trace(), &Options::default()).clashes, []);
}
