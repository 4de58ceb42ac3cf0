//! Twelve parts of work and four workers, one of whom is killed.
//!
//! Each worker is a process; each part has a lock. A worker takes the first part that is not done
//! and that nobody has. When a worker dies the kernel frees its lock at once, and another one
//! takes that part over, from its beginning.
//!
//! What makes it *exactly once*:
//!
//! - A worker looks **again** whether the part is done once it has the lock. It may have been done
//!   between the first look and the lock.
//! - A part is done when its result has its final name, and it gets that in one step, complete.
//!   What a dead worker leaves has another name, and counts for nothing.
//! - That step refuses to replace a result that is there already. So a worker that was only thought
//!   dead, and wakes up, changes nothing; and this program would notice.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use conclave_client::{Guard, Request, blocking};
use conclave_examples::{
    Actor, Failure, Stage, StartingGun, Words, client, garbled, number, random_below, run, say,
    verdict, wait_for_the_start, words_of,
};

const HELP: &str = "Four workers do twelve parts of work, and one of them is killed in the middle

usage: parts [--dir DIR]

  --dir DIR  work in this new or empty directory [default: a temporary one]

exit codes: 0 every part is done once and completely; 1 not so; 64 bad usage; 69 something does not
work";

const PARTS: u32 = 12;
const WORKERS: u32 = 4;
const STEPS: u32 = 20;

/// How long a step takes.
const STEP_TIME: Duration = Duration::from_millis(1);

fn main() -> ExitCode {
    run(HELP, |mut words| match words.take_role("worker") {
        Some(words) => worker(&words),
        None => manager(words),
    })
}

fn done_path(stage: &Path, part: u32) -> PathBuf {
    stage.join(format!("part-{part}.done"))
}

// ---------------------------------------------------------------------------------------------
// A worker.

