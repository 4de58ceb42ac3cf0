//! Maekawa, deadlock-free: votes can be asked back for an older request.
//!
//! **Idea.** As in the plain form, candidates collect the votes of their voting set. But requests
//! are stamped with a Lamport clock, and older ones are better. A voter that has voted tells a
//! worse requester `fail`; for a better one it asks its candidate by `inquire`, and a candidate
//! that knows it cannot win (somebody failed it) gives the vote back by `yield`. So a cycle of
//! candidates that wait for each other is broken at its youngest: that one is failed, and yields.
//!
//! **Assumes** FIFO channels, that no process crashes, and that no message is lost or doubled.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `request` | "vote for me" | to the voting set, on entering |
//! | `grant` | "you have my vote" | to one candidate at a time (Maekawa: LOCKED) |
//! | `fail` | "an older one goes first" | to a requester that is not the best (Maekawa: FAILED) |
//! | `inquire` | "will you win? else give it back" | to the candidate, once per vote |
//! | `yield` | "have it back" | to an inquirer, once failed (Maekawa: RELINQUISH) |
//! | `release` | "you may vote for another" | to the voting set, on leaving |
//!
//! **Cost.** 3(K-1) messages alone; the literature quotes up to 5(K-1) under contention. Client
//! delay 2, synchronisation delay 2.
//!
//! **Papers.** M. Maekawa, ACM TOCS 3(2), 1985, section 3; B. A. Sanders, *The Information
//! Structure of Distributed Mutual Exclusion Algorithms*, ACM TOCS 5(3), 1987, who showed that the
//! original can still deadlock: a queued request that is overtaken by an older one must be told
//! `fail` as well, or it will never yield what it holds elsewhere.
//!
//! **Why it is safe.** As the plain form: a voter votes for another only after its candidate gave
//! the vote back, and a candidate that entered does not yield. By FIFO an `inquire` finds its
//! candidate either with that very vote, or past it.
//!
//! **Why it is live.** A request that waits is passed by few: votes carry the clock, so whoever has
//! entered past it has the clock of a voter that knows it, and asks with a younger stamp from then
//! on. For the oldest of all, an invariant at every voter: of the requests in its queue, all have
//! been told `fail` but for the best one, and that one only while it is better than the candidate,
//! who has been asked. A voter that has not voted for the oldest has asked its candidate, who is
//! younger. That candidate is in (and will release), or is failed somewhere (and will yield), or
//! waits without a fail: then at each voter it lacks it is the best, and its way is blocked by
//! candidates that are younger still, of whom there are finitely many.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use conclave_core::clock::{LamportClock, Stamp, Timestamp};
use conclave_core::mutex::{self, Command, Locks, Notice};
use conclave_core::{
    Effects, Family, Fence, HighestFence, Input, Kind, KindIndex, NoWord, ProcessId, Protocol,
    Seat, SeatSet, Start, View,
};

use crate::catalogue::{Bounds, Cost, CrashExample, Entry, Measure, Needs, Places};
use crate::quorum::VotingSets;

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Vote for me, since my clock showed this.
    Request(Timestamp),
    /// You have my vote; my clock shows this, and this is the highest fence I know.
    Grant(Timestamp, Fence),
    /// An older request goes first.
    Fail,
    /// An older request came: give the vote back, unless you will win.
    Inquire,
    /// Have the vote back; I still want it.
    Yield,
    /// You may vote for another; and this was my fence.
    Release(Fence),
}

/// One process: a candidate now and then, a voter always.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Maekawa {
    me: ProcessId,
    view: View,
    /// The own voting set, the process itself included.
    #[cfg_attr(feature = "serde", serde(skip))]
    voters: Arc<[ProcessId]>,
    /// Not below the stamp of any request made or received.
    clock: LamportClock,
    fence: HighestFence,
    role: Role,
    ballot: Ballot,
}

/// The candidate's half.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Role {
    Released,
    Wanted(Campaign),
    Held,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
struct Campaign {
    /// Whose vote it has.
    votes: SeatSet,
    /// Who said `fail`, or got its vote back, and has not voted for it since. While there is one it
    /// knows that it cannot win yet.
    failed: SeatSet,
    /// Who inquired and was not answered: it may still win. All of them voted; empty once failed.
    inquirers: SeatSet,
}

