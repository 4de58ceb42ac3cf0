//! Runs an example and keeps what it said.

use std::process::{Command, Output};

/// How an example ended.
pub struct Ended {
    /// Its exit code.
    pub code: Option<i32>,
    /// Its standard output, by lines.
    pub said: Vec<String>,
    errors: String,
}

/// Runs it to its end.
pub fn run(command: &mut Command) -> Ended {
    let Output { status, stdout, stderr } = command.output().expect("it can be started");
    let text = |bytes| String::from_utf8(bytes).expect("examples speak UTF-8");
    let said = text(stdout).lines().map(str::to_owned).collect();
    Ended { code: status.code(), said, errors: text(stderr) }
}

impl Ended {
    /// The last line, which says how it went.
    pub fn summary(&self) -> &str {
        self.said.last().map(String::as_str).unwrap_or_default()
    }
}

/// For the message of a test that fails.
impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit {:?}\n{}\n{}", self.code, self.said.join("\n"), self.errors)
    }
}
