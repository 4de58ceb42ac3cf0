//! The parts that this test program plays: a wrapper that holds a lock and runs a command, and a
//! command that leaves its mark while it lives.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use conclave_cli::wrapper::{Job, Leftovers, LockWatch, OnLost, Signals, run};
use conclave_client::BootTime;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::getpid;

use crate::scene::{guard_of, lives, send, wait_until};

/// The first argument of a process that shall be a wrapper.
pub const WRAPPER_WORD: &str = "wrapper";

/// The first argument of a process that writes the time into a file again and again, and cannot
/// hear SIGTERM.
pub const WRITER_WORD: &str = "writer";

/// How often the writer writes.
pub const BETWEEN_STAMPS: Duration = Duration::from_millis(20);

/// Takes the lock on a file, unless somebody else has it. It is held by the open file.
pub fn try_lock(file: &File) -> bool {
    let whole_file = libc::flock {
        l_type: libc::c_short::try_from(libc::F_WRLCK).unwrap(),
        l_whence: libc::c_short::try_from(libc::SEEK_SET).unwrap(),
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_OFD_SETLK(&whole_file)).is_ok()
}

/// The moment that a file has, in nanoseconds since the machine's start.
pub fn read_moment(text: &str) -> Option<BootTime> {
    text.trim().parse().ok().map(|it| BootTime::since_start(Duration::from_nanos(it)))
}

/// How it stands with the lock is what the test says, by files in a directory.
struct Told {
    directory: PathBuf,
    /// Whether the test's deadline is kept from the wrapper, and so from the guard.
    keeps_quiet: bool,
}

impl LockWatch for Told {
    fn lost(&self) -> Option<String> {
        let is_lost = self.directory.join("lost").exists();
        let lapsed = self.deadline().is_some_and(BootTime::is_past);
        (is_lost || lapsed).then(|| "the test says so".to_owned())
    }

    fn deadline(&self) -> Option<BootTime> {
        let text = fs::read_to_string(self.directory.join("deadline")).ok()?;
        read_moment(&text).filter(|_| !self.keeps_quiet)
    }

    fn is_in_jeopardy(&self) -> bool {
        self.directory.join("jeopardy").exists()
    }
}

/// `DIRECTORY HOLDS ON_LOST KILL_AFTER_MS COMMAND...`; how it went is left in `DIRECTORY/report`.
/// The lock is lost when there is a `DIRECTORY/lost`.
pub fn wrapper_main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut text = || arguments.next().unwrap().into_string().unwrap();
    let directory = PathBuf::from(text());
    let held = text();
    let has = |word: &str| held.split(',').any(|it| it == word);
    let policy = text();
    let kill_after = Duration::from_millis(text().parse().unwrap());
    let mut command = Command::new(text());
    command.args(arguments);

    let lock = File::options().write(true).open(directory.join("lock")).unwrap();
    assert!(try_lock(&lock), "the lock is taken");
    let on_lost = match policy.as_str() {
        "term" => OnLost::Term,
        "kill" => OnLost::Kill,
        "ignore" => OnLost::Ignore,
        hook => OnLost::Run(hook.to_owned()),
    };
    let mut signals = Signals::block().unwrap();
    let standby = has("ahead").then(|| on_lost.stand_by(kill_after).unwrap());
    if has("dead") {
        // Whoever was only just started may not have its arguments yet, by which it is found.
        let mut guard = None;
        wait_until("the guard has started", || {
            guard = guard_of(getpid());
            guard.is_some()
        });
        let guard = guard.unwrap();
        send(guard, Signal::SIGKILL);
        wait_until("the guard is dead", || !lives(guard));
    }
    let job = Job {
        command,
        title: "lock test".to_owned(),
        lock: has("descriptor").then(|| lock.as_fd()),
        guard_lock: None,
        standby,
        child_inherits_lock: has("inherit"),
        leftovers: if has("forget") { Leftovers::LoseIt } else { Leftovers::KeepIt },
        watch: &Told { directory: directory.clone(), keeps_quiet: has("quiet") },
        on_lost,
        kill_after,
    };
    let finished = run(job, &mut signals).unwrap();
    let report = format!("{:?} lost={} lingers={}", finished.ended, finished.lost.is_some(), {
        finished.lingers
    });
    fs::write(directory.join("report"), report).unwrap();
    ExitCode::SUCCESS
}

/// Appends the time to a file `stamps`, for ever.
pub fn writer_main() -> ExitCode {
    SigSet::from(Signal::SIGTERM).thread_block().unwrap();
    fs::write("child.pid", format!("{}\n", std::process::id())).unwrap();
    let mut stamps = File::options().create(true).append(true).open("stamps").unwrap();
    loop {
        let now = BootTime::now().to_duration().as_nanos();
        stamps.write_all(format!("{now}\n").as_bytes()).unwrap();
        std::thread::sleep(BETWEEN_STAMPS);
    }
}
