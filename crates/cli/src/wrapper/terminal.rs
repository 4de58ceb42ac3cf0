//! The terminal: whose group is in its foreground.
//!
//! The command has a group of its own, so the terminal takes it for a background job. It gets the
//! terminal only when it asks for it: `conclave lock x cmd | less` leaves the keyboard to `less`.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::killpg;
use nix::unistd::{getpgrp, tcgetpgrp, tcsetpgrp};

use super::group::Group;

/// The controlling terminal of this process.
pub(super) struct Terminal {
    device: OwnedFd,
}

impl Terminal {
    /// None if the process has no controlling terminal.
    pub(super) fn find() -> Option<Self> {
        let flags = OFlag::O_NOCTTY.bits();
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty");
        if let Ok(file) = opened {
            return Some(Self { device: file.into() });
        }
        // A container may lack /dev/tty although a standard descriptor is the terminal.
        let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
        let candidates = [input.as_fd(), output.as_fd(), error.as_fd()];
        let device = candidates.into_iter().find(|device| tcgetpgrp(device).is_ok())?;
        Some(Self { device: device.try_clone_to_owned().ok()? })
    }

    /// Whether the wrapper's own group is in the foreground.
    pub(super) fn is_ours(&self) -> bool {
        tcgetpgrp(&self.device) == Ok(getpgrp())
    }

    /// Puts `group` into the foreground in place of our own group. False if that is not for us to
    /// give away.
    pub(super) fn hand_to(&self, group: Group) -> bool {
        match tcgetpgrp(&self.device) {
            Ok(foreground) if foreground == group.id() => true,
            Ok(foreground) if foreground == getpgrp() => {
                tcsetpgrp(&self.device, group.id()).is_ok()
            }
            _ => false,
        }
    }

    /// Puts our own group back into the foreground, unless the terminal went on to a group that
    /// is none of ours: a shell that has stopped us, for one.
    pub(super) fn take_from(&self, group: Group) {
        let Ok(foreground) = tcgetpgrp(&self.device) else { return };
        let is_deserted = || killpg(foreground, None) == Err(Errno::ESRCH);
        if foreground == group.id() || is_deserted() {
            let _ = tcsetpgrp(&self.device, getpgrp());
        }
    }
}
