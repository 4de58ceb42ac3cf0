//! `conclave lock` and `conclave elect`: run a command while a lock is held.

#![expect(clippy::disallowed_types, reason = "a real lock is held for real time")]

use std::ffi::OsString;
use std::io::{IsTerminal, stderr};
use std::pin::pin;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use conclave_client::{
    BootTime, ByDescriptor, Client, Error, Fence, Guard, Kind, LABEL_MAX, Mode, Name, Owner,
    Patience, Request, Resource, Standing, Status,
};
use tokio::runtime::Runtime;

use crate::cli::{ElectArgs, HoldArgs, LockArgs};
use crate::once::{self, Run, Verdict};
use crate::wrapper::{self, Ended, Finished, GuardLock, Job, Leftovers, LockWatch, OnLost};
use crate::{engine, exit};

/// After so long a person at a terminal is told what the wait is for.
const SILENCE: Duration = Duration::from_millis(700);

/// How long a session lasts without news, unless `--ttl` says otherwise.
pub const DEFAULT_TTL: Duration = Duration::from_secs(10);

/// What `--kill-after` is by default: for a lock that is held until it is let go, and at most for
/// one with a deadline, whose command has to end before that.
const DEFAULT_KILL_AFTER: Duration = Duration::from_secs(10);
const DEFAULT_KILL_AFTER_WITH_DEADLINE: Duration = Duration::from_secs(2);

/// How long servers may take to end our session before we end without their word.
const PARTING: Duration = Duration::from_secs(1);

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
    let engine = engine::open_for(&args.engine, args.ttl);
    let engine = engine.map_err(|refused| Stop::Refused(refused.line, refused.code))?;
    check_ttl(args, engine.name())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime
        .map_err(|error| Stop::Refused(format!("cannot start: {error}"), exit::UNAVAILABLE))?;
    Ok(Ready { args, words, label, runtime, client: Client::shared(engine) })
}

/// Says what is wrong with `--ttl` before anybody waits for a lock.
fn check_ttl(args: &HoldArgs, engine: &str) -> Result<(), Stop> {
    let Some(ttl) = args.ttl else { return Ok(()) };
    if matches!(engine, "local" | "memory") {
        return Err(Stop::usage(&format!(
            "--ttl is for engines whose locks lapse; those of {engine} are held until they are let \
             go"
        )));
    }
    kill_after(args.kill_after, ttl).map(drop)
}

/// How long a command may take to end whose lock lapses after `ttl` without news.
fn kill_after(asked: Option<Duration>, ttl: Duration) -> Result<Duration, Stop> {
    let most = ttl / 2;
    match asked {
        Some(asked) if asked > most => Err(Stop::usage(&format!(
            "--kill-after is at most half of --ttl, which is {} s: say at most {}, or a longer \
             --ttl",
            ttl.as_secs_f64(),
            most.as_secs_f64(),
        ))),
        Some(asked) => Ok(asked),
        None => Ok(most.min(DEFAULT_KILL_AFTER_WITH_DEADLINE)),
    }
}

/// How it stands with a lock, for who watches over its command.
struct Held<'a>(&'a Guard);

impl LockWatch for Held<'_> {
    fn lost(&self) -> Option<String> {
        self.0.loss().map(|loss| loss.to_string())
    }

    fn deadline(&self) -> Option<BootTime> {
        self.0.deadline()
    }

    fn is_in_jeopardy(&self) -> bool {
        self.0.standing() == Standing::Jeopardy
    }
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
            self.let_go(guard).map_err(Stop::engine)?;
            return Ok(code);
        }
        let started = once::milliseconds(once::now());
        let owner = self.owner();
        let mut finished = match self.supervise(&guard, &owner) {
            Ok(finished) => finished,
            Err(stop) => {
                let _ = self.let_go(guard);
                return Err(stop);
            }
        };
        let mut recorded = Ok(());
        if period.is_some() && matches!(finished.ended, Ended::Exited(0)) {
            let run = Run { owner, started, ended: once::milliseconds(once::now()) };
            recorded = self.runtime.block_on(guard.record(&run.encode()));
        }
        if let Some(rest) = self.args.min_hold.checked_sub(since.elapsed()) {
            std::thread::sleep(rest);
        }
        let let_go = self.let_go(guard);
        // Only now: whoever is next need not wait for the death of our guard process.
        drop(finished.guard.take());
        if finished.lost.is_none() {
            recorded.and(let_go).map_err(Stop::engine)?;
        }
        if let Some(signal) = finished.interrupted_by {
            let _ = nix::sys::signal::raise(signal);
        }
        self.code(&finished)
    }

    /// Lets go. What is kept by descriptors is closed, not unlocked: whatever inherited one and left
    /// the group keeps it held.
    fn let_go(&self, guard: Guard) -> Result<(), Error> {
        if let Some(kept) = guard.by_descriptor() {
            kept.abandon();
            return Ok(());
        }
        let resource = guard.resource().clone();
        let released = self.runtime.block_on(guard.release());
        self.close();
        match released {
            // The command ended in time. Whoever is next waits for the end of our session.
            Err(Error::Unknown { .. }) => {
                anstream::eprintln!(
                    "conclave: no answer when {resource} was let go; it is free when its time to \
                     live is over"
                );
                Ok(())
            }
            done => done,
        }
    }

    /// Ends the session, if the engine has one, and with it whatever was asked for. Servers that do
    /// not answer end it themselves, later.
    fn close(&self) {
        let close = self.client.engine().close();
        let _ = self.runtime.block_on(async { tokio::time::timeout(PARTING, close).await });
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
        let keeper = kept.map(ByDescriptor::keeper).transpose().map_err(Stop::engine)?;
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
            title: guard.resource().to_string(),
            lock: kept.map(ByDescriptor::descriptor),
            guard_lock,
            child_inherits_lock: !self.args.close,
            leftovers: if self.args.close { Leftovers::LoseIt } else { Leftovers::KeepIt },
            watch: &Held(guard),
            on_lost: self.args.on_lost.clone(),
            kill_after: match guard.deadline() {
                Some(_) => kill_after(self.args.kill_after, self.args.ttl.unwrap_or(DEFAULT_TTL))?,
                None => self.args.kill_after.unwrap_or(DEFAULT_KILL_AFTER),
            },
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
            Ended::LostBefore => Ok(exit::LOST),
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
