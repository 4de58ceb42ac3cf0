//! One test per rule.

use core::time::Duration;

use conclave_core::{Fence, Seat};

use super::Message::{Ask, Install, Tell, ToClient, ToOffice};
use super::central::Message::{Grant, Release, Request};
use super::*;
use crate::catalogue::Timing;
use crate::testing::Deed::{self, Persisted, Sent, Set, Told};
use crate::testing::Probe;
use detector::Notice::{Suspects, Trusts};

const T: Duration = Duration::from_millis(2);
const NOTHING: [Deed<CentralElected>; 0] = [];
const NOBODY: [u32; 0] = [];

fn config() -> bully::Config {
    bully::Config::new(&Timing::of(Duration::from_millis(1)))
}

/// One of 1 to 3, of whom 3 coordinates at first.
fn process(me: u32) -> Probe<CentralElected> {
    Probe::founding(me, &View::dense(1, 3), &config())
}

fn held_by(holder: u32, me: u32) -> Probe<CentralElected> {
    let (view, config) = (View::dense(1, 3), config());
    let start = Start::founding(ProcessId(me), &view, &config);
    Probe::start(start.held_by(Some(ProcessId(holder))))
}

/// 2, just elected for 3 has died; 1 has yet to tell.
fn elected() -> Probe<CentralElected> {
    let mut process = process(2);
    process.hear(Suspects(ProcessId(3)));
    process.timer(Timer::Bully(bully::Timer::Answer));
    process
}

fn to_office(epoch: u64, message: central::Message) -> Message {
    ToOffice { epoch: Epoch(epoch), message }
}

fn to_client(epoch: u64, message: central::Message) -> Message {
    ToClient { epoch: Epoch(epoch), message }
}

fn tell(epoch: u64, inside: bool) -> Message {
    Tell { epoch: Epoch(epoch), inside }
}

fn install(epoch: u64, holder: Option<u32>) -> Message {
    Install { epoch: Epoch(epoch), holder: holder.map(ProcessId) }
}

fn entered(fence: u64) -> Deed<CentralElected> {
    Told(Notice::Entered { fence: Fence(fence) })
}

fn input(from: u32, message: Message) -> Input<CentralElected> {
    Input::Message { from: ProcessId(from), message }
}

#[test]
fn founders_need_no_election_the_largest_coordinates() {
    let (mut client, mut coordinator) = (process(1), process(3));
    assert_eq!((&client.began, &coordinator.began), (&vec![], &vec![]));

    assert_eq!(client.command(Command::Enter), [Sent(3, to_office(0, Request))]);
    let granted = [Sent(1, to_client(0, Grant(Fence(0))))];
    assert_eq!(coordinator.receive(1, to_office(0, Request)), granted);
    assert_eq!(client.receive(3, to_client(0, Grant(Fence(0)))), [entered(1)]);
    let left = [Sent(3, to_office(0, Release(Fence(1)))), Told(Notice::Left)];
    assert_eq!(client.command(Command::Leave), left);
    assert_eq!(coordinator.receive(1, to_office(0, Release(Fence(1)))), NOTHING);
}

#[test]
fn the_coordinator_asks_itself_without_a_message() {
    let mut coordinator = process(3);
    assert_eq!(coordinator.command(Command::Enter), [entered(1)]);
    assert_eq!(coordinator.receive(1, to_office(0, Request)), NOTHING, "it is inside");
    let left = [Told(Notice::Left), Sent(1, to_client(0, Grant(Fence(1))))];
    assert_eq!(coordinator.command(Command::Leave), left);
}

#[test]
fn who_loses_its_coordinator_calls_an_election_and_another_loss_is_not_its_business() {
    let mut process = process(1);
    assert_eq!(process.hear(Suspects(ProcessId(2))), NOTHING);
    let called = process.hear(Suspects(ProcessId(3)));
    let election = || Message::Bully(bully::Message::Election);
    assert_eq!(called[..2], [Sent(2, election()), Sent(3, election())]);
}

