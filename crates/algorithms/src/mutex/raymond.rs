//! Raymond: a privilege on a tree, and everybody knows in which direction it is.
//!
//! **Problem.** To ask everybody where the privilege is takes N-1 messages. Who knows the way needs
//! fewer.
//!
//! **Idea.** The processes form a tree, and each talks to its neighbours alone. Each knows which
//! neighbour leads to the privilege, so all pointers together lead there. A request goes one step
//! in that direction. Each keeps a queue of the neighbours that want the privilege, itself among
//! them, and asks once for all of them. When the privilege comes it goes to the head of the queue,
//! and the pointer turns after it; if more are in the queue, a request follows at once.
//!
//! **Assumes** that no process crashes and no message is lost or doubled. FIFO channels are often
//! asked for, but only a request that was sent behind the privilege could overtake it, and whoever
//! gets it first queues it as it would afterwards.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `request` | "somebody on my side wants the privilege" | to the neighbour in its direction |
//! | `privilege` | "whoever has this may enter" | to the head of the queue |
//!
//! **Cost.** 2d messages and a client delay of 2d, where d is the distance to the privilege; none
//! to leave. The tree here is balanced and binary, in the order of the members: below the i-th sit
//! the 2i-th and the one after it. So d is at most 2 log2 N. The synchronisation delay is the
//! distance to the next one, up to the diameter. When everybody asks at once, about 4 per entry are
//! quoted.
//!
//! **Ordering** is by the queues: who is near, or asked through one who had asked already, goes
//! first.
//!
//! **Paper.** K. Raymond, *A Tree-Based Algorithm for Distributed Mutual Exclusion*, ACM TOCS 7(1),
//! 1989, section 2. Names: `HOLDER` is `holder`, `USING` is `using`, `REQUEST_Q` is `queue`,
//! `ASKED` is `asked`; the procedures `ASSIGN_PRIVILEGE` and `MAKE_REQUEST` are functions.
//!
//! **Why it is safe.** There is one privilege, and only who has it is in. **Live**: pointers lead
//! to the privilege or to where it is just going, so along them from everybody who waits all have
//! asked. Each queue is served in its order, and nobody enters it twice.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::mutex::{self, Command, Locks, Notice};
use conclave_core::{
    Effects, Family, Fence, HighestFence, Input, Kind, KindIndex, NoWord, ProcessId, Protocol,
    Seat, Start, View,
};

use crate::catalogue::{Bounds, Cost, CrashExample, Entry, Measure, Needs, Places, Size};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Somebody on my side wants the privilege.
    Request,
    /// Whoever has this may enter; and this is the highest fence so far.
    Privilege(Fence),
}

/// One process of Raymond's tree.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Raymond {
    me: ProcessId,
    fence: HighestFence,
    /// The neighbour in whose direction the privilege is; itself, if it is here.
    holder: ProcessId,
    /// Whether it is in.
    using: bool,
    /// Who wants the privilege: neighbours and itself, each at most once.
    queue: Vec<ProcessId>,
    /// Whether it has asked its holder; only while the queue is not empty and it has no privilege.
    asked: bool,
}

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "raymond",
    title: "Raymond 1989",
    citation: "K. Raymond, A Tree-Based Algorithm for Distributed Mutual Exclusion, ACM TOCS 7(1), 1989",
    summary: "a privilege moves on a tree, and each knows which neighbour leads to it",
    family: <Locks as Family>::NAME,
    promises: mutex::LIVENESS,
    needs: Needs::NOTHING,
    settings: &[],
    crash: "cuts the tree: whoever the privilege is behind it for is blocked",
    problems: "as slow as the tree is deep; a crash cuts the tree",
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
        Bounds::of(5, 1),
        Bounds::of(5, 1).unordered(),
        Bounds::of(3, 1).crashes(1).lossy().safely(),
    ],
    costs: &[
        Cost::exactly(Measure::Enter, "2d, mean over the tree", |size| 2.0 * depths(size) / size.n),
        Cost::exactly(Measure::EnterAgain, "0", |_| 0.0),
        Cost::exactly(Measure::Leave, "0", |_| 0.0),
        Cost::exactly(Measure::IdleLap, "0", |_| 0.0),
        Cost::quoted(Measure::Saturated, "about 4", |_| 4.0),
        Cost::exactly(Measure::ClientDelay, "2d, mean over the tree", |size| {
            2.0 * depths(size) / size.n
        }),
        Cost::exactly(Measure::ClientDelayMin, "0", |_| 0.0),
        Cost::exactly(Measure::ClientDelayMax, "2 floor(log2 N)", |size| 2.0 * depth(size.n)),
        Cost::exactly(Measure::LeaveDelay, "0", |_| 0.0),
        Cost::exactly(Measure::SyncDelay, "d, mean over the tree", |size| {
            depths(size) / (size.n - 1.0)
        }),
        Cost::exactly(Measure::SyncDelayMin, "1", |_| 1.0),
        Cost::exactly(Measure::SyncDelayMax, "floor(log2 N)", |size| depth(size.n)),
    ],
    remarks: &[],
};

