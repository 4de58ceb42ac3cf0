//! Elections and detectors: who takes part, who leads, who believes what.

use conclave_core::Seat;
use conclave_core::election::{LARGEST, Term};
use conclave_diagram::scene::{Bar, LabelRole, Mark, MarkKind, Scene};
use conclave_observe::family::elections::Seen;
use conclave_observe::trace::{PendingTimer, Standing, Trace};
use conclave_observe::{Time, What};

use crate::gallery;
use crate::run::{
    CALLED, ELECTING, ELECTION, READING, REFUSED, Run, VACANT, only, read, scroll, seat, suspected,
    time, trusted, writing, wrote,
};

fn scene(trace: &Trace) -> Scene {
    Scene::of(trace, &scroll())
}

/// What lasts, and its number.
type Kind = (&'static str, u64);

fn bars(scene: &Scene) -> Vec<(Seat, Kind, Time, Option<Time>)> {
    only(scene).bars.iter().map(|bar| (bar.seat, kind(bar), bar.from, bar.to)).collect()
}

fn kind(bar: &Bar) -> Kind {
    (bar.kind.sort.name, bar.kind.number)
}

fn leading(term: u64) -> Kind {
    ("leading", term)
}

const TAKING_PART: Kind = ("electing", 0);

/// The mark of what is said, and what it means in a legend.
fn said(mark: &Mark) -> Option<(What, &'static str)> {
    match mark.kind {
        MarkKind::Said { said, sort } => Some((said.what(), sort.meaning)),
        MarkKind::Crash | MarkKind::Return | MarkKind::Replace => None,
    }
}

fn told(leader: u32, term: u64) -> Option<(What, &'static str)> {
    let seen = Seen::Elected { leader: seat(leader), term: Term(term) };
    Some((seen.what(), "told who leads"))
}

fn words(scene: &Scene, role: LabelRole) -> Vec<&str> {
    let labels = scene.labels.iter().filter(|label| label.role == role);
    labels.map(|label| &label.text[..]).collect()
}

#[test]
fn who_takes_part_has_a_bar_until_it_is_told_and_who_leads_until_that_is_over() {
    let mut run = Run::election("bully", &[1, 2, 3], false);
    run.event(0, 1, ELECTING).elected(200, 1, 2, 0);
    run.event(0, 2, ELECTING).elected(100, 2, 2, 0).event(300, 2, VACANT);
    run.event(50, 3, ELECTING).event(80, 3, What::Crashed);
    run.elected(350, 1, 1, 0).elected(400, 1, 2, 0);
    run.elected(410, 2, 2, 0).event(500, 2, What::Crashed);
    let mut drawn = bars(&scene(&run.trace()));
    drawn.sort_by_key(|&(seat, _, from, _)| (seat, from));
    let expected = [
        (seat(1), TAKING_PART, time(0), Some(time(200))),
        (seat(1), leading(0), time(350), Some(time(400))),
        (seat(2), TAKING_PART, time(0), Some(time(100))),
        (seat(2), leading(0), time(100), Some(time(300))),
        (seat(2), leading(0), time(410), Some(time(500))),
        (seat(3), TAKING_PART, time(50), Some(time(80))),
    ];
    assert_eq!(drawn, expected);
}

#[test]
fn a_leader_that_is_told_again_leads_on_and_in_another_term_anew() {
    let mut run = Run::election("raft", &[1, 2], false);
    run.elected(0, 1, 1, 1).elected(100, 1, 1, 1).elected(200, 1, 1, 2).event(300, 2, CALLED);
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
    run.event(0, 1, ELECTING).elected(100, 1, 1, 0).event(200, 1, ELECTING);
    run.event(400, 2, CALLED);
    let kinds: Vec<Kind> = only(&scene(&run.trace())).bars.iter().map(kind).collect();
    assert_eq!(kinds, [TAKING_PART, TAKING_PART, leading(0)], "the last is on top");
}

#[test]
fn whoever_is_told_of_another_has_a_mark_with_its_id_and_only_one_at_a_time() {
    let scene = scene(&gallery::bully());
    let marks: Vec<_> =
        only(&scene).marks.iter().map(|mark| (mark.seat, mark.at, said(mark))).collect();
    let expected = [
        (seat(4), time(0), None),
        (seat(2), time(0), Some((CALLED, "calls an election"))),
        (seat(1), time(400), told(3, 0)),
        (seat(2), time(400), told(3, 0)),
    ];
    assert_eq!(marks, expected);
    assert_eq!(only(&scene).marks[0].kind, MarkKind::Crash);
    assert_eq!(words(&scene, LabelRole::Note), ["calls", "6", "6"]);
    let legend = ["Election", "Answer", "Coordinator", "electing", "leading", "lost"];
    let marks = ["calls an election", "told who leads"];
    assert_eq!(words(&scene, LabelRole::Legend), [&legend[..], &marks].concat());
    assert_eq!(words(&scene, LabelRole::Fence), [""; 0], "there are no terms");
}

#[test]
fn two_leaders_of_one_term_are_marked_for_as_long_as_both_lead() {
    let scene = scene(&gallery::two_leaders());
    let [clash] = &only(&scene).clashes[..] else { panic!("one interval") };
    assert_eq!((&*clash.words, &clash.holders[..]), ("two leaders", &[seat(2), seat(5)][..]));
    assert_eq!((clash.from, clash.to), (time(180), Some(time(400))));
    assert_eq!(words(&scene, LabelRole::Clash), ["two leaders"]);
    let told: Vec<_> = words(&scene, LabelRole::Note);
    assert_eq!(told, ["2", "2", "5", "5", "calls"], "who believes in whom is seen");
}

/// The leaders of terms 1 and 2 overlap for 100.
fn overlapping(one_at_a_time: bool, also: impl Fn(&mut Run)) -> Vec<(Time, Option<Time>)> {
    let mut run = Run::election("chubby", &[1, 2, 3], one_at_a_time);
    run.elected(0, 1, 1, 1).elected(200, 2, 2, 2).event(600, 3, CALLED);
    also(&mut run);
    run.event(300, 1, VACANT);
    only(&scene(&run.trace())).clashes.iter().map(|clash| (clash.from, clash.to)).collect()
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
    run.elected(0, 1, 1, 0).elected(0, 2, 2, 0).event(100, 1, VACANT);
    assert_eq!(only(&scene(&run.trace())).clashes, []);
}

#[test]
fn what_is_read_and_written_is_told_with_the_term_and_the_number_in_it() {
    let scene = scene(&gallery::lease());
    assert_eq!(words(&scene, LabelRole::Note), ["wrote 1.1", "read 1.1", "2"]);
    let [crash, replace, notes @ ..] = &only(&scene).marks[..] else {
        panic!("of the crash, at least")
    };
    assert_eq!((crash.kind, replace.kind), (MarkKind::Crash, MarkKind::Replace));
    let version = 1 << 32 | 1;
    let expected = [Some((wrote(version), "wrote")), Some((read(version, 1), "read")), told(2, 2)];
    assert_eq!(notes.iter().map(said).collect::<Vec<_>>(), expected);
    assert_eq!(words(&scene, LabelRole::Mark), ["crash", "replaced"]);
    assert_eq!(words(&scene, LabelRole::Fence), ["#1", "#2"]);
}

#[test]
fn a_question_that_is_not_answered_leaves_no_trace() {
    let mut run = Run::election("chubby", &[1, 2], true);
    run.event(0, 1, CALLED).event(300, 1, CALLED);
    let without = scene(&run.trace());
    run.event(600, 2, READING).event(700, 2, writing(1)).event(900, 2, REFUSED);
    assert_eq!(scene(&run.trace()).window, without.window);
}

#[test]
fn who_suspects_or_trusts_whom_is_said_at_its_lifeline() {
    let scene = scene(&gallery::detector());
    let expected = ["suspects 2", "suspects 2", "suspects 2", "suspects 3", "trusts 3"];
    let mut notes = words(&scene, LabelRole::Note);
    notes.sort_unstable();
    assert_eq!(notes, expected);
    let trusts = Some((trusted(3), "trusts again"));
    let mark = only(&scene).marks.iter().find(|mark| said(mark) == trusts);
    assert_eq!(
        mark.map(|mark| (mark.seat, mark.place.y)),
        Some((seat(1), only(&scene).lifelines[0].y))
    );
    assert!(words(&scene, LabelRole::Legend).ends_with(&["suspects", "trusts again"]));
}

#[test]
fn who_is_dead_from_the_start_never_has_a_line() {
    let mut run = Run::election("bully", &[1, 2], false);
    run.event(0, 2, What::Crashed).event(0, 1, CALLED).event(200, 1, CALLED);
    let dead = scene(&run.trace());
    assert_eq!(
        (only(&dead).lifelines[1].strokes.len(), words(&dead, LabelRole::Mark)),
        (0, vec!["down from the start"])
    );
    run.event(100, 2, What::Returned);
    let back = scene(&run.trace());
    let [stroke] = only(&back).lifelines[1].strokes[..] else { panic!("since it came back") };
    assert_eq!((stroke.left, stroke.right), (only(&back).ticks[1].x, only(&back).plot.right));
    assert_eq!(words(&back, LabelRole::Mark), ["down from the start", "back"]);
}

#[test]
fn who_crashes_at_the_first_moment_but_after_its_first_message_was_not_down_from_the_start() {
    let mut run = Run::election("bully", &[1, 2], false);
    run.message(ELECTION, (2, 0), (1, 100), "Election").event(0, 2, What::Crashed);
    run.event(200, 1, CALLED);
    assert_eq!(words(&scene(&run.trace()), LabelRole::Mark), ["crash"]);
}

#[test]
fn a_picture_in_words_says_what_the_run_was_about() {
    let bully = scene(&gallery::bully()).description;
    assert!(bully.contains("5 times a process is told who leads, 1 of them that it"), "{bully}");
    let detector = scene(&gallery::detector()).description;
    assert!(detector.contains(": 4 suspicions, "), "{detector}");
}

#[test]
fn a_leader_that_is_not_the_largest_is_hatched_from_then_on() {
    let mut run = Run::election("bully", &[1, 2, 3], false);
    run.promises(LARGEST);
    run.event(0, 1, CALLED).event(0, 1, ELECTING);
    run.message(ELECTION, (1, 0), (3, 300), "Election");
    run.elected(200, 1, 1, 0).event(400, 2, CALLED);
    let scene = Scene::of(&run.trace(), &scroll());
    let [wrong] = &only(&scene).clashes[..] else { panic!("{:?}", only(&scene).clashes) };
    assert_eq!((&*wrong.words, &wrong.holders[..]), ("not the largest", &[seat(1), seat(3)][..]));
    assert_eq!(
        (wrong.from, wrong.to, wrong.area.right),
        (time(200), None, only(&scene).plot.right)
    );
    assert!(scene.labels.iter().any(|label| label.text == "not the largest"));
    let mut right = Run::election("bully", &[1, 2, 3], false);
    right.promises(LARGEST);
    right.event(0, 3, CALLED).event(0, 3, ELECTING).elected(200, 3, 3, 0);
    right.elected(300, 1, 3, 0).elected(300, 2, 3, 0);
    assert_eq!(only(&Scene::of(&right.trace(), &scroll())).clashes, []);
}

fn standing(timers: &[&str]) -> Option<Box<Standing>> {
    let timer =
        |name: &&str| PendingTimer { name: (*name).into(), due: time(900), is_deadline: false };
    let timers = timers.iter().map(timer).collect();
    Some(Box::new(Standing { state: "{}".into(), timers }))
}

#[test]
fn a_timer_is_a_thin_bar_from_its_setting_until_it_runs_out_or_is_cancelled() {
    let mut run = Run::election("bully", &[1, 2], false);
    run.event(0, 1, CALLED).after(standing(&["Answer", "Lease(1)"]));
    run.event(100, 1, ELECTING).after(standing(&["Answer", "Lease(2)"]));
    run.event(200, 1, What::TimerFired).text("Answer");
    run.event(200, 1, ELECTING).after(standing(&["Lease(2)", "Answer"]));
    run.event(300, 1, CALLED).after(standing(&["Answer"]));
    run.event(400, 2, CALLED);
    let scene = Scene::of(&run.trace(), &scroll());
    let bars: Vec<_> = only(&scene)
        .timers
        .iter()
        .map(|it| (&*it.name, it.from, it.to, it.runs_out, it.row))
        .collect();
    assert_eq!(
        bars,
        [
            ("Answer", time(0), Some(time(200)), true, 0),
            ("Lease", time(0), Some(time(300)), false, 1),
            ("Answer", time(200), None, false, 0),
        ]
    );
    let x = |at: usize| only(&scene).ticks[at].x;
    assert_eq!((only(&scene).timers[0].area.left, only(&scene).timers[0].area.right), (x(0), x(2)));
    assert!(scene.labels.iter().any(|label| label.text == "answer"));
    // A trace that does not tell of timers has none.
    assert_eq!(only(&Scene::of(&gallery::bully(), &scroll())).timers, []);
}

#[test]
fn a_wrong_suspicion_is_hatched_until_it_is_taken_back_and_a_death_that_nobody_notices_to_the_end()
{
    let mut run = Run::detector(3, 2);
    run.event(200, 1, suspected(2)).event(400, 1, trusted(2)).event(600, 3, What::Crashed);
    run.event(700, 1, suspected(3)).event(1_000, 2, trusted(1));
    let scene = scene(&run.trace());
    let clashes: Vec<_> = only(&scene).clashes.iter().collect();
    let told: Vec<_> = clashes.iter().map(|it| (&*it.words, it.from, it.to)).collect();
    let wrong = ("wrong", time(200), Some(time(400)));
    assert_eq!(told, [wrong, ("not noticed", time(600), None)]);
    assert_eq!(clashes[1].holders, [seat(3), seat(2)]);
}

#[test]
fn a_timer_of_a_part_is_called_as_the_part_calls_it() {
    let mut run = Run::election("repaired", &[1, 2], false);
    run.event(0, 1, CALLED).after(standing(&["Detector(Beat)", "Protocol(Wait(p2))"]));
    run.elected(400, 1, 1, 0);
    let scene = scene(&run.trace());
    let names: Vec<_> = only(&scene).timers.iter().map(|timer| &*timer.name).collect();
    assert_eq!(names, ["Beat", "Wait"]);
}
