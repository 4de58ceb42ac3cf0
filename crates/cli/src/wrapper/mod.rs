//! Runs a command while a lock is held, and sees to it that the lock outlives the command.
//!
//! The lock is held by an open file description, for as long as any process has a copy of its
//! descriptor. Three parties have one:
//!
//! - the wrapper (this process), until [`run`] has returned and the caller closes it;
//! - the guard, from before the command's start until no member of the command's group lives; it
//!   may have a descriptor of its own, [`Job::guard_lock`], that keeps the same lock held;
//! - the command and what it starts, unless it shall not inherit it. Programs may close it, so
//!   nothing relies on these copies but the cases named below.
//!
//! Invariants:
//!
//! - While a member of the command's process group lives, the wrapper or the guard has a copy.
//!   If the wrapper dies, the guard ends the group and then lets go. If the guard dies, the
//!   wrapper starts another one. After a normal end with members left, the guard stays behind.
//! - [`run`] returns with `lingers == false` only when the group has no living member and no guard
//!   has a copy: the lock is free as soon as the caller lets go.
//! - A group is signalled only while its number cannot have passed to another group: the wrapper
//!   reaps the leader last. The guard has only the group's members to go by.
//! - An error of [`run`] after the command's start drops the guard's pipe: the group is ended.
//!
//! Assumptions: Linux with `/proc`; no other thread, or one that blocks the same signals (they are
//! blocked for the calling thread alone); SIGCHLD is not ignored. What leaves the group, by
//! `setsid` or as a job of an interactive shell, is not ended, and keeps the lock only by the
//! descriptor that it has inherited.
//!
//! Windows that remain:
//!
//! - Wrapper and guard are killed together (SIGKILL), or the wrapper while a killed guard is not
//!   yet replaced: the command runs on, and holds the lock only by its inherited descriptor.
//! - The wrapper is killed between the command's start and the line that tells the guard its
//!   group. The guard then looks for its own number in the environment of processes. It does not
//!   find a command whose environment it may not read (set-user-ID): the same.
//! - A guard that was left behind for lingering members is killed: they hold the lock only by
//!   the descriptors that they have inherited.
//! - A stopped wrapper (SIGSTOP, Ctrl-Z) does not notice a loss, nor the guard's death, until it
//!   is continued.

#![expect(clippy::disallowed_types, reason = "patience with real processes is real time")]

mod group;
mod guard;
mod loss;
mod signals;
mod spawn;
mod terminal;

use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::process::Command;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};

use group::{Group, Members, ending_signal};
use guard::Guard;
pub use guard::{Dismissed, GUARD_VARIABLE, GUARD_WORD, GuardLock, guard_main};
use loss::Ending;
use signals::Signals;
use spawn::{Start, spawn};
use terminal::Terminal;

/// How often [`Job::is_lost`] is asked at least.
const LOSS_CHECK: Duration = Duration::from_millis(200);
/// How often the group is looked at when only members that are not our children are left.
const MEMBER_CHECK: Duration = Duration::from_millis(20);
/// The first that programs may use: the C library keeps two to itself.
const FIRST_REALTIME_SIGNAL: i32 = 34;

/// A command to run, and the lock that it runs under.
pub struct Job<'a> {
    /// Program, arguments, and variables to set or remove. Nothing else of it is used: a cleared
    /// environment, a directory or redirections are not.
    pub command: Command,
    /// A descriptor whose copies keep the lock held. It is close-on-exec.
    pub lock: Option<BorrowedFd<'a>>,
    /// The same for the guard; by default [`lock`](Self::lock) itself.
    pub guard_lock: Option<GuardLock<'a>>,
    /// Whether the command gets a copy of the descriptor, under the same number.
    pub child_inherits_lock: bool,
    /// Says why the lock was lost, once it was.
    pub is_lost: &'a dyn Fn() -> Option<String>,
    /// What is done to the command when the lock is lost.
    pub on_lost: OnLost,
    /// How long the command may take to end, after a loss or after the wrapper's death.
    pub kill_after: Duration,
}

/// What is done to the command when the lock is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnLost {
    /// SIGTERM, and SIGKILL when it has not ended in time.
    Term,
    /// SIGKILL at once.
    Kill,
    /// Nothing.
    Ignore,
    /// This line is given to `sh`, with `CONCLAVE_LOST` (the reason) and `CONCLAVE_GROUP` (the
    /// command's process group) set; SIGKILL when the command has not ended in time after that.
    Run(String),
}

/// How the command ended.
#[derive(Debug)]
pub enum Ended {
    /// It exited with this code.
    Exited(u8),
    /// It was ended by this signal.
    Signalled(i32),
    /// It was never started: there is no such program.
    NotFound(io::Error),
    /// It was never started: there is such a file, but it cannot be run.
    NotExecutable(io::Error),
}

