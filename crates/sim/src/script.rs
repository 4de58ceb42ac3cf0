//! What goes wrong with one message, and with one process at one event: a script, not chance.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use conclave_core::{Kind, KindIndex, ProcessId, Seat, View};
use conclave_observe::{Said, Time, Vocabulary, Whose};

use crate::FaultPlan;

/// `request 2>3 #1`: one message, by its kind, by who sends it to whom, and by which of those it
/// is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageName {
    /// The paper's name of its kind.
    pub kind: String,
    /// Who sends it.
    pub from: ProcessId,
    /// Who receives it.
    pub to: ProcessId,
    /// Which of all such messages of the run, from 1, in the order in which they are sent.
    pub count: u64,
}

/// What the network does to one message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageFault {
    /// The message that it happens to.
    pub message: MessageName,
    /// What happens to it.
    pub deed: Deed,
}

/// What the network does to a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    /// Loses it: it never arrives.
    Drop,
    /// Brings it that much later. Where channels are FIFO, what is sent after it waits behind it.
    Delay(Time),
    /// Brings it twice.
    Duplicate,
    /// Brings it at once; where channels are FIFO, right behind what was sent before it.
    Hurry,
}

/// `2 on entering`: the process dies as soon as the step is done in which that happens to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CrashOn {
    /// The process that dies.
    pub process: ProcessId,
    /// The name of a [`Moment`](conclave_observe::Moment) of its family.
    pub moment: String,
    /// Which time that it happens, from 1: 2 is the second time.
    pub count: u64,
}

impl Deed {
    /// The word for it in a scenario.
    pub fn word(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Delay(_) => "delay",
            Self::Duplicate => "duplicate",
            Self::Hurry => "hurry",
        }
    }
}

/// The script of a run while it is carried out. Whoever has an empty one never asks it.
#[derive(Debug)]
pub struct Script {
    /// In the order of the plan.
    messages: Vec<Awaited<(KindIndex, Seat, Seat), Deed>>,
    crashes: Vec<Awaited<(u8, Whose, Seat), ()>>,
    /// The label of the first of the messages; those of the crashes follow.
    first_label: usize,
}

/// Something that is to be done when it happens for the last of so many times.
#[derive(Debug)]
struct Awaited<T, D> {
    what: T,
    /// How many more times it has to happen; 0 once it is done.
    left: u64,
    deed: D,
}

impl<T: PartialEq, D> Awaited<T, D> {
    /// Takes in that this happened; whether that was the time that is meant.
    fn is_met_by(&mut self, what: &T) -> bool {
        if self.left == 0 || self.what != *what {
            return false;
        }
        self.left -= 1;
        self.left == 0
    }
}

impl Script {
    /// The script of that plan. What names a kind, a moment or a process that there is not is never
    /// met: a plan is checked before it is run.
    pub fn new(
        plan: &FaultPlan,
        view: &View,
        kinds: &[Kind],
        vocabulary: &Vocabulary,
        first_label: usize,
    ) -> Self {
        let none = Seat(u32::MAX);
        let seat = |id| view.seat(id).unwrap_or(none);
        let kind = |name: &str| {
            let place = kinds.iter().position(|kind| kind.name == name);
            place.and_then(|place| KindIndex::try_from(place).ok()).unwrap_or(KindIndex::MAX)
        };
        let messages = plan.messages.iter().map(|MessageFault { message, deed }| Awaited {
            what: (kind(&message.kind), seat(message.from), seat(message.to)),
            left: message.count,
            deed: *deed,
        });
        let crashes = plan.crashes_on.iter().map(|crash| {
            let (code, whose) = match vocabulary.moment(&crash.moment) {
                Some((word, moment)) => (word.code, moment.whose),
                None => (u8::MAX, Whose::Anybodys),
            };
            Awaited { what: (code, whose, seat(crash.process)), left: crash.count, deed: () }
        });
        Self { messages: messages.collect(), crashes: crashes.collect(), first_label }
    }

    /// Whether it says anything about messages.
    pub fn has_messages(&self) -> bool {
        !self.messages.is_empty()
    }

    /// What is to be done to the message that is sent now, and its label.
    pub fn on_sent(&mut self, kind: KindIndex, from: Seat, to: Seat) -> Option<(Deed, usize)> {
        let mut met = None;
        for (place, awaited) in self.messages.iter_mut().enumerate() {
            // Every one of them counts: two may await different ones of the same kind.
            if awaited.is_met_by(&(kind, from, to)) {
                met = Some((awaited.deed, self.first_label + place));
            }
        }
        met
    }

    /// The label of the crash that is due now that this was said to that process, or by it.
    pub fn on_said(&mut self, seat: Seat, said: &Said) -> Option<usize> {
        let mut met = None;
        for (place, awaited) in self.crashes.iter_mut().enumerate() {
            let (_, whose, _) = awaited.what;
            let is_meant = whose.is_met(said, seat);
            if is_meant && awaited.is_met_by(&(said.word.code, whose, seat)) {
                met = Some(self.first_label + self.messages.len() + place);
            }
        }
        met
    }
}

impl MessageFault {
    /// The whole of it, as a scenario has it: `delay request 2>3 #1 by 5ms`.
    pub fn label(&self) -> String {
        format!("{} {self}", self.deed.word())
    }
}

impl fmt::Display for MessageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}>{} #{}", self.kind, self.from, self.to, self.count)
    }
}

impl fmt::Display for MessageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.deed {
            Deed::Delay(by) => write!(f, "{} by {by}ms", self.message),
            Deed::Drop | Deed::Duplicate | Deed::Hurry => self.message.fmt(f),
        }
    }
}

impl fmt::Display for CrashOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.process, self.moment)?;
        if self.count == 1 { Ok(()) } else { write!(f, " #{}", self.count) }
    }
}
