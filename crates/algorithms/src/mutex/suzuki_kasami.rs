//! Suzuki-Kasami: ask everybody for the one privilege, which remembers whom it served.
//!
//! **Problem.** To collect everybody's permission takes 2(N-1) messages. One privilege that is sent
//! to whoever is next takes one; but who has it, and who is next?
//!
//! **Idea.** Nobody knows who has it, so who wants in asks everybody. Each numbers its requests,
//! and all remember the highest number of each. With the privilege travels, for each process, the
//! number of its request that was served last, and a queue. Who leaves puts everybody into the
//! queue whose highest request is not served yet, and sends the privilege to its head. With nobody
//! in the queue the privilege rests, until a request comes.
//!
//! **Assumes** that no process crashes and no message is lost or doubled. Channels need not be
//! FIFO: the numbers tell an old request from a new one.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `request` | "this is my n-th request" | to all others, by one that has no privilege |
//! | `privilege` | "whoever has this may enter"; with queue and numbers | to the head of the queue, or to who asks while it rests |
//!
//! **Cost.** None where the privilege rests; otherwise N: N-1 requests and the privilege. None to
//! leave. Client delay 0 or 2, synchronisation delay 1.
//!
//! **Ordering** is that of the queue, which is not that in which requests happened.
//!
//! **Paper.** I. Suzuki and T. Kasami, *A Distributed Mutual Exclusion Algorithm*, ACM TOCS 3(4),
//! 1985, section 3. Names: `RN` is `requested`, `LN` is `Privilege::served`, `Q` is
//! `Privilege::queue`.
//!
//! **Why it is safe.** There is one privilege, and only who has it is in. **Live**: a request
//! reaches everybody. Whoever has the privilege, or gets it later, sees that its number is not
//! served and puts it into the queue, and whoever stands there moves up with every entry.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::mutex::{self, Command, Locks, Notice};
use conclave_core::{
    Effects, Family, Fence, HighestFence, Input, Kind, KindIndex, NoWord, ProcessId, Protocol,
    Seat, Start, View,
};

use crate::catalogue::{Bounds, Cost, CrashExample, Entry, Measure, Needs, Places};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// This is the number of my newest request.
    Request(u32),
    /// Whoever has this may enter; and this is the highest fence so far.
    Privilege(Privilege, Fence),
}

/// What goes with the right to enter. There is exactly one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Privilege {
    /// `LN`, by seat: the number of the request that was served last. Not above the number that
    /// its process has given.
    served: Vec<u32>,
    /// `Q`: who is next, each at most once.
    queue: Vec<ProcessId>,
}

/// One process of the algorithm of Suzuki and Kasami.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SuzukiKasami {
    me: ProcessId,
    seat: Seat,
    view: View,
    fence: HighestFence,
    /// `RN`, by seat: the highest number of a request that came from there.
    requested: Vec<u32>,
    privilege: Option<Privilege>,
    wish: Wish,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Wish {
    Released,
    /// It asked, and has no privilege.
    Wanted,
    /// It has the privilege.
    Held,
}

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "suzuki-kasami",
    title: "Suzuki-Kasami 1985",
    citation: "I. Suzuki, T. Kasami, A Distributed Mutual Exclusion Algorithm, ACM TOCS 3(4), 1985",
    summary: "ask everybody for the one privilege, which carries a queue and whom it served",
    family: <Locks as Family>::NAME,
    promises: mutex::LIVENESS,
    needs: Needs::NOTHING,
    settings: &[],
    crash: "of who has the privilege, or is next in its queue: everybody blocks; others go unnoticed",
    problems: "everybody is asked; a crash where the token is blocks all",
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
        Bounds::of(3, 1).crashes(1).lossy().safely(),
    ],
    costs: &[
        Cost::exactly(Measure::Enter, "0 or N, mean N-1", |size| size.n - 1.0),
        Cost::exactly(Measure::EnterAgain, "0", |_| 0.0),
        Cost::exactly(Measure::Leave, "0", |_| 0.0),
        Cost::exactly(Measure::IdleLap, "0", |_| 0.0),
        Cost::exactly(Measure::ClientDelay, "0 or 2, mean 2(N-1)/N", |size| {
            2.0 * (size.n - 1.0) / size.n
        }),
        Cost::exactly(Measure::ClientDelayMin, "0", |_| 0.0),
        Cost::exactly(Measure::ClientDelayMax, "2", |_| 2.0),
        Cost::exactly(Measure::LeaveDelay, "0", |_| 0.0),
        Cost::exactly(Measure::SyncDelay, "1", |_| 1.0),
        Cost::exactly(Measure::Saturated, "N", |size| size.n),
    ],
    remarks: &[],
};

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[Kind::enter("request"), Kind::enter("privilege")];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Request(_) => 0,
            Message::Privilege(..) => 1,
        }
    }
}

