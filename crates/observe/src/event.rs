//! What can be seen of a run.

use core::fmt;

use conclave_core::{KindIndex, Renaming, Seat};

use crate::{Said, Time};

/// One message of a run: who sent it, and how many that one had sent before. So processes that know
/// nothing of each other number alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(u64);

/// Something that happened at one process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Event {
    /// When it happened, on the clock of the run.
    pub at: Time,
    /// The seat of the process at which it happened.
    pub seat: Seat,
    /// What happened there.
    pub what: What,
}

/// What happened. What an application asks for and is told is said in the words of its
/// [family](crate::Vocabulary); all else is the same for every protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum What {
    /// Its application asked for something.
    Asked(Said),
    /// Its application was told something.
    Told(Said),
    /// It sent a message; one to itself is not a message of the network.
    Sent {
        /// The message's number.
        message: MessageId,
        /// The receiver, by seat.
        to: Seat,
        /// Which of the protocol's kinds of messages it is.
        kind: KindIndex,
        /// Whether it is but one more copy of a multicast.
        copy: bool,
    },
    /// It received a message.
    Received {
        /// The message's number.
        message: MessageId,
        /// The sender, by seat.
        from: Seat,
        /// Which of the protocol's kinds of messages it is.
        kind: KindIndex,
    },
    /// A message that it sent will not arrive.
    Lost {
        /// The message's number.
        message: MessageId,
        /// Where it will not arrive.
        to: Seat,
        /// What lost it.
        cause: LossCause,
    },
    /// A message that it sent will arrive once more.
    Duplicated {
        /// The message's number; both arrivals have it.
        message: MessageId,
        /// The receiver, by seat.
        to: Seat,
    },
    /// A timer ran out.
    TimerFired,
    /// It crashed: it does nothing until it returns, and forgets what it did not persist.
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
        /// The partition's number: its place in the plan of faults.
        partition: u16,
        /// On which side.
        side: Side,
    },
    /// That partition ended.
    Healed {
        /// The partition's number, as when it began.
        partition: u16,
    },
    /// Diagnosis, at the end of a run that did not end well: it says whom it waits for.
    WaitsFor {
        /// The process that it waits for, by seat.
        whom: Seat,
    },
}

/// Which part an event has in what happens.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// Something happens to a process, and it takes a step about it.
    Cause,
    /// A process does something about what happened to it just before.
    Deed,
    /// Something becomes of a message on its way; no process takes a step.
    Fate,
    /// Something happens around a process, and it takes no step.
    Circumstance,
    /// Nothing happens: it is said who waits for whom.
    Remark,
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

impl MessageId {
    /// How many bits the count has; the seat has the rest.
    const COUNT_BITS: u32 = 40;
    /// The highest count that a message can have.
    pub const COUNT_MAX: u64 = (1 << Self::COUNT_BITS) - 1;

    /// The message that `from` sent after `count - 1` others.
    pub const fn new(from: Seat, count: u64) -> Self {
        Self((from.0 as u64) << Self::COUNT_BITS | count & Self::COUNT_MAX)
    }

    /// The seat of the process that sent it.
    #[allow(clippy::cast_possible_truncation, reason = "what is left is the seat")]
    pub const fn from(self) -> Seat {
        Seat((self.0 >> Self::COUNT_BITS) as u32)
    }

    /// Its place among all messages of its sender, counted from 1.
    pub const fn count(self) -> u64 {
        self.0 & Self::COUNT_MAX
    }

    /// Both as one number.
    #[inline]
    pub(crate) const fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.from().0, self.count())
    }
}

impl What {
    /// Which part it has in what happens. A message to oneself is the cause of a step of its own.
    pub fn part(&self) -> Part {
        match self {
            Self::Asked(_)
            | Self::Received { .. }
            | Self::TimerFired
            | Self::Returned
            | Self::Replaced => Part::Cause,
            Self::Sent { .. } | Self::Told(_) => Part::Deed,
            Self::Lost { .. } | Self::Duplicated { .. } => Part::Fate,
            Self::Crashed
            | Self::Paused
            | Self::Resumed
            | Self::Cut { .. }
            | Self::Healed { .. } => Part::Circumstance,
            Self::WaitsFor { .. } => Part::Remark,
        }
    }

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

    /// What an application asked for or was told, if that is what it is.
    pub fn said(&self) -> Option<&Said> {
        match self {
            Self::Asked(said) | Self::Told(said) => Some(said),
            _ => None,
        }
    }

    /// The process at the other end, where there is one.
    pub fn partner(&self) -> Option<Seat> {
        match *self {
            Self::Sent { to, .. } | Self::Lost { to, .. } | Self::Duplicated { to, .. } => Some(to),
            Self::Received { from, .. } => Some(from),
            Self::WaitsFor { whom } => Some(whom),
            Self::Asked(said) | Self::Told(said) => said.whom,
            _ => None,
        }
    }

