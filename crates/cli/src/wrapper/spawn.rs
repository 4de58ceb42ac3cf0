//! Starting a process with a signal mask and descriptors of its own.
//!
//! `std` starts children with the signal mask of the caller. The wrapper's is full, and it must
//! not be emptied for the time of the start: a signal would end the wrapper between the child's
//! birth and the moment the guard hears of it. So the child's mask is given to `posix_spawn`.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::process::Command;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::stat::Mode;
use nix::unistd::{AccessFlags, Pid, access};

/// How the new process differs from the wrapper, besides its program.
pub(super) struct Start<'a> {
    /// What it is called in lists of processes, if not as its program.
    pub(super) name: Option<&'a str>,
    /// The signals that it blocks.
    pub(super) blocked: &'a SigSet,
    /// A close-on-exec descriptor that it gets all the same, under the same number.
    pub(super) inherited: Option<BorrowedFd<'a>>,
    /// Its standard input, if not the wrapper's. Its standard output is then closed to it.
    pub(super) input: Option<BorrowedFd<'a>>,
}

/// Starts `command` as the leader of a new process group.
///
/// Of `command` only program, arguments and set or removed variables are used. Returns when the
/// program runs, so that an error says why it could not be run.
pub(super) fn spawn(command: &Command, start: &Start<'_>) -> io::Result<Pid> {
    let program = text(command.get_program())?;
    let mut arguments = vec![match start.name {
        Some(name) => CString::new(name)?,
        None => program.clone(),
    }];
    for argument in command.get_args() {
        arguments.push(text(argument)?);
    }

    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_pgroup(Pid::from_raw(0))?;
    attributes.set_sigmask(start.blocked)?;
    // Rust ignores SIGPIPE, and an ignored signal would stay ignored in the new program.
    attributes.set_sigdefault(&SigSet::from(Signal::SIGPIPE))?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETPGROUP
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF,
    )?;

    let mut files = PosixSpawnFileActions::init()?;
    if let Some(input) = start.input {
        files.add_dup2(input.as_raw_fd(), 0)?;
        files.add_open(1, "/dev/null", OFlag::O_WRONLY, Mode::empty())?;
    }
    if let Some(inherited) = start.inherited {
        // A copy to its own number clears close-on-exec, and does so in the child alone.
        files.add_dup2(inherited.as_raw_fd(), inherited.as_raw_fd())?;
    }
    let environment = environment(command)?;
    match posix_spawnp(&program, &files, &attributes, &arguments, &environment) {
        // A script that does not say whose it is belongs to sh, as execvp(3) has it.
        Err(Errno::ENOEXEC) => {
            let script = text(find(command.get_program()).as_os_str())?;
            let shell = CString::from(c"/bin/sh");
            arguments.splice(..1, [shell.clone(), script]);
            Ok(posix_spawnp(&shell, &files, &attributes, &arguments, &environment)?)
        }
        started => Ok(started?),
    }
}

/// The file of a program, where the search for it ends.
fn find(program: &OsStr) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_program = |file: &PathBuf| file.is_file() && access(file, AccessFlags::X_OK).is_ok();
    let found = std::env::split_paths(&path).map(|it| it.join(program)).find(is_program);
    found.filter(|_| !program.as_bytes().contains(&b'/')).unwrap_or_else(|| program.into())
}

fn environment(command: &Command) -> io::Result<Vec<CString>> {
    let mut variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => variables.insert(name.to_owned(), value.to_owned()),
            None => variables.remove(name),
        };
    }
    let joined = variables.into_iter().map(|(mut name, value)| {
        name.push("=");
        name.push(value);
        Ok(CString::new(name.into_vec())?)
    });
    joined.collect()
}

fn text(words: &OsStr) -> io::Result<CString> {
    Ok(CString::new(words.as_bytes())?)
}
