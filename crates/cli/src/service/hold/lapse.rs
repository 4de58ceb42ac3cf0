//! Locks that lapse: how long they last, and how long their commands may take to end.

use std::time::Duration;

use conclave_client::{BootTime, Guard, Standing};

use super::Stop;
use crate::service::words::HoldArgs;
use crate::wrapper::LockWatch;

/// What `--kill-after` is by default for a lock that is held until it is let go.
const DEFAULT_KILL_AFTER: Duration = Duration::from_secs(10);

/// What it is by default for a lock with a deadline, unless that is more than half of its time to
/// live.
const DEFAULT_KILL_AFTER_WITH_DEADLINE: Duration = Duration::from_secs(2);

/// Says what is wrong with `--ttl` and `--kill-after` before anybody waits for a lock.
pub fn check_times(args: &HoldArgs, engine: &str) -> Result<(), Stop> {
    if lapse(engine) {
        with_deadline(args.kill_after, args.ttl_or_default()).map(drop)
    } else if args.ttl.is_some() {
        Err(Stop::usage(&format!(
            "--ttl is for engines whose locks lapse; those of {engine} are held until they are let \
             go"
        )))
    } else {
        Ok(())
    }
}

/// Whether the locks of that engine have a deadline.
fn lapse(engine: &str) -> bool {
    !matches!(engine, "local" | "memory")
}

/// How long the command may take to end, where that is known before there is a lock.
pub fn kill_after_ahead(args: &HoldArgs, engine: &str) -> Option<Duration> {
    with_deadline(args.kill_after, args.ttl_or_default()).ok().filter(|_| lapse(engine))
}

/// How long the command may take to end under this lock.
pub fn kill_after(args: &HoldArgs, guard: &Guard) -> Result<Duration, Stop> {
    match guard.deadline() {
        Some(_) => with_deadline(args.kill_after, args.ttl_or_default()),
        None => Ok(args.kill_after.unwrap_or(DEFAULT_KILL_AFTER)),
    }
}

fn with_deadline(asked: Option<Duration>, ttl: Duration) -> Result<Duration, Stop> {
    let most = ttl / 2;
    match asked {
        Some(asked) if asked > most => Err(Stop::usage(&format!(
            "--kill-after is at most half of --ttl, which is {} s: say at most {}, or a longer \
             --ttl",
            ttl.as_secs_f64(),
            most.as_secs_f64(),
        ))),
        Some(asked) => Ok(asked),
        None => Ok(most.min(DEFAULT_KILL_AFTER_WITH_DEADLINE)),
    }
}

/// How it stands with a lock, for who watches over its command.
pub struct Held<'a>(pub &'a Guard);

impl LockWatch for Held<'_> {
    fn lost(&self) -> Option<String> {
        self.0.loss().map(|loss| loss.to_string())
    }

    fn deadline(&self) -> Option<BootTime> {
        self.0.deadline()
    }

    fn is_in_jeopardy(&self) -> bool {
        self.0.standing() == Standing::Jeopardy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(asked: Option<f64>, ttl: f64) -> Option<f64> {
        let asked = asked.map(Duration::from_secs_f64);
        with_deadline(asked, Duration::from_secs_f64(ttl)).ok().map(|it| it.as_secs_f64())
    }

    #[test]
    fn a_command_has_half_of_the_time_to_live_at_most() {
        assert_eq!(seconds(None, 10.0), Some(2.0));
        assert_eq!(seconds(None, 3.0), Some(1.5));
        assert_eq!(seconds(Some(5.0), 10.0), Some(5.0));
        assert_eq!(seconds(Some(0.0), 10.0), Some(0.0));
        assert_eq!(seconds(Some(5.1), 10.0), None);
    }
}
