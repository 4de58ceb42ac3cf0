//! What can be seen of a run.

use conclave_core::election::{Term, Version};
use conclave_core::{
    Family, Fence, KindIndex, Protocol, Renaming, Seat, View, detector, election, mutex,
};

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
    /// It came back, with its memory lost but for what it persisted.
    Returned,
    /// Another process took its place and its name; it knows nothing of its predecessor.
    Replaced,
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
    /// Its application asked for an election.
    Called,
    /// It takes part in an election.
    Electing,
    /// It learnt who leads.
    Elected {
        /// Who.
        leader: Seat,
        /// In which term; 0 where there are none.
        term: Term,
    },
    /// It knows of no leader, and is none itself.
    Vacant,
    /// Its application asked for the value that leaders keep.
    Reading,
    /// It told the value.
    Read {
        /// Of which state.
        version: Version,
        /// The value.
        value: u64,
    },
    /// Its application asked for another value to be kept.
    Writing {
        /// Which.
        value: u64,
    },
    /// It said that the value is safe.
    Wrote {
        /// As which state.
        version: Version,
    },
    /// It would not, or could not, do what was asked.
    Refused,
    /// It suspects a process of being dead.
    Suspected {
        /// Whom.
        whom: Seat,
    },
    /// It believes a suspect to be alive.
    Trusted {
        /// Whom.
        whom: Seat,
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
    /// The same, as something that happened; `None` if it speaks of somebody who takes no part.
    fn what(&self, view: &View) -> Option<What>;
}

/// What an application asks for, read back from what happened: how a recorded run is taken again.
pub trait Askable: Observable + Sized {
    /// The command that was seen as this; `None` if there is none.
    fn asked(what: What) -> Option<Self>;
}

/// A protocol of which all that its application says and hears can be seen.
pub trait Observed: Protocol<Family: Family<Command: Askable, Notice: Observable>> {}

impl<P: Protocol<Family: Family<Command: Askable, Notice: Observable>>> Observed for P {}

impl Askable for mutex::Command {
    fn asked(what: What) -> Option<Self> {
        match what {
            What::Requested => Some(mutex::Command::Enter),
            What::Leaving => Some(mutex::Command::Leave),
            _ => None,
        }
    }
}

impl Askable for election::Command {
    fn asked(what: What) -> Option<Self> {
        match what {
            What::Called => Some(election::Command::Call),
            What::Reading => Some(election::Command::Read),
            What::Writing { value } => Some(election::Command::Write(value)),
            _ => None,
        }
    }
}

impl Askable for detector::Command {
    fn asked(_: What) -> Option<Self> {
        None
    }
}

impl Observable for mutex::Command {
    #[inline]
    fn what(&self, _: &View) -> Option<What> {
        Some(match self {
            mutex::Command::Enter => What::Requested,
            mutex::Command::Leave => What::Leaving,
        })
    }
}

impl Observable for mutex::Notice {
    #[inline]
    fn what(&self, _: &View) -> Option<What> {
        Some(match *self {
            mutex::Notice::Entered { fence } => What::Entered { fence },
            mutex::Notice::Left => What::Left,
        })
    }
}

impl Observable for election::Command {
    fn what(&self, _: &View) -> Option<What> {
        Some(match self {
            election::Command::Call => What::Called,
            election::Command::Read => What::Reading,
            election::Command::Write(value) => What::Writing { value: *value },
        })
    }
}

impl Observable for election::Notice {
    fn what(&self, view: &View) -> Option<What> {
        Some(match *self {
            election::Notice::Electing => What::Electing,
            election::Notice::Elected { leader, term } => {
                What::Elected { leader: view.seat(leader)?, term }
            }
            election::Notice::Vacant => What::Vacant,
            election::Notice::Read { version, value } => What::Read { version, value },
            election::Notice::Wrote { version } => What::Wrote { version },
            election::Notice::Refused => What::Refused,
        })
    }
}

impl Observable for detector::Command {
    fn what(&self, _: &View) -> Option<What> {
        match *self {}
    }
}

impl Observable for detector::Notice {
    fn what(&self, view: &View) -> Option<What> {
        Some(match *self {
            detector::Notice::Suspects(id) => What::Suspected { whom: view.seat(id)? },
            detector::Notice::Trusts(id) => What::Trusted { whom: view.seat(id)? },
        })
    }
}

impl What {
    /// Whether it is a fault that somebody injected, as opposed to its consequences.
    pub fn is_fault(&self) -> bool {
        match self {
            What::Crashed
            | What::Returned
            | What::Replaced
            | What::Paused
            | What::Cut { .. }
            | What::Duplicated { .. } => true,
            What::Lost { cause, .. } => *cause != LossCause::ReceiverDown,
            _ => false,
        }
    }

    /// The same among others by other names.
    #[must_use]
    pub fn renamed(self, names: &Renaming) -> Self {
        let mut renamed = self;
        match &mut renamed {
            What::Sent { to: seat, .. }
            | What::Received { from: seat, .. }
            | What::Lost { to: seat, .. }
            | What::Duplicated { to: seat, .. }
            | What::Elected { leader: seat, .. }
            | What::Suspected { whom: seat }
            | What::Trusted { whom: seat }
            | What::WaitsFor { whom: seat } => *seat = names.seat(*seat),
            _ => {}
        }
        renamed
    }
}
