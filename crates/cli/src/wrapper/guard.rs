//! The guard: a second process that outlives the wrapper for as long as the command's group lives.
//!
//! It holds a copy of the lock's descriptor and reads orders from a pipe whose other end only the
//! wrapper has. The orders are lines: first the number of the group, unless it is among the
//! arguments, then perhaps `linger`. The end of the pipe without `linger` means that the wrapper
//! has died.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::process::{Command, ExitCode};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, close, dup2_stderr, getpid, pipe2, write};

use super::group::{Group, Members, group_marked_with};
use super::say;
use super::spawn::{Start, spawn};

/// The first argument of a process that shall be a guard.
pub const GUARD_WORD: &str = "__guard";

/// A variable of the command's environment, with the number of its first guard. A guard whose
/// wrapper was killed before it could tell the group finds the command by it.
pub const GUARD_VARIABLE: &str = "CONCLAVE_GUARD";

const LINGER: &str = "linger";
/// A guard that dies at once is not replaced more often than this.
const BETWEEN_STARTS: Duration = Duration::from_millis(100);
/// A guard that lasted so long did not die in a row with the one before.
const STEADY: Duration = Duration::from_secs(10);
const DEATHS_WORTH_A_WARNING: u32 = 3;

/// What the guard keeps the lock held with.
#[derive(Clone, Copy)]
pub struct GuardLock<'a> {
    /// A descriptor whose copies keep the lock held. It is close-on-exec.
    pub descriptor: BorrowedFd<'a>,
    /// Lets go of it in all copies at once, if it is not also the command's. Then whoever is next
    /// need not wait for the guard's death.
    pub let_go: Option<&'a dyn Fn()>,
}

/// The wrapper's side of the guard. When this is dropped, the guard ends the group.
pub(super) struct Guard<'a> {
    lock: Option<GuardLock<'a>>,
    kill_after: Duration,
    group: Option<Group>,
    running: Option<Running>,
    last_start: Instant,
    deaths_in_a_row: u32,
}

/// A guard that is dying. To die takes a while, on a busy machine a long one; dropping this waits
/// for it, so that nothing of it is left.
#[derive(Debug)]
pub struct Dismissed(Option<Pid>);

impl Drop for Dismissed {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            while waitpid(pid, None) == Err(Errno::EINTR) {}
        }
    }
}

struct Running {
    pid: Pid,
    orders: OwnedFd,
}

impl<'a> Guard<'a> {
    /// Starts the guard. It holds `lock` from now on, and waits to hear of a group.
    pub(super) fn start(lock: Option<GuardLock<'a>>, kill_after: Duration) -> io::Result<Self> {
        let mut guard = Self {
            lock,
            kill_after,
            group: None,
            running: None,
            last_start: Instant::now(),
            deaths_in_a_row: 0,
        };
        guard.start_process()?;
        Ok(guard)
    }

    fn start_process(&mut self) -> io::Result<()> {
        self.last_start = Instant::now();
        let (orders_in, orders) = pipe2(OFlag::O_CLOEXEC)?;
        let inherited = self.lock.map(|lock| lock.descriptor);
        let lock_number = inherited.map_or(-1, |lock| lock.as_raw_fd());
        // Not the path of the program: an upgrade may have replaced what is found there.
        let mut command = Command::new("/proc/self/exe");
        command.arg(GUARD_WORD).arg(self.kill_after.as_millis().to_string());
        command.arg(lock_number.to_string());
        // A guard that replaces another one knows the group from its first instruction on.
        command.args(self.group.map(|group| group.id().to_string()));
        // From its first instruction on, no signal but SIGKILL ends it.
        let start = Start { blocked: &SigSet::all(), inherited, input: Some(orders_in.as_fd()) };
        self.running = Some(Running { pid: spawn(&command, &start)?, orders });
        Ok(())
    }

    /// The number of the guard's process.
    pub(super) fn id(&self) -> Option<Pid> {
        self.running.as_ref().map(|running| running.pid)
    }

    /// Tells the guard which group it has to end when the wrapper dies.
    pub(super) fn watch(&mut self, group: Group) {
        self.group = Some(group);
        if let Some(running) = &self.running {
            // If it has died already, the one that replaces it will know.
            let _ = running.order(&group.id().to_string());
        }
    }

    /// Reaps a guard that was killed.
    pub(super) fn notice_death(&mut self) {
        let Some(running) = &self.running else { return };
        if waitpid(running.pid, Some(WaitPidFlag::WNOHANG)) == Ok(WaitStatus::StillAlive) {
            return;
        }
        self.running = None;
        if self.last_start.elapsed() > STEADY {
            self.deaths_in_a_row = 0;
        }
        self.deaths_in_a_row += 1;
        if self.deaths_in_a_row == DEATHS_WORTH_A_WARNING {
            say("the guard process keeps dying; it is started again each time");
        }
    }

    /// How long until a missing guard may be replaced; none if there is one.
    pub(super) fn due_in(&self) -> Option<Duration> {
        let missing = self.running.is_none();
        missing.then(|| BETWEEN_STARTS.saturating_sub(self.last_start.elapsed()))
    }

