//! Tests that leave themselves out, because this machine lacks what they need.

use std::fs::OpenOptions;
use std::io::Write;

/// The file into which tests write that they were left out, one line each. `cargo xtask verify`
/// names one and reads it in the end.
const LIST: &str = "CONCLAVE_LEFT_OUT";

/// Says that the calling test is left out for the lack of `need`, and how to change that.
///
/// # Panics
///
/// If the variable `CI` is `true`: there, leaving out is failing.
pub(crate) fn leave_out(need: &str, remedy: &str) {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!in_ci, "this test needs {need} ({remedy}), and with CI=true nothing is left out");
    let name = test_name();
    // Not `eprintln`: the harness would keep that to itself, as the test passes.
    let _ = writeln!(std::io::stderr(), "{name} left out: needs {need} ({remedy})");
    if let Some(list) = std::env::var_os(LIST) {
        let file = OpenOptions::new().append(true).create(true).open(list);
        // In one piece: other tests write there too.
        let line = format!("{name}: {need} ({remedy})\n");
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// The harness gives a test a thread with its name.
fn test_name() -> String {
    let executable = std::env::current_exe().unwrap_or_default();
    let stem = executable.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let file = stem.rsplit_once('-').map_or(&*stem, |(name, _hash)| name);
    format!("{file}::{}", std::thread::current().name().unwrap_or("a test"))
}
