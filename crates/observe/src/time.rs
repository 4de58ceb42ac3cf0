//! When something happened.

use core::fmt;
use core::ops::{Add, Sub};
use core::time::Duration;

/// A moment of a run, or the distance of two, in nanoseconds of that run's own time.
///
/// Where every message takes exactly one delay, time is counted in [`Time::DELAY`]s, as the
/// textbooks do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// The beginning of a run.
    pub const ZERO: Self = Self(0);
    /// The end of all times: later than any event.
    pub const NEVER: Self = Self(u64::MAX);
    /// One message delay of the network in which each takes the same: a millisecond.
    pub const DELAY: Self = Self(1_000_000);

    /// That many message delays.
    pub const fn delays(count: u64) -> Self {
        Self(count.saturating_mul(Self::DELAY.0))
    }

    /// The time that is that long after the beginning; [`Time::NEVER`] if it is too long to count.
    pub fn of(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }

    /// How long this is, for protocols: they know durations, not times of a run.
    pub const fn as_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// This time, counted in message delays.
    #[allow(clippy::cast_precision_loss, reason = "figures are printed with few digits")]
    pub fn in_delays(self) -> f64 {
        self.0 as f64 / Self::DELAY.0 as f64
    }
}

impl Add for Time {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Time {
    type Output = Self;
    #[inline]
    fn sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

/// In milliseconds (which are message delays where all are alike), without needless zeros.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / Self::DELAY.0, self.0 % Self::DELAY.0);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let (mut digits, mut width) = (rest, 6);
        while digits % 10 == 0 {
            digits /= 10;
            width -= 1;
        }
        write!(f, "{whole}.{digits:0width$}")
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}ms")
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_time_is_shown_without_needless_zeros() {
        assert_eq!(Time::delays(12).to_string(), "12");
        assert_eq!(Time(1_500_000).to_string(), "1.5");
        assert_eq!(Time(2_000_001).to_string(), "2.000001");
        assert_eq!(Time(30_400).to_string(), "0.0304");
    }
}
