//! `conclave lock` and its family, with real processes.

#![expect(clippy::disallowed_types, reason = "real processes take real time")]

mod crowd;
mod elect;
mod exits;
mod flock;
mod hold;
mod input;
mod list;
mod once;
mod signals;
mod trouble;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use conclave_client::{Local, Name, Resource, Status, blocking};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// Long enough for anything that is going to happen.
const LONG: Duration = Duration::from_secs(120);

/// The keys of what programs are told that the page about locks does not have.
fn undocumented(told: &serde_json::Value) -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/locks/README.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (mut unknown, mut rest) = (Vec::new(), vec![told]);
    while let Some(value) = rest.pop() {
        let fields = value.as_object().into_iter().flatten();
        unknown.extend(fields.clone().map(|(key, _)| key.clone()));
        rest.extend(fields.map(|(_, value)| value));
        rest.extend(value.as_array().into_iter().flatten());
    }
    unknown.retain(|key| !page.contains(&format!("`{key}`")));
    unknown
}

/// A directory for locks, and the files of a test.
struct World {
    directory: TempDir,
}

impl World {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn locks(&self) -> PathBuf {
        self.file("locks")
    }

    /// `conclave WORDS`, on the locks of this world and with no configuration.
    fn conclave(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_conclave"));
        command.args(words).current_dir(self.directory.path());
        command.env("CONCLAVE_DIR", self.locks()).env("HOME", self.directory.path());
        for name in ["CONCLAVE_AT", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "CONCLAVE_LOCK", "SHELL"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    fn run(&self, words: &[&str]) -> Output {
        self.conclave(words).output().unwrap()
    }

    /// Runs it to its end, and tells only how it ended. Not to its output's end: what it leaves
    /// behind may keep that open.
    fn code(&self, words: &[&str]) -> Option<i32> {
        let mut command = self.conclave(words);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code()
    }

    /// Starts it; killed when the test ends, whatever happens.
    fn start(&self, words: &[&str]) -> Running {
        let mut command = self.conclave(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(command.spawn().unwrap())
    }

    fn client(&self) -> blocking::Client {
        blocking::Client::new(Local::open(self.locks()).unwrap())
    }

    fn status(&self, name: &str) -> Status {
        self.client().inspect(&lock(name)).unwrap()
    }

    fn wait_for_file(&self, name: &str) -> String {
        eventually(&format!("the file {name}"), || {
            std::fs::read_to_string(self.file(name)).ok().filter(|text| text.ends_with('\n'))
        })
    }

    /// What reads from it waits until somebody writes.
    fn make_pipe(&self, name: &str) {
        assert!(Command::new("mkfifo").arg(self.file(name)).status().unwrap().success());
    }

    fn wait_until_free(&self, name: &str) {
        eventually("the lock to be free", || self.status(name).holders.is_empty().then_some(()));
    }
}

/// A process that does not outlive its test.
struct Running(Child);

impl Running {
    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.0.id()).unwrap())
    }

    fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    fn wait(&mut self) -> ExitStatus {
        eventually("the end of a process", || self.0.try_wait().unwrap())
    }

    /// How it ended, and what it said.
    fn finish(mut self) -> (ExitStatus, String) {
        let status = self.wait();
        let mut said = String::new();
        let mut pipe = self.0.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut pipe, &mut said).unwrap();
        (status, said)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Looks until `what` is there.
fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < LONG, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn lock(name: &str) -> Resource {
    Resource::lock(Name::new(name).unwrap())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether a process runs; one that waits to be reaped does not.
fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.contains(" Z "))
}

fn wait_until_dead(pid: i32) {
    eventually("the death of a process", || (!is_alive(pid)).then_some(()));
}

fn read_pid(path: &Path) -> i32 {
    eventually("a process number", || {
        std::fs::read_to_string(path).ok()?.strip_suffix('\n')?.parse().ok()
    })
}
