//! A file that refuses late holders.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use conclave_core::Fence;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use thiserror::Error;

use super::{FenceGate, Stale};

/// Guards one file, between all processes of a machine that write it through a gate.
///
/// ```
/// use conclave_client::{Fence, gate::FileGate};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("report");
/// let gate = FileGate::open(&path)?;
/// gate.replace(Fence(7), b"by 7")?;
/// gate.replace(Fence(9), b"by 9")?;
///
/// let late = gate.replace(Fence(7), b"by 7, too late").unwrap_err();
/// assert_eq!(late.to_string(), "fence 7 is late: 9 was here already");
/// assert_eq!(std::fs::read(&path)?, b"by 9");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # How
///
/// The highest fence is stored in a side file, `PATH.fence`. A write locks the side file (in the
/// kernel, for all processes), compares the fence, stores it **on the disk, before the data**, and
/// then writes. The lock goes with its process, however that ends.
///
/// Why in that order: a crash may come between the two. If the data were first, a crash would
/// leave the data of 9 and the fence of 7, and 8, who is late, would overwrite them. With the fence
/// first it leaves the data of 7 and the fence of 9: the write of 9 is missing, as after any crash,
/// and nobody who is late gets in. 9 itself, or whoever comes after, writes again.
///
/// The side file is one line of 47 bytes with a checksum, overwritten in place by one call, within
/// one sector of the disk. Should it be torn nevertheless, or be damaged otherwise, every write is
/// refused ([`GateError::Damaged`]): a gate that guessed would let somebody in who is late. Whoever
/// is sure that no earlier holder is alive may remove the side file, and begins anew.
///
/// # What it needs
///
/// - Every writer uses the gate. It is no protection against others, and *removing the side file*
///   forgets the fence. (A gate that is already open notices, and refuses.)
/// - A file system of this machine, with hard links. Locks on network file systems may not hold.
/// - The file has one name. Symbolic links are followed when the gate is opened; but two hard links
///   to one file are two files to the gate.
///
/// All calls block, and wait for a writer before them, even for one that is suspended in the middle
/// of its write. In `async` code, call them from a thread that may block.
///
/// Readers need no gate. They see a [`replace`](Self::replace) whole or not at all, and of a
/// [`write`](Self::write) whatever is done of it.
#[derive(Debug)]
pub struct FileGate {
    path: PathBuf,
    side_path: PathBuf,
    /// So that a gate notices if its side file, and with it the fence, was exchanged.
    side_identity: Identity,
}

