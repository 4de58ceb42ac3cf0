//! Ricart-Agrawala: ask everybody, and wait for everybody's reply.
//!
//! **Idea.** A process that wants in stamps its request with a Lamport clock and sends it to all
//! others. Whoever receives it replies at once, unless it is in the critical section itself or
//! wants in with an older stamp: then it keeps the reply back until it has left. All requests have
//! a total order, so of two that want in exactly one keeps its reply back, and the older one goes
//! first.
//!
//! **Assumes** that no process crashes and no message is lost or doubled. Channels need not be
//! FIFO.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `request` | "I want in, since my clock showed T" | to all others, on entering |
//! | `reply` | "as far as I am concerned, go" | at once, or on leaving |
//! | `deferred` | "I heard you; the reply comes later" | only in the variant below, in place of silence |
//!
//! **Cost.** 2(N-1) messages to enter, none to leave (replies kept back are part of the 2(N-1));
//! client delay 2, synchronisation delay 1.
//!
//! **Variant.** In the plain algorithm a reply kept back and a crash look the same: silence. With
//! [`Answers::RepliesAndDeferrals`] every request is answered at once, at up to N-1 messages more,
//! and then silence before the first answer means a crash and says whose.
//!
//! **Paper.** G. Ricart and A. K. Agrawala, *An Optimal Algorithm for Mutual Exclusion in Computer
//! Networks*, CACM 24(1), 1981, section 2 ("The Algorithm"). Names: `Our_Sequence_Number` is
//! `Role::Wanted::stamp`, `Highest_Sequence_Number` is `clock`, `Outstanding_Reply_Count` is
//! `Role::Wanted::outstanding`, `Reply_Deferred[1:N]` is `deferred`. Departure: replies carry the
//! clock too. In the paper only requests do, and then a process that learns of a request from a
//! third one's reply can stamp its own as older, and pass one that happened before it.
//!
//! **Why it is safe.** Suppose i and j are in at once, and i's stamp is the older one. Then j has
//! i's reply, which i sent when j's request reached it. Had i not chosen its stamp by then, its
//! clock would have risen above j's, and its stamp would be the younger one. So it had: it wanted
//! in, or was in, with the older stamp, and kept its reply back. **Live**: the oldest request of
//! all is kept back by nobody but a holder, who leaves.

use alloc::vec::Vec;

use conclave_core::clock::{LamportClock, Stamp, Timestamp};
use conclave_core::mutex::{self, Command, Locks, Notice};
use conclave_core::{
    Effects, Family, Fence, HighestFence, Input, Kind, KindIndex, NoWord, ProcessId, Protocol,
    SeatSet, Start, View,
};

use crate::catalogue::{
    Bounds, Cost, CrashExample, Document, Entry, Measure, Needs, Places, Remark,
};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// I want in, since my clock showed this.
    Request(Timestamp),
    /// As far as I am concerned, go; my clock shows this, and this is the highest fence I know.
    Reply(Timestamp, Fence),
    /// I heard you; the reply comes when I have left; my clock shows this.
    Deferred(Timestamp),
}

/// How a process answers a request whose reply it keeps back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Answers {
    /// Not at all, as in the paper.
    Replies,
    /// By saying that the reply comes later.
    RepliesAndDeferrals,
}

/// One process of the algorithm of Ricart and Agrawala.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RicartAgrawala {
    me: ProcessId,
    view: View,
    answers: Answers,
    /// Not below the stamp of any request made or received.
    clock: LamportClock,
    fence: HighestFence,
    role: Role,
    /// Whose reply was kept back; empty while released.
    deferred: SeatSet,
}

/// What a process is about.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Role {
    Released,
    Wanted {
        /// When it asked.
        stamp: Timestamp,
        /// Replies still to come; at least 1.
        outstanding: usize,
        /// Who has not answered at all; kept only where deferrals are announced.
        silent: Option<SeatSet>,
    },
    Held,
}

