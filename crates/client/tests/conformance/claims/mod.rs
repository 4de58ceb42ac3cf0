//! Everything that is claimed of an engine.

mod asking;
mod crowds;
mod exclusion;
mod fences;
mod force;
mod looking;
mod loss;
mod names;
mod observing;
mod order;
mod values;

use std::pin::Pin;

use crate::scene::Scene;
use crate::world::Ability;

/// One thing that an engine promises.
pub struct Claim {
    pub name: &'static str,
    /// Without these a world cannot try it.
    pub needs: &'static [Ability],
    /// Panics if it is not so.
    pub run: for<'a> fn(&'a Scene) -> Pin<Box<dyn Future<Output = ()> + 'a>>,
}

impl Claim {
    pub fn named(name: &str) -> &'static Self {
        ALL.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("there is no claim {name}"))
    }
}

/// Makes [`ALL`] and `test_every_claim` from one list.
macro_rules! claims {
    ($dollar:tt $($module:ident::$claim:ident $(needs $need:ident)?,)*) => {
        /// Every claim, in the order in which they are best read.
        pub const ALL: &[Claim] = &[$(Claim {
            name: stringify!($claim),
            needs: &[$(Ability::$need)?],
            run: |scene| Box::pin($module::$claim(scene)),
        }),*];

        /// Makes one test of each claim. `assert` gets the claim's name.
        macro_rules! test_every_claim {
            ($dollar assert:path) => {
                $(
                    #[test]
                    fn $claim() {
                        $dollar assert(stringify!($claim));
                    }
                )*
            };
        }
        pub(crate) use test_every_claim;
    };
}

claims! { $
    exclusion::two_clients_exclude_each_other,
    exclusion::two_tasks_of_one_client_exclude_each_other,
    exclusion::only_one_leads,
    exclusion::what_another_process_holds_is_taken needs OtherProcess,
    exclusion::what_a_killed_process_held_becomes_free needs OtherProcess,
    crowds::a_crowd_is_never_in_together_and_everybody_gets_in,
    crowds::whoever_comes_and_goes_all_are_served_by_the_rule,
    crowds::two_who_want_the_same_locks_never_wait_for_each_other,

    order::waiters_are_served_in_the_order_of_their_arrival,
    order::readers_hold_together_and_a_writer_alone,
    order::a_reader_never_passes_a_waiting_writer,
    order::a_newcomer_never_passes_one_who_waits_for_a_slot,
    order::there_are_as_many_holders_as_slots,
    order::a_lock_and_a_semaphore_of_one_name_do_not_mix,
    order::semaphores_of_one_name_agree_on_the_number_of_slots,

    asking::a_free_lock_is_taken_by_a_try,
    asking::a_busy_lock_names_its_holder,
    asking::a_timed_out_wait_has_left_the_queue_for_good,
    asking::a_cancelled_wait_lets_those_behind_it_move_up,
    asking::a_wait_that_is_dropped_when_it_is_granted_holds_nothing,
    asking::dropping_a_guard_lets_go,
    asking::a_released_lock_is_free_at_once,
    asking::locks_taken_together_are_let_go_when_one_is_not_to_be_had,

    fences::fences_grow_with_every_grant_in_whatever_mode,
    fences::fences_of_those_who_hold_together_differ,
    fences::fences_grow_over_clients_that_come_and_go,
    fences::fences_grow_over_restarts_of_the_store needs RestartStore,
    fences::the_last_fence_is_told,

    values::a_value_is_kept_for_the_next_holder,
    values::a_value_has_the_fence_of_its_writer,
    values::any_bytes_are_a_value,
    values::a_value_survives_a_restart_of_the_store needs RestartStore,
    values::a_lost_holder_changes_no_value,

    loss::one_who_is_forced_away_is_told,
    loss::one_whose_session_expires_is_told needs Expire,
    loss::to_release_what_was_lost_is_an_error,
    loss::a_lost_guard_takes_nothing_from_the_next_holder,
    loss::a_deadline_moves_on_while_the_lock_is_held,

    looking::what_nobody_used_is_idle,
    looking::holders_are_told_with_what_they_said,
    looking::waiters_are_told_in_order_with_what_they_said,
    looking::everything_in_use_is_listed,
    looking::a_change_makes_a_new_version,
    looking::a_change_is_noticed,
    looking::a_change_that_came_before_is_noticed_at_once,
    looking::nothing_is_noticed_over_and_over_while_nothing_changes,

    observing::an_observer_sees_who_leads,
    observing::an_observer_sees_every_new_value,
    observing::an_observer_sees_who_resigns,
    observing::a_leader_that_just_goes_is_not_seen_to_resign,
    observing::an_observer_never_sees_a_smaller_fence,

    force::force_takes_it_from_all_who_hold,
    force::force_by_fence_takes_it_from_that_one_alone,
    force::force_by_process_turns_its_waiters_away,
    force::force_by_process_leaves_other_processes_alone needs OtherProcess,
    force::force_against_nobody_does_nothing,
    force::force_is_put_down needs Audit,

    names::any_text_is_a_name_and_no_two_meet,
    names::a_lock_and_an_election_of_one_name_do_not_meet,
}
