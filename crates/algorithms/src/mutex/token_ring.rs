//! Token ring: who has the token may enter, and the token never rests.
//!
//! **Idea.** The members form a ring. One token goes round it for ever; a process that wants in
//! keeps the token when it comes by, enters, and passes it on when it leaves.
//!
//! **Assumes** that no process crashes and the token is never lost or doubled. Channels need not be
//! FIFO: one message is under way at a time.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `token` | "whoever has this may enter" | to the successor, on leaving, or at once |
//!
//! **Cost.** No message for an entry itself; N per lap whether or not anybody wants in, and 1 per
//! entry when everybody does. Client delay 0 to N-1 hops, (N-1)/2 on average; synchronisation delay
//! 1 to N-1, N/2 on average.
//!
//! **Ordering** is that of the ring.
//!
//! **Source.** G. Le Lann, *Distributed Systems: Towards a Formal Approach*, IFIP Congress 1977.
//!
//! **Why it is safe.** There is one token, and only its owner is in. **Live**: the token reaches
//! everybody within a lap, and holders leave.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::mutex::{self, Command, Locks, Notice};
use conclave_core::{
    Effects, Family, Fence, HighestFence, Input, Kind, KindIndex, NoWord, ProcessId, Protocol,
    Start,
};

use crate::catalogue::{
    Bounds, Cost, CrashExample, Document, Entry, Measure, Needs, Places, Remark,
};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Whoever has this may enter; and this is the highest fence so far.
    Token(Fence),
}

/// One process on the ring.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TokenRing {
    me: ProcessId,
    predecessor: ProcessId,
    successor: ProcessId,
    fence: HighestFence,
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Role {
    Released,
    /// The token stays only where the ring has one member: it would have nowhere to go.
    ReleasedAlone,
    Wanted,
    /// It has the token.
    Held,
}

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "token-ring",
    title: "Token ring, always moving",
    citation: "G. Le Lann, Distributed Systems: Towards a Formal Approach, IFIP Congress 1977",
    summary: "a token goes round for ever; who wants in keeps it while inside",
    family: <Locks as Family>::NAME,
    promises: mutex::LIVENESS,
    needs: Needs::NOTHING,
    settings: &[],
    crash: "any crash breaks the ring; the token is lost with its holder",
    problems: "never rests; slow if large; any crash blocks all",
    crash_example: Some(CrashExample {
        matters: "5@4ms",
        why: "6 waits for 5; but 5 crashed at 4 ms",
        passes: "5@14ms",
    }),
    places: Places::Differ,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[
        Bounds::of(3, 2),
        Bounds::of(3, 1).unordered(),
        Bounds::of(3, 1).crashes(1).lossy().safely(),
    ],
    costs: &[
        Cost::exactly(Measure::Enter, "0", |_| 0.0),
        Cost::exactly(Measure::Leave, "0", |_| 0.0),
        Cost::exactly(Measure::IdleLap, "N", |size| size.n),
        Cost::exactly(Measure::Saturated, "1", |_| 1.0),
        Cost::exactly(Measure::ClientDelay, "(N-1)/2", |size| (size.n - 1.0) / 2.0),
        Cost::exactly(Measure::ClientDelayMin, "0", |_| 0.0),
        Cost::exactly(Measure::ClientDelayMax, "N-1", |size| size.n - 1.0),
        Cost::exactly(Measure::LeaveDelay, "0", |_| 0.0),
        Cost::exactly(Measure::SyncDelay, "N/2", |size| size.n / 2.0),
        Cost::exactly(Measure::SyncDelayMin, "1", |_| 1.0),
        Cost::exactly(Measure::SyncDelayMax, "N-1", |size| size.n - 1.0),
    ],
    remarks: &[
        Remark::differs(
            Document::Coordination,
            Measure::Enter,
            "constant",
            "the token moves anyway; an entry itself costs nothing",
        ),
        Remark::differs(
            Document::Coordination,
            Measure::Leave,
            "(N+1)/2",
            "the hops to the next holder, charged to the one who leaves",
        ),
        Remark::differs(
            Document::Coordination,
            Measure::ClientDelay,
            "N/2",
            "also counts the lap of one who just missed the token: 0..N, not 0..N-1",
        ),
        Remark::agrees(Document::Coordination, Measure::LeaveDelay, "0"),
        Remark::differs(
            Document::Coordination,
            Measure::SyncDelay,
            "(N+1)/2",
            "also counts the one who leaves, as its own successor: 1..N, not 1..N-1",
        ),
        Remark::differs(
            Document::MutexAndElection,
            Measure::Enter,
            "infinite",
            "counts the idle token: N per lap for ever, and none for the entry",
        ),
        Remark::differs(
            Document::MutexAndElection,
            Measure::ClientDelay,
            "n/2",
            "rounded; over all token positions it is (N-1)/2",
        ),
        Remark::agrees(Document::MutexAndElection, Measure::ClientDelayMax, "n-1"),
        Remark::differs(
            Document::MutexAndElection,
            Measure::LeaveDelay,
            "1",
            "the time of the token on its way; the caller does not wait for it",
        ),
        Remark::agrees(Document::MutexAndElection, Measure::SyncDelay, "n/2"),
        Remark::agrees(Document::MutexAndElection, Measure::SyncDelayMax, "n-1"),
        Remark::differs(
            Document::Slides,
            Measure::Saturated,
            "1 to infinite",
            "1 when everybody wants in; the rest is the idle token",
        ),
        Remark::agrees(Document::Slides, Measure::ClientDelayMin, "0"),
        Remark::agrees(Document::Slides, Measure::ClientDelayMax, "n-1"),
        Remark::differs(
            Document::WeekOne,
            Measure::Saturated,
            "2",
            "counts getting and passing on; each hop is both, once for either end",
        ),
        Remark::differs(
            Document::WeekOne,
            Measure::ClientDelayMax,
            "N",
            "counts one who just missed the token",
        ),
        Remark::agrees(Document::WeekOne, Measure::SyncDelayMin, "1"),
        Remark::agrees(Document::WeekOne, Measure::SyncDelayMax, "N-1"),
    ],
};

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[Kind::upkeep("token")];

    #[inline]
    fn kind(&self) -> KindIndex {
        0
    }
}

