//! The programs that some tests need, from Debian's packages: unpacked below `target/servers`,
//! neither installed nor started.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, bail};

/// Each program, and the packages that hold it and the libraries that a small system lacks.
const PROGRAMS: [(&str, &[&str]); 4] = [
    ("etcd", &["etcd-server"]),
    ("etcdctl", &["etcd-client"]),
    ("ip", &["iproute2", "libbpf1", "libelf1", "libmnl0", "libbsd0", "libmd0", "libcap2"]),
    ("openssl", &["openssl", "libssl3"]),
];

/// Gets what is missing, and says where it is.
pub fn get(root: &Path) -> anyhow::Result<()> {
    let target = target(root);
    let wanted = PROGRAMS.iter().filter(|(program, _)| find(root, program).is_none());
    let packages: Vec<&str> = wanted.flat_map(|(_, packages)| *packages).copied().collect();
    if !packages.is_empty() {
        unpack(&packages, &target)
            .with_context(|| format!("cannot get {} from Debian's packages", packages.join(" ")))?;
    }
    for (program, _) in PROGRAMS {
        let path = find(root, program).with_context(|| {
            format!("the packages were unpacked below {}, without {program}", target.display())
        })?;
        eprintln!("xtask: {}", path.display());
    }
    Ok(())
}

/// What tests would miss; empty where nothing is.
pub fn missing(root: &Path) -> Vec<&'static str> {
    let programs = PROGRAMS.into_iter().map(|(program, _)| program);
    programs.filter(|program| find(root, program).is_none()).collect()
}

fn target(root: &Path) -> PathBuf {
    root.join("target/servers")
}

/// Where tests look too: what was unpacked here, then what the system has.
fn find(root: &Path, program: &str) -> Option<PathBuf> {
    let ours = ["usr/bin", "usr/sbin", "bin", "sbin"].map(|folder| target(root).join(folder));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let theirs = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    ours.into_iter().chain(theirs).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Unpacks Debian's packages below a folder, and installs nothing.
pub fn unpack(packages: &[&str], target: &Path) -> anyhow::Result<()> {
    let downloads = Downloads::new(target)?;
    if download(packages, &downloads.0).is_err() {
        // The lists may be old, or missing as in a fresh container.
        succeed(Command::new("apt-get").args(["update", "-qq"]))?;
        download(packages, &downloads.0)?;
    }
    for entry in std::fs::read_dir(&downloads.0)? {
        let package = entry?.path();
        if package.extension().is_some_and(|it| it == "deb") {
            succeed(Command::new("dpkg-deb").arg("-x").arg(&package).arg(target))?;
        }
    }
    Ok(())
}

fn download(packages: &[&str], into: &Path) -> anyhow::Result<()> {
    let mut command = Command::new("apt-get");
    // The sandbox's user may not write into our directory, and warns about it.
    command.args(["download", "-qq", "-o", "APT::Sandbox::User=root"]).args(packages);
    succeed(command.current_dir(into)).map(drop)
}

/// Runs a command quietly; if it fails, the last that it said is the reason.
fn succeed(command: &mut Command) -> anyhow::Result<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {program}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let reason = said.lines().rev().find(|line| !line.trim().is_empty());
    bail!("{program}: {}", reason.unwrap_or("failed, and did not say why").trim())
}

/// A directory for packages, gone when they are unpacked.
struct Downloads(PathBuf);

impl Downloads {
    fn new(target: &Path) -> anyhow::Result<Self> {
        let path = target.join(format!("packages-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("{}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Downloads {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
