//! How many messages, of which kind, and who had to handle them.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{Kind, Phase};

use super::Herd;
use crate::{Event, What};

/// Counts messages of the network; one to oneself is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bandwidth {
    kinds: Vec<Kind>,
    sent: Vec<u64>,
    transmissions: u64,
    delivered: u64,
    handled: Vec<u64>,
    /// One bit for each kind that wakes somebody.
    wakes: u64,
    herd: Herd,
}

impl Bandwidth {
    /// For `members` processes that speak in these kinds of messages.
    pub fn new(members: usize, kinds: &[Kind]) -> Self {
        let is_wake = |(_, kind): &(usize, &Kind)| kind.phase == Phase::Wake;
        let wakes =
            kinds.iter().enumerate().filter(is_wake).map(|(index, _)| 1_u64 << (index % 64));
        Self {
            wakes: wakes.sum(),
            herd: Herd::default(),
            kinds: kinds.to_vec(),
            sent: vec![0; kinds.len()],
            transmissions: 0,
            delivered: 0,
            handled: vec![0; members],
        }
    }

    /// Takes in an event.
    #[inline]
    pub fn on(&mut self, event: &Event) {
        match event.what {
            What::Sent { to, kind, copy, .. } if to != event.seat => {
                self.sent[usize::from(kind)] += 1;
                self.transmissions += u64::from(!copy);
                if self.wakes >> (kind % 64) & 1 == 1 {
                    self.herd.on_wake(event.at, event.seat, to);
                }
            }
            What::Received { from, .. } if from != event.seat => {
                self.delivered += 1;
                self.handled[event.seat.index()] += 1;
            }
            _ => {}
        }
    }

    /// All messages sent.
    pub fn sent(&self) -> u64 {
        self.sent.iter().sum()
    }

    /// All messages sent, a multicast counted as one.
    pub fn transmissions(&self) -> u64 {
        self.transmissions
    }

    /// All messages that arrived.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Each kind and how many of it were sent.
    pub fn by_kind(&self) -> impl Iterator<Item = (Kind, u64)> + '_ {
        self.kinds.iter().copied().zip(self.sent.iter().copied())
    }

    /// How many were spent on that.
    pub fn in_phase(&self, phase: Phase) -> u64 {
        self.by_kind().filter(|(kind, _)| kind.phase == phase).map(|(_, sent)| sent).sum()
    }

    /// The most that were woken at once.
    pub fn herd(&self) -> u64 {
        self.herd.most()
    }

    /// How many messages each process handled, by seat.
    pub fn handled(&self) -> &[u64] {
        &self.handled
    }
}
