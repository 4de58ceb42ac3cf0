//! A process is killed before every single system call of its life with a lock, one after the
//! other. What it leaves behind must need no repair: the next one gets the lock at once, with a
//! higher fence, and finds nobody in the queue and every value whole.
//!
//! Between two system calls a process changes nothing that others can see, so there are no other
//! points to kill it at. The kernel is asked to stop it there (`ptrace`), thread by thread.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use conclave_client::{
    Client, Error, Fence, Guard, Local, Loss, Patience, Request, Resource, Status, Target,
};
use nix::errno::Errno;
use nix::libc::PTRACE_SYSCALL_INFO_ENTRY;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, gettid};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// Long enough for anything that is going to happen.
const LONG: Duration = Duration::from_secs(120);

/// Nothing stops for so long: all its threads sleep.
const QUIET: Duration = Duration::from_millis(30);

/// Long enough to see who is in the queue, unless somebody is stopped where nobody can get in.
const LOOK: Duration = Duration::from_millis(25);

/// Fewer than that, and the test would not test what it says.
const POINTS_MIN: usize = 20;

const ROLE: &str = "CONCLAVE_VICTIM";

/// What the victim does, and what it finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Script {
    /// Locks a name that has no state yet.
    Fresh,
    /// Locks a name that others used before.
    Existing,
    /// The same when all reserved fences are used up.
    BlockUsedUp,
    /// The same as the first one after a restart of the machine.
    Restarted,
    /// Reads with others, and takes a place between theirs in the file.
    Between,
    /// Waits behind a holder, and is granted.
    Wait,
    /// Waits behind a holder with three tasks at once, which share what they wait with.
    Line,
    /// Records a value.
    Record,
    /// Takes the lock away from its holder.
    Revoke,
    /// Leads, proclaims, resigns.
    Campaign,
}

const ALL: [Script; 10] = [
    Script::Fresh,
    Script::Existing,
    Script::BlockUsedUp,
    Script::Restarted,
    Script::Between,
    Script::Wait,
    Script::Line,
    Script::Record,
    Script::Revoke,
    Script::Campaign,
];

const OLD: &[u8] = &[b'o'; 1024];
const NEW: &[u8] = &[b'n'; 1000];

/// No test: the victim's side of the others, which start this binary again to play it.
#[test]
fn victim_role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let [script, name, directory] = role.split('\n').collect::<Vec<_>>()[..] else {
        panic!("{role}")
    };
    let script = ALL.into_iter().find(|it| format!("{it:?}") == script).unwrap();
    let client = Client::new(Local::open(directory).unwrap());
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    println!("\ntid {}", gettid());
    raise(Signal::SIGSTOP).unwrap();
    runtime.block_on(play(script, &client, name)).unwrap();
    std::process::exit(0);
}

/// Everything is told as soon as it is so.
async fn play(script: Script, client: &Client, name: &str) -> Result<(), Error> {
    match script {
        Script::Revoke => {
            client.engine().revoke(&script.resource(name), &Target::Holders, "victim").await?;
            println!("revoked");
        }
        Script::Campaign => {
            let leader = client.campaign(name, "victim").await?;
            println!("fence {}", leader.fence());
            leader.proclaim(NEW).await?;
            leader.resign().await?;
            println!("resigned");
        }
        Script::Line => {
            let each = || async {
                let guard = client.lock(script.request(name)).await?;
                println!("fence {}", guard.fence());
                guard.release().await
            };
            tokio::try_join!(each(), each(), each())?;
        }
        _ => {
            let guard = client.lock(script.request(name)).await?;
            println!("fence {}", guard.fence());
            if script == Script::Record {
                guard.record(NEW).await?;
                println!("recorded");
            }
            guard.release().await?;
        }
    }
    Ok(())
}

impl Script {
    fn resource(self, name: &str) -> Resource {
        let name = name.parse().unwrap();
        if self == Self::Campaign { Resource::election(name) } else { Resource::lock(name) }
    }

    fn request(self, name: &str) -> Request {
        let request = Request::of(self.resource(name));
        if self == Self::Between { request.shared() } else { request }
    }
}

/// A process that is stopped before each of its system calls.
struct Victim {
    process: Pid,
    stdout: BufReader<ChildStdout>,
}

enum Stop {
    /// That thread is about to make a system call.
    Call(Pid),
    /// All threads sleep.
    Quiet,
    /// It is over.
    End(WaitStatus),
}

