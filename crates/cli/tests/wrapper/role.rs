//! The wrapper's part, played by this test program: holds a lock and runs a command.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use conclave_cli::wrapper::{Job, OnLost, run};
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// The first argument of a process that shall be a wrapper.
pub const WRAPPER_WORD: &str = "wrapper";

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

/// `DIRECTORY INHERITS ON_LOST KILL_AFTER_MS COMMAND...`; how it went is left in
/// `DIRECTORY/report`. The lock is lost when there is a `DIRECTORY/lost`.
pub fn wrapper_main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut text = || arguments.next().unwrap().into_string().unwrap();
    let directory = PathBuf::from(text());
    let child_inherits_lock = text() == "inherit";
    let policy = text();
    let kill_after = Duration::from_millis(text().parse().unwrap());
    let mut command = Command::new(text());
    command.args(arguments);

    let lock = File::options().write(true).open(directory.join("lock")).unwrap();
    assert!(try_lock(&lock), "the lock is taken");
    let loss = directory.join("lost");
    let finished = run(Job {
        command,
        lock: Some(lock.as_fd()),
        guard_lock: None,
        child_inherits_lock,
        is_lost: &|| loss.exists().then(|| "the test says so".to_owned()),
        on_lost: match policy.as_str() {
            "term" => OnLost::Term,
            "kill" => OnLost::Kill,
            "ignore" => OnLost::Ignore,
            hook => OnLost::Run(hook.to_owned()),
        },
        kill_after,
    })
    .unwrap();
    let report = format!("{:?} lost={} lingers={}", finished.ended, finished.lost.is_some(), {
        finished.lingers
    });
    fs::write(directory.join("report"), report).unwrap();
    ExitCode::SUCCESS
}
