//! Chang and Roberts, repaired: the plain ring election under a failure detector.
//!
//! **Problem.** Any crash breaks the ring, and no election comes to its end.
//!
//! **Idea.** Everybody keeps a roll: of each member how often it died and came back, as far as is
//! known. Those alive by the roll are the ring, and in it the plain algorithm runs. The detector's
//! word changes the roll. A changed roll is another ring: the plain algorithm starts anew in it,
//! and whoever took part in an election that has not ended calls another. So does one whose leader
//! is dead, or smaller than somebody who is alive.
//!
//! **Assumes** a perfect detector: a synchronous system whose bound is known; and FIFO channels, as
//! the plain one does.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `election` | "the largest so far is this" | to the successor, on beginning or passing on |
//! | `elected` | "this one is elected" | to the successor, for one lap |
//! | `news` | "this is what I know" | to one who sent something and knows less |
//!
//! Every message carries the roll of its sender. If it is the receiver's, the plain algorithm has
//! it. If the sender knows more, the receiver learns that first. If the sender knows less, the
//! message is of a ring that is broken: it is dropped, and the sender gets the news.
//!
//! **Cost** without a crash is that of the plain one. Each crash in mid-election begins it anew.
//!
//! **Source.** As the plain one.
//!
//! **Why it ends.** A roll only grows, and grows with a crash or a return alone, so there is a last
//! one. No live process drops a message of the last roll: it has that roll or learns it. So among
//! those who live, the plain algorithm runs from there on, and it ends. **Why it begins**: who
//! takes part in an election of an older roll waits for a message which is lost with the dead, or
//! dropped. Its sender learns that by its own detector or by the news, and begins again under a
//! larger roll; that goes round to everybody. **Why all agree**: the largest id of a ring has
//! passed everybody in it, so they all took part. Who has not heard of its election when the roll
//! changes calls anew, and so does who has heard, if that leader is dead. A leader that is alive is
//! the largest of all.
//!
//! **Return.** A process that comes back has lost what it knew, and a message perhaps with it. It
//! adds its return to the roll (it persists its own row for that), and calls an election. Others
//! learn of it by that roll, so that it takes part again; the largest of them leads thereafter.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

use conclave_core::election::{Command, Elections, Notice};
use conclave_core::{
    Arrival, Effects, Input, Kind, KindIndex, Lift, ProcessId, Protocol, Seat, Start, View,
    detector,
};

use super::{ChangRoberts, chang_roberts};
use crate::catalogue::{Bounds, Entry, Needs, Setting};
use crate::detector::{Heartbeat, With};

/// Who died and who came back, as far as one knows: of each member, by seat, how often its state
/// changed. So even rows are alive, and odd ones dead. Only ever grows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Roll(Vec<u32>);

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A message of the plain algorithm, in the ring of those who are alive by this roll.
    Ring(Roll, chang_roberts::Message),
    /// What was sent was of an older roll than this.
    News(Roll),
}

/// One process, to be composed with a detector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Repaired {
    me: ProcessId,
    seat: Seat,
    /// Everybody there ever was, in ring order.
    view: View,
    roll: Roll,
    /// The plain algorithm among those who are alive.
    ring: ChangRoberts,
    /// Whether it takes part in an election, whatever the ring.
    takes_part: bool,
    leader: Option<ProcessId>,
}

/// The repaired ring with the detector that the catalogue gives it.
pub type ChangRobertsRepaired = With<Repaired, Heartbeat>;

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "chang-roberts-repaired",
    title: "Chang-Roberts, repaired",
    summary: "as chang-roberts, with a detector: after a crash the others begin anew without it",
    needs: Needs { fifo: true, synchrony: true, storage: true, ..Needs::NOTHING },
    settings: &[Setting::Bound, Setting::Beat],
    crash: "those who live elect the largest of them, and one that comes back takes part again",
    problems: "leaves out a live one if a message takes longer than D",
    crash_example: None,
    kinds: <<ChangRobertsRepaired as Protocol>::Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[
        Bounds::of(3, 1).sync(1).beat(2).large(),
        Bounds::of(3, 1).sync(1).beat(2).crashes(1).lossy().large(),
        Bounds::of(2, 1).sync(1).beat(2).crashes(1).returns(1).refuted(),
        Bounds::of(3, 1).refuted(),
    ],
    remarks: &[],
    ..chang_roberts::PLAIN
};

