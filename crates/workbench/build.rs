//! Puts all scenarios of `scenarios/` into the program.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where it is"));
    let directory = root.join("scenarios");
    println!("cargo::rerun-if-changed={}", directory.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "scenario"));
    files.sort();
    let rows: String = files.iter().map(|file| row(file)).collect();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write"));
    fs::write(out.join("bundled.rs"), format!("&[\n{rows}]\n"))
}

/// Its name, and its text.
fn row(file: &Path) -> String {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    format!("    Bundled {{ name: {name:?}, text: include_str!({file:?}) }},\n")
}
