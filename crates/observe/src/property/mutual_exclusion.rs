//! Safety: at most one holder at any time.

use alloc::vec::Vec;

use conclave_core::{Renaming, Seat};

use super::aside::Aside;
use crate::family::locks::Seen;
use crate::{Event, Time};

/// Watches for two holders.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct MutualExclusion {
    holders: Vec<Seat>,
    broken: Option<TwoHolders>,
    times: Aside<u64>,
}

/// The first moment at which somebody entered while another was in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TwoHolders {
    /// When the second one entered.
    pub at: Time,
    /// Who was in.
    pub inside: Seat,
    /// Who entered all the same.
    pub entered: Seat,
}

impl MutualExclusion {
    /// Takes in an event. A holder that crashes holds no longer: it does nothing any more.
    pub fn on(&mut self, event: &Event) {
        match Seen::of(event.what) {
            Seen::Entered { .. } => {
                if let Some(&inside) = self.holders.first() {
                    let (at, entered) = (event.at, event.seat);
                    self.broken.get_or_insert(TwoHolders { at, inside, entered });
                    self.times.0 += 1;
                }
                self.holders.push(event.seat);
            }
            Seen::Left | Seen::Crashed => self.holders.retain(|&seat| seat != event.seat),
            _ => {}
        }
    }

    /// How often somebody entered while another was in.
    pub fn times(&self) -> u64 {
        self.times.0
    }

    /// What broke it, if anything did.
    pub fn broken(&self) -> Option<TwoHolders> {
        self.broken
    }

    /// This property's memory, with every process renamed.
    #[must_use]
    pub fn renamed(&self, names: &Renaming) -> Self {
        Self {
            holders: self.holders.iter().map(|&seat| names.seat(seat)).collect(),
            broken: self.broken.map(|TwoHolders { at, inside, entered }| TwoHolders {
                at,
                inside: names.seat(inside),
                entered: names.seat(entered),
            }),
            times: self.times,
        }
    }

    /// Who is in.
    pub fn holders(&self) -> &[Seat] {
        &self.holders
    }
}

#[cfg(test)]
mod tests {
    use conclave_core::Fence;

    use super::*;
    use crate::What;

    fn judge(history: &[(u32, What)]) -> Option<TwoHolders> {
        let mut property = MutualExclusion::default();
        for (at, &(seat, what)) in (0..).zip(history) {
            property.on(&Event { at: Time(at), seat: Seat(seat), what });
        }
        property.broken()
    }

    const IN: What = Seen::Entered { fence: Fence(1) }.what();
    const OUT: What = Seen::Left.what();

    #[test]
    fn accepts_holders_one_after_the_other() {
        assert_eq!(judge(&[(0, IN), (0, OUT), (1, IN), (1, OUT), (0, IN)]), None);
    }

    #[test]
    fn rejects_an_entry_while_another_is_in() {
        let broken = TwoHolders { at: Time(1), inside: Seat(0), entered: Seat(1) };
        assert_eq!(judge(&[(0, IN), (1, IN)]), Some(broken));
        assert_eq!(judge(&[(0, IN), (1, IN), (0, OUT), (1, OUT)]), Some(broken));
    }

    #[test]
    fn every_entry_while_another_is_in_is_counted() {
        let mut property = MutualExclusion::default();
        for (seat, what) in
            [(0, IN), (1, IN), (0, OUT), (1, OUT), (0, IN), (0, OUT), (1, IN), (0, IN)]
        {
            property.on(&Event { at: Time(0), seat: Seat(seat), what });
        }
        assert_eq!(property.times(), 2);
    }

    #[test]
    fn a_crashed_holder_holds_no_longer_but_a_paused_one_does() {
        assert_eq!(judge(&[(0, IN), (0, What::Crashed), (1, IN)]), None);
        assert!(judge(&[(0, IN), (0, What::Paused), (1, IN)]).is_some());
    }
}
