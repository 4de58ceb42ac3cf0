//! Logical clocks, by themselves: every event is counted, and every message carries the count.
//!
//! **The problem.** Processes share no clock. Which of two events came first? Only this can be
//! known: an event happened before another if it came earlier at the same process, or if it is the
//! sending of a message and the other its receipt, or by a chain of these. Two events that are not
//! so related are concurrent: neither can have influenced the other.
//!
//! **Lamport's clock** is a number. Every event raises it by one. A message carries it, and its
//! receipt first raises the own one to what the message carries. So what happened before shows a
//! smaller number. A smaller number alone says nothing.
//!
//! **A vector clock** is a row of numbers, one for each process: how many events of that process
//! are in the past. Every event raises the own number by one. A receipt first raises each number to
//! what the message carries. So an event happened before another if and only if no number of its
//! row is larger, and the rows differ.
//!
//! **Assumes** nothing but processes and messages. Who comes back after a crash has lost its clock,
//! and with it what is promised; a clock that is to outlive a crash must be persisted.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `message` | anything, with the clock of its sending | to whom the application names |
//!
//! **Cost.** No message of its own: one number in each message, or N of them.
//!
//! **Source.** L. Lamport, *Time, Clocks, and the Ordering of Events in a Distributed System*, CACM
//! 21(7), 1978: rules IR1 and IR2. C. Fidge, 1988, and F. Mattern, *Virtual Time and Global States
//! of Distributed Systems*, 1989.

use core::fmt;

use conclave_core::clock::{LamportClock, Timestamp, VectorClock};
use conclave_core::process::{
    CLOCK_CONDITION, Command, Deed, Notice, Processes, Reading, STRONG_CLOCK_CONDITION,
};
use conclave_core::{
    Effects, Family, Input, Kind, KindIndex, NoWord, ProcessId, Promises, Protocol, Seat, Start,
    View,
};

use crate::catalogue::{Bounds, Cost, Entry, Measure, Needs, Places};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Message {
    /// What the clock showed at its sending.
    pub clock: Carried,
    /// The how many of its sender it is. The clocks have no use for it: it is by which a receipt
    /// says what it received.
    pub number: u64,
}

/// What a message carries of a clock.
#[derive(Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Carried {
    /// A number.
    Number(Timestamp),
    /// A row of numbers.
    Row(VectorClock),
}

/// Which clock all processes keep.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sort {
    /// A number.
    Lamport,
    /// A row of numbers.
    Vector,
}

/// One process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Clocks {
    #[cfg_attr(feature = "serde", serde(skip))]
    seat: Seat,
    #[cfg_attr(feature = "serde", serde(skip))]
    view: View,
    clock: Clock,
    /// How many messages it has sent. It outlives a crash, so that no two have the same number; the
    /// clock does not.
    sent: u64,
}

/// A clock of either sort.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Clock {
    Number(LamportClock),
    Row(VectorClock),
}

/// What the catalogue says of Lamport's clocks.
pub const LAMPORT: Entry = Entry {
    name: "lamport-clocks",
    title: "Lamport clocks",
    citation: "L. Lamport, Time, Clocks, and the Ordering of Events in a Distributed System, \
               CACM 21(7), 1978",
    summary: "a number that every event raises and every message carries: later ones show more",
    promises: CLOCK_CONDITION,
    problems: "a smaller number does not say that an event happened before",
    ..ENTRY
};

/// What the catalogue says of vector clocks.
pub const VECTOR: Entry = Entry {
    name: "vector-clocks",
    title: "Vector clocks",
    citation: "C. Fidge, 1988; F. Mattern, Virtual Time and Global States of Distributed Systems, \
               1989",
    summary: "a count of the past for each process: who knows of whom can be read from it",
    promises: CLOCK_CONDITION.and(STRONG_CLOCK_CONDITION),
    problems: "every message carries N numbers",
    ..ENTRY
};

/// What both have in common.
const ENTRY: Entry = Entry {
    name: "",
    title: "",
    citation: "",
    summary: "",
    family: <Processes as Family>::NAME,
    promises: Promises::NONE,
    needs: Needs::NOTHING,
    settings: &[],
    crash: "no harm to others; who comes back has lost its clock, and shows less than before",
    problems: "",
    crash_example: None,
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[
        Bounds::of(3, 3),
        Bounds::of(2, 3).unordered(),
        Bounds::of(3, 2).crashes(1),
        Bounds::of(2, 2).crashes(1).returns(1).refuted(),
    ],
    costs: &[Cost::exactly(Measure::PerSending, "1", |_| 1.0)],
    remarks: &[],
};

/// The numbers alone: which sort it is can be seen.
impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(time) => time.fmt(f),
            Self::Row(row) => row.fmt(f),
        }
    }
}

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[Kind::upkeep("message")];

    #[inline]
    fn kind(&self) -> KindIndex {
        0
    }
}

impl Protocol for Clocks {
    type Family = Processes;
    type Config = Sort;
    type Message = Message;
    type Timer = ();
    /// How many messages it has sent.
    type Stored = u64;
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        let clock = match *start.config {
            Sort::Lamport => Clock::Number(LamportClock::default()),
            Sort::Vector => Clock::Row(VectorClock::new(start.view.len())),
        };
        let seat = start.view.seat(start.me).unwrap_or(Seat(0));
        let sent = start.stored.copied().unwrap_or(0);
        Self { seat, view: start.view.clone(), clock, sent }
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Command(Command::Work) => self.work(out),
            Input::Command(Command::Send(to)) => self.send(to, out),
            Input::Message { from, message } => self.receive(from, &message, out),
            Input::Timer(()) | Input::Reading(_) => {}
            Input::Word(word) => match word {},
        }
    }
}