impl Roll {
    fn new(members: usize) -> Self {
        Self(vec![0; members])
    }

    fn is_alive(&self, seat: Seat) -> bool {
        self.0.get(seat.index()).is_some_and(|row| row % 2 == 0)
    }

    /// Notes that it is so; whether that is new.
    fn note(&mut self, seat: Seat, alive: bool) -> bool {
        let is_new = self.is_alive(seat) != alive;
        if let Some(row) = self.0.get_mut(seat.index()).filter(|_| is_new) {
            *row += 1;
        }
        is_new
    }

    /// Learns what another knows; whether that is new.
    fn learn(&mut self, other: &Self) -> bool {
        let is_new = !matches!(other.compare(self), Some(Ordering::Less | Ordering::Equal));
        for (row, &told) in self.0.iter_mut().zip(&other.0) {
            *row = told.max(*row);
        }
        is_new
    }

    /// Who of the two knows more; `None` if each knows something that the other does not.
    fn compare(&self, other: &Self) -> Option<Ordering> {
        let rows = || self.0.iter().zip(&other.0);
        match (rows().any(|(a, b)| a < b), rows().any(|(a, b)| a > b)) {
            (false, false) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (true, true) => None,
        }
    }
}

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] =
        &[Kind::elect("election"), Kind::elect("elected"), Kind::repair("news")];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Ring(_, message) => message.kind(),
            Message::News(_) => 2,
        }
    }
}

impl Protocol for Repaired {
    type Family = Elections;
    type Config = ();
    type Message = Message;
    type Timer = ();
    /// Its own row of the roll: how often it died or came back.
    type Stored = u32;
    type Word = detector::Notice;

    fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
        let (me, view) = (start.me, start.view.clone());
        let plain = Start::founding(me, &view, &chang_roberts::Variant::Plain);
        let ring = ChangRoberts::start(plain, &mut out.inner());
        let seat = view.seat(me).unwrap_or(Seat(0));
        let (roll, leader) = (Roll::new(view.len()), None);
        let mut process = Self { me, seat, view, roll, ring, takes_part: false, leader };
        if start.arrival == Arrival::Returning {
            out.rule("is back: it calls an election");
            let row = start.stored.map_or(0, |row| row / 2) + 1;
            process.write_own_row(2 * row, out);
            process.call(out);
        }
        process
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Command(command) => self.tell_the_ring(Input::Command(command), out),
            Input::Message { from, message: Message::Ring(roll, message) } => {
                self.on_ring(from, &roll, message, out);
            }
            Input::Message { message: Message::News(roll), .. } => {
                out.rule("learns who died and who is back");
                self.learn(&roll, out);
            }
            Input::Word(detector::Notice::Suspects(id)) => self.note(id, false, out),
            Input::Word(detector::Notice::Trusts(id)) => self.note(id, true, out),
            Input::Timer(()) | Input::Reading(_) => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        if !self.roll.is_alive(self.seat) {
            return Err("it takes itself for dead");
        }
        self.ring.invariants()
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        self.ring.waits_for()
    }
}

impl Repaired {
    fn on_ring(
        &mut self,
        from: ProcessId,
        roll: &Roll,
        message: chang_roberts::Message,
        out: &mut Effects<Self>,
    ) {
        let knows = roll.compare(&self.roll);
        if !matches!(knows, Some(Ordering::Less | Ordering::Equal)) {
            out.rule("learns who died and who is back");
            self.learn(roll, out);
        }
        if *roll == self.roll {
            self.tell_the_ring(Input::Message { from, message }, out);
        } else {
            out.rule("drops what was sent in an older ring, and tells its sender of the new one");
            out.send(from, Message::News(self.roll.clone()));
        }
    }