/// How far from the root the process of that number sits, counted from 1: floor(log2).
fn depth(number: f64) -> f64 {
    let (mut depth, mut first) = (0.0, 2.0);
    while first <= number {
        depth += 1.0;
        first *= 2.0;
    }
    depth
}

/// The sum of all depths.
fn depths(size: Size) -> f64 {
    let (mut sum, mut number) = (0.0, 1.0);
    while number <= size.n {
        sum += depth(number);
        number += 1.0;
    }
    sum
}

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[Kind::enter("request"), Kind::enter("privilege")];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Request => 0,
            Message::Privilege(_) => 1,
        }
    }
}

impl Protocol for Raymond {
    type Family = Locks;
    type Config = ();
    type Message = Message;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        let first = start.view.members().first().copied();
        let owner = start.holder().or(first).and_then(|id| start.view.seat(id));
        let mine = start.view.seat(start.me);
        let holder = match (mine, owner) {
            _ if start.is_privileged() => start.me,
            (Some(mine), Some(owner)) => start.view.at(towards(mine, owner, start.view)),
            _ => start.me,
        };
        Self {
            me: start.me,
            fence: HighestFence::default(),
            holder,
            using: start.is_holder(),
            queue: Vec::new(),
            asked: false,
        }
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Command(Command::Enter) if !self.using && !self.queue.contains(&self.me) => {
                self.queue.push(self.me);
                if self.holder != self.me {
                    out.rule("wants in: it joins its own queue for the privilege");
                }
            }
            Input::Message { from, message: Message::Request } if !self.queue.contains(&from) => {
                out.rule("queues the neighbour that asks");
                self.queue.push(from);
            }
            Input::Message { message: Message::Privilege(fence), .. } if self.holder != self.me => {
                self.fence.learn(fence);
                self.holder = self.me;
            }
            Input::Command(Command::Leave) if self.using => {
                out.rule("leaves");
                self.using = false;
                out.notify(Notice::Left);
            }
            _ => return out.rule("has no use for this"),
        }
        self.assign_privilege(out);
        self.make_request(out);
    }

    fn invariants(&self) -> Result<(), &'static str> {
        let has_it = self.holder == self.me;
        match self.using {
            true if !has_it => Err("it is in without the privilege"),
            false if has_it && !self.queue.is_empty() => Err("it keeps a privilege that is wanted"),
            _ if self.asked && (has_it || self.queue.is_empty()) => Err("it asked for nothing"),
            _ if !self.asked && !has_it && !self.queue.is_empty() => Err("it waits unasked"),
            _ => Ok(()),
        }
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        if self.asked { vec![self.holder] } else { Vec::new() }
    }
}

impl Raymond {
    /// `ASSIGN_PRIVILEGE`: the head of the queue gets what is here and not in use.
    fn assign_privilege(&mut self, out: &mut Effects<Self>) {
        if self.holder != self.me || self.using || self.queue.is_empty() {
            return;
        }
        self.holder = self.queue.remove(0);
        self.asked = false;
        if self.holder == self.me {
            out.rule("has the privilege, is first in its queue, and enters");
            self.using = true;
            out.notify(Notice::Entered { fence: self.fence.enter() });
        } else {
            out.rule("sends the privilege to the first in its queue");
            out.send(self.holder, Message::Privilege(self.fence.known()));
        }
    }

    /// `MAKE_REQUEST`: one request stands for all that are in the queue.
    fn make_request(&mut self, out: &mut Effects<Self>) {
        if self.holder == self.me || self.queue.is_empty() || self.asked {
            return;
        }
        out.rule("asks for the privilege in its direction");
        self.asked = true;
        out.send(self.holder, Message::Request);
    }
}

