//! Where the state files are, and what they are called.

use std::fmt::Write as _;
use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::libc;
use nix::sys::statfs::statfs;
use sha2::{Digest, Sha256};

use super::file::LockFile;
use super::layout::BootId;
use crate::{Error, Kind, Resource};

/// How a state file's name ends.
const SUFFIX: &str = ".lock";

/// Lines about locks taken away by force. It only grows, and whoever holds or waits looks now and
/// then whether it did: that is how they hear of it.
const AUDIT: &str = "audit.log";

/// The directory of the state files.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    is_volatile: bool,
}

impl Directory {
    /// Uses `path`, and creates it if need be.
    pub fn open(path: &Path, allow_network: bool) -> Result<Self, Error> {
        let doing = || format!("cannot use the directory {}", path.display());
        let missing = path.ancestors().take_while(|it| !it.is_dir() && *it != Path::new(""));
        let missing: Vec<&Path> = missing.collect();
        if !missing.is_empty() {
            create(&missing).map_err(|error| Error::io(doing(), error))?;
        }
        let path = path.canonicalize().map_err(|error| Error::io(doing(), error))?;
        // What is synced in a directory is lost if the directory itself is.
        for parent in path.ancestors().skip(1).take(missing.len()) {
            if let Ok(parent) = File::open(parent) {
                parent.sync_all().map_err(|error| Error::io(doing(), error))?;
            }
        }
        let found = statfs(&path).map_err(|errno| Error::io(doing(), errno))?;
        let magic = found.filesystem_type().0;
        if let Some(file_system) = network_file_system(magic).filter(|_| !allow_network) {
            return Err(Error::NetworkFileSystem { path, file_system });
        }
        Ok(Self { path, is_volatile: is_volatile(magic) })
    }

    /// The directory of this user.
    pub fn default_path() -> Result<PathBuf, Error> {
        let absolute =
            |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
        if let Some(directory) = absolute("CONCLAVE_DIR") {
            return Ok(directory);
        }
        let state = absolute("XDG_STATE_HOME");
        let state = state.or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
        let state = state.ok_or_else(|| {
            let cause = io::Error::new(io::ErrorKind::NotFound, "none of them is an absolute path");
            Error::io("no directory for locks by CONCLAVE_DIR, XDG_STATE_HOME or HOME", cause)
        })?;
        Ok(state.join("conclave"))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a restart of the machine loses all that is in it.
    pub fn is_volatile(&self) -> bool {
        self.is_volatile
    }

    /// The state file of a resource. A beginning for people to recognise, then a digest that tells
    /// all names apart, whatever characters they have and whatever the file system thinks of case.
    pub fn file_of(&self, resource: &Resource) -> PathBuf {
        let kind = match resource.kind {
            Kind::Lock => "lock",
            Kind::Election => "election",
        };
        let name = resource.name.as_str();
        let letters = name.chars().take(32).map(|it| match it {
            'a'..='z' | '0'..='9' => it,
            'A'..='Z' => it.to_ascii_lowercase(),
            _ => '-',
        });
        let mut file: String = format!("{kind}-{}-", letters.collect::<String>());
        for byte in &Sha256::digest(format!("{kind}/{name}"))[..16] {
            let _ = write!(file, "{byte:02x}");
        }
        self.path.join(file + SUFFIX)
    }

    /// All state files.
    pub fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let doing = || format!("cannot read the directory {}", self.path.display());
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(|error| Error::io(doing(), error))? {
            let path = entry.map_err(|error| Error::io(doing(), error))?.path();
            if path.extension().is_some_and(|it| it == &SUFFIX[1..]) {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    /// Creates the state of `resource`, or leaves the one that somebody else created meanwhile. It
    /// is whole from the first moment at which it can be seen. Who takes the first fence from it
    /// makes sure that it survives a loss of power.
    pub fn create(&self, resource: &Resource, boot: BootId) -> Result<(), Error> {
        let path = self.file_of(resource);
        if path.exists() {
            // Of many who found none, the first has done it.
            return Ok(());
        }
        let doing = || format!("cannot create {}", path.display());
        let made = (|| {
            let mut options = File::options();
            options.write(true).create_new(true).custom_flags(libc::O_NOFOLLOW).mode(0o666);
            let (mut file, fresh) = loop {
                let fresh = self.path.join(format!(".new-{}-{:x}", std::process::id(), unique()));
                match options.open(&fresh) {
                    // Of a process with the same number: killed, or in another container.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    opened => break (opened?, fresh),
                }
            };
            let written = self
                .admit_as_the_directory_does(&file)
                .and_then(|()| file.write_all(&LockFile::initial(resource, boot)))
                .and_then(|()| file.sync_all())
                .and_then(|()| match std::fs::hard_link(&fresh, &path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                    done => done,
                });
            let removed = std::fs::remove_file(&fresh);
            written.and(removed)
        })();
        made.map_err(|error| Error::io(doing(), error))
    }

    /// Who may write to the directory takes part in its locks, whatever the creator's umask.
    fn admit_as_the_directory_does(&self, file: &File) -> io::Result<()> {
        let directory = std::fs::metadata(&self.path)?;
        if nix::unistd::geteuid().is_root() && directory.uid() != 0 {
            // Root in somebody's directory must not shut its owner out.
            std::os::unix::fs::fchown(file, Some(directory.uid()), Some(directory.gid()))?;
        }
        file.set_permissions(Permissions::from_mode(directory.permissions().mode() & 0o666))
    }

    /// Adds a line to the audit log, on disk before this returns.
    pub fn audit(&self, line: &str) -> Result<(), Error> {
        let path = self.path.join(AUDIT);
        let doing = || format!("cannot write {}", path.display());
        let mut options = File::options();
        // As with state files: neither a link nor a pipe that somebody put there.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        options.append(true).create(true).custom_flags(flags).mode(0o666);
        let is_new = !path.exists();
        let no_file = || Error::Damaged { path: path.clone(), what: "it is not a regular file" };
        let mut file = options.open(&path).map_err(|error| {
            // What a pipe without readers says, or a socket.
            let is_odd = error.raw_os_error() == Some(libc::ENXIO);
            if is_odd { no_file() } else { Error::io(doing(), error) }
        })?;
        if !file.metadata().map_err(|error| Error::io(doing(), error))?.is_file() {
            return Err(no_file());
        }
        let written = (|| {
            if is_new {
                self.admit_as_the_directory_does(&file)?;
            }
            file.write_all(format!("{line}\n").as_bytes())?;
            file.sync_all()
        })();
        written.map_err(|error| Error::io(doing(), error))
    }

    /// How long the audit log is.
    pub fn audit_length(&self) -> u64 {
        std::fs::metadata(self.path.join(AUDIT)).map_or(0, |it| it.len())
    }
}

/// Creates directories, given from the innermost to the outermost. Root in somebody's home must not
/// shut its owner out: what it creates there belongs to whom the next existing directory belongs
/// to.
fn create(missing: &[&Path]) -> io::Result<()> {
    let outermost = missing.last().and_then(|it| it.parent());
    // The parent of a single name is empty, and means here.
    let outermost = outermost.filter(|it| *it != Path::new("")).unwrap_or(Path::new("."));
    let existing = std::fs::metadata(outermost)?;
    for path in missing.iter().rev() {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => continue,
            made => made?,
        }
        if nix::unistd::geteuid().is_root() && existing.uid() != 0 {
            // By descriptor: the owner of the one around it could have put a link in its place.
            let mut options = File::options();
            options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_DIRECTORY);
            let made = options.open(path)?;
            if made.metadata()?.uid() == 0 {
                std::os::unix::fs::fchown(&made, Some(existing.uid()), Some(existing.gid()))?;
            }
        }
    }
    Ok(())
}

/// Another number with each call.
fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The run of the kernel.
pub fn boot_id() -> Result<BootId, Error> {
    const PATH: &str = "/proc/sys/kernel/random/boot_id";
    let text = std::fs::read_to_string(PATH);
    let text = text.map_err(|error| Error::io(format!("cannot read {PATH}"), error))?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let number = u128::from_str_radix(&digits, 16);
    let number = number.map_err(|error| {
        let cause = io::Error::new(io::ErrorKind::InvalidData, error);
        Error::io(format!("cannot read {PATH}"), cause)
    })?;
    Ok(number.to_be_bytes())
}

/// What `statfs` calls file systems that other machines may see, or that may be such a one in
/// disguise.
fn network_file_system(magic: libc::__fsword_t) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "nfs",
        0xff53_4d42 | 0xfe53_4d42 | 0x517b => "smb",
        0x5346_414f | 0x6b41_4653 => "afs",
        0x00c3_6400 => "ceph",
        0x0102_1997 => "9p",
        0x7375_7245 => "coda",
        0x0bd0_0bd0 => "lustre",
        0x0116_1970 => "gfs2",
        0x7461_636f => "ocfs2",
        0x4750_4653 => "gpfs",
        0x6573_5546 => "fuse, which may be sshfs or the like",
        _ => return None,
    })
}

