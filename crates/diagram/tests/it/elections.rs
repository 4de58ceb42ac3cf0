//! Elections and detectors: who takes part, who leads, who believes what.

use conclave_core::Seat;
use conclave_core::election::{Term, Version};
use conclave_diagram::Options;
use conclave_diagram::scene::{BarKind, ClashKind, LabelRole, MarkKind, Scene};
use conclave_observe::trace::Trace;
use conclave_observe::{Time, What};

use crate::gallery;
use crate::run::{ELECTION, Run, seat, time};

fn scene(trace: &Trace) -> Scene {
    Scene::of(trace, &Options::default())
}

fn bars(scene: &Scene) -> Vec<(Seat, BarKind, Time, Option<Time>)> {
    scene.bars.iter().map(|bar| (bar.seat, bar.kind, bar.from, bar.to)).collect()
}

fn leading(term: u64) -> BarKind {
    BarKind::Leading { term: Term(term) }
}

fn words(scene: &Scene, role: LabelRole) -> Vec<&str> {
    let labels = scene.labels.iter().filter(|label| label.role == role);
    labels.map(|label| &label.text[..]).collect()
}

#[test]
fn who_takes_part_has_a_bar_until_it_is_told_and_who_leads_until_that_is_over() {
    let mut run = Run::election("bully", &[1, 2, 3], false);
    run.event(0, 1, What::Electing).elected(200, 1, 2, 0);
    run.event(0, 2, What::Electing).elected(100, 2, 2, 0).event(300, 2, What::Vacant);
    run.event(50, 3, What::Electing).event(80, 3, What::Crashed);
    run.elected(350, 1, 1, 0).elected(400, 1, 2, 0);
    run.elected(410, 2, 2, 0).event(500, 2, What::Crashed);
    let mut drawn = bars(&scene(&run.trace()));
    drawn.sort_by_key(|&(seat, _, from, _)| (seat, from));
    let expected = [
        (seat(1), BarKind::Electing, time(0), Some(time(200))),
        (seat(1), leading(0), time(350), Some(time(400))),
        (seat(2), BarKind::Electing, time(0), Some(time(100))),
        (seat(2), leading(0), time(100), Some(time(300))),
        (seat(2), leading(0), time(410), Some(time(500))),
        (seat(3), BarKind::Electing, time(50), Some(time(80))),
    ];
    assert_eq!(drawn, expected);
}

#[test]
fn a_leader_that_is_told_again_leads_on_and_in_another_term_anew() {
    let mut run = Run::election("raft", &[1, 2], false);
    run.elected(0, 1, 1, 1).elected(100, 1, 1, 1).elected(200, 1, 1, 2).event(300, 2, What::Called);
    let scene = scene(&run.trace());
    let expected =
        [(seat(1), leading(1), time(0), Some(time(200))), (seat(1), leading(2), time(200), None)];
    assert_eq!(bars(&scene), expected);
    assert_eq!(words(&scene, LabelRole::Fence), ["#1", "#2"]);
    assert!(words(&scene, LabelRole::Legend).contains(&"leading, #term"));
}

#[test]
fn who_leads_and_takes_part_in_the_next_election_is_still_seen_to_lead() {
    let mut run = Run::election("bully", &[1, 2], false);
    run.event(0, 1, What::Electing).elected(100, 1, 1, 0).event(200, 1, What::Electing);
    run.event(400, 2, What::Called);
    let kinds: Vec<BarKind> = scene(&run.trace()).bars.iter().map(|bar| bar.kind).collect();
    assert_eq!(kinds, [BarKind::Electing, BarKind::Electing, leading(0)], "the last is on top");
}

#[test]
fn whoever_is_told_of_another_has_a_mark_with_its_id_and_only_one_at_a_time() {
    let scene = scene(&gallery::bully());
    let marks: Vec<_> = scene.marks.iter().map(|mark| (mark.seat, mark.at, mark.kind)).collect();
    let told = MarkKind::Told { leader: seat(3) };
    let expected = [
        (seat(4), time(0), MarkKind::Crash),
        (seat(2), time(0), MarkKind::Call),
        (seat(1), time(400), told),
        (seat(2), time(400), told),
    ];
    assert_eq!(marks, expected);
    assert_eq!(words(&scene, LabelRole::Note), ["calls", "6", "6"]);
    let legend = ["Election", "Answer", "Coordinator", "electing", "leading", "lost"];
    let marks = ["calls an election", "told who leads"];
    assert_eq!(words(&scene, LabelRole::Legend), [&legend[..], &marks].concat());
    assert_eq!(words(&scene, LabelRole::Fence), [""; 0], "there are no terms");
}

#[test]
fn two_leaders_of_one_term_are_marked_for_as_long_as_both_lead() {
    let scene = scene(&gallery::two_leaders());
    let [clash] = &scene.clashes[..] else { panic!("one interval") };
    assert_eq!((clash.kind, &clash.holders[..]), (ClashKind::Leaders, &[seat(2), seat(5)][..]));
    assert_eq!((clash.from, clash.to), (time(180), Some(time(400))));
    assert_eq!(words(&scene, LabelRole::Clash), ["two leaders"]);
    let told: Vec<_> = words(&scene, LabelRole::Note);
    assert_eq!(told, ["2", "2", "5", "5", "calls"], "who believes in whom is seen");
}

