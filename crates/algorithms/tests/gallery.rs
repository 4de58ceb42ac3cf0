//! Mutants that must be found: each the real algorithm with one rule deleted or changed, or without
//! one thing that it assumes, at the smallest bounds at which an exhaustive check finds it.
//!
//! With one less of any bound it is not found, and the algorithm that is left alone is as it
//! promises. What is found is drawn into `docs/gallery`, and `docs/gallery.md` lists it all, with
//! figures that are measured here. `CONCLAVE_UPDATE=1 cargo test -p conclave-algorithms --test
//! gallery` rewrites them: the difference is the review.

mod checked;
mod exhibit;

use conclave_algorithms::catalogue::Timing;
use conclave_algorithms::detector::heartbeat;
use conclave_algorithms::election::{Bully, ChangRoberts, Chubby, bully, chang_roberts, chubby};
use conclave_algorithms::mutants::{self, Mutant};
use conclave_algorithms::mutex::{
    Lamport, Maekawa, MaekawaPlain, RicartAgrawala, TokenRing, TokenRingRepaired, lamport, maekawa,
    ricart_agrawala, token_ring, token_ring_repaired,
};
use conclave_algorithms::quorum::{Construction, VotingSets};
use conclave_check::Fairness;
use conclave_check::system::{self, Channels, Faults, Flaw};
use conclave_core::{Effects, Input, ProcessId, Protocol, View};
use conclave_observe::family::{elections, locks};
use conclave_testkit::mutant::{Anybody, Nobody, Tamper};

use checked::{Bounds, TICK};
use exhibit::{Exhibit, Hunt, election, kept, lock};

const TWO_HOLDERS: Flaw = Flaw::Breach(locks::TWO_HOLDERS);
const FENCE_FELL: Flaw = Flaw::Breach(locks::FENCE_FELL);
const WRONG_LEADER: Flaw = Flaw::Breach(elections::WRONG_LEADER);
const TWO_IN_A_TERM: Flaw = Flaw::Breach(elections::TWO_IN_A_TERM);

/// Times of those who have timers: D is a tick, and detectors beat every two.
fn timing() -> Timing {
    Timing { beat: Some(2 * TICK), ..Timing::of(TICK) }
}

/// These ask, and nobody else.
fn only(clients: &[u32], bounds: Bounds) -> Bounds {
    let seat = |&id: &u32| bounds.view.seat(ProcessId(id)).unwrap();
    Bounds { clients: clients.iter().map(seat).collect(), ..bounds }
}

fn unordered(bounds: Bounds) -> Bounds {
    Bounds { channels: Channels::Unordered, ..bounds }
}

fn live(bounds: Bounds, fairness: Fairness) -> Bounds {
    let options = conclave_check::Options { liveness: true, fairness, ..bounds.options };
    Bounds { options, ..bounds }
}

// Ricart-Agrawala.

fn asks_all(tamper: impl Tamper<RicartAgrawala> + 'static) -> Hunt {
    lock::<RicartAgrawala>(|_| ricart_agrawala::Answers::Replies, tamper)
}

/// The mutant of that name.
fn named(name: &str) -> &'static Mutant {
    mutants::find(name).unwrap()
}

/// Who makes that mutant of a process.
fn tamper<P: Protocol>(name: &str) -> Anybody<P> {
    named(name).tamper().unwrap_or_else(|| panic!("{name} is one of another algorithm"))
}

fn clock_that_stands_still() -> Exhibit {
    let bounds = unordered(Bounds::of(&ricart_agrawala::PLAIN, 2));
    Exhibit {
        mutant: named("ricart-agrawala-clock"),
        healed: bounds.clone(),
        bounds,
        flaw: TWO_HOLDERS,
        steps: (6, None),
        hunt: asks_all(tamper("ricart-agrawala-clock")),
    }
}

/// At these bounds two requests bear the same time, or times that are further apart than one.
fn ties(name: &'static str, flaw: Flaw, steps: usize) -> Exhibit {
    let bounds = Bounds::of(&ricart_agrawala::PLAIN, 2);
    Exhibit {
        mutant: named(name),
        healed: bounds.clone(),
        bounds,
        flaw,
        steps: (steps, None),
        hunt: asks_all(tamper(name)),
    }
}

