//! Roucairol-Carvalho: as Ricart-Agrawala, but a permission lasts until it is asked back.
//!
//! **Problem.** Who enters again and again, while nobody else wants in, pays for everybody's reply
//! every time.
//!
//! **Idea.** A reply is a permission, and it stays with who got it. Of each two processes at most
//! one has the other's. Who wants in asks only those whose permission it does not have; with all of
//! them it enters without a word. Asked for a permission that it has no use for, a process replies,
//! and that gives the permission back. One that wants in and is asked by an older request replies
//! too, and since it needs that permission again, asks for it in the same step.
//!
//! **Assumes** that no process crashes and no message is lost or doubled. Channels need not be
//! FIFO.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `request` | "I want in, since my clock showed T" | to all whose permission is missing |
//! | `reply` | "as far as I am concerned, go, until I ask" | at once, or on leaving |
//!
//! **Cost.** 0 to 2(N-1) messages to enter, none to leave; alone again and again, none after the
//! first time. Client delay 0 or 2, synchronisation delay 1.
//!
//! **Ordering.** Not that in which requests happened: who has all permissions enters at once, and
//! passes a request that is on its way.
//!
//! **Paper.** O. S. F. Carvalho and G. Roucairol, *On Mutual Exclusion in Computer Networks*, CACM
//! 26(2), 1983. Names: `A_i[j]` is `permissions`, `Reply_Deferred` is `deferred`.
//!
//! **Why it is safe.** Who is in has everybody's permission, and keeps it until it has left. Of two
//! processes only one has the other's: to reply is to give up the other's permission, and to get it
//! takes the other's reply. **Live**: requests are ordered by their stamps. The oldest gets every
//! permission: who wants in with a younger stamp gives it away, and a holder leaves.
//!
//! **Fences** rise although a process re-enters without asking: the next one needs its reply, and
//! that carries the fence of its last entry. Stamps of requests would not do: one who entered
//! without asking used none, and an older request can follow it.

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
    /// I want in, since my clock showed this.
    Request(Timestamp),
    /// As far as I am concerned, go, until I ask; and this is the highest fence I know.
    Reply(Fence),
}

/// One process of the algorithm of Roucairol and Carvalho.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RoucairolCarvalho {
    me: ProcessId,
    view: View,
    /// Not below the stamp of any request made or received.
    clock: LamportClock,
    fence: HighestFence,
    role: Role,
    /// Whose permission it has; all others' while it is in.
    permissions: SeatSet,
    /// Who asked and was not answered; empty while released.
    deferred: SeatSet,
}

/// What a process is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Role {
    Released,
    Wanted {
        /// When it asked.
        stamp: Timestamp,
    },
    Held,
}

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "roucairol-carvalho",
    title: "Roucairol-Carvalho 1983",
    citation: "O. S. F. Carvalho, G. Roucairol, On Mutual Exclusion in Computer Networks, CACM 26(2), 1983",
    summary: "as ricart-agrawala, but a permission lasts until it is asked back",
    family: <Locks as Family>::NAME,
    promises: mutex::LIVENESS,
    needs: Needs::NOTHING,
    settings: &[],
    crash: "blocks whoever must ask the dead one; who has its permission goes on",
    problems: "not in order of asking; a crash blocks who must ask there",
    crash_example: Some(CrashExample {
        matters: "3@4ms",
        why: "1 waits for 3; but 3 crashed at 4 ms",
        passes: "3@14ms",
    }),
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[
        Bounds::of(3, 2),
        Bounds::of(2, 3),
        Bounds::of(3, 1).unordered(),
        Bounds::of(2, 3).unordered(),
        Bounds::of(3, 1).crashes(1).lossy().safely(),
    ],
    costs: &[
        Cost::exactly(Measure::Enter, "2(N-1) at first", |size| 2.0 * (size.n - 1.0)),
        Cost::exactly(Measure::EnterAgain, "0", |_| 0.0),
        Cost::exactly(Measure::Leave, "0", |_| 0.0),
        Cost::exactly(Measure::ClientDelay, "2 at first", |_| 2.0),
        Cost::exactly(Measure::LeaveDelay, "0", |_| 0.0),
        Cost::exactly(Measure::SyncDelay, "1", |_| 1.0),
        Cost::at_most(Measure::Saturated, "2(N-1)", |size| 2.0 * (size.n - 1.0)),
    ],
    remarks: &[],
};

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[Kind::enter("request"), Kind::enter("reply")];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Request(_) => 0,
            Message::Reply(_) => 1,
        }
    }
}

