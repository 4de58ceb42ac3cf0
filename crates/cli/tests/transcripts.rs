//! Transcripts: text files that hold commands and, below each, what the program said.
//!
//! A line that begins with `$ conclave` is run, in this directory; all lines up to the next such
//! line are what it must print, and `? CODE` how it must exit. `#` lines are for the reader.
//! `CONCLAVE_UPDATE=1 cargo test -p conclave-cli --test transcripts` rewrites them all: the diff is
//! the review.

use std::path::{Path, PathBuf};
use std::process::Command;

use conclave_testkit::words::words;

#[test]
fn every_transcript_says_what_the_program_does() {
    let is_update = std::env::var_os("CONCLAVE_UPDATE").is_some();
    let mut wrong = Vec::new();
    let files = transcripts();
    assert!(files.len() >= 5, "the golden runs are there: {files:?}");
    for file in files {
        let old = std::fs::read_to_string(&file).unwrap();
        let new = replay(&old);
        if old != new {
            if is_update {
                std::fs::write(&file, &new).unwrap();
            } else {
                wrong.push(difference(&file, &old, &new));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bad_input_is_answered_in_one_line_and_code_2() {
    let text = std::fs::read_to_string(directory().join("bad_input.txt")).unwrap();
    let commands: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("$ conclave ")).collect();
    assert!(commands.len() > 30, "{}", commands.len());
    for command in commands {
        let output = Command::new(env!("CARGO_BIN_EXE_conclave"))
            .args(words(command))
            .current_dir(directory())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{command}: {said}");
        assert_eq!(said.lines().count(), 1, "{command}: {said}");
        assert!(said.starts_with("conclave: ") && !said.contains("panicked"), "{command}: {said}");
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

fn transcripts() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|it| it == "txt")).collect();
    files.sort();
    files
}

/// The transcript as it would be written now: comments and commands stay, output is new.
fn replay(text: &str) -> String {
    let mut new = String::new();
    let mut is_output = false;
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ conclave ") {
            new.push_str(line);
            new.push('\n');
            new.push_str(&run(command));
            is_output = true;
        } else if line.starts_with('#') || !is_output {
            new.push_str(line);
            new.push('\n');
            is_output = false;
        }
    }
    new
}

fn run(command: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_conclave"))
        .args(words(command))
        .current_dir(directory())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let code = output.status.code().expect("it ends by itself");
    format!("{}{}? {code}\n\n", text(&output.stdout), text(&output.stderr))
}

fn difference(file: &Path, old: &str, new: &str) -> String {
    let place = old.lines().zip(new.lines()).position(|(a, b)| a != b);
    let place = place.unwrap_or_else(|| old.lines().count().min(new.lines().count()));
    let at = |text: &str| text.lines().nth(place).unwrap_or("(nothing)").to_owned();
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    format!("{name}:{}\n  is    {}\n  was   {}", place + 1, at(new), at(old))
}
