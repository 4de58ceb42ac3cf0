//! Runs a command while a lock is held, and sees to it that the lock outlives the command.
//!
//! A lock is held in one of two ways, or both:
//!
//! - By an open file description, as long as any process has a copy of its descriptor. Three
//!   parties have one: the wrapper (this process), until [`run`] has returned and the caller closes
//!   it; the guard, from before the command's start until no member of the command's group lives
//!   (it may have a descriptor of its own, [`Job::guard_lock`], that keeps the same lock held); and
//!   the command and what it starts, unless it shall not inherit it. Programs may close it, so
//!   nothing relies on these copies but the cases named below.
//! - By a session on a server, which this process keeps alive, safely until a deadline that moves
//!   as long as the server answers ([`LockWatch::deadline`]).
//!
//! Invariants:
//!
//! - *Descriptor.* While a member of the command's process group lives, the wrapper or the guard
//!   has a copy. If the wrapper dies, the guard ends the group and then lets go. If the guard dies,
//!   the wrapper starts another one. After a normal end with members left, the guard stays behind.
//! - *Deadline.* No member of the group lives at the deadline that the guard knows: wrapper and
//!   guard each ask the group to end [`Job::kill_after`] before it, and kill what is left
//!   [`KILL_MARGIN`] before it. So it is also when the wrapper is stopped, starved, cut off or
//!   dead, or the guard is. The guard knows the first deadline before the command starts, and a
//!   guard that replaces another one knows the last. After a normal end with members left, the
//!   wrapper itself stays, as only it can keep the session.
//! - What was begun is not taken back: a deadline that is told too late to the guard counts as a
//!   loss, though the lock may still be held. Both sides decide alike what is too late.
//! - [`run`] returns with `lingers == false` only when the group has no living member (unless
//!   [`Leftovers::LoseIt`]) and no guard has a copy: the lock is free as soon as the caller lets
//!   go.
//! - A group is signalled only while its number cannot have passed to another group: the wrapper
//!   reaps the leader last. The guard has only the group's members to go by.
//! - An error of [`run`] after the command's start drops the guard's pipe: the group is ended.
//!
//! Assumptions: Linux with `/proc`; all threads block [`Signals`]. What leaves the group, by
//! `setsid` or as a job of an interactive shell, is not ended: it keeps the lock only by the
//! descriptor that it has inherited, and outlives a deadline.
//!
//! Windows that remain:
//!
//! - Wrapper and guard are killed together (SIGKILL), or the wrapper while a killed guard is not
//!   yet replaced: the command runs on, and holds the lock only by its inherited descriptor. A
//!   deadline passes unseen. The same if both are stopped.
//! - The wrapper is killed between the command's start and the line that tells the guard its
//!   group. The guard then looks for its own number in the environment of processes. It does not
//!   find a command whose environment it may not read (set-user-ID): the same.
//! - The wrapper is stopped after its last look at the deadline and before the command's start, and
//!   continued after the deadline: the command is born, and ended at once.
//! - A guard that was left behind for lingering members is killed: they hold the lock only by
//!   the descriptors that they have inherited.
//! - A stopped wrapper (SIGSTOP, Ctrl-Z) does not notice a loss before the deadline, nor the
//!   guard's death, until it is continued.
//! - A process that the kernel cannot end (it waits for a disk) or that runs on a machine so busy
//!   that KILL takes longer than [`KILL_MARGIN`] outlives the deadline. Fences are for that.

#![expect(clippy::disallowed_types, reason = "patience with real processes is real time")]

mod deadline;
mod group;
mod guard;
mod guard_process;
mod jeopardy;
mod loss;
mod orders;
mod signals;
mod spawn;
mod terminal;

use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::process::Command;
use std::time::Duration;

use conclave_client::BootTime;
use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};

pub use deadline::KILL_MARGIN;
use deadline::Moments;
use group::{Group, Members, ending_signal};
pub use guard::{Dismissed, GUARD_VARIABLE, GUARD_WORD, GuardLock, Standby};
use guard::{GuardProcess, Patience};
pub use guard_process::guard_main;
pub use jeopardy::Jeopardy;
use loss::Ending;
pub use signals::Signals;
use spawn::{Start, spawn};
use terminal::Terminal;

/// How often the lock is looked at, at least.
const LOSS_CHECK: Duration = Duration::from_millis(200);
/// How often a lock with a deadline is looked at: the guard shall hear of a later one soon.
const DEADLINE_CHECK: Duration = Duration::from_millis(50);
/// How often the group is looked at when only members that are not our children are left.
const MEMBER_CHECK: Duration = Duration::from_millis(20);
/// The first that programs may use: the C library keeps two to itself.
const FIRST_REALTIME_SIGNAL: i32 = 34;