impl Protocol for SuzukiKasami {
    type Family = Locks;
    type Config = ();
    type Message = Message;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        let nothing = vec![0; start.view.len()];
        let first = Privilege { served: nothing.clone(), queue: Vec::new() };
        Self {
            me: start.me,
            seat: start.view.seat(start.me).unwrap_or(Seat(0)),
            view: start.view.clone(),
            fence: HighestFence::default(),
            requested: nothing,
            privilege: start.is_privileged().then_some(first),
            wish: if start.is_holder() { Wish::Held } else { Wish::Released },
        }
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match (self.wish, input) {
            (Wish::Released, Input::Command(Command::Enter)) => self.want(out),
            (_, Input::Message { from, message: Message::Request(number) }) => {
                self.on_request(from, number, out);
            }
            (
                Wish::Wanted,
                Input::Message { message: Message::Privilege(privilege, fence), .. },
            ) => {
                self.fence.learn(fence);
                self.privilege = Some(privilege);
                out.rule("has the privilege and enters");
                self.enter(out);
            }
            (Wish::Held, Input::Command(Command::Leave)) => self.release(out),
            _ => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        match (self.wish, &self.privilege) {
            (Wish::Held, None) => Err("it is in without the privilege"),
            (Wish::Wanted, Some(_)) => Err("it has the privilege and does not enter"),
            (Wish::Released, Some(privilege)) if !privilege.queue.is_empty() => {
                Err("it keeps the privilege although somebody is next")
            }
            _ => Ok(()),
        }
    }

    /// It does not know who has the privilege.
    fn waits_for(&self) -> Vec<ProcessId> {
        match self.wish {
            Wish::Wanted => self.view.others(self.me).collect(),
            Wish::Released | Wish::Held => Vec::new(),
        }
    }
}

impl SuzukiKasami {
    fn want(&mut self, out: &mut Effects<Self>) {
        if self.privilege.is_some() {
            out.rule("has the privilege, which rests here, and enters");
            return self.enter(out);
        }
        out.rule("numbers its request and asks all others for the privilege");
        self.wish = Wish::Wanted;
        self.requested[self.seat.index()] += 1;
        let request = Message::Request(self.requested[self.seat.index()]);
        out.multicast(self.view.others(self.me), &request);
    }

    /// An old request can come late, so the highest number counts.
    #[inline]
    fn on_request(&mut self, from: ProcessId, number: u32, out: &mut Effects<Self>) {
        let Some(seat) = self.view.seat(from) else { return };
        let requested = &mut self.requested[seat.index()];
        *requested = number.max(*requested);
        let rests = self.wish == Wish::Released && self.privilege.is_some();
        if rests && self.is_unserved(seat) {
            out.rule("has the privilege and no use for it: it sends it to who asks");
            self.pass_on(from, out);
        } else {
            out.rule("notes the number of the request");
        }
    }

    /// Whether its newest request is not served, as the privilege has it.
    fn is_unserved(&self, seat: Seat) -> bool {
        let served = self.privilege.as_ref().map(|privilege| privilege.served[seat.index()]);
        served.is_some_and(|served| self.requested[seat.index()] > served)
    }

    fn enter(&mut self, out: &mut Effects<Self>) {
        self.wish = Wish::Held;
        out.notify(Notice::Entered { fence: self.fence.enter() });
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        self.wish = Wish::Released;
        self.bring_up_to_date();
        match self.privilege.as_mut().filter(|privilege| !privilege.queue.is_empty()) {
            Some(privilege) => {
                out.rule(
                    "leaves, queues all that are not served, and sends the privilege to the first",
                );
                let next = privilege.queue.remove(0);
                self.pass_on(next, out);
            }
            None => out.rule("leaves, and lets the privilege rest: nobody asked"),
        }
        out.notify(Notice::Left);
    }

    /// Its own request is served now, and whoever is not served stands in the queue.
    fn bring_up_to_date(&mut self) {
        let Some(mut privilege) = self.privilege.take() else { return };
        privilege.served[self.seat.index()] = self.requested[self.seat.index()];
        for (index, &id) in self.view.members().iter().enumerate() {
            let is_unserved = self.requested[index] > privilege.served[index];
            if is_unserved && !privilege.queue.contains(&id) {
                privilege.queue.push(id);
            }
        }
        self.privilege = Some(privilege);
    }