fn ties_that_both_win() -> Exhibit {
    ties("ricart-agrawala-ties-won", TWO_HOLDERS, 6)
}

fn ties_that_both_lose() -> Exhibit {
    ties("ricart-agrawala-ties-lost", Flaw::Deadlock, 4)
}

fn replies_without_a_fence() -> Exhibit {
    let bounds = Bounds::of(&ricart_agrawala::PLAIN, 2);
    Exhibit {
        mutant: named("ricart-agrawala-fence"),
        healed: bounds.clone(),
        bounds,
        flaw: FENCE_FELL,
        steps: (7, None),
        hunt: asks_all(tamper("ricart-agrawala-fence")),
    }
}

// Lamport.

fn lamport_without_order() -> Exhibit {
    let healed = Bounds::of(&lamport::ENTRY, 2);
    Exhibit {
        mutant: named("lamport-unordered"),
        bounds: unordered(healed.clone()),
        healed,
        flaw: TWO_HOLDERS,
        steps: (4, None),
        hunt: lock::<Lamport>(|_| (), Nobody),
    }
}

// Maekawa.

fn grid(view: &View) -> VotingSets {
    VotingSets::build(Construction::Grid, view).unwrap()
}

fn without(name: &'static str, bounds: Bounds, steps: usize) -> Exhibit {
    Exhibit {
        mutant: named(name),
        healed: bounds.clone(),
        bounds,
        flaw: Flaw::Deadlock,
        steps: (steps, None),
        hunt: lock::<Maekawa>(grid, tamper(name)),
    }
}

fn two() -> Bounds {
    Bounds::of(&maekawa::deadlock_free::ENTRY, 2)
}

fn no_inquire() -> Exhibit {
    without("maekawa-inquire", two(), 5)
}

fn no_yield() -> Exhibit {
    without("maekawa-yield", two(), 5)
}

fn no_fail() -> Exhibit {
    without("maekawa-fail", two(), 4)
}

/// The correction that Sanders made in 1987, taken out again.
fn no_second_fail() -> Exhibit {
    let bounds = only(&[2, 3, 4], Bounds::of(&maekawa::deadlock_free::ENTRY, 4));
    without("maekawa-second-fail", bounds, 14)
}

fn sets_that_share_nobody() -> Exhibit {
    // All ask 1, and everybody but 1 asks itself as well: that does not deadlock.
    let sets = |view: &View| {
        let first = view.members()[0];
        let set = |&id: &ProcessId| if id == first { vec![id] } else { vec![first, id] };
        VotingSets::from_sets(view, view.members().iter().map(set).collect()).unwrap()
    };
    let bounds = Bounds::of(&maekawa::plain::ENTRY, 2);
    Exhibit {
        mutant: named("maekawa-disjoint"),
        healed: bounds.clone(),
        bounds,
        flaw: TWO_HOLDERS,
        steps: (2, None),
        hunt: lock::<MaekawaPlain>(sets, tamper("maekawa-disjoint")),
    }
}

// Elections.

fn smaller_id_passed_on() -> Exhibit {
    let entry = &chang_roberts::PLAIN;
    let bounds = only(&[1], Bounds::of(entry, 2));
    Exhibit {
        mutant: named("chang-roberts-smaller"),
        healed: bounds.clone(),
        bounds,
        flaw: WRONG_LEADER,
        steps: (3, None),
        hunt: election::<ChangRoberts>(
            entry.promises,
            chang_roberts::Variant::Plain,
            tamper("chang-roberts-smaller"),
        ),
    }
}

fn bullies(tamper: impl Tamper<Bully> + 'static) -> Hunt {
    election(bully::ENTRY.promises, bully::Config::new(&timing()), tamper)
}

fn hasty_bully() -> Exhibit {
    let bounds = only(&[1], Bounds::of(&bully::ENTRY, 2).within(1));
    Exhibit {
        mutant: named("bully-hasty"),
        healed: bounds.clone(),
        bounds,
        flaw: WRONG_LEADER,
        steps: (3, None),
        hunt: bullies(tamper("bully-hasty")),
    }
}

