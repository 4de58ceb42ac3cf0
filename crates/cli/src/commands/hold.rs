//! `conclave lock` and `conclave elect`: run a command while a lock is held.

#![expect(clippy::disallowed_types, reason = "a real lock is held for real time")]

use std::ffi::OsString;
use std::io::{IsTerminal, stderr};
use std::pin::pin;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use conclave_client::{
    ByDescriptor, Client, Error, Fence, Guard, Kind, LABEL_MAX, Mode, Name, Owner, Patience,
    Request, Resource, Status,
};
use tokio::runtime::Runtime;

use crate::cli::{ElectArgs, HoldArgs, LockArgs};
use crate::once::{self, Run, Verdict};
use crate::wrapper::{self, Ended, Finished, GuardLock, Job, OnLost};
use crate::{engine, exit};

/// After so long a person at a terminal is told what the wait is for.
const SILENCE: Duration = Duration::from_millis(700);

/// `conclave lock`
pub fn lock(args: &LockArgs) -> ExitCode {
    let done = prepare(&args.hold).and_then(|ready| {
        let request = args.request(&ready.label).map_err(Stop::engine)?;
        ready.run(&request, args.once)
    });
    finish(done, &args.hold)
}

/// `conclave elect`
pub fn elect(args: &ElectArgs) -> ExitCode {
    let done = prepare(&args.hold).and_then(|ready| {
        let request = Request::election(args.hold.name.as_str(), args.value.as_bytes());
        let request = request.and_then(|it| it.labelled(ready.label.as_str()));
        ready.run(&request.map_err(Stop::engine)?, None)
    });
    finish(done, &args.hold)
}

/// Why the command did not run, or not to its end.
enum Stop {
    /// One line and a code.
    Refused(String, u8),
    /// The engine's error decides on the code.
    Engine(Error),
}

impl Stop {
    fn engine(error: Error) -> Self {
        Self::Engine(error)
    }

    fn usage(line: &str) -> Self {
        Self::Refused(line.to_owned(), exit::USAGE)
    }
}

fn finish(done: Result<u8, Stop>, args: &HoldArgs) -> ExitCode {
    let (line, code) = match done {
        Ok(code) => return ExitCode::from(code),
        Err(Stop::Refused(line, code)) => (line, code),
        Err(Stop::Engine(error)) => {
            let code = exit::of_engine(&error, args.conflict_exit_code);
            // Like flock(1): who asked not to wait knows what the code means.
            if error.is_not_acquired() && !args.engine.verbose && !stderr().is_terminal() {
                return ExitCode::from(code);
            }
            (error.to_string(), code)
        }
    };
    anstream::eprintln!("conclave: {line}");
    ExitCode::from(code)
}

/// Everything but the lock.
struct Ready<'a> {
    args: &'a HoldArgs,
    /// Program and arguments.
    words: Vec<OsString>,
    label: String,
    runtime: Runtime,
    client: Client,
}

fn prepare(args: &HoldArgs) -> Result<Ready<'_>, Stop> {
    let words = words(args)?;
    let label = match &args.label {
        Some(label) => label.clone(),
        None => label_of(&words),
    };
    let engine = engine::open(&args.engine);
    let engine = engine.map_err(|refused| Stop::Refused(refused.line, refused.code))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime
        .map_err(|error| Stop::Refused(format!("cannot start: {error}"), exit::UNAVAILABLE))?;
    Ok(Ready { args, words, label, runtime, client: Client::shared(engine) })
}

/// What to execute. flock(1) has `-c TEXT` after the name; so may we.
fn words(args: &HoldArgs) -> Result<Vec<OsString>, Stop> {
    let shell = |text: &OsString| vec!["sh".into(), "-c".into(), text.clone()];
    if let Some(text) = &args.shell {
        return Ok(shell(text));
    }
    match &args.command[..] {
        [] => Err(Stop::usage("there is nothing to run; say what after the name: NAME -- COMMAND")),
        [first, text] if first == "-c" => Ok(shell(text)),
        [first, ..] if first == "-c" => {
            Err(Stop::usage("-c takes one text: conclave lock NAME -c 'one && two'"))
        }
        [first, ..] if first.is_empty() => Err(Stop::usage("the command is empty")),
        [first, ..] if first.as_encoded_bytes().starts_with(b"-") => {
            let first = first.to_string_lossy();
            Err(Stop::usage(&format!(
                "{first} comes after the name, where the command begins; options go before it"
            )))
        }
        words => Ok(words.to_vec()),
    }
}

