//! Another process, which locks what it is told to: for what cannot be seen within one process.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use conclave_client::{Fence, Local, Request, blocking};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::LONG;

const ROLE: &str = "CONCLAVE_ACTOR";

/// A process of this very binary.
pub struct Actor {
    child: Child,
    stdin: ChildStdin,
    told: Receiver<String>,
}

impl Actor {
    /// One that does what it is told to, line by line.
    pub fn start(directory: &Path) -> Self {
        Self::play("puppet", directory)
    }

    /// One that plays a part of its own.
    pub fn play(part: &str, directory: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "actor::role", "--nocapture", "--test-threads=1"])
            .env(ROLE, format!("{part}\n{}", directory.to_str().unwrap()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (tell, told) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if let Some(line) = line.strip_prefix("> ") {
                    let _ = tell.send(line.to_owned());
                }
            }
        });
        Self { child, stdin, told }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Says what to do: `lock NAME`, `shared NAME`, `slot NAME` (of two), `release`.
    pub fn tell(&mut self, what: &str) {
        writeln!(self.stdin, "{what}").unwrap();
    }

    /// What it tells next.
    pub fn hear(&self) -> String {
        self.told.recv_timeout(LONG).expect("it says something")
    }

    /// The fence that it tells to have been given next.
    pub fn fence(&self) -> Fence {
        let line = self.hear();
        let fence = line.strip_prefix("fence ").and_then(|it| it.parse().ok());
        Fence(fence.unwrap_or_else(|| panic!("{line}")))
    }

    /// Whether it tells nothing for some time.
    pub fn is_silent(&self, time: Duration) -> bool {
        self.told.recv_timeout(time).is_err()
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.pid()).unwrap()), signal).unwrap();
    }

    /// Stops it, as Ctrl-Z would. All its threads are stopped when this returns.
    pub fn stop(&self) {
        self.signal(Signal::SIGSTOP);
        let tasks = format!("/proc/{}/task", self.pid());
        let is_stopped = |task: std::fs::DirEntry| {
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            stat.rsplit_once(')').is_none_or(|(_, rest)| rest.starts_with(" T"))
        };
        while !std::fs::read_dir(&tasks).unwrap().flatten().all(is_stopped) {
            std::thread::yield_now();
        }
    }

    /// Stops it if it has not ended.
    pub fn stop_roughly(&self) {
        self.signal(Signal::SIGSTOP);
    }

    pub fn go_on(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Whether it ended well.
    pub fn try_end(&mut self) -> Option<bool> {
        self.child.try_wait().unwrap().map(|status| status.success())
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Tells the one who started this process.
pub fn say(what: &str) {
    println!("\n> {what}");
}

/// No test: the other process's side of the others, which start this binary again to play it.
#[test]
fn role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (part, directory) = role.split_once('\n').unwrap();
    let directory = Path::new(directory);
    match part {
        "puppet" => puppet(directory),
        "counter" => super::stopped::count(directory),
        "crowd" => super::crowd::crowd(directory),
        _ => panic!("{part}"),
    }
    std::process::exit(0);
}

fn puppet(directory: &Path) {
    let client = blocking::Client::new(Local::open(directory).unwrap());
    let mut held = None;
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let (what, name) = line.split_once(' ').unwrap_or((&line, ""));
        if what == "release" {
            drop(held.take());
            say("released");
            continue;
        }
        let request = Request::lock(name).unwrap();
        let request = match what {
            "lock" => request,
            "shared" => request.shared(),
            "slot" => request.slots(2).unwrap(),
            _ => panic!("{what}"),
        };
        match client.lock(request) {
            Ok(guard) => {
                say(&format!("fence {}", guard.fence()));
                held = Some(guard);
            }
            Err(error) => say(&format!("error {error}")),
        }
    }
}