    /// Replaces a guard that has died, once it is time. If that fails, it is tried again later.
    pub(super) fn replace_if_due(&mut self) {
        if self.due_in() == Some(Duration::ZERO)
            && let Err(error) = self.start_process()
        {
            say(&format!("cannot start the guard process: {error}"));
        }
    }

    /// Ends the guard. It does not keep the lock held any more when this returns.
    pub(super) fn dismiss(mut self) -> Dismissed {
        let Some(running) = self.running.take() else { return Dismissed(None) };
        let _ = kill(running.pid, Signal::SIGKILL);
        let dying = Dismissed(Some(running.pid));
        match self.lock.and_then(|lock| lock.let_go) {
            Some(let_go) => {
                let_go();
                dying
            }
            // Only its death closes its copy.
            None => {
                drop(dying);
                Dismissed(None)
            }
        }
    }

    /// Leaves the guard behind, to hold the lock until the last member of the group has ended.
    /// Dismisses it if that has happened before a guard could be had.
    pub(super) fn leave_behind(mut self, members: &mut Members) -> Option<Dismissed> {
        loop {
            if let Some(running) = &self.running
                && running.order(LINGER).is_ok()
            {
                return None;
            }
            // Killed, then. The lock may not be let go before there is another one.
            self.notice_death();
            if let Err(error) = self.start_process() {
                say(&format!("cannot start the guard process: {error}"));
                sleep(BETWEEN_STARTS);
            }
            if !members.any_lives() {
                return Some(self.dismiss());
            }
        }
    }
}

impl Running {
    /// A line is shorter than what a pipe takes in one piece.
    fn order(&self, line: &str) -> nix::Result<()> {
        write(&self.orders, format!("{line}\n").as_bytes()).map(drop)
    }
}

/// The guard's own `main`. `arguments` are those behind [`GUARD_WORD`].
///
/// All signals are blocked already: the wrapper has started it so.
pub fn guard_main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut number = || -> Option<i64> { arguments.next()?.to_str()?.parse().ok() };
    let (Some(kill_after), Some(lock)) = (number(), number()) else {
        say("the guard is started by `conclave lock` alone");
        return ExitCode::FAILURE;
    };
    // It was started as /proc/self/exe, and would be listed as `exe`.
    let _ = fs::write("/proc/self/comm", "conclave-guard");
    let kill_after = Duration::from_millis(u64::try_from(kill_after).unwrap_or(u64::MAX));

    let mut orders = io::stdin().lock().lines().map_while(Result::ok);
    let group = match arguments.next() {
        Some(word) => word.into_string().ok(),
        None => orders.next(),
    };
    let group = match group {
        Some(number) => number.parse().ok().and_then(|id| Group::led_by(Pid::from_raw(id))),
        // A command that was born has its program by now: until then it has had a copy of the
        // wrapper's end of the pipe, and there was no end to read.
        None => group_marked_with(&format!("{GUARD_VARIABLE}={}", getpid())),
    };
    // No group: the wrapper has not come to start the command.
    let Some(group) = group else { return ExitCode::SUCCESS };

    if orders.next().is_some_and(|line| line == LINGER) {
        let_go_of_all_but(RawFd::try_from(lock).unwrap_or(-1));
        await_end(group);
    } else {
        end_group(group, kill_after);
    }
    ExitCode::SUCCESS
}

/// Somebody may wait for the end of a pipe that the guard has inherited, or want to unmount its
/// directory.
fn let_go_of_all_but(lock: RawFd) {
    let numbers: Vec<RawFd> = fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for number in numbers {
        if number > 2 && number != lock {
            // The walk's own descriptor is in the list, and closed by now.
            let _ = close(number);
        }
    }
    if let Ok(nowhere) = File::options().write(true).open("/dev/null") {
        let _ = dup2_stderr(nowhere);
    }
    let _ = std::env::set_current_dir("/");
}

fn await_end(group: Group) {
    let mut members = Members::of(group);
    let mut pauses = pauses();
    while members.any_lives() {
        sleep(pauses.next().unwrap_or(LONGEST_PAUSE));
    }
}

/// Asks the group to end, and makes it end after a while. Returns when no member lives.
fn end_group(group: Group, kill_after: Duration) {
    // No deadline if it lies too far in the future to be told.
    let deadline = Instant::now().checked_add(kill_after);
    group.terminate();
    let mut members = Members::of(group);
    let mut pauses = pauses();
    while members.any_lives() {
        let left = deadline.map(|moment| moment.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            group.signal(Signal::SIGKILL);
        }
        let pause = pauses.next().unwrap_or(LONGEST_PAUSE);
        sleep(left.filter(|left| !left.is_zero()).map_or(pause, |left| left.min(pause)));
    }
}

const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// What ends does so soon or after a long time.
fn pauses() -> impl Iterator<Item = Duration> {
    let first = Duration::from_millis(1);
    std::iter::successors(Some(first), |pause| Some((*pause * 2).min(LONGEST_PAUSE)))
}