impl Protocol for TokenRing {
    type Family = Locks;
    type Config = ();
    type Message = Message;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
        let mut process = Self {
            me: start.me,
            predecessor: start.view.predecessor(start.me),
            successor: start.view.successor(start.me),
            fence: HighestFence::default(),
            role: Role::Released,
        };
        if start.is_holder() {
            process.role = Role::Held;
        } else if start.is_privileged() {
            process.pass_on(out);
        }
        process
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match (self.role, input) {
            (Role::Released, Input::Command(Command::Enter)) => {
                out.rule("waits for the token to come by");
                self.role = Role::Wanted;
            }
            (Role::ReleasedAlone, Input::Command(Command::Enter)) => self.enter(out),
            (Role::Wanted, Input::Message { message: Message::Token(fence), .. }) => {
                self.fence.learn(fence);
                self.enter(out);
            }
            (Role::Released, Input::Message { message: Message::Token(fence), .. }) => {
                out.rule("does not want in: it passes the token on");
                self.fence.learn(fence);
                self.pass_on(out);
            }
            (Role::Held, Input::Command(Command::Leave)) => {
                out.rule("leaves, and passes the token on");
                self.pass_on(out);
                out.notify(Notice::Left);
            }
            _ => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        match self.role {
            Role::ReleasedAlone if self.successor != self.me => {
                Err("the token rests although there is a successor")
            }
            _ => Ok(()),
        }
    }

    /// The token comes from there, whoever has it.
    fn waits_for(&self) -> Vec<ProcessId> {
        match self.role {
            Role::Released | Role::Wanted => vec![self.predecessor],
            Role::ReleasedAlone | Role::Held => Vec::new(),
        }
    }
}

impl TokenRing {
    fn enter(&mut self, out: &mut Effects<Self>) {
        out.rule("has the token and enters");
        self.role = Role::Held;
        out.notify(Notice::Entered { fence: self.fence.enter() });
    }