    /// The message that it is about, if it is about one.
    pub fn message(&self) -> Option<MessageId> {
        match *self {
            Self::Sent { message, .. }
            | Self::Received { message, .. }
            | Self::Lost { message, .. }
            | Self::Duplicated { message, .. } => Some(message),
            _ => None,
        }
    }

    /// This event, with every process renamed.
    #[must_use]
    pub fn renamed(self, names: &Renaming) -> Self {
        let mut renamed = self;
        match &mut renamed {
            What::Sent { message, to: seat, .. }
            | What::Received { message, from: seat, .. }
            | What::Lost { message, to: seat, .. }
            | What::Duplicated { message, to: seat } => {
                *message = MessageId::new(names.seat(message.from()), message.count());
                *seat = names.seat(*seat);
            }
            What::WaitsFor { whom } => *whom = names.seat(*whom),
            What::Asked(said) | What::Told(said) => {
                said.whom = said.whom.map(|seat| names.seat(seat));
            }
            _ => {}
        }
        renamed
    }
}

#[cfg(test)]
mod tests {
    use conclave_core::{ProcessId, View};

    use super::*;
    use crate::family;

    const FROM: Seat = Seat(1);
    const TO: Seat = Seat(2);
    const MESSAGE: MessageId = MessageId::new(FROM, 3);

    /// One of every kind, but for what is said.
    const UNSAID: [(What, Part); 13] = [
        (What::Sent { message: MESSAGE, to: TO, kind: 0, copy: false }, Part::Deed),
        (What::Received { message: MESSAGE, from: FROM, kind: 0 }, Part::Cause),
        (What::Lost { message: MESSAGE, to: TO, cause: LossCause::Network }, Part::Fate),
        (What::Duplicated { message: MESSAGE, to: TO }, Part::Fate),
        (What::TimerFired, Part::Cause),
        (What::Crashed, Part::Circumstance),
        (What::Returned, Part::Cause),
        (What::Replaced, Part::Cause),
        (What::Paused, Part::Circumstance),
        (What::Resumed, Part::Circumstance),
        (What::Cut { partition: 0, side: Side::Left }, Part::Circumstance),
        (What::Healed { partition: 0 }, Part::Circumstance),
        (What::WaitsFor { whom: TO }, Part::Remark),
    ];

    #[test]
    fn every_event_has_its_part_and_what_is_asked_is_a_cause_and_what_is_told_a_deed() {
        for (what, part) in UNSAID {
            assert_eq!((what.part(), what.said()), (part, None), "{what:?}");
        }
        for word in family::ALL.iter().flat_map(|vocabulary| vocabulary.words) {
            let said = Said::new(word);
            let (what, part) = match word.is_asked {
                true => (What::Asked(said), Part::Cause),
                false => (What::Told(said), Part::Deed),
            };
            assert_eq!((said.what(), what.part(), what.said()), (what, part, Some(&said)));
        }
    }

    #[test]
    fn the_process_at_the_other_end_goes_by_its_other_name() {
        let view = View::new([1, 2, 3].map(ProcessId)).unwrap();
        let names = Renaming::new(&view, [2, 0, 1].map(Seat).to_vec()).unwrap();
        let whom = |what: What| what.renamed(&names).partner();
        for (what, _) in UNSAID {
            assert_eq!(whom(what), what.partner().map(|seat| names.seat(seat)), "{what:?}");
            let sent = what.message().map(|_| MessageId::new(names.seat(FROM), 3));
            assert_eq!(what.renamed(&names).message(), sent, "by whom it was sent: {what:?}");
        }
        let about = |word| Said::new(word).of(TO).what();
        for word in family::ALL.iter().flat_map(|vocabulary| vocabulary.words) {
            assert_eq!(about(word).partner(), Some(TO));
            assert_eq!(whom(about(word)), Some(names.seat(TO)));
            assert_eq!(whom(Said::new(word).what()), None);
        }
    }

    #[test]
    fn a_message_is_told_from_those_of_others_and_from_all_others_of_its_sender() {
        let last = MessageId::new(Seat(999_999), MessageId::COUNT_MAX);
        assert_eq!((last.from(), last.count()), (Seat(999_999), MessageId::COUNT_MAX));
        assert_ne!(MessageId::new(FROM, 3), MessageId::new(TO, 3));
        assert_ne!(MessageId::new(FROM, 3), MessageId::new(FROM, 4));
        let about = UNSAID.iter().filter_map(|(what, _)| what.message());
        assert_eq!(about.collect::<alloc::vec::Vec<_>>(), [MESSAGE; 4]);
    }
}
