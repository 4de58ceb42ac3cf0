//! The suite on trial: engines that are broken in one way each. Each must fail, and in the claims
//! that the table names.
//!
//! They are all one small [engine] that is told what to do wrong. Told nothing, it keeps every
//! claim, on the same way.

#![expect(clippy::disallowed_types, reason = "engines tell times as a SystemTime")]

mod engine;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use conclave_client::{Client, Resource};
use tokio::runtime::{Builder, Runtime};

use self::engine::Store;
use crate::claims::{ALL, Claim};
use crate::world::{Ability, Doing, Verdict, World, judge};

struct BrokenWorld {
    store: Arc<Store>,
}

impl BrokenWorld {
    fn new(fault: Option<Fault>, claim: &Claim) -> Self {
        // Deadlines are in real time; all else here is not, and a slow machine must not matter.
        let matters = matches!(fault, None | Some(Fault::NeverRenews));
        let has_deadlines = matters && claim.name == "a_deadline_moves_on_while_the_lock_is_held";
        Self { store: Store::new(fault, has_deadlines) }
    }
}

impl World for BrokenWorld {
    fn client(&self) -> Client {
        Client::new(self.store.engine())
    }

    fn pass(&self, time: Duration) -> Doing<'_> {
        Box::pin(async move {
            self.store.advance(time);
            // On one thread, this runs all others until they wait.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        })
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn runtime(&self) -> Runtime {
        Builder::new_current_thread().build().unwrap()
    }

    fn abilities(&self) -> &'static [Ability] {
        &[Ability::Expire, Ability::RestartStore, Ability::Audit]
    }

    fn expire<'a>(&'a self, resource: &'a Resource) -> Doing<'a> {
        Box::pin(async move { self.store.expire(resource) })
    }

    fn restart_store(&self) -> Doing<'_> {
        Box::pin(async move { self.store.restart() })
    }

    fn audit(&self) -> Vec<String> {
        self.store.audit()
    }
}

/// The claims that an engine with that fault does not keep.
fn broken_claims(fault: Option<Fault>) -> BTreeSet<&'static str> {
    let mut broken = BTreeSet::new();
    for claim in ALL {
        if let Verdict::Broken(how) = judge(claim, Box::new(BrokenWorld::new(fault, claim))) {
            println!("{}: {how}", claim.name);
            broken.insert(claim.name);
        }
    }
    broken
}

/// Whether claims beside those that are named may notice a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Others {
    May,
    MayNot,
}

/// An engine that is broken in one way, and who must notice.
struct Row {
    fault: Fault,
    noticed_by: &'static [&'static str],
    others: Others,
}

fn assert_rejected(fault: Fault) {
    let row = TABLE.iter().find(|row| row.fault == fault).expect("every fault has a row");
    let named: BTreeSet<&str> = row.noticed_by.iter().copied().collect();
    let broken = broken_claims(Some(fault));
    let missed: Vec<_> = named.difference(&broken).collect();
    assert!(missed.is_empty(), "{fault:?} is not noticed by {missed:#?}");
    let more: Vec<_> = broken.difference(&named).collect();
    let is_exact = row.others == Others::May || more.is_empty();
    assert!(is_exact, "{fault:?} is also noticed by {more:#?}");
}

#[test]
fn the_engine_that_is_not_broken_keeps_every_claim() {
    assert_eq!(broken_claims(None), BTreeSet::new());
}

#[test]
fn every_claim_is_needed_to_notice_some_fault() {
    let named: BTreeSet<&str> = TABLE.iter().flat_map(|row| row.noticed_by).copied().collect();
    let tried = ALL.iter().filter(|claim| !claim.needs.contains(&Ability::OtherProcess));
    assert_eq!(named, tried.map(|claim| claim.name).collect());
}