impl Protocol for RoucairolCarvalho {
    type Family = Locks;
    type Config = ();
    type Message = Message;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        let mut permissions = SeatSet::empty(start.view.len());
        if start.is_holder() {
            for seat in start.view.others(start.me).filter_map(|id| start.view.seat(id)) {
                permissions.insert(seat);
            }
        }
        Self {
            me: start.me,
            view: start.view.clone(),
            clock: LamportClock::starting_at(start.opening.clock),
            fence: HighestFence::default(),
            role: if start.is_holder() { Role::Held } else { Role::Released },
            permissions,
            deferred: SeatSet::empty(start.view.len()),
        }
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match (self.role, input) {
            (Role::Released, Input::Command(Command::Enter)) => self.request(out),
            (_, Input::Message { from, message: Message::Request(time) }) => {
                self.on_request(Stamp { time, process: from }, out);
            }
            (Role::Wanted { .. }, Input::Message { from, message: Message::Reply(fence) }) => {
                self.on_reply(from, fence, out);
            }
            (Role::Held, Input::Command(Command::Leave)) => self.release(out),
            _ => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        match self.role {
            Role::Released if !self.deferred.is_empty() => Err("a released process owes a reply"),
            Role::Wanted { .. } if self.is_permitted() => {
                Err("it has everybody's permission and still waits")
            }
            Role::Wanted { stamp } if stamp > self.clock.time() => {
                Err("the clock is behind the process's own request")
            }
            Role::Held if !self.is_permitted() => Err("it is in without somebody's permission"),
            _ => Ok(()),
        }
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        match self.role {
            Role::Wanted { .. } => self.missing().collect(),
            Role::Released | Role::Held => Vec::new(),
        }
    }
}

impl RoucairolCarvalho {
    fn is_permitted(&self) -> bool {
        self.permissions.len() + 1 == self.view.len()
    }

