//! One test per rule.

use super::Message::{
    Announcement, Refusal, Renewal, Renewed, Stale, Stored as HasStored, Vote, VoteRequest, Write,
};
use super::*;
use crate::testing::Deed::{Cancelled, Persisted, Sent, Set, SetDeadline, Told as Says};
use crate::testing::{Deed, Probe};

const LEASE: Duration = Duration::from_millis(20);
const PROMISE: Duration = Duration::from_millis(22);
const CONFIG: Config = Config { lease: LEASE };

fn server(me: u32, n: u32) -> Probe<Chubby> {
    Probe::founding(me, &View::dense(1, n), &CONFIG)
}

fn register(term: u64, number: u64, value: u64) -> Register {
    Register { version: Version(term << 32 | number), value }
}

fn kept(term: u64, vote: u32, register: Register) -> Stored {
    Stored { term: Term(term), vote: Some(ProcessId(vote)), register }
}

fn told(leader: u32, term: u64) -> Deed<Chubby> {
    Says(Notice::Elected { leader: ProcessId(leader), term: Term(term) })
}

const NOTHING: Register = Register { version: Version(0), value: 0 };

/// Process 1 of three, elected in term 1 by 2, with its first value stored by a majority.
fn master() -> Probe<Chubby> {
    let mut master = server(1, 3);
    master.command(Command::Call);
    master.receive(2, Vote(Term(1), NOTHING));
    master.receive(2, Renewed(Term(1), 1, Version(1 << 32)));
    master
}

#[test]
fn a_candidate_votes_for_itself_persists_that_and_then_asks_all_others() {
    let mut server = server(1, 3);
    assert_eq!(
        server.command(Command::Call),
        [
            Cancelled(Timer::Campaign),
            Persisted(kept(1, 1, NOTHING)),
            Says(Notice::Electing),
            SetDeadline(Timer::Lease(0), LEASE),
            Sent(2, VoteRequest(Term(1))),
            Sent(3, VoteRequest(Term(1))),
        ]
    );
    assert_eq!(server.waits_for(), [2, 3]);
    assert!(server.ignores(Input::Command(Command::Call)), "it is one already");
}

#[test]
fn a_majority_makes_a_master_that_announces_itself_with_the_highest_value_of_its_votes() {
    let mut server = server(1, 5);
    server.command(Command::Call);
    assert_eq!(server.receive(2, Vote(Term(1), register(0, 7, 70))), []);
    let own = register(1, 0, 70);
    assert_eq!(
        server.receive(3, Vote(Term(1), register(0, 4, 40))),
        [
            Persisted(kept(1, 1, own)),
            told(1, 1),
            SetDeadline(Timer::Lease(1), LEASE),
            Set(Timer::Renew, LEASE / 4, LEASE / 4),
            Sent(2, Announcement(Term(1), own)),
            Sent(3, Announcement(Term(1), own)),
            Sent(4, Announcement(Term(1), own)),
            Sent(5, Announcement(Term(1), own)),
        ]
    );
}

#[test]
fn a_vote_counts_once_and_only_in_its_own_term() {
    let mut server = server(1, 5);
    server.command(Command::Call);
    server.receive(2, Vote(Term(1), NOTHING));
    assert_eq!(server.receive(2, Vote(Term(1), NOTHING)), [], "it came twice");
    assert_eq!(server.receive(3, Vote(Term(0), NOTHING)), []);
    assert!(server.receive(3, Vote(Term(1), NOTHING)).contains(&told(1, 1)));
}

#[test]
fn one_alone_is_the_master_at_once_and_remains_it() {
    let mut alone = server(1, 1);
    assert!(alone.command(Command::Call).contains(&told(1, 1)));
    alone.timer(Timer::Renew);
    assert_eq!(
        alone.command(Command::Read),
        [Says(Notice::Read { version: Version(1 << 32), value: 0 })]
    );
    assert!(
        alone
            .command(Command::Write(9))
            .contains(&Says(Notice::Wrote { version: Version(1 << 32 | 1) }))
    );
}

#[test]
fn a_voter_persists_its_vote_and_promises_for_longer_than_a_lease_before_it_votes() {
    let mut server = server(2, 3);
    assert_eq!(
        server.receive(1, VoteRequest(Term(1))),
        [
            Persisted(kept(1, 1, NOTHING)),
            Cancelled(Timer::Campaign),
            Set(Timer::Promise, PROMISE, PROMISE),
            Sent(1, Vote(Term(1), NOTHING)),
        ]
    );
}

#[test]
fn who_promised_votes_for_nobody_else_and_keeps_its_term_until_the_promise_is_over() {
    let mut server = server(2, 3);
    server.receive(1, VoteRequest(Term(1)));
    assert_eq!(server.receive(3, VoteRequest(Term(7))), [Sent(3, Refusal(Term(1)))]);
    server.timer(Timer::Promise);
    let deeds = server.receive(3, VoteRequest(Term(7)));
    assert_eq!(deeds.last(), Some(&Sent(3, Vote(Term(7), NOTHING))));
}

