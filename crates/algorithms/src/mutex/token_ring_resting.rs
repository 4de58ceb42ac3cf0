//! Token ring, resting: who has the token may enter, and the token stays until it is called.
//!
//! **Idea.** As in the ring whose token never rests, but the token stays where it was used last. A
//! process that wants in calls for it: the call runs against the ring, from predecessor to
//! predecessor, until it meets the token, which then comes back the same way. A process that has a
//! call of its own under way does not pass on another's: the token will come by anyway.
//!
//! **Assumes** that no process crashes and no message is lost or doubled. Channels need not be
//! FIFO: calls and the token go in opposite directions, and where the ring has two members, so that
//! they share a channel, either may come first.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `call` | "send the token my way" | to the predecessor, on entering, or passing on another's |
//! | `token` | "whoever has this may enter" | to the successor, if it called |
//!
//! **Cost.** 2d messages and a client delay of 2d where d is the distance to the token, N-1 on
//! average; nothing at all while nobody wants in, or where it was used last.
//!
//! **Ordering** is that of the ring.
//!
//! **Source.** The lazy form of Le Lann's ring (1977); on a line instead of a tree it is what
//! K. Raymond, ACM TOCS 7(1), 1989, calls `asked` and `request_q`.
//!
//! **Why it is safe.** There is one token, and only its owner is in. **Live**: a call stops only
//! where a call is under way already or the token is; so from everybody who waits, the processes
//! against the ring up to the token have all been called, and it moves along them, served first.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::mutex::{self, Command, Locks, Notice};
use conclave_core::{
    Effects, Family, Fence, HighestFence, Input, Kind, KindIndex, NoWord, ProcessId, Protocol,
    Start,
};

use crate::catalogue::{Bounds, Cost, CrashExample, Entry, Measure, Needs, Places};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Send the token my way.
    Call,
    /// Whoever has this may enter; and this is the highest fence so far.
    Token(Fence),
}

/// One process on a ring whose token rests.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RestingTokenRing {
    predecessor: ProcessId,
    successor: ProcessId,
    fence: HighestFence,
    token: Token,
    wish: Wish,
    /// Whether the successor called, and has not been sent the token since.
    is_called: bool,
}

/// Where the token is, as seen from here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Token {
    Here,
    Elsewhere,
    /// Elsewhere, and a call for it is under way.
    Called,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Wish {
    Released,
    Wanted,
    Held,
}

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "token-ring-resting",
    title: "Token ring, resting",
    citation: "the lazy form of G. Le Lann, IFIP Congress 1977",
    summary: "the token stays where it was used last, until a call against the ring fetches it",
    family: <Locks as Family>::NAME,
    promises: mutex::LIVENESS,
    needs: Needs::NOTHING,
    settings: &[],
    crash: "any crash breaks the ring; the token is lost with its holder",
    problems: "slow if large; any crash blocks all",
    crash_example: Some(CrashExample {
        matters: "9@4ms",
        why: "1 waits for 9; but 9 crashed at 4 ms",
        passes: "9@30ms",
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
        Cost::exactly(Measure::Enter, "2d, mean N-1", |size| size.n - 1.0),
        Cost::exactly(Measure::Leave, "0", |_| 0.0),
        Cost::exactly(Measure::IdleLap, "0", |_| 0.0),
        Cost::exactly(Measure::ClientDelay, "2d, mean N-1", |size| size.n - 1.0),
        Cost::exactly(Measure::LeaveDelay, "0", |_| 0.0),
    ],
    remarks: &[],
};

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[Kind::enter("call"), Kind::enter("token")];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Call => 0,
            Message::Token(_) => 1,
        }
    }
}