    fn note(&mut self, id: ProcessId, alive: bool, out: &mut Effects<Self>) {
        let Some(seat) = self.view.seat(id).filter(|&seat| seat != self.seat) else { return };
        if self.roll.note(seat, alive) {
            self.begin_anew(out);
        }
    }

    fn learn(&mut self, roll: &Roll, out: &mut Effects<Self>) {
        let before = self.roll.0.get(self.seat.index()).copied();
        if !self.roll.learn(roll) {
            return;
        }
        if self.roll.note(self.seat, true) {
            out.rule("is said to be dead, and is not");
        }
        let row = self.roll.0.get(self.seat.index()).copied();
        if let Some(row) = row.filter(|_| row != before) {
            out.persist(row);
        }
        self.begin_anew(out);
    }

    fn write_own_row(&mut self, row: u32, out: &mut Effects<Self>) {
        if let Some(own) = self.roll.0.get_mut(self.seat.index()) {
            *own = row;
            out.persist(row);
        }
    }

    /// The roll has changed, and with it the ring.
    fn begin_anew(&mut self, out: &mut Effects<Self>) {
        let alive = || {
            let rows = self.view.members().iter().enumerate();
            rows.filter(|&(seat, _)| self.roll.is_alive(Seat::at(seat))).map(|(_, &id)| id)
        };
        let Ok(view) = View::new(alive()) else { return };
        let leads_no_more = |leader| alive().max() != Some(leader);
        let has_lost_its_leader = self.leader.is_some_and(leads_no_more);
        let plain = Start::founding(self.me, &view, &chang_roberts::Variant::Plain);
        let mut inner = out.inner();
        self.ring = ChangRoberts::start(plain, &mut inner);
        self.carry_out(&mut inner, out);
        if self.takes_part || has_lost_its_leader {
            out.rule("is in another ring now: it calls an election there");
            self.call(out);
        } else {
            out.rule("is in another ring now");
        }
    }

    fn call(&mut self, out: &mut Effects<Self>) {
        self.tell_the_ring(Input::Command(Command::Call), out);
    }

    fn tell_the_ring(&mut self, input: Input<ChangRoberts>, out: &mut Effects<Self>) {
        let mut inner = out.inner();
        self.ring.on(input, &mut inner);
        self.carry_out(&mut inner, out);
    }

