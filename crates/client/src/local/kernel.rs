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

/// Where the bytes of tickets begin: two for each.
const TICKETS: i64 = 1 << 41;

/// A byte of a ticket. Tickets are never used twice, so a byte that was freed once stays free.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TicketByte {
    /// Locked as long as the ticket waits for its turn.
    Waiting(u64),
    /// Locked as long as the ticket is in the queue at all, waiting or holding.
    Alive(u64),
}

impl TicketByte {
    /// Where the byte lies.
    pub fn position(self) -> i64 {
        let (ticket, offset) = match self {
            Self::Waiting(ticket) => (ticket, 0),
            Self::Alive(ticket) => (ticket, 1),
        };
        TICKETS + i64::try_from(ticket).map_or(i64::MAX / 4, |it| 2 * it) + offset
    }
}

/// The state's guard, held until dropped.
pub struct Guarded<'a>(&'a File);

impl Drop for Guarded<'_> {
    fn drop(&mut self) {
        // Unlocking what is locked cannot fail but for a closed descriptor.
        let _ = set(self.0, libc::F_UNLCK, GUARD, 1);
    }
}

/// Takes the guard if nobody has it.
pub fn try_guard(file: &File, access: Access) -> io::Result<Option<Guarded<'_>>> {
    let kind = match access {
        Access::Write => libc::F_WRLCK,
        Access::Read => libc::F_RDLCK,
    };
    match set(file, kind, GUARD, 1) {
        Ok(()) => Ok(Some(Guarded(file))),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// What the guard is taken for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The state will be written.
    Write,
    /// Others may read at the same time.
    Read,
}

/// Locks the bytes of a new ticket. Nobody else ever locks them for writing.
pub fn claim(file: &File, ticket: u64, waits: bool) -> io::Result<()> {
    let alive = TicketByte::Alive(ticket).position();
    let (first, count) = if waits { (alive - 1, 2) } else { (alive, 1) };
    Ok(set(file, libc::F_WRLCK, first, count)?)
}

/// Says that the ticket waits no longer.
pub fn stop_waiting(file: &File, ticket: u64) -> io::Result<()> {
    Ok(set(file, libc::F_UNLCK, TicketByte::Waiting(ticket).position(), 1)?)
}

/// Lets go of everything that this open file has locked.
pub fn release_all(file: &File) -> io::Result<()> {
    Ok(set(file, libc::F_UNLCK, 0, 0)?)
}

/// Whether some other open file has that byte. Sleepers ask for it only to read, and are not
/// counted.
pub fn is_locked(file: &File, byte: TicketByte) -> io::Result<bool> {
    let mut probe = range(libc::F_RDLCK, byte.position(), 1);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut probe))?;
    Ok(i32::from(probe.l_type) != libc::F_UNLCK)
}

/// Sleeps until nobody else has that byte. Blocks the thread.
pub fn sleep_until_free(file: &File, byte: TicketByte) -> io::Result<()> {
    let wanted = range(libc::F_RDLCK, byte.position(), 1);
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
