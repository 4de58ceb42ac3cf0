//! When what is done to a command whose lock is safely held only until a deadline.

use std::time::Duration;

use conclave_client::BootTime;

/// So long before the deadline KILL is sent to what is left. The last of it must be dead when the
/// next holder begins; on a busy machine the sending and the dying take a while.
pub const KILL_MARGIN: Duration = Duration::from_millis(100);

/// What happens before a deadline, and when. Wrapper and guard act at the same moments, each by
/// itself: one of them may be stopped or dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moments {
    /// The group is asked to end. Never after [`kill`](Self::kill).
    pub(super) warn: BootTime,
    /// The group is made to end.
    pub(super) kill: BootTime,
}

impl Moments {
    /// The group is asked `notice` before the deadline. With no notice it is not asked at all.
    pub(super) fn before(deadline: BootTime, notice: Duration) -> Self {
        let kill = deadline.minus(KILL_MARGIN);
        Self { warn: deadline.minus(notice).min(kill), kill }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warning_comes_first_and_the_end_before_the_deadline() {
        let deadline = BootTime::since_start(Duration::from_secs(100));
        for notice in [0, 1, 50, 2000, 1_000_000] {
            let moments = Moments::before(deadline, Duration::from_millis(notice));
            assert!(moments.warn <= moments.kill && moments.kill < deadline, "{notice} ms");
        }
    }
}