#[test]
fn who_is_elected_asks_all_others_under_an_epoch_of_its_own() {
    let mut process = process(2);
    process.hear(Suspects(ProcessId(3)));
    let deeds = process.timer(Timer::Bully(bully::Timer::Answer));
    let coordinator = Message::Bully(bully::Message::Coordinator);
    assert_eq!(
        deeds[1..],
        [Persisted(Epoch(4)), Sent(1, Ask(Epoch(4))), Sent(3, Ask(Epoch(4))), Sent(1, coordinator),]
    );
    assert_eq!(process.waits_for(), [1], "3 is dead");
}

#[test]
fn a_leader_that_is_asked_takes_a_census_also_while_its_announcement_is_fresh() {
    let mut process = elected();
    let asked = process.receive(1, Message::Bully(bully::Message::Election));
    let answer = Message::Bully(bully::Message::Answer);
    assert_eq!(asked[0], Sent(1, answer));
    assert!(asked.contains(&Sent(1, Ask(Epoch(7)))), "{asked:?}");
}

#[test]
fn the_office_opens_when_all_who_live_have_told_and_knows_who_is_inside() {
    let mut process = elected();
    let opened = process.receive(1, tell(4, true));
    assert_eq!(opened, [Sent(1, install(4, Some(1))), Sent(3, install(4, Some(1)))]);
    assert_eq!(process.command(Command::Enter), NOTHING, "1 is inside");
    assert_eq!(process.receive(1, to_office(4, Release(Fence(0)))), [entered(4 << 40 | 1)]);
}

#[test]
fn an_elected_one_that_is_inside_stays_so() {
    let mut process = held_by(2, 2);
    process.hear(Suspects(ProcessId(3)));
    process.timer(Timer::Bully(bully::Timer::Answer));
    let opened = process.receive(1, tell(4, false));
    assert_eq!(opened[0], Sent(1, install(4, Some(2))));
    assert_eq!(process.receive(1, to_office(4, Request)), NOTHING);
    let left = [Told(Notice::Left), Sent(1, to_client(4, Grant(Fence(0))))];
    assert_eq!(process.command(Command::Leave), left);
}

#[test]
fn who_is_asked_tells_and_hears_nothing_of_older_epochs_any_more() {
    let mut process = process(1);
    process.command(Command::Enter);
    let told = [Persisted(Epoch(4)), Sent(2, tell(4, false))];
    assert_eq!(process.receive(2, Ask(Epoch(4))), told);
    assert!(process.ignores(input(3, to_client(0, Grant(Fence(0))))), "a grant of the dead");
    assert!(process.ignores(input(3, install(3, None))));
    assert_eq!(process.receive(2, Ask(Epoch(4))), [Sent(2, tell(4, false))], "once more");

    let asked = [Sent(2, to_office(4, Request))];
    assert_eq!(process.receive(2, install(4, None)), asked, "it still waits");
    assert!(process.ignores(input(2, install(4, None))));
    assert!(process.ignores(input(2, Ask(Epoch(4)))), "that is over");
    assert!(process.ignores(input(3, to_client(0, Grant(Fence(0))))), "though it asked another");
    let grant = to_client(4, Grant(Fence(6)));
    assert_eq!(process.receive(2, grant), [entered(4 << 40 | 7)]);
}

#[test]
fn a_holder_says_so_and_goes_on_and_leaves_the_new_office() {
    let mut process = held_by(1, 1);
    let told = [Persisted(Epoch(4)), Sent(2, tell(4, true))];
    assert_eq!(process.receive(2, Ask(Epoch(4))), told);
    assert_eq!(process.receive(2, install(4, Some(1))), NOTHING);
    let left = [Sent(2, to_office(4, Release(Fence(0)))), Told(Notice::Left)];
    assert_eq!(process.command(Command::Leave), left);
}