/// The voter's half.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
struct Ballot {
    /// For whom it voted.
    candidate: Option<Stamp>,
    /// Whether that one was asked to give the vote back.
    has_inquired: bool,
    /// Who else asked, best first; empty while there is no candidate.
    queue: BTreeSet<Stamp>,
}

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "maekawa",
    title: "Maekawa, deadlock-free",
    citation: "Maekawa, ACM TOCS 3(2), 1985, as corrected by B. A. Sanders, ACM TOCS 5(3), 1987",
    summary: "collect the votes of a voting set; votes are yielded to older requests",
    family: <Locks as Family>::NAME,
    promises: mutex::LIVENESS,
    needs: Needs { fifo: true, voting_sets: true, ..Needs::NOTHING },
    settings: &[],
    crash: "a crash in a voting set blocks its users",
    problems: "not in order of asking; a crash blocks all who need that vote",
    crash_example: Some(CrashExample {
        matters: "3@4ms",
        why: "1 waits for 3; but 3 crashed at 4 ms",
        passes: "5@4ms",
    }),
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[
        Bounds::of(3, 2),
        Bounds::of(4, 1),
        Bounds::of(3, 1).unordered(),
        Bounds::of(4, 1).unordered().refuted(),
        Bounds::of(3, 1).crashes(1).lossy().safely(),
    ],
    costs: &[
        Cost::exactly(Measure::Enter, "2(K-1)", |size| 2.0 * (size.k - 1.0)),
        Cost::exactly(Measure::Leave, "K-1", |size| size.k - 1.0),
        Cost::quoted(Measure::Saturated, "up to 5(K-1)", |size| 5.0 * (size.k - 1.0)),
        Cost::exactly(Measure::ClientDelay, "2", |_| 2.0),
        Cost::exactly(Measure::LeaveDelay, "0", |_| 0.0),
        Cost::exactly(Measure::SyncDelay, "2", |_| 2.0),
    ],
    remarks: super::plain::REMARKS,
};

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[
        Kind::enter("request"),
        Kind::enter("grant"),
        Kind::enter("fail"),
        Kind::enter("inquire"),
        Kind::enter("yield"),
        Kind::leave("release"),
    ];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Request(_) => 0,
            Message::Grant(..) => 1,
            Message::Fail => 2,
            Message::Inquire => 3,
            Message::Yield => 4,
            Message::Release(_) => 5,
        }
    }
}

impl Protocol for Maekawa {
    type Family = Locks;
    type Config = VotingSets;
    type Message = Message;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        let (voters, voted) = super::seat_of_voter(&start);
        // A holder known from the start has the oldest request there can be.
        let oldest = |process| Stamp { time: Timestamp::default(), process };
        Self {
            me: start.me,
            view: start.view.clone(),
            voters,
            clock: LamportClock::starting_at(start.opening.clock),
            fence: HighestFence::default(),
            role: if start.is_holder() { Role::Held } else { Role::Released },
            ballot: Ballot {
                candidate: voted.map(oldest),
                has_inquired: false,
                queue: BTreeSet::new(),
            },
        }
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        let (from, message) = match (&self.role, input) {
            (Role::Released, Input::Command(Command::Enter)) => return self.request(out),
            (Role::Held, Input::Command(Command::Leave)) => return self.release(out),
            (_, Input::Message { from, message }) => (from, message),
            _ => return out.rule("has no use for this"),
        };
        let Some(seat) = self.view.seat(from) else { return };
        let is_candidate = self.ballot.candidate.is_some_and(|stamp| stamp.process == from);
        match (message, &self.role) {
            // The voter's rules.
            (Message::Request(time), _) => self.on_request(Stamp { time, process: from }, out),
            (Message::Yield, _) if is_candidate => self.on_yield(out),
            (Message::Release(fence), _) if is_candidate => self.on_release(fence, out),
            // The candidate's rules.
            (Message::Grant(time, fence), Role::Wanted(_)) => {
                self.clock.catch_up(time);
                self.on_grant(seat, fence, out);
            }
            (Message::Fail, Role::Wanted(_)) => self.on_fail(seat, out),
            (Message::Inquire, Role::Wanted(campaign)) if campaign.votes.contains(seat) => {
                self.on_inquire(seat, out);
            }
            // An inquiry that crossed the release of what it asks for.
            (Message::Inquire, _) => out.rule("is past that vote: its release is on its way"),
            _ => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        let Ballot { candidate, has_inquired, queue } = &self.ballot;
        let best = queue.first();
        match candidate {
            None if !queue.is_empty() => return Err("somebody waits for a vote that is not given"),
            Some(candidate) if best.is_some_and(|best| best < candidate) && !has_inquired => {
                return Err("a better request waits and the candidate was not asked");
            }
            _ => {}
        }
        if let Role::Wanted(Campaign { votes, failed, inquirers }) = &self.role {
            if !failed.is_empty() && !inquirers.is_empty() {
                return Err("it cannot win and does not yield");
            }
            if failed.iter().any(|seat| votes.contains(seat)) {
                return Err("a voter both voted for it and failed it");
            }
            if inquirers.iter().any(|seat| !votes.contains(seat)) {
                return Err("it owes an answer about a vote that it does not have");
            }
        }
        Ok(())
    }