/// What came of a [`Job`].
#[derive(Debug)]
pub struct Finished {
    /// How the command ended.
    pub ended: Ended,
    /// Why the lock was lost while the command ran, if it was.
    pub lost: Option<String>,
    /// Processes that the command has left behind live, and the lock stays held until they end.
    pub lingers: bool,
    /// The signal, if it came from the keyboard. Who was started by a shell should then die of it
    /// too: a loop of the shell goes on after an exit code.
    pub interrupted_by: Option<Signal>,
    /// The guard, if it is not left behind. To drop it is to wait for its death: let go of the lock
    /// first, so that whoever is next need not wait for that.
    pub guard: Option<Dismissed>,
}

/// Runs the command of `job` to its end.
///
/// # Errors
///
/// When no guard or no process could be started. Whatever was started is ended by the guard.
pub fn run(mut job: Job<'_>) -> io::Result<Finished> {
    let signals = Signals::block()?;
    // Before the command, so that it is never without a guard.
    let shared = job.lock.map(|descriptor| GuardLock { descriptor, let_go: None });
    let mut guard = Guard::start(job.guard_lock.or(shared), job.kill_after)?;
    if let Some(guard) = guard.id() {
        job.command.env(GUARD_VARIABLE, guard.to_string());
    }
    let inherited = job.lock.filter(|_| job.child_inherits_lock);
    let start = Start { blocked: signals.before(), inherited, input: None };
    let leader = match spawn(&job.command, &start) {
        Ok(leader) => leader,
        Err(error) => {
            let guard = guard.dismiss();
            let ended = why_not_started(error)?;
            return Ok(Finished {
                ended,
                lost: None,
                lingers: false,
                guard: Some(guard),
                interrupted_by: None,
            });
        }
    };
    let group = Group::led_by(leader).ok_or_else(|| io::Error::other("no process group"))?;
    guard.watch(group);

    let mut wrapper = Wrapper {
        job,
        group,
        signals,
        terminal: None,
        wants_terminal: false,
        has_terminal: false,
        lost: None,
        ending: None,
    };
    let ended = wrapper.supervise(&mut guard)?;
    let at_the_keyboard = wrapper.has_terminal || wrapper.signals.keys_pressed();
    wrapper.take_terminal();
    let (lingers, guard) = wrapper.close(guard);
    let interrupted_by = match ended {
        Ended::Signalled(signal) if at_the_keyboard => Signal::try_from(signal).ok(),
        _ => None,
    };
    let interrupted_by = interrupted_by.filter(|it| matches!(it, Signal::SIGINT | Signal::SIGQUIT));
    Ok(Finished { ended, lost: wrapper.lost, lingers, guard, interrupted_by })
}

/// Errors that are about us rather than about the program stay errors.
fn why_not_started(error: io::Error) -> io::Result<Ended> {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOENT) => Ok(Ended::NotFound(error)),
        Some(Errno::EAGAIN | Errno::ENOMEM | Errno::EMFILE | Errno::ENFILE | Errno::EBADF)
        | None => Err(error),
        Some(_) => Ok(Ended::NotExecutable(error)),
    }
}

/// The wrapper while the command runs.
struct Wrapper<'a> {
    job: Job<'a>,
    group: Group,
    signals: Signals,
    /// Found when the command first asks for it.
    terminal: Option<Terminal>,
    wants_terminal: bool,
    has_terminal: bool,
    lost: Option<String>,
    ending: Option<Ending>,
}

