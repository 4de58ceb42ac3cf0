//! Bars are the trace's requests, entries and leaves.

use std::collections::BTreeSet;

use conclave_core::mutex::LIVENESS;
use conclave_core::{Fence, Seat};
use conclave_diagram::Options;
use conclave_diagram::scene::{ClashBand, LabelRole, Scene};
use conclave_observe::family::locks::Seen;
use conclave_observe::trace::Trace;
use conclave_observe::{LockName, Time, What};

use crate::gallery;
use crate::run::{
    LEFT, REQUEST, REQUESTED, Run, about, contend, entered, only, random, scroll, seat, time,
};

type Span = (Seat, Option<Fence>, Time, Option<Time>);

/// The slow way: for every beginning, the first end that follows at the same process.
fn expected(trace: &Trace) -> BTreeSet<Span> {
    let records = trace.records.iter().map(|record| record.event).enumerate();
    let spans = records.filter_map(|(index, event)| {
        let rest = trace.records[index + 1..].iter().map(|record| record.event);
        let mut rest = rest.filter(|later| later.seat == event.seat);
        let mut first = |is_end: fn(Seen) -> bool| rest.find(|later| is_end(Seen::of(later.what)));
        let (fence, end) = match Seen::of(event.what) {
            Seen::Requested => {
                (None, first(|seen| matches!(seen, Seen::Entered { .. } | Seen::Crashed)))
            }
            Seen::Entered { fence } => {
                (Some(fence), first(|seen| matches!(seen, Seen::Left | Seen::Crashed)))
            }
            _ => return None,
        };
        Some((event.seat, fence, event.at, end.map(|end| end.at)))
    });
    spans.collect()
}

fn drawn(scene: &Scene) -> BTreeSet<Span> {
    let spans = only(scene).bars.iter().filter_map(|bar| match bar.kind.sort.name {
        "waiting" => Some((bar.seat, None, bar.from, bar.to)),
        "holding" => Some((bar.seat, Some(Fence(bar.kind.number)), bar.from, bar.to)),
        _ => None,
    });
    spans.collect()
}

