//! The engine `local` and its directory: whose it is, where it is, what else lies in it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use conclave_client::{Client, Error, Local, Target};
use nix::libc;
use nix::sys::stat::Mode;
use nix::unistd::{Uid, mkfifo};

use super::{World, lock, soon};

#[test]
fn memory_is_told_from_a_disk() {
    const TMPFS: libc::__fsword_t = 0x0102_1994;
    let found = |path: &Path| nix::sys::statfs::statfs(path).unwrap().filesystem_type().0;
    for parent in [Path::new("/dev/shm"), Path::new("/var/tmp"), &std::env::temp_dir()] {
        let Ok(directory) = tempfile::tempdir_in(parent) else { continue };
        let engine = Local::open(directory.path()).unwrap();
        assert_eq!(engine.is_volatile(), found(parent) == TMPFS, "{}", parent.display());
    }
}

#[test]
fn what_root_creates_in_a_home_belongs_to_its_owner() {
    const OWNER: u32 = 12_345;
    if !Uid::effective().is_root() {
        println!("only root can: nothing was tested");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(home.path(), Some(OWNER), Some(OWNER)).unwrap();
    let state = home.path().join(".local/state/conclave");
    let client = Client::new(Local::open(&state).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { client.lock("x").await.unwrap().release().await.unwrap() });
    let created =
        [".local", ".local/state", ".local/state/conclave"].map(|it| home.path().join(it));
    let files = std::fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().path());
    for path in created.into_iter().chain(files) {
        let found = std::fs::metadata(&path).unwrap();
        assert_eq!((found.uid(), found.gid()), (OWNER, OWNER), "{}", path.display());
        if found.is_dir() {
            assert_eq!(found.permissions().mode() & 0o777, 0o700, "{}", path.display());
        }
    }
}

#[tokio::test]
async fn a_pipe_in_place_of_the_audit_log_makes_nobody_wait() {
    let world = World::new();
    let guard = world.client.lock("x").await.unwrap();
    let audit = world.directory.path().join("audit.log");
    mkfifo(&audit, Mode::from_bits_truncate(0o600)).unwrap();
    // Without a reader, and with one.
    for reader in [None, Some(libc::O_NONBLOCK)] {
        let _reader = reader.map(|flags| {
            use std::os::unix::fs::OpenOptionsExt;
            std::fs::File::options().read(true).custom_flags(flags).open(&audit).unwrap()
        });
        let stranger = world.stranger();
        let (resource, target) = (lock("x"), Target::Holders);
        let refused = soon(stranger.engine().revoke(&resource, &target, "root")).await;
        let refused = refused.unwrap_err();
        assert!(matches!(&refused, Error::Damaged { path, .. } if *path == audit), "{refused}");
    }
    assert!(guard.release().await.is_ok(), "what cannot be put down is not done");
}
