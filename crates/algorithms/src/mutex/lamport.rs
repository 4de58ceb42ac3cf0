//! Lamport 1978: everybody keeps the same queue.
//!
//! **Idea.** Requests are stamped with a Lamport clock and sent to all; everybody keeps them in a
//! queue ordered by stamp, and acknowledges. A process enters when its own request is the first of
//! its own queue and it has heard something later from everybody: then no older request can still
//! be on its way. A release takes the request out of everybody's queue.
//!
//! **Assumes** FIFO channels: an acknowledgement that overtook its sender's own older request would
//! let two in, already with two processes. No process crashes, no message is lost.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `request` | "put this into your queue" | to all others, on entering |
//! | `acknowledge` | "I have it, and my clock shows more" | to the requester, at once |
//! | `release` | "take it out again" | to all others, on leaving |
//!
//! **Cost.** 2(N-1) messages to enter, N-1 to leave; client delay 2, synchronisation delay 1.
//!
//! **Paper.** L. Lamport, *Time, Clocks, and the Ordering of Events in a Distributed System*, CACM
//! 21(7), 1978, the five rules of the section "Ordering the Events Totally". Departure: only
//! requests are events; all other messages carry the clock without a tick, which is the same order
//! with fewer states.
//!
//! **Why it is safe.** Suppose i and j are in at once and i's stamp is the older one. j heard from
//! i something later than j's own stamp; by FIFO it had i's older request by then, and i's release
//! cannot have come: so i's request was before j's in j's queue. **Live**: the oldest request of
//! all is the first of every queue once it has arrived, and everybody acknowledges.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use conclave_core::clock::{LamportClock, Stamp, Timestamp};
use conclave_core::mutex::{self, Command, Locks, Notice};
use conclave_core::{
    Effects, Family, Fence, HighestFence, Input, Kind, KindIndex, NoWord, ProcessId, Protocol,
    SeatSet, Start, View,
};

use crate::catalogue::{Bounds, Cost, CrashExample, Entry, Measure, Needs, Places};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Put this into your queue.
    Request(Timestamp),
    /// I have your request; my clock shows this, and this is the highest fence I know.
    Acknowledge(Timestamp, Fence),
    /// Take my request out again; my clock shows this, and this was my fence.
    Release(Timestamp, Fence),
}

/// One process of Lamport's algorithm.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Lamport {
    me: ProcessId,
    view: View,
    /// Not below the stamp of any request made or received.
    clock: LamportClock,
    fence: HighestFence,
    /// The paper's request queue: every request that was received and not released.
    queue: BTreeSet<Stamp>,
    role: Role,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Role {
    Released,
    Wanted {
        /// Its own request; it is in the queue.
        stamp: Stamp,
        /// Who was heard saying something later than that.
        later: SeatSet,
    },
    Held {
        /// Its own request; it is still in the queue.
        stamp: Stamp,
    },
}

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "lamport",
    title: "Lamport 1978",
    citation: "L. Lamport, Time, Clocks, and the Ordering of Events, CACM 21(7), 1978",
    summary: "everybody keeps the same queue of stamped requests; its first one enters",
    family: <Locks as Family>::NAME,
    promises: mutex::LIVENESS.and(mutex::ORDERING),
    needs: Needs { fifo: true, ..Needs::NOTHING },
    settings: &[],
    crash: "any crash blocks everybody",
    problems: "most messages of all; unsafe without FIFO; any crash blocks all",
    crash_example: Some(CrashExample {
        matters: "3@4ms",
        why: "1 waits for 3; but 3 crashed at 4 ms",
        passes: "3@14ms",
    }),
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[
        Bounds::of(3, 1),
        Bounds::of(3, 2).large(),
        Bounds::of(3, 1).crashes(1).lossy().safely(),
        Bounds::of(2, 1).unordered().refuted(),
    ],
    costs: &[
        Cost::exactly(Measure::Enter, "2(N-1)", |size| 2.0 * (size.n - 1.0)),
        Cost::exactly(Measure::Leave, "N-1", |size| size.n - 1.0),
        Cost::exactly(Measure::ClientDelay, "2", |_| 2.0),
        Cost::exactly(Measure::LeaveDelay, "0", |_| 0.0),
        Cost::exactly(Measure::SyncDelay, "1", |_| 1.0),
    ],
    remarks: &[],
};

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] =
        &[Kind::enter("request"), Kind::enter("acknowledge"), Kind::leave("release")];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Request(_) => 0,
            Message::Acknowledge(..) => 1,
            Message::Release(..) => 2,
        }
    }
}

