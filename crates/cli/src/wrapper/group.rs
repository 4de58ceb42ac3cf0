//! The command's process group: signals to it, and whether a member of it still lives.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getpgid, getpid};

/// A process group that may be signalled. Never 0, 1 or negative: those mean other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group(Pid);

impl Group {
    /// The group that `leader` leads, if the number can be that of a group.
    pub(super) fn led_by(leader: Pid) -> Option<Self> {
        (leader.as_raw() > 1).then_some(Self(leader))
    }

    pub(super) fn id(self) -> Pid {
        self.0
    }

    /// A group that is gone, or that belongs to somebody else, is no error.
    pub(super) fn signal(self, signal: Signal) {
        let _ = killpg(self.0, signal);
    }

    /// Asks the group to end. What is stopped can only end once it goes on.
    pub(super) fn terminate(self) {
        self.signal(Signal::SIGTERM);
        self.signal(Signal::SIGCONT);
    }

    /// Whether the group has members, living or not yet reaped.
    pub(super) fn exists(self) -> bool {
        killpg(self.0, None) != Err(Errno::ESRCH)
    }
}

/// Looks for living members of a group, and remembers the one it saw last.
///
/// A zombie that nobody reaps is a member for the kernel, but it does nothing any more.
pub(super) struct Members {
    group: Group,
    last_seen: Option<Pid>,
}

impl Members {
    pub(super) fn of(group: Group) -> Self {
        Self { group, last_seen: None }
    }

    /// The living member that was seen last.
    pub(super) fn seen(&self) -> Option<Pid> {
        self.last_seen
    }

    /// Whether a member of the group lives.
    ///
    /// What the kernel knows but `/proc` hides (`hidepid`, or no `/proc` at all) counts as living:
    /// to hold a lock for too long is better than to let it go too early.
    pub(super) fn any_lives(&mut self) -> bool {
        if !self.group.exists() {
            return false;
        }
        // Most often it is the same one again, which saves the walk through all processes.
        let last = self.last_seen.and_then(Status::of);
        if last.is_some_and(|status| status.lives_in(self.group)) {
            return true;
        }
        // Who has ended by now bears no more children: a walk that begins after that sees them all.
        let is_over = |status: &Status| status.is_zombie && status.group == self.group.0.as_raw();
        let leader = Status::of(self.group.0).filter(is_over).map(|_| self.group.0);
        // Twice: a newborn with a lower number than its parent hides from one walk, once the
        // parent has become a zombie before the walk reaches it.
        for _ in 0..2 {
            let mut saw_a_zombie = false;
            for pid in all_processes().filter(|pid| Some(*pid) != leader) {
                // One call tells most of them apart; to read a file takes many.
                if getpgid(Some(pid)).is_ok_and(|group| group != self.group.0) {
                    continue;
                }
                let Some(status) = Status::of(pid) else { continue };
                if status.lives_in(self.group) {
                    self.last_seen = Some(pid);
                    return true;
                }
                saw_a_zombie |= status.group == self.group.0.as_raw();
            }
            if !saw_a_zombie {
                return leader.is_none() && self.group.exists();
            }
        }
        false
    }
}

/// The group of the oldest process of our session, and not older than we are, that has `mark`
/// (`NAME=value`) in its environment.
pub(super) fn group_marked_with(mark: &str) -> Option<Group> {
    /// How often a process that is still being loaded is asked again: for a second or so.
    const PATIENCE: u32 = 1000;
    let own = Status::of(getpid())?;
    for _ in 0..PATIENCE {
        let mut marked: Vec<(u64, i32)> = Vec::new();
        let mut is_unsure = false;
        for pid in all_processes() {
            let Some(status) = Status::of(pid) else { continue };
            let is_ours = status.session == own.session && status.started >= own.started;
            if status.is_zombie || !is_ours || pid == getpid() {
                continue;
            }
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_else(|_| vec![0]);
            // Between its old program and its new one a process has no environment.
            is_unsure |= environment.is_empty();
            if environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes()) {
                marked.push((status.started, status.group));
            }
        }
        if !marked.is_empty() || !is_unsure {
            let (_, group) = marked.into_iter().min()?;
            return Group::led_by(Pid::from_raw(group));
        }
        sleep(Duration::from_millis(1));
    }
    None
}

