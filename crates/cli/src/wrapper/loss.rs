//! What is done to the command once the lock is lost.

use std::io;
use std::process::Command;
use std::time::Duration;

use conclave_client::BootTime;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::group::{Group, Members};
use super::spawn::{Start, spawn};
use super::{OnLost, say};

/// The command's group is being ended, because its lock is lost.
pub(super) struct Ending {
    group: Group,
    members: Members,
    /// When patience ends.
    kill_at: BootTime,
    /// The user's own command, while it runs. It leads a group.
    hook: Option<Group>,
}

impl Ending {
    /// Begins to end `group`, as `policy` says; what is left at `kill_at` is killed. None if the
    /// policy is to do nothing.
    pub(super) fn begin(
        group: Group,
        reason: &str,
        policy: &OnLost,
        kill_at: BootTime,
        unblocked: &SigSet,
    ) -> Option<Self> {
        let mut ending = Self { group, members: Members::of(group), kill_at, hook: None };
        match policy {
            OnLost::Ignore => {
                say(&format!("lock lost: {reason}; the command runs on without it"));
                return None;
            }
            _ if kill_at.is_past() => {
                say(&format!("lock lost: {reason}; stopping the command"));
                group.signal(Signal::SIGKILL);
            }
            OnLost::Term => {
                say(&format!("lock lost: {reason}; stopping the command"));
                group.terminate();
            }
            OnLost::Kill => {
                say(&format!("lock lost: {reason}; stopping the command"));
                ending.kill_at = BootTime::now();
                group.signal(Signal::SIGKILL);
            }
            OnLost::Run(hook) => {
                say(&format!("lock lost: {reason}; running: {hook}"));
                match start_hook(hook, reason, group, unblocked) {
                    Ok(leader) => ending.hook = leader,
                    // It was to end the command, perhaps; now nobody else does.
                    Err(error) => {
                        say(&format!("cannot run it: {error}; stopping the command"));
                        group.terminate();
                    }
                }
            }
        }
        Some(ending)
    }

    /// How long until patience ends; none if it has ended.
    pub(super) fn patience(&self) -> Option<Duration> {
        let left = self.kill_at.left();
        (!left.is_zero()).then_some(left)
    }

    /// Kills what is left when patience has ended.
    pub(super) fn enforce(&self) {
        if self.patience().is_none() {
            self.group.signal(Signal::SIGKILL);
            if let Some(hook) = self.hook {
                hook.signal(Signal::SIGKILL);
            }
        }
    }

    /// Whether neither a member of the group nor the user's own command lives.
    ///
    /// The command's leader is not reaped before, so that the group's number stays taken.
    pub(super) fn is_complete(&mut self) -> bool {
        if let Some(hook) = self.hook
            && waitpid(hook.id(), Some(WaitPidFlag::WNOHANG)) != Ok(WaitStatus::StillAlive)
        {
            self.hook = None;
        }
        self.hook.is_none() && !self.members.any_lives()
    }
}

fn start_hook(
    hook: &str,
    reason: &str,
    group: Group,
    unblocked: &SigSet,
) -> io::Result<Option<Group>> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(hook);
    command.env("CONCLAVE_LOST", reason).env("CONCLAVE_GROUP", group.id().to_string());
    let start = Start { name: None, blocked: unblocked, inherited: None, input: None };
    let leader: Pid = spawn(&command, &start)?;
    Ok(Group::led_by(leader))
}
