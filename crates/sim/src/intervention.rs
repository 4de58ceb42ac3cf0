//! What somebody who watches a run does to it, between two events.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

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
    /// It goes on.
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

/// A text that is no intervention.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{0}` is not EVENT:ACT:WHOM with crash, return, pause or resume, e.g. 12:crash:3, or with lose or \
     deliver, e.g. 12:lose:3.7 for the seventh message of 3"
)]
pub struct ParseInterventionError(pub String);

impl FromStr for Intervention {
    type Err = ParseInterventionError;

    fn from_str(text: &str) -> Result<Self, ParseInterventionError> {
        let parse = || {
            let (before, rest) = text.split_once(':')?;
            let (word, whom) = rest.split_once(':')?;
            let id = || whom.parse().ok().map(ProcessId);
            let message = || {
                let (from, count) = whom.split_once('.')?;
                let from = from.parse().ok().map(ProcessId)?;
                Some(Letter { from, count: count.parse().ok()? })
            };
            let act = match word {
                "crash" => Act::Crash(id()?),
                "return" => Act::Return(id()?),
                "pause" => Act::Pause(id()?),
                "resume" => Act::Resume(id()?),
                "lose" => Act::Lose(message()?),
                "deliver" => Act::Deliver(message()?),
                _ => return None,
            };
            Some(Self { before: before.parse().ok()?, act })
        };
        parse().ok_or_else(|| ParseInterventionError(text.to_owned()))
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

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn what_is_shown_can_be_read_again() {
        for text in
            ["12:crash:3", "0:return:3", "7:pause:1", "8:resume:1", "9:lose:4.1", "9:deliver:4.2"]
        {
            assert_eq!(text.parse::<Intervention>().unwrap().to_string(), text);
        }
        for text in ["", "12", "12:crash", "12:explode:3", "crash:3", "1:crash:x", "1:lose:4"] {
            let error = text.parse::<Intervention>().unwrap_err().to_string();
            assert!(error.contains("e.g. 12:crash:3"), "{error}");
        }
    }
}
