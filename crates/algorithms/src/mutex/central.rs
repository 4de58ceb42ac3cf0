//! Central server: ask the coordinator, and wait until it grants.
//!
//! **Idea.** One more process, the coordinator, keeps a queue. A process that wants in sends it a
//! request; the coordinator grants to one at a time, in the order in which requests arrived, and to
//! the next when the holder releases.
//!
//! **Assumes** that neither the coordinator nor a holder crashes and no message is lost or doubled.
//! Channels need not be FIFO: a request that overtakes the same client's release is queued behind
//! it.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `request` | "I want in" | client to coordinator, on entering |
//! | `queued` | "k are before you" | only in the variant below, to one who has to wait |
//! | `grant` | "go" | coordinator to client |
//! | `release` | "I am out" | client to coordinator, on leaving |
//!
//! **Cost.** 2 messages to enter, 1 to leave; client delay 2, synchronisation delay 2. The
//! coordinator handles two thirds of all messages.
//!
//! **Variant.** A coordinator that is silent may be busy or dead, and the client cannot tell. With
//! [`Answers::GrantsAndPositions`] it answers at once, at one message more for each that has to
//! wait, and then silence before the first answer means that it is dead.
//!
//! **Ordering** is that of arrival, not of happened-before: a request that is slow on its way is
//! overtaken by one that was made because of it.
//!
//! **Source.** The centralised algorithm of the textbooks, e.g. G. Coulouris et al., *Distributed
//! Systems*, 5th ed., section 15.2 ("The central server algorithm").
//!
//! **Why it is safe.** The coordinator grants only while its `holder` is nobody, and forgets a
//! holder only on its release. **Live**: the queue is first in, first out, and holders leave.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::mutex::{self, Command, Locks, Notice};
use conclave_core::{
    Effects, Family, Fence, HighestFence, Input, Kind, KindIndex, NoWord, ProcessId, Protocol,
    Renaming, Start, Symmetry,
};

use crate::catalogue::{
    Bounds, Cost, CrashExample, Document, Entry, Measure, Needs, Places, Remark,
};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// I want in.
    Request,
    /// That many go before you.
    Queued(u32),
    /// Go; and this is the highest fence I know.
    Grant(Fence),
    /// I am out; and this was my fence.
    Release(Fence),
}

/// Which part a process plays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Config {
    /// It keeps the queue, and does not ask for the lock itself.
    Coordinator(Answers),
    /// It asks this one.
    Client(ProcessId),
}

/// How the coordinator answers one who has to wait.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Answers {
    /// Not before it can grant.
    Grants,
    /// At once, by the place in the queue.
    GrantsAndPositions,
}