/// Why a write through a [`FileGate`] failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GateError {
    /// The holder comes late. Nothing was written.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// The system refused something. Some or all of the data may have been written; with
    /// [`FileGate::replace`], all or nothing. The fence may have been remembered.
    #[error("{doing}: {cause}")]
    Io {
        /// What was tried.
        doing: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The side file is not what it should be. It is left as it is, and nothing was written.
    #[error("{}: {what}; it is left as it is", .path.display())]
    Damaged {
        /// The side file that is damaged.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl FileGate {
    /// Opens the gate of the file at `path`, and makes the side file if there is none. The file
    /// itself need not exist yet, but its directory must.
    ///
    /// # Errors
    /// If the side file is damaged or cannot be made, or if `path` is something else than a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, GateError> {
        let path = path.as_ref();
        let path = real_path(path).map_err(io_error("opening", path))?;
        let side_path = with_suffix(&path, ".fence");

        let side = match open_side(&side_path) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => {
                create_side(&side_path).and_then(|()| open_side(&side_path))
            }
            opened => opened,
        }
        .map_err(io_error("opening", &side_path))?;
        let side_identity = Identity::of(&side).map_err(io_error("opening", &side_path))?;
        // Also if somebody else made it: that one may have crashed before this.
        sync_directory(&side_path).map_err(io_error("syncing the directory of", &side_path))?;

        let gate = Self { path, side_path, side_identity };
        gate.highest()?; // a damaged side file is better known now than at the first write
        Ok(gate)
    }

    /// Changes the file in place, and puts it on the disk. `write` gets it open for reading and
    /// writing, at its beginning; it is made if it does not exist. Until `write` returns, nobody
    /// else gets through the gate.
    ///
    /// A crash leaves whatever `write` has done so far; [`replace`](Self::replace) does better.
    ///
    /// `write` must not keep a copy of the file for later: that would go round the gate. And it
    /// must not use the gate of the same file: it would wait for itself.
    ///
    /// # Errors
    /// If the fence is late or the side file is damaged; `write` is not called then. Or if `write`
    /// or the system fails.
    pub fn write<T>(
        &self,
        fence: Fence,
        write: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> Result<T, GateError> {
        let _admitted = self.admit(fence)?;
        self.write_data(write).map_err(io_error("writing", &self.path))
    }

    /// Replaces the file's contents, all at once: whatever happens, the file has the old contents
    /// or the new ones. On the disk when this returns. Permissions stay; the owner becomes the
    /// process that writes.
    ///
    /// # Errors
    /// If the fence is late, the side file is damaged, or the system fails.
    pub fn replace(&self, fence: Fence, contents: &[u8]) -> Result<(), GateError> {
        let _admitted = self.admit(fence)?;
        self.replace_data(contents).map_err(io_error("replacing", &self.path))
    }

    /// Reads the file, `None` if there is none, and announces the fence: whoever has a lower one
    /// can no longer write. So what was read stays true until a later holder comes: read through
    /// the gate what you are going to [`replace`](Self::replace).
    ///
    /// # Errors
    /// If the fence is late, the side file is damaged, or the system fails.
    pub fn read(&self, fence: Fence) -> Result<Option<Vec<u8>>, GateError> {
        let _admitted = self.admit(fence)?;
        match fs::read(&self.path) {
            Ok(contents) => Ok(Some(contents)),
            Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(io_error("reading", &self.path)(cause)),
        }
    }

    /// The highest fence admitted so far; 0 if there was none. To know it is no permission: when
    /// this returns, it may be higher.
    ///
    /// # Errors
    /// If the side file is damaged or cannot be read.
    pub fn highest(&self) -> Result<Fence, GateError> {
        self.stored(&self.lock_side()?)
    }

    /// Lets `fence` in as long as the result lives, and stores it on the disk.
    fn admit(&self, fence: Fence) -> Result<LockedSide, GateError> {
        let side = self.lock_side()?;
        let mut gate = FenceGate::with_highest(self.stored(&side)?);
        gate.admit(fence)?;
        // Written even if it is the same. The one before may have crashed, or failed, between
        // writing and syncing: then it is in the kernel's memory, and perhaps never on the disk.
        let record = record_of(gate.highest());
        side.0
            .write_all_at(&record, 0)
            .and_then(|()| side.0.sync_data())
            .map_err(io_error("writing", &self.side_path))?;
        Ok(side)
    }

    /// Opens the side file anew: the lock belongs to the open file, so that two threads with one
    /// open file would not exclude each other.
    fn lock_side(&self) -> Result<LockedSide, GateError> {
        let gone = || GateError::Damaged {
            path: self.side_path.clone(),
            what: "it was removed or exchanged while the gate was open",
        };
        let failed = |cause: io::Error| match cause.kind() {
            ErrorKind::NotFound => gone(),
            _ => io_error("locking", &self.side_path)(cause),
        };

        let side = LockedSide::wait_for(open_side(&self.side_path).map_err(failed)?);
        let side = side.map_err(failed)?;
        // Two checks: that it is still the one from the beginning, and that it still was there
        // when the lock came. A lock on a removed file excludes nobody.
        let opened = Identity::of(&side.0).map_err(failed)?;
        let named = fs::symlink_metadata(&self.side_path).map_err(failed)?;
        if opened != self.side_identity || Identity::from(&named) != self.side_identity {
            return Err(gone());
        }
        Ok(side)
    }

    fn stored(&self, side: &LockedSide) -> Result<Fence, GateError> {
        let bytes = read_record(&side.0).map_err(io_error("reading", &self.side_path))?;
        fence_of(&bytes).ok_or_else(|| GateError::Damaged {
            path: self.side_path.clone(),
            what: "it is not the record of a fence, or its checksum is wrong",
        })
    }

    fn write_data<T>(&self, write: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NOFOLLOW);
        let mut file = match options.open(&self.path) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => {
                let made = options.create_new(true).open(&self.path)?;
                sync_directory(&self.path)?;
                made
            }
            opened => opened?,
        };
        let written = write(&mut file)?;
        file.sync_all()?;
        Ok(written)
    }

    fn replace_data(&self, contents: &[u8]) -> io::Result<()> {
        // One name is enough, as only one process at a time gets here. So a crash leaves at most
        // one such file, and the next one here removes it.
        let new_path = with_suffix(&self.side_path, ".new");
        remove_if_there(&new_path)?;
        let replaced = self.write_new(&new_path, contents);
        let replaced = replaced.and_then(|()| fs::rename(&new_path, &self.path));
        if replaced.is_err() {
            // The first error is the one to report.
            let _ = remove_if_there(&new_path);
        }
        replaced?;
        sync_directory(&self.path)
    }

    fn write_new(&self, new_path: &Path, contents: &[u8]) -> io::Result<()> {
        let mut new = OpenOptions::new().write(true).create_new(true).open(new_path)?;
        match fs::symlink_metadata(&self.path) {
            Ok(old) => new.set_permissions(old.permissions())?,
            Err(cause) if cause.kind() == ErrorKind::NotFound => {}
            Err(cause) => return Err(cause),
        }
        new.write_all(contents)?;
        // Before the rename: else a crash could leave the new name with no contents.
        new.sync_all()
    }
}

