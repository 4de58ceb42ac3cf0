//! One test per rule.

use super::Message::{
    Ack, Closed, Commit, Create, Gone, Leading, Nack, NewLeader, Ping, Place as At, Pong, Read,
};
use super::*;
use crate::testing::Deed::{Cancelled, Persisted, Sent, Set, Told as Says};
use crate::testing::{Deed, Probe};

const SESSION: Duration = Duration::from_millis(30);

const STORE: ProcessId = ProcessId(0);

fn config(me: u32, watch: Watch) -> Config {
    let part = if ProcessId(me) == STORE { Part::Store } else { Part::Candidate(STORE) };
    Config { part, session: SESSION, watch }
}

fn process(me: u32, watch: Watch) -> Probe<ZooKeeper> {
    Probe::founding(me, &View::dense(0, 6), &config(me, watch))
}

/// Of 1 to 5.
fn candidate(me: u32) -> Probe<ZooKeeper> {
    process(me, Watch::NextLower)
}

fn store(watch: Watch) -> Probe<ZooKeeper> {
    let mut store = process(0, watch);
    for candidate in [3, 1, 2, 4] {
        store.receive(candidate, Create(1));
    }
    store
}

fn place(number: u64, watched: Option<u64>) -> Place {
    Place { number, watched }
}

fn kept(session: u64, epoch: u64, claimant: Option<u32>) -> Deed<ZooKeeper> {
    let claimant = claimant.map(ProcessId);
    Persisted(Stored { session, epoch: Term(epoch), claimant })
}

fn told(leader: u32, epoch: u64) -> Deed<ZooKeeper> {
    Says(Notice::Elected { leader: ProcessId(leader), term: Term(epoch) })
}

fn woken(deeds: &[Deed<ZooKeeper>]) -> Vec<u32> {
    let to = |deed: &Deed<ZooKeeper>| match deed {
        Sent(to, Gone(_)) => Some(*to),
        _ => None,
    };
    deeds.iter().filter_map(to).collect()
}

/// Candidate 1, first in line, having claimed epoch 1.
fn claimant() -> Probe<ZooKeeper> {
    let mut claimant = candidate(1);
    claimant.receive(0, At(1, place(1, None)));
    claimant
}

/// A candidate that claimed to lead and was confirmed by a majority.
fn leader() -> Probe<ZooKeeper> {
    let mut leader = claimant();
    leader.receive(2, Ack(Term(1)));
    leader.receive(3, Ack(Term(1)));
    leader
}

#[test]
fn a_candidate_takes_part_from_its_start_and_gets_into_the_line() {
    assert_eq!(
        candidate(1).began,
        [
            Says(Notice::Electing),
            kept(1, 0, None),
            Set(Timer::Unanswered(0), SESSION, SESSION),
            Set(Timer::Ping, SESSION / 3, SESSION / 3),
            Sent(0, Create(1)),
        ]
    );
}

#[test]
fn one_who_returns_opens_another_session_and_remembers_what_it_acknowledged() {
    let stored = Stored { session: 4, epoch: Term(7), claimant: Some(ProcessId(2)) };
    let config = config(1, Watch::NextLower);
    let view = View::dense(0, 6);
    let mut returned = Probe::<ZooKeeper>::returning(1, &view, &config, Some(&stored));
    assert_eq!(returned.began[1], kept(5, 7, Some(2)));
    assert_eq!(returned.receive(3, NewLeader(Term(7))), [Sent(3, Nack(Term(7)))]);
    assert_eq!(returned.receive(2, NewLeader(Term(7))), [Sent(2, Ack(Term(7)))]);
    assert!(returned.ignores(Input::Message { from: STORE, message: Closed(4) }));
}

