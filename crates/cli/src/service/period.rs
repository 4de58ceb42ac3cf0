//! At most one completed run per period, whoever comes first.
//!
//! The holder keeps a record with the lock: who ran the command, from when to when. Whoever gets
//! the lock next looks there first. Only the lock's holder writes it, so nobody can slip in
//! between.
//!
//! Two clocks are never quite the same, and cron is never quite punctual: a run that was started
//! two seconds late yesterday must not cancel the one that is started on time today. So a little
//! less than a period after the last start counts as a period.

#![expect(clippy::disallowed_types, reason = "periods are of real time")]

use std::time::{Duration, SystemTime};

use conclave_client::utc;
use serde::{Deserialize, Serialize};

/// A completed run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Who ran it.
    pub owner: String,
    /// When it began, in milliseconds since 1970.
    pub started: u64,
    /// When it ended.
    pub ended: u64,
}

/// What to do now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Run it: nobody has in this period.
    Due,
    /// Run, although the record is from the future: a clock was wrong by more than a period.
    DueDespiteClock(Run),
    /// Do not run it: somebody has in this period.
    AlreadyRun(Run),
}

/// Whether a run is due at `now`, given what was kept with the lock.
pub fn decision(kept: Option<&[u8]>, period: Duration, now: SystemTime) -> Decision {
    let Some(run) = kept.and_then(Run::decode) else { return Decision::Due };
    let (now, period) = (milliseconds(now), u64::try_from(period.as_millis()).unwrap_or(u64::MAX));
    if run.started > now.saturating_add(period) {
        return Decision::DueDespiteClock(run);
    }
    let tolerance = (period / 10).min(30_000);
    if now < run.started.saturating_add(period - tolerance) {
        Decision::AlreadyRun(run)
    } else {
        Decision::Due
    }
}

impl Run {
    /// What to keep with the lock.
    pub fn encode(&self) -> Vec<u8> {
        // An owner is short: label and host are.
        serde_json::to_vec(&Record { once: self.clone() }).unwrap_or_default()
    }

    /// `None` for a value that is something else: the lock was used for other things too.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().map(|record: Record| record.once)
    }
}

/// So that a value of somebody else is not mistaken for a run.
#[derive(Serialize, Deserialize)]
struct Record {
    once: Run,
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let moment = |at| utc(SystemTime::UNIX_EPOCH + Duration::from_millis(at));
        write!(f, "by {}, {} to {}", self.owner, moment(self.started), moment(self.ended))
    }
}

/// That moment in milliseconds since 1970.
pub fn milliseconds(moment: SystemTime) -> u64 {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The time of day. Tests of the whole program set the clocks of its processes apart; a release
/// build cannot.
pub fn now() -> SystemTime {
    #[cfg(debug_assertions)]
    if let Some(skew) =
        std::env::var("CONCLAVE_TEST_CLOCK_SKEW_MS").ok().and_then(|it| it.parse().ok())
    {
        let skew: i64 = skew;
        let by = Duration::from_millis(skew.unsigned_abs());
        return if skew < 0 { SystemTime::now() - by } else { SystemTime::now() + by };
    }
    SystemTime::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn at(seconds: i64) -> SystemTime {
        let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let by = Duration::from_secs(seconds.unsigned_abs());
        if seconds < 0 { noon - by } else { noon + by }
    }

    fn run() -> Vec<u8> {
        let (started, ended) = (milliseconds(at(0)), milliseconds(at(5)));
        Run { owner: "me".into(), started, ended }.encode()
    }

    fn is_due(after: i64) -> bool {
        !matches!(decision(Some(&run()), DAY, at(after)), Decision::AlreadyRun(_))
    }

    #[test]
    fn the_first_run_is_due_and_so_is_one_after_a_foreign_value() {
        assert_eq!(decision(None, DAY, at(0)), Decision::Due);
        assert_eq!(decision(Some(b"something else"), DAY, at(0)), Decision::Due);
    }

    #[test]
    fn clocks_that_differ_do_not_make_two_runs() {
        for seconds in [-2, 0, 2, 60, 3600, 80_000] {
            assert!(!is_due(seconds), "{seconds}");
        }
    }

    #[test]
    fn a_late_start_yesterday_does_not_cancel_todays() {
        assert!(is_due(86_400 - 2) && is_due(86_400) && is_due(86_400 + 2));
        assert!(!is_due(86_400 - 31));
    }

    #[test]
    fn a_clock_that_was_wrong_by_years_does_not_stop_it_for_years() {
        assert!(matches!(
            decision(Some(&run()), DAY, at(-1_000_000)),
            Decision::DueDespiteClock(_)
        ));
    }
}