/// One process: the coordinator, or a client.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Central {
    fence: HighestFence,
    role: Role,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Role {
    Coordinator {
        answers: Answers,
        /// Who was granted and has not released.
        holder: Option<ProcessId>,
        /// Who waits, first come first; empty while nobody holds.
        queue: VecDeque<ProcessId>,
    },
    Client {
        coordinator: ProcessId,
        state: State,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum State {
    Released,
    Wanted,
    Held,
}

/// The catalogue's entry of the plain algorithm.
pub const PLAIN: Entry = Entry {
    name: "central",
    title: "Central server",
    citation: "textbook, e.g. Coulouris et al., Distributed Systems, 5th ed., section 15.2",
    summary: "a coordinator (process 0) keeps a queue and grants to one at a time",
    family: <Locks as Family>::NAME,
    promises: mutex::LIVENESS,
    needs: Needs { coordinator: true, ..Needs::NOTHING },
    settings: &[],
    crash: "coordinator, holder, or one in the queue when its turn comes: everybody blocks",
    problems: "one bottleneck; in order of arrival, not of asking; a crash blocks all",
    crash_example: Some(CrashExample {
        matters: "0@4ms",
        why: "1 waits for 0; but 0 crashed at 4 ms",
        passes: "3@4ms",
    }),
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &["queued"],
    searches: &[
        Bounds::of(3, 2),
        Bounds::of(3, 1).unordered(),
        Bounds::of(3, 1).crashes(1).lossy().safely(),
    ],
    costs: &[
        Cost::exactly(Measure::Enter, "2", |_| 2.0),
        Cost::exactly(Measure::Leave, "1", |_| 1.0),
        Cost::exactly(Measure::ClientDelay, "2", |_| 2.0),
        Cost::exactly(Measure::LeaveDelay, "0", |_| 0.0),
        Cost::exactly(Measure::SyncDelay, "2", |_| 2.0),
    ],
    remarks: REMARKS,
};

/// The variant that answers at once.
pub const QUEUED: Entry = Entry {
    name: "central-queued",
    title: "Central server, answering \"queued\"",
    summary: "as central, and one who has to wait is told its place at once",
    crash: "as central, but a client can tell a busy coordinator from a dead one",
    problems: "as central, but who hears nothing knows of the crash",
    costs: &[
        Cost::exactly(Measure::Enter, "2", |_| 2.0),
        Cost::exactly(Measure::EnterHavingWaited, "3", |_| 3.0),
        Cost::exactly(Measure::Leave, "1", |_| 1.0),
        Cost::exactly(Measure::ClientDelay, "2", |_| 2.0),
        Cost::exactly(Measure::LeaveDelay, "0", |_| 0.0),
        Cost::exactly(Measure::SyncDelay, "2", |_| 2.0),
    ],
    silent: &[],
    searches: &[
        Bounds::of(3, 2),
        Bounds::of(3, 1).unordered(),
        Bounds::of(3, 1).crashes(1).lossy().safely(),
    ],
    ..PLAIN
};

const REMARKS: &[Remark] = &[
    Remark::agrees(Document::Coordination, Measure::Enter, "2"),
    Remark::agrees(Document::Coordination, Measure::Leave, "1"),
    Remark::agrees(Document::Coordination, Measure::ClientDelay, "2"),
    Remark::differs(
        Document::Coordination,
        Measure::LeaveDelay,
        "0.5",
        "half a round trip; the caller itself is out at once",
    ),
    Remark::agrees(Document::Coordination, Measure::SyncDelay, "2"),
    Remark::differs(Document::MutexAndElection, Measure::Enter, "3", "counts enter and leave"),
    Remark::agrees(Document::MutexAndElection, Measure::ClientDelay, "2"),
    Remark::differs(
        Document::MutexAndElection,
        Measure::LeaveDelay,
        "1",
        "the time of the release on its way; the caller does not wait for it",
    ),
    Remark::agrees(Document::MutexAndElection, Measure::SyncDelay, "2"),
    Remark::differs(Document::Slides, Measure::Enter, "3", "counts enter and leave"),
    Remark::agrees(Document::Slides, Measure::ClientDelay, "2"),
    Remark::agrees(Document::WeekOne, Measure::Enter, "2"),
    Remark::agrees(Document::WeekOne, Measure::Leave, "1"),
    Remark::agrees(Document::WeekOne, Measure::ClientDelay, "2"),
    Remark::agrees(Document::WeekOne, Measure::SyncDelay, "2"),
];

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[
        Kind::enter("request"),
        Kind::enter("queued"),
        Kind::enter("grant"),
        Kind::leave("release"),
    ];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Request => 0,
            Message::Queued(_) => 1,
            Message::Grant(_) => 2,
            Message::Release(_) => 3,
        }
    }
}

impl Protocol for Central {
    type Family = Locks;
    type Config = Config;
    type Message = Message;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        let role = match *start.config {
            Config::Coordinator(answers) => {
                Role::Coordinator { answers, holder: start.holder(), queue: VecDeque::new() }
            }
            Config::Client(coordinator) => {
                let state = if start.is_holder() { State::Held } else { State::Released };
                Role::Client { coordinator, state }
            }
        };
        Self { fence: HighestFence::default(), role }
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match (&self.role, input) {
            // The client's rules.
            (Role::Client { state: State::Released, .. }, Input::Command(Command::Enter)) => {
                self.request(out);
            }
            (
                Role::Client { state: State::Wanted, .. },
                Input::Message { message: Message::Queued(_), .. },
            ) => out.rule("now knows that the coordinator is alive and merely busy"),
            (
                Role::Client { state: State::Wanted, .. },
                Input::Message { message: Message::Grant(fence), .. },
            ) => self.on_grant(fence, out),
            (Role::Client { state: State::Held, .. }, Input::Command(Command::Leave)) => {
                self.release(out);
            }
            // The coordinator's rules.
            (Role::Coordinator { .. }, Input::Message { from, message: Message::Request }) => {
                self.on_request(from, out);
            }
            (
                Role::Coordinator { holder, .. },
                Input::Message { from, message: Message::Release(fence) },
            ) if *holder == Some(from) => self.on_release(fence, out),
            _ => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        match &self.role {
            Role::Coordinator { holder: None, queue, .. } if !queue.is_empty() => {
                Err("somebody waits although nobody holds")
            }
            _ => Ok(()),
        }
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        match &self.role {
            Role::Client { coordinator, state: State::Wanted } => vec![*coordinator],
            Role::Coordinator { holder, .. } => holder.iter().copied().collect(),
            Role::Client { .. } => Vec::new(),
        }
    }

