//! Maekawa, plain: collect the votes of a voting set. **It deadlocks**, and is kept to show that.
//!
//! **Idea.** Each process has a voting set that contains itself, and any two voting sets have a
//! member in common. A process that wants in asks its voting set only; every voter votes for one
//! candidate at a time, and keeps the others in a queue until that one releases. A process with all
//! votes of its set enters: nobody else can have the vote of the common member.
//!
//! **Assumes** that no process crashes and no message is lost or doubled. Channels need not be
//! FIFO.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `request` | "vote for me" | to the voting set, on entering |
//! | `reply` | "you have my vote" | to one candidate at a time |
//! | `release` | "you may vote for another" | to the voting set, on leaving |
//!
//! **Cost.** 2(K-1) messages to enter, K-1 to leave; client delay 2, synchronisation delay 2.
//!
//! **Source.** M. Maekawa, *A sqrt(N) Algorithm for Mutual Exclusion in Decentralized Systems*, ACM
//! TOCS 3(2), 1985, without its section on deadlocks: as lecture notes have it.
//!
//! **Why it is safe.** Two in at once would both have the vote of a common voter, who votes for
//! one. **Why it is not live**: three processes with the sets {1,2}, {2,3}, {3,1} that ask at once
//! each get their own vote first, and wait for the next one's for ever.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use conclave_core::mutex::{Command, Locks, Notice};
use conclave_core::{
    Effects, Family, Fence, HighestFence, Input, Kind, KindIndex, NoWord, ProcessId, Protocol,
    SeatSet, Start, View,
};

use crate::catalogue::{
    Bounds, Cost, CrashExample, Document, Entry, Measure, Needs, Places, Promises, Remark,
};
use crate::quorum::VotingSets;

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Vote for me.
    Request,
    /// You have my vote; and this is the highest fence I know.
    Reply(Fence),
    /// You may vote for another; and this was my fence.
    Release(Fence),
}

/// One process: a candidate now and then, a voter always.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MaekawaPlain {
    view: View,
    /// The own voting set, the process itself included.
    #[cfg_attr(feature = "serde", serde(skip))]
    voters: Arc<[ProcessId]>,
    fence: HighestFence,
    role: Role,
    /// For whom it voted. (A mere yes or no would take any release for the candidate's.)
    voted: Option<ProcessId>,
    /// Who asked for the vote while it was given; empty while it is not.
    queue: VecDeque<ProcessId>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Role {
    Released,
    Wanted {
        /// Whose vote it has.
        votes: SeatSet,
    },
    Held,
}

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "maekawa-plain",
    title: "Maekawa 1985, plain",
    citation: "M. Maekawa, A sqrt(N) Algorithm for Mutual Exclusion, ACM TOCS 3(2), 1985",
    summary: "collect the votes of a voting set; any two sets share a voter. It deadlocks",
    family: <Locks as Family>::NAME,
    promises: Promises::NONE,
    needs: Needs { voting_sets: true, ..Needs::NOTHING },
    settings: &[],
    crash: "a crash in a voting set blocks its users; deadlocks without any crash",
    problems: "deadlocks; a crash blocks all who need that vote",
    crash_example: Some(CrashExample {
        matters: "3@4ms",
        why: "1 waits for 3; but 3 crashed at 4 ms",
        passes: "5@4ms",
    }),
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[Bounds::of(3, 1).refuted()],
    costs: &[
        Cost::exactly(Measure::Enter, "2(K-1)", |size| 2.0 * (size.k - 1.0)),
        Cost::exactly(Measure::Leave, "K-1", |size| size.k - 1.0),
        Cost::exactly(Measure::ClientDelay, "2", |_| 2.0),
        Cost::exactly(Measure::LeaveDelay, "0", |_| 0.0),
        Cost::exactly(Measure::SyncDelay, "2", |_| 2.0),
    ],
    remarks: REMARKS,
};

pub(super) const REMARKS: &[Remark] = &[
    Remark::differs(Document::Coordination, Measure::Enter, "2K", "counts messages to oneself"),
    Remark::differs(Document::Coordination, Measure::Leave, "K", "counts a message to oneself"),
    Remark::agrees(Document::Coordination, Measure::ClientDelay, "2"),
    Remark::differs(
        Document::Coordination,
        Measure::LeaveDelay,
        "0.5",
        "half a round trip; the caller itself is out at once",
    ),
    Remark::agrees(Document::Coordination, Measure::SyncDelay, "2"),
    Remark::differs(
        Document::MutexAndElection,
        Measure::Enter,
        "3 sqrt(n)",
        "counts enter and leave, for optimal sets, with messages to oneself",
    ),
    Remark::agrees(Document::MutexAndElection, Measure::ClientDelay, "2"),
    Remark::differs(
        Document::MutexAndElection,
        Measure::LeaveDelay,
        "1",
        "the time of the releases on their way; the caller does not wait for them",
    ),
    Remark::agrees(Document::MutexAndElection, Measure::SyncDelay, "2"),
    Remark::differs(
        Document::WeekOne,
        Measure::Enter,
        "2 sqrt(N)",
        "for optimal sets, with messages to oneself",
    ),
    Remark::differs(
        Document::WeekOne,
        Measure::Leave,
        "sqrt(N)",
        "for optimal sets, with a message to oneself",
    ),
    Remark::agrees(Document::WeekOne, Measure::ClientDelay, "one round trip"),
    Remark::agrees(Document::WeekOne, Measure::SyncDelay, "2"),
];

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] =
        &[Kind::enter("request"), Kind::enter("reply"), Kind::leave("release")];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Request => 0,
            Message::Reply(_) => 1,
            Message::Release(_) => 2,
        }
    }
}

