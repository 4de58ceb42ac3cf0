//! The guard's own side: a process that watches over the command's group beside the wrapper.
//!
//! It does two things, each once at most:
//!
//! - When the pipe ends without `linger`, the wrapper has died. The group is asked to end, and
//!   killed after `kill-after`, or shortly before the deadline if that is earlier.
//! - When the deadline comes near and no later one was told, the wrapper is stopped, starved or cut
//!   off. The group is asked to end `notice` before the deadline and killed shortly before it. A
//!   later deadline that is told after that changes nothing.
//!
//! Whether a deadline was told in time, wrapper and guard decide alike: the guard reads the clock
//! and then the pipe, the wrapper writes and then reads the clock. If the guard missed the order,
//! the wrapper sees that it was too late.
//!
//! All time is boot time, and the sleep is a timer on that clock: it also ends in time when the
//! machine was suspended.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::{AsFd, RawFd};
use std::process::ExitCode;
use std::time::Duration;

use conclave_client::BootTime;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::unistd::{Pid, close, dup2_stderr, getpid};

use super::deadline::Moments;
use super::group::{Group, Members, group_marked_with};
use super::guard::GUARD_VARIABLE;
use super::orders::{Order, Orders, nanosecond};
use super::say;

const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// The guard's own `main`. `arguments` are those behind [`GUARD_WORD`](super::GUARD_WORD).
///
/// All signals are blocked already: the wrapper has started it so.
pub fn guard_main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(watch) = Told::told_by(arguments) else {
        say("the guard is started by `conclave lock` alone");
        return ExitCode::FAILURE;
    };
    // It was started as /proc/self/exe, and would be listed as `exe`.
    let _ = fs::write("/proc/self/comm", "conclave-guard");
    watch.keep();
    ExitCode::SUCCESS
}

/// What the guard was told.
struct Told {
    orders: Orders,
    /// None if the kernel has none to give. Then the guard wakes up often.
    timer: Option<TimerFd>,
    kill_after: Duration,
    notice: Duration,
    lock: RawFd,
    group: Option<Group>,
    deadline: Option<BootTime>,
}

impl Told {
    /// Words like `kill-after=10000ms`, in any order, so that a list of processes can be read.
    fn told_by(arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let (mut kill_after, mut notice) = (None, None);
        let (mut lock, mut group, mut deadline) = (-1, None, None);
        for argument in arguments {
            let (name, value) = argument.to_str()?.split_once('=')?;
            match name {
                "kill-after" => kill_after = Some(milliseconds(value)?),
                "notice" => notice = Some(milliseconds(value)?),
                "lock" => lock = value.parse().ok()?,
                "group" => group = Group::led_by(Pid::from_raw(value.parse().ok()?)),
                "deadline" => deadline = Some(nanosecond(value)?),
                _ => {}
            }
        }
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        Some(Self {
            orders: Orders::from_input(),
            timer: TimerFd::new(ClockId::CLOCK_BOOTTIME, flags).ok(),
            kill_after: kill_after?,
            notice: notice?,
            lock,
            group,
            deadline,
        })
    }

    fn keep(mut self) {
        loop {
            // The clock before the pipe: what is not there now was sent after this moment.
            let now = BootTime::now();
            for order in self.orders.take() {
                match order {
                    Order::Group(group) => self.group = Some(group),
                    Order::Deadline(deadline) => self.deadline = Some(deadline),
                    Order::Linger => return self.linger(),
                }
            }
            let moments = self.deadline.map(|deadline| Moments::before(deadline, self.notice));
            if self.orders.have_ended {
                let patience = now.plus(self.kill_after);
                let kill_at = moments.map_or(patience, |moments| patience.min(moments.kill));
                // No group: the wrapper has not come to start the command.
                if let Some(group) = self.find_group() {
                    self.end(group, kill_at);
                }
                return;
            }
            let Some(moments) = moments else {
                self.sleep_until(None);
                continue;
            };
            if now < moments.warn {
                self.sleep_until(Some(moments.warn));
                continue;
            }
            let Some(group) = self.find_group() else {
                // Perhaps it is just being born, by a wrapper that is stopped over it.
                self.sleep_until(Some(now.plus(LONGEST_PAUSE)));
                continue;
            };
            self.end(group, moments.kill);
            // The wrapper lives. If there were no guard, it would start another.
            while !self.orders.have_ended {
                self.sleep_until(None);
                self.orders.take();
            }
            return;
        }
    }

    /// The command's group, also if the wrapper did not come to tell it. A command that was born
    /// has its program when the pipe ends: until then it has had a copy of the wrapper's end.
    fn find_group(&self) -> Option<Group> {
        self.group.or_else(|| group_marked_with(&format!("{GUARD_VARIABLE}={}", getpid())))
    }

    /// Asks the group to end, if there is time for that, and makes it end at `kill_at`. Returns
    /// when no member lives.
    fn end(&self, group: Group, kill_at: BootTime) {
        if !kill_at.is_past() {
            group.terminate();
        }
        let mut members = Members::of(group);
        let mut pauses = pauses();
        loop {
            let is_due = kill_at.is_past();
            if is_due {
                group.signal(Signal::SIGKILL);
            }
            if !members.any_lives() {
                return;
            }
            let soon = BootTime::now().plus(pauses.next().unwrap_or(LONGEST_PAUSE));
            self.sleep_deafly_until(if is_due { soon } else { soon.min(kill_at) });
        }
    }

    fn linger(self) {
        let Some(group) = self.group else { return };
        let_go_of_all_but(self.lock);
        let mut members = Members::of(group);
        for pause in pauses() {
            if !members.any_lives() {
                return;
            }
            std::thread::sleep(pause);
        }
    }

    /// Sleeps until there is an order, the pipe has ended, or the moment has come.
    fn sleep_until(&self, moment: Option<BootTime>) {
        self.sleep(moment, Some(self.orders.watched()));
    }

    /// Sleeps until the moment has come.
    fn sleep_deafly_until(&self, moment: BootTime) {
        self.sleep(Some(moment), None);
    }

    fn sleep(&self, until: Option<BootTime>, orders: Option<PollFd<'_>>) {
        let timer = self.timer.as_ref().filter(|timer| set(timer, until));
        let timeout = match (timer, until) {
            // The kernel's own timeout does not count while the machine is suspended.
            (None, Some(moment)) => {
                let left = moment.left().min(LONGEST_PAUSE).as_micros().div_ceil(1000);
                PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO)
            }
            _ => PollTimeout::NONE,
        };
        let timer = timer.map(|timer| PollFd::new(timer.as_fd(), PollFlags::POLLIN));
        let mut watched: Vec<PollFd<'_>> = orders.into_iter().chain(timer).collect();
        // Woken too early, everybody looks again.
        let _ = poll(&mut watched, timeout);
    }
}

/// Whether the timer runs as asked.
fn set(timer: &TimerFd, until: Option<BootTime>) -> bool {
    let Some(moment) = until else { return timer.unset().is_ok() };
    // A time of zero would switch it off.
    let moment = moment.to_duration().max(Duration::from_nanos(1));
    let at = Expiration::OneShot(TimeSpec::from_duration(moment));
    timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME).is_ok()
}

fn milliseconds(text: &str) -> Option<Duration> {
    text.strip_suffix("ms")?.parse().ok().map(Duration::from_millis)
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

/// What ends does so soon or after a long time.
fn pauses() -> impl Iterator<Item = Duration> {
    let first = Duration::from_millis(1);
    std::iter::successors(Some(first), |pause| Some((*pause * 2).min(LONGEST_PAUSE)))
}