    fn symmetry() -> Option<&'static dyn Symmetry<Self>> {
        Some(&Alike)
    }
}

/// Clients are interchangeable: they are served in the order in which they ask, and whoever asks at
/// once is a matter of arrival. The coordinator keeps its name.
struct Alike;

impl Symmetry<Central> for Alike {
    fn process(&self, process: &Central, names: &Renaming) -> Central {
        let role = match &process.role {
            Role::Coordinator { answers, holder, queue } => Role::Coordinator {
                answers: *answers,
                holder: holder.map(|id| names.id(id)),
                queue: queue.iter().map(|&id| names.id(id)).collect(),
            },
            &Role::Client { coordinator, state } => {
                Role::Client { coordinator: names.id(coordinator), state }
            }
        };
        Central { fence: process.fence, role }
    }
}

/// The client's rules.
impl Central {
    fn request(&mut self, out: &mut Effects<Self>) {
        let Role::Client { coordinator, state } = &mut self.role else { return };
        out.rule("asks the coordinator");
        *state = State::Wanted;
        out.send(*coordinator, Message::Request);
    }

    fn on_grant(&mut self, fence: Fence, out: &mut Effects<Self>) {
        let Role::Client { state, .. } = &mut self.role else { return };
        out.rule("is granted and enters");
        *state = State::Held;
        self.fence.learn(fence);
        out.notify(Notice::Entered { fence: self.fence.enter() });
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        let Role::Client { coordinator, state } = &mut self.role else { return };
        out.rule("leaves, and tells the coordinator");
        *state = State::Released;
        out.send(*coordinator, Message::Release(self.fence.known()));
        out.notify(Notice::Left);
    }
}

/// The coordinator's rules.
impl Central {
    fn on_request(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        let Role::Coordinator { answers, holder, queue } = &mut self.role else { return };
        if holder.is_none() {
            out.rule("grants at once, for nobody holds");
            *holder = Some(from);
            out.send(from, Message::Grant(self.fence.known()));
            return;
        }
        out.rule("puts the request at the end of its queue, for somebody holds");
        queue.push_back(from);
        if *answers == Answers::GrantsAndPositions {
            let position = u32::try_from(queue.len()).unwrap_or(u32::MAX);
            out.send(from, Message::Queued(position));
        }
    }