impl Protocol for MaekawaPlain {
    type Family = Locks;
    type Config = VotingSets;
    type Message = Message;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        let (voters, voted) = super::seat_of_voter(&start);
        Self {
            view: start.view.clone(),
            voters,
            fence: HighestFence::default(),
            role: if start.is_holder() { Role::Held } else { Role::Released },
            voted,
            queue: VecDeque::new(),
        }
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match (&mut self.role, input) {
            // Enter(): "multicast Request to voting set Vi; wait until K reply messages received".
            (Role::Released, Input::Command(Command::Enter)) => {
                out.rule("asks its voting set, itself included, for their votes");
                self.role = Role::Wanted { votes: SeatSet::empty(self.view.len()) };
                out.multicast(self.voters.iter().copied(), &Message::Request);
            }
            // "When receiving Request(pj) at pi".
            (_, Input::Message { from, message: Message::Request }) => self.on_request(from, out),
            (Role::Wanted { .. }, Input::Message { from, message: Message::Reply(fence) }) => {
                self.on_reply(from, fence, out);
            }
            // Leave(): "multicast Release to voting set Vi".
            (Role::Held, Input::Command(Command::Leave)) => {
                out.rule("leaves, and gives all votes back");
                self.role = Role::Released;
                let release = Message::Release(self.fence.known());
                out.multicast(self.voters.iter().copied(), &release);
                out.notify(Notice::Left);
            }
            // "When receiving Release(pj) at pi".
            (_, Input::Message { from, message: Message::Release(fence) })
                if self.voted == Some(from) =>
            {
                self.on_release(fence, out);
            }
            _ => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        if self.voted.is_none() && !self.queue.is_empty() {
            return Err("somebody waits for a vote that is not given");
        }
        Ok(())
    }

    /// As a candidate for the voters it lacks; as a voter, with others waiting, for its candidate.
    fn waits_for(&self) -> Vec<ProcessId> {
        let lacking = self.voters.iter().copied().filter(|&id| match &self.role {
            Role::Wanted { votes } => self.view.seat(id).is_some_and(|it| !votes.contains(it)),
            _ => false,
        });
        lacking.chain(self.voted.filter(|_| !self.queue.is_empty())).collect()
    }
}

impl MaekawaPlain {
    fn on_request(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        if self.voted.is_some() {
            out.rule("has given its vote: it queues the request, and does not reply");
            self.queue.push_back(from);
        } else {
            out.rule("votes for the candidate");
            self.voted = Some(from);
            out.send(from, Message::Reply(self.fence.known()));
        }
    }

    fn on_reply(&mut self, from: ProcessId, fence: Fence, out: &mut Effects<Self>) {
        self.fence.learn(fence);
        let (Role::Wanted { votes }, Some(seat)) = (&mut self.role, self.view.seat(from)) else {
            return;
        };
        votes.insert(seat);
        if votes.len() == self.voters.len() {
            out.rule("has all votes of its set and enters");
            self.role = Role::Held;
            out.notify(Notice::Entered { fence: self.fence.enter() });
        } else {
            out.rule("has one vote more, and waits for the rest");
        }
    }

