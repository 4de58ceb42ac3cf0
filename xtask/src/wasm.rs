//! The pure crates as WebAssembly: they must build for it, and do there what they do natively.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::servers;

const TARGET: &str = "wasm32-unknown-unknown";

/// Says where a toolchain was unpacked, if not where we unpack it.
const TOOLCHAIN: &str = "CONCLAVE_WASM_TOOLCHAIN";

/// Debian's compiler for its browsers and the source of its library: what it takes to build the
/// library where rustup cannot get it. Ours links and runs the build.
const PACKAGES: [&str; 5] =
    ["rustc-web", "libstd-rust-web-1.96", "libstd-rust-web-dev", "libllvm22", "rust-web-src"];

/// Builds the probe, which uses all pure crates, natively and as WebAssembly; runs both, and fails
/// if they differ.
pub fn check(root: &Path) -> anyhow::Result<()> {
    let toolchain = Toolchain::find(root)?;
    said(Command::new("node").arg("--version")).context("node is needed to run what is built")?;
    let natively = said(cargo(root).args(["run", "--release", "--locked", "--quiet"]))?;
    print("natively", &natively);
    let mut build = cargo(root);
    build.args(["build", "--release", "--locked", "--lib", "--target", TARGET]);
    toolchain.prepare(&mut build)?;
    said(&mut build)?;
    let module = target(root).join(TARGET).join("release/conclave_wasm.wasm");
    let bytes = std::fs::metadata(&module).with_context(|| format!("{}", module.display()))?.len();
    eprintln!("xtask: {} has {bytes} bytes", module.display());
    let in_node = said(Command::new("node").arg(probe(root).join("run.mjs")).arg(&module))?;
    print("in node", &in_node);
    if natively != in_node {
        bail!("WebAssembly does not do what is done natively");
    }
    Ok(())
}

/// Gets the toolchain from Debian's packages, unpacked and not installed.
pub fn get_toolchain(root: &Path) -> anyhow::Result<()> {
    let folder = unpacked(root);
    if !rustc_below(&folder).is_file() {
        servers::unpack(&PACKAGES, &folder)
            .with_context(|| format!("cannot get {} from Debian's packages", PACKAGES.join(" ")))?;
    }
    eprintln!("xtask: {}", rustc_below(&folder).display());
    Ok(())
}

enum Toolchain {
    /// Ours has a library for the target.
    Ours,
    /// One that has its source, in this folder.
    Unpacked(PathBuf),
}

impl Toolchain {
    fn find(root: &Path) -> anyhow::Result<Self> {
        let library = said(rustc().args(["--print", "target-libdir", "--target", TARGET]))?;
        if Path::new(library.trim()).is_dir() {
            return Ok(Self::Ours);
        }
        let folder = unpacked(root);
        if rustc_below(&folder).is_file() {
            return Ok(Self::Unpacked(folder));
        }
        bail!(
            "there is no library for {TARGET}; get it by one of\n  \
             rustup target add {TARGET}\n  \
             cargo xtask wasm toolchain\n\
             The second needs Debian 12 and no server of rustup's: it unpacks a compiler and the \
             library's source, 0.9 GB, below {}, or where {TOOLCHAIN} says.",
            folder.display()
        )
    }

    /// Has a build use it.
    fn prepare(&self, build: &mut Command) -> anyhow::Result<()> {
        let Self::Unpacked(folder) = self else { return Ok(()) };
        let sysroot = said(rustc().args(["--print", "sysroot"]))?;
        let version = said(rustc().arg("-vV"))?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        let host = host.context("rustc -vV names no host")?;
        let linker = Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("bin/rust-lld");
        if !linker.is_file() {
            bail!("{} is missing: it links the module", linker.display());
        }
        build.args(["-Z", "build-std=std,panic_abort"]).env("RUSTC_BOOTSTRAP", "1");
        build.env("RUSTC", rustc_below(folder));
        build.env("LD_LIBRARY_PATH", folder.join("usr/lib/x86_64-linux-gnu"));
        build.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        Ok(())
    }
}

fn unpacked(root: &Path) -> PathBuf {
    std::env::var_os(TOOLCHAIN).map_or_else(|| root.join("target/wasm-toolchain"), PathBuf::from)
}

fn rustc_below(folder: &Path) -> PathBuf {
    folder.join("usr/bin/rustc")
}

fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// The probe is a workspace of its own.
fn probe(root: &Path) -> PathBuf {
    root.join("xtask/wasm")
}

fn target(root: &Path) -> PathBuf {
    root.join("target/wasm")
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(probe(root)).env("CARGO_TARGET_DIR", target(root));
    command
}

/// Runs a command, and returns what it says; it complains for itself.
fn said(command: &mut Command) -> anyhow::Result<String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("failed: {command:?}");
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn print(place: &str, words: &str) {
    println!("{place:<10} {}", words.trim().replace('\n', ", "));
}