impl Victim {
    /// `None` if this machine does not let us.
    #[expect(clippy::zombie_processes, reason = "waited for by its group, thread by thread")]
    fn start(script: Script, name: &str, directory: &Path) -> Option<Self> {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "victim_role", "--nocapture", "--test-threads=1"])
            .env(ROLE, format!("{script:?}\n{name}\n{}", directory.to_str().unwrap()))
            .stdout(Stdio::piped())
            // A group of its own, so that waiting for it does not take the news of others.
            .process_group(0)
            .spawn()
            .unwrap();
        let process = Pid::from_raw(i32::try_from(child.id()).unwrap());
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        let thread = loop {
            line.clear();
            assert!(stdout.read_line(&mut line).unwrap() > 0, "it lives until it is ready");
            if let Some(thread) = line.strip_prefix("tid ") {
                break Pid::from_raw(thread.trim().parse().unwrap());
            }
        };
        let stopped = waitpid(process, Some(WaitPidFlag::WUNTRACED)).unwrap();
        assert!(matches!(stopped, WaitStatus::Stopped(_, Signal::SIGSTOP)), "{stopped:?}");
        let options = Options::PTRACE_O_EXITKILL
            | Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACECLONE;
        let seized = ptrace::seize(thread, options);
        if seized == Err(Errno::EPERM) {
            kill(process, Signal::SIGKILL).unwrap();
            waitpid(process, None).unwrap();
            println!("ptrace is not permitted here: nothing was tested");
            return None;
        }
        seized.unwrap();
        kill(process, Signal::SIGCONT).unwrap();
        Some(Self { process, stdout })
    }

    /// Waits until one of its threads is about to make a system call.
    fn next(&self, patience: Duration) -> Stop {
        let whole_group = Pid::from_raw(-self.process.as_raw());
        let flags = Some(WaitPidFlag::__WALL | WaitPidFlag::WNOHANG);
        let (mut tries, mut slept) = (0, Duration::ZERO);
        loop {
            let status = waitpid(whole_group, flags).unwrap();
            match status {
                WaitStatus::StillAlive => {
                    // It is mostly a matter of microseconds.
                    tries += 1;
                    if tries < 500 {
                        std::thread::yield_now();
                    } else if slept < patience {
                        std::thread::sleep(Duration::from_micros(200));
                        slept += Duration::from_micros(200);
                    } else {
                        return Stop::Quiet;
                    }
                }
                WaitStatus::PtraceSyscall(thread) => match ptrace::syscall_info(thread) {
                    Ok(info) if info.op == PTRACE_SYSCALL_INFO_ENTRY => return Stop::Call(thread),
                    _ => self.resume(thread, None),
                },
                WaitStatus::PtraceEvent(thread, ..) => self.resume(thread, None),
                WaitStatus::Stopped(thread, signal) => self.resume(thread, Some(signal)),
                WaitStatus::Exited(it, _) | WaitStatus::Signaled(it, ..) if it == self.process => {
                    return Stop::End(status);
                }
                _ => {}
            }
        }
    }

    fn resume(&self, thread: Pid, signal: Option<Signal>) {
        match ptrace::syscall(thread, signal) {
            // It may be gone already, with its process.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(errno) => panic!("{errno}: {} cannot be resumed", self.process),
        }
    }

    /// Kills it, and waits until nothing is left of it.
    fn kill(&self) {
        kill(self.process, Signal::SIGKILL).unwrap();
        let whole_group = Pid::from_raw(-self.process.as_raw());
        loop {
            match waitpid(whole_group, Some(WaitPidFlag::__WALL)).unwrap() {
                WaitStatus::Signaled(it, ..) if it == self.process => return,
                _ => {}
            }
        }
    }

    /// All that it told.
    fn told(self) -> Vec<String> {
        self.stdout.lines().map(|line| line.unwrap()).collect()
    }
}

/// The side of those who live on.
struct World {
    script: Script,
    directory: TempDir,
    client: Client,
    runtime: Runtime,
    /// The highest fence of each name that anybody was given.
    fences: BTreeMap<String, Fence>,
    /// How many were seen in the queue behind the victim when it was killed.
    queued: usize,
}

type Waiter = JoinHandle<Result<Guard, Error>>;

