//! Until when a session is known to last.
//!
//! A session lives on a server, which ends it when it hears nothing for a while. Its owner must
//! know first. So the deadline is counted from the moment a request was *sent*, on the owner's own
//! clock, and moves only when an answer proves that the server counts from later than that.
//!
//! Invariant: the deadline never lies after the moment at which the server may first end the
//! session, as long as the two clocks run at rates that differ by less than [`MARGIN`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::BootTime;

/// One part in so many of the time to live is given up, in case our clock is slow or theirs fast.
const MARGIN: u32 = 50;

/// How sure a holder can be that it still is one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Standing {
    /// It holds, and the engine answers.
    Safe,
    /// It holds until the deadline, but the engine does not answer: it may be lost then.
    Jeopardy,
    /// It no longer holds.
    Lost,
}

/// The deadline of one session, shared by all that is held in it. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Tenure(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// In nanoseconds since the machine's start.
    deadline: AtomicU64,
    in_jeopardy: AtomicBool,
}

impl Tenure {
    /// Begins with a request that was sent at `sent` and opened a session with that time to live.
    pub fn begin(sent: BootTime, ttl: Duration) -> Self {
        Self(Arc::new(Shared {
            deadline: AtomicU64::new(nanoseconds(end_of(sent, ttl))),
            in_jeopardy: AtomicBool::new(false),
        }))
    }

    /// A request that was sent at `sent` is proved to have renewed the session for `ttl`. False if
    /// that comes too late: whoever asked after the deadline was told that it is over, and that is
    /// final.
    pub fn extend(&self, sent: BootTime, ttl: Duration) -> bool {
        let later = nanoseconds(end_of(sent, ttl));
        let extended =
            self.0.deadline.fetch_update(Ordering::AcqRel, Ordering::Acquire, |deadline| {
                let is_over = deadline <= nanoseconds(BootTime::now());
                // Answers may come in another order than the requests.
                (!is_over).then_some(deadline.max(later))
            });
        if extended.is_ok() {
            self.0.in_jeopardy.store(false, Ordering::Release);
        }
        extended.is_ok()
    }

    /// A request to renew it went unanswered.
    pub fn endanger(&self) {
        self.0.in_jeopardy.store(true, Ordering::Release);
    }

    /// Until when the session lasts for sure.
    pub fn deadline(&self) -> BootTime {
        BootTime::since_start(Duration::from_nanos(self.0.deadline.load(Ordering::Acquire)))
    }

    /// Whether the last request to renew it went unanswered.
    pub fn is_in_jeopardy(&self) -> bool {
        self.0.in_jeopardy.load(Ordering::Acquire)
    }
}

/// Until when a session lasts that was renewed by a request sent then.
fn end_of(sent: BootTime, ttl: Duration) -> BootTime {
    sent.plus(ttl - ttl / MARGIN)
}

fn nanoseconds(moment: BootTime) -> u64 {
    u64::try_from(moment.to_duration().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(10);

    #[test]
    fn a_deadline_counts_from_the_sending_and_leaves_a_margin() {
        let sent = BootTime::since_start(Duration::from_secs(1000));
        let tenure = Tenure::begin(sent, TTL);
        assert_eq!(tenure.deadline(), sent.plus(Duration::from_millis(9800)));
    }

    #[test]
    fn an_older_answer_that_comes_late_takes_nothing_back() {
        let sent = BootTime::now();
        let tenure = Tenure::begin(sent.plus(TTL), TTL);
        let deadline = tenure.deadline();
        assert!(tenure.extend(sent, TTL));
        assert_eq!(tenure.deadline(), deadline);
    }

    #[test]
    fn a_lapse_is_final() {
        let long_ago = BootTime::now().minus(2 * TTL);
        let tenure = Tenure::begin(long_ago, TTL);
        let deadline = tenure.deadline();
        assert!(deadline.is_past());
        assert!(!tenure.extend(BootTime::now(), TTL));
        assert_eq!(tenure.deadline(), deadline);
    }

    #[test]
    fn jeopardy_ends_with_the_next_answer() {
        let tenure = Tenure::begin(BootTime::now(), TTL);
        assert!(!tenure.is_in_jeopardy());
        tenure.endanger();
        assert!(tenure.is_in_jeopardy());
        tenure.extend(BootTime::now(), TTL);
        assert!(!tenure.is_in_jeopardy());
    }
}