impl Protocol for Lamport {
    type Family = Locks;
    type Config = ();
    type Message = Message;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        // A holder known from the start has the oldest request there can be, in every queue.
        let held = start.holder().map(|process| Stamp { time: Timestamp::default(), process });
        Self {
            me: start.me,
            view: start.view.clone(),
            clock: LamportClock::starting_at(start.opening.clock),
            fence: HighestFence::default(),
            queue: held.into_iter().collect(),
            role: match held {
                Some(stamp) if stamp.process == start.me => Role::Held { stamp },
                _ => Role::Released,
            },
        }
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match (&self.role, input) {
            (Role::Released, Input::Command(Command::Enter)) => self.request(out),
            (_, Input::Message { from, message: Message::Request(time) }) => {
                self.on_request(Stamp { time, process: from }, out);
            }
            (_, Input::Message { from, message: Message::Acknowledge(time, fence) }) => {
                self.fence.learn(fence);
                self.clock.catch_up(time);
                out.rule("notes the acknowledgement");
                self.hear(Stamp { time, process: from });
                self.try_to_enter(out);
            }
            (Role::Held { stamp }, Input::Command(Command::Leave)) => self.release(*stamp, out),
            (_, Input::Message { from, message: Message::Release(time, fence) }) => {
                out.rule("takes the request out of its queue (rule 4)");
                self.fence.learn(fence);
                self.clock.catch_up(time);
                self.take_out(from);
                self.try_to_enter(out);
            }
            _ => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        let newest = self.queue.last().map(|stamp| stamp.time);
        match &self.role {
            _ if newest.is_some_and(|newest| newest > self.clock.time()) => {
                Err("the clock is behind a request in the queue")
            }
            Role::Wanted { stamp, .. } | Role::Held { stamp } if !self.queue.contains(stamp) => {
                Err("its own request is not in its queue")
            }
            Role::Wanted { stamp, later } if self.may_enter(*stamp, later) => {
                Err("it may enter and does not")
            }
            _ => Ok(()),
        }
    }

    /// Those who have not been heard, and then whose request is first.
    fn waits_for(&self) -> Vec<ProcessId> {
        let Role::Wanted { stamp, later } = &self.role else { return Vec::new() };
        let silent = |&id: &ProcessId| self.view.seat(id).is_some_and(|it| !later.contains(it));
        let silent: Vec<ProcessId> = self.view.others(self.me).filter(silent).collect();
        if !silent.is_empty() {
            return silent;
        }
        self.queue.range(..stamp).map(|older| older.process).collect()
    }
}

impl Lamport {
    /// Rule 1: send the request to everybody, and put it into the own queue.
    fn request(&mut self, out: &mut Effects<Self>) {
        out.rule("stamps its request, queues it and sends it to all others (rule 1)");
        let stamp = Stamp { time: self.clock.tick(), process: self.me };
        self.queue.insert(stamp);
        self.role = Role::Wanted { stamp, later: SeatSet::empty(self.view.len()) };
        out.multicast(self.view.others(self.me), &Message::Request(stamp.time));
        self.try_to_enter(out);
    }

    /// Rule 2: put it into the queue, and acknowledge with a later time.
    #[inline]
    fn on_request(&mut self, theirs: Stamp, out: &mut Effects<Self>) {
        out.rule("queues the request and acknowledges it (rule 2)");
        self.clock.rise_above(theirs.time);
        self.queue.insert(theirs);
        let acknowledge = Message::Acknowledge(self.clock.time(), self.fence.known());
        out.send(theirs.process, acknowledge);
        self.hear(theirs);
        self.try_to_enter(out);
    }

    /// Rule 3: take the own request out, and tell everybody.
    fn release(&mut self, stamp: Stamp, out: &mut Effects<Self>) {
        out.rule("leaves, and tells all others to take its request out (rule 3)");
        self.queue.remove(&stamp);
        self.role = Role::Released;
        let release = Message::Release(self.clock.time(), self.fence.known());
        out.multicast(self.view.others(self.me), &release);
        out.notify(Notice::Left);
    }