/// The catalogue's entry of the plain algorithm.
pub const PLAIN: Entry = Entry {
    name: "ricart-agrawala",
    title: "Ricart-Agrawala 1981",
    citation: "G. Ricart, A. K. Agrawala, An Optimal Algorithm for Mutual Exclusion, CACM 24(1), 1981",
    summary: "ask everybody and wait for every reply; the older request goes first",
    family: <Locks as Family>::NAME,
    promises: mutex::LIVENESS.and(mutex::ORDERING),
    needs: Needs::NOTHING,
    settings: &[],
    crash: "any crash blocks everybody",
    problems: "everybody is asked; any crash blocks all",
    crash_example: Some(CrashExample {
        matters: "3@4ms",
        why: "1 waits for 3; but 3 crashed at 4 ms",
        passes: "3@14ms",
    }),
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &["deferred"],
    searches: &[
        Bounds::of(3, 2),
        Bounds::of(3, 1).unordered(),
        Bounds::of(3, 1).crashes(1).lossy().safely(),
    ],
    costs: &[
        Cost::exactly(Measure::Enter, "2(N-1)", |size| 2.0 * (size.n - 1.0)),
        Cost::exactly(Measure::Leave, "0", |_| 0.0),
        Cost::exactly(Measure::ClientDelay, "2", |_| 2.0),
        Cost::exactly(Measure::LeaveDelay, "0", |_| 0.0),
        Cost::exactly(Measure::SyncDelay, "1", |_| 1.0),
    ],
    remarks: REMARKS,
};

/// The variant that answers every request at once.
pub const DEFERRED: Entry = Entry {
    name: "ricart-agrawala-deferred",
    title: "Ricart-Agrawala, answering \"deferred\"",
    summary: "as ricart-agrawala, and a reply that is kept back is announced at once",
    crash: "any crash blocks everybody, but it is known who is missing",
    problems: "still more messages; any crash blocks all, but it is known whose",
    costs: &[
        Cost::exactly(Measure::Enter, "2(N-1)", |size| 2.0 * (size.n - 1.0)),
        Cost::exactly(Measure::EnterLast, "2(N-1) + N-1", |size| 3.0 * (size.n - 1.0)),
        Cost::exactly(Measure::Leave, "0", |_| 0.0),
        Cost::exactly(Measure::ClientDelay, "2", |_| 2.0),
        Cost::exactly(Measure::LeaveDelay, "0", |_| 0.0),
        Cost::exactly(Measure::SyncDelay, "1", |_| 1.0),
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
    Remark::differs(Document::Coordination, Measure::Enter, "2N-1", "counts a message to oneself"),
    Remark::agrees(Document::Coordination, Measure::Leave, "0"),
    Remark::agrees(Document::Coordination, Measure::ClientDelay, "2"),
    Remark::differs(
        Document::Coordination,
        Measure::LeaveDelay,
        "0.5",
        "half a round trip; the caller itself is out at once",
    ),
    Remark::agrees(Document::Coordination, Measure::SyncDelay, "1"),
    Remark::agrees(Document::MutexAndElection, Measure::Enter, "2(n-1)"),
    Remark::agrees(Document::MutexAndElection, Measure::ClientDelay, "1 + 1"),
    Remark::differs(
        Document::MutexAndElection,
        Measure::LeaveDelay,
        "1 + 1",
        "the time of the replies on their way; the caller does not wait for them",
    ),
    Remark::agrees(Document::MutexAndElection, Measure::SyncDelay, "1"),
    Remark::agrees(Document::Slides, Measure::Enter, "2(n-1)"),
    Remark::differs(
        Document::Slides,
        Measure::ClientDelay,
        "2(n-1)",
        "counts the messages as if sent one after the other; they are sent at once",
    ),
    Remark::agrees(Document::WeekOne, Measure::Enter, "O(N)"),
    Remark::agrees(Document::WeekOne, Measure::ClientDelay, "O(1)"),
];

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] =
        &[Kind::enter("request"), Kind::enter("reply"), Kind::enter("deferred")];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Request(_) => 0,
            Message::Reply(..) => 1,
            Message::Deferred(_) => 2,
        }
    }
}