/// The words are: its number and the stage.
fn worker(words: &[OsString]) -> Result<ExitCode, Failure> {
    let [worker, stage] = words else {
        return Err(Failure::Usage("a worker is started by the manager".into()));
    };
    let (worker, stage): (u32, _) = (number(worker)?, Path::new(stage));
    let client = client(stage)?;
    wait_for_the_start()?;
    while let Some((part, guard)) = take_part(&client, stage, worker)? {
        // The look that counts: from now on nobody else can do it.
        if !done_path(stage, part).exists() {
            do_part(stage, part, worker, &guard)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A part that is not done, as far as one can see without its lock; `None` when all are.
fn take_part(
    client: &blocking::Client,
    stage: &Path,
    worker: u32,
) -> Result<Option<(u32, blocking::Guard)>, conclave_client::Error> {
    let request =
        |part| Request::lock(&format!("part {part}"))?.labelled(format!("worker {worker}"));
    let is_left = |part: &u32| !done_path(stage, *part).exists();
    for part in (1..=PARTS).filter(is_left) {
        match client.try_lock(request(part)?) {
            Ok(guard) => return Ok(Some((part, guard))),
            Err(error) if error.is_not_acquired() => {}
            Err(error) => return Err(error),
        }
    }
    // Somebody works at each part that is left. We wait for the first of them: if its worker
    // dies it is ours, and if not we look again.
    match (1..=PARTS).find(is_left) {
        Some(part) => Ok(Some((part, client.lock(request(part)?)?))),
        None => Ok(None),
    }
}

fn do_part(stage: &Path, part: u32, worker: u32, guard: &Guard) -> io::Result<()> {
    let fence = guard.fence();
    say(&format!("begins {part} {fence}"))?;
    // With the fence in its name it is nobody else's.
    let unfinished = stage.join(format!("part-{part}.unfinished-{fence}"));
    let mut result = File::create_new(&unfinished)?;
    writeln!(result, "worker {worker} fence {fence}")?;
    for step in 1..=STEPS {
        std::thread::sleep(STEP_TIME);
        writeln!(result, "step {step} of {STEPS}")?;
    }
    result.sync_all()?;
    // A link, not a rename: it never replaces what is there.
    match fs::hard_link(&unfinished, done_path(stage, part)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            say(&format!("again {part} {fence}"))?;
        }
        linked => {
            linked?;
            say(&format!("done {part} {fence}"))?;
        }
    }
    fs::remove_file(&unfinished)
}

// ---------------------------------------------------------------------------------------------
// The manager.

/// What a worker told, or what was done to it.
enum Event {
    Begins {
        part: u32,
        fence: u64,
    },
    Done {
        part: u32,
        fence: u64,
    },
    /// Somebody else had done it meanwhile, which must not happen.
    Again {
        part: u32,
        fence: u64,
    },
    /// In the middle of that part.
    Killed {
        part: u32,
        fence: u64,
    },
}

impl Event {
    fn parse(line: &str) -> io::Result<Self> {
        let wrong = || garbled(&format!("a worker said {line:?}"));
        let [what, part, fence] = words_of(line)[..] else { return Err(wrong()) };
        let (Ok(part), Ok(fence)) = (part.parse(), fence.parse()) else { return Err(wrong()) };
        match what {
            "begins" => Ok(Self::Begins { part, fence }),
            "done" => Ok(Self::Done { part, fence }),
            "again" => Ok(Self::Again { part, fence }),
            _ => Err(wrong()),
        }
    }
}

fn manager(mut words: Words) -> Result<ExitCode, Failure> {
    let stage = Stage::from_words(&mut words)?;
    words.finish()?;
    // So many parts are begun before somebody is killed.
    let fate = &Mutex::new(Some(1 + random_below(8)));
    let path = stage.path();
    let (teller, events) = mpsc::channel();
    let gun = StartingGun::load()?;
    let mut workers = Vec::new();
    for worker in 1..=WORKERS {
        let number = worker.to_string();
        let words = [OsStr::new("worker"), number.as_ref(), path.as_ref()];
        let mut actor = Actor::start(&gun, words)?;
        actor.is_ready()?;
        workers.push((worker, actor));
    }
    gun.fire();
    let mut story = Story::default();
    std::thread::scope(|scope| {
        let listen = |(worker, actor)| {
            let teller = teller.clone();
            scope.spawn(move || follow(path, worker, actor, fate, &teller))
        };
        let listeners: Vec<_> = workers.into_iter().map(listen).collect();
        // Ours would keep the channel open for ever.
        drop(teller);
        for (worker, event) in events {
            story.tell(worker, &event);
        }
        let ended = listeners.into_iter().map(|it| it.join().expect("listeners do not panic"));
        ended.collect::<io::Result<()>>()
    })?;
    let complete = (1..=PARTS).filter(|&part| is_complete(path, part)).count();
    Ok(story.end(complete))
}

/// Hears a worker until it ends, and kills it if fate says so.
fn follow(
    stage: &Path,
    worker: u32,
    mut actor: Actor,
    fate: &Mutex<Option<u64>>,
    teller: &Sender<(u32, Event)>,
) -> io::Result<()> {
    // Nobody hears us only if the manager is gone.
    let tell = |event| teller.send((worker, event)).map_err(io::Error::other);
    while let Some(line) = actor.hear()? {
        let event = Event::parse(&line)?;
        let Event::Begins { part, fence } = event else {
            tell(event)?;
            continue;
        };
        // Before it is told: so who takes over is heard of after who was killed.
        let mut left = fate.lock().unwrap_or_else(PoisonError::into_inner);
        tell(event)?;
        *left = left.map(|count| count.saturating_sub(1));
        if *left != Some(0) {
            continue;
        }
        std::thread::sleep(STEP_TIME * u32::try_from(random_below(5)).unwrap_or(0));
        let mut last_words = actor.kill()?;
        if last_words.is_empty() && !is_done_by(stage, part, worker) {
            *left = None;
            return tell(Event::Killed { part, fence });
        }
        // It was faster than we, and died outside of any part: somebody else's turn. Maybe it had
        // no time to say so.
        if last_words.is_empty() {
            last_words.push(format!("done {part} {fence}"));
        }
        return last_words.iter().try_for_each(|line| tell(Event::parse(line)?));
    }
    actor.end_well()
}

fn is_done_by(stage: &Path, part: u32, worker: u32) -> bool {
    let Ok(text) = fs::read_to_string(done_path(stage, part)) else { return false };
    text.starts_with(&format!("worker {worker} "))
}

/// Whether the result has all its lines.
fn is_complete(stage: &Path, part: u32) -> bool {
    let Ok(text) = fs::read_to_string(done_path(stage, part)) else { return false };
    let steps = (1..=STEPS).map(|step| format!("step {step} of {STEPS}"));
    text.lines().skip(1).eq(steps)
}

/// Who did what.
#[derive(Default)]
struct Story {
    /// How often each part was done.
    done: BTreeMap<u32, u32>,
    /// The worker and the part that it was killed in.
    killed: Option<(u32, u32)>,
    /// Who did that part then.
    heir: Option<u32>,
}

impl Story {
    fn tell(&mut self, worker: u32, event: &Event) {
        match *event {
            // Only who ends something is worth a line, unless it is the second who tries.
            Event::Begins { part, fence } => {
                if self.killed.is_some_and(|(_, lost)| lost == part) {
                    println!("worker {worker} | part {part} | fence {fence} | takes over");
                }
            }
            Event::Done { part, fence } => {
                *self.done.entry(part).or_default() += 1;
                if self.killed.is_some_and(|(_, lost)| lost == part) {
                    self.heir = Some(worker);
                }
                println!("worker {worker} | part {part} | fence {fence} | done");
            }
            Event::Again { part, fence } => {
                *self.done.entry(part).or_default() += 1;
                println!("worker {worker} | part {part} | fence {fence} | done AGAIN");
            }
            Event::Killed { part, fence } => {
                self.killed = Some((worker, part));
                println!("worker {worker} | part {part} | fence {fence} | killed");
            }
        }
    }

    fn end(&self, complete: usize) -> ExitCode {
        let once = self.done.values().filter(|&&times| times == 1).count();
        let takeover = match (self.killed, self.heir) {
            (Some((dead, part)), Some(heir)) => {
                format!("worker {dead} was killed in part {part}, worker {heir} did it")
            }
            (Some((dead, part)), None) => {
                format!("worker {dead} was killed in part {part}, and nobody did it")
            }
            (None, _) => "nobody was killed".into(),
        };
        println!("{PARTS} parts, {complete} complete, {once} done once; {takeover}");
        let all = PARTS as usize;
        verdict(complete == all && once == all && self.heir.is_some())
    }
}
