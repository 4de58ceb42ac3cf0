//! Naimi-Trehel: a tree that turns towards who asks, and a queue that nobody sees whole.
//!
//! **Problem.** A fixed tree costs what it costs. One that remembers who asked last is short where
//! it is used.
//!
//! **Idea.** Two structures of one pointer each. `last` leads, step by step, to who asked last: the
//! root, behind whom the next one queues. `next` is who comes after oneself. Who wants in sends a
//! request along `last` and becomes the root itself; everybody on its way turns its `last` to the
//! one that asks, so that all ways grow shorter. The root that gets the request notes it as its
//! `next` and sends it the token when it leaves; or at once, if it has no use for the token.
//!
//! **Assumes** that no process crashes and no message is lost or doubled. Channels need not be
//! FIFO.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `request` | "that one wants in" | along `last`, to the root |
//! | `token` | "whoever has this may enter" | to `next`, or to who asks while it rests |
//!
//! **Cost.** The way of the request and one for the token; none where the token rests, and none to
//! leave. In the first tree everybody points at the first member, so that a lone entry costs 2, but
//! for its own. The longest way is N-1. When one after the other asks, each time any of them with
//! the same chance, the mean is H(N-1) = 1 + 1/2 + ... + 1/(N-1). Synchronisation delay 1.
//!
//! **Ordering** is that in which requests reach the root.
//!
//! **Paper.** M. Naimi, M. Trehel and A. Arnold, *A log(N) Distributed Mutual Exclusion Algorithm
//! Based on Path Reversal*, JPDC 34(1), 1996. Names are the paper's; `requesting_c_s` and
//! `token_present` are `wish` and `has_token`.
//!
//! **Why it is safe.** There is one token, and only who has it is in. **Live**: `last` always leads
//! to a root, because who sends its request away becomes one, and whom it passes points at it. So
//! every request comes to an end of the queue and is its end from then on; and the token goes along
//! the queue.

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
    /// That one wants in.
    Request(ProcessId),
    /// Whoever has this may enter; and this is the highest fence so far.
    Token(Fence),
}

/// One process of the algorithm of Naimi and Trehel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct NaimiTrehel {
    me: ProcessId,
    fence: HighestFence,
    /// Whoever asked last, as far as this one knows; nobody, if it did itself.
    last: Option<ProcessId>,
    /// Who comes after it; only while it wants in or is in.
    next: Option<ProcessId>,
    has_token: bool,
    wish: Wish,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Wish {
    Released,
    Wanted {
        /// Whom it sent its request.
        asked: ProcessId,
    },
    Held,
}

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "naimi-trehel",
    title: "Naimi-Trehel 1996",
    citation: "M. Naimi, M. Trehel, A. Arnold, A log(N) Distributed Mutual Exclusion Algorithm Based \
               on Path Reversal, JPDC 34(1), 1996",
    summary: "requests go to who asked last and turn the tree; the token follows the queue",
    family: <Locks as Family>::NAME,
    promises: mutex::LIVENESS,
    needs: Needs::NOTHING,
    settings: &[],
    crash: "of who has the token, waits for it, or is on a request's way: blocks",
    problems: "a first request may go far; a crash on its way blocks",
    crash_example: Some(CrashExample {
        matters: "2@5ms",
        why: "1 waits for 2; but 2 crashed at 5 ms",
        passes: "3@4ms",
    }),
    places: Places::Differ,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[
        Bounds::of(3, 2),
        Bounds::of(3, 2).unordered(),
        Bounds::of(4, 1),
        Bounds::of(4, 1).unordered(),
        Bounds::of(3, 1).crashes(1).lossy().safely(),
    ],
    costs: &[
        Cost::exactly(Measure::Enter, "0 or 2 at first, mean 2(N-1)/N", |size| {
            2.0 * (size.n - 1.0) / size.n
        }),
        Cost::exactly(Measure::EnterAgain, "0", |_| 0.0),
        Cost::exactly(Measure::Leave, "0", |_| 0.0),
        Cost::exactly(Measure::IdleLap, "0", |_| 0.0),
        Cost::exactly(Measure::ClientDelay, "0 or 2 at first, mean 2(N-1)/N", |size| {
            2.0 * (size.n - 1.0) / size.n
        }),
        Cost::exactly(Measure::ClientDelayMin, "0", |_| 0.0),
        Cost::exactly(Measure::ClientDelayMax, "2 at first", |_| 2.0),
        Cost::exactly(Measure::LeaveDelay, "0", |_| 0.0),
        Cost::exactly(Measure::SyncDelay, "1", |_| 1.0),
    ],
    remarks: &[],
};

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[Kind::enter("request"), Kind::enter("token")];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Request(_) => 0,
            Message::Token(_) => 1,
        }
    }
}

