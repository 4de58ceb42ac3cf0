//! The signals that the wrapper handles: blocked, and read from a descriptor.

use std::cell::Cell;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{getpgrp, getpid};

/// What goes on to the command's group as it came.
const FORWARDED: [Signal; 8] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
    Signal::SIGALRM,
];

/// What the wrapper acts on itself. SIGTTOU is blocked so that the terminal can be taken back
/// from the background.
const HANDLED: [Signal; 4] = [Signal::SIGCHLD, Signal::SIGCONT, Signal::SIGTSTP, Signal::SIGTTOU];

/// While this lives, the signals do not interrupt the wrapper but wait to be read.
pub(super) struct Signals {
    arrivals: SignalFd,
    before: SigSet,
    /// Read, but not handled yet.
    backlog: Vec<Signal>,
    /// Whether somebody pressed Ctrl-C or Ctrl-\ at our terminal.
    keys_pressed: Cell<bool>,
}

impl Signals {
    /// Only the calling thread blocks them: another thread would have to block them too.
    pub(super) fn block() -> io::Result<Self> {
        let signals: SigSet = FORWARDED.into_iter().chain(HANDLED).collect();
        let before = signals.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        match SignalFd::with_flags(&signals, flags) {
            Ok(arrivals) => {
                Ok(Self { arrivals, before, backlog: Vec::new(), keys_pressed: Cell::new(false) })
            }
            Err(error) => {
                before.thread_set_mask()?;
                Err(error.into())
            }
        }
    }

    /// What was blocked before, and what the command shall find blocked.
    pub(super) fn before(&self) -> &SigSet {
        &self.before
    }

    pub(super) fn is_forwarded(signal: Signal) -> bool {
        FORWARDED.contains(&signal)
    }

    /// Waits for a signal; false if there was none for so long.
    pub(super) fn wait(&self, at_most: Duration) -> io::Result<bool> {
        if !self.backlog.is_empty() {
            return Ok(true);
        }
        // Rounded up: a time of zero would spin until the moment comes.
        let milliseconds = at_most.as_micros().div_ceil(1000);
        let timeout = PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX);
        let mut watched = [PollFd::new(self.arrivals.as_fd(), PollFlags::POLLIN)];
        match poll(&mut watched, timeout) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The next signal that has arrived.
    pub(super) fn next(&mut self) -> io::Result<Option<Signal>> {
        match self.backlog.pop() {
            Some(signal) => Ok(Some(signal)),
            None => self.read(),
        }
    }

    fn read(&self) -> io::Result<Option<Signal>> {
        let arrived = self.arrivals.read_signal()?;
        if arrived.is_some_and(|signal| signal.ssi_code == libc::SI_KERNEL) {
            self.keys_pressed.set(true);
        }
        let number = arrived.and_then(|signal| i32::try_from(signal.ssi_signo).ok());
        Ok(number.and_then(|number| Signal::try_from(number).ok()))
    }

    /// Whether somebody pressed Ctrl-C or Ctrl-\ at our terminal. A signal that a process sent is
    /// another thing.
    pub(super) fn keys_pressed(&self) -> bool {
        self.keys_pressed.get()
    }

    /// Stops this process, or all of its group, as `signal` does by default. Returns when it was
    /// continued. False if it never stopped: the kernel stops nothing that no shell could
    /// continue, an orphaned process group.
    pub(super) fn stop(&mut self, signal: Signal, whole_group: bool) -> io::Result<bool> {
        if whole_group {
            killpg(getpgrp(), signal)?;
        } else {
            kill(getpid(), signal)?;
        }
        let alone = SigSet::from(signal);
        alone.thread_unblock()?;
        alone.thread_block()?;
        // Nothing but SIGCONT ends a stop.
        let mut was_continued = false;
        while let Some(signal) = self.read()? {
            match signal {
                Signal::SIGCONT => was_continued = true,
                other => self.backlog.insert(0, other),
            }
        }
        Ok(was_continued)
    }
}

impl Drop for Signals {
    /// What came after the command's end has nobody to go to. It must not end the wrapper before
    /// it has said how the command ended.
    fn drop(&mut self) {
        while let Ok(Some(_)) = self.read() {}
        let _ = self.before.thread_set_mask();
    }
}