    fn on_release(&mut self, fence: Fence, out: &mut Effects<Self>) {
        self.fence.learn(fence);
        let Role::Coordinator { holder, queue, .. } = &mut self.role else { return };
        *holder = queue.pop_front();
        match *holder {
            Some(next) => {
                out.rule("grants to the first of its queue");
                out.send(next, Message::Grant(self.fence.known()));
            }
            None => out.rule("notes that nobody holds"),
        }
    }
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests {
    use conclave_core::View;

    use super::Message::{Grant, Queued, Release, Request};
    use super::*;
    use crate::mutex::testing::Deed::{Entered, Left, Sent};
    use crate::mutex::testing::{NOBODY, Probe};

    /// Process 0 coordinates, 1 to 3 are clients.
    fn config(me: u32, answers: Answers) -> Config {
        if me == 0 { Config::Coordinator(answers) } else { Config::Client(ProcessId(0)) }
    }

    fn process(me: u32, answers: Answers) -> Probe<Central> {
        Probe::founding(me, &View::dense(0, 4), &config(me, answers))
    }

    fn coordinator() -> Probe<Central> {
        process(0, Answers::Grants)
    }

    fn client() -> Probe<Central> {
        process(1, Answers::Grants)
    }

    #[test]
    fn a_client_asks_the_coordinator_alone() {
        let mut client = client();
        assert_eq!(client.enter(), [Sent(0, Request)]);
    }

    #[test]
    fn a_client_enters_once_granted_and_tells_the_coordinator_when_it_leaves() {
        let mut client = client();
        client.enter();

        assert_eq!(client.receive(0, Grant(Fence(7))), [Entered(8)]);
        assert_eq!(client.leave(), [Sent(0, Release(Fence(8))), Left]);
    }

    #[test]
    fn the_coordinator_grants_at_once_while_nobody_holds() {
        let mut coordinator = coordinator();
        assert_eq!(coordinator.receive(2, Request), [Sent(2, Grant(Fence(0)))]);
    }

    #[test]
    fn the_coordinator_grants_to_one_at_a_time_in_order_of_arrival() {
        let mut coordinator = coordinator();
        coordinator.receive(2, Request);

        assert_eq!(coordinator.receive(3, Request), []);
        assert_eq!(coordinator.receive(1, Request), []);

        assert_eq!(coordinator.receive(2, Release(Fence(1))), [Sent(3, Grant(Fence(1)))]);
        assert_eq!(coordinator.receive(3, Release(Fence(2))), [Sent(1, Grant(Fence(2)))]);
        assert_eq!(coordinator.receive(1, Release(Fence(3))), []);
    }

    #[test]
    fn a_grant_carries_the_highest_fence_of_all_releases() {
        let mut coordinator = coordinator();
        for (client, fence) in [(1, 9), (2, 4)] {
            coordinator.receive(client, Request);
            coordinator.receive(client, Release(Fence(fence)));
        }

        assert_eq!(coordinator.receive(3, Request), [Sent(3, Grant(Fence(9)))]);
    }

    #[test]
    fn with_positions_one_who_has_to_wait_is_told_how_many_go_first() {
        let mut coordinator = process(0, Answers::GrantsAndPositions);
        coordinator.receive(1, Request);

        assert_eq!(coordinator.receive(2, Request), [Sent(2, Queued(1))]);
        assert_eq!(coordinator.receive(3, Request), [Sent(3, Queued(2))]);
    }

    #[test]
    fn a_place_in_the_queue_changes_nothing_for_the_client() {
        let mut client = process(1, Answers::GrantsAndPositions);
        client.enter();

        assert!(client.ignores_message(0, Queued(1)));
        assert_eq!(client.receive(0, Grant(Fence(0))), [Entered(1)]);
        assert!(client.ignores_message(0, Queued(1)), "one that was overtaken by the grant");
    }

    #[test]
    fn a_release_by_another_than_the_holder_is_ignored() {
        let mut coordinator = coordinator();
        assert!(coordinator.ignores_message(1, Release(Fence(5))));
        coordinator.receive(1, Request);
        coordinator.receive(2, Request);

        assert!(coordinator.ignores_message(2, Release(Fence(5))));
    }

    #[test]
    fn a_client_ignores_what_makes_no_sense() {
        let mut client = client();
        assert!(client.ignores(Command::Leave));
        assert!(client.ignores_message(0, Grant(Fence(3))));
        assert!(client.ignores_message(2, Request), "it does not coordinate");
        assert!(client.ignores_message(2, Release(Fence(3))));

        client.enter();
        assert!(client.ignores(Command::Enter) && client.ignores(Command::Leave));

        client.receive(0, Grant(Fence(0)));
        assert!(client.ignores(Command::Enter));
        assert!(client.ignores_message(0, Grant(Fence(3))));
    }

    #[test]
    fn the_coordinator_does_not_ask_for_the_lock() {
        let coordinator = coordinator();
        assert!(coordinator.ignores(Command::Enter) && coordinator.ignores(Command::Leave));
    }

    #[test]
    fn a_known_holder_is_in_and_the_coordinator_waits_for_its_release() {
        let known =
            |me| Probe::<Central>::held_by(1, me, &View::dense(0, 4), &config(me, Answers::Grants));
        let (mut coordinator, mut holder, other) = (known(0), known(1), known(2));
        assert!(other.ignores(Command::Leave));
        assert_eq!(coordinator.receive(2, Request), []);

        assert_eq!(holder.leave(), [Sent(0, Release(Fence(0))), Left]);

        assert_eq!(coordinator.receive(1, Release(Fence(0))), [Sent(2, Grant(Fence(0)))]);
    }

    #[test]
    fn a_client_that_comes_back_is_out() {
        let view = View::dense(0, 4);
        let client = Probe::<Central>::returning(1, &view, &config(1, Answers::GrantsAndPositions));
        assert_eq!(client.began, []);
        assert!(client.ignores(Command::Leave));
        assert!(client.ignores_message(0, Grant(Fence(3))), "it was for the one that crashed");
    }

    #[test]
    fn a_client_waits_for_the_coordinator_and_that_one_for_the_holder() {
        let (mut client, mut coordinator) = (client(), coordinator());
        assert_eq!((client.waits_for(), coordinator.waits_for()), (vec![], vec![]));

        client.enter();
        coordinator.receive(1, Request);
        assert_eq!((client.waits_for(), coordinator.waits_for()), (vec![0], vec![1]));

        client.receive(0, Grant(Fence(0)));
        assert_eq!(client.waits_for(), NOBODY);
    }
}