fn all_processes() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::from_raw))
}

/// What `/proc/PID/stat` says of a process.
struct Status {
    is_zombie: bool,
    group: i32,
    session: i32,
    /// In ticks since the machine was started.
    started: u64,
    exit_code: Option<i32>,
}

impl Status {
    fn of(pid: Pid) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name comes second, in brackets, and may hold anything, brackets too.
    fn parse(line: &[u8]) -> Option<Self> {
        let end_of_name = line.iter().rposition(|&byte| byte == b')')?;
        let rest = std::str::from_utf8(&line[end_of_name + 1..]).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let threads: i64 = fields.get(17)?.parse().ok()?;
        Some(Self {
            // A process whose first thread has ended is no zombie while the others run.
            is_zombie: matches!(*fields.first()?, "Z" | "X" | "x") && threads <= 1,
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
            exit_code: fields.get(49).and_then(|field| field.parse().ok()),
        })
    }

    fn lives_in(&self, group: Group) -> bool {
        !self.is_zombie && self.group == group.0.as_raw()
    }
}

/// The signal that ended a zombie child, for the real-time signals that `nix` has no name for.
pub(super) fn ending_signal(zombie: Pid) -> Option<i32> {
    Status::of(zombie)?.exit_code.map(|code| code & 0x7f).filter(|&signal| signal != 0)
}

#[cfg(test)]
mod tests {
    use super::{Group, Members, Status, group_marked_with};
    use nix::unistd::{Pid, getpgrp};
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    fn line(name: &str, state: &str, threads: u32) -> String {
        let zeros = "0 ".repeat(13);
        format!("7 ({name}) {state} 1 42 42 {zeros}{threads} 0 0 {}9\n", "0 ".repeat(29))
    }

    #[test]
    fn a_name_with_brackets_does_not_hide_the_group() {
        let status = Status::parse(line("a) Z 1 (b", "S", 1).as_bytes()).unwrap();
        assert_eq!((status.is_zombie, status.group), (false, 42));
        assert_eq!(status.exit_code, Some(9));
    }

    #[test]
    fn a_zombie_is_dead_unless_other_threads_run() {
        assert!(Status::parse(line("x", "Z", 1).as_bytes()).unwrap().is_zombie);
        assert!(!Status::parse(line("x", "Z", 2).as_bytes()).unwrap().is_zombie);
        assert!(Status::parse(b"no process").is_none());
    }

    #[test]
    fn numbers_that_mean_other_processes_are_no_group() {
        for number in [-5, -1, 0, 1] {
            assert_eq!(Group::led_by(Pid::from_raw(number)), None);
        }
    }

    #[test]
    fn our_own_group_lives() {
        let mut members = Members::of(Group(getpgrp()));
        assert!(members.any_lives());
        assert!(members.any_lives(), "also when asked again");
    }

    #[test]
    fn a_mark_leads_to_the_group() {
        let value = std::process::id().to_string();
        let mut command = Command::new("sleep");
        command.arg("1000").env("CONCLAVE_MARK_TEST", &value).process_group(0);
        let mut child = command.spawn().unwrap();
        let found = group_marked_with(&format!("CONCLAVE_MARK_TEST={value}"));
        let other = group_marked_with(&format!("CONCLAVE_MARK_TEST={value}0"));
        child.kill().unwrap();
        child.wait().unwrap();
        let leader = Pid::from_raw(i32::try_from(child.id()).unwrap());
        assert_eq!((found, other), (Group::led_by(leader), None));
    }
}
