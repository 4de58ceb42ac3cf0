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
use conclave_algorithms::detector::{heartbeat, with};
use conclave_algorithms::election::{Bully, ChangRoberts, Chubby, bully, chang_roberts, chubby};
use conclave_algorithms::mutex::{
    Lamport, Maekawa, MaekawaPlain, RicartAgrawala, TokenRing, TokenRingRepaired, lamport, maekawa,
    ricart_agrawala, token_ring, token_ring_repaired,
};
use conclave_algorithms::quorum::{Construction, VotingSets};
use conclave_check::Fairness;
use conclave_check::system::{self, Channels, Faults, Flaw};
use conclave_core::mutex::{Command, Notice};
use conclave_core::{Due, Effect, Effects, Fence, Input, ProcessId, Start, View};
use conclave_observe::family::{elections, locks};
use conclave_testkit::mutant::{
    Nobody, Tamper, does, forgets, hears, loses, persists_nothing, put, says, step,
};

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

/// A request that is answered at once leaves nothing behind but the risen clock, so to forget it is
/// to keep the clock still.
fn clock_that_stands_still() -> Exhibit {
    use ricart_agrawala::Message::Request;
    let replied = |input: &_, done: &[_]| {
        matches!(input, Input::Message { message: Request(_), .. }) && !done.is_empty()
    };
    let bounds = unordered(Bounds::of(&ricart_agrawala::PLAIN, 2));
    Exhibit {
        name: "ricart-agrawala-clock",
        entry: &ricart_agrawala::PLAIN,
        mutant: "the clock does not rise on receipt",
        rule: "a request is younger than all that were answered before it",
        healed: bounds.clone(),
        bounds,
        flaw: TWO_HOLDERS,
        steps: (6, None),
        hunt: asks_all(forgets(replied)),
    }
}

/// At these bounds two requests bear the same time, or times that are further apart than one.
fn ties(name: &'static str, mutant: &'static str, both_win: bool) -> Exhibit {
    use ricart_agrawala::Message::Request;
    let hears_otherwise = move |message: &mut _| {
        if let Request(time) = message {
            time.0 = if both_win { time.0 - 1 } else { time.0 + 1 };
        }
    };
    let bounds = Bounds::of(&ricart_agrawala::PLAIN, 2);
    Exhibit {
        name,
        entry: &ricart_agrawala::PLAIN,
        mutant,
        rule: "of two requests with the same time that of the smaller id is older",
        healed: bounds.clone(),
        bounds,
        flaw: if both_win { TWO_HOLDERS } else { Flaw::Deadlock },
        steps: (if both_win { 6 } else { 4 }, None),
        hunt: asks_all(hears(hears_otherwise)),
    }
}

fn ties_that_both_win() -> Exhibit {
    ties("ricart-agrawala-ties-won", "ties are broken without ids: the other goes first", true)
}

fn ties_that_both_lose() -> Exhibit {
    ties("ricart-agrawala-ties-lost", "ties are broken without ids: the other waits", false)
}

fn replies_without_a_fence() -> Exhibit {
    use ricart_agrawala::Message::Reply;
    let without = |message: &mut _| {
        if let Reply(_, fence) = message {
            *fence = Fence(0);
        }
    };
    let bounds = Bounds::of(&ricart_agrawala::PLAIN, 2);
    Exhibit {
        name: "ricart-agrawala-fence",
        entry: &ricart_agrawala::PLAIN,
        mutant: "replies carry no fence",
        rule: "a reply tells the highest fence that its sender knows",
        healed: bounds.clone(),
        bounds,
        flaw: FENCE_FELL,
        steps: (7, None),
        hunt: asks_all(says(without)),
    }
}

// Lamport.

