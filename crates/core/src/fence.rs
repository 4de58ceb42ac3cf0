//! The number that proves to a resource who came later.

use core::fmt;

/// A number that only grows with every entry into the critical section, so that a resource which
/// remembers the highest it has seen can refuse a holder that is late.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Fence(pub u64);

/// The fence rule, one for all algorithms: every permission, vote, acknowledgement, release and
/// token carries the highest fence its sender knows ([`known`](Self::known)), its receiver learns
/// it ([`learn`](Self::learn)), and an entry takes the highest it was told plus one
/// ([`enter`](Self::enter)).
///
/// Why it grows: whatever lets an algorithm exclude two holders is a chain of such messages from
/// each leave to the next entry, and the highest known fence never falls along a chain.
///
/// (A request's own stamp would not do: a process that re-enters without asking, as Roucairol and
/// Carvalho allow, can be followed by an older stamp.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
pub struct HighestFence(Fence);

impl HighestFence {
    /// The fence to put on an outgoing message.
    #[inline]
    pub fn known(&self) -> Fence {
        self.0
    }

    /// Takes in the fence of an incoming message.
    #[inline]
    pub fn learn(&mut self, told: Fence) {
        self.0 = self.0.max(told);
    }

    /// The fence of an entry that begins now.
    #[inline]
    pub fn enter(&mut self) -> Fence {
        self.0 = Fence(self.0.0 + 1);
        self.0
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_takes_the_highest_it_was_told_plus_one() {
        let mut fence = HighestFence::default();
        fence.learn(Fence(7));
        fence.learn(Fence(3));
        assert_eq!(fence.known(), Fence(7));
        assert_eq!(fence.enter(), Fence(8));
        assert_eq!(fence.known(), Fence(8), "what it entered with is what it tells others");
    }
}