impl World {
    fn new(script: Script) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let client = Client::new(Local::open(directory.path()).unwrap());
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
        Self { script, directory, client, runtime, fences: BTreeMap::new(), queued: 0 }
    }

    fn status(&self, name: &str) -> Status {
        self.runtime.block_on(self.client.inspect(&self.script.resource(name))).unwrap()
    }

    fn lock(&mut self, name: &str) -> Guard {
        let request = self.script.request(name);
        let locked = self.client.acquire_request(&request, Patience::AtMost(LONG));
        let guard = self.runtime.block_on(locked).unwrap();
        self.is_new(name, guard.fence());
        guard
    }

    fn is_new(&mut self, name: &str, fence: Fence) {
        let before = self.fences.insert(name.to_owned(), fence);
        assert!(before.is_none_or(|it| it < fence), "{name}: {fence} after {before:?}");
    }

    fn state_file(&self) -> PathBuf {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths.find(|path| path.extension().is_some_and(|it| it == "lock")).unwrap()
    }

    /// Changes the counters as they lie in the file.
    fn change_counters(&self, change: impl FnOnce(&mut [u8; 256])) {
        let file = std::fs::File::options().read(true).write(true).open(self.state_file());
        let (file, mut block) = (file.unwrap(), [0; 256]);
        file.read_exact_at(&mut block, 4096).unwrap();
        change(&mut block);
        let sum = crc32fast::hash(&block[..252]);
        block[252..].copy_from_slice(&sum.to_le_bytes());
        file.write_all_at(&block, 4096).unwrap();
    }

    /// Makes the world as the script expects it. Who is returned holds when the victim comes.
    fn prepare(&mut self, name: &str) -> Vec<Guard> {
        if self.script == Script::Fresh {
            return Vec::new();
        }
        let guard = self.lock(name);
        match self.script {
            Script::Wait | Script::Line | Script::Revoke => return vec![guard],
            Script::Between => {
                let (between, last) = (self.lock(name), self.lock(name));
                drop(between);
                return vec![guard, last];
            }
            Script::Record => self.runtime.block_on(guard.record(OLD)).unwrap(),
            _ => {}
        }
        self.runtime.block_on(guard.release()).unwrap();
        match self.script {
            // The last fence is the last of those reserved.
            Script::BlockUsedUp => self.change_counters(|it| it.copy_within(32..40, 24)),
            // Counters of the very first moment, of another run of the kernel.
            Script::Restarted => self.change_counters(|it| {
                it.fill(0);
                it[..16].fill(7);
            }),
            _ => {}
        }
        Vec::new()
    }

    /// Somebody comes after the victim. Returns once it is seen to wait, unless the victim was
    /// stopped where nobody can get in and see.
    fn come_behind(&mut self, name: &str) -> Waiter {
        let (client, request) = (self.client.clone(), self.script.request(name).labelled("behind"));
        let request = request.unwrap();
        let waiter = self
            .runtime
            .spawn(async move { client.acquire_request(&request, Patience::AtMost(LONG)).await });
        let resource = self.script.resource(name);
        for _ in 0..5 {
            let look = self.client.inspect(&resource);
            let look = async { tokio::time::timeout(LOOK, look).await };
            let Ok(status) = self.runtime.block_on(look) else { continue };
            if status.unwrap().waiters.iter().any(|it| it.owner.label == "behind") {
                self.queued += 1;
                break;
            }
            if waiter.is_finished() {
                break;
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        waiter
    }

    /// Kills a victim at its system call number `point`. Returns whether it lived to make it.
    fn kill_at(&mut self, point: usize, name: &str) -> Option<bool> {
        let mut others = self.prepare(name);
        let victim = Victim::start(self.script, name, self.directory.path())?;
        let (mut calls, mut waiter) = (0, None);
        let was_killed = loop {
            match victim.next(if waiter.is_none() { QUIET } else { LONG }) {
                Stop::Call(thread) => {
                    calls += 1;
                    if calls < point {
                        victim.resume(thread, None);
                        continue;
                    }
                    // Who reads too would not wait: it comes later.
                    if waiter.is_none() && self.script != Script::Between {
                        waiter = Some(self.come_behind(name));
                    }
                    victim.kill();
                    break true;
                }
                // It waits for the one in its way: now somebody comes behind it.
                Stop::Quiet
                    if matches!(self.script, Script::Wait | Script::Line) && waiter.is_none() =>
                {
                    waiter = Some(self.come_behind(name));
                    others.clear();
                }
                Stop::Quiet => assert!(waiter.is_none(), "call {calls}: it sleeps for ever"),
                Stop::End(status) => {
                    assert_eq!(status, WaitStatus::Exited(victim.process, 0), "call {calls}");
                    break false;
                }
            }
        };
        if self.script == Script::Between {
            // The next one takes this place, and leaves the victim's as it is.
            drop(others.remove(0));
        }
        let waiter = waiter.unwrap_or_else(|| self.come_behind(name));
        self.check(name, &victim.told(), waiter, others);
        Some(was_killed)
    }

    /// Whatever the victim has told is so, and it left nothing behind that is in anybody's way.
    fn check(&mut self, name: &str, told: &[String], waiter: Waiter, others: Vec<Guard>) {
        for fence in told.iter().filter_map(|it| it.strip_prefix("fence ")) {
            self.is_new(name, Fence(fence.parse().unwrap()));
        }
        let has_told = |what: &str| told.iter().any(|it| it == what);
        let mut still_there = Vec::new();
        for guard in others {
            if self.script == Script::Between {
                still_there.push(guard);
            } else if self.script == Script::Revoke && !self.status(name).is_current(guard.fence())
            {
                let lost = async { tokio::time::timeout(LONG, guard.lost()).await };
                assert_eq!(self.runtime.block_on(lost), Ok(Loss::Forced), "it is told");
                let audit = std::fs::read_to_string(self.directory.path().join("audit.log"));
                let line = format!("victim forces lock {name}: fence {} of", guard.fence());
                assert!(audit.unwrap().contains(&line), "it was put down first");
                still_there.push(guard);
            } else {
                assert!(!has_told("revoked"), "it said that it did");
                self.runtime.block_on(guard.release()).unwrap();
            }
        }
        let granted = async { tokio::time::timeout(LONG, waiter).await };
        let granted = self.runtime.block_on(granted).expect("it is its turn").unwrap().unwrap();
        self.is_new(name, granted.fence());
        let status = self.status(name);
        assert!(status.is_current(granted.fence()) && status.waiters.is_empty(), "{status:?}");
        assert_eq!(status.holders.len(), 1 + still_there.len(), "{status:?}");
        let value = status.value.map(|it| (it.fence, it.bytes));
        match self.script {
            Script::Record => {
                let bytes = value.expect("there was one before").1;
                assert!(bytes == NEW || (bytes == OLD && !has_told("recorded")), "{bytes:?}");
            }
            Script::Campaign => {
                let own = value.filter(|(fence, _)| *fence == granted.fence());
                assert!(own.is_none_or(|it| it.1.is_empty()), "the value of a dead candidate");
                let resigned =
                    status.resigned.is_some_and(|it| told.contains(&format!("fence {it}")));
                assert!(resigned || !has_told("resigned"), "it said that it did");
            }
            _ => assert_eq!(value, None),
        }
        drop((granted, still_there));
        let status = self.status(name);
        assert!(status.is_idle(), "{status:?}");
        let (request, at_once) = (self.script.request(name), Patience::AtMost(Duration::ZERO));
        let again = self.client.acquire_request(&request, at_once);
        let again = self.runtime.block_on(again).unwrap();
        self.is_new(name, again.fence());
    }
}

/// Kills one victim after the other, each one call later, until one lives to the end.
fn kill_everywhere(script: Script) {
    let mut world = World::new(script);
    let mut points = 0;
    loop {
        let name = if script == Script::Fresh { format!("fresh {points}") } else { "x".into() };
        match world.kill_at(points + 1, &name) {
            Some(true) => points += 1,
            Some(false) => break,
            None => return,
        }
    }
    println!("{script:?}: {points} points, somebody behind at {}", world.queued);
    assert!(points >= POINTS_MIN, "only {points} points");
    let nobody_waits = script == Script::Between;
    assert!(world.queued >= 2 || nobody_waits, "somebody was behind at {}", world.queued);
    let listed = world.runtime.block_on(world.client.engine().list()).unwrap();
    assert!(listed.iter().all(Result::is_ok), "{listed:?}");
}

#[test]
fn when_it_locks_a_new_name() {
    kill_everywhere(Script::Fresh);
}

#[test]
fn when_it_locks_a_name_that_was_used_before() {
    kill_everywhere(Script::Existing);
}

#[test]
fn when_it_reserves_fences() {
    kill_everywhere(Script::BlockUsedUp);
}

#[test]
fn when_it_is_the_first_since_the_machine_started() {
    kill_everywhere(Script::Restarted);
}

#[test]
fn when_it_reads_with_others() {
    kill_everywhere(Script::Between);
}

#[test]
fn when_it_waits_and_is_granted() {
    kill_everywhere(Script::Wait);
}

#[test]
fn when_it_waits_with_several_tasks_and_each_is_granted() {
    kill_everywhere(Script::Line);
}

#[test]
fn when_it_records_a_value() {
    kill_everywhere(Script::Record);
}

#[test]
fn when_it_takes_a_lock_away_from_another() {
    kill_everywhere(Script::Revoke);
}

#[test]
fn when_it_leads_and_resigns() {
    kill_everywhere(Script::Campaign);
}