#[test]
fn there_is_one_vote_per_term_but_it_may_be_repeated() {
    let mut server = server(2, 3);
    server.receive(1, VoteRequest(Term(1)));
    let again = server.receive(1, VoteRequest(Term(1)));
    assert_eq!(again.last(), Some(&Sent(1, Vote(Term(1), NOTHING))));
    server.timer(Timer::Promise);
    assert_eq!(server.receive(3, VoteRequest(Term(1))), [Sent(3, Refusal(Term(1)))]);
}

#[test]
fn a_server_that_returns_knows_its_vote_and_waits_for_a_promise_before_it_votes() {
    let stored = kept(4, 1, register(3, 1, 31));
    let view = View::dense(1, 3);
    let mut server = Probe::<Chubby>::returning(2, &view, &CONFIG, Some(&stored));
    assert_eq!(server.began, [Set(Timer::Promise, PROMISE, PROMISE)]);
    assert!(server.ignores(Input::Command(Command::Call)));
    assert_eq!(server.receive(3, VoteRequest(Term(9))), [Sent(3, Refusal(Term(4)))]);
    server.timer(Timer::Promise);
    assert_eq!(server.receive(3, VoteRequest(Term(4))), [Sent(3, Refusal(Term(4)))]);
    let deeds = server.receive(3, VoteRequest(Term(5)));
    assert_eq!(deeds.last(), Some(&Sent(3, Vote(Term(5), register(3, 1, 31)))));
}

#[test]
fn a_promise_that_is_over_means_no_leader_and_a_campaign_after_a_random_wait() {
    let mut server = server(2, 3);
    server.receive(1, Announcement(Term(1), register(1, 0, 0)));
    assert_eq!(
        server.timer(Timer::Promise),
        [Says(Notice::Vacant), Set(Timer::Campaign, Duration::ZERO, 2 * LEASE)]
    );
    assert!(server.timer(Timer::Campaign).contains(&Sent(1, VoteRequest(Term(2)))));
}

#[test]
fn a_candidate_that_was_not_elected_in_time_tries_again_above_all_terms_it_heard_of() {
    let mut server = server(1, 3);
    server.command(Command::Call);
    assert_eq!(server.receive(3, Refusal(Term(6))), []);
    assert_eq!(
        server.timer(Timer::Lease(0)),
        [Cancelled(Timer::Lease(0)), Set(Timer::Campaign, Duration::ZERO, 2 * LEASE)]
    );
    assert_eq!(server.receive(2, Vote(Term(1), NOTHING)), [], "too late");
    let deeds = server.timer(Timer::Campaign);
    assert!(deeds.contains(&Sent(2, VoteRequest(Term(7)))));
    assert!(!deeds.contains(&Says(Notice::Electing)), "it takes part already");
}

#[test]
fn a_follower_stores_what_is_announced_and_says_who_leads() {
    let mut server = server(2, 3);
    assert_eq!(
        server.receive(1, Announcement(Term(1), register(1, 0, 5))),
        [
            Persisted(kept(1, 1, NOTHING)),
            Cancelled(Timer::Campaign),
            Set(Timer::Promise, PROMISE, PROMISE),
            told(1, 1),
            Persisted(kept(1, 1, register(1, 0, 5))),
            Sent(1, Renewed(Term(1), 1, Version(1 << 32))),
        ]
    );
}

#[test]
fn one_who_missed_the_announcement_learns_who_leads_from_a_renewal_and_is_sent_the_value() {
    let mut server = server(3, 3);
    let deeds = server.receive(1, Renewal(Term(1), 4));
    assert!(deeds.contains(&told(1, 1)));
    assert_eq!(deeds.last(), Some(&Sent(1, Renewed(Term(1), 4, Version(0)))));
    assert!(!server.receive(1, Renewal(Term(1), 5)).contains(&told(1, 1)), "told once");

    let mut master = master();
    assert_eq!(
        master.receive(3, Renewed(Term(1), 1, Version(0))),
        [Sent(3, Write(Term(1), register(1, 0, 0)))]
    );
}

#[test]
fn a_master_of_an_earlier_term_is_told_so_and_steps_down() {
    let mut server = server(2, 3);
    server.receive(3, VoteRequest(Term(5)));
    for message in [
        Renewal(Term(4), 1),
        Announcement(Term(4), register(4, 0, 0)),
        Write(Term(4), register(4, 1, 0)),
    ] {
        assert_eq!(server.receive(1, message), [Sent(1, Stale(Term(5)))]);
    }
    let mut master = master();
    assert_eq!(master.receive(2, Stale(Term(1))), [], "that is its own");
    assert!(master.receive(2, Stale(Term(5))).contains(&Says(Notice::Vacant)));
    assert!(master.timer(Timer::Campaign).contains(&Sent(2, VoteRequest(Term(6)))));
}

