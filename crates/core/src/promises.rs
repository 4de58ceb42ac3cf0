//! What an algorithm keeps, as long as it gets what it needs: what a judge holds it to.

/// A set of promises. Which there are, each family says, e.g. [`mutex::ORDERING`](crate::mutex).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Promises(u32);

impl Promises {
    /// Nothing beyond what every member of the family keeps.
    pub const NONE: Self = Self(0);

    /// The promise of that number, alone.
    pub const fn number(number: u32) -> Self {
        Self(1 << number)
    }

    /// These promises, and `more`.
    #[must_use]
    pub const fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    /// Whether all of those are among these.
    pub const fn keeps(self, those: Self) -> bool {
        self.0 & those.0 == those.0
    }

    /// Whether any of those is among these.
    pub const fn keeps_any(self, those: Self) -> bool {
        self.0 & those.0 != 0
    }

    /// The numbers of these.
    pub fn numbers(self) -> impl Iterator<Item = u32> {
        (0..u32::BITS).filter(move |number| self.0 >> number & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_keeps_what_was_put_in_and_no_more() {
        let both = Promises::number(0).and(Promises::number(5));
        assert!(both.keeps(Promises::number(5)) && both.keeps(both) && both.keeps(Promises::NONE));
        assert!(!both.keeps(Promises::number(1).and(Promises::number(5))));
        assert!(both.keeps_any(Promises::number(1).and(Promises::number(5))));
        assert!(!both.keeps_any(Promises::number(1)) && !both.keeps_any(Promises::NONE));
        assert_eq!(both.numbers().collect::<alloc::vec::Vec<_>>(), [0, 5]);
    }
}