/// The command line, as far as it fits.
fn label_of(words: &[OsString]) -> String {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let mut label = String::new();
    for letter in words.join(" ").chars().map(|it| if it.is_control() { ' ' } else { it }) {
        if label.len() + letter.len_utf8() > LABEL_MAX {
            break;
        }
        label.push(letter);
    }
    label
}

impl Ready<'_> {
    /// Waits for the lock, runs the command, and says how it ended.
    fn run(&self, request: &Request, period: Option<Duration>) -> Result<u8, Stop> {
        let resource = request.resource();
        // Who sees already now that there is nothing to do need not wait.
        if let Some(period) = period
            && let Ok(status) = self.inspect(resource)
            && let Some(code) = self.skip(&status, period)
        {
            return Ok(code);
        }
        self.warn_if_it_waits_for_itself(resource);
        let asked = Instant::now();
        let guard = self.acquire(request).map_err(Stop::engine)?;
        let since = Instant::now();
        self.say(|| {
            let waited = since.duration_since(asked).as_secs_f64();
            format!("{resource} acquired after {waited:.3} s, fence {}", guard.fence())
        });
        // Whoever held it before may have run it: only now nobody else can.
        if let Some(period) = period
            && let Some(code) = self.skip(&self.inspect(resource)?, period)
        {
            return Ok(code);
        }
        let started = once::milliseconds(once::now());
        let owner = self.owner();
        let mut finished = self.supervise(&guard, &owner)?;
        let mut recorded = Ok(());
        if period.is_some() && matches!(finished.ended, Ended::Exited(0)) {
            let run = Run { owner, started, ended: once::milliseconds(once::now()) };
            recorded = self.runtime.block_on(guard.record(&run.encode()));
        }
        if let Some(rest) = self.args.min_hold.checked_sub(since.elapsed()) {
            std::thread::sleep(rest);
        }
        if finished.lingers {
            self.say(|| format!("{resource} stays held: what the command started still runs"));
        }
        // Closed, not unlocked: what inherited the descriptor and left the group keeps it held.
        if let Some(kept) = guard.by_descriptor() {
            kept.abandon();
        }
        drop(guard);
        // Only now: whoever is next need not wait for the death of our guard process.
        drop(finished.guard.take());
        recorded.map_err(Stop::engine)?;
        if let Some(signal) = finished.interrupted_by {
            let _ = nix::sys::signal::raise(signal);
        }
        self.code(&finished)
    }

    fn inspect(&self, resource: &Resource) -> Result<Status, Stop> {
        self.runtime.block_on(self.client.inspect(resource)).map_err(Stop::engine)
    }

    /// A command that asks for the lock it runs under will wait for ever.
    fn warn_if_it_waits_for_itself(&self, wanted: &Resource) {
        let Ok(fence) = std::env::var("CONCLAVE_FENCE") else { return };
        let Ok(fence) = fence.parse().map(Fence) else { return };
        let under = std::env::var("CONCLAVE_LOCK").is_ok_and(|it| it == wanted.name.as_str());
        let status = if under { self.inspect(wanted).ok() } else { None };
        let holder = status.and_then(|it| it.holders.into_iter().find(|it| it.fence == fence));
        if holder.is_some_and(|it| it.mode == Mode::Exclusive) && !self.args.nonblock {
            anstream::eprintln!("conclave: this runs under {wanted} already: it waits for itself");
        }
    }

    /// The code to end with if there is nothing to do in this period.
    fn skip(&self, status: &Status, period: Duration) -> Option<u8> {
        let kept = status.value.as_ref().map(|value| &value.bytes[..]);
        match once::verdict(kept, period, once::now()) {
            Verdict::Due => None,
            Verdict::DueDespiteClock(run) => {
                let name = &self.args.name;
                anstream::eprintln!(
                    "conclave: {name}: the last run is said to be from the future ({run}); \
                     a clock was wrong, running again"
                );
                None
            }
            Verdict::AlreadyRun(run) => {
                anstream::eprintln!("conclave: {}: already run {run}", self.args.name);
                Some(0)
            }
        }
    }

    fn acquire(&self, request: &Request) -> Result<Guard, Error> {
        let patience = match (self.args.nonblock, self.args.wait) {
            (true, _) => Patience::AtMost(Duration::ZERO),
            (false, Some(limit)) => Patience::AtMost(limit),
            (false, None) => Patience::Forever,
        };
        self.runtime.block_on(async {
            let mut wait = pin!(self.client.acquire_request(request, patience));
            let speaks = self.args.engine.verbose || stderr().is_terminal();
            if speaks && patience != Patience::AtMost(Duration::ZERO) {
                match tokio::time::timeout(SILENCE, &mut wait).await {
                    Ok(done) => return done,
                    Err(_) => self.say_what_the_wait_is_for(request.resource()).await,
                }
            }
            wait.await
        })
    }

    async fn say_what_the_wait_is_for(&self, resource: &Resource) {
        let status = match self.client.inspect(resource).await {
            Ok(status) => status,
            Err(error) => return anstream::eprintln!("conclave: waiting, but {error}"),
        };
        let ahead = status.waiters.len().saturating_sub(1);
        let held = match status.holder() {
            Some(holder) => {
                let since = conclave_client::utc(holder.owner.since);
                format!("held by {} since {since}", holder.owner)
            }
            None => "just let go".into(),
        };
        let others = match ahead {
            0 => String::new(),
            1 => ", one more waits".into(),
            _ => format!(", {ahead} others wait"),
        };
        anstream::eprintln!("conclave: waiting for {resource}: {held}{others}");
    }

    /// We, in the words in which others see us.
    fn owner(&self) -> String {
        let host = nix::unistd::gethostname().unwrap_or_default();
        let owner = Owner {
            label: self.label.clone(),
            host: host.to_string_lossy().into_owned(),
            pid: std::process::id(),
            since: once::now(),
        };
        owner.to_string()
    }

    fn supervise(&self, guard: &Guard, owner: &str) -> Result<Finished, Stop> {
        let kind = match guard.resource().kind {
            Kind::Election => ELECTION,
            _ => "lock",
        };
        let [program, arguments @ ..] = &self.words[..] else {
            return Err(Stop::usage("there is nothing to run"));
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("CONCLAVE_LOCK", self.args.name.as_str())
            .env("CONCLAVE_FENCE", guard.fence().to_string())
            .env("CONCLAVE_OWNER", owner)
            // So that a `conclave` within the command means the same locks.
            .envs(engine::variables(&**self.client.engine(), &self.args.engine))
            .env("CONCLAVE_KIND", kind);
        let kept = guard.by_descriptor();
        let keeper = kept.map(|it| it.keeper()).transpose().map_err(Stop::engine)?;
        let let_go = || {
            if let Some(Err(error)) = keeper.as_ref().map(|it| it.release()) {
                anstream::eprintln!("conclave: {error}");
            }
        };
        let guard_lock = keeper
            .as_ref()
            .map(|keeper| GuardLock { descriptor: keeper.descriptor(), let_go: Some(&let_go) });
        let finished = wrapper::run(Job {
            command,
            lock: kept.map(ByDescriptor::descriptor),
            guard_lock,
            child_inherits_lock: !self.args.close,
            is_lost: &|| guard.loss().map(|loss| loss.to_string()),
            on_lost: self.args.on_lost.clone(),
            kill_after: self.args.kill_after,
        });
        finished.map_err(|error| {
            Stop::Refused(format!("cannot watch over the command: {error}"), exit::UNAVAILABLE)
        })
    }

    fn code(&self, finished: &Finished) -> Result<u8, Stop> {
        let program = self.words[0].to_string_lossy();
        if finished.lost.is_some() && self.args.on_lost != OnLost::Ignore {
            return Ok(exit::LOST);
        }
        match &finished.ended {
            Ended::Exited(code) => Ok(*code),
            Ended::Signalled(signal) => Ok(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
            Ended::NotFound(_) => {
                let line = format!("cannot find the command {program}");
                Err(Stop::Refused(line, exit::NOT_FOUND))
            }
            Ended::NotExecutable(error) => {
                let line = format!("cannot execute {program}: {error}");
                Err(Stop::Refused(line, exit::NOT_EXECUTABLE))
            }
        }
    }

    fn say(&self, what: impl FnOnce() -> String) {
        if self.args.engine.verbose {
            anstream::eprintln!("conclave: {}", what());
        }
    }
}

/// What `$CONCLAVE_KIND` says in the command of `elect`.
const ELECTION: &str = "election";

/// A resource of that name. Within a leader's command its name means its election.
pub fn resource(name: &Name, is_election: bool) -> Resource {
    let is_ours = std::env::var("CONCLAVE_LOCK").is_ok_and(|it| it == name.as_str());
    let we_lead = is_ours && std::env::var("CONCLAVE_KIND").is_ok_and(|it| it == ELECTION);
    let kind = if is_election || we_lead { Kind::Election } else { Kind::Lock };
    Resource { kind, name: name.clone() }
}
