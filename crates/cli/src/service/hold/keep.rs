//! Holding without a command: for a script that does the work itself.
//!
//! The holder says `held FENCE` on its standard output and then waits until somebody sends it INT,
//! TERM or HUP, or until nobody can read that output any more. So a shell that reads it through a
//! descriptor holds the lock as long as the descriptor is open. There is no command to end, and so
//! no guard.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use conclave_client::Guard;
use nix::sys::signal::Signal;

use super::lapse::{Held, kill_after};
use super::{Ready, Stop};
use crate::exit;
use crate::wrapper::{Jeopardy, LockWatch};

/// How often the lock is looked at, at least.
const CHECK: Duration = Duration::from_millis(100);

impl Ready<'_> {
    /// Holds the lock until it is told to let go.
    pub fn keep(&mut self, guard: Guard) -> Result<u8, Stop> {
        let notice = kill_after(self.args, &guard)?;
        let mut output = io::stdout();
        let said = writeln!(output, "held {}", guard.fence()).and_then(|()| output.flush());
        match said {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let line = format!("cannot write the output: {error}");
                return Err(Stop::Refused(line, exit::UNAVAILABLE));
            }
            // Nobody reads: the wait below sees it.
            _ => {}
        }
        let mut jeopardy = Jeopardy::default();
        let held = Held(&guard);
        loop {
            let lost = |reason: &str| Stop::Refused(format!("lock lost: {reason}"), exit::LOST);
            if let Some(reason) = held.lost() {
                return Err(lost(&reason));
            }
            if held.deadline().is_some_and(|it| it.minus(notice).is_past()) {
                // Whoever uses it is told now, and has the time until the deadline to stop: so it
                // must not be let go before.
                self.leave_held(guard);
                return Err(lost("not renewed before its deadline"));
            }
            jeopardy.tell(&guard.resource().to_string(), &held);
            let ended = self.signals.wait_for_end(Some(output.as_fd()), CHECK);
            match ended.map_err(Stop::cannot_watch)? {
                (None, false) => {}
                (Some(Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP) | None, _) => break,
                (Some(other), _) => return Err(Stop::Signal(other)),
            }
        }
        self.say(|| format!("{} let go", guard.resource()));
        self.release(guard).map(|()| 0)
    }

    /// Waits out `--min-hold`, if the lock lasts so long.
    pub fn wait_out(&mut self, guard: &Guard, since: Instant) -> Result<(), Stop> {
        let mut jeopardy = Jeopardy::default();
        while let Some(rest) = self.args.min_hold.checked_sub(since.elapsed()) {
            if let Some(loss) = guard.loss() {
                let line = format!("lock lost: {loss}; the command had ended before");
                return Err(Stop::Refused(line, exit::LOST));
            }
            jeopardy.tell(&guard.resource().to_string(), &Held(guard));
            let ended = self.signals.wait_for_end(None, rest.min(CHECK));
            if let (Some(signal), _) = ended.map_err(Stop::cannot_watch)? {
                return Err(Stop::Signal(signal));
            }
        }
        Ok(())
    }
}