impl Protocol for NaimiTrehel {
    type Family = Locks;
    type Config = ();
    type Message = Message;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        let first = start.holder().or(start.view.members().first().copied());
        let has_token = start.is_privileged();
        Self {
            me: start.me,
            fence: HighestFence::default(),
            // One that comes back is no root: it has no token.
            last: first.filter(|_| !has_token).map(|first| match first == start.me {
                true => start.view.successor(start.me),
                false => first,
            }),
            next: None,
            has_token,
            wish: if start.is_holder() { Wish::Held } else { Wish::Released },
        }
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match (self.wish, input) {
            (Wish::Released, Input::Command(Command::Enter)) => self.want(out),
            (_, Input::Message { message: Message::Request(who), .. }) => self.on_request(who, out),
            (Wish::Wanted { .. }, Input::Message { message: Message::Token(fence), .. }) => {
                self.fence.learn(fence);
                self.has_token = true;
                self.enter(out);
            }
            (Wish::Held, Input::Command(Command::Leave)) => self.release(out),
            _ => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        match self.wish {
            Wish::Held if !self.has_token => Err("it is in without the token"),
            Wish::Wanted { .. } if self.has_token => Err("it has the token and does not enter"),
            Wish::Released if self.next.is_some() => Err("somebody queues behind one who left"),
            Wish::Released if self.has_token != self.last.is_none() => {
                Err("the token rests where nobody leads to, or does not rest at the root")
            }
            _ => Ok(()),
        }
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        match self.wish {
            Wish::Wanted { asked } => vec![asked],
            Wish::Released | Wish::Held => Vec::new(),
        }
    }
}

impl NaimiTrehel {
    fn want(&mut self, out: &mut Effects<Self>) {
        match self.last.take() {
            None => self.enter(out),
            Some(asked) => {
                out.rule("wants in: it asks along `last`, and is the root from now on");
                self.wish = Wish::Wanted { asked };
                out.send(asked, Message::Request(self.me));
            }
        }
    }

    /// Whoever it is, it asked last.
    #[inline]
    fn on_request(&mut self, who: ProcessId, out: &mut Effects<Self>) {
        if who == self.me {
            // Only a process that died and came back can lead a request in a circle.
            return out.rule("has its own request back, and drops it: the tree is broken");
        }
        match self.last.replace(who) {
            Some(last) => {
                out.rule("passes the request on along `last`, and turns to who asks");
                out.send(last, Message::Request(who));
            }
            None if self.wish == Wish::Released => {
                out.rule("is the root and has no use for the token: it sends it to who asks");
                self.pass_on(who, out);
            }
            None => {
                out.rule("is the root: who asks is next");
                self.next = Some(who);
            }
        }
    }

    fn enter(&mut self, out: &mut Effects<Self>) {
        out.rule("has the token and enters");
        self.wish = Wish::Held;
        out.notify(Notice::Entered { fence: self.fence.enter() });
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        self.wish = Wish::Released;
        match self.next.take() {
            Some(next) => {
                out.rule("leaves, and sends the token to who is next");
                self.pass_on(next, out);
            }
            None => out.rule("leaves, and lets the token rest"),
        }
        out.notify(Notice::Left);
    }