#[test]
fn numbers_grow_and_each_watches_the_next_lower_one() {
    let mut store = process(0, Watch::NextLower);
    let session = |id| Set(Timer::Session(ProcessId(id)), SESSION, SESSION);
    assert_eq!(store.receive(3, Create(1)), [session(3), Sent(3, At(1, place(1, None)))]);
    assert_eq!(store.receive(1, Create(1)), [session(1), Sent(1, At(1, place(2, Some(1))))]);
    assert_eq!(store.receive(2, Create(1)), [session(2), Sent(2, At(1, place(3, Some(2))))]);
    assert_eq!(store.receive(2, Create(1))[1], Sent(2, At(1, place(3, Some(2)))), "once more");
}

#[test]
fn a_session_that_ends_wakes_only_who_watches_its_entry() {
    let mut plain = store(Watch::NextLower);
    assert_eq!(woken(&plain.timer(Timer::Session(ProcessId(3)))), [1], "the leader's");
    assert_eq!(woken(&plain.timer(Timer::Session(ProcessId(2)))), [4], "one in the middle");
    assert!(woken(&plain.timer(Timer::Session(ProcessId(4)))).is_empty(), "the last one's");
    assert_eq!(plain.receive(3, Ping(1, 5)), [Sent(3, Closed(1))]);
    assert_eq!(plain.receive(3, Read(1)), [Sent(3, Closed(1))]);
    assert_eq!(plain.receive(3, Create(1)), [Sent(3, Closed(1))]);
}

#[test]
fn a_herd_is_woken_if_all_watch_the_lowest() {
    let mut herd = store(Watch::Lowest);
    assert_eq!(woken(&herd.timer(Timer::Session(ProcessId(3)))), [1, 2, 4]);
    assert_eq!(herd.receive(2, Read(1))[1], Sent(2, At(1, place(3, Some(2)))));
    assert_eq!(herd.receive(4, Read(1))[1], Sent(4, At(1, place(4, Some(2)))));
    assert!(woken(&herd.timer(Timer::Session(ProcessId(4)))).is_empty());
}

#[test]
fn a_new_session_takes_the_place_of_the_old_one_and_an_old_word_of_it_does_nothing() {
    let mut store = store(Watch::NextLower);
    let deeds = store.receive(3, Create(2));
    assert_eq!(woken(&deeds), [1]);
    assert_eq!(deeds.last(), Some(&Sent(3, At(2, place(5, Some(4))))));
    assert_eq!(store.receive(3, Create(1)), [Sent(3, Closed(1))], "a copy that comes late");
    assert_eq!(store.receive(3, Read(2))[1], Sent(3, At(2, place(5, Some(4)))));
}

#[test]
fn the_first_in_line_claims_a_new_epoch_and_persists_its_own_word_first() {
    let mut candidate = candidate(1);
    assert_eq!(
        candidate.receive(0, At(1, place(1, None))),
        [
            kept(1, 1, Some(1)),
            Cancelled(Timer::Silence),
            Set(Timer::Claim, SESSION / 4, SESSION),
            Sent(2, NewLeader(Term(1))),
            Sent(3, NewLeader(Term(1))),
            Sent(4, NewLeader(Term(1))),
            Sent(5, NewLeader(Term(1))),
        ]
    );
    assert_eq!(candidate.waits_for(), [2, 3, 4, 5]);
}

#[test]
fn one_who_is_woken_reads_and_claims_only_if_nobody_is_below() {
    let mut candidate = candidate(1);
    assert_eq!(candidate.receive(0, At(1, place(7, Some(6)))), []);
    assert_eq!(candidate.receive(0, Gone(1)), [Sent(0, Read(1))]);
    assert_eq!(candidate.receive(0, At(1, place(7, Some(4)))), []);
    assert_eq!(candidate.receive(0, Gone(1)), [Sent(0, Read(1))]);
    let deeds = candidate.receive(0, At(1, place(7, None)));
    assert!(deeds.contains(&Sent(2, NewLeader(Term(1)))));
}

