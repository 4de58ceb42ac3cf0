//! The guard: a second process that outlives the wrapper for as long as the command's group lives.
//!
//! It holds a copy of the lock's descriptor, if there is one, and reads [orders](Order) from a pipe
//! whose other end only the wrapper has. It knows from its first instruction on what is among its
//! arguments: the patience, the first deadline, and for one that replaces another, the group.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use conclave_client::BootTime;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, pipe2, write};

use super::deadline::Moments;
use super::group::{Group, Members};
use super::orders::Order;
use super::say;
use super::spawn::{Start, spawn};

/// The first argument of a process that shall be a guard.
pub const GUARD_WORD: &str = "__guard";

/// A variable of the command's environment, with the number of its first guard. A guard whose
/// wrapper was killed before it could tell the group finds the command by it.
pub const GUARD_VARIABLE: &str = "CONCLAVE_GUARD";

/// What a guard is called in lists of processes.
const GUARD_NAME: &str = "conclave-guard";
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

/// How long the guard lets the group live.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// From TERM to KILL, after the wrapper's death.
    pub(super) kill_after: Duration,
    /// From TERM to the deadline; zero for KILL alone.
    pub(super) notice: Duration,
}

/// The wrapper's side of the guard. When this is dropped, the guard ends the group.
pub(super) struct GuardProcess<'a> {
    lock: Option<GuardLock<'a>>,
    patience: Patience,
    group: Option<Group>,
    /// What the guard goes by: the last one that it was told, or will know from its start.
    deadline: Option<BootTime>,
    running: Option<Running>,
    last_start: Instant,
    deaths_in_a_row: u32,
}

/// A guard that was started ahead of its lock, while that is asked for, so that the command need
/// not wait for the start of one more process. It hears of lock and command when there are such;
/// without them it does nothing. Dropping this ends it.
pub struct Standby(Option<GuardProcess<'static>>);

impl Standby {
    /// Starts it. For locks that are kept by no descriptor: it is given none.
    pub(super) fn start(patience: Patience) -> io::Result<Self> {
        GuardProcess::start(None, patience, None).map(|guard| Self(Some(guard)))
    }

    /// The guard, which knows the deadline from now on; another one if it has died meanwhile.
    pub(super) fn engage<'a>(mut self, deadline: Option<BootTime>) -> io::Result<GuardProcess<'a>> {
        let mut guard = self.0.take().expect("it is taken only here and by drop");
        guard.notice_death();
        match deadline {
            Some(deadline) if guard.running.is_some() => guard.tell(deadline),
            _ => guard.deadline = deadline,
        }
        if guard.running.is_none() {
            guard.start_process()?;
        }
        Ok(guard)
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        drop(self.0.take().map(GuardProcess::dismiss));
    }
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

impl<'a> GuardProcess<'a> {
    /// Starts the guard. It holds `lock` from now on, and waits to hear of a group.
    pub(super) fn start(
        lock: Option<GuardLock<'a>>,
        patience: Patience,
        deadline: Option<BootTime>,
    ) -> io::Result<Self> {
        let mut guard = Self {
            lock,
            patience,
            group: None,
            deadline,
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
        // A guard that somebody has stopped must not stop the wrapper, too.
        fcntl(&orders, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let inherited = self.lock.map(|lock| lock.descriptor);
        // Not the path of the program: an upgrade may have replaced what is found there.
        let mut command = Command::new("/proc/self/exe");
        command.arg(GUARD_WORD).arg(format!("wrapper={}", std::process::id()));
        command.arg(format!("kill-after={}ms", self.patience.kill_after.as_millis()));
        command.arg(format!("notice={}ms", self.patience.notice.as_millis()));
        command.args(inherited.map(|lock| format!("lock={}", lock.as_raw_fd())));
        command.args(self.group.map(|group| format!("group={}", group.id())));
        let deadline = self.deadline.map(|it| it.to_duration().as_nanos());
        command.args(deadline.map(|nanoseconds| format!("deadline={nanoseconds}")));
        // From its first instruction on, no signal but SIGKILL ends it.
        let blocked = &SigSet::all();
        let input = Some(orders_in.as_fd());
        let start = Start { name: Some(GUARD_NAME), blocked, inherited, input };
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
            let _ = running.order(Order::Group(group));
        }
    }

    /// Tells the guard a later deadline.
    pub(super) fn tell(&mut self, deadline: BootTime) {
        if self.deadline == Some(deadline) {
            return;
        }
        let told = self.running.as_ref().map(|running| running.order(Order::Deadline(deadline)));
        // A full pipe: the guard is stopped, and goes by what it was told before.
        if told != Some(Err(Errno::EAGAIN)) {
            self.deadline = Some(deadline);
        }
    }

    /// The deadline that the guard goes by.
    pub(super) fn deadline(&self) -> Option<BootTime> {
        self.deadline
    }

    /// When the guard ends the group by itself, if it hears nothing more.
    pub(super) fn acts_at(&self) -> Option<BootTime> {
        self.deadline.map(|deadline| Moments::before(deadline, self.patience.notice).warn)
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
        match self.lock {
            None => dying,
            Some(GuardLock { let_go: Some(let_go), .. }) => {
                let_go();
                dying
            }
            // Only its death closes its copy.
            Some(GuardLock { let_go: None, .. }) => {
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
                && running.order(Order::Linger).is_ok()
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
    fn order(&self, order: Order) -> nix::Result<()> {
        write(&self.orders, format!("{order}\n").as_bytes()).map(drop)
    }
}