#[test]
fn who_leaves_during_the_census_is_out_at_once_and_the_office_hears_of_it_when_it_is_open() {
    let mut process = held_by(1, 1);
    process.receive(2, Ask(Epoch(4)));
    assert_eq!(process.command(Command::Leave), [Told(Notice::Left)]);
    assert_eq!(process.command(Command::Enter), NOTHING, "there is nobody to ask");
    let caught_up = [Sent(2, to_office(4, Release(Fence(0)))), Sent(2, to_office(4, Request))];
    assert_eq!(process.receive(2, install(4, Some(1))), caught_up);
}

#[test]
fn an_install_that_comes_after_a_newer_question_is_too_late() {
    let mut process = process(1);
    process.receive(2, Ask(Epoch(4)));
    process.receive(2, Ask(Epoch(7)));
    assert!(process.ignores(input(2, install(4, None))));
    assert_eq!(process.waits_for(), NOBODY);
}

#[test]
fn any_death_makes_the_coordinator_ask_again_and_closes_the_old_office() {
    let mut coordinator = process(3);
    coordinator.receive(1, to_office(0, Request));
    coordinator.receive(2, to_office(0, Request));
    let asked = coordinator.hear(Suspects(ProcessId(1)));
    let ask = || Ask(Epoch(5));
    assert_eq!(asked, [Persisted(Epoch(5)), Sent(1, ask()), Sent(2, ask())]);
    assert!(coordinator.ignores(input(2, to_office(0, Request))));

    let opened = coordinator.receive(2, tell(5, false));
    assert_eq!(opened, [Sent(1, install(5, None)), Sent(2, install(5, None))]);
    assert!(coordinator.ignores(input(2, to_office(0, Request))), "that was for the old one");
    let granted = [Sent(2, to_client(5, Grant(Fence(0))))];
    assert_eq!(coordinator.receive(2, to_office(5, Request)), granted);
}

#[test]
fn one_that_told_and_died_during_the_census_is_asked_for_no_more() {
    let mut coordinator = process(3);
    coordinator.hear(Suspects(ProcessId(1)));
    let opened = coordinator.hear(Suspects(ProcessId(2)));
    assert_eq!(opened[3..], [Sent(1, install(8, None)), Sent(2, install(8, None))]);
    assert_eq!(coordinator.command(Command::Enter), [entered(8 << 40 | 1)], "it is alone");
}

#[test]
fn answers_to_an_older_question_do_not_count() {
    let mut coordinator = process(3);
    coordinator.hear(Suspects(ProcessId(1)));
    coordinator.hear(Trusts(ProcessId(1)));
    coordinator.hear(Suspects(ProcessId(1)));
    assert!(coordinator.ignores(input(2, tell(5, true))));
    assert_eq!(coordinator.receive(2, tell(8, false))[0], Sent(1, install(8, None)));
}

#[test]
fn who_is_trusted_again_is_waited_for_in_the_next_census() {
    let mut coordinator = process(3);
    coordinator.hear(Suspects(ProcessId(1)));
    coordinator.hear(Trusts(ProcessId(1)));
    coordinator.receive(1, Message::Bully(bully::Message::Election));
    assert_eq!(coordinator.waits_for(), [1, 2]);
}

#[test]
fn who_knows_a_later_epoch_says_so_and_the_leader_outbids_it() {
    let mut process = process(1);
    process.receive(2, Ask(Epoch(10)));
    assert_eq!(process.receive(3, Ask(Epoch(5))), [Sent(3, tell(10, false))]);

    let mut leader = self::process(3);
    leader.hear(Suspects(ProcessId(2)));
    let outbid = leader.receive(1, tell(10, false));
    assert_eq!(outbid[..2], [Persisted(Epoch(14)), Sent(1, Ask(Epoch(14)))]);
    assert!(process.ignores(input(1, tell(20, false))), "it does not lead");
}

