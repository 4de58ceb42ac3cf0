//! Who may use whom. Pure crates see pure crates only, runners do not know each other, and no
//! runner knows an algorithm by name.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

/// Each crate and the crates of this workspace that it may use; tests may use more.
const MAY_USE: &[(&str, &[&str])] = &[
    ("conclave-core", &[]),
    ("conclave-algorithms", &["conclave-core"]),
    ("conclave-observe", &["conclave-core"]),
    ("conclave-diagram", &["conclave-core", "conclave-observe"]),
    ("conclave-sim", &["conclave-core", "conclave-observe"]),
    ("conclave-check", &["conclave-core", "conclave-observe"]),
    (
        "conclave-workbench",
        &[
            "conclave-core",
            "conclave-algorithms",
            "conclave-observe",
            "conclave-sim",
            "conclave-check",
            "conclave-diagram",
        ],
    ),
    ("conclave-testkit", &["conclave-core"]),
    ("conclave-client", &["conclave-core", "conclave-etcd-api"]),
    ("conclave-etcd-api", &[]),
    (
        "conclave-cli",
        &[
            "conclave-core",
            "conclave-algorithms",
            "conclave-observe",
            "conclave-sim",
            "conclave-check",
            "conclave-diagram",
            "conclave-workbench",
            "conclave-client",
        ],
    ),
    ("conclave-examples", &["conclave-client"]),
    ("xtask", &[]),
];

/// Crates that must build without the standard library: no clock, socket, thread or hash map can be
/// named there.
pub const PURE: &[&str] = &[
    "conclave-core",
    "conclave-algorithms",
    "conclave-observe",
    "conclave-diagram",
    "conclave-sim",
    "conclave-check",
    "conclave-workbench",
];

/// The only files of pure crates that take the standard library in: each is a module behind a
/// feature, without which its crate is as pure as the others.
const IMPURE: &[(&str, &str)] = &[("conclave-check", "sync/threads.rs")];

/// Checks the manifests of all crates, and that the pure ones do without the standard library.
pub fn check(root: &Path) -> anyhow::Result<()> {
    let metadata = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--no-deps", "--locked"])
        .current_dir(root)
        .output()
        .context("cargo metadata")?;
    if !metadata.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&metadata.stderr).trim());
    }
    let metadata: Value = serde_json::from_slice(&metadata.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo names the packages")?;
    for package in packages {
        let name = package["name"].as_str().context("a package has a name")?;
        let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
            bail!("{name} is not in the table of layers; say there what it may use");
        };
        for used in dependencies(package) {
            if MAY_USE.iter().any(|(known, _)| *known == used) && !allowed.contains(&used) {
                bail!("{name} uses {used}, which its layer must not");
            }
        }
        if PURE.contains(&name) {
            check_purity(name, package)?;
        }
    }
    Ok(())
}

fn dependencies(package: &Value) -> impl Iterator<Item = &str> {
    let list = package["dependencies"].as_array().into_iter().flatten();
    list.filter(|it| it["kind"].is_null()).filter_map(|it| it["name"].as_str())
}

fn check_purity(name: &str, package: &Value) -> anyhow::Result<()> {
    let manifest = package["manifest_path"].as_str().context("a package has a manifest")?;
    let folder = Path::new(manifest).parent().context("a manifest lies in a folder")?;
    let source = folder.join("src");
    let library = std::fs::read_to_string(source.join("lib.rs"))?;
    if !library.lines().any(|line| line == "#![no_std]") {
        bail!("{name} is pure and must say #![no_std]");
    }
    for file in files_below(&source)? {
        let text = std::fs::read_to_string(&file)?;
        let takes_std = text.lines().any(|line| line.trim_start().starts_with("extern crate std"));
        let place = file.strip_prefix(&source)?;
        if takes_std && !IMPURE.iter().any(|&(it, file)| it == name && Path::new(file) == place) {
            let place = place.display();
            bail!("{name} is pure, and src/{place} must not take the standard library in again");
        }
    }
    Ok(())
}

fn files_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => files.extend(files_below(&path)?),
            false => files.push(path),
        }
    }
    Ok(files)
}