fn bully_without_a_bound() -> Exhibit {
    let healed = only(&[1], Bounds::of(&bully::ENTRY, 2).within(1));
    Exhibit {
        mutant: named("bully-async"),
        bounds: only(&[1], Bounds::of(&bully::ENTRY, 2)),
        healed,
        flaw: WRONG_LEADER,
        steps: (2, None),
        hunt: bullies(Nobody),
    }
}

/// As one copy of the notes has it.
fn bully_that_answers_once() -> Exhibit {
    let bounds = Bounds::of(&bully::ENTRY, 2).within(1);
    Exhibit {
        mutant: named("bully-answers-once"),
        healed: bounds.clone(),
        bounds,
        flaw: WRONG_LEADER,
        steps: (7, None),
        hunt: bullies(tamper("bully-answers-once")),
    }
}

fn forgotten_vote() -> Exhibit {
    let bounds = Bounds {
        faults: Faults { crashes: 1, returns: 1, ..Faults::default() },
        ends: system::Bounds { terms: Some(1), timeouts: Some(1) },
        ..only(&[1, 3], Bounds::of(&chubby::ENTRY, 3))
    };
    let config = chubby::Config { lease: timing().lease() };
    Exhibit {
        mutant: named("chubby-forgets"),
        healed: bounds.clone(),
        bounds,
        flaw: TWO_IN_A_TERM,
        steps: (9, None),
        hunt: election::<Chubby>(chubby::ENTRY.promises, config, tamper("chubby-forgets")),
    }
}

/// Two renewals are lost, so that nobody promises anew.
fn promise_that_ends_too_soon() -> Exhibit {
    let config = chubby::Config { lease: timing().lease() };
    let bounds = Bounds {
        faults: Faults { losses: 2, ..Faults::default() },
        ends: system::Bounds { terms: Some(2), timeouts: Some(4) },
        ..only(&[1, 2], Bounds::of(&chubby::ENTRY, 3).within(1))
    };
    let bounds = Bounds { options: roomy(bounds.options), ..bounds };
    Exhibit {
        mutant: named("chubby-promise"),
        healed: bounds.clone(),
        bounds,
        flaw: Flaw::Breach(elections::TWO_LEADERS),
        steps: (29, None),
        hunt: election::<Chubby>(chubby::ENTRY.promises, config, tamper("chubby-promise")),
    }
}

/// Most exhibits need thousands of states; this one needs millions.
fn roomy(options: conclave_check::Options) -> conclave_check::Options {
    let budget = conclave_check::Budget { states: 20_000_000, ..options.budget };
    conclave_check::Options { budget, ..options }
}

fn lease_that_ends_too_late() -> Exhibit {
    let config = chubby::Config { lease: timing().lease() };
    let bounds = Bounds {
        ends: system::Bounds { terms: Some(2), timeouts: Some(2) },
        ..only(&[1, 2], Bounds::of(&chubby::ENTRY, 3).within(1))
    };
    Exhibit {
        mutant: named("chubby-late"),
        healed: bounds.clone(),
        bounds,
        flaw: Flaw::Breach(elections::TWO_LEADERS),
        steps: (37, None),
        hunt: election::<Chubby>(chubby::ENTRY.promises, config, tamper("chubby-late")),
    }
}

// Token rings.

fn repaired(tamper: impl Tamper<TokenRingRepaired> + 'static) -> Hunt {
    let config =
        |_: &View| (token_ring_repaired::Config::new(&timing()), heartbeat::Config::new(&timing()));
    lock::<TokenRingRepaired>(config, tamper)
}

fn token_without_an_epoch() -> Exhibit {
    let bounds = Bounds {
        faults: Faults { crashes: 1, returns: 1, ..Faults::default() },
        ..Bounds::of(&token_ring_repaired::ENTRY, 2).within(1)
    };
    Exhibit {
        mutant: named("token-ring-epoch"),
        healed: bounds.clone(),
        bounds,
        flaw: TWO_HOLDERS,
        steps: (15, None),
        hunt: repaired(tamper("token-ring-epoch")),
    }
}