impl Clocks {
    /// IR1: an event of its own.
    fn work(&mut self, out: &mut Effects<Self>) {
        out.rule("adds one for an event of its own");
        self.clock.tick(self.seat);
        self.tell(Deed::Worked, out);
    }

    /// IR1, and IR2 (a): a sending is an event, and the message carries what the clock shows then.
    fn send(&mut self, to: ProcessId, out: &mut Effects<Self>) {
        out.rule("adds one for a sending; the message carries its clock");
        self.clock.tick(self.seat);
        self.sent += 1;
        out.persist(self.sent);
        self.tell(Deed::Sent(to, self.sent), out);
        out.send(to, Message { clock: self.clock.carried(), number: self.sent });
    }

    /// IR2 (b): a receipt is later than its sending.
    fn receive(&mut self, from: ProcessId, message: &Message, out: &mut Effects<Self>) {
        if self.view.seat(from).is_none() {
            return;
        }
        out.rule("takes the larger of its own clock and the message's, and adds one");
        self.clock.catch_up(&message.clock);
        self.clock.tick(self.seat);
        self.tell(Deed::Received(from, message.number), out);
    }

    fn tell(&self, deed: Deed, out: &mut Effects<Self>) {
        out.notify(Notice::Stamped { deed, reading: self.clock.reading(self.view.len()) });
    }
}

impl Clock {
    fn tick(&mut self, seat: Seat) {
        match self {
            Self::Number(clock) => {
                clock.tick();
            }
            Self::Row(clock) => clock.tick(seat),
        }
    }

    /// A clock of the other sort says nothing to it.
    fn catch_up(&mut self, carried: &Carried) {
        match (self, carried) {
            (Self::Number(clock), Carried::Number(time)) => clock.catch_up(*time),
            (Self::Row(clock), Carried::Row(row)) => clock.merge(row),
            _ => {}
        }
    }

    fn carried(&self) -> Carried {
        match self {
            Self::Number(clock) => Carried::Number(clock.time()),
            Self::Row(clock) => Carried::Row(clock.clone()),
        }
    }

    fn reading(&self, members: usize) -> Reading {
        match self {
            Self::Number(clock) => Reading::lamport(clock.time().0),
            Self::Row(clock) => {
                Reading::vector((0..members).map(|seat| u64::from(clock.of(Seat::at(seat)))))
            }
        }
    }
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::testing::Deed::{Persisted, Sent, Told};
    use crate::testing::{Deed as Seen, Probe};

    fn process(sort: Sort) -> Probe<Clocks> {
        Probe::founding(2, &View::dense(1, 3), &sort)
    }

    fn stamped(deed: Deed, reading: Reading) -> Seen<Clocks> {
        Told(Notice::Stamped { deed, reading })
    }

    fn row(process: &mut Probe<Clocks>, from: u32, counts: [u32; 3]) -> Vec<Seen<Clocks>> {
        let mut clock = VectorClock::new(3);
        for (seat, count) in counts.into_iter().enumerate() {
            (0..count).for_each(|_| clock.tick(Seat::at(seat)));
        }
        process.receive(from, Message { clock: Carried::Row(clock), number: 1 })
    }

    #[test]
    fn every_event_raises_a_lamport_clock_and_a_message_carries_it() {
        let mut process = process(Sort::Lamport);
        let (me, other) = (ProcessId(3), ProcessId(1));
        let work = [stamped(Deed::Worked, Reading::lamport(1))];
        assert_eq!(process.command(Command::Work), work);
        let message = Message { clock: Carried::Number(Timestamp(2)), number: 1 };
        let stamp = stamped(Deed::Sent(me, 1), Reading::lamport(2));
        let sending = [Persisted(1), stamp, Sent(3, message)];
        assert_eq!(process.command(Command::Send(me)), sending);
        let late = Message { clock: Carried::Number(Timestamp(9)), number: 4 };
        let receipt = [stamped(Deed::Received(other, 4), Reading::lamport(10))];
        assert_eq!(process.receive(1, late), receipt, "more than both");
        let early = Message { clock: Carried::Number(Timestamp(3)), number: 5 };
        let receipt = [stamped(Deed::Received(other, 5), Reading::lamport(11))];
        assert_eq!(process.receive(1, early), receipt, "an old message adds one all the same");
    }

    #[test]
    fn a_vector_counts_the_past_process_by_process() {
        let mut process = process(Sort::Vector);
        process.command(Command::Work);
        let other = ProcessId(1);
        let receipt = [stamped(Deed::Received(other, 1), Reading::vector([4, 2, 1]))];
        assert_eq!(row(&mut process, 1, [4, 0, 1]), receipt);
        let receipt = [stamped(Deed::Received(ProcessId(3), 1), Reading::vector([4, 3, 2]))];
        assert_eq!(row(&mut process, 3, [1, 1, 2]), receipt, "the larger of each");
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let process = process(Sort::Lamport);
        let message = Message { clock: Carried::Number(Timestamp(2)), number: 1 };
        assert!(process.ignores(Input::Message { from: ProcessId(9), message }));
        assert!(process.ignores(Input::Timer(())));
    }
}