/// The side file, locked until it is dropped.
struct LockedSide(File);

impl LockedSide {
    fn wait_for(side: File) -> io::Result<Self> {
        loop {
            match fcntl(&side, FcntlArg::F_OFD_SETLKW(&whole_file(libc::F_WRLCK))) {
                Ok(_) => return Ok(Self(side)),
                Err(Errno::EINTR) => {} // a signal, not an answer
                Err(cause) => return Err(cause.into()),
            }
        }
    }
}

impl Drop for LockedSide {
    /// Closing it would do, if no other thread had just forked: the child's copy would keep the
    /// lock.
    fn drop(&mut self) {
        let _ = fcntl(&self.0, FcntlArg::F_OFD_SETLK(&whole_file(libc::F_UNLCK)));
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the C library's constants are small")]
fn whole_file(kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0, // to the end, wherever that is
        l_pid: 0, // must be zero for a lock that belongs to the open file
    }
}

/// Which file it is, whatever its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(file: &File) -> io::Result<Self> {
        Ok(Self::from(&file.metadata()?))
    }
}

impl From<&fs::Metadata> for Identity {
    fn from(metadata: &fs::Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// `conclave-fence-1 00000000000000000009 1a2b3c4d`, and the end of the line: one can read it,
/// and its length never changes.
const RECORD_LENGTH: usize = 16 + 1 + 20 + 1 + 8 + 1;

fn record_of(fence: Fence) -> Vec<u8> {
    let text = format!("conclave-fence-1 {:020}", fence.0);
    let checksum = crc32fast::hash(text.as_bytes());
    format!("{text} {checksum:08x}\n").into_bytes()
}

/// Reads it the simplest safe way: it must be exactly what would have been written.
fn fence_of(bytes: &[u8]) -> Option<Fence> {
    let digits = str::from_utf8(bytes.get(17..37)?).ok()?;
    let fence = Fence(digits.parse().ok()?);
    (record_of(fence) == bytes).then_some(fence)
}

/// One byte more than a record, to notice a file that is too long.
fn read_record(side: &File) -> io::Result<Vec<u8>> {
    let mut bytes = [0; RECORD_LENGTH + 1];
    let mut length = 0;
    while length < bytes.len() {
        match side.read_at(&mut bytes[length..], length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(bytes[..length].to_vec())
}

fn open_side(side_path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(side_path)
}

/// Makes the side file in a way that it is never seen unfinished: an empty one is a damaged one,
/// and not one that is just being made.
fn create_side(side_path: &Path) -> io::Result<()> {
    static ATTEMPTS: AtomicU64 = AtomicU64::new(0);
    let (mut new, new_path) = loop {
        let attempt = ATTEMPTS.fetch_add(1, Ordering::Relaxed);
        let new_path = with_suffix(side_path, &format!(".{}-{attempt}", process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&new_path) {
            Ok(new) => break (new, new_path),
            // Left by a process that had the same number before.
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(cause),
        }
    };
    let made = new
        .write_all(&record_of(Fence(0)))
        .and_then(|()| new.sync_all())
        // A link, and not a rename, for it never replaces: somebody may have been faster.
        .and_then(|()| match fs::hard_link(&new_path, side_path) {
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        });
    let removed = remove_if_there(&new_path);
    made.and(removed)
}

/// Follows symbolic links, so that two names of one file have one gate.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(_) => {
            let real = fs::canonicalize(path)?;
            if !fs::symlink_metadata(&real)?.is_file() {
                return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
            }
            Ok(real)
        }
        Err(cause) if cause.kind() == ErrorKind::NotFound => {
            let no_file = || io::Error::new(ErrorKind::InvalidInput, "it is not a file's name");
            let name = path.file_name().ok_or_else(no_file)?;
            Ok(fs::canonicalize(directory_of(path))?.join(name))
        }
        Err(cause) => Err(cause),
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

/// A new name is on the disk only when its directory is.
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(directory_of(path))?.sync_all()
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut text = OsString::from(path);
    text.push(suffix);
    PathBuf::from(text)
}

fn io_error(doing: &str, path: &Path) -> impl FnOnce(io::Error) -> GateError {
    move |cause| GateError::Io { doing: format!("{doing} {}", path.display()), cause }
}