/// Entries that are cut short by crashes.
fn crashing() -> Trace {
    let mut run = Run::new("central", 3);
    run.entry(1, (0, 100, 400), 1);
    run.event(50, 2, REQUESTED).event(120, 2, What::Crashed).event(200, 2, What::Returned);
    run.event(260, 2, REQUESTED);
    run.event(10, 3, REQUESTED).event(90, 3, entered(2)).event(95, 3, What::Crashed);
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
        let options = Options { from: Some(Time::ZERO), to: ends.or(Some(Time::ZERO)), ..scroll() };
        let scene = Scene::of(&trace, &options);
        assert_eq!(drawn(&scene), expected(&trace), "{}", scene.title);
        assert_eq!(only(&scene).bars.len(), expected(&trace).len(), "none is drawn twice");
        compared += only(&scene).bars.len();
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn a_bar_begins_and_ends_where_its_times_are() {
    let scene = Scene::of(&gallery::lone_entry(), &scroll());
    let x = |delays: usize| only(&scene).ticks[delays].x;
    let [waiting, holding] = &only(&scene).bars[..] else { panic!("one entry has two bars") };
    assert_eq!((waiting.area.left, waiting.area.right), (x(0), x(2)));
    assert_eq!((holding.area.left, holding.area.right), (x(2), x(3)));
    assert_eq!(waiting.area.center().y, only(&scene).lifelines[2].y);
}

#[test]
fn an_instant_is_still_a_bar_that_can_be_seen() {
    let mut run = Run::new("central", 1);
    run.entry(1, (0, 0, 0), 1).event(100, 1, REQUESTED);
    let scene = Scene::of(&run.trace(), &scroll());
    assert!(only(&scene).bars.iter().all(|bar| bar.area.right > bar.area.left));
    assert_eq!(only(&scene).bars.len(), 3);
}

#[test]
fn bars_are_cut_at_the_edges_of_the_window_and_left_out_beyond() {
    let mut run = Run::new("central", 3);
    run.entry(1, (0, 100, 200), 1).entry(2, (150, 300, 500), 2).entry(3, (450, 800, 900), 3);
    let options = Options { from: Some(time(250)), to: Some(time(400)), ..scroll() };
    let scene = Scene::of(&run.trace(), &options);
    let of_p2: BTreeSet<Span> =
        expected(&run.trace()).into_iter().filter(|span| span.0 == seat(2)).collect();
    assert_eq!(drawn(&scene), of_p2);
    assert_eq!(only(&scene).bars[0].area.left, only(&scene).plot.left);
    assert_eq!(only(&scene).bars[1].area.right, only(&scene).plot.right);
    assert_eq!(only(&scene).bars[0].area.right, only(&scene).bars[1].area.left);
}

#[test]
fn two_holders_are_marked_for_as_long_as_both_hold() {
    let scene = Scene::of(&gallery::violation(), &scroll());
    let [clash] = &only(&scene).clashes[..] else { panic!("one interval") };
    assert_eq!(clash.holders, [seat(1), seat(2)]);
    assert_eq!((clash.from, clash.to), (time(350), Some(time(480))));
    assert_eq!(
        (clash.area.top, clash.area.bottom),
        (only(&scene).lifelines[0].y, only(&scene).lifelines[1].y)
    );
    let said = scene.labels.iter().filter(|label| label.text == "two holders").count();
    assert_eq!(said, 1);
}

#[test]
fn holders_one_after_the_other_are_not_marked_even_at_the_same_time() {
    let mut run = Run::new("central", 2);
    run.entry(1, (0, 100, 200), 1).entry(2, (50, 200, 300), 2);
    assert_eq!(only(&Scene::of(&run.trace(), &scroll())).clashes, []);
    // The same times, but the second enters before the first leaves.
    let mut run = Run::new("central", 2);
    run.entry(2, (50, 200, 300), 2).entry(1, (0, 100, 200), 1);
    let scene = Scene::of(&run.trace(), &scroll());
    assert_eq!(only(&scene).clashes.len(), 1);
    assert!(
        only(&scene).clashes[0].area.right > only(&scene).clashes[0].area.left,
        "it can be seen"
    );
}

#[test]
fn a_crashed_holder_clashes_with_nobody() {
    let mut run = Run::new("central", 2);
    run.event(0, 1, entered(1)).event(100, 1, What::Crashed);
    run.entry(2, (50, 200, 300), 2);
    assert_eq!(only(&Scene::of(&run.trace(), &scroll())).clashes, []);
}

/// Two hold at once, of the lock of each.
fn two_at_once(locks: [u32; 2]) -> Scene {
    let mut run = Run::new("central", 2);
    for (process, lock) in (1..).zip(locks) {
        let entry = [(0, REQUESTED), (100, entered(7)), (300, LEFT)];
        for (at, what) in entry {
            run.event(at + u64::from(process) * 50, process, about(lock, what));
        }
    }
    Scene::of(&run.trace(), &scroll())
}

#[test]
fn holders_of_different_locks_do_not_clash_and_of_the_same_they_do() {
    assert_eq!(only(&two_at_once([1, 2])).clashes, []);
    assert_eq!(only(&two_at_once([0, 1])).clashes, []);
    for lock in [0, 1, 2] {
        let scene = two_at_once([lock, lock]);
        let [clash] = &only(&scene).clashes[..] else { panic!("one interval") };
        assert_eq!((&*clash.words, &clash.holders[..]), ("two holders", &[seat(1), seat(2)][..]));
        assert_eq!((clash.from, clash.to), (time(200), Some(time(350))));
    }
}

#[test]
fn a_bar_says_of_which_lock_it_is_where_locks_have_names() {
    let words = |scene: &Scene| {
        let is_number = |role| matches!(role, LabelRole::Fence | LabelRole::FenceAside);
        let labels = scene.labels.iter().filter(|label| is_number(label.role));
        labels.map(|label| label.text.clone()).collect::<BTreeSet<_>>()
    };
    let scene = two_at_once([0, 3]);
    assert_eq!(words(&scene), ["#7", "lock 3", "lock 3 #7"].map(String::from).into());
    let locks: BTreeSet<LockName> = only(&scene).bars.iter().map(|bar| bar.kind.lock).collect();
    assert_eq!(locks, [0, 3].map(LockName).into());
    let legend = scene.labels.iter().filter(|label| label.role == LabelRole::Legend);
    let legend: Vec<&str> = legend.map(|label| &label.text[..]).collect();
    assert_eq!(legend, ["waiting", "holding, #fence"], "a lock needs no sample of its own");
}

#[test]
fn one_process_can_hold_one_lock_and_wait_for_another() {
    let mut run = Run::new("central", 2);
    for (at, lock, what) in [(0, 1, REQUESTED), (100, 1, entered(1)), (200, 2, REQUESTED)] {
        run.event(at, 1, about(lock, what));
    }
    run.event(300, 1, about(1, LEFT)).event(400, 1, about(2, entered(1)));
    run.event(500, 1, What::Crashed).event(600, 2, REQUESTED);
    let scene = Scene::of(&run.trace(), &scroll());
    let bars = only(&scene).bars.iter().filter(|bar| bar.seat == seat(1));
    let bars = bars.map(|bar| (bar.kind.sort.name, bar.kind.lock.0, bar.from, bar.to));
    let expected = [
        ("waiting", 1, time(0), Some(time(100))),
        ("holding", 1, time(100), Some(time(300))),
        ("waiting", 2, time(200), Some(time(400))),
        ("holding", 2, time(400), Some(time(500))),
    ];
    assert_eq!(bars.collect::<Vec<_>>(), expected);
    assert_eq!(only(&scene).clashes, []);
}

#[test]
fn a_fence_that_falls_and_a_request_that_is_overtaken_are_hatched() {
    let wrongs = |run: &Run| {
        let scene = Scene::of(&run.trace(), &scroll());
        let told = |it: &ClashBand| (it.words.clone(), it.holders.clone(), it.from, it.to);
        only(&scene).clashes.iter().map(told).collect::<Vec<_>>()
    };
    let mut fell = Run::new("central", 2);
    fell.entry(1, (0, 100, 200), 7).entry(2, (300, 400, 500), 7);
    assert_eq!(wrongs(&fell), [("the fence fell".into(), vec![seat(2)], time(400), None)]);
    let scene = Scene::of(&fell.trace(), &scroll());
    assert!(scene.labels.iter().any(|label| label.text == "the fence fell"), "and it is said");
    // Who hears of a request before it asks has asked later.
    let mut passed = Run::new("central", 2);
    passed.event(0, 1, REQUESTED).message(REQUEST, (1, 0), (2, 100), "Request");
    passed.entry(2, (200, 300, 400), 1).event(500, 1, entered(2)).event(600, 1, LEFT);
    let holders = vec![seat(2), seat(1)];
    assert_eq!(wrongs(&passed), [("overtaken".into(), holders, time(300), None)]);
    passed.promises(LIVENESS);
    assert_eq!(wrongs(&passed), [], "nothing wrong where order is not promised");
}