    /// All others whose permission it does not have.
    fn missing(&self) -> impl Iterator<Item = ProcessId> + '_ {
        let has = |id: &ProcessId| {
            self.view.seat(*id).is_some_and(|seat| self.permissions.contains(seat))
        };
        self.view.others(self.me).filter(move |id| !has(id))
    }

    fn request(&mut self, out: &mut Effects<Self>) {
        if self.is_permitted() {
            out.rule("still has everybody's permission and enters without asking");
            return self.enter(out);
        }
        out.rule("stamps its request and asks those whose permission it does not have");
        let stamp = self.clock.tick();
        self.role = Role::Wanted { stamp };
        out.multicast(self.missing(), &Message::Request(stamp));
    }

    /// The clock rises above every request received, as in Ricart-Agrawala; without that, a process
    /// that has replied could still stamp its own request as older.
    #[inline]
    fn on_request(&mut self, theirs: Stamp, out: &mut Effects<Self>) {
        self.clock.rise_above(theirs.time);
        let Some(seat) = self.view.seat(theirs.process) else { return };
        match self.role {
            Role::Held => {
                out.rule("is in: it keeps its reply back until it leaves");
                self.deferred.insert(seat);
            }
            Role::Wanted { stamp } if Stamp { time: stamp, process: self.me } < theirs => {
                out.rule("wants in with the older stamp: it keeps its reply back");
                self.deferred.insert(seat);
            }
            Role::Wanted { stamp } => {
                out.send(theirs.process, self.reply());
                if self.permissions.remove(seat) {
                    out.rule("wants in too, but the other's stamp is older: it replies, and asks for what it gives back by that");
                    out.send(theirs.process, Message::Request(stamp));
                } else {
                    out.rule("wants in too, but the other's stamp is older: it replies");
                }
            }
            Role::Released => {
                out.rule(if self.permissions.remove(seat) {
                    "does not want in: it replies, and so gives the other's permission back"
                } else {
                    "does not want in: it replies"
                });
                out.send(theirs.process, self.reply());
            }
        }
    }

    #[inline]
    fn on_reply(&mut self, from: ProcessId, fence: Fence, out: &mut Effects<Self>) {
        self.fence.learn(fence);
        if let Some(seat) = self.view.seat(from) {
            self.permissions.insert(seat);
        }
        if self.is_permitted() {
            out.rule("has everybody's permission and enters");
            self.enter(out);
        } else {
            out.rule("has one permission more, and waits for the rest");
        }
    }

    fn enter(&mut self, out: &mut Effects<Self>) {
        self.role = Role::Held;
        out.notify(Notice::Entered { fence: self.fence.enter() });
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        out.rule(if self.deferred.is_empty() {
            "leaves, and keeps all permissions"
        } else {
            "leaves, replies to those it kept waiting, and keeps all other permissions"
        });
        self.role = Role::Released;
        let waiting = self.deferred.iter().map(|seat| self.view.at(seat));
        out.multicast(waiting, &self.reply());
        for seat in self.deferred.iter() {
            self.permissions.remove(seat);
        }
        self.deferred.clear();
        out.notify(Notice::Left);
    }

    fn reply(&self) -> Message {
        Message::Reply(self.fence.known())
    }
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests {
    use conclave_core::mutex::Opening;

    use super::*;
    use crate::mutex::testing::Deed::{Entered, Left, Sent};
    use crate::mutex::testing::{NOBODY, Probe};

    /// One of three.
    fn process(me: u32) -> Probe<RoucairolCarvalho> {
        Probe::founding(me, &View::dense(1, 3), &())
    }

    /// Process 2, which was in and has left, with everybody's permission.
    fn permitted() -> Probe<RoucairolCarvalho> {
        let mut process = process(2);
        process.enter();
        process.receive(1, reply(0));
        process.receive(3, reply(0));
        process.leave();
        process
    }

    const fn request(time: u64) -> Message {
        Message::Request(Timestamp(time))
    }

    const fn reply(fence: u64) -> Message {
        Message::Reply(Fence(fence))
    }

    #[test]
    fn who_wants_in_for_the_first_time_asks_all_others() {
        assert_eq!(process(2).enter(), [Sent(1, request(1)), Sent(3, request(1))]);
    }

    #[test]
    fn who_has_all_permissions_enters_without_a_word_again_and_again() {
        let mut process = permitted();
        for fence in 2..=3 {
            assert_eq!(process.enter(), [Entered(fence)]);
            assert_eq!(process.leave(), [Left]);
        }
    }

    #[test]
    fn only_those_are_asked_whose_permission_is_missing() {
        let mut process = permitted();
        assert_eq!(process.receive(3, request(5)), [Sent(3, reply(1))]);
        assert_eq!(process.enter(), [Sent(3, request(7))], "1 need not be asked");
        assert_eq!(process.waits_for(), [3]);
        assert_eq!(process.receive(3, reply(4)), [Entered(5)]);
    }

    #[test]
    fn a_holder_and_one_with_the_older_stamp_keep_their_reply_back() {
        let mut waiter = process(2);
        waiter.enter();
        assert_eq!(waiter.receive(3, request(1)), [], "the tie goes to the smaller id");
        waiter.receive(1, reply(0));
        assert_eq!(waiter.receive(3, reply(0)), [Entered(1)]);
        assert_eq!(waiter.receive(1, request(9)), []);
        assert_eq!(waiter.leave(), [Sent(1, reply(1)), Sent(3, reply(1)), Left]);
        assert_eq!(waiter.enter()[0], Sent(1, request(11)), "both permissions are gone");
    }

    #[test]
    fn one_that_gives_a_permission_back_while_it_wants_in_asks_for_it_again() {
        let mut process = permitted();
        process.receive(3, request(4));
        assert_eq!(process.enter(), [Sent(3, request(6))]);
        let deeds = process.receive(1, request(2));
        assert_eq!(deeds, [Sent(1, reply(1)), Sent(1, request(6))]);
        assert_eq!(process.waits_for(), [1, 3]);
    }

    #[test]
    fn one_that_waits_for_a_permission_anyway_only_replies_to_an_older_request() {
        let mut process = process(2);
        process.enter();
        assert_eq!(process.receive(1, request(1)), [Sent(1, reply(0))]);
    }

    #[test]
    fn the_clock_rises_above_every_request() {
        let mut process = process(2);
        process.receive(1, request(8));
        assert_eq!(process.enter()[0], Sent(1, request(10)));
    }

    #[test]
    fn the_first_clock_is_the_scenarios() {
        let (view, opening) = (View::dense(1, 2), Opening { clock: Timestamp(41), holder: None });
        let start = Start::<RoucairolCarvalho>::founding(ProcessId(1), &view, &());
        let mut process = Probe::start(Start { opening, ..start });
        assert_eq!(process.enter(), [Sent(2, request(42))]);
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let mut process = process(2);
        assert!(process.ignores(Command::Leave) && process.ignores_message(1, reply(3)));
        process.enter();
        assert!(process.ignores(Command::Enter) && process.ignores(Command::Leave));
        process.receive(1, reply(0));
        process.receive(3, reply(0));
        assert!(process.ignores(Command::Enter) && process.ignores_message(1, reply(3)));
    }

    #[test]
    fn a_known_holder_has_all_permissions_and_the_others_have_none() {
        let known = |me| Probe::<RoucairolCarvalho>::held_by(3, me, &View::dense(1, 3), &());
        let (mut other, mut holder) = (known(2), known(3));
        assert_eq!(other.enter(), [Sent(1, request(1)), Sent(3, request(1))]);
        assert_eq!(holder.receive(2, request(1)), []);
        assert_eq!(holder.leave(), [Sent(2, reply(0)), Left]);
        assert_eq!(holder.enter(), [Sent(2, request(3))]);
    }

    #[test]
    fn one_alone_enters_at_once() {
        let mut alone = Probe::<RoucairolCarvalho>::founding(1, &View::dense(1, 1), &());
        for fence in 1..=2 {
            assert_eq!(alone.enter(), [Entered(fence)]);
            assert_eq!(alone.leave(), [Left]);
        }
    }

    #[test]
    fn only_one_that_wants_in_waits() {
        let mut process = process(2);
        assert_eq!(process.waits_for(), NOBODY);
        process.enter();
        assert_eq!(process.waits_for(), [1, 3]);
        process.receive(1, reply(0));
        assert_eq!(process.waits_for(), [3]);
    }
}