/// Makes [`Fault`], [`TABLE`] and a test for each row from one table.
macro_rules! the_suite_rejects_an_engine_that {
    ($($test:ident, $fault:ident: $($claim:ident)+ $(, $others:ident)?;)+) => {
        /// What an engine can do wrong.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Fault { $($fault),+ }

        const TABLE: &[Row] = &[$(Row {
            fault: Fault::$fault,
            noticed_by: &[$(stringify!($claim)),+],
            others: others!($($others)?),
        }),+];

        mod the_suite_rejects_an_engine_that {
            use super::{Fault, assert_rejected};

            $(
                #[test]
                fn $test() {
                    assert_rejected(Fault::$fault);
                }
            )+
        }
    };
}

macro_rules! others {
    () => {
        Others::MayNot
    };
    (and_others) => {
        Others::May
    };
}

// What an engine does wrong, and the claims that notice: these alone, or `and_others`.
the_suite_rejects_an_engine_that! {
    // Exclusion and order.
    lets_two_in, LetsTwoIn:
        two_clients_exclude_each_other
        two_tasks_of_one_client_exclude_each_other
        a_crowd_is_never_in_together_and_everybody_gets_in
        only_one_leads, and_others;
    elects_everybody, ElectsEverybody:
        only_one_leads
        an_observer_sees_who_resigns
        an_observer_never_sees_a_smaller_fence;
    takes_two_tasks_for_one, TakesTwoTasksForOne:
        two_tasks_of_one_client_exclude_each_other
        a_crowd_is_never_in_together_and_everybody_gets_in, and_others;
    wakes_nobody, WakesNobody:
        two_clients_exclude_each_other
        two_who_want_the_same_locks_never_wait_for_each_other
        dropping_a_guard_lets_go, and_others;
    serves_the_newest_first, ServesTheNewestFirst:
        waiters_are_served_in_the_order_of_their_arrival
        a_newcomer_never_passes_one_who_waits_for_a_slot
        whoever_comes_and_goes_all_are_served_by_the_rule, and_others;
    lets_readers_pass, LetsReadersPass:
        a_reader_never_passes_a_waiting_writer
        whoever_comes_and_goes_all_are_served_by_the_rule
        a_cancelled_wait_lets_those_behind_it_move_up;
    lets_readers_in_one_by_one, LetsReadersInOneByOne:
        readers_hold_together_and_a_writer_alone, and_others;
    has_one_slot_too_many, HasOneSlotTooMany:
        there_are_as_many_holders_as_slots
        a_newcomer_never_passes_one_who_waits_for_a_slot, and_others;
    mixes_locks_and_semaphores, MixesLocksAndSemaphores:
        a_lock_and_a_semaphore_of_one_name_do_not_mix
        semaphores_of_one_name_agree_on_the_number_of_slots
        locks_taken_together_are_let_go_when_one_is_not_to_be_had;
    minds_no_number_of_slots, MindsNoNumberOfSlots:
        semaphores_of_one_name_agree_on_the_number_of_slots;

    // Asking and letting go.
    refuses_every_try, RefusesEveryTry:
        a_free_lock_is_taken_by_a_try, and_others;
    names_no_holder, NamesNoHolder:
        a_busy_lock_names_its_holder;
    grants_to_those_who_gave_up, GrantsToThoseWhoGaveUp:
        a_timed_out_wait_has_left_the_queue_for_good;
    leaves_dropped_waiters_in_the_queue, LeavesDroppedWaitersInTheQueue:
        a_cancelled_wait_lets_those_behind_it_move_up
        only_one_leads
        waiters_are_told_in_order_with_what_they_said
        whoever_comes_and_goes_all_are_served_by_the_rule;
    leaks_a_grant_that_nobody_heard_of, LeaksAGrantThatNobodyHeardOf:
        a_wait_that_is_dropped_when_it_is_granted_holds_nothing;
    keeps_what_is_dropped, KeepsWhatIsDropped:
        dropping_a_guard_lets_go
        locks_taken_together_are_let_go_when_one_is_not_to_be_had, and_others;
    releases_later, ReleasesLater:
        a_released_lock_is_free_at_once, and_others;

    // Fences.
    gives_readers_one_fence, GivesReadersOneFence:
        fences_grow_with_every_grant_in_whatever_mode
        fences_of_those_who_hold_together_differ, and_others;
    counts_fences_by_client, CountsFencesByClient:
        fences_grow_over_clients_that_come_and_go
        fences_grow_with_every_grant_in_whatever_mode, and_others;
    forgets_fences_at_a_restart, ForgetsFencesAtARestart:
        fences_grow_over_restarts_of_the_store;
    forgets_the_last_fence, ForgetsTheLastFence:
        the_last_fence_is_told;

    // Values.
    forgets_values_at_a_release, ForgetsValuesAtARelease:
        a_value_is_kept_for_the_next_holder
        a_value_has_the_fence_of_its_writer
        a_value_survives_a_restart_of_the_store;
    forgets_values_at_a_restart, ForgetsValuesAtARestart:
        a_value_survives_a_restart_of_the_store;
    gives_values_to_the_holder, GivesValuesToTheHolder:
        a_value_has_the_fence_of_its_writer;
    takes_values_for_text, TakesValuesForText:
        any_bytes_are_a_value;
    takes_values_from_the_lost, TakesValuesFromTheLost:
        a_lost_holder_changes_no_value
        one_who_is_forced_away_is_told
        one_whose_session_expires_is_told;

    // Loss.
    tells_nobody_of_a_loss, TellsNobodyOfALoss:
        one_who_is_forced_away_is_told
        one_whose_session_expires_is_told, and_others;
    releases_what_was_lost, ReleasesWhatWasLost:
        to_release_what_was_lost_is_an_error
        one_who_is_forced_away_is_told
        one_whose_session_expires_is_told;
    lets_go_of_what_the_next_one_holds, LetsGoOfWhatTheNextOneHolds:
        a_lost_guard_takes_nothing_from_the_next_holder, and_others;
    never_renews, NeverRenews:
        a_deadline_moves_on_while_the_lock_is_held;

    // Looking.
    leaves_a_trace_of_a_look, LeavesATraceOfALook:
        what_nobody_used_is_idle;
    forgets_labels, ForgetsLabels:
        holders_are_told_with_what_they_said
        everything_in_use_is_listed;
    tells_waiters_backwards, TellsWaitersBackwards:
        waiters_are_told_in_order_with_what_they_said;
    lists_no_waiters, ListsNoWaiters:
        everything_in_use_is_listed;
    changes_values_in_silence, ChangesValuesInSilence:
        a_change_makes_a_new_version
        a_change_is_noticed
        a_change_that_came_before_is_noticed_at_once
        an_observer_sees_every_new_value;
    notices_nothing, NoticesNothing:
        a_change_is_noticed
        an_observer_sees_who_leads, and_others;
    misses_what_came_before, MissesWhatCameBefore:
        a_change_that_came_before_is_noticed_at_once, and_others;
    notices_what_did_not_happen, NoticesWhatDidNotHappen:
        nothing_is_noticed_over_and_over_while_nothing_changes;

    // Observing.
    elects_without_a_value, ElectsWithoutAValue:
        an_observer_sees_who_leads, and_others;
    resigns_in_silence, ResignsInSilence:
        an_observer_sees_who_resigns;
    takes_dropped_for_resigned, TakesDroppedForResigned:
        a_leader_that_just_goes_is_not_seen_to_resign;
    looks_into_the_past, LooksIntoThePast:
        an_observer_never_sees_a_smaller_fence
        an_observer_sees_every_new_value;

    // Force.
    forces_everybody, ForcesEverybody:
        force_by_fence_takes_it_from_that_one_alone
        force_against_nobody_does_nothing;
    forces_one_of_several, ForcesOneOfSeveral:
        force_takes_it_from_all_who_hold;
    leaves_waiters_alone, LeavesWaitersAlone:
        force_by_process_turns_its_waiters_away;
    puts_nothing_down, PutsNothingDown:
        force_is_put_down;

    // Names.
    cuts_names_at_slashes, CutsNamesAtSlashes:
        any_text_is_a_name_and_no_two_meet
        everything_in_use_is_listed;
    takes_elections_for_locks, TakesElectionsForLocks:
        a_lock_and_an_election_of_one_name_do_not_meet
        an_observer_sees_who_resigns
        everything_in_use_is_listed;
}