    /// Does what the ring wants done. What is no news to the application is not told again.
    fn carry_out(&mut self, inner: &mut Effects<ChangRoberts>, out: &mut Effects<Self>) {
        let Self { roll, takes_part, leader, .. } = self;
        out.lift(
            inner,
            Lift {
                send: |to, message| Some((to, Message::Ring(roll.clone(), message))),
                timer: |()| (),
                stored: |()| None,
                notice: |notice, out: &mut Effects<Self>| {
                    let is_news = match notice {
                        Notice::Electing => !core::mem::replace(takes_part, true),
                        Notice::Elected { leader: elected, .. } => {
                            let took_part = core::mem::take(takes_part);
                            leader.replace(elected) != Some(elected) || took_part
                        }
                        _ => true,
                    };
                    if is_news {
                        out.notify(notice);
                    }
                },
            },
        );
    }
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests {
    use conclave_core::detector::Notice::{Suspects, Trusts};
    use conclave_core::election::Term;

    use super::Message::{News, Ring};
    use super::*;
    use crate::testing::Deed::{Persisted, Sent, Told};
    use crate::testing::{Deed, Probe};

    /// One of the ring 1, 2, 3, 4.
    fn process(me: u32) -> Probe<Repaired> {
        Probe::founding(me, &View::dense(1, 4), &())
    }

    fn roll(rows: [u32; 4]) -> Roll {
        Roll(rows.to_vec())
    }

    fn election(rows: [u32; 4], initiator: u32, id: u32) -> Message {
        let (initiator, id) = (ProcessId(initiator), ProcessId(id));
        Ring(roll(rows), chang_roberts::Message::Election { initiator, id })
    }

    fn elected(rows: [u32; 4], initiator: u32, id: u32) -> Message {
        let (initiator, id) = (ProcessId(initiator), ProcessId(id));
        Ring(roll(rows), chang_roberts::Message::Elected { initiator, id })
    }

    fn leads(leader: u32) -> Deed<Repaired> {
        Told(Notice::Elected { leader: ProcessId(leader), term: Term::NONE })
    }

    const ALL: [u32; 4] = [0; 4];
    const WITHOUT_3: [u32; 4] = [0, 0, 1, 0];
    const WITHOUT_4: [u32; 4] = [0, 0, 0, 1];

    /// Has called, and not heard who is elected.
    fn participant(me: u32) -> Probe<Repaired> {
        let mut process = process(me);
        process.command(Command::Call);
        process
    }

    /// Has heard that 4 is elected.
    fn follower(me: u32) -> Probe<Repaired> {
        let mut process = process(me);
        assert_eq!(process.receive(me - 1, elected(ALL, 1, 4))[0], leads(4));
        process
    }

    #[test]
    fn while_nobody_dies_it_is_the_plain_election() {
        let called = process(2).command(Command::Call);
        assert_eq!(called, [Told(Notice::Electing), Sent(3, election(ALL, 2, 2))]);
        let mut process = process(3);
        let passed_on = process.receive(2, election(ALL, 2, 2));
        assert_eq!(passed_on, [Told(Notice::Electing), Sent(4, election(ALL, 2, 3))]);
        let learnt = process.receive(2, elected(ALL, 2, 4));
        assert_eq!(learnt, [leads(4), Sent(4, elected(ALL, 2, 4))]);
        assert_eq!(process.command(Command::Read), [Told(Notice::Refused)]);
    }

    #[test]
    fn who_takes_part_when_another_dies_calls_again_in_the_ring_without_it() {
        let again = participant(2).hear(Suspects(ProcessId(3)));
        assert_eq!(again, [Sent(4, election(WITHOUT_3, 2, 2))], "it is told of it only once");
    }

    #[test]
    fn who_takes_no_part_calls_only_if_it_has_lost_its_leader() {
        assert_eq!(process(2).hear(Suspects(ProcessId(3))), [], "nobody wants an election");
        assert_eq!(follower(2).hear(Suspects(ProcessId(3))), [], "its leader lives");
        let calls = follower(2).hear(Suspects(ProcessId(4)));
        assert_eq!(calls, [Told(Notice::Electing), Sent(3, election(WITHOUT_4, 2, 2))]);
    }

    #[test]
    fn what_is_sent_by_one_who_knows_more_is_learnt_first() {
        let mut process = follower(2);
        let deeds = process.receive(1, election(WITHOUT_4, 1, 1));
        let calls = [Told(Notice::Electing), Sent(3, election(WITHOUT_4, 2, 2))];
        assert_eq!(deeds, calls, "it calls itself, and so has no use for a smaller id");
        assert_eq!(process.hear(Suspects(ProcessId(4))), [], "its detector tells it nothing new");
        let passed_on = process.receive(1, election(WITHOUT_4, 1, 3));
        assert_eq!(passed_on, [Sent(3, election(WITHOUT_4, 1, 3))]);
    }

    #[test]
    fn what_is_sent_by_one_who_knows_less_is_dropped_and_its_sender_gets_the_news() {
        let mut process = process(2);
        process.hear(Suspects(ProcessId(4)));
        let news = [Sent(1, News(roll(WITHOUT_4)))];
        assert_eq!(process.receive(1, election(ALL, 1, 1)), news);
        assert_eq!(process.receive(1, elected(ALL, 1, 4)), news, "nor is 4 its leader");
    }

    #[test]
    fn two_of_whom_each_knows_something_else_both_learn_and_the_message_is_dropped() {
        let mut process = participant(2);
        process.hear(Suspects(ProcessId(3)));
        let both = [0, 0, 1, 1];
        let deeds = process.receive(1, election(WITHOUT_4, 1, 1));
        assert_eq!(deeds, [Sent(1, election(both, 2, 2)), Sent(1, News(roll(both)))]);
    }

    #[test]
    fn who_gets_news_begins_anew_if_it_takes_part() {
        let again = participant(2).receive(3, News(roll(WITHOUT_4)));
        assert_eq!(again, [Sent(3, election(WITHOUT_4, 2, 2))]);
        assert_eq!(process(2).receive(3, News(roll(WITHOUT_4))), []);
        let mut knows = participant(2);
        knows.receive(3, News(roll(WITHOUT_4)));
        let news = Input::Message { from: ProcessId(1), message: News(roll(ALL)) };
        assert!(knows.ignores(news), "it knew that");
    }

    #[test]
    fn the_last_one_alive_leads() {
        let mut process = Probe::<Repaired>::founding(1, &View::dense(1, 2), &());
        process.command(Command::Call);
        assert_eq!(process.hear(Suspects(ProcessId(2))), [leads(1)]);
    }

    #[test]
    fn who_comes_back_adds_that_to_the_roll_and_calls() {
        let view = View::dense(1, 4);
        let first = Probe::<Repaired>::returning(2, &view, &(), None);
        let calls = [Persisted(2), Told(Notice::Electing), Sent(3, election([0, 2, 0, 0], 2, 2))];
        assert_eq!(first.began, calls);
        let again = Probe::<Repaired>::returning(2, &view, &(), Some(&2));
        assert_eq!(again.began[0], Persisted(4));
        assert_eq!(again.began[2], Sent(3, election([0, 4, 0, 0], 2, 2)));
    }

    #[test]
    fn who_is_told_of_a_return_is_in_a_ring_with_that_one_again() {
        let mut process = follower(2);
        process.hear(Suspects(ProcessId(3)));
        assert_eq!(process.hear(Trusts(ProcessId(3))), [], "4 leads as before");
        let called = process.command(Command::Call);
        assert_eq!(called[1], Sent(3, election([0, 0, 2, 0], 2, 2)));
    }

    #[test]
    fn one_that_is_back_and_larger_than_the_leader_makes_others_call() {
        let mut process = process(2);
        process.hear(Suspects(ProcessId(4)));
        process.receive(1, elected(WITHOUT_4, 3, 3));
        let calls = [Told(Notice::Electing), Sent(3, election([0, 0, 0, 2], 2, 2))];
        assert_eq!(process.hear(Trusts(ProcessId(4))), calls);
    }

    #[test]
    fn who_is_said_to_be_dead_says_that_it_is_not() {
        let mut process = participant(3);
        let says = [Persisted(2), Sent(4, election([0, 0, 2, 0], 3, 3))];
        assert_eq!(process.receive(2, News(roll(WITHOUT_3))), says);
    }

    #[test]
    fn it_waits_for_the_member_before_it_that_lives() {
        let mut process = participant(2);
        assert_eq!(process.waits_for(), [1]);
        process.hear(Suspects(ProcessId(1)));
        assert_eq!(process.waits_for(), [4]);
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let process = process(2);
        assert!(process.ignores(Input::Word(Suspects(ProcessId(9)))));
        assert!(process.ignores(Input::Word(Suspects(ProcessId(2)))), "it lives");
        assert!(process.ignores(Input::Word(Trusts(ProcessId(3)))), "it did so before");
    }
}