    /// As a candidate for the voters it lacks; as a voter, with others waiting, for its candidate.
    fn waits_for(&self) -> Vec<ProcessId> {
        let lacking = self.voters.iter().copied().filter(|&id| match &self.role {
            Role::Wanted(it) => self.view.seat(id).is_some_and(|seat| !it.votes.contains(seat)),
            _ => false,
        });
        let candidate = self.ballot.candidate.filter(|_| !self.ballot.queue.is_empty());
        lacking.chain(candidate.map(|stamp| stamp.process)).collect()
    }
}

/// The candidate's rules.
impl Maekawa {
    fn request(&mut self, out: &mut Effects<Self>) {
        out.rule("stamps its request and asks its voting set, itself included, for their votes");
        let none = SeatSet::empty(self.view.len());
        self.role =
            Role::Wanted(Campaign { votes: none.clone(), failed: none.clone(), inquirers: none });
        let request = Message::Request(self.clock.tick());
        out.multicast(self.voters.iter().copied(), &request);
    }

    fn on_grant(&mut self, voter: Seat, fence: Fence, out: &mut Effects<Self>) {
        self.fence.learn(fence);
        let Role::Wanted(campaign) = &mut self.role else { return };
        campaign.votes.insert(voter);
        campaign.failed.remove(voter);
        if campaign.votes.len() == self.voters.len() {
            out.rule("has all votes of its set and enters");
            self.role = Role::Held;
            out.notify(Notice::Entered { fence: self.fence.enter() });
        } else {
            out.rule("has one vote more, and waits for the rest");
        }
    }

    /// It cannot win yet: whoever inquired gets its vote back.
    fn on_fail(&mut self, voter: Seat, out: &mut Effects<Self>) {
        let Role::Wanted(campaign) = &mut self.role else { return };
        if campaign.votes.contains(voter) {
            // Overtaken by that voter's own vote, where channels are not FIFO: it is past.
            return out.rule("has that vote by now");
        }
        campaign.failed.insert(voter);
        out.rule(match campaign.inquirers.is_empty() {
            true => "knows that it cannot win yet; nobody has asked for a vote back",
            false => "knows that it cannot win yet, and yields to all who inquired",
        });
        let inquirers: Vec<Seat> = campaign.inquirers.iter().collect();
        campaign.inquirers.clear();
        for inquirer in inquirers {
            self.give_back(inquirer, out);
        }
    }

    fn on_inquire(&mut self, voter: Seat, out: &mut Effects<Self>) {
        let Role::Wanted(campaign) = &mut self.role else { return };
        if campaign.failed.is_empty() {
            out.rule("may still win: it keeps the vote, and answers when it knows");
            campaign.inquirers.insert(voter);
        } else {
            out.rule("cannot win yet: it yields");
            self.give_back(voter, out);
        }
    }

    /// To lack a vote that went to a better one is to be failed there.
    fn give_back(&mut self, voter: Seat, out: &mut Effects<Self>) {
        let Role::Wanted(campaign) = &mut self.role else { return };
        campaign.votes.remove(voter);
        campaign.failed.insert(voter);
        out.send(self.view.at(voter), Message::Yield);
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        out.rule("leaves, and gives all votes back");
        self.role = Role::Released;
        out.multicast(self.voters.iter().copied(), &Message::Release(self.fence.known()));
        out.notify(Notice::Left);
    }
}

