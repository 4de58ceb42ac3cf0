//! A directory with a lock, a wrapper that holds it, and the processes that take part.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use conclave_cli::wrapper::GUARD_WORD;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::role::{WRAPPER_WORD, try_lock};

/// Waits for something that is bound to come soon.
#[expect(clippy::disallowed_types, reason = "a test that waits needs an end")]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(120), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub fn send(pid: Pid, signal: Signal) {
    kill(pid, signal).unwrap();
}

/// What `/proc/PID/stat` has after the name: the state, the parent, the group, the session, the
/// terminal, the terminal's foreground group.
pub fn status(pid: Pid) -> Option<Vec<String>> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = line.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

pub fn state(pid: Pid) -> String {
    status(pid).map_or_else(|| "gone".to_owned(), |fields| fields[0].clone())
}

pub fn lives(pid: Pid) -> bool {
    !["gone", "Z", "X"].contains(&state(pid).as_str())
}

/// The guard that works for a wrapper.
pub fn guard_of(wrapper: Pid) -> Option<Pid> {
    let children = fs::read_to_string(format!("/proc/{wrapper}/task/{wrapper}/children")).ok()?;
    let children = children.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap()));
    children.into_iter().find(|&child| lives(child) && is_guard(child))
}

fn is_guard(pid: Pid) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|&byte| byte == 0).nth(1) == Some(GUARD_WORD.as_bytes())
}

/// How the wrapper is told to behave.
#[derive(Clone, Copy)]
pub struct Options {
    /// Whether the command gets a copy of the descriptor.
    pub inherit: bool,
    /// Whether a descriptor keeps the lock at all.
    pub descriptor: bool,
    /// Whether what the command leaves behind does not keep it.
    pub forget: bool,
    /// Whether deadlines are kept from the wrapper.
    pub quiet: bool,
    /// Whether the guard is started before the job.
    pub ahead: bool,
    /// Whether that one is killed before the job begins.
    pub dead: bool,
    pub on_lost: &'static str,
    pub kill_after: Duration,
}

/// Patience that no test outwaits.
pub const FOREVER: Duration = Duration::from_secs(1000);

impl Options {
    /// For a lock that is held by a descriptor until it is let go.
    pub const LASTING: Self = Self {
        inherit: true,
        descriptor: true,
        forget: false,
        quiet: false,
        ahead: false,
        dead: false,
        on_lost: "term",
        kill_after: FOREVER,
    };
}

impl Default for Options {
    fn default() -> Self {
        Self::LASTING
    }
}

/// When it is dropped, all processes whose numbers are in files `*.pid` are killed.
pub struct Scene {
    pub directory: PathBuf,
    wrapper: Option<Child>,
}

impl Scene {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("wrapper-{}-{number}", std::process::id());
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&directory).unwrap();
        File::create(directory.join("lock")).unwrap();
        Self { directory, wrapper: None }
    }

    pub fn wrapper_words(&self, options: Options, command: &[&str]) -> Vec<String> {
        let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
        let directory = self.directory.to_str().unwrap().to_owned();
        let held = [
            (options.inherit, "inherit"),
            (options.descriptor, "descriptor"),
            (options.forget, "forget"),
            (options.quiet, "quiet"),
            (options.ahead, "ahead"),
            (options.dead, "dead"),
        ];
        let held: Vec<&str> = held.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
        let patience = options.kill_after.as_millis().to_string();
        let start = [program, WRAPPER_WORD.into(), directory, held.join(",")];
        let rest = [options.on_lost.to_owned(), patience];
        let command = command.iter().map(|&word| word.to_owned());
        start.into_iter().chain(rest).chain(command).collect()
    }

    /// Starts a wrapper in a process group of its own, as a shell does.
    pub fn start(&mut self, options: Options, command: &[&str]) -> Pid {
        let words = self.wrapper_words(options, command);
        let mut wrapper = Command::new(&words[0]);
        wrapper.args(&words[1..]).current_dir(&self.directory).process_group(0);
        wrapper.stdin(Stdio::null()).stderr(File::create(self.directory.join("stderr")).unwrap());
        let child = wrapper.spawn().unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        self.wrapper = Some(child);
        pid
    }

    pub fn start_shell(&mut self, options: Options, script: &str) -> Pid {
        self.start(options, &["sh", "-c", script])
    }

    /// Waits for the wrapper's end and tells its report; empty if it has left none.
    pub fn report(&mut self) -> String {
        self.wrapper.take().unwrap().wait().unwrap();
        self.read("report")
    }

    pub fn read(&self, name: &str) -> String {
        let text = fs::read_to_string(self.directory.join(name)).unwrap_or_default();
        text.trim_end().to_owned()
    }

    pub fn touch(&self, name: &str) {
        File::create(self.directory.join(name)).unwrap();
    }

    /// Waits until a process has left its number in a file, and a newline behind it.
    pub fn pid(&self, name: &str) -> Pid {
        let path = self.directory.join(name).with_extension("pid");
        let mut number = None;
        wait_until(&format!("{name} has started"), || {
            let text = fs::read_to_string(&path).unwrap_or_default();
            number = text.strip_suffix('\n').and_then(|text| text.parse().ok());
            number.is_some()
        });
        Pid::from_raw(number.unwrap())
    }

    /// Whether nobody holds the lock.
    pub fn lock_is_free(&self) -> bool {
        try_lock(&File::options().write(true).open(self.directory.join("lock")).unwrap())
    }

    /// Waits until the lock is free; all of `holders` have to be dead by then.
    pub fn await_free_lock_after(&self, holders: &[Pid]) {
        wait_until("the lock is free", || self.lock_is_free());
        for &holder in holders {
            assert!(!lives(holder), "{holder} has outlived the lock");
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if let Some(wrapper) = &mut self.wrapper {
            let _ = wrapper.kill();
            let _ = wrapper.wait();
        }
        for entry in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_pid = path.extension().is_some_and(|extension| extension == "pid");
            let text = fs::read_to_string(&path).unwrap_or_default();
            if is_pid && let Ok(number) = text.trim().parse() {
                let _ = kill(Pid::from_raw(number), Signal::SIGKILL);
            }
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}