impl Protocol for RestingTokenRing {
    type Family = Locks;
    type Config = ();
    type Message = Message;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        Self {
            predecessor: start.view.predecessor(start.me),
            successor: start.view.successor(start.me),
            fence: HighestFence::default(),
            token: if start.is_privileged() { Token::Here } else { Token::Elsewhere },
            wish: if start.is_holder() { Wish::Held } else { Wish::Released },
            is_called: false,
        }
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match (self.wish, input) {
            (Wish::Released, Input::Command(Command::Enter)) => {
                self.wish = Wish::Wanted;
                if self.token == Token::Here {
                    self.enter(out);
                } else {
                    out.rule("wants in and has no token: it calls for it");
                    self.call(out);
                }
            }
            (wish, Input::Message { message: Message::Call, .. }) => {
                self.is_called = true;
                match self.token {
                    Token::Here if wish == Wish::Released => {
                        out.rule("has the token and no use for it: it sends it to the caller");
                        self.pass_on(out);
                    }
                    Token::Here => out.rule("will send the token when it has left"),
                    Token::Elsewhere => {
                        out.rule("has no token either: it passes the call on");
                        self.call(out);
                    }
                    Token::Called => out.rule("has called already: the token will come by"),
                }
            }
            (wish, Input::Message { message: Message::Token(fence), .. })
                if self.token != Token::Here =>
            {
                self.fence.learn(fence);
                self.token = Token::Here;
                if wish == Wish::Wanted {
                    self.enter(out);
                } else if self.is_called {
                    out.rule("passes the token on to where it was called from");
                    self.pass_on(out);
                }
            }
            (Wish::Held, Input::Command(Command::Leave)) => {
                self.wish = Wish::Released;
                if self.is_called {
                    out.rule("leaves, and sends the token to the caller");
                    self.pass_on(out);
                } else {
                    out.rule("leaves, and lets the token rest");
                }
                out.notify(Notice::Left);
            }
            _ => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        match (self.wish, self.token) {
            (Wish::Held, Token::Elsewhere | Token::Called) => Err("it is in without the token"),
            (Wish::Wanted, Token::Here) => Err("it has the token and does not enter"),
            (Wish::Wanted, Token::Elsewhere) => Err("it wants in and has not called"),
            (Wish::Released, Token::Here) if self.is_called => {
                Err("it keeps the token although it was called")
            }
            _ => Ok(()),
        }
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        match self.token {
            Token::Called => vec![self.predecessor],
            Token::Here | Token::Elsewhere => Vec::new(),
        }
    }
}

impl RestingTokenRing {
    fn call(&mut self, out: &mut Effects<Self>) {
        if self.token == Token::Elsewhere {
            self.token = Token::Called;
            out.send(self.predecessor, Message::Call);
        }
    }

    fn enter(&mut self, out: &mut Effects<Self>) {
        out.rule("has the token and enters");
        self.wish = Wish::Held;
        out.notify(Notice::Entered { fence: self.fence.enter() });
    }

