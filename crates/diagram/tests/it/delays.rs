//! Brackets over delays are what is measured.

use conclave_diagram::Options;
use conclave_diagram::scene::{Bracket, DelaySort, LabelRole, Scene};
use conclave_observe::Time;
use conclave_observe::measure::Delays;
use conclave_observe::trace::Trace;

use crate::gallery;
use crate::run::{Run, contend, only, random, scroll, seat, time};

fn options() -> Options {
    Options { delays: true, ..scroll() }
}

fn brackets(trace: &Trace) -> Vec<Bracket> {
    only(&Scene::of(trace, &options())).brackets.clone()
}

#[test]
fn a_lone_entry_has_its_client_delay_and_a_hand_over_its_synchronisation_delay() {
    let mut run = Run::new("central", 2);
    run.entry(1, (0, 200, 700), 1).entry(2, (300, 850, 900), 2);
    let scene = Scene::of(&run.trace(), &options());
    let told = |it: &Bracket| (it.seat, it.sort, it.from, it.to);
    let found: Vec<_> = only(&scene).brackets.iter().map(told).collect();
    let client = (seat(1), DelaySort::Client, time(0), time(200));
    let sync = (seat(2), DelaySort::Sync, time(700), time(850));
    assert_eq!(found, [client, sync]);
    let labels = scene.labels.iter().filter(|label| label.role == LabelRole::Delay);
    let words: Vec<_> = labels.map(|label| &label.text[..]).collect();
    assert_eq!(words, ["client 2", "sync 1.5"]);
    for bracket in &only(&scene).brackets {
        let x = |at: Time| only(&scene).ticks.iter().find(|tick| tick.at == at).map(|tick| tick.x);
        assert!(x(bracket.from).is_none_or(|x| x == bracket.left.x), "{bracket:?}");
        assert!(x(bracket.to).is_none_or(|x| x == bracket.right), "{bracket:?}");
    }
}

#[test]
fn what_is_drawn_is_what_is_measured() {
    for seed in 1..9 {
        let trace = contend(3, 3, "exponential:1", random(seed, 1..400));
        let mut measured = Delays::new(3);
        trace.records.iter().for_each(|record| measured.on(&record.event));
        let drawn = brackets(&trace);
        let count = |sort| drawn.iter().filter(|it| it.sort == sort).count() as u64;
        let longest = |sort| {
            let of = drawn.iter().filter(|it| it.sort == sort).map(|it| it.to - it.from);
            of.max()
        };
        assert_eq!(count(DelaySort::Client), measured.client.count());
        assert_eq!(count(DelaySort::Sync), measured.sync.count());
        assert!(measured.sync.count() > 0);
        assert_eq!(longest(DelaySort::Sync), measured.sync.max());
    }
}

#[test]
fn delays_are_drawn_if_they_are_asked_for_and_of_locks_alone() {
    assert_eq!(only(&Scene::of(&gallery::lone_entry(), &scroll())).brackets, []);
    assert_eq!(brackets(&gallery::lone_entry()).len(), 1);
    assert_eq!(brackets(&gallery::bully()), []);
}
