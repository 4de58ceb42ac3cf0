//! The signals that the wrapper handles: blocked, and read from a descriptor.

use std::cell::Cell;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{getpgrp, getpid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{SignalKind, signal};

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

/// While this lives, the signals do not interrupt the process but wait to be read. When it is
/// dropped, those that were not read are forgotten.
#[derive(Debug)]
pub struct Signals {
    arrivals: SignalFd,
    before: SigSet,
    /// Read, but not handled yet.
    backlog: Vec<Signal>,
    /// Whether somebody pressed Ctrl-C or Ctrl-\ at our terminal.
    keys_pressed: Cell<bool>,
}

impl Signals {
    /// Only the calling thread blocks them, and every thread that it starts from now on: call this
    /// before there are others.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn block() -> io::Result<Self> {
        hear_of_children()?;
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
        let mut watched = [PollFd::new(self.arrivals.as_fd(), PollFlags::POLLIN)];
        wait_for(&mut watched, at_most)
    }

    /// Waits for a signal that ends a process, or for the reader of `output` to go away: true if it
    /// has. Neither may come for so long.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn wait_for_end(
        &mut self,
        output: Option<BorrowedFd<'_>>,
        at_most: Duration,
    ) -> io::Result<(Option<Signal>, bool)> {
        // What is never asked for is told all the same: an error, or that the other side hung up.
        let output = output.map(|it| PollFd::new(it, PollFlags::empty()));
        let arrivals = PollFd::new(self.arrivals.as_fd(), PollFlags::POLLIN);
        let mut watched: Vec<PollFd<'_>> = [arrivals].into_iter().chain(output).collect();
        wait_for(&mut watched, at_most)?;
        let gone = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
        let output = watched.get(1).and_then(PollFd::revents);
        let is_unread = output.is_some_and(|events| events.intersects(gone));
        Ok((self.next_deadly()?, is_unread))
    }

    /// Waits for a signal that ends a process. Others have their usual effect.
    ///
    /// # Errors
    /// If the system refuses.
    pub async fn deadly(&mut self) -> io::Result<Signal> {
        let copy = self.arrivals.as_fd().try_clone_to_owned()?;
        #[expect(deprecated, reason = "sound for what owns its descriptor; the new one is unsafe")]
        let arrivals = AsyncFd::with_interest(copy, Interest::READABLE)?;
        loop {
            if let Some(signal) = self.next_deadly()? {
                return Ok(signal);
            }
            // What came before the clearing is found by the next look.
            arrivals.readable().await?.clear_ready();
        }
    }

    /// The next one that ends a process by default and is not ignored. One that stops it does so.
    fn next_deadly(&mut self) -> io::Result<Option<Signal>> {
        while let Some(signal) = self.next()? {
            match signal {
                Signal::SIGTSTP => {
                    self.stop(signal, false)?;
                }
                Signal::SIGWINCH => {}
                other if Self::is_forwarded(other) && !is_ignored(other) => {
                    return Ok(Some(other));
                }
                _ => {}
            }
        }
        Ok(None)
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

/// False if nothing came for so long.
fn wait_for(watched: &mut [PollFd<'_>], at_most: Duration) -> io::Result<bool> {
    // Rounded up: a time of zero would spin until the moment comes.
    let milliseconds = at_most.as_micros().div_ceil(1000);
    let timeout = PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX);
    match poll(watched, timeout) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Who was started with SIGCHLD ignored would never learn how its children end. A handler, which
/// does nothing here, replaces that; the children themselves start with the default.
fn hear_of_children() -> io::Result<()> {
    if !is_ignored(Signal::SIGCHLD) {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async { signal(SignalKind::child()).map(drop) })
}

/// Whether this process was told to ignore it, as by `nohup`. A signal that is blocked can be read
/// all the same.
fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|it| u64::from_str_radix(it.trim(), 16).ok()).unwrap_or(0);
    ignored >> (signal as u32 - 1) & 1 == 1
}

impl Drop for Signals {
    /// What came after the command's end has nobody to go to. It must not end the wrapper before
    /// it has said how the command ended.
    fn drop(&mut self) {
        while let Ok(Some(_)) = self.read() {}
        let _ = self.before.thread_set_mask();
    }
}
