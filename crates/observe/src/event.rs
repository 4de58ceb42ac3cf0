//! What can be seen of a run.

use conclave_core::mutex::{Command, Notice};
use conclave_core::{Fence, KindIndex, Seat};

use crate::Time;

/// One message of a run: a number that grows with every sending.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageId(pub u64);

/// Something that happened at one process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Event {
    /// When.
    pub at: Time,
    /// Where.
    pub seat: Seat,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum What {
    /// Its application asked to be let in.
    Requested,
    /// It entered the critical section.
    Entered {
        /// With this number.
        fence: Fence,
    },
    /// Its application asked to leave.
    Leaving,
    /// It left the critical section.
    Left,
    /// It sent a message; one to itself is not a message of the network.
    Sent {
        /// Which.
        message: MessageId,
        /// To whom.
        to: Seat,
        /// Of which kind.
        kind: KindIndex,
        /// Whether it is but one more copy of a multicast.
        copy: bool,
    },
    /// It received a message.
    Received {
        /// Which.
        message: MessageId,
        /// From whom.
        from: Seat,
        /// Of which kind.
        kind: KindIndex,
    },
    /// A message that it sent will not arrive.
    Lost {
        /// Which.
        message: MessageId,
        /// Where it will not arrive.
        to: Seat,
        /// Why.
        cause: LossCause,
    },
    /// A message that it sent will arrive once more.
    Duplicated {
        /// Which.
        message: MessageId,
        /// Where.
        to: Seat,
    },
    /// A timer ran out.
    TimerFired,
    /// It crashed.
    Crashed,
    /// It came back, with its memory lost.
    Returned,
    /// It stopped for a while.
    Paused,
    /// It went on, with what had arrived meanwhile.
    Resumed,
    /// A partition began that has this process on one side.
    Cut {
        /// Which partition.
        partition: u16,
        /// On which side.
        side: Side,
    },
    /// That partition ended.
    Healed {
        /// Which partition.
        partition: u16,
    },
    /// Diagnosis, at the end of a run that did not end well: it says whom it waits for.
    WaitsFor {
        /// Whom.
        whom: Seat,
    },
}

/// Why a message did not arrive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LossCause {
    /// The network lost it.
    Network,
    /// A partition was in its way.
    Partition,
    /// Its receiver was down.
    ReceiverDown,
}

/// A side of a partition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// What was named first.
    Left,
    /// What was named second.
    Right,
}

/// What an application says or hears, as a judge sees it.
pub trait Observable {
    /// The same, as something that happened.
    fn what(&self) -> What;
}

impl Observable for Command {
    #[inline]
    fn what(&self) -> What {
        match self {
            Command::Enter => What::Requested,
            Command::Leave => What::Leaving,
        }
    }
}

impl Observable for Notice {
    #[inline]
    fn what(&self) -> What {
        match *self {
            Notice::Entered { fence } => What::Entered { fence },
            Notice::Left => What::Left,
        }
    }
}

impl What {
    /// Whether it is a fault that somebody injected, as opposed to its consequences.
    pub fn is_fault(&self) -> bool {
        match self {
            What::Crashed
            | What::Returned
            | What::Paused
            | What::Cut { .. }
            | What::Duplicated { .. } => true,
            What::Lost { cause, .. } => *cause != LossCause::ReceiverDown,
            _ => false,
        }
    }
}