#[test]
fn a_master_of_a_later_term_is_followed_whatever_was_promised() {
    let mut server = server(2, 3);
    server.receive(3, VoteRequest(Term(5)));
    assert!(server.receive(1, Renewal(Term(5), 1)).contains(&told(1, 5)));
    let mut deposed = master();
    assert!(deposed.receive(3, Renewal(Term(2), 1)).contains(&told(3, 2)));
    assert_eq!(deposed.command(Command::Read), [Says(Notice::Refused)]);
}

#[test]
fn a_master_gives_no_vote_and_keeps_its_term() {
    let mut master = master();
    assert_eq!(master.receive(3, VoteRequest(Term(9))), [Sent(3, Refusal(Term(1)))]);
}

#[test]
fn a_lease_rests_on_the_latest_round_that_a_majority_answered_counted_from_its_sending() {
    let mut master = master();
    assert!(master.ignores(Input::Timer(Timer::Lease(7))), "there is no such round");
    assert_eq!(
        master.timer(Timer::Renew),
        [
            SetDeadline(Timer::Lease(2), LEASE),
            Set(Timer::Renew, LEASE / 4, LEASE / 4),
            Sent(2, Renewal(Term(1), 2)),
            Sent(3, Renewal(Term(1), 2)),
        ]
    );
    assert_eq!(master.receive(3, Renewed(Term(0), 2, Version(1 << 32))), [], "of another term");
    assert_eq!(
        master.receive(3, Renewed(Term(1), 2, Version(1 << 32))),
        [Cancelled(Timer::Lease(1))],
        "and that of round 2 runs since it was sent"
    );
    master.timer(Timer::Renew);
    assert_eq!(
        master.timer(Timer::Lease(2)),
        [
            Cancelled(Timer::Renew),
            Cancelled(Timer::Lease(2)),
            Cancelled(Timer::Lease(3)),
            Says(Notice::Vacant),
            Set(Timer::Campaign, Duration::ZERO, 2 * LEASE),
        ]
    );
}

#[test]
fn a_new_master_reads_and_writes_only_once_a_majority_has_stored_its_first_value() {
    let mut server = server(1, 3);
    server.command(Command::Call);
    server.receive(2, Vote(Term(1), NOTHING));
    assert_eq!(server.command(Command::Read), [Says(Notice::Refused)]);
    assert_eq!(server.command(Command::Write(1)), [Says(Notice::Refused)]);
    server.receive(2, Renewed(Term(1), 1, Version(1 << 32)));
    let version = Version(1 << 32);
    assert_eq!(server.command(Command::Read), [Says(Notice::Read { version, value: 0 })]);
}

#[test]
fn a_write_is_done_when_a_majority_has_stored_it_and_is_not_read_before() {
    let mut master = master();
    let next = register(1, 1, 42);
    assert_eq!(
        master.command(Command::Write(42)),
        [Persisted(kept(1, 1, next)), Sent(2, Write(Term(1), next)), Sent(3, Write(Term(1), next)),]
    );
    assert_eq!(master.command(Command::Write(43)), [Says(Notice::Refused)], "one at a time");
    let before = Notice::Read { version: Version(1 << 32), value: 0 };
    assert_eq!(master.command(Command::Read), [Says(before)]);
    assert_eq!(master.receive(3, HasStored(Term(1), Version(1 << 32))), [], "not this one");
    let version = next.version;
    assert_eq!(master.receive(3, HasStored(Term(0), version)), [], "of another term");
    assert_eq!(master.receive(3, HasStored(Term(1), version)), [Says(Notice::Wrote { version })]);
    assert_eq!(master.command(Command::Read), [Says(Notice::Read { version, value: 42 })]);
}

#[test]
fn a_deposed_master_refuses_what_it_had_not_finished() {
    let mut master = master();
    master.command(Command::Write(42));
    let deeds = master.timer(Timer::Lease(1));
    assert!(deeds.contains(&Says(Notice::Refused)) && deeds.contains(&Says(Notice::Vacant)));
    assert_eq!(master.receive(2, HasStored(Term(1), Version(1 << 32 | 1))), []);
}

#[test]
fn a_follower_persists_a_write_before_it_says_so_and_never_goes_back() {
    let mut server = server(2, 3);
    server.receive(1, Announcement(Term(1), register(1, 0, 0)));
    let deeds = server.receive(1, Write(Term(1), register(1, 2, 22)));
    let [.., Persisted(kept_now), Sent(1, HasStored(Term(1), version))] = &deeds[..] else {
        panic!("{deeds:?}");
    };
    assert_eq!((kept_now.register, *version), (register(1, 2, 22), register(1, 2, 0).version));
    let late = server.receive(1, Write(Term(1), register(1, 1, 11)));
    assert_eq!(late.last(), Some(&Sent(1, HasStored(Term(1), *version))));
    assert!(!late.iter().any(|deed| matches!(deed, Persisted(_))));
}