/// The neighbour of `from` on the way to `to`; one that comes back has no privilege, so if that is
/// itself, any neighbour.
fn towards(from: Seat, to: Seat, view: &View) -> Seat {
    let parent = |number: usize| number / 2;
    let (from, mut step) = (from.index() + 1, to.index() + 1);
    while step > from && parent(step) != from {
        step = parent(step);
    }
    let neighbour = match step > from {
        true => step,
        false if from > 1 => parent(from),
        false => 2,
    };
    Seat::at(neighbour.min(view.len()) - 1)
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests {
    use super::Message::{Privilege, Request};
    use super::*;
    use crate::mutex::testing::Deed::{Entered, Left, Sent};
    use crate::mutex::testing::{NOBODY, Probe};

    /// One of seven: 1 above 2 and 3, 2 above 4 and 5, 3 above 6 and 7. 1 has the privilege.
    fn process(me: u32) -> Probe<Raymond> {
        Probe::founding(me, &View::dense(1, 7), &())
    }

    #[test]
    fn the_privilege_rests_with_the_first_member_who_enters_for_nothing() {
        let mut first = process(1);
        for fence in 1..=2 {
            assert_eq!(first.enter(), [Entered(fence)]);
            assert_eq!(first.leave(), [Left], "nobody asked: it rests");
        }
    }

    #[test]
    fn who_wants_in_asks_the_neighbour_that_leads_to_the_privilege() {
        for (me, parent) in [(2, 1), (3, 1), (4, 2), (5, 2), (6, 3), (7, 3)] {
            assert_eq!(process(me).enter(), [Sent(parent, Request)]);
        }
    }

    #[test]
    fn a_request_is_passed_on_once_for_all_that_want_it() {
        let mut process = process(2);
        assert_eq!(process.receive(4, Request), [Sent(1, Request)]);
        assert_eq!(process.receive(5, Request), []);
        assert_eq!(process.enter(), []);
    }

    #[test]
    fn the_privilege_goes_to_the_head_of_the_queue_and_a_request_follows_it() {
        let mut process = process(2);
        process.receive(4, Request);
        process.enter();
        let deeds = process.receive(1, Privilege(Fence(3)));
        assert_eq!(deeds, [Sent(4, Privilege(Fence(3))), Sent(4, Request)]);
        assert_eq!(process.waits_for(), [4], "its pointer has turned");
        assert_eq!(process.receive(4, Privilege(Fence(4))), [Entered(5)]);
    }

    #[test]
    fn a_request_that_meets_the_resting_privilege_is_sent_it() {
        assert_eq!(process(1).receive(3, Request), [Sent(3, Privilege(Fence(0)))]);
    }

    #[test]
    fn a_holder_serves_its_queue_when_it_leaves() {
        let mut first = process(1);
        first.enter();
        assert_eq!(first.receive(2, Request), []);
        assert_eq!(first.receive(3, Request), []);
        let deeds = first.leave();
        assert_eq!(deeds, [Left, Sent(2, Privilege(Fence(1))), Sent(2, Request)]);
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let mut process = process(2);
        assert!(process.ignores(Command::Leave));
        process.enter();
        assert!(process.ignores(Command::Enter) && process.ignores(Command::Leave));
        process.receive(4, Request);
        assert!(process.ignores_message(4, Request), "it knows");
        process.receive(1, Privilege(Fence(0)));
        assert!(process.ignores(Command::Enter));
        assert!(process.ignores_message(1, Privilege(Fence(9))), "there is only one");
    }

    #[test]
    fn all_pointers_lead_to_a_known_holder() {
        let view = View::dense(1, 7);
        let asks = [(1, 2), (2, 5), (3, 1), (4, 2), (6, 3), (7, 3)];
        for (me, neighbour) in asks {
            let mut process = Probe::<Raymond>::held_by(5, me, &view, &());
            assert_eq!(process.enter(), [Sent(neighbour, Request)], "{me}");
        }
        let mut holder = Probe::<Raymond>::held_by(5, 5, &view, &());
        holder.receive(2, Request);
        assert_eq!(holder.leave(), [Left, Sent(2, Privilege(Fence(0)))]);
    }

    #[test]
    fn a_first_member_that_comes_back_makes_no_second_privilege() {
        let mut first = Probe::<Raymond>::returning(1, &View::dense(1, 7), &());
        assert_eq!(first.enter(), [Sent(2, Request)]);
    }

    #[test]
    fn one_alone_has_the_privilege_for_ever() {
        let mut alone = Probe::<Raymond>::founding(1, &View::dense(1, 1), &());
        for fence in 1..=2 {
            assert_eq!(alone.enter(), [Entered(fence)]);
            assert_eq!(alone.leave(), [Left]);
        }
    }

    #[test]
    fn only_who_asked_waits_and_for_its_neighbour() {
        let mut process = process(2);
        assert_eq!(process.waits_for(), NOBODY);
        process.receive(4, Request);
        assert_eq!(process.waits_for(), [1], "on another's behalf");
        process.receive(1, Privilege(Fence(0)));
        assert_eq!(process.waits_for(), NOBODY);
    }

    #[test]
    fn depths_are_those_of_a_balanced_tree() {
        let sums = [1, 2, 3, 4, 7, 8].map(|n| depths(Size { n: f64::from(n), k: 0.0 }));
        assert_eq!(sums, [0.0, 1.0, 2.0, 4.0, 10.0, 13.0]);
    }
}