/// The leaders of terms 1 and 2 overlap for 100.
fn overlapping(one_at_a_time: bool, also: impl Fn(&mut Run)) -> Vec<(Time, Option<Time>)> {
    let mut run = Run::election("chubby", &[1, 2, 3], one_at_a_time);
    run.elected(0, 1, 1, 1).elected(200, 2, 2, 2).event(600, 3, What::Called);
    also(&mut run);
    run.event(300, 1, What::Vacant);
    scene(&run.trace()).clashes.iter().map(|clash| (clash.from, clash.to)).collect()
}

#[test]
fn leaders_of_different_terms_clash_only_where_one_at_a_time_was_promised() {
    assert_eq!(overlapping(false, |_| {}), []);
    assert_eq!(overlapping(true, |_| {}), [(time(200), Some(time(300)))]);
}

#[test]
fn a_paused_leader_leads_nobody_and_may_learn_at_once_that_it_was_followed() {
    let paused = |run: &mut Run, until| {
        run.event(100, 1, What::Paused).event(until, 1, What::Resumed);
    };
    assert_eq!(overlapping(true, |run| paused(run, 300)), []);
    assert_eq!(overlapping(true, |run| paused(run, 250)), [(time(250), Some(time(300)))]);
}

#[test]
fn leaders_without_terms_do_not_clash() {
    let mut run = Run::election("bully", &[1, 2], false);
    run.elected(0, 1, 1, 0).elected(0, 2, 2, 0).event(100, 1, What::Vacant);
    assert_eq!(scene(&run.trace()).clashes, []);
}

#[test]
fn what_is_read_and_written_is_told_with_the_term_and_the_number_in_it() {
    let scene = scene(&gallery::lease());
    assert_eq!(words(&scene, LabelRole::Note), ["wrote 1.1", "read 1.1", "2"]);
    let kinds: Vec<_> = scene.marks.iter().map(|mark| mark.kind).collect();
    let version = Version(1 << 32 | 1);
    let expected = [
        MarkKind::Crash,
        MarkKind::Replace,
        MarkKind::Wrote { version },
        MarkKind::Read { version },
        MarkKind::Told { leader: seat(2) },
    ];
    assert_eq!(kinds, expected);
    assert_eq!(words(&scene, LabelRole::Mark), ["crash", "replaced"]);
    assert_eq!(words(&scene, LabelRole::Fence), ["#1", "#2"]);
}

#[test]
fn a_question_that_is_not_answered_leaves_no_trace() {
    let mut run = Run::election("chubby", &[1, 2], true);
    run.event(0, 1, What::Called).event(300, 1, What::Called);
    let without = scene(&run.trace());
    run.event(600, 2, What::Reading).event(700, 2, What::Writing { value: 1 }).event(
        900,
        2,
        What::Refused,
    );
    assert_eq!(scene(&run.trace()).window, without.window);
}

#[test]
fn who_suspects_or_trusts_whom_is_said_at_its_lifeline() {
    let scene = scene(&gallery::detector());
    let expected = ["suspects 2", "suspects 2", "suspects 2", "suspects 3", "trusts 3"];
    let mut said = words(&scene, LabelRole::Note);
    said.sort_unstable();
    assert_eq!(said, expected);
    let mark = scene.marks.iter().find(|mark| mark.kind == MarkKind::Trust { whom: seat(3) });
    assert_eq!(mark.map(|mark| (mark.seat, mark.place.y)), Some((seat(1), scene.lifelines[0].y)));
    assert!(words(&scene, LabelRole::Legend).ends_with(&["suspects", "trusts again"]));
}

#[test]
fn who_is_dead_from_the_start_never_has_a_line() {
    let mut run = Run::election("bully", &[1, 2], false);
    run.event(0, 2, What::Crashed).event(0, 1, What::Called).event(200, 1, What::Called);
    let dead = scene(&run.trace());
    assert_eq!(
        (dead.lifelines[1].strokes.len(), words(&dead, LabelRole::Mark)),
        (0, vec!["down from the start"])
    );
    run.event(100, 2, What::Returned);
    let back = scene(&run.trace());
    let [stroke] = back.lifelines[1].strokes[..] else { panic!("since it came back") };
    assert_eq!((stroke.left, stroke.right), (back.ticks[1].x, back.plot.right));
    assert_eq!(words(&back, LabelRole::Mark), ["down from the start", "back"]);
}

#[test]
fn who_crashes_at_the_first_moment_but_after_its_first_message_was_not_down_from_the_start() {
    let mut run = Run::election("bully", &[1, 2], false);
    run.message(ELECTION, (2, 0), (1, 100), "Election").event(0, 2, What::Crashed);
    run.event(200, 1, What::Called);
    assert_eq!(words(&scene(&run.trace()), LabelRole::Mark), ["crash"]);
}

#[test]
fn a_picture_in_words_says_what_the_run_was_about() {
    let bully = scene(&gallery::bully()).description;
    assert!(bully.contains("5 times a process is told who leads, 1 of them that it"), "{bully}");
    let detector = scene(&gallery::detector()).description;
    assert!(detector.contains(": 4 suspicions, "), "{detector}");
}
