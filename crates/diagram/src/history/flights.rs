//! The journey of each message, from its sending to whatever became of it.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use conclave_core::{KindIndex, Seat};
use conclave_observe::trace::Record;
use conclave_observe::{LossCause, MessageId, Time, What};

use crate::scene::Fate;

/// The journey of one message, or of one more copy of it.
pub(crate) struct Flight {
    pub message: MessageId,
    pub kind: KindIndex,
    pub from: Seat,
    pub to: Seat,
    pub sent: Time,
    pub fate: Fate,
    /// Whether the network made it.
    pub is_copy: bool,
    /// Whether it is one of many that are sent for ever: where nothing else is, it is left out.
    pub is_upkeep: bool,
    /// Whether it is drawn faintly, as the background of others. A token among beats is upkeep, but
    /// it is what decides who enters, and must be seen.
    pub is_background: bool,
    /// What it says, where the trace tells.
    pub text: Option<String>,
    /// When it would have arrived, or did.
    pub arrival: Time,
    /// Whether the trace says so, or it is but likely.
    pub is_told: bool,
}

impl Flight {
    /// How long it took, if it arrived.
    pub fn delay(&self) -> Option<Time> {
        match self.fate {
            Fate::Received { at } => Some(at - self.sent),
            Fate::Lost { .. } | Fate::InFlight => None,
        }
    }

    /// Until when it can be seen on its way; for ever, if nothing is known of its end.
    pub fn until(&self) -> Option<Time> {
        match self.fate {
            Fate::Received { at } => Some(at),
            Fate::Lost { cause: LossCause::ReceiverDown } => Some(self.arrival),
            Fate::Lost { .. } if self.is_told => Some(self.arrival),
            Fate::Lost { .. } => {
                let way = u128::from((self.arrival - self.sent).0) * u128::from(self.lost_after());
                Some(self.sent + Time(u64::try_from(way / 100).unwrap_or(u64::MAX)))
            }
            Fate::InFlight => None,
        }
    }
}

impl Flight {
    /// How many percent of its way a message comes that the network loses: about half, but not just
    /// to the lifeline of somebody in between, who has nothing to do with it.
    pub fn lost_after(&self) -> u8 {
        match self.from.index().abs_diff(self.to.index()) {
            2 => 32,
            4 => 41,
            even if even % 2 == 0 => 45,
            _ => 50,
        }
    }
}

/// Joins sendings with what became of them.
#[derive(Default)]
pub(super) struct Flights {
    pub all: Vec<Flight>,
    by_message: BTreeMap<MessageId, Copies>,
}

/// Where the journeys of one message are in the list.
struct Copies {
    first: usize,
    /// Those of which nothing more is known yet.
    pending: VecDeque<usize>,
}

impl Flights {
    pub fn on(&mut self, record: &Record) {
        let event = &record.event;
        match event.what {
            What::Sent { message, to, kind, .. } => {
                let copies =
                    Copies { first: self.all.len(), pending: VecDeque::from([self.all.len()]) };
                self.by_message.insert(message, copies);
                self.all.push(Flight {
                    message,
                    kind,
                    from: event.seat,
                    to,
                    sent: event.at,
                    fate: Fate::InFlight,
                    is_copy: false,
                    is_upkeep: false,
                    is_background: false,
                    text: record.text.clone(),
                    arrival: Time::ZERO,
                    is_told: false,
                });
            }
            What::Duplicated { message, .. } => self.duplicate(message),
            What::Received { message, .. } => {
                let at = event.at;
                if let Some(flight) = self.land(message, at, Fate::Received { at }) {
                    flight.text = flight.text.take().or_else(|| record.text.clone());
                }
            }
            What::Lost { message, cause, .. } => {
                self.land(message, event.at, Fate::Lost { cause });
            }
            _ => {}
        }
    }

    fn duplicate(&mut self, message: MessageId) {
        let Some(copies) = self.by_message.get_mut(&message) else { return };
        let Flight { kind, from, to, sent, ref text, .. } = self.all[copies.first];
        let (text, fate) = (text.clone(), Fate::InFlight);
        copies.pending.push_back(self.all.len());
        self.all.push(Flight {
            message,
            kind,
            from,
            to,
            sent,
            fate,
            is_copy: true,
            is_upkeep: false,
            is_background: false,
            text,
            arrival: Time::ZERO,
            is_told: false,
        });
    }

    /// Copies cannot be told apart; the one that arrives first counts as the original.
    fn land(&mut self, message: MessageId, at: Time, fate: Fate) -> Option<&mut Flight> {
        let index = self.by_message.get_mut(&message)?.pending.pop_front()?;
        let flight = &mut self.all[index];
        (flight.fate, flight.arrival) = (fate, at);
        Some(flight)
    }

    /// All of them, each with a time of arrival: what was lost on the way is told when it is sent,
    /// and has to be drawn as if it took the typical `delay`.
    pub fn landed(
        mut self,
        delay: Time,
        is_upkeep: impl Fn(KindIndex) -> bool,
        is_token: impl Fn(KindIndex) -> bool,
    ) -> Vec<Flight> {
        for flight in &mut self.all {
            flight.is_told = flight.arrival > flight.sent;
            if !flight.is_told && !matches!(flight.fate, Fate::Received { .. }) {
                flight.arrival = flight.sent + delay;
            }
        }
        let is_meant = |flight: &Flight| is_upkeep(flight.kind);
        let most = most_at_once(self.all.iter().filter(|it| is_meant(it) && !it.is_copy));
        for flight in self.all.iter_mut().filter(|it| is_meant(it)) {
            flight.is_upkeep = most > UPKEEP_SEEN;
            flight.is_background = flight.is_upkeep && !is_token(flight.kind);
        }
        self.all
    }
}

/// With more upkeep than that under way at once, it is the background of whatever else happens: so
/// are the beats of all to all. A token that wanders is one message, and all that there is to see.
const UPKEEP_SEEN: usize = 2;

/// How many are under way at once, at most.
fn most_at_once<'a>(flights: impl Iterator<Item = &'a Flight>) -> usize {
    let turns = flights.flat_map(|flight| [(flight.sent, true), (flight.arrival, false)]);
    let mut turns: Vec<(Time, bool)> = turns.collect();
    // At the same time, what arrives makes room for what is sent.
    turns.sort_unstable();
    let under_way = turns.iter().scan(0_usize, |count, &(_, is_sent)| {
        *count = if is_sent { *count + 1 } else { count.saturating_sub(1) };
        Some(*count)
    });
    under_way.max().unwrap_or(0)
}