/// The voter's rules.
impl Maekawa {
    fn on_request(&mut self, theirs: Stamp, out: &mut Effects<Self>) {
        self.clock.rise_above(theirs.time);
        let Some(candidate) = self.ballot.candidate else {
            out.rule("votes for the candidate");
            return self.vote(theirs, out);
        };
        let best = self.ballot.queue.first().copied();
        self.ballot.queue.insert(theirs);
        if theirs > candidate || best.is_some_and(|best| theirs > best) {
            out.rule("has a better request: it queues this one, and says fail");
            out.send(theirs.process, Message::Fail);
            return;
        }
        // Sanders' correction: whoever was the best so far, and was not told to fail because it was
        // better than the candidate, is the best no longer.
        if let Some(overtaken) = best.filter(|best| *best < candidate) {
            out.rule(
                "queues this one and tells the best so far, which it beats, to fail (Sanders)",
            );
            out.send(overtaken.process, Message::Fail);
        }
        if !self.ballot.has_inquired {
            out.rule(
                "has voted for a worse request: it queues this one, and asks for the vote back",
            );
            self.ballot.has_inquired = true;
            out.send(candidate.process, Message::Inquire);
        }
    }

    fn on_yield(&mut self, out: &mut Effects<Self>) {
        out.rule("has its vote back, and votes for the best of its queue");
        self.ballot.queue.extend(self.ballot.candidate);
        self.vote_for_best(out);
    }

    fn on_release(&mut self, fence: Fence, out: &mut Effects<Self>) {
        out.rule("has its vote back, and votes for the best of its queue, if there is one");
        self.fence.learn(fence);
        self.vote_for_best(out);
    }

    fn vote_for_best(&mut self, out: &mut Effects<Self>) {
        self.ballot.candidate = None;
        self.ballot.has_inquired = false;
        if let Some(best) = self.ballot.queue.pop_first() {
            self.vote(best, out);
        }
    }