    /// Everybody has one request at most, and a holder's is nearly always the first.
    fn take_out(&mut self, process: ProcessId) {
        if let Some(&stamp) = self.queue.iter().find(|stamp| stamp.process == process) {
            self.queue.remove(&stamp);
        }
    }

    /// Whoever says something later than the own request has nothing older under way (by FIFO).
    #[inline]
    fn hear(&mut self, said: Stamp) {
        if let Role::Wanted { stamp, later } = &mut self.role
            && said > *stamp
            && let Some(seat) = self.view.seat(said.process)
        {
            later.insert(seat);
        }
    }

    /// Rule 5: (i) the own request is the first of the queue, (ii) everybody was heard later.
    #[inline]
    fn may_enter(&self, stamp: Stamp, later: &SeatSet) -> bool {
        later.len() + 1 == self.view.len() && self.queue.first() == Some(&stamp)
    }

    #[inline]
    fn try_to_enter(&mut self, out: &mut Effects<Self>) {
        let Role::Wanted { stamp, later } = &self.role else { return };
        let stamp = *stamp;
        if self.may_enter(stamp, later) {
            out.rule("is first in its queue and has heard from all: it enters (rule 5)");
            self.role = Role::Held { stamp };
            out.notify(Notice::Entered { fence: self.fence.enter() });
        }
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

    /// One of three.
    fn process(me: u32) -> Probe<Lamport> {
        Probe::founding(me, &View::dense(1, 3), &())
    }

    fn request(time: u64) -> Message {
        Message::Request(Timestamp(time))
    }

    fn acknowledge(time: u64, fence: u64) -> Message {
        Message::Acknowledge(Timestamp(time), Fence(fence))
    }

    fn release(time: u64, fence: u64) -> Message {
        Message::Release(Timestamp(time), Fence(fence))
    }

    #[test]
    fn rule_1_a_request_is_stamped_and_sent_to_all_others() {
        let mut process = process(1);
        assert_eq!(process.enter(), [Sent(2, request(1)), Sent(3, request(1))]);
    }

    #[test]
    fn rule_2_a_request_is_acknowledged_with_a_later_time() {
        let mut process = process(1);
        assert_eq!(process.receive(2, request(7)), [Sent(2, acknowledge(8, 0))]);
        assert_eq!(process.receive(3, request(4)), [Sent(3, acknowledge(8, 0))]);
    }

    #[test]
    fn rule_3_a_holder_that_leaves_tells_all_others() {
        let mut process = process(1);
        process.enter();
        process.receive(2, acknowledge(2, 4));
        assert_eq!(process.receive(3, acknowledge(2, 0)), [Entered(5)]);

        assert_eq!(process.leave(), [Sent(2, release(2, 5)), Sent(3, release(2, 5)), Left]);
    }

    #[test]
    fn rule_4_a_release_makes_way_for_the_next_request() {
        let mut process = process(2);
        process.receive(1, request(1));
        process.enter();
        process.receive(1, acknowledge(4, 0));
        assert_eq!(process.receive(3, acknowledge(4, 0)), [], "1 is first in the queue");

        assert_eq!(process.receive(1, release(4, 6)), [Entered(7)]);
    }

    #[test]
    fn rule_5_i_the_first_of_the_queue_enters_and_equal_times_are_told_apart_by_process() {
        let asking_with = |me, other| {
            let mut process = process(me);
            process.enter();
            process.receive(other, request(1));
            process.receive(other, acknowledge(2, 0));
            process
        };
        assert_eq!(asking_with(1, 2).receive(3, acknowledge(2, 0)), [Entered(1)]);
        assert_eq!(asking_with(2, 1).receive(3, acknowledge(2, 0)), []);
    }

    #[test]
    fn rule_5_ii_an_entry_needs_something_later_from_everybody() {
        let mut process = process(2);
        process.enter();
        assert_eq!(process.receive(1, acknowledge(1, 0)), [], "<1, p1> is before <1, p2>");
        assert_eq!(process.receive(3, acknowledge(2, 0)), []);
        assert_eq!(process.receive(1, acknowledge(2, 0)), [Entered(1)]);
    }

    #[test]
    fn rule_5_ii_a_later_request_is_as_good_as_an_acknowledgement() {
        let mut process = process(1);
        process.enter();
        process.receive(2, acknowledge(2, 0));

        assert_eq!(process.receive(3, request(1)), [Sent(3, acknowledge(2, 0)), Entered(1)]);
    }

    #[test]
    fn the_clock_rises_above_requests_heard_and_with_each_own_one() {
        let mut process = Probe::<Lamport>::founding(1, &View::dense(1, 2), &());
        process.receive(2, request(7));
        process.receive(2, release(7, 1));
        assert_eq!(process.enter(), [Sent(2, request(9))]);

        process.receive(2, acknowledge(10, 1));
        process.leave();
        assert_eq!(process.enter(), [Sent(2, request(11))]);
    }

    #[test]
    fn the_clock_rises_to_what_acknowledgements_and_releases_show() {
        for told in [acknowledge(7, 0), release(7, 0)] {
            let mut process = process(1);
            process.receive(2, told);
            assert_eq!(process.receive(3, request(1)), [Sent(3, acknowledge(7, 0))]);
        }
    }

    #[test]
    fn the_clock_begins_where_the_scenario_sets_it() {
        let (view, clock) = (View::dense(1, 2), Timestamp(101));
        let start = Start {
            opening: Opening { clock, ..Opening::default() },
            ..Start::founding(ProcessId(1), &view, &())
        };
        assert_eq!(Probe::<Lamport>::start(start).enter(), [Sent(2, request(102))]);
    }

    #[test]
    fn acknowledgements_carry_the_highest_fence() {
        let mut process = process(1);
        process.receive(2, request(1));
        process.receive(2, release(1, 6));
        assert_eq!(process.receive(3, request(1)), [Sent(3, acknowledge(2, 6))]);
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let mut process = Probe::<Lamport>::founding(1, &View::dense(1, 2), &());
        assert!(process.ignores(Command::Leave));
        assert!(process.ignores_message(2, acknowledge(0, 0)), "it did not ask");
        assert!(process.ignores_message(2, release(0, 0)), "2 has no request");

        process.enter();
        assert!(process.ignores(Command::Enter) && process.ignores(Command::Leave));
        assert!(process.ignores_message(2, release(0, 0)), "its own is not 2's to take out");

        process.receive(2, acknowledge(2, 0));
        assert!(process.ignores(Command::Enter));
        assert!(process.ignores_message(2, acknowledge(0, 0)));
    }

    #[test]
    fn a_known_holder_is_first_in_every_queue() {
        let known = |me| Probe::<Lamport>::held_by(3, me, &View::dense(1, 3), &());
        let (mut process, mut holder) = (known(1), known(3));
        process.enter();
        process.receive(2, acknowledge(2, 0));
        assert_eq!(process.receive(3, acknowledge(2, 0)), []);
        assert_eq!(process.waits_for(), [3]);

        assert_eq!(holder.leave(), [Sent(1, release(0, 0)), Sent(2, release(0, 0)), Left]);

        assert_eq!(process.receive(3, release(0, 0)), [Entered(1)]);
    }

    #[test]
    fn one_alone_enters_at_once() {
        let mut alone = Probe::<Lamport>::founding(1, &View::dense(1, 1), &());
        for fence in 1..=2 {
            assert_eq!(alone.enter(), [Entered(fence)]);
            assert_eq!(alone.leave(), [Left]);
        }
    }

    #[test]
    fn a_process_waits_for_the_silent_and_then_for_those_before_it() {
        let mut process = process(3);
        process.receive(1, request(1));
        assert_eq!(process.waits_for(), NOBODY);

        process.enter();
        assert_eq!(process.waits_for(), [1, 2]);
        process.receive(1, acknowledge(4, 0));
        assert_eq!(process.waits_for(), [2]);
        process.receive(2, acknowledge(4, 0));
        assert_eq!(process.waits_for(), [1], "whose request is older");

        process.receive(1, release(4, 1));
        assert_eq!(process.waits_for(), NOBODY, "it is in");
    }
}