/// What is known of the lock while the command runs.
pub trait LockWatch {
    /// Why it was lost, once it was.
    fn lost(&self) -> Option<String>;

    /// Until when it is safely held; none if until it is let go. It only ever moves on.
    fn deadline(&self) -> Option<BootTime> {
        None
    }

    /// Whether those who keep it do not answer, so that the deadline may be the end.
    fn is_in_jeopardy(&self) -> bool {
        false
    }
}

/// What processes that the command has left in its group mean to the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// It stays held until they have ended.
    KeepIt,
    /// Nothing, once the command itself has ended.
    LoseIt,
}

/// A command to run, and the lock that it runs under.
pub struct Job<'a> {
    /// Program, arguments, and variables to set or remove. Nothing else of it is used: a cleared
    /// environment, a directory or redirections are not.
    pub command: Command,
    /// What the lock is called where people are told of it, e.g. `lock nightly`.
    pub title: String,
    /// A descriptor whose copies keep the lock held. It is close-on-exec. None if only this process
    /// can keep it.
    pub lock: Option<BorrowedFd<'a>>,
    /// The descriptor by which the guard keeps the lock held; by default [`lock`](Self::lock)
    /// itself.
    pub guard_lock: Option<GuardLock<'a>>,
    /// The guard, if it was [started ahead](OnLost::stand_by). Of use only without a descriptor.
    pub standby: Option<Standby>,
    /// Whether the command gets a copy of the descriptor, under the same number.
    pub child_inherits_lock: bool,
    /// What the command leaves behind in its group.
    pub leftovers: Leftovers,
    /// How it stands with the lock.
    pub watch: &'a dyn LockWatch,
    /// What is done to the command when the lock is lost, and before its deadline.
    pub on_lost: OnLost,
    /// How long the command may take to end: after a loss, after the wrapper's death, before a
    /// deadline.
    pub kill_after: Duration,
}

/// What is done to the command when the lock is lost, or comes to its deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnLost {
    /// SIGTERM, and SIGKILL when it has not ended in time.
    Term,
    /// SIGKILL at once, and not before it must be.
    Kill,
    /// Nothing, also at a deadline.
    Ignore,
    /// This line is given to `sh`, with `CONCLAVE_LOST` (the reason) and `CONCLAVE_GROUP` (the
    /// command's process group) set; SIGKILL when the command has not ended in time after that.
    Run(String),
}

impl OnLost {
    /// Starts the guard of a job to come, with this policy and [`Job::kill_after`].
    ///
    /// # Errors
    /// If no process can be started.
    pub fn stand_by(&self, kill_after: Duration) -> io::Result<Standby> {
        Standby::start(self.patience_of_guard(kill_after))
    }

