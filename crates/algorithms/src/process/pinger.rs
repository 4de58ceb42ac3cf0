//! The Pinger: the smallest process that has a state.
//!
//! **Idea.** A process is `p = (S, s0, M, ->)`. The Pinger has two states, `output_ping = false`
//! and `output_ping = true`, and begins in the first. Its one message is `ping`. A ping makes it
//! print "pong" in the first state and "ping" in the second, and takes it to the other one.
//!
//! In lecture notes nobody is seen to send the pings. Here every process is a Pinger, and its
//! application has it ping the others.
//!
//! **Assumes** nothing but processes and messages.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `ping` | "print something" | to whom the application names |
//!
//! **Cost.** One message for each that is asked for.
//!
//! **Source.** Lecture notes on mutual exclusion and election, where it is the example of what a
//! process is.

use conclave_core::process::{Command, Notice, Print, Processes, TURNS};
use conclave_core::{Effects, Family, Input, Kind, KindIndex, NoWord, ProcessId, Protocol, Start};

use crate::catalogue::{Bounds, Cost, Entry, Measure, Needs, Places};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Print something.
    Ping,
}

/// One process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Pinger {
    /// Whether the next word is "ping".
    output_ping: bool,
}

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "pinger",
    title: "The Pinger",
    citation: "lecture notes on mutual exclusion and election: the example of what a process is",
    summary: "a process with two states prints pong and ping by turns, a word for every ping",
    family: <Processes as Family>::NAME,
    promises: TURNS,
    needs: Needs::NOTHING,
    settings: &[],
    crash: "it prints no more; nobody else notices",
    problems: "solves no problem: nobody learns whether its ping arrived",
    crash_example: None,
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[Bounds::of(3, 3), Bounds::of(3, 3).unordered(), Bounds::of(2, 3).crashes(1)],
    costs: &[Cost::exactly(Measure::PerSending, "1", |_| 1.0)],
    remarks: &[],
};

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[Kind::upkeep("ping")];

    #[inline]
    fn kind(&self) -> KindIndex {
        0
    }
}

impl Protocol for Pinger {
    type Family = Processes;
    type Config = ();
    type Message = Message;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(_: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        Self { output_ping: false }
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Message { message: Message::Ping, .. } => self.print(out),
            Input::Command(Command::Send(to)) => Self::ping(to, out),
            // There is nothing that it does alone, and it has no timer.
            Input::Command(Command::Work) | Input::Timer(()) | Input::Reading(_) => {}
            Input::Word(word) => match word {},
        }
    }
}

impl Pinger {
    fn print(&mut self, out: &mut Effects<Self>) {
        let print = match self.output_ping {
            false => {
                out.rule("is in the state output_ping = false: it prints pong, and goes to true");
                Print::Pong
            }
            true => {
                out.rule("is in the state output_ping = true: it prints ping, and goes to false");
                Print::Ping
            }
        };
        out.notify(Notice::Printed(print));
        self.output_ping = !self.output_ping;
    }

    fn ping(to: ProcessId, out: &mut Effects<Self>) {
        out.rule("sends a ping");
        out.send(to, Message::Ping);
    }
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests {
    use conclave_core::View;

    use super::Message::Ping;
    use super::*;
    use crate::testing::Deed::{Sent, Told};
    use crate::testing::Probe;

    fn process() -> Probe<Pinger> {
        Probe::founding(1, &View::dense(1, 2), &())
    }

    #[test]
    fn it_prints_pong_and_ping_by_turns() {
        let mut process = process();
        assert_eq!(process.began, []);
        for print in [Print::Pong, Print::Ping, Print::Pong] {
            assert_eq!(process.receive(2, Ping), [Told(Notice::Printed(print))]);
        }
    }

    #[test]
    fn it_pings_whom_its_application_names() {
        assert_eq!(process().command(Command::Send(ProcessId(2))), [Sent(2, Ping)]);
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        assert!(process().ignores(Input::Command(Command::Work)));
        assert!(process().ignores(Input::Timer(())));
    }
}