    fn pass_on(&mut self, out: &mut Effects<Self>) {
        if self.successor == self.me {
            self.role = Role::ReleasedAlone;
        } else {
            self.role = Role::Released;
            out.send(self.successor, Message::Token(self.fence.known()));
        }
    }
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests {
    use conclave_core::View;

    use super::Message::Token;
    use super::*;
    use crate::mutex::testing::Deed::{Entered, Left, Sent};
    use crate::mutex::testing::{NOBODY, Probe};

    /// One of three.
    fn process(me: u32) -> Probe<TokenRing> {
        Probe::founding(me, &View::dense(1, 3), &())
    }

    #[test]
    fn the_first_member_mints_the_token_and_lets_it_go_at_once() {
        assert_eq!(process(1).began, [Sent(2, Token(Fence(0)))]);
        assert_eq!(process(2).began, []);
        assert_eq!(process(3).began, []);
    }

    #[test]
    fn the_token_goes_round_the_ring_as_the_view_has_it() {
        let view = View::new([3, 32, 5].map(ProcessId)).unwrap();
        let ring = |me| Probe::<TokenRing>::founding(me, &view, &());
        assert_eq!(ring(3).began, [Sent(32, Token(Fence(0)))]);
        assert_eq!(ring(5).receive(32, Token(Fence(4))), [Sent(3, Token(Fence(4)))]);
    }

    #[test]
    fn a_process_that_does_not_want_in_passes_the_token_on() {
        let mut process = process(2);
        assert_eq!(process.receive(1, Token(Fence(4))), [Sent(3, Token(Fence(4)))]);
    }

    #[test]
    fn a_process_that_wants_in_keeps_the_token_until_it_leaves() {
        let mut process = process(2);
        assert_eq!(process.enter(), [], "it waits in silence");

        assert_eq!(process.receive(1, Token(Fence(4))), [Entered(5)]);
        assert_eq!(process.leave(), [Sent(3, Token(Fence(5))), Left]);
    }

    #[test]
    fn a_token_never_forgets_a_fence() {
        let mut process = process(2);
        process.receive(1, Token(Fence(9)));
        assert_eq!(process.receive(1, Token(Fence(4))), [Sent(3, Token(Fence(9)))]);
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let mut process = process(2);
        assert!(process.ignores(Command::Leave));
        process.enter();
        assert!(process.ignores(Command::Enter) && process.ignores(Command::Leave));
        process.receive(1, Token(Fence(0)));
        assert!(process.ignores(Command::Enter));
        assert!(process.ignores_message(1, Token(Fence(7))), "there is but one");
    }

    #[test]
    fn a_known_holder_has_the_token_and_nobody_mints_another() {
        let known = |me| Probe::<TokenRing>::held_by(2, me, &View::dense(1, 3), &());
        for me in 1..=3 {
            assert_eq!(known(me).began, []);
        }
        assert_eq!(known(2).leave(), [Sent(3, Token(Fence(0))), Left]);
    }

    #[test]
    fn a_first_member_that_comes_back_mints_no_second_token() {
        let mut first = Probe::<TokenRing>::returning(1, &View::dense(1, 3), &());
        assert_eq!(first.began, []);
        assert_eq!(first.enter(), []);
    }

    #[test]
    fn one_alone_keeps_the_token_and_enters_at_once() {
        let mut alone = Probe::<TokenRing>::founding(1, &View::dense(1, 1), &());
        assert_eq!(alone.began, []);
        for fence in 1..=2 {
            assert_eq!(alone.enter(), [Entered(fence)]);
            assert_eq!(alone.leave(), [Left]);
        }
    }

    #[test]
    fn whoever_has_no_token_waits_for_its_predecessor() {
        let mut process = process(1);
        assert_eq!(process.waits_for(), [3]);
        process.enter();
        assert_eq!(process.waits_for(), [3]);
        process.receive(3, Token(Fence(0)));
        assert_eq!(process.waits_for(), NOBODY);
    }
}