    /// A guard does not ask what the user's own command shall ask.
    fn patience_of_guard(&self, kill_after: Duration) -> Patience {
        let notice = if *self == Self::Term { kill_after } else { Duration::ZERO };
        Patience { kill_after, notice }
    }
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
    /// It was never started: the lock was lost before.
    LostBefore,
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

/// Runs the command of `job` to its end. Every thread of this process has to block `signals`.
///
/// # Errors
///
/// When no guard or no process could be started. Whatever was started is ended by the guard.
pub fn run(mut job: Job<'_>, signals: &mut Signals) -> io::Result<Finished> {
    if let Some(reason) = await_time_enough(&job) {
        say(&format!("lock lost: {reason}; the command is not started"));
        return Ok(Finished::without_command(Ended::LostBefore, Some(reason), None));
    }
    // Before the command, so that it is never without a guard.
    let shared = job.lock.map(|descriptor| GuardLock { descriptor, let_go: None });
    let guard_lock = job.guard_lock.or(shared);
    let mut guard = match job.standby.take().filter(|_| guard_lock.is_none()) {
        Some(standby) => standby.engage(job.deadline())?,
        None => {
            let patience = job.on_lost.patience_of_guard(job.kill_after);
            GuardProcess::start(guard_lock, patience, job.deadline())?
        }
    };
    if let Some(guard) = guard.id() {
        job.command.env(GUARD_VARIABLE, guard.to_string());
    }
    let inherited = job.lock.filter(|_| job.child_inherits_lock);
    let start = Start { name: None, blocked: signals.before(), inherited, input: None };
    let leader = match spawn(&job.command, &start) {
        Ok(leader) => leader,
        Err(error) => {
            let guard = guard.dismiss();
            return Ok(Finished::without_command(why_not_started(error)?, None, Some(guard)));
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
        jeopardy: Jeopardy::default(),
        leftovers: Members::of(group),
        are_leftovers_told: false,
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

/// A command that would have to be ended at once is not started: waits until there is time for it.
/// Returns why the lock was lost if that comes first.
fn await_time_enough(job: &Job<'_>) -> Option<String> {
    loop {
        if let Some(reason) = job.watch.lost() {
            return Some(reason);
        }
        let deadline = job.deadline()?;
        if !job.moments(deadline).warn.is_past() {
            return None;
        }
        if deadline.is_past() {
            return Some(job.why_too_late());
        }
        std::thread::sleep(MEMBER_CHECK);
    }
}

impl Finished {
    fn without_command(ended: Ended, lost: Option<String>, guard: Option<Dismissed>) -> Self {
        Self { ended, lost, lingers: false, interrupted_by: None, guard }
    }
}

impl Job<'_> {
    /// Until when the command may run. Who ignores losses ignores it, too.
    fn deadline(&self) -> Option<BootTime> {
        self.watch.deadline().filter(|_| self.on_lost != OnLost::Ignore)
    }

    /// What the wrapper does before a deadline.
    fn moments(&self, deadline: BootTime) -> Moments {
        let is_asked = self.on_lost != OnLost::Kill;
        Moments::before(deadline, if is_asked { self.kill_after } else { Duration::ZERO })
    }

    fn why_too_late(&self) -> String {
        let who = if self.watch.is_in_jeopardy() { "no answer" } else { "not renewed" };
        format!("{who} before its deadline")
    }

    /// Whether the wrapper has to stay for what the command leaves behind: a guard that is left
    /// behind can keep a descriptor, but no session.
    fn stays_for_leftovers(&self) -> bool {
        let needs_us = self.lock.is_none() || self.watch.deadline().is_some();
        needs_us && self.leftovers == Leftovers::KeepIt
    }
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
    signals: &'a mut Signals,
    /// Found when the command first asks for it.
    terminal: Option<Terminal>,
    wants_terminal: bool,
    has_terminal: bool,
    lost: Option<String>,
    ending: Option<Ending>,
    jeopardy: Jeopardy,
    leftovers: Members,
    are_leftovers_told: bool,
}

impl Wrapper<'_> {
    /// Returns when the command has ended, and its whole group too after a loss, or if only this
    /// process can keep the lock for what is left of it.
    fn supervise(&mut self, guard: &mut GuardProcess<'_>) -> io::Result<Ended> {
        let mut ended = None;
        loop {
            let woken = self.signals.wait(self.next_look(ended.is_some(), guard))?;
            self.check_lock(guard);
            // Children are looked at now and then also unasked, in case a signal never came.
            if self.handle_signals(guard)? || !woken {
                if ended.is_none() {
                    ended = self.how_ended()?;
                    // The guard may have ended it a moment ago.
                    self.check_lock(guard);
                }
                if ended.is_none() {
                    self.on_stop(guard)?;
                }
                guard.notice_death();
            }
            if let Some(ending) = &self.ending {
                ending.enforce();
            }
            match ended {
                Some(how) if self.is_group_done() => return Ok(how),
                not_yet => ended = not_yet,
            }
            guard.replace_if_due();
        }
    }

    /// Whether nothing of the group has to be waited for, now that the command has ended.
    fn is_group_done(&mut self) -> bool {
        match &mut self.ending {
            Some(ending) => ending.is_complete(),
            None if self.lost.is_some() || !self.job.stays_for_leftovers() => true,
            None if !self.leftovers.any_lives() => true,
            None => {
                self.say_who_is_left();
                false
            }
        }
    }

    fn say_who_is_left(&mut self) {
        if !self.are_leftovers_told {
            self.are_leftovers_told = true;
            let who = self.leftovers.seen().map_or_else(String::new, |pid| format!(" (pid {pid})"));
            let title = &self.job.title;
            say(&format!("{title} stays held: what the command started still runs{who}"));
        }
    }

    /// True as soon as one of them says that a child has ended or stopped.
    fn handle_signals(&mut self, guard: &mut GuardProcess<'_>) -> io::Result<bool> {
        while let Some(signal) = self.signals.next()? {
            if signal == Signal::SIGCHLD {
                return Ok(true);
            }
            self.on_signal(signal, guard)?;
        }
        Ok(false)
    }

    fn next_look(&self, has_ended: bool, guard: &GuardProcess<'_>) -> Duration {
        let deadline = self.job.deadline();
        let usual = match deadline {
            _ if has_ended && self.ending.is_some() => MEMBER_CHECK,
            Some(_) => DEADLINE_CHECK,
            None => LOSS_CHECK,
        };
        let patience = match &self.ending {
            Some(ending) => ending.patience(),
            None => deadline.map(|it| self.job.moments(it).warn.left()),
        };
        [patience, guard.due_in()].into_iter().flatten().fold(usual, Duration::min)
    }

    /// Looks how it stands with the lock, tells the guard, and begins to end the group if it must.
    fn check_lock(&mut self, guard: &mut GuardProcess<'_>) {
        if self.lost.is_some() {
            return;
        }
        self.lost = self.job.watch.lost();
        if self.lost.is_none() && self.is_too_late(guard) {
            self.lost = Some(self.job.why_too_late());
        }
        let Some(reason) = &self.lost else {
            return self.jeopardy.tell(&self.job.title, self.job.watch);
        };
        let patience = BootTime::now().plus(self.job.kill_after);
        let deadline = guard.deadline().map(|it| self.job.moments(it).kill);
        let kill_at = deadline.map_or(patience, |it| it.min(patience));
        let (policy, unblocked) = (&self.job.on_lost, self.signals.before());
        self.ending = Ending::begin(self.group, reason, policy, kill_at, unblocked);
    }

    /// Whether the group has to end before the deadline, or the guard has begun to end it.
    fn is_too_late(&self, guard: &mut GuardProcess<'_>) -> bool {
        let Some(deadline) = self.job.deadline() else { return false };
        let guard_acts_at = guard.acts_at();
        guard.tell(deadline);
        // The clock after the telling: the guard reads it before it looks for orders.
        let now = BootTime::now();
        guard_acts_at.is_some_and(|moment| moment <= now) || self.job.moments(deadline).warn <= now
    }

    fn on_signal(&mut self, signal: Signal, guard: &mut GuardProcess<'_>) -> io::Result<()> {
        match signal {
            // A stopped wrapper would not see the end of patience.
            Signal::SIGTSTP if self.ending.is_none() => {
                self.group.signal(signal);
                self.take_terminal();
                // Continued or never stopped: in both cases the command goes on.
                self.stop(signal, false, guard)?;
                self.resume();
            }
            Signal::SIGCONT => self.resume(),
            other if Signals::is_forwarded(other) => self.group.signal(other),
            _ => {}
        }
        Ok(())
    }

    /// Stops this process as [`Signals::stop`] does. Who comes back looks at the lock first.
    fn stop(
        &mut self,
        signal: Signal,
        whole_group: bool,
        guard: &mut GuardProcess<'_>,
    ) -> io::Result<bool> {
        if let Some(deadline) = self.job.watch.deadline() {
            let left = deadline.left().as_secs();
            say(&format!("stopped; {} lapses in {left} s unless continued", self.job.title));
        }
        let was_continued = self.signals.stop(signal, whole_group)?;
        self.check_lock(guard);
        Ok(was_continued)
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
    fn on_stop(&mut self, guard: &mut GuardProcess<'_>) -> io::Result<()> {
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
                } else if self.stop(signal, true, guard)? {
                    self.resume();
                } else {
                    say("the command is stopped: it wants the terminal from the background");
                }
            }
            // Ctrl-Z, or a command that suspends itself: the shell shall see a stopped job.
            Signal::SIGTSTP if self.has_terminal || terminal.is_ours() => {
                self.take_terminal();
                self.stop(signal, true, guard)?;
                self.resume();
            }
            _ if self.has_terminal => {
                self.take_terminal();
                if self.stop(Signal::SIGTSTP, true, guard)? {
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
    fn close(&mut self, guard: GuardProcess<'_>) -> (bool, Option<Dismissed>) {
        let leader = self.group.id();
        while waitid(Id::Pid(leader), WaitPidFlag::WEXITED) == Err(Errno::EINTR) {}
        let stays_held = self.job.leftovers == Leftovers::KeepIt && self.job.lock.is_some();
        if !stays_held || !self.leftovers.any_lives() {
            return (false, Some(guard.dismiss()));
        }
        self.say_who_is_left();
        let dismissed = guard.leave_behind(&mut self.leftovers);
        (dismissed.is_none(), dismissed)
    }
}

/// One line on standard error. That nobody reads it is no reason to fail.
fn say(line: &str) {
    let _ = io::stderr().write_all(format!("conclave: {line}\n").as_bytes());
}
