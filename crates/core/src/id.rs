//! Who takes part.

use core::fmt;

/// The name of a process, unique within its view: the number that algorithms compare.
///
/// Names need not be dense: 3, 5, 6, 12, 32, 80 are six processes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct ProcessId(pub u32);

/// A place in a view, counted from 0: what tables are indexed by, where a name would be too sparse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Seat(pub u32);

impl Seat {
    /// The seat as an index into a table with one row per member.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The seat that belongs to row `index` of such a table.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "a view never has 2^32 members")]
    pub fn at(index: usize) -> Self {
        Self(index as u32)
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}