impl Wrapper<'_> {
    /// Returns when the command has ended, and after a loss when its whole group has.
    fn supervise(&mut self, guard: &mut Guard<'_>) -> io::Result<Ended> {
        let mut ended = None;
        loop {
            let woken = self.signals.wait(self.next_look(ended.is_some(), guard))?;
            self.check_loss();
            // Children are looked at now and then also unasked, in case a signal never came.
            if self.handle_signals()? || !woken {
                if ended.is_none() {
                    ended = self.how_ended()?;
                }
                if ended.is_none() {
                    self.on_stop()?;
                }
                if ended.is_none() || self.ending.is_some() {
                    guard.notice_death();
                }
            }
            let group_is_done = self.ending.as_mut().is_none_or(|ending| {
                ending.enforce();
                ended.is_some() && ending.is_complete()
            });
            match ended {
                Some(how) if group_is_done => return Ok(how),
                not_yet => ended = not_yet,
            }
            guard.replace_if_due();
        }
    }

    /// True as soon as one of them says that a child has ended or stopped.
    fn handle_signals(&mut self) -> io::Result<bool> {
        while let Some(signal) = self.signals.next()? {
            if signal == Signal::SIGCHLD {
                return Ok(true);
            }
            self.on_signal(signal)?;
        }
        Ok(false)
    }

    fn next_look(&self, has_ended: bool, guard: &Guard<'_>) -> Duration {
        let usual = if has_ended { MEMBER_CHECK } else { LOSS_CHECK };
        let patience = self.ending.as_ref().and_then(Ending::patience);
        [patience, guard.due_in()].into_iter().flatten().fold(usual, Duration::min)
    }

    fn check_loss(&mut self) {
        if self.lost.is_some() {
            return;
        }
        self.lost = (self.job.is_lost)();
        if let Some(reason) = &self.lost {
            let (policy, patience) = (&self.job.on_lost, self.job.kill_after);
            self.ending =
                Ending::begin(self.group, reason, policy, patience, self.signals.before());
        }
    }

    fn on_signal(&mut self, signal: Signal) -> io::Result<()> {
        match signal {
            // A stopped wrapper would not see the end of patience.
            Signal::SIGTSTP if self.ending.is_none() => {
                self.group.signal(signal);
                self.take_terminal();
                // Continued or never stopped: in both cases the command goes on.
                self.signals.stop(signal, false)?;
                self.resume();
            }
            Signal::SIGCONT => self.resume(),
            other if Signals::is_forwarded(other) => self.group.signal(other),
            _ => {}
        }
        Ok(())
    }

    /// How the command ended, if it did. It is not reaped yet, so that its number stays taken.
    fn how_ended(&self) -> io::Result<Option<Ended>> {
        let leader = self.group.id();
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(leader), flags) {
            Ok(WaitStatus::Exited(_, code)) => {
                Ok(Some(Ended::Exited(u8::try_from(code & 0xff).unwrap_or(u8::MAX))))
            }
            Ok(WaitStatus::Signaled(_, signal, _)) => Ok(Some(Ended::Signalled(signal as i32))),
            Ok(_) | Err(Errno::EINTR) => Ok(None),
            // A signal without a name: a real-time one.
            Err(Errno::EINVAL) => {
                Ok(Some(Ended::Signalled(ending_signal(leader).unwrap_or(FIRST_REALTIME_SIGNAL))))
            }
            Err(Errno::ECHILD) => {
                Err(io::Error::other("how the command ended is unknown: SIGCHLD is ignored"))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Looks whether the command was stopped, and does what a shell would do.
    fn on_stop(&mut self) -> io::Result<()> {
        let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG;
        let Ok(WaitStatus::Stopped(_, signal)) = waitid(Id::Pid(self.group.id()), flags) else {
            return Ok(());
        };
        // A command that is being ended must not make us stop as well.
        if self.ending.is_some() {
            return Ok(());
        }
        if self.terminal.is_none() {
            self.terminal = Terminal::find();
        }
        let Some(terminal) = &self.terminal else { return Ok(()) };
        match signal {
            Signal::SIGTTIN | Signal::SIGTTOU => {
                self.wants_terminal = true;
                if terminal.hand_to(self.group) {
                    self.has_terminal = true;
                    self.group.signal(Signal::SIGCONT);
                } else if self.signals.stop(signal, true)? {
                    self.resume();
                } else {
                    say("the command is stopped: it wants the terminal from the background");
                }
            }
            // Ctrl-Z, or a command that suspends itself: the shell shall see a stopped job.
            Signal::SIGTSTP if self.has_terminal || terminal.is_ours() => {
                self.take_terminal();
                self.signals.stop(signal, true)?;
                self.resume();
            }
            _ if self.has_terminal => {
                self.take_terminal();
                if self.signals.stop(Signal::SIGTSTP, true)? {
                    self.resume();
                }
            }
            // Somebody has stopped the command on purpose.
            _ => {}
        }
        Ok(())
    }

    /// Lets the command go on, with the terminal if it has asked for it and it is ours to give.
    fn resume(&mut self) {
        if self.wants_terminal
            && let Some(terminal) = &self.terminal
        {
            self.has_terminal = terminal.hand_to(self.group);
        }
        self.group.signal(Signal::SIGCONT);
    }

    fn take_terminal(&mut self) {
        if self.has_terminal
            && let Some(terminal) = &self.terminal
        {
            terminal.take_from(self.group);
            self.has_terminal = false;
        }
    }

    /// Reaps the command and parts with the guard. True if members of the group live on.
    fn close(&self, guard: Guard<'_>) -> (bool, Option<Dismissed>) {
        let leader = self.group.id();
        while waitid(Id::Pid(leader), WaitPidFlag::WEXITED) == Err(Errno::EINTR) {}
        let mut members = Members::of(self.group);
        if !members.any_lives() {
            return (false, Some(guard.dismiss()));
        }
        if self.job.lock.is_none() {
            return (true, Some(guard.dismiss()));
        }
        let dismissed = guard.leave_behind(&mut members);
        (dismissed.is_none(), dismissed)
    }
}

/// One line on standard error. That nobody reads it is no reason to fail.
fn say(line: &str) {
    let _ = io::stderr().write_all(format!("conclave: {line}\n").as_bytes());
}