    fn vote(&mut self, candidate: Stamp, out: &mut Effects<Self>) {
        self.ballot.candidate = Some(candidate);
        let grant = Message::Grant(self.clock.time(), self.fence.known());
        out.send(candidate.process, grant);
    }
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests {
    use super::Message::{Fail, Grant, Inquire, Release, Yield};
    use super::*;
    use crate::mutex::testing::Deed::{Entered, Left, Sent};
    use crate::mutex::testing::{NOBODY, Probe};
    use crate::quorum::Construction;

    /// One of four, each with the votes of all four to collect: every rule can be seen there.
    fn process(me: u32) -> Probe<Maekawa> {
        let sets = VotingSets::build(Construction::All, &View::dense(1, 4)).unwrap();
        Probe::founding(me, sets.view(), &sets)
    }

    /// Process 1, which has asked and has its own vote.
    fn candidate() -> Probe<Maekawa> {
        let mut candidate = process(1);
        candidate.enter();
        candidate
    }

    /// Process 4, which has voted for the request of 3 with that time.
    fn voter_for_3(time: u64) -> Probe<Maekawa> {
        let mut voter = process(4);
        assert_eq!(voter.receive(3, request(time)), [Sent(3, grant(time + 1, 0))]);
        voter
    }

    fn request(time: u64) -> Message {
        Message::Request(Timestamp(time))
    }

    fn grant(time: u64, fence: u64) -> Message {
        Grant(Timestamp(time), Fence(fence))
    }

    fn release(fence: u64) -> Message {
        Release(Fence(fence))
    }

    // The voter's rules.

    #[test]
    fn a_voter_fails_a_request_that_is_worse_than_its_candidate() {
        let mut voter = voter_for_3(5);
        assert_eq!(voter.receive(2, request(6)), [Sent(2, Fail)]);
    }

    #[test]
    fn a_voter_inquires_of_its_candidate_for_a_better_request() {
        let mut voter = voter_for_3(5);
        assert_eq!(voter.receive(2, request(4)), [Sent(3, Inquire)]);
    }

    #[test]
    fn equal_times_are_told_apart_by_process() {
        let mut voter = voter_for_3(5);
        assert_eq!(voter.receive(2, request(5)), [Sent(3, Inquire)]);
    }

    #[test]
    fn a_voter_inquires_once_per_vote_and_fails_whom_another_overtakes() {
        let mut voter = voter_for_3(5);
        voter.receive(2, request(4));
        assert_eq!(voter.receive(1, request(3)), [Sent(2, Fail)], "Sanders' second fail");
    }

    #[test]
    fn a_request_that_was_failed_already_is_not_failed_again() {
        let mut voter = voter_for_3(5);
        voter.receive(2, request(6));
        assert_eq!(voter.receive(1, request(4)), [Sent(3, Inquire)]);
    }

    #[test]
    fn a_request_between_the_best_and_the_candidate_is_failed() {
        let mut voter = voter_for_3(5);
        voter.receive(2, request(3));
        assert_eq!(voter.receive(1, request(4)), [Sent(1, Fail)]);
    }

    #[test]
    fn a_vote_that_was_yielded_goes_to_the_best_and_then_back() {
        let mut voter = voter_for_3(5);
        voter.receive(1, request(6));
        voter.receive(2, request(4));

        assert_eq!(voter.receive(3, Yield), [Sent(2, grant(7, 0))]);
        assert_eq!(voter.receive(2, release(1)), [Sent(3, grant(7, 1))]);
        assert_eq!(voter.receive(3, release(2)), [Sent(1, grant(7, 2))]);
    }

    #[test]
    fn a_voter_may_inquire_again_once_it_has_voted_anew() {
        let mut voter = voter_for_3(5);
        voter.receive(2, request(4));
        voter.receive(3, Yield);
        assert_eq!(voter.receive(1, request(3)), [Sent(2, Inquire)]);
    }

    #[test]
    fn a_vote_carries_the_highest_fence_of_all_releases() {
        let mut voter = voter_for_3(1);
        voter.receive(3, release(9));
        voter.receive(2, request(3));
        voter.receive(2, release(4));
        assert_eq!(voter.receive(1, request(5)), [Sent(1, grant(6, 9))]);
    }

    #[test]
    fn a_yield_or_release_by_another_than_the_candidate_is_ignored() {
        let idle = process(4);
        assert!(idle.ignores_message(3, Yield) && idle.ignores_message(3, release(5)));

        let mut voter = voter_for_3(5);
        voter.receive(2, request(6));
        assert!(voter.ignores_message(2, Yield) && voter.ignores_message(2, release(5)));
    }

    // The candidate's rules.

    #[test]
    fn a_vote_carries_the_clock_so_that_the_next_request_is_younger_than_all_the_voter_knows() {
        let mut candidate = candidate();
        for voter in [2, 3, 4] {
            candidate.receive(voter, grant(50, 0));
        }
        candidate.leave();
        assert!(candidate.enter().contains(&Sent(2, request(51))));
    }

    #[test]
    fn a_request_is_stamped_and_sent_to_the_voting_set_itself_included() {
        let mut process = process(2);
        assert_eq!(process.enter(), [1, 3, 4].map(|voter| Sent(voter, request(1))));
        assert_eq!(process.waits_for(), [1, 3, 4], "its own vote it has");
    }

    #[test]
    fn only_the_voting_set_is_asked() {
        let sets = VotingSets::build(Construction::Grid, &View::dense(1, 3)).unwrap();
        let mut process = Probe::<Maekawa>::founding(1, sets.view(), &sets);
        assert_eq!(process.enter(), [Sent(2, request(1))], "its set is 1 and 2");
    }

    #[test]
    fn all_votes_of_the_set_let_it_in_with_a_fence_above_all_it_was_told() {
        let mut candidate = candidate();
        assert_eq!(candidate.receive(2, grant(0, 6)), []);
        assert_eq!(candidate.receive(3, grant(0, 2)), []);
        assert_eq!(candidate.receive(4, grant(0, 0)), [Entered(7)]);
    }

    #[test]
    fn a_candidate_that_may_still_win_keeps_the_vote_until_it_is_failed() {
        let mut candidate = candidate();
        candidate.receive(2, grant(0, 0));
        candidate.receive(3, grant(0, 0));
        assert_eq!(candidate.receive(3, Inquire), []);
        assert_eq!(candidate.receive(2, Inquire), []);

        assert_eq!(candidate.receive(4, Fail), [Sent(2, Yield), Sent(3, Yield)]);
        assert_eq!(candidate.waits_for(), [2, 3, 4]);
    }

    #[test]
    fn a_candidate_that_was_failed_yields_at_once() {
        let mut candidate = candidate();
        candidate.receive(4, Fail);
        candidate.receive(2, grant(0, 0));
        assert_eq!(candidate.receive(2, Inquire), [Sent(2, Yield)]);
    }

    #[test]
    fn a_candidate_that_yielded_counts_as_failed_there() {
        let mut candidate = candidate();
        candidate.receive(4, Fail);
        candidate.receive(2, grant(0, 0));
        candidate.receive(2, Inquire);
        candidate.receive(4, grant(0, 0));

        candidate.receive(3, grant(0, 0));
        assert_eq!(candidate.receive(3, Inquire), [Sent(3, Yield)], "2's vote is another's now");
    }

    #[test]
    fn a_vote_takes_back_the_fail() {
        let mut candidate = candidate();
        candidate.receive(4, Fail);
        candidate.receive(4, grant(0, 0));
        assert_eq!(candidate.receive(4, Inquire), [], "again it may win");
    }

    #[test]
    fn one_that_is_in_keeps_every_vote_until_it_leaves() {
        let mut candidate = candidate();
        candidate.receive(2, grant(0, 0));
        candidate.receive(2, Inquire);
        candidate.receive(3, grant(0, 0));
        assert_eq!(candidate.receive(4, grant(0, 0)), [Entered(1)]);
        assert!(candidate.ignores_message(3, Inquire), "the release will answer it");

        let releases = [2, 3, 4].map(|voter| Sent(voter, release(1)));
        assert_eq!(candidate.leave(), [&releases[..], &[Left]].concat());
    }

    #[test]
    fn an_inquiry_that_crossed_the_release_is_ignored_then_and_in_the_next_campaign() {
        let mut candidate = candidate();
        for voter in [2, 3, 4] {
            candidate.receive(voter, grant(0, 0));
        }
        candidate.leave();
        assert!(candidate.ignores_message(2, Inquire), "it is out");

        candidate.enter();
        candidate.receive(3, Fail);
        assert!(candidate.ignores_message(2, Inquire), "that vote it has not got yet");
    }

    #[test]
    fn its_own_vote_is_asked_back_and_yielded_as_any_other() {
        let mut candidate = process(2);
        candidate.enter();
        assert_eq!(candidate.receive(1, request(1)), [], "it may still win");

        assert_eq!(candidate.receive(3, Fail), [Sent(1, grant(2, 0))]);
    }

    // Both halves.

    #[test]
    fn the_clock_rises_above_requests_heard_and_with_each_own_one() {
        let sets = VotingSets::build(Construction::All, &View::dense(1, 2)).unwrap();
        let mut process = Probe::<Maekawa>::founding(1, sets.view(), &sets);
        process.receive(2, request(7));
        process.receive(2, release(1));
        assert_eq!(process.enter(), [Sent(2, request(9))]);

        process.receive(2, grant(0, 1));
        process.leave();
        let next = process.enter();
        assert_eq!(next, [Sent(2, request(11))], "as its own voter it heard the last one, too");
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let mut process = process(1);
        assert!(process.ignores(Command::Leave));
        assert!(process.ignores_message(2, grant(0, 5)) && process.ignores_message(2, Fail));

        process.enter();
        assert!(process.ignores(Command::Enter) && process.ignores(Command::Leave));
        assert!(process.ignores_message(2, Inquire), "it has no vote of 2");
        assert!(process.ignores_message(9, grant(0, 5)), "who is 9?");

        for voter in [2, 3, 4] {
            process.receive(voter, grant(0, 0));
        }
        assert!(process.ignores(Command::Enter));
        assert!(process.ignores_message(2, grant(0, 5)) && process.ignores_message(2, Fail));
    }

    #[test]
    fn a_known_holder_has_the_oldest_request_there_can_be() {
        let sets = VotingSets::build(Construction::Grid, &View::dense(1, 3)).unwrap();
        let known = |me| Probe::<Maekawa>::held_by(3, me, sets.view(), &sets);
        assert_eq!(known(1).receive(2, request(1)), [Sent(2, Fail)], "3's set is 3 and 1");
        assert_eq!(known(2).receive(1, request(1)), [Sent(1, grant(2, 0))]);

        assert_eq!(known(3).leave(), [Sent(1, release(0)), Left]);
    }

    #[test]
    fn one_alone_votes_for_itself_and_enters_at_once() {
        let sets = VotingSets::build(Construction::Grid, &View::dense(1, 1)).unwrap();
        let mut alone = Probe::<Maekawa>::founding(1, sets.view(), &sets);
        for fence in 1..=2 {
            assert_eq!(alone.enter(), [Entered(fence)]);
            assert_eq!(alone.leave(), [Left]);
        }
    }

    #[test]
    fn a_candidate_waits_for_votes_and_a_voter_for_its_candidate_if_others_wait() {
        let mut process = voter_for_3(1);
        assert_eq!(process.waits_for(), NOBODY, "nobody waits for its vote");

        process.enter();
        assert_eq!(process.waits_for(), [1, 2, 3, 4, 3], "all votes, and its own is 3's");
        process.receive(2, grant(0, 0));
        assert_eq!(process.waits_for(), [1, 3, 4, 3]);
    }
}