impl Protocol for RicartAgrawala {
    type Family = Locks;
    type Config = Answers;
    type Message = Message;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        Self {
            me: start.me,
            view: start.view.clone(),
            answers: *start.config,
            clock: LamportClock::starting_at(start.opening.clock),
            fence: HighestFence::default(),
            role: if start.is_holder() { Role::Held } else { Role::Released },
            deferred: SeatSet::empty(start.view.len()),
        }
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        if let Input::Message {
            message: Message::Reply(time, _) | Message::Deferred(time), ..
        } = &input
        {
            self.clock.catch_up(*time);
        }
        match (&mut self.role, input) {
            // "Process invokes mutual exclusion".
            (Role::Released, Input::Command(Command::Enter)) => self.request(out),
            // "Process receives request message k from j": it compares before it answers.
            (_, Input::Message { from, message: Message::Request(time) }) => {
                self.on_request(Stamp { time, process: from }, out);
            }
            // "Process receives reply message".
            (
                Role::Wanted { silent, .. },
                Input::Message { from, message: Message::Reply(_, fence) },
            ) => {
                hear(silent, &self.view, from);
                self.on_reply(fence, out);
            }
            (
                Role::Wanted { silent, .. },
                Input::Message { from, message: Message::Deferred(_) },
            ) => {
                out.rule("now knows that the other is alive and merely busy");
                hear(silent, &self.view, from);
            }
            // "Release the critical section".
            (Role::Held, Input::Command(Command::Leave)) => self.release(out),
            _ => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        match &self.role {
            Role::Released if !self.deferred.is_empty() => Err("a released process owes a reply"),
            Role::Wanted { outstanding: 0, .. } => Err("all have replied and it still waits"),
            Role::Wanted { stamp, .. } if *stamp > self.clock.time() => {
                Err("the clock is behind the process's own request")
            }
            _ => Ok(()),
        }
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        match &self.role {
            Role::Wanted { silent: Some(silent), .. } if !silent.is_empty() => {
                silent.iter().map(|seat| self.view.at(seat)).collect()
            }
            Role::Wanted { .. } => self.view.others(self.me).collect(),
            _ => Vec::new(),
        }
    }
}

impl RicartAgrawala {
    fn request(&mut self, out: &mut Effects<Self>) {
        let stamp = self.clock.tick();
        let outstanding = self.view.len() - 1;
        if outstanding == 0 {
            return self.enter(out);
        }
        out.rule("stamps its request and asks all others");
        let silent = match self.answers {
            Answers::Replies => None,
            Answers::RepliesAndDeferrals => Some(self.everyone_else()),
        };
        self.role = Role::Wanted { stamp, outstanding, silent };
        out.multicast(self.view.others(self.me), &Message::Request(stamp));
    }

    /// The clock rises above every request received; without that, a process that heard a request
    /// could still stamp its own as older, and both would get in.
    #[inline]
    fn on_request(&mut self, theirs: Stamp, out: &mut Effects<Self>) {
        self.clock.rise_above(theirs.time);
        let (defer, why) = match self.role {
            Role::Released => (false, "does not want in: it replies at once"),
            Role::Wanted { stamp, .. } if Stamp { time: stamp, process: self.me } < theirs => {
                (true, "wants in with the older stamp: it keeps its reply back (Defer_it)")
            }
            Role::Wanted { .. } => {
                (false, "wants in too, but the other's stamp is older: it replies")
            }
            Role::Held => (true, "is in: it keeps its reply back until it leaves (Defer_it)"),
        };
        out.rule(why);
        if !defer {
            return out.send(theirs.process, self.reply());
        }
        if let Some(seat) = self.view.seat(theirs.process) {
            self.deferred.insert(seat);
        }
        if self.answers == Answers::RepliesAndDeferrals {
            out.send(theirs.process, Message::Deferred(self.clock.time()));
        }
    }

    #[inline]
    fn on_reply(&mut self, fence: Fence, out: &mut Effects<Self>) {
        self.fence.learn(fence);
        let Role::Wanted { outstanding, .. } = &mut self.role else { return };
        *outstanding -= 1;
        if *outstanding == 0 {
            self.enter(out);
        } else {
            out.rule("counts one reply more, and waits for the rest");
        }
    }

    fn enter(&mut self, out: &mut Effects<Self>) {
        out.rule("has everybody's reply and enters");
        self.role = Role::Held;
        out.notify(Notice::Entered { fence: self.fence.enter() });
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        out.rule("leaves, and sends the replies that it kept back");
        self.role = Role::Released;
        let waiting = self.deferred.iter().map(|seat| self.view.at(seat));
        out.multicast(waiting, &self.reply());
        self.deferred.clear();
        out.notify(Notice::Left);
    }