    fn pass_on(&mut self, out: &mut Effects<Self>) {
        self.is_called = false;
        self.token = Token::Elsewhere;
        out.send(self.successor, Message::Token(self.fence.known()));
    }
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests {
    use conclave_core::View;

    use super::Message::{Call, Token};
    use super::*;
    use crate::mutex::testing::Deed::{Entered, Left, Sent};
    use crate::mutex::testing::{NOBODY, Probe};

    /// One of three; 1 has the token.
    fn process(me: u32) -> Probe<RestingTokenRing> {
        Probe::founding(me, &View::dense(1, 3), &())
    }

    #[test]
    fn the_token_rests_with_the_first_member_who_enters_for_nothing() {
        let mut first = process(1);
        assert_eq!(first.began, []);

        for fence in 1..=2 {
            assert_eq!(first.enter(), [Entered(fence)]);
            assert_eq!(first.leave(), [Left], "nobody called: it rests");
        }
    }

    #[test]
    fn who_wants_in_without_the_token_calls_its_predecessor() {
        assert_eq!(process(2).enter(), [Sent(1, Call)]);
        assert_eq!(process(3).enter(), [Sent(2, Call)]);
    }

    #[test]
    fn a_call_that_meets_the_resting_token_sends_it_back() {
        let mut first = process(1);
        first.enter();
        first.leave();

        assert_eq!(first.receive(2, Call), [Sent(2, Token(Fence(1)))]);
    }

    #[test]
    fn a_call_that_meets_the_holder_waits_until_it_leaves() {
        let mut first = process(1);
        first.enter();

        assert_eq!(first.receive(2, Call), []);
        assert_eq!(first.leave(), [Sent(2, Token(Fence(1))), Left]);
    }

    #[test]
    fn a_call_is_answered_once() {
        let mut first = process(1);
        first.receive(2, Call);

        first.enter();
        first.receive(3, Token(Fence(1)));
        assert_eq!(first.leave(), [Left], "the token rests");
    }

    #[test]
    fn a_call_where_the_token_is_not_runs_on_against_the_ring() {
        let mut process = process(2);
        assert_eq!(process.receive(3, Call), [Sent(1, Call)]);
    }

    #[test]
    fn a_call_stops_where_another_is_under_way() {
        let mut process = process(2);
        process.enter();
        assert_eq!(process.receive(3, Call), []);

        let mut other = self::process(2);
        other.receive(3, Call);
        assert_eq!(other.enter(), []);
    }

    #[test]
    fn a_token_that_passes_by_is_sent_on_to_the_caller() {
        let mut process = process(2);
        process.receive(3, Call);

        assert_eq!(process.receive(1, Token(Fence(4))), [Sent(3, Token(Fence(4)))]);
        assert_eq!(process.enter(), [Sent(1, Call)], "it has to be called again");
    }

    #[test]
    fn who_wants_in_is_served_before_those_behind_it() {
        let mut process = process(2);
        process.enter();
        process.receive(3, Call);

        assert_eq!(process.receive(1, Token(Fence(4))), [Entered(5)]);
        assert_eq!(process.leave(), [Sent(3, Token(Fence(5))), Left]);
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let mut process = process(2);
        assert!(process.ignores(Command::Leave));
        process.enter();
        assert!(process.ignores(Command::Enter) && process.ignores(Command::Leave));
        process.receive(3, Call);
        assert!(process.ignores_message(3, Call), "it knows");
        process.receive(1, Token(Fence(0)));
        assert!(process.ignores(Command::Enter));
        assert!(process.ignores_message(3, Call), "it still knows");
    }

    #[test]
    fn a_known_holder_has_the_token_and_the_first_member_has_not() {
        let known = |me| Probe::<RestingTokenRing>::held_by(2, me, &View::dense(1, 3), &());
        let (mut first, mut holder) = (known(1), known(2));
        assert_eq!(first.enter(), [Sent(3, Call)]);

        holder.receive(3, Call);
        assert_eq!(holder.leave(), [Sent(3, Token(Fence(0))), Left]);
    }

    #[test]
    fn a_first_member_that_comes_back_mints_no_second_token() {
        let mut first = Probe::<RestingTokenRing>::returning(1, &View::dense(1, 3), &());
        assert_eq!(first.enter(), [Sent(3, Call)]);
    }

    #[test]
    fn one_alone_has_the_token_for_ever() {
        let mut alone = Probe::<RestingTokenRing>::founding(1, &View::dense(1, 1), &());
        for fence in 1..=2 {
            assert_eq!(alone.enter(), [Entered(fence)]);
            assert_eq!(alone.leave(), [Left]);
        }
    }

    #[test]
    fn only_who_called_waits_and_for_its_predecessor() {
        let mut process = process(2);
        assert_eq!(process.waits_for(), NOBODY);
        process.receive(3, Call);
        assert_eq!(process.waits_for(), [1], "on another's behalf");
        process.receive(1, Token(Fence(0)));
        assert_eq!(process.waits_for(), NOBODY);
    }
}