fn token_passed_on_by_who_wants_it() -> Exhibit {
    let bounds = live(only(&[1], Bounds::of(&token_ring::ENTRY, 2)), Fairness::ALL);
    Exhibit {
        mutant: named("token-ring-polite"),
        healed: bounds.clone(),
        bounds,
        flaw: Flaw::Starved,
        steps: (1, Some(2)),
        hunt: lock::<TokenRing>(|_| (), tamper("token-ring-polite")),
    }
}

// What is fair, taken away.

fn nobody_has_to_leave() -> Exhibit {
    let healed = live(Bounds::of(&token_ring_repaired::ENTRY, 2).within(1), Fairness::ALL);
    Exhibit {
        mutant: named("fairness-leaves"),
        bounds: live(healed.clone(), Fairness { leaves: false, ..Fairness::ALL }),
        healed,
        flaw: Flaw::Starved,
        steps: (5, Some(6)),
        hunt: repaired(Nobody),
    }
}

fn no_message_has_to_arrive() -> Exhibit {
    let healed = live(only(&[1], Bounds::of(&ricart_agrawala::PLAIN, 2)), Fairness::ALL);
    Exhibit {
        mutant: named("fairness-arrivals"),
        bounds: live(healed.clone(), Fairness { arrivals: false, ..Fairness::ALL }),
        healed,
        flaw: Flaw::Starved,
        steps: (1, Some(0)),
        hunt: asks_all(Nobody),
    }
}

/// All of it, in the order of the table.
const GALLERY: &[fn() -> Exhibit] = &[
    clock_that_stands_still,
    ties_that_both_win,
    ties_that_both_lose,
    replies_without_a_fence,
    lamport_without_order,
    no_inquire,
    no_yield,
    no_fail,
    no_second_fail,
    sets_that_share_nobody,
    smaller_id_passed_on,
    hasty_bully,
    bully_without_a_bound,
    bully_that_answers_once,
    forgotten_vote,
    promise_that_ends_too_soon,
    lease_that_ends_too_late,
    token_without_an_epoch,
    token_passed_on_by_who_wants_it,
    nobody_has_to_leave,
    no_message_has_to_arrive,
];

#[test]
fn a_clock_that_does_not_rise_on_receipt_lets_two_in() {
    clock_that_stands_still().is_as_claimed();
}

#[test]
fn ties_that_both_win_let_two_in() {
    ties_that_both_win().is_as_claimed();
}

#[test]
fn ties_that_both_lose_are_a_deadlock() {
    ties_that_both_lose().is_as_claimed();
}

#[test]
fn replies_without_a_fence_let_fences_repeat() {
    replies_without_a_fence().is_as_claimed();
}

#[test]
fn lamport_without_fifo_channels_lets_two_in() {
    lamport_without_order().is_as_claimed();
}

#[test]
fn maekawa_without_inquire_deadlocks() {
    no_inquire().is_as_claimed();
}

#[test]
fn maekawa_without_yield_deadlocks() {
    no_yield().is_as_claimed();
}

#[test]
fn maekawa_without_fail_deadlocks() {
    no_fail().is_as_claimed();
}

#[test]
fn maekawa_without_the_second_fail_deadlocks() {
    no_second_fail().is_as_claimed();
}

#[test]
fn voting_sets_that_share_nobody_let_two_in() {
    sets_that_share_nobody().is_as_claimed();
}

#[test]
fn a_ring_that_passes_the_smaller_id_on_elects_it() {
    smaller_id_passed_on().is_as_claimed();
}

#[test]
fn a_bully_that_waits_for_less_than_2d_leads_beside_a_larger_one() {
    hasty_bully().is_as_claimed();
}

#[test]
fn a_bully_without_a_bound_leads_beside_a_larger_one() {
    bully_without_a_bound().is_as_claimed();
}

#[test]
fn a_bully_that_answers_once_is_taken_for_dead_by_the_second_who_asks() {
    bully_that_answers_once().is_as_claimed();
}