#[test]
fn a_lost_wake_up_is_made_good_by_the_next_pong() {
    let mut candidate = candidate(1);
    candidate.receive(0, At(1, place(7, Some(6))));
    candidate.timer(Timer::Ping);
    let deeds = candidate.receive(0, Pong(1, 1, place(7, None)));
    assert!(deeds.contains(&Sent(2, NewLeader(Term(1)))));
}

#[test]
fn a_majority_of_candidates_confirms_and_all_are_told() {
    let mut claimant = claimant();
    assert_eq!(claimant.receive(2, Ack(Term(1))), []);
    assert_eq!(claimant.receive(2, Ack(Term(1))), [], "it came twice");
    assert_eq!(claimant.receive(3, Ack(Term(9))), [], "of another epoch");
    assert_eq!(
        claimant.receive(4, Ack(Term(1))),
        [
            Cancelled(Timer::Claim),
            told(1, 1),
            Set(Timer::Beat, SESSION / 3, SESSION / 3),
            Sent(2, Commit(Term(1))),
            Sent(3, Commit(Term(1))),
            Sent(4, Commit(Term(1))),
            Sent(5, Commit(Term(1))),
        ]
    );
}

#[test]
fn there_is_one_acknowledgement_per_epoch_persisted_before_it_is_sent() {
    let mut candidate = candidate(5);
    assert_eq!(
        candidate.receive(1, NewLeader(Term(3))),
        [kept(1, 3, Some(1)), Sent(1, Ack(Term(3)))]
    );
    assert_eq!(candidate.receive(1, NewLeader(Term(3))), [Sent(1, Ack(Term(3)))]);
    assert_eq!(candidate.receive(2, NewLeader(Term(3))), [Sent(2, Nack(Term(3)))]);
    assert_eq!(candidate.receive(2, NewLeader(Term(2))), [Sent(2, Nack(Term(3)))]);
    assert_eq!(candidate.receive(2, NewLeader(Term(4)))[1], Sent(2, Ack(Term(4))));
}

#[test]
fn a_claim_in_vain_is_made_again_after_a_look_at_the_line_above_all_epochs_heard_of() {
    let mut claimant = claimant();
    assert_eq!(claimant.receive(2, Nack(Term(6))), []);
    assert_eq!(claimant.timer(Timer::Claim), [Sent(0, Read(1))]);
    let deeds = claimant.receive(0, At(1, place(1, None)));
    assert!(deeds.contains(&Sent(2, NewLeader(Term(7)))));
}

/// 1, 2 and 3 take themselves for the first in line, and 4 and 5 hear of them in different orders.
#[test]
fn three_claims_that_split_the_others_are_resolved_by_a_new_epoch() {
    let mut all: Vec<_> = (1..=5).map(candidate).collect();
    let claims =
        |deeds: &[Deed<ZooKeeper>], epoch| deeds.contains(&Sent(5, NewLeader(Term(epoch))));
    for claimant in &mut all[..3] {
        assert!(claims(&claimant.receive(0, At(1, place(1, None))), 1));
    }
    let voices = [(4, 2), (4, 1), (4, 3), (5, 3), (5, 2), (5, 1), (1, 2), (1, 3), (2, 1), (2, 3)];
    for (voter, claimant) in voices.into_iter().chain([(3, 1), (3, 2)]) {
        for deed in all[voter - 1].receive(claimant, NewLeader(Term(1))) {
            let Sent(to, answer) = deed else { continue };
            assert_eq!(to, claimant);
            let deeds = all[to as usize - 1].receive(u32::try_from(voter).unwrap(), answer);
            assert!(!deeds.iter().any(|deed| matches!(deed, Says(_))), "nobody has a majority");
        }
    }
    // Each waits by chance, and the first whose wait is over claims anew.
    assert_eq!(all[1].timer(Timer::Claim), [Sent(0, Read(1))]);
    assert!(claims(&all[1].receive(0, At(1, place(1, None))), 2));
    let mut leads = false;
    for voter in [1, 3, 4, 5] {
        let answer = all[voter - 1].receive(2, NewLeader(Term(2)));
        assert!(answer.contains(&Sent(2, Ack(Term(2)))), "{voter}");
        let deeds = all[1].receive(u32::try_from(voter).unwrap(), Ack(Term(2)));
        leads |= deeds.contains(&told(2, 2));
    }
    assert!(leads);
}

