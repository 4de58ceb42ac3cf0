//! A clock for deadlines.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// A moment on the clock that runs since the machine was started, also while it is suspended. No
/// one can set it. Deadlines are told on it: a machine that slept through one must see that.
///
/// It means something on this machine alone, until it is started again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BootTime(Duration);

impl BootTime {
    /// The present moment.
    ///
    /// # Panics
    /// If the kernel has no such clock: it is older than 2.6.39.
    pub fn now() -> Self {
        let now = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("Linux has had it since 2011");
        Self(now.into())
    }

    /// The moment so long after the machine was started.
    pub const fn since_start(duration: Duration) -> Self {
        Self(duration)
    }

    /// How long after the machine's start it is.
    pub const fn to_duration(self) -> Duration {
        self.0
    }

    /// How long it is from `earlier` to this; zero if it is not earlier.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// How long it is from now to this; zero if it is past.
    #[must_use]
    pub fn left(self) -> Duration {
        self.since(Self::now())
    }

    /// Whether it is past, or just now.
    pub fn is_past(self) -> bool {
        self <= Self::now()
    }

    /// The moment that comes so much later.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by))
    }

    /// So much earlier, but not before the machine's start.
    #[must_use]
    pub fn minus(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_forwards() {
        let before = BootTime::now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(before.is_past());
        assert_eq!(before.left(), Duration::ZERO);
        assert!(BootTime::now().since(before) >= Duration::from_millis(2));
        assert!(!before.plus(Duration::from_secs(60)).is_past());
    }
}
