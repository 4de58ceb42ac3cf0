//! What a trace has told so far: whether the next record can follow it.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{KindIndex, ProcessId, Seat, View};

use super::error::LineError;
use crate::family::Coherence;
use crate::{Event, MessageId, Part, Time, Vocabulary, What};

/// All that matters for what can happen next.
pub(super) struct History {
    view: View,
    now: Time,
    /// Whether nothing happened but what processes sent as they started, and what became of that.
    is_beginning: bool,
    /// By seat: whether it is down.
    is_down: Vec<bool>,
    /// What the family has to say of it.
    coherence: Option<Box<dyn Coherence>>,
    /// Every message ever sent: its number is never used again.
    messages: BTreeMap<MessageId, Message>,
}

struct Message {
    from: Seat,
    to: Seat,
    kind: KindIndex,
    /// Sent and duplicated, not yet received or lost.
    copies: u64,
}

impl History {
    pub(super) fn new(view: View, vocabulary: &Vocabulary) -> Self {
        Self {
            now: Time::ZERO,
            is_beginning: true,
            is_down: vec![false; view.len()],
            coherence: vocabulary.coherence.map(|coherence| coherence(view.len())),
            messages: BTreeMap::new(),
            view,
        }
    }

    /// Who takes part.
    pub(super) fn view(&self) -> &View {
        &self.view
    }

    /// Takes in an event whose seats are those of the view.
    pub(super) fn on(&mut self, event: &Event) -> Result<(), LineError> {
        let Event { at, seat, what } = *event;
        if at == Time::NEVER {
            return Err(LineError::Never);
        }
        if at < self.now {
            return Err(LineError::TimeFell { before: self.now, at });
        }
        self.now = at;
        self.on_place(event)?;
        match what {
            What::Sent { message, to, kind, .. } => {
                let sent = Message { from: seat, to, kind, copies: 1 };
                match self.messages.insert(message, sent) {
                    Some(_) => Err(LineError::SentTwice(message)),
                    None => Ok(()),
                }
            }
            What::Duplicated { message, to } => {
                self.message(message, seat, to)?.copies += 1;
                Ok(())
            }
            What::Lost { message, to, .. } => self.message(message, seat, to)?.arrive(message),
            What::Received { message, from, kind } => {
                let sent = self.message(message, from, seat)?;
                if sent.kind != kind {
                    return Err(LineError::OtherKind(message));
                }
                sent.arrive(message)
            }
            _ => Ok(()),
        }
    }

    fn on_place(&mut self, event: &Event) -> Result<(), LineError> {
        let Event { seat, what, .. } = *event;
        let (id, is_down) = (self.view.at(seat), &mut self.is_down[seat.index()]);
        let is_beginning = self.is_beginning;
        self.is_beginning &= matches!(what, What::Sent { .. }) || what.part() == Part::Fate;
        match what {
            What::Returned | What::Replaced if !*is_down => return Err(LineError::NotDown(id)),
            What::Returned | What::Replaced => *is_down = false,
            // What becomes of its messages and of the network around it needs no doing of its own.
            What::Lost { .. }
            | What::Duplicated { .. }
            | What::Cut { .. }
            | What::Healed { .. } => {}
            _ if *is_down => return Err(LineError::Down(id)),
            What::Crashed => *is_down = true,
            _ => {}
        }
        let coherent = self.coherence.as_mut().map_or(Ok(()), |it| it.on(event, is_beginning));
        coherent.map_err(|problem| LineError::Incoherent { id, problem })
    }

    /// The message of that number, if it was sent on that channel.
    fn message(
        &mut self,
        message: MessageId,
        from: Seat,
        to: Seat,
    ) -> Result<&mut Message, LineError> {
        let sent = self.messages.get_mut(&message).ok_or(LineError::NeverSent(message))?;
        if (sent.from, sent.to) == (from, to) {
            return Ok(sent);
        }
        let ids = |from, to| -> (ProcessId, ProcessId) { (self.view.at(from), self.view.at(to)) };
        let (here, sent) = (ids(from, to), ids(sent.from, sent.to));
        Err(LineError::OtherChannel { message, here, sent })
    }
}

impl Message {
    fn arrive(&mut self, message: MessageId) -> Result<(), LineError> {
        self.copies = self.copies.checked_sub(1).ok_or(LineError::Arrived(message))?;
        Ok(())
    }
}