#[test]
fn a_leader_outbids_the_census_of_a_smaller_one_and_answers_that_of_a_larger_one() {
    let mut leader = process(3);
    let outbid = leader.receive(1, Ask(Epoch(6)));
    assert_eq!(outbid[..2], [Persisted(Epoch(11)), Sent(1, Ask(Epoch(11)))]);
    let mut leader = process(3);
    let outbid = leader.receive(1, install(6, None));
    assert_eq!(outbid[..2], [Persisted(Epoch(11)), Sent(1, Ask(Epoch(11)))]);

    let mut leader = elected();
    leader.receive(1, tell(4, false));
    let told = [Persisted(Epoch(8)), Sent(3, tell(8, false))];
    assert_eq!(leader.receive(3, Ask(Epoch(8))), told);
    assert!(leader.ignores(input(1, to_office(4, Request))), "its office is closed");
}

#[test]
fn one_that_comes_back_knows_its_epoch_calls_an_election_and_asks_for_nothing_yet() {
    let (view, config) = (View::dense(1, 3), config());
    let mut process = Probe::<CentralElected>::returning(1, &view, &config, Some(&Epoch(4)));
    let election = || Message::Bully(bully::Message::Election);
    let answer = Timer::Bully(bully::Timer::Answer);
    assert_eq!(
        process.began,
        [Set(Timer::Settled, T, T), Sent(2, election()), Sent(3, election()), Set(answer, T, T),]
    );
    assert!(process.ignores(input(2, install(3, None))), "an older office");
    assert_eq!(process.command(Command::Enter), NOTHING);
    let installed = process.receive(3, install(8, None));
    assert_eq!(installed, [Persisted(Epoch(8))], "without having been asked");
    let asked = [Sent(3, to_office(8, Request))];
    assert_eq!(process.timer(Timer::Settled), asked);
    assert!(process.ignores(Input::Timer(Timer::Settled)));
}

#[test]
fn what_makes_no_sense_is_ignored() {
    let mut process = process(1);
    assert!(process.ignores(Input::Command(Command::Leave)));
    assert!(process.ignores(input(2, to_office(0, Request))), "it keeps no office");
    assert!(process.ignores(input(2, tell(0, true))));
    assert!(process.ignores(input(3, install(0, Some(1)))));
    assert!(process.ignores(input(3, to_client(0, Grant(Fence(0))))), "it did not ask");
    assert!(process.ignores(Input::Word(Trusts(ProcessId(2)))));
    assert!(process.ignores(Input::Word(Suspects(ProcessId(9)))));
    process.command(Command::Enter);
    assert!(process.ignores(Input::Command(Command::Enter)));
    assert!(process.ignores(Input::Command(Command::Leave)));
}

#[test]
fn whoever_waits_waits_for_the_office_and_that_one_for_the_holder() {
    let (mut client, mut coordinator) = (process(1), process(3));
    client.command(Command::Enter);
    assert_eq!(client.waits_for(), [3]);
    coordinator.receive(2, to_office(0, Request));
    assert_eq!(coordinator.waits_for(), [2]);
    client.receive(2, Ask(Epoch(4)));
    assert_eq!(client.waits_for(), [3], "it has not heard of another leader yet");
}

#[test]
fn one_alone_enters_at_once() {
    let mut alone = Probe::<CentralElected>::founding(7, &View::dense(7, 1), &config());
    for fence in 1..=2 {
        assert_eq!(alone.command(Command::Enter), [entered(fence)]);
        assert_eq!(alone.command(Command::Leave), [Told(Notice::Left)]);
    }
}

#[test]
fn epochs_of_different_processes_differ_and_grow() {
    for known in 0..20 {
        let next = |seat| Epoch(known).next(Seat(seat), 3);
        assert!(next(0) > Epoch(known));
        assert_eq!([next(0).0 % 3, next(1).0 % 3, next(2).0 % 3], [0, 1, 2]);
    }
}