/// Whether what `statfs` calls so lives in memory.
fn is_volatile(magic: libc::__fsword_t) -> bool {
    const TMPFS: libc::__fsword_t = 0x0102_1994;
    const RAMFS: libc::__fsword_t = 0x8584_58f6;
    matches!(magic, TMPFS | RAMFS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;

    fn lock(name: &str) -> Resource {
        Resource::lock(Name::new(name).unwrap())
    }

    #[test]
    fn every_name_has_its_own_harmless_file() {
        let directory = Directory { path: "/d".into(), is_volatile: false };
        let names = ["a", "A", "/", "..", ".", "a/b", "a-b", "a\0b", "ä", &"x".repeat(255)];
        let mut files: Vec<String> = names
            .iter()
            .flat_map(|name| [lock(name), Resource::election(Name::new(*name).unwrap())])
            .map(|it| directory.file_of(&it).to_str().unwrap().to_lowercase())
            .collect();
        for file in &files {
            let inner = file.strip_prefix("/d/").unwrap();
            assert!(!inner.contains(['/', '\0']) && !inner.starts_with('.'), "{inner}");
            assert!(inner.len() < 100, "{inner}");
        }
        files.sort();
        files.dedup();
        assert_eq!(files.len(), 2 * names.len(), "also where case does not count");
    }

    #[test]
    fn network_file_systems_are_told_from_those_of_this_machine() {
        assert_eq!(network_file_system(0x6969), Some("nfs"));
        assert_eq!(network_file_system(0xff53_4d42), Some("smb"));
        for (name, magic) in [("ext4", 0xef53), ("btrfs", 0x9123_683e), ("tmpfs", 0x0102_1994)] {
            assert_eq!(network_file_system(magic), None, "{name}");
        }
        for (name, magic) in [("xfs", 0x5846_5342), ("zfs", 0x2fc1_2fc1), ("overlay", 0x794c_7630)]
        {
            assert_eq!(network_file_system(magic), None, "{name}");
        }
    }
}