    fn on_release(&mut self, fence: Fence, out: &mut Effects<Self>) {
        self.fence.learn(fence);
        self.voted = self.queue.pop_front();
        match self.voted {
            Some(next) => {
                out.rule("has its vote back, and votes for the first of its queue");
                out.send(next, Message::Reply(self.fence.known()));
            }
            None => out.rule("has its vote back"),
        }
    }
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests {
    use super::Message::{Release, Reply, Request};
    use super::*;
    use crate::mutex::testing::Deed::{Entered, Left, Sent};
    use crate::mutex::testing::{NOBODY, Probe};
    use crate::quorum::Construction;

    fn sets(n: u32) -> VotingSets {
        VotingSets::build(Construction::Grid, &View::dense(1, n)).unwrap()
    }

    /// One of three; the voting sets are {1,2}, {2,3}, {3,1}.
    fn process(me: u32) -> Probe<MaekawaPlain> {
        let sets = sets(3);
        Probe::founding(me, sets.view(), &sets)
    }

    fn reply(fence: u64) -> Message {
        Reply(Fence(fence))
    }

    fn release(fence: u64) -> Message {
        Release(Fence(fence))
    }

    #[test]
    fn enter_asks_the_voting_set_alone_itself_included() {
        let mut process = process(1);
        assert_eq!(process.enter(), [Sent(2, Request)]);
        assert_eq!(process.waits_for(), [2], "its own vote it has");
    }

    #[test]
    fn all_votes_of_the_set_let_it_in() {
        let mut process = process(1);
        process.enter();
        assert_eq!(process.receive(2, reply(6)), [Entered(7)]);
    }

    #[test]
    fn its_own_vote_may_be_the_one_that_it_lacks() {
        let mut process = process(1);
        process.receive(3, Request);
        process.enter();
        assert_eq!(process.receive(2, reply(0)), [], "its own vote is 3's");

        assert_eq!(process.receive(3, release(4)), [Entered(5)]);
    }

    #[test]
    fn leave_gives_all_votes_back_its_own_too() {
        let mut process = process(1);
        process.enter();
        process.receive(2, reply(0));
        process.receive(3, Request);

        assert_eq!(process.leave(), [Sent(2, release(1)), Left, Sent(3, reply(1))]);
    }

    #[test]
    fn a_voter_votes_for_one_at_a_time_in_order_of_arrival() {
        let mut voter = process(2);
        assert_eq!(voter.receive(3, Request), [Sent(3, reply(0))]);
        assert_eq!(voter.receive(1, Request), []);
        assert_eq!(voter.enter(), [Sent(3, Request)], "it is not before others at its own vote");

        assert_eq!(voter.receive(3, release(1)), [Sent(1, reply(1))]);
        assert_eq!(voter.receive(1, release(2)), []);
        assert_eq!(voter.waits_for(), [3], "now it has its own vote");
    }

    #[test]
    fn a_vote_carries_the_highest_fence_of_all_releases() {
        let mut voter = process(2);
        for (candidate, fence) in [(1, 9), (3, 4)] {
            voter.receive(candidate, Request);
            voter.receive(candidate, release(fence));
        }
        assert_eq!(voter.receive(1, Request), [Sent(1, reply(9))]);
    }

    #[test]
    fn a_release_by_another_than_the_candidate_is_ignored() {
        let mut voter = process(2);
        assert!(voter.ignores_message(1, release(5)), "it has not voted");
        voter.receive(1, Request);
        voter.receive(3, Request);
        assert!(voter.ignores_message(3, release(5)), "it has voted for 1");
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let mut process = process(1);
        assert!(process.ignores(Command::Leave));
        assert!(process.ignores_message(2, reply(5)));

        process.enter();
        assert!(process.ignores(Command::Enter) && process.ignores(Command::Leave));

        process.receive(2, reply(0));
        assert!(process.ignores(Command::Enter));
        assert!(process.ignores_message(2, reply(5)));
    }

    #[test]
    fn a_known_holder_has_the_votes_of_its_set_and_of_nobody_else() {
        let sets = sets(3);
        let known = |me| Probe::<MaekawaPlain>::held_by(1, me, sets.view(), &sets);
        assert_eq!(known(1).receive(3, Request), []);
        assert_eq!(known(2).receive(3, Request), []);
        assert_eq!(known(3).receive(2, Request), [Sent(2, reply(0))]);

        assert_eq!(known(1).leave(), [Sent(2, release(0)), Left]);
    }

    #[test]
    fn one_alone_votes_for_itself_and_enters_at_once() {
        let sets = sets(1);
        let mut alone = Probe::<MaekawaPlain>::founding(1, sets.view(), &sets);
        for fence in 1..=2 {
            assert_eq!(alone.enter(), [Entered(fence)]);
            assert_eq!(alone.leave(), [Left]);
        }
    }

    #[test]
    fn a_candidate_waits_for_votes_and_a_voter_for_its_candidate_if_others_wait() {
        let mut process = process(2);
        assert_eq!(process.waits_for(), NOBODY);
        process.receive(1, Request);
        assert_eq!(process.waits_for(), NOBODY, "nobody waits for its vote");

        process.enter();
        assert_eq!(process.waits_for(), [2, 3, 1], "both votes, and its own is 1's");
        process.receive(3, reply(0));
        assert_eq!(process.waits_for(), [2, 1]);
    }

    #[test]
    fn three_that_ask_at_once_wait_for_each_other_in_a_circle() {
        let mut processes = [1, 2, 3].map(process);
        for process in &mut processes {
            process.enter();
        }

        for (asked, asking) in [(2, 1), (3, 2), (1, 3)] {
            assert_eq!(processes[asked - 1].receive(asking, Request), []);
        }

        let waits = processes.each_ref().map(Probe::waits_for);
        assert_eq!(waits, [[2, 1], [3, 2], [1, 3]], "the next one's vote; and as voters");
    }
}