#[test]
fn the_gallery_shows_every_mutant_that_has_a_name() {
    let shown: Vec<&str> = GALLERY.iter().map(|exhibit| exhibit().mutant.name).collect();
    let named: Vec<&str> = mutants::MUTANTS.iter().map(|mutant| mutant.name).collect();
    assert_eq!(shown, named);
}

#[test]
fn a_vote_that_is_forgotten_is_given_twice() {
    forgotten_vote().is_as_claimed();
}

#[test]
fn a_promise_that_ends_before_the_lease_lets_two_lead_at_a_time() {
    promise_that_ends_too_soon().is_as_claimed();
}

#[test]
fn a_lease_that_ends_after_the_promises_lets_two_lead_at_a_time() {
    lease_that_ends_too_late().is_as_claimed();
}

#[test]
fn a_token_without_an_epoch_is_one_of_two() {
    token_without_an_epoch().is_as_claimed();
}

#[test]
fn a_token_that_is_passed_on_by_who_wants_it_serves_nobody() {
    token_passed_on_by_who_wants_it().is_as_claimed();
}

#[test]
fn where_nobody_has_to_leave_others_wait_for_ever() {
    nobody_has_to_leave().is_as_claimed();
}

#[test]
fn where_no_message_has_to_arrive_somebody_waits_for_ever() {
    no_message_has_to_arrive().is_as_claimed();
}

#[test]
fn there_is_a_trace_and_a_picture_of_each_and_nothing_else() {
    let files = |name: &str| ["jsonl", "svg"].map(|ending| format!("{name}.{ending}"));
    let expected = GALLERY.iter().flat_map(|exhibit| files(exhibit().mutant.name)).collect();
    assert_eq!(exhibit::files(), expected);
}

#[test]
fn the_table_lists_what_is_found() {
    let rows: String = GALLERY.iter().map(|exhibit| exhibit().row()).collect();
    kept("../gallery.md", &format!("{HEAD}{rows}"));
}

const HEAD: &str = "\
# A gallery of mutants

Each is the real algorithm with one rule taken away or changed, or without one thing that it
assumes. An exhaustive check finds what comes of it, at the smallest bounds at which it can be
found: with one less of any of them it is not. What is found is a shortest way there. At the same
bounds the algorithm that is left alone, or that gets what it assumes, is searched to the end, and
nothing is wrong.

All figures are measured by `cargo test -p conclave-algorithms --test gallery`, which writes this
page. *Steps* lead to what is wrong, *states* were looked at until it was found, *left alone* are
all states of the algorithm itself. `async` means that messages take any time, `sync:D` that they
take at most D ticks. `conclave trace FILE --explain` tells a trace step by step.

Each has the name of its picture, and can be run and searched by it: `conclave mutants` lists them,
`conclave mutants bully-hasty` says how it is seen, and `conclave run bully --mutant bully-hasty
--explain` shows it.

| mutant | rule that is broken | algorithm | smallest bounds | found | steps | \
states | left alone | |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

/// Nobody takes part then, and nobody else would miss the election.
#[test]
fn a_call_that_goes_unheard_is_a_deadlock() {
    fn is_deaf(process: &mut Bully, input: Input<Bully>, out: &mut Effects<Bully>) {
        if !matches!(input, Input::Command(_)) {
            process.on(input, out);
        }
    }
    let bounds = live(only(&[1], Bounds::of(&bully::ENTRY, 2).within(1)), Fairness::ALL);
    let found = bullies(is_deaf)(&bounds, exhibit::In::Tampering);
    assert_eq!(checked::flaw(&found), Some(Flaw::Deadlock));
}

/// What lies beyond a bound is not known to be left undone.
#[test]
fn who_waits_for_what_a_bound_cuts_off_does_not_wait_for_ever() {
    let bounds = Bounds {
        faults: Faults { crashes: 1, ..Faults::default() },
        ends: system::Bounds { terms: None, timeouts: Some(0) },
        ..live(only(&[1], Bounds::of(&bully::ENTRY, 2).within(1)), Fairness::ALL)
    };
    let found = bullies(Nobody)(&bounds, exhibit::In::Nobodys);
    assert_eq!(checked::flaw(&found), None);
    assert!(found.seen(system::Premise::Beyond) > 0);
}
