//! Real servers for tests: etcd, started on loopback or on [hosts](crate::hosts) of their own.
//!
//! `cargo xtask servers` gets the programs. A test that needs them begins with
//!
//! ```no_run
//! # use conclave_testkit::servers::{self, EtcdCluster};
//! let Some(binaries) = servers::required() else { return };
//! let cluster = EtcdCluster::start(&binaries, 3);
//! cluster.kill(cluster.leader());
//! ```

mod etcd;
mod member;
mod options;

use std::path::{Path, PathBuf};
use std::process::Command;

pub use self::etcd::EtcdCluster;
pub use self::options::{ClientCertificates, EtcdOptions, Tls};
use crate::left_out::leave_out;

/// The programs of etcd.
#[derive(Clone, Debug)]
pub struct Binaries {
    /// The path of the server, `etcd`.
    pub etcd: PathBuf,
    /// Its command line.
    pub etcdctl: PathBuf,
}

/// What `cargo xtask servers` unpacked, or else what the system has.
pub fn found() -> Option<Binaries> {
    Some(Binaries { etcd: find("etcd")?, etcdctl: find("etcdctl")? })
}

/// The programs, or a line that says that this test is left out.
///
/// # Panics
///
/// If they are missing and the variable `CI` is `true`.
pub fn required() -> Option<Binaries> {
    let found = found();
    if found.is_none() {
        leave_out("etcd", "cargo xtask servers");
    }
    found
}

/// Where a program is: below `target/servers` of the workspace, then where the system looks.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let ours = ["usr/bin", "usr/sbin", "bin", "sbin"].map(|folder| unpacked().join(folder));
    let path = std::env::var_os("PATH").unwrap_or_default();
    // An ordinary user's path leaves these out, though what is there can be run.
    let theirs = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    ours.into_iter().chain(theirs).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// A program, with its libraries if they were unpacked with it.
pub(crate) fn program(name: &str) -> Command {
    let path = find(name).unwrap_or_else(|| name.into());
    let is_unpacked = path.starts_with(unpacked());
    let mut command = Command::new(path);
    if is_unpacked {
        command.env("LD_LIBRARY_PATH", std::env::join_paths(libraries()).unwrap_or_default());
    }
    command
}

/// Where the packages that were unpacked have their libraries: in a folder for the machine's kind.
fn libraries() -> Vec<PathBuf> {
    let folders = ["lib", "usr/lib"].map(|folder| unpacked().join(folder));
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.to_string_lossy().contains("-linux-gnu")).collect()
}

fn unpacked() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    workspace.expect("the crate lies two below the workspace").join("target/servers")
}
