//! What is on its way from one process to another.

use conclave_core::{Message, Phase};
use smallvec::SmallVec;

use super::rules::MESSAGES_MAX;
use super::table::{PartId, Table};
use super::{Channels, Ticks};
use crate::Fingerprint;

/// The messages of one channel: oldest first, or in no order that means anything.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Channel<M>(pub(crate) SmallVec<[InFlight<M>; 2]>);

/// A message on its way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct InFlight<M> {
    pub(crate) message: M,
    /// In how many ticks it must have arrived; 0 where time is not counted.
    pub(crate) due_in: u16,
}

/// What is worth knowing of a channel.
#[derive(Clone, Debug)]
pub(crate) struct ChannelInfo {
    /// Each message that can arrive next.
    pub(crate) next: SmallVec<[Next; 2]>,
    /// Whether one of its messages belongs to a call.
    pub(crate) has_call: bool,
    /// Whether one must arrive before time passes.
    pub(crate) is_due: bool,
}

/// A message that can arrive next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    /// What tells it apart from the others of its channel.
    pub(crate) tag: u16,
    pub(crate) message: PartId,
    /// The channel without it.
    pub(crate) rest: PartId,
}

/// All channels and messages there are.
pub(crate) struct Wires<M> {
    pub(crate) order: Channels,
    pub(crate) messages: Table<M, KindBit>,
    pub(crate) channels: Table<Channel<M>, ChannelInfo>,
}

/// The kind of a message, as one bit.
pub(crate) type KindBit = u32;

/// The channel with nothing in it.
pub(crate) const EMPTY: PartId = 0;

impl<M: Message> Wires<M> {
    pub(crate) fn new(order: Channels) -> Self {
        let wires = Self {
            order,
            messages: Table::of_at_most(MESSAGES_MAX),
            channels: Table::of_at_most(PartId::MAX),
        };
        let empty = wires.channel(Channel(SmallVec::new()));
        debug_assert_eq!(empty, EMPTY);
        wires
    }

    pub(crate) fn message(&self, message: &M) -> PartId {
        self.messages.id(message.clone(), |message| 1 << (message.kind() % 32))
    }

    /// The number of a channel, once its messages stand in their order.
    pub(crate) fn channel(&self, mut channel: Channel<M>) -> PartId {
        if self.order == Channels::Unordered {
            channel.0.sort_by_cached_key(Fingerprint::of);
        }
        self.channels.id(channel, |channel| self.info(channel))
    }

    fn info(&self, channel: &Channel<M>) -> ChannelInfo {
        let places = match self.order {
            Channels::Fifo => channel.0.len().min(1),
            Channels::Unordered => channel.0.len(),
        };
        let mut next = SmallVec::<[Next; 2]>::new();
        for place in 0..places {
            let twin = place > 0 && channel.0[place] == channel.0[place - 1];
            if !twin {
                let rest = self.channel(channel.without(place));
                let message = self.message(&channel.0[place].message);
                next.push(Next { tag: self.tag(channel, place), message, rest });
            }
        }
        let is_call =
            |it: &InFlight<M>| M::KINDS[usize::from(it.message.kind())].phase != Phase::Upkeep;
        ChannelInfo {
            next,
            has_call: channel.0.iter().any(is_call),
            is_due: channel.0.iter().any(|it| it.due_in == 0),
        }
    }

    /// What tells a message apart from the others of its channel: its place where there is an
    /// order, what it says where there is none.
    pub(crate) fn tag(&self, channel: &Channel<M>, place: usize) -> u16 {
        #[allow(clippy::cast_possible_truncation, reason = "a tag is but a part of it")]
        match self.order {
            Channels::Fifo => place as u16,
            Channels::Unordered => {
                let tag = |at: usize| (Fingerprint::of(&channel.0[at].message).0 as u16) & !15;
                let same = (0..place).filter(|&at| tag(at) == tag(place)).count();
                tag(place) + same as u16
            }
        }
    }

    /// The place of the message with that tag.
    pub(crate) fn place(&self, channel: &Channel<M>, tag: u16) -> Option<usize> {
        (0..channel.0.len()).find(|&place| self.tag(channel, place) == tag)
    }
}

impl<M: Message> Channel<M> {
    /// This channel, with every message renamed.
    pub(crate) fn renamed(&self, rename: impl Fn(&M) -> M) -> Self {
        let renamed =
            |it: &InFlight<M>| InFlight { message: rename(&it.message), due_in: it.due_in };
        Self(self.0.iter().map(renamed).collect())
    }
}

impl<M: Clone> Channel<M> {
    pub(crate) fn without(&self, place: usize) -> Self {
        let mut rest = self.clone();
        rest.0.remove(place);
        rest
    }

    pub(crate) fn with(&self, message: M, due_in: Ticks) -> Self {
        let mut more = self.clone();
        more.0.push(InFlight { message, due_in: due_in.count });
        more
    }

    /// One more of what is there, behind all others.
    pub(crate) fn with_copy(&self, place: usize) -> Self {
        let mut more = self.clone();
        more.0.push(self.0[place].clone());
        more
    }

    /// This channel, a tick later.
    pub(crate) fn later(&self) -> Self {
        let mut later = self.clone();
        for flight in &mut later.0 {
            flight.due_in = flight.due_in.saturating_sub(1);
        }
        later
    }
}
