//! What somebody who watches a run does to it, between two events.

use core::fmt;

use conclave_core::{ProcessId, View};
use conclave_observe::MessageId;

/// `12:crash:3`: before the event of that number, something is done from outside. A run is its plan
/// and its interventions: with the same ones it is the same run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Intervention {
    /// The number of the event before which it is done, from 0: so many have happened.
    pub before: u64,
    /// What is done.
    pub act: Act,
}

/// What is done. What makes no sense when it is done (the dead cannot die) changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// The process dies, and its memory with it.
    Crash(ProcessId),
    /// It starts anew, without its memory but for what it persisted.
    Return(ProcessId),
    /// It does nothing for now; what arrives meanwhile waits for it.
    Pause(ProcessId),
    /// It goes on after a pause.
    Resume(ProcessId),
    /// The message, which is on its way, never arrives.
    Lose(Letter),
    /// The message, which is on its way, arrives now. Where channels keep the order, only the first
    /// of its channel can.
    Deliver(Letter),
}

/// `3.7`: a message by its sender, and by how many that one has sent with it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Letter {
    /// Who sent it.
    pub from: ProcessId,
    /// Counted from 1, over all that it sent.
    pub count: u64,
}

impl Letter {
    /// The message of that number.
    pub fn of(message: MessageId, view: &View) -> Self {
        Self { from: view.at(message.from()), count: message.count() }
    }

    /// Its number; `None` if its sender takes no part.
    pub fn message(self, view: &View) -> Option<MessageId> {
        Some(MessageId::new(view.seat(self.from)?, self.count))
    }
}

impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.from, self.count)
    }
}

impl Act {
    /// To whom it is done; of a message, who sent it.
    pub fn process(self) -> ProcessId {
        match self {
            Self::Crash(id) | Self::Return(id) | Self::Pause(id) | Self::Resume(id) => id,
            Self::Lose(letter) | Self::Deliver(letter) => letter.from,
        }
    }
}

impl fmt::Display for Intervention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.before, self.act)
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crash(id) => write!(f, "crash:{id}"),
            Self::Return(id) => write!(f, "return:{id}"),
            Self::Pause(id) => write!(f, "pause:{id}"),
            Self::Resume(id) => write!(f, "resume:{id}"),
            Self::Lose(message) => write!(f, "lose:{message}"),
            Self::Deliver(message) => write!(f, "deliver:{message}"),
        }
    }
}