    fn pass_on(&mut self, to: ProcessId, out: &mut Effects<Self>) {
        if let Some(privilege) = self.privilege.take() {
            out.send(to, Message::Privilege(privilege, self.fence.known()));
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

    /// One of three; 1 has the privilege.
    fn process(me: u32) -> Probe<SuzukiKasami> {
        Probe::founding(me, &View::dense(1, 3), &())
    }

    fn privilege(served: [u32; 3], queue: &[u32], fence: u64) -> Message {
        let queue = queue.iter().copied().map(ProcessId).collect();
        Message::Privilege(Privilege { served: served.to_vec(), queue }, Fence(fence))
    }

    use Message::Request;

    #[test]
    fn the_privilege_rests_with_the_first_member_who_enters_for_nothing() {
        let mut first = process(1);
        for fence in 1..=2 {
            assert_eq!(first.enter(), [Entered(fence)]);
            assert_eq!(first.leave(), [Left], "nobody asked: it rests");
        }
    }

    #[test]
    fn who_wants_in_without_it_numbers_its_request_and_asks_all_others() {
        let mut process = process(2);
        assert_eq!(process.enter(), [Sent(1, Request(1)), Sent(3, Request(1))]);
        assert_eq!(process.receive(1, privilege([0; 3], &[], 4)), [Entered(5)]);
        process.receive(3, Request(1));
        assert_eq!(process.leave(), [Sent(3, privilege([0, 1, 0], &[], 5)), Left]);
        assert_eq!(process.enter(), [Sent(1, Request(2)), Sent(3, Request(2))]);
    }

    #[test]
    fn a_request_that_meets_the_resting_privilege_is_sent_it() {
        let mut first = process(1);
        assert_eq!(first.receive(3, Request(1)), [Sent(3, privilege([0; 3], &[], 0))]);
        assert!(first.ignores(Command::Leave));
        assert_eq!(first.enter().len(), 2, "it has to ask from now on");
    }

    #[test]
    fn who_leaves_queues_all_that_are_not_served_behind_those_who_wait_already() {
        let mut process = process(2);
        process.enter();
        process.receive(1, Request(1));
        process.receive(3, Request(4));
        process.receive(1, privilege([0, 0, 3], &[3], 0));
        assert_eq!(process.leave(), [Sent(3, privilege([0, 1, 3], &[1], 1)), Left]);
    }

    #[test]
    fn a_request_that_was_served_already_is_old() {
        let mut process = process(2);
        process.enter();
        process.receive(1, privilege([0, 0, 5], &[], 0));
        assert_eq!(process.leave(), [Left]);
        assert_eq!(process.receive(3, Request(4)), []);
        assert!(process.ignores_message(3, Request(3)), "nor does an older number replace a newer");
        assert_eq!(process.receive(3, Request(6)), [Sent(3, privilege([0, 1, 5], &[], 1))]);
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let mut process = process(2);
        assert!(process.ignores(Command::Leave));
        assert!(process.ignores_message(1, privilege([0; 3], &[], 7)), "it did not ask");
        process.enter();
        assert!(process.ignores(Command::Enter) && process.ignores(Command::Leave));
        process.receive(1, privilege([0; 3], &[], 0));
        assert!(process.ignores(Command::Enter));
    }

    #[test]
    fn a_known_holder_has_the_privilege_and_the_first_member_has_not() {
        let known = |me| Probe::<SuzukiKasami>::held_by(2, me, &View::dense(1, 3), &());
        let (mut first, mut holder) = (known(1), known(2));
        assert_eq!(first.enter(), [Sent(2, Request(1)), Sent(3, Request(1))]);
        assert_eq!(holder.receive(1, Request(1)), []);
        assert_eq!(holder.leave(), [Sent(1, privilege([0; 3], &[], 0)), Left]);
    }

    #[test]
    fn a_first_member_that_comes_back_makes_no_second_privilege() {
        let mut first = Probe::<SuzukiKasami>::returning(1, &View::dense(1, 3), &());
        assert_eq!(first.enter(), [Sent(2, Request(1)), Sent(3, Request(1))]);
    }

    #[test]
    fn one_alone_has_the_privilege_for_ever() {
        let mut alone = Probe::<SuzukiKasami>::founding(1, &View::dense(1, 1), &());
        for fence in 1..=2 {
            assert_eq!(alone.enter(), [Entered(fence)]);
            assert_eq!(alone.leave(), [Left]);
        }
    }

    #[test]
    fn only_one_that_wants_in_waits_and_for_all_others() {
        let mut process = process(2);
        assert_eq!(process.waits_for(), NOBODY);
        process.enter();
        assert_eq!(process.waits_for(), [1, 3]);
        process.receive(1, privilege([0; 3], &[], 0));
        assert_eq!(process.waits_for(), NOBODY);
    }
}
