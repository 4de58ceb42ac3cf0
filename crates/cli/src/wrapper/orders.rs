//! What the wrapper tells its guard: lines in a pipe.

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use conclave_client::BootTime;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{Pid, read};

use super::group::Group;

/// One line of what a wrapper tells its guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// This is the group to end when the wrapper dies, or the deadline comes near.
    Group(Group),
    /// The lock is safely held until then, and no longer until an earlier moment.
    Deadline(BootTime),
    /// The command has ended: hold the lock until the rest of its group has, too.
    Linger,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(group) => write!(f, "group {}", group.id()),
            Self::Deadline(moment) => write!(f, "deadline {}", moment.to_duration().as_nanos()),
            Self::Linger => f.write_str("linger"),
        }
    }
}

impl Order {
    fn parse(line: &str) -> Option<Self> {
        match line.split_once(' ') {
            Some(("group", id)) => Group::led_by(Pid::from_raw(id.parse().ok()?)).map(Self::Group),
            Some(("deadline", nanoseconds)) => nanosecond(nanoseconds).map(Self::Deadline),
            None if line == "linger" => Some(Self::Linger),
            _ => None,
        }
    }
}

/// The moment so many nanoseconds after the machine's start.
pub(super) fn nanosecond(text: &str) -> Option<BootTime> {
    Some(BootTime::since_start(Duration::from_nanos(text.parse().ok()?)))
}

/// The guard's end of the pipe, which is its standard input.
pub(super) struct Orders {
    input: io::Stdin,
    bytes: Vec<u8>,
    /// Whether nobody can write any more: the wrapper has died.
    pub(super) have_ended: bool,
}

impl Orders {
    pub(super) fn from_input() -> Self {
        Self { input: io::stdin(), bytes: Vec::new(), have_ended: false }
    }

    /// Takes in all that is there, without waiting for more, and returns the orders among it.
    pub(super) fn take(&mut self) -> Vec<Order> {
        while !self.have_ended && self.can_be_read() {
            let mut buffer = [0; 4096];
            match read(self.input.as_fd(), &mut buffer) {
                Ok(0) => self.have_ended = true,
                Ok(count) => self.bytes.extend(&buffer[..count]),
                Err(Errno::EINTR) => {}
                Err(_) => self.have_ended = true,
            }
        }
        let whole = self.bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.bytes.drain(..whole).collect();
        String::from_utf8_lossy(&lines).lines().filter_map(Order::parse).collect()
    }

    /// What to wait on for more of them.
    pub(super) fn watched(&self) -> PollFd<'_> {
        PollFd::new(self.input.as_fd(), PollFlags::POLLIN)
    }

    fn can_be_read(&self) -> bool {
        poll(&mut [self.watched()], PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood() {
        let group = Group::led_by(Pid::from_raw(42)).unwrap();
        let deadline = BootTime::since_start(Duration::from_nanos(123_456_789_012));
        for order in [Order::Group(group), Order::Deadline(deadline), Order::Linger] {
            assert_eq!(Order::parse(&order.to_string()), Some(order));
        }
        for line in ["", "group", "group 1", "group -5", "deadline x", "linger on"] {
            assert_eq!(Order::parse(line), None, "{line}");
        }
    }
}