    fn pass_on(&mut self, to: ProcessId, out: &mut Effects<Self>) {
        self.has_token = false;
        out.send(to, Message::Token(self.fence.known()));
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

    /// One of three; 1 has the token.
    fn process(me: u32) -> Probe<NaimiTrehel> {
        Probe::founding(me, &View::dense(1, 3), &())
    }

    const fn request(who: u32) -> Message {
        Message::Request(ProcessId(who))
    }

    #[test]
    fn the_token_rests_with_the_first_member_who_enters_for_nothing() {
        let mut first = process(1);
        for fence in 1..=2 {
            assert_eq!(first.enter(), [Entered(fence)]);
            assert_eq!(first.leave(), [Left], "nobody asked: it rests");
        }
    }

    #[test]
    fn who_wants_in_asks_who_asked_last_and_is_the_root() {
        let mut process = process(2);
        assert_eq!(process.enter(), [Sent(1, request(2))]);
        assert_eq!(process.receive(3, request(3)), [], "who asks is next");
        assert_eq!(process.receive(1, Token(Fence(4))), [Entered(5)]);
        assert_eq!(process.leave(), [Sent(3, Token(Fence(5))), Left]);
        assert_eq!(process.enter(), [Sent(3, request(2))]);
    }

    #[test]
    fn a_request_that_meets_the_resting_token_is_sent_it() {
        let mut first = process(1);
        assert_eq!(first.receive(3, request(3)), [Sent(3, Token(Fence(0)))]);
        assert_eq!(first.enter(), [Sent(3, request(1))]);
    }

    #[test]
    fn a_request_elsewhere_is_passed_on_and_turns_the_pointer() {
        let mut process = process(2);
        assert_eq!(process.receive(3, request(3)), [Sent(1, request(3))]);
        assert_eq!(process.receive(1, request(1)), [Sent(3, request(1))]);
    }

    #[test]
    fn a_root_that_wants_in_passes_on_what_comes_after_its_next() {
        let mut process = process(2);
        process.enter();
        process.receive(3, request(3));
        assert_eq!(process.receive(1, request(1)), [Sent(3, request(1))]);
        process.receive(1, Token(Fence(0)));
        assert_eq!(process.leave(), [Sent(3, Token(Fence(1))), Left]);
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let mut process = process(2);
        assert!(process.ignores(Command::Leave) && process.ignores_message(1, Token(Fence(7))));
        process.enter();
        assert!(process.ignores(Command::Enter) && process.ignores(Command::Leave));
        assert!(process.ignores_message(3, request(2)), "its own, in a circle");
        process.receive(1, Token(Fence(0)));
        assert!(process.ignores(Command::Enter) && process.ignores_message(1, Token(Fence(7))));
    }

    #[test]
    fn everybody_points_at_a_known_holder() {
        let known = |me| Probe::<NaimiTrehel>::held_by(2, me, &View::dense(1, 3), &());
        let (mut first, mut holder) = (known(1), known(2));
        assert_eq!(first.enter(), [Sent(2, request(1))]);
        holder.receive(1, request(1));
        assert_eq!(holder.leave(), [Sent(1, Token(Fence(0))), Left]);
    }

    #[test]
    fn a_first_member_that_comes_back_makes_no_second_token() {
        let mut first = Probe::<NaimiTrehel>::returning(1, &View::dense(1, 3), &());
        assert_eq!(first.enter(), [Sent(2, request(1))]);
    }

    #[test]
    fn one_alone_has_the_token_for_ever() {
        let mut alone = Probe::<NaimiTrehel>::founding(1, &View::dense(1, 1), &());
        for fence in 1..=2 {
            assert_eq!(alone.enter(), [Entered(fence)]);
            assert_eq!(alone.leave(), [Left]);
        }
    }

    #[test]
    fn only_one_that_wants_in_waits_and_for_whom_it_asked() {
        let mut process = process(2);
        assert_eq!(process.waits_for(), NOBODY);
        process.enter();
        assert_eq!(process.waits_for(), [1]);
        process.receive(1, Token(Fence(0)));
        assert_eq!(process.waits_for(), NOBODY);
    }

    /// One after the other asks, each time any of them with the same chance, and is served before
    /// the next one asks: messages per entry.
    fn mean_of(n: u32, entries: u32) -> f64 {
        let view = View::dense(1, n);
        let mut all: Vec<_> =
            (1..=n).map(|me| Probe::<NaimiTrehel>::founding(me, &view, &())).collect();
        let (mut sent, mut x) = (0_u32, 1_u64);
        for _ in 0..entries {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let who = u32::try_from((x >> 33) % u64::from(n)).unwrap() + 1;
            let mut deeds = all[who as usize - 1].enter();
            let mut from = who;
            while let Some(Sent(to, message)) = deeds.pop() {
                sent += 1;
                deeds = all[to as usize - 1].receive(from, message);
                from = to;
                if let [Entered(_)] = deeds[..] {
                    break;
                }
            }
            assert_eq!(all[who as usize - 1].leave(), [Left]);
        }
        f64::from(sent) / f64::from(entries)
    }

    #[test]
    fn the_mean_of_random_requests_one_after_the_other_is_the_harmonic_number_of_n_minus_1() {
        for n in [2_u32, 3, 5, 10, 30, 100, 300, 1_000] {
            let harmonic: f64 = (1..n).map(|i| 1.0 / f64::from(i)).sum();
            let mean = mean_of(n, 20_000);
            assert!((mean / harmonic - 1.0).abs() < 0.03, "{n}: {mean}, {harmonic}");
        }
    }
}