fn lamport_without_order() -> Exhibit {
    let healed = Bounds::of(&lamport::ENTRY, 2);
    Exhibit {
        name: "lamport-unordered",
        entry: &lamport::ENTRY,
        mutant: "an acknowledgement overtakes a request",
        rule: "channels are FIFO",
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

fn without(
    name: &'static str,
    mutant: &'static str,
    rule: &'static str,
    bounds: Bounds,
    steps: usize,
    lost: impl Fn(&Input<Maekawa>, ProcessId, &maekawa::deadlock_free::Message) -> bool
    + Clone
    + Send
    + Sync
    + 'static,
) -> Exhibit {
    Exhibit {
        name,
        entry: &maekawa::deadlock_free::ENTRY,
        mutant,
        rule,
        healed: bounds.clone(),
        bounds,
        flaw: Flaw::Deadlock,
        steps: (steps, None),
        hunt: lock::<Maekawa>(grid, loses(lost)),
    }
}

fn two() -> Bounds {
    Bounds::of(&maekawa::deadlock_free::ENTRY, 2)
}

fn no_inquire() -> Exhibit {
    let rule = "a voter asks its candidate for the vote back when an older request comes";
    without("maekawa-inquire", "nobody inquires", rule, two(), 5, |_, _, message| {
        *message == maekawa::deadlock_free::Message::Inquire
    })
}

fn no_yield() -> Exhibit {
    let rule = "who knows that it cannot win yet gives the vote back";
    without("maekawa-yield", "nobody yields", rule, two(), 5, |_, _, message| {
        *message == maekawa::deadlock_free::Message::Yield
    })
}

fn no_fail() -> Exhibit {
    let rule = "a voter tells the younger request that it must wait";
    without("maekawa-fail", "nobody is told to fail", rule, two(), 4, |_, _, message| {
        *message == maekawa::deadlock_free::Message::Fail
    })
}

/// The correction that Sanders made in 1987, taken out again.
fn no_second_fail() -> Exhibit {
    let rule = "a queued request that is overtaken by an older one is told to fail, too";
    let bounds = only(&[2, 3, 4], Bounds::of(&maekawa::deadlock_free::ENTRY, 4));
    let mutant = "only who comes is told to fail, not who is overtaken";
    without("maekawa-second-fail", mutant, rule, bounds, 14, |cause, to, message| {
        let is_first = matches!(cause, Input::Message { from, .. } if *from == to);
        *message == maekawa::deadlock_free::Message::Fail && !is_first
    })
}

/// Each takes its own word for what the voting sets are: itself alone.
#[derive(Clone)]
struct MembersDisagree;

impl Tamper<MaekawaPlain> for MembersDisagree {
    fn start(
        &self,
        start: Start<'_, MaekawaPlain>,
        out: &mut Effects<MaekawaPlain>,
    ) -> MaekawaPlain {
        let alone = |&id: &ProcessId| if id == start.me { vec![id] } else { vec![start.me, id] };
        let sets = start.view.members().iter().map(alone).collect();
        let sets = VotingSets::from_sets(start.view, sets).unwrap();
        conclave_core::Protocol::start(Start { config: &sets, ..start }, out)
    }
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
        name: "maekawa-disjoint",
        entry: &maekawa::plain::ENTRY,
        mutant: "each has a voting set of its own",
        rule: "any two voting sets share a member",
        healed: bounds.clone(),
        bounds,
        flaw: TWO_HOLDERS,
        steps: (2, None),
        hunt: lock::<MaekawaPlain>(sets, MembersDisagree),
    }
}

// Elections.

fn smaller_id_passed_on() -> Exhibit {
    use chang_roberts::Message::Election;
    let passes_on = does(|input: &Input<ChangRoberts>, done: &mut Vec<Effect<_>>| {
        let Input::Message { message: Election { id: came, .. }, .. } = input else { return };
        for effect in done {
            if let Effect::Send { message: Election { id, .. }, .. } = effect {
                *id = *came;
            }
        }
    });
    let entry = &chang_roberts::PLAIN;
    let bounds = only(&[1], Bounds::of(entry, 2));
    Exhibit {
        name: "chang-roberts-smaller",
        entry,
        mutant: "the smaller of two ids is passed on",
        rule: "a larger id takes the place of a smaller one",
        healed: bounds.clone(),
        bounds,
        flaw: WRONG_LEADER,
        steps: (3, None),
        hunt: election(entry.promises, chang_roberts::Variant::Plain, passes_on),
    }
}

fn bullies(tamper: impl Tamper<Bully> + 'static) -> Hunt {
    election(bully::ENTRY.promises, bully::Config::new(&timing()), tamper)
}

/// Waits for an answer for less than it can take.
#[derive(Clone)]
struct Hasty;

impl Tamper<Bully> for Hasty {
    fn start(&self, start: Start<'_, Bully>, out: &mut Effects<Bully>) -> Bully {
        let config = bully::Config { answer: TICK, ..*start.config };
        conclave_core::Protocol::start(Start { config: &config, ..start }, out)
    }
}

fn hasty_bully() -> Exhibit {
    let bounds = only(&[1], Bounds::of(&bully::ENTRY, 2).within(1));
    Exhibit {
        name: "bully-hasty",
        entry: &bully::ENTRY,
        mutant: "an answer is waited for D, not 2D",
        rule: "T is at least 2D",
        healed: bounds.clone(),
        bounds,
        flaw: WRONG_LEADER,
        steps: (3, None),
        hunt: bullies(Hasty),
    }
}

fn bully_without_a_bound() -> Exhibit {
    let healed = only(&[1], Bounds::of(&bully::ENTRY, 2).within(1));
    Exhibit {
        name: "bully-async",
        entry: &bully::ENTRY,
        mutant: "messages take any time",
        rule: "messages take at most D",
        bounds: only(&[1], Bounds::of(&bully::ENTRY, 2)),
        healed,
        flaw: WRONG_LEADER,
        steps: (2, None),
        hunt: bullies(Nobody),
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
        name: "chubby-forgets",
        entry: &chubby::ENTRY,
        mutant: "a vote is not persisted",
        rule: "a server votes once per term, in all its lives",
        healed: bounds.clone(),
        bounds,
        flaw: TWO_IN_A_TERM,
        steps: (9, None),
        hunt: election(chubby::ENTRY.promises, config, persists_nothing::<Chubby>()),
    }
}

/// With a promise of half a lease, whoever promised is free while its master still leads. Two
/// renewals are lost, so that nobody promises anew.
fn promise_that_ends_too_soon() -> Exhibit {
    let config = chubby::Config { lease: timing().lease() };
    let half = config.lease / 2;
    let promises_less = does(move |_: &Input<Chubby>, done: &mut Vec<Effect<Chubby>>| {
        for effect in done {
            if let Effect::SetTimer { timer: chubby::Timer::Promise, due } = effect {
                *due = Due::at(half);
            }
        }
    });
    let bounds = Bounds {
        faults: Faults { losses: 2, ..Faults::default() },
        ends: system::Bounds { terms: Some(2), timeouts: Some(4) },
        ..only(&[1, 2], Bounds::of(&chubby::ENTRY, 3).within(1))
    };
    let bounds = Bounds { options: roomy(bounds.options), ..bounds };
    Exhibit {
        name: "chubby-promise",
        entry: &chubby::ENTRY,
        mutant: "a promise lasts half as long as the lease",
        rule: "a promise outlasts the lease that it gives",
        healed: bounds.clone(),
        bounds,
        flaw: Flaw::Breach(elections::TWO_LEADERS),
        steps: (29, None),
        hunt: election(chubby::ENTRY.promises, config, promises_less),
    }
}

/// Most exhibits need thousands of states; this one needs millions.
fn roomy(options: conclave_check::Options) -> conclave_check::Options {
    let budget = conclave_check::Budget { states: 20_000_000, ..options.budget };
    conclave_check::Options { budget, ..options }
}

/// The clock of a master is so slow that its first renewal comes after the promises have run out:
/// nothing has to be lost.
fn lease_that_ends_too_late() -> Exhibit {
    let config = chubby::Config { lease: timing().lease() };
    let looks_late = does(move |_: &Input<Chubby>, done: &mut Vec<Effect<Chubby>>| {
        use chubby::Timer::{Lease, Renew};
        for effect in done {
            if let Effect::SetTimer { timer: Lease(_) | Renew, due } = effect {
                *due = match *due {
                    Due::Deadline(after) => Due::Deadline(5 * after),
                    Due::Within { after, at_most } => {
                        Due::Within { after: 5 * after, at_most: 5 * at_most }
                    }
                };
            }
        }
    });
    let bounds = Bounds {
        ends: system::Bounds { terms: Some(2), timeouts: Some(2) },
        ..only(&[1, 2], Bounds::of(&chubby::ENTRY, 3).within(1))
    };
    Exhibit {
        name: "chubby-late",
        entry: &chubby::ENTRY,
        mutant: "a master's clock runs five times too slowly: it looks at its lease too late",
        rule: "a lease ends before the promises that it rests on",
        healed: bounds.clone(),
        bounds,
        flaw: Flaw::Breach(elections::TWO_LEADERS),
        steps: (37, None),
        hunt: election(chubby::ENTRY.promises, config, looks_late),
    }
}

// Token rings.

/// Takes a token of any epoch for one of its own: tries them all, and keeps to what it minds.
fn minds_no_epoch(
    process: &mut TokenRingRepaired,
    input: Input<TokenRingRepaired>,
    out: &mut Effects<TokenRingRepaired>,
) {
    use token_ring_repaired::{Epoch, Message::Ring};
    if let Input::Message { from, message: with::Message::Protocol(Ring(_, token)) } = &input {
        for epoch in (0..20).map(Epoch) {
            let message = with::Message::Protocol(Ring(epoch, token.clone()));
            let before = process.clone();
            let effects = step(process, Input::Message { from: *from, message });
            if !effects.is_empty() || *process != before {
                return put(effects, out);
            }
        }
    }
    conclave_core::Protocol::on(process, input, out);
}

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
        name: "token-ring-epoch",
        entry: &token_ring_repaired::ENTRY,
        mutant: "a new token is made, and an old one is taken, too",
        rule: "a token of an older epoch is taken by nobody",
        healed: bounds.clone(),
        bounds,
        flaw: TWO_HOLDERS,
        steps: (15, None),
        hunt: repaired(minds_no_epoch),
    }
}