    fn reply(&self) -> Message {
        Message::Reply(self.clock.time(), self.fence.known())
    }

    fn everyone_else(&self) -> SeatSet {
        let mut set = SeatSet::empty(self.view.len());
        for seat in self.view.others(self.me).filter_map(|id| self.view.seat(id)) {
            set.insert(seat);
        }
        set
    }
}

/// Strikes `from` from those who have not answered.
#[inline]
fn hear(silent: &mut Option<SeatSet>, view: &View, from: ProcessId) {
    if let (Some(silent), Some(seat)) = (silent, view.seat(from)) {
        silent.remove(seat);
    }
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::testing::Deed::{Entered, Left, Sent};
    use crate::mutex::testing::{NOBODY, Probe};
    use conclave_core::mutex::Opening;

    /// One of three, in the words of the paper.
    fn process(me: u32) -> Probe<RicartAgrawala> {
        Probe::founding(me, &View::dense(1, 3), &Answers::Replies)
    }

    /// One of three, in the variant that also says when it defers a reply.
    fn talkative(me: u32) -> Probe<RicartAgrawala> {
        Probe::founding(me, &View::dense(1, 3), &Answers::RepliesAndDeferrals)
    }

    /// Process 1, which is in.
    fn holder() -> Probe<RicartAgrawala> {
        let mut holder = process(1);
        holder.enter();
        holder.receive(2, reply(2, 0));
        assert_eq!(holder.receive(3, reply(2, 0)), [Entered(1)]);
        holder
    }

    fn request(time: u64) -> Message {
        Message::Request(Timestamp(time))
    }

    fn reply(time: u64, fence: u64) -> Message {
        Message::Reply(Timestamp(time), Fence(fence))
    }

    fn deferred(time: u64) -> Message {
        Message::Deferred(Timestamp(time))
    }

    #[test]
    fn a_request_is_stamped_and_sent_to_all_others() {
        let mut process = process(1);
        assert_eq!(process.enter(), [Sent(2, request(1)), Sent(3, request(1))]);
    }

    #[test]
    fn the_last_reply_lets_it_in_with_a_fence_above_all_it_was_told() {
        let mut process = process(1);
        process.enter();

        assert_eq!(process.receive(3, reply(2, 7)), []);
        assert_eq!(process.receive(2, reply(2, 4)), [Entered(8)]);
    }

    #[test]
    fn one_that_does_not_want_in_replies_at_once() {
        let mut process = process(1);
        assert_eq!(process.receive(2, request(5)), [Sent(2, reply(6, 0))]);
    }

    #[test]
    fn one_that_wants_in_replies_at_once_to_the_older_request() {
        let mut process = process(2);
        process.receive(3, request(5));
        process.enter();

        assert_eq!(process.receive(1, request(6)), [Sent(1, reply(7, 0))], "its own is 7");
    }

    #[test]
    fn one_that_wants_in_keeps_back_its_reply_to_the_younger_request() {
        let mut process = process(2);
        process.enter();
        assert_eq!(process.receive(1, request(2)), [], "its own is 1");
    }

    #[test]
    fn equal_times_are_told_apart_by_process() {
        let mut process = process(2);
        process.enter();
        assert_eq!(process.receive(1, request(1)), [Sent(1, reply(2, 0))]);
        assert_eq!(process.receive(3, request(1)), []);
    }

    #[test]
    fn a_holder_keeps_back_every_reply_until_it_has_left() {
        let mut holder = holder();
        assert_eq!(holder.receive(3, request(9)), []);
        assert_eq!(holder.receive(2, request(9)), []);

        assert_eq!(holder.leave(), [Sent(2, reply(10, 1)), Sent(3, reply(10, 1)), Left]);
        assert_eq!(holder.receive(2, request(10)), [Sent(2, reply(11, 1))], "it owes no more");
    }

    #[test]
    fn leaving_costs_nothing_where_nobody_waits() {
        assert_eq!(holder().leave(), [Left]);
    }

    #[test]
    fn the_clock_rises_above_requests_heard_and_with_each_own_one() {
        let mut process =
            Probe::<RicartAgrawala>::founding(1, &View::dense(1, 2), &Answers::Replies);
        process.receive(2, request(7));
        assert_eq!(process.enter(), [Sent(2, request(9))]);

        process.receive(2, reply(0, 0));
        process.leave();
        assert_eq!(process.enter(), [Sent(2, request(10))]);
    }

    #[test]
    fn the_clock_rises_to_what_replies_and_deferrals_show() {
        for told in [reply(7, 0), deferred(7)] {
            let mut process = talkative(1);
            process.enter();
            process.receive(2, told);
            assert_eq!(process.receive(3, request(1)), [Sent(3, deferred(7))]);
        }
    }

    #[test]
    fn the_clock_begins_where_the_scenario_sets_it() {
        let (view, clock) = (View::new([32, 80].map(ProcessId)).unwrap(), Timestamp(101));
        let start = Start {
            opening: Opening { clock, ..Opening::default() },
            ..Start::founding(ProcessId(32), &view, &Answers::Replies)
        };
        assert_eq!(Probe::<RicartAgrawala>::start(start).enter(), [Sent(80, request(102))]);
    }

    #[test]
    fn with_deferrals_a_reply_that_is_kept_back_is_announced() {
        let mut process = talkative(1);
        process.enter();
        assert_eq!(process.receive(2, request(1)), [Sent(2, deferred(2))]);

        process.receive(2, reply(2, 0));
        process.receive(3, reply(2, 0));
        assert_eq!(process.receive(3, request(2)), [Sent(3, deferred(3))]);

        assert_eq!(process.leave(), [Sent(2, reply(3, 1)), Sent(3, reply(3, 1)), Left]);
    }

    #[test]
    fn with_deferrals_it_is_known_who_is_silent() {
        let mut process = talkative(1);
        process.enter();
        assert_eq!(process.waits_for(), [2, 3]);

        assert_eq!(process.receive(2, deferred(2)), []);
        assert_eq!(process.waits_for(), [3]);

        assert_eq!(process.receive(3, reply(2, 0)), []);
        assert_eq!(process.waits_for(), [2, 3], "all answered: any of them may owe the reply");

        assert_eq!(process.receive(2, reply(3, 0)), [Entered(1)], "a deferral was not a reply");
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let mut process = talkative(1);
        let ignores_answers = |process: &Probe<_>| {
            process.ignores_message(2, reply(0, 9)) && process.ignores_message(2, deferred(0))
        };
        assert!(process.ignores(Command::Leave) && ignores_answers(&process));

        process.enter();
        assert!(process.ignores(Command::Enter) && process.ignores(Command::Leave));

        process.receive(2, reply(2, 0));
        process.receive(3, reply(2, 0));
        assert!(process.ignores(Command::Enter) && ignores_answers(&process));
    }

    #[test]
    fn a_known_holder_keeps_its_reply_back_and_the_others_do_not() {
        let (view, answers) = (View::dense(1, 3), Answers::Replies);
        let known = |me| Probe::<RicartAgrawala>::held_by(3, me, &view, &answers);
        let (mut other, mut holder) = (known(2), known(3));
        assert_eq!(other.receive(1, request(1)), [Sent(1, reply(2, 0))]);
        assert_eq!(holder.receive(1, request(1)), []);

        assert_eq!(holder.leave(), [Sent(1, reply(2, 0)), Left]);
    }

    #[test]
    fn one_alone_enters_at_once() {
        for answers in [Answers::Replies, Answers::RepliesAndDeferrals] {
            let mut alone = Probe::<RicartAgrawala>::founding(1, &View::dense(1, 1), &answers);
            for fence in 1..=2 {
                assert_eq!(alone.enter(), [Entered(fence)]);
                assert_eq!(alone.leave(), [Left]);
            }
        }
    }

    #[test]
    fn only_one_that_wants_in_waits_and_for_all_others() {
        let mut process = process(2);
        assert_eq!(process.waits_for(), NOBODY);
        process.enter();
        assert_eq!(process.waits_for(), [1, 3]);
        process.receive(1, reply(2, 0));
        assert_eq!(process.waits_for(), [1, 3], "replies are counted, not named");
        process.receive(3, reply(2, 0));
        assert_eq!(process.waits_for(), NOBODY);
    }
}
