//! `conclave lock` and its family on servers of etcd, with real processes.

#![expect(clippy::disallowed_types, reason = "real processes take real time")]

mod credentials;
mod crowd;
mod deaths;
mod hosts;
mod input;
mod manners;
mod role;

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use conclave_testkit::hosts::Host;
use conclave_testkit::servers::{self, EtcdCluster};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// Long enough for anything that is going to happen.
const LONG: Duration = Duration::from_secs(60);

const CONCLAVE: &str = env!("CARGO_BIN_EXE_conclave");

/// Variables of whoever runs the tests that would change what a command does.
const NOT_OURS: [&str; 13] = [
    "CONCLAVE_AT",
    "CONCLAVE_DIR",
    "CONCLAVE_LOCK",
    "CONCLAVE_KIND",
    "CONCLAVE_FENCE",
    "ETCDCTL_CACERT",
    "ETCDCTL_CERT",
    "ETCDCTL_KEY",
    "ETCDCTL_USER",
    "ETCDCTL_PASSWORD",
    "SHELL",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
];

/// A cluster of three that is shared by all tests that run at the same time and do it no harm.
fn shared_cluster() -> Option<Arc<EtcdCluster>> {
    static SHARED: Mutex<Weak<EtcdCluster>> = Mutex::new(Weak::new());
    let binaries = servers::required()?;
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let cluster = shared.upgrade().unwrap_or_else(|| Arc::new(EtcdCluster::start(&binaries, 3)));
    *shared = Arc::downgrade(&cluster);
    Some(cluster)
}

/// A part of a store that is this test's own, and the files of the test.
struct World {
    directory: TempDir,
    cluster: Arc<EtcdCluster>,
    prefix: String,
}

impl World {
    /// On the cluster that others use, too; none if this test is left out.
    fn shared() -> Option<Self> {
        shared_cluster().map(Self::on)
    }

    fn on(cluster: Arc<EtcdCluster>) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let prefix = format!("world-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        Self { directory: tempfile::tempdir().unwrap(), cluster, prefix }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn url(&self) -> String {
        self.cluster.url(&self.prefix)
    }

    /// The locks of this world, asked for at those servers only.
    fn url_at(&self, members: &[usize]) -> String {
        let endpoints = self.cluster.endpoints();
        let chosen: Vec<&str> = members.iter().map(|it| &*endpoints[*it]).collect();
        format!("etcd://{}/{}", chosen.join(","), self.prefix)
    }

    /// `conclave WORDS`, on the locks of this world and with no configuration.
    fn conclave(&self, words: &[&str]) -> Command {
        self.prepared(Command::new(CONCLAVE), words)
    }

    /// The same on that host.
    fn conclave_on(&self, host: &Host, words: &[&str]) -> Command {
        self.prepared(host.command(CONCLAVE), words)
    }

    fn prepared(&self, mut command: Command, words: &[&str]) -> Command {
        command.args(words).current_dir(self.directory.path());
        for name in NOT_OURS {
            command.env_remove(name);
        }
        command.env("HOME", self.directory.path()).env("CONCLAVE", CONCLAVE);
        command.env("CONCLAVE_AT", self.url()).stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    fn run(&self, words: &[&str]) -> Output {
        self.conclave(words).output().unwrap()
    }

    /// Starts it; killed when the test ends, whatever happens.
    fn start(&self, words: &[&str]) -> Running {
        self.launch(self.conclave(words))
    }

    /// Starts anything. What it says goes into a file: what it leaves behind would keep a pipe
    /// open.
    fn launch(&self, mut command: Command) -> Running {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("said-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let said = self.file(&name);
        command.stdout(Stdio::null()).stderr(File::create(&said).unwrap());
        Running { child: command.spawn().unwrap(), said }
    }

    /// Runs a text by the shell, `$CONCLAVE` being the command.
    fn shell(&self, script: &str) -> Command {
        let mut command = self.prepared(Command::new("sh"), &["-c", script]);
        command.stdout(Stdio::null());
        command
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.file(name), text).unwrap();
        self.file(name)
    }

    /// Waits for a file of whole lines, and returns its text without the last line's end.
    fn wait_for_file(&self, name: &str) -> String {
        eventually(&format!("the file {name}"), || {
            Some(self.read(name).strip_suffix('\n')?.to_owned())
        })
    }

    /// All keys of this world, in order.
    fn keys(&self) -> Vec<String> {
        self.keys_of("")
    }

    /// The keys in the queue of that name.
    fn queue(&self, name: &str) -> Vec<String> {
        self.keys_of(&format!("/{name}/"))
    }

    fn keys_of(&self, what: &str) -> Vec<String> {
        let start = format!("{}{what}", self.prefix);
        let output = self.etcdctl(&["get", &start, "--prefix", "--keys-only"]);
        output.lines().filter(|it| !it.is_empty()).map(str::to_owned).collect()
    }

    fn etcdctl(&self, words: &[&str]) -> String {
        let output = self.cluster.etcdctl(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "etcdctl {words:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits until so many hold that lock or wait for it.
    fn wait_for_queue(&self, name: &str, length: usize) {
        eventually(&format!("{length} in the queue of {name}"), || {
            (self.queue(name).len() == length).then_some(())
        });
    }
}

/// A process that does not outlive its test.
struct Running {
    child: Child,
    said: PathBuf,
}

impl Running {
    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    fn wait(&mut self) -> ExitStatus {
        let said = self.said.clone();
        let what =
            || format!("the end of a process that said {:?}", std::fs::read_to_string(&said));
        eventually_or(what, || self.child.try_wait().unwrap())
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.said).unwrap()
    }

    /// The code that a shell would show for it, and what it said.
    fn finish_as_shell(mut self) -> (Option<i32>, String) {
        let status = self.wait();
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        (code, self.said())
    }

    /// Its exit code, and what it said.
    fn finish(mut self) -> (Option<i32>, String) {
        let status = self.wait();
        (status.code(), self.said())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).unwrap();
}

/// Looks until `what` is there.
fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    eventually_or(|| what.to_owned(), look)
}

fn eventually_or<T>(what: impl FnOnce() -> String, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        if start.elapsed() > LONG {
            panic!("waited in vain for {}", what());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn pause(seconds: f64) {
    std::thread::sleep(Duration::from_secs_f64(seconds));
}

/// Plays all scenes at the same time: they wait most of it.
fn all_at_once<T: Send>(scenes: impl IntoIterator<Item = T>, play: impl Fn(T) + Sync) {
    let play = &play;
    std::thread::scope(|scope| {
        let running: Vec<_> =
            scenes.into_iter().map(|scene| scope.spawn(move || play(scene))).collect();
        for scene in running {
            scene.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}
