//! What a lock of this machine costs, beside the system calls that it cannot do without.
//!
//! `cargo bench -p conclave-client --bench local`, and after it `-- crowds` for that part alone.

#![expect(clippy::disallowed_types, reason = "a benchmark reads the clock")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use conclave_client::{Client, Local, blocking};
use nix::fcntl::{FcntlArg, Flock, FlockArg, fcntl};
use nix::libc;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

const PAIRS: u32 = 100_000;
const NAMES: usize = 10_000;
const ROUNDS: usize = 5;

/// One of the measurements, with a directory for its locks.
type Part = fn(&Path);

fn main() {
    let directory = tempfile::tempdir().expect("a directory for temporary files");
    let parts: [(&str, Part); 4] = [
        ("uncontended", uncontended),
        ("handoffs", handoffs),
        ("crowds", crowds),
        ("names", names),
    ];
    // Cargo adds an option of its own.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    for (name, run) in parts {
        if wanted.is_empty() || wanted.iter().any(|it| it == name) {
            run(directory.path());
        }
    }
}

/// The same loop with the bare system calls and with the engine, in turns, because the machine is
/// noisy.
fn uncontended(directory: &Path) {
    println!("uncontended lock + unlock, pairs a second ({ROUNDS} rounds of {PAIRS}, in turns)");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime");
    let client = Client::new(Local::open(directory).expect("the engine"));
    let front = blocking::Client::new(Local::open(directory).expect("the engine"));
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let (plain, bare) = (plain(directory), bare(directory));
        let task = timed(|| {
            runtime.block_on(async {
                for _ in 0..PAIRS {
                    drop(client.lock("bench").await.expect("a lock"));
                }
            });
        });
        let thread = timed(|| {
            for _ in 0..PAIRS {
                drop(front.lock("bench").expect("a lock"));
            }
        });
        let rate = |time: Duration| f64::from(PAIRS) / time.as_secs_f64();
        println!(
            "  flock(2) {:>8.0}   bare calls {:>7.0}   async {:>7.0}   blocking {:>7.0}   \
             async / bare {:.2}",
            rate(plain),
            rate(bare),
            rate(task),
            rate(thread),
            rate(task) / rate(bare)
        );
        ratios.push(rate(task) / rate(bare));
    }
    ratios.sort_by(f64::total_cmp);
    println!("  median ratio to the bare calls {:.2}", ratios[ROUNDS / 2]);
}

/// The kernel's own lock, on an open file: no order, no fence, no owner.
fn plain(directory: &Path) -> Duration {
    let mut file = File::create(directory.join("plain")).expect("a file");
    timed(|| {
        for _ in 0..PAIRS {
            let locked = Flock::lock(file, FlockArg::LockExclusive).expect("a kernel lock");
            file = locked.unlock().expect("no kernel lock");
        }
    })
}

/// The seven calls that a pair needs, and nothing else.
fn bare(directory: &Path) -> Duration {
    let path = directory.join("bare");
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.expect("a file");
    file.write_all_at(&[0; 8192], 0).expect("some bytes");
    let mut block = [0; 512];
    timed(|| {
        for ticket in 0..i64::from(PAIRS) {
            set(&file, libc::F_WRLCK, 0, 1);
            file.read_exact_at(&mut block, 4096).expect("a read");
            set(&file, libc::F_WRLCK, 101 + ticket, 1);
            file.write_all_at(&block, 4096).expect("a write");
            set(&file, libc::F_UNLCK, 0, 1);
            std::fs::symlink_metadata(&path).expect("it is there");
            set(&file, libc::F_UNLCK, 0, 0);
        }
    })
}

/// One lock, several threads with an engine of their own each: how fast it goes round.
fn handoffs(directory: &Path) {
    println!("one lock handed round, hand-offs a second");
    for workers in [2, 8, 32] {
        const EACH: u32 = 500;
        let time = timed(|| {
            std::thread::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|| {
                        let engine = Local::open(directory).expect("the engine");
                        let client = blocking::Client::new(engine);
                        for _ in 0..EACH {
                            drop(client.lock("round").expect("a lock"));
                        }
                    });
                }
            });
        });
        let rate = f64::from(workers * EACH) / time.as_secs_f64();
        println!("  {workers:>2} workers {rate:>8.0}");
    }
}

/// Many tasks of one process wait for one lock: how long each takes to pass it on, and what they
/// cost while they wait.
fn crowds(directory: &Path) {
    println!("one lock passed on within a crowd of tasks of one process");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for tasks in [8_usize, 200, 800] {
        let client = Client::new(Local::open(directory).expect("the engine"));
        let each = || async { drop(client.lock("crowd").await.expect("a lock")) };
        let (time, threads, descriptors) = runtime.block_on(async {
            let first = client.lock("crowd").await.expect("a lock");
            let mut all: Vec<_> = (0..tasks).map(|_| Box::pin(each())).collect();
            // All in the queue before the first one lets go.
            std::future::poll_fn(|context| {
                let waiting = all
                    .iter_mut()
                    .filter_map(|it| it.as_mut().poll(context).is_pending().then_some(()));
                assert_eq!(waiting.count(), tasks, "they all wait");
                std::task::Poll::Ready(())
            })
            .await;
            let (threads, descriptors) = (count("task"), count("fd"));
            let start = Instant::now();
            drop(first);
            for task in all {
                task.await;
            }
            (start.elapsed(), threads, descriptors)
        });
        let each = time / u32::try_from(tasks).expect("a small number");
        println!(
            "  {tasks:>3} tasks: {each:>7.1?} each, {threads} threads and {descriptors} \
             descriptors while they wait"
        );
    }
}

/// How many threads or descriptors this process has.
fn count(what: &str) -> usize {
    std::fs::read_dir(format!("/proc/self/{what}")).expect("this process").count()
}

/// Many locks held at once.
fn names(directory: &Path) {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("as many as we are allowed");
    let client = blocking::Client::new(Local::open(directory).expect("the engine"));
    let memory = resident();
    let mut guards = Vec::with_capacity(NAMES);
    let first = timed(|| {
        guards.extend((0..NAMES).map(|it| client.lock(format!("name {it}")).expect("a lock")));
    });
    let each = (resident() - memory) / NAMES as u64;
    guards.clear();
    let again = timed(|| {
        guards.extend((0..NAMES).map(|it| client.lock(format!("name {it}")).expect("a lock")));
    });
    println!(
        "{NAMES} names held by one process: {first:.2?} when they are new (three syncs each), \
         {again:.2?} after that, {each} bytes of memory each"
    );
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    let kilobytes = line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number");
    kilobytes * 1024
}

fn set(file: &File, kind: i32, start: i64, length: i64) {
    fcntl(file, FcntlArg::F_OFD_SETLK(&range(kind, start, length))).expect("a kernel lock");
}

fn range(kind: i32, start: i64, length: i64) -> libc::flock {
    let kind = i16::try_from(kind).expect("the kernel's constants are small");
    libc::flock { l_type: kind, l_whence: 0, l_start: start, l_len: length, l_pid: 0 }
}
