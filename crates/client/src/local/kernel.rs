//! The kernel's byte-range locks, in the form that belongs to an *open file* rather than to a
//! process (OFD locks): the kernel frees them when the last copy of the descriptor is closed,
//! however its owners died; a copy that a child inherited keeps them.
//!
//! Which byte means what is said here and nowhere else. None of them holds data: a lock's range has
//! nothing to do with the file's size.

use std::fs::File;
use std::io;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// Held for microseconds, by whoever reads or writes the state.
pub const GUARD: i64 = 1 << 40;

/// Where the bytes of tickets begin: four for each, of which three are used, each by another open
/// file.
const TICKETS: i64 = 1 << 41;

/// Bytes of a ticket. Tickets are never used twice, so what was freed once stays free.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TicketBytes {
    /// The first, locked as long as the ticket waits for its turn: by an open file that may keep
    /// others in the queue too.
    Waiting(u64),
    /// All of them. The ticket is in the queue as long as one is locked: the first while it waits,
    /// the second while it holds, by an open file of its own, the third by the keeper of a holder.
    Alive(u64),
}

impl TicketBytes {
    /// Where they begin, and how many they are.
    fn range(self) -> (i64, i64) {
        match self {
            Self::Waiting(ticket) => (first_byte(ticket), 1),
            Self::Alive(ticket) => (first_byte(ticket), 3),
        }
    }
}

fn first_byte(ticket: u64) -> i64 {
    // What is read from a file is below 2^59; so nothing overflows.
    TICKETS + i64::try_from(ticket).map_or(i64::MAX / 2, |it| it.saturating_mul(4))
}

/// Where the locks of those who keep a ticket alive are.
pub fn lock_positions(ticket: u64) -> [i64; 3] {
    [0, 1, 2].map(|offset| first_byte(ticket) + offset)
}

/// The state's latch, held until dropped.
pub struct Latched<'a>(&'a File);

impl Drop for Latched<'_> {
    fn drop(&mut self) {
        // Unlocking what is locked cannot fail but for a closed descriptor.
        let _ = set(self.0, libc::F_UNLCK, GUARD, 1);
    }
}

/// Takes the latch if nobody has it.
pub fn try_latch(file: &File, access: Access) -> io::Result<Option<Latched<'_>>> {
    let kind = match access {
        Access::Write => libc::F_WRLCK,
        Access::Read => libc::F_RDLCK,
    };
    match set(file, kind, GUARD, 1) {
        Ok(()) => Ok(Some(Latched(file))),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// What the latch is taken for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The state will be written.
    Write,
    /// Others may read at the same time.
    Read,
}

/// Keeps a new ticket in the queue. Nobody else ever locks that byte for writing.
pub fn wait(file: &File, ticket: u64) -> io::Result<()> {
    Ok(set(file, libc::F_WRLCK, first_byte(ticket), 1)?)
}

/// Holds with that ticket. Nobody else ever locks that byte for writing.
pub fn hold(file: &File, ticket: u64) -> io::Result<()> {
    Ok(set(file, libc::F_WRLCK, first_byte(ticket) + 1, 1)?)
}

/// Keeps a ticket alive that another open file has.
pub fn keep(file: &File, ticket: u64) -> io::Result<()> {
    Ok(set(file, libc::F_WRLCK, first_byte(ticket) + 2, 1)?)
}

/// Says that the ticket waits no longer.
pub fn stop_waiting(file: &File, ticket: u64) -> io::Result<()> {
    Ok(set(file, libc::F_UNLCK, first_byte(ticket), 1)?)
}

/// Lets go of everything that this open file has locked.
pub fn release_all(file: &File) -> io::Result<()> {
    Ok(set(file, libc::F_UNLCK, 0, 0)?)
}

/// Whether some other open file has one of these bytes. Sleepers ask for them only to read, and are
/// not counted.
pub fn is_locked(file: &File, bytes: TicketBytes) -> io::Result<bool> {
    let (start, length) = bytes.range();
    let mut probe = range(libc::F_RDLCK, start, length);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut probe))?;
    Ok(i32::from(probe.l_type) != libc::F_UNLCK)
}

/// Sleeps until nobody else has any of these bytes. Blocks the thread.
pub fn sleep_until_free(file: &File, bytes: TicketBytes) -> io::Result<()> {
    let (start, length) = bytes.range();
    let wanted = range(libc::F_RDLCK, start, length);
    loop {
        match fcntl(file, FcntlArg::F_OFD_SETLKW(&wanted)) {
            Err(Errno::EINTR) => {}
            done => return Ok(done.map(drop)?),
        }
    }
}

fn set(file: &File, kind: i32, start: i64, length: i64) -> Result<(), Errno> {
    fcntl(file, FcntlArg::F_OFD_SETLK(&range(kind, start, length))).map(drop)
}

fn range(kind: i32, start: i64, length: i64) -> libc::flock {
    let narrow = |it: i32| i16::try_from(it).expect("the kernel's constants are small");
    libc::flock {
        l_type: narrow(kind),
        l_whence: narrow(libc::SEEK_SET),
        l_start: start,
        l_len: length,
        l_pid: 0,
    }
}