#[test]
fn followers_learn_of_the_leader_even_if_the_commit_is_lost() {
    let mut follower = candidate(5);
    let silence = Set(Timer::Silence, 2 * SESSION, 2 * SESSION);
    assert_eq!(follower.receive(1, Leading(Term(3))), [silence.clone(), told(1, 3)]);
    assert_eq!(follower.receive(1, Leading(Term(3))).len(), 1, "told once");
    assert_eq!(follower.receive(2, Commit(Term(2))), [], "an earlier one, late");
    assert_eq!(follower.receive(2, Commit(Term(4))), [silence, told(2, 4)]);
    let mut leader = leader();
    assert!(leader.timer(Timer::Beat).contains(&Sent(5, Leading(Term(1)))));
}

#[test]
fn a_leader_that_was_silent_for_long_is_no_leader_and_the_first_in_line_looks_again() {
    let mut deposed = leader();
    assert!(deposed.receive(2, Commit(Term(2))).contains(&told(2, 2)));
    assert!(deposed.ignores(Input::Message { from: STORE, message: At(1, place(1, None)) }));
    assert_eq!(
        deposed.timer(Timer::Silence),
        [Says(Notice::Vacant), Says(Notice::Electing), Sent(0, Read(1))]
    );
    let deeds = deposed.receive(0, At(1, place(1, None)));
    assert!(deeds.contains(&Sent(2, NewLeader(Term(3)))));
}

#[test]
fn a_leader_whose_session_is_over_steps_down_and_stands_at_the_end_of_the_line() {
    for is_told in [true, false] {
        let mut leader = leader();
        let deeds = match is_told {
            true => leader.receive(0, Closed(1)),
            false => leader.timer(Timer::Unanswered(0)),
        };
        assert!(deeds.contains(&Says(Notice::Vacant)));
        assert!(deeds.contains(&Cancelled(Timer::Beat)));
        assert_eq!(deeds.last(), Some(&Sent(0, Create(2))));
    }
}

#[test]
fn a_session_counts_from_the_latest_ping_that_was_answered() {
    let mut leader = leader();
    assert_eq!(
        leader.timer(Timer::Ping),
        [
            Set(Timer::Ping, SESSION / 3, SESSION / 3),
            Set(Timer::Unanswered(1), SESSION, SESSION),
            Sent(0, Ping(1, 1)),
        ]
    );
    assert_eq!(leader.receive(0, Pong(1, 1, place(1, None))), [Cancelled(Timer::Unanswered(0))]);
    leader.timer(Timer::Ping);
    assert!(leader.ignores(Input::Timer(Timer::Unanswered(2))), "1 was answered, and runs");
    assert!(leader.timer(Timer::Unanswered(1)).contains(&Says(Notice::Vacant)));
}

#[test]
fn a_creation_that_was_lost_is_asked_for_again() {
    let mut candidate = candidate(1);
    assert!(candidate.timer(Timer::Ping).contains(&Sent(0, Create(1))));
}

#[test]
fn a_call_makes_one_look_that_knows_no_leader() {
    let mut candidate = candidate(2);
    candidate.receive(0, At(1, place(7, Some(6))));
    assert_eq!(candidate.command(Command::Call), [Sent(0, Read(1))]);
    candidate.receive(1, Commit(Term(1)));
    assert!(candidate.ignores(Input::Command(Command::Call)));
    assert_eq!(candidate.command(Command::Read), [Says(Notice::Refused)]);
}