/// Passes the token on although it wants in.
fn too_polite(process: &mut TokenRing, input: Input<TokenRing>, out: &mut Effects<TokenRing>) {
    let before = process.clone();
    let effects = step(process, input.clone());
    let enters = |it: &Effect<_>| matches!(it, Effect::Notify(Notice::Entered { .. }));
    match input {
        Input::Message { message, .. } if effects.iter().any(enters) => {
            let successor = step(process, Input::Command(Command::Leave));
            for effect in successor {
                if let Effect::Send { to, .. } = effect {
                    out.send(to, message.clone());
                }
            }
            *process = before;
        }
        _ => put(effects, out),
    }
}

fn token_passed_on_by_who_wants_it() -> Exhibit {
    let bounds = live(only(&[1], Bounds::of(&token_ring::ENTRY, 2)), Fairness::ALL);
    Exhibit {
        name: "token-ring-polite",
        entry: &token_ring::ENTRY,
        mutant: "who waits passes the token on",
        rule: "who wants in keeps the token that comes by",
        healed: bounds.clone(),
        bounds,
        flaw: Flaw::Starved,
        steps: (1, Some(2)),
        hunt: lock::<TokenRing>(|_| (), too_polite),
    }
}

// What is fair, taken away.

fn nobody_has_to_leave() -> Exhibit {
    let healed = live(Bounds::of(&token_ring_repaired::ENTRY, 2).within(1), Fairness::ALL);
    Exhibit {
        name: "fairness-leaves",
        entry: &token_ring_repaired::ENTRY,
        mutant: "a holder stays in",
        rule: "holders leave eventually",
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
        name: "fairness-arrivals",
        entry: &ricart_agrawala::PLAIN,
        mutant: "a message stays on its way",
        rule: "messages arrive eventually",
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
    let expected = GALLERY.iter().flat_map(|exhibit| files(exhibit().name)).collect();
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

| mutant | rule that is broken | algorithm | smallest bounds | found | steps | \
states | left alone | |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

/// Nobody takes part then, and nobody else would miss the election.
#[test]
fn a_call_that_goes_unheard_is_a_deadlock() {
    fn is_deaf(process: &mut Bully, input: Input<Bully>, out: &mut Effects<Bully>) {
        if !matches!(input, Input::Command(_)) {
            conclave_core::Protocol::on(process, input, out);
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
