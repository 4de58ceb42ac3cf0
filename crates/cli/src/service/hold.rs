//! `conclave lock` and `conclave elect`: run a command while a lock is held.

#![expect(clippy::disallowed_types, reason = "a real lock is held for real time")]

mod keep;
mod lapse;
mod work;

use std::ffi::OsString;
use std::future::{Future, poll_fn};
use std::io::{self, IsTerminal, stderr};
use std::pin::pin;
use std::process::{Command, ExitCode};
use std::task::Poll;
use std::time::{Duration, Instant};

use conclave_client::{
    ByDescriptor, Client, Error, Fence, Guard, Kind, Mode, Name, Owner, Patience, Request,
    Resource, Status,
};
use nix::sys::signal::{Signal, raise};
use tokio::runtime::Runtime;

use crate::exit;
use crate::service::engine;
use crate::service::period::{self, Decision, Run};
use crate::service::words::{ElectArgs, HoldArgs, LockArgs};
use crate::wrapper::{self, Ended, Finished, GuardLock, Job, Leftovers, OnLost, Signals, Standby};
use lapse::{Held, check_times, kill_after, kill_after_ahead};
use work::Work;

/// After so long a person at a terminal is told what the wait is for.
const SILENCE: Duration = Duration::from_millis(700);

/// A guard that was started ahead is kept for so long: whoever waits in a queue needs none yet.
const AHEAD: Duration = Duration::from_millis(100);

/// How long an answer to the release is waited for.
const RELEASE_PATIENCE: Duration = Duration::from_secs(2);

/// How long servers may take to end our session before we end without their word.
const PARTING: Duration = Duration::from_secs(1);

/// Carries out `conclave lock`; the code to exit with.
pub fn lock(args: &LockArgs) -> ExitCode {
    let done = prepare(&args.hold).and_then(|mut ready| {
        let request = args.request(&ready.label).map_err(Stop::engine)?;
        ready.run_and_close(&request, args.once)
    });
    finish(done, &args.hold)
}

/// Carries out `conclave elect`; the code to exit with.
pub fn elect(args: &ElectArgs) -> ExitCode {
    let done = prepare(&args.hold).and_then(|mut ready| {
        let request = Request::election(args.hold.name.as_str(), args.value.as_bytes());
        let request = request.and_then(|it| it.labelled(ready.label.as_str()));
        ready.run_and_close(&request.map_err(Stop::engine)?, None)
    });
    finish(done, &args.hold)
}

/// Why the command did not run, or not to its end.
enum Stop {
    /// One line and a code.
    Refused(String, u8),
    /// The engine's error decides on the code.
    Engine(Error),
    /// A signal came, and shall have its usual effect.
    Signal(Signal),
}

impl Stop {
    fn engine(error: Error) -> Self {
        Self::Engine(error)
    }

    fn usage(line: &str) -> Self {
        Self::Refused(line.to_owned(), exit::USAGE)
    }

    #[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
    fn cannot_watch(error: io::Error) -> Self {
        Self::Refused(format!("cannot wait for signals: {error}"), exit::UNAVAILABLE)
    }
}

fn finish(done: Result<u8, Stop>, args: &HoldArgs) -> ExitCode {
    let (line, code) = match done {
        Ok(code) => return ExitCode::from(code),
        Err(Stop::Refused(line, code)) => (line, code),
        Err(Stop::Signal(signal)) => {
            let _ = raise(signal);
            // Still here: the first process of a container dies of nothing by itself.
            return ExitCode::from(u8::try_from(128 + signal as i32).unwrap_or(u8::MAX));
        }
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
    work: Work,
    signals: Signals,
    label: String,
    runtime: Runtime,
    client: Client,
    /// The guard, if it was started ahead.
    standby: Option<Standby>,
    /// Whether the session must not be ended before its time.
    stays_held: bool,
}

fn prepare(args: &HoldArgs) -> Result<Ready<'_>, Stop> {
    let work = Work::asked_by(args)?;
    let label = args.label.clone().unwrap_or_else(|| work.label());
    // Before an engine can start threads, which have to block them too.
    let signals = Signals::block().map_err(Stop::cannot_watch)?;
    let engine = engine::open_for(&args.engine, args.ttl);
    let engine = engine.map_err(|refused| Stop::Refused(refused.line, refused.code))?;
    check_times(args, engine.name())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime
        .map_err(|error| Stop::Refused(format!("cannot start: {error}"), exit::UNAVAILABLE))?;
    Ok(Ready {
        args,
        work,
        signals,
        label,
        runtime,
        client: Client::shared(engine),
        standby: None,
        stays_held: false,
    })
}

impl Ready<'_> {
    /// Whatever comes of it, nothing of ours stays behind at the servers, if there are any. If they
    /// do not answer, they end our session themselves, later.
    fn run_and_close(&mut self, request: &Request, period: Option<Duration>) -> Result<u8, Stop> {
        let done = self.run(request, period);
        if self.stays_held {
            return done;
        }
        let close = self.client.engine().close();
        let _ = self.runtime.block_on(async { tokio::time::timeout(PARTING, close).await });
        done
    }

    /// Waits for the lock, runs the command, and says how it ended.
    fn run(&mut self, request: &Request, period: Option<Duration>) -> Result<u8, Stop> {
        let resource = request.resource();
        // Who sees already now that there is nothing to do need not wait.
        if let Some(period) = period
            && let Some(status) = self.glance(resource)?
            && let Decision::AlreadyRun(run) = decision(&status, period)
        {
            return Ok(self.skip(&run));
        }
        self.warn_if_it_waits_for_itself(resource)?;
        let asked = Instant::now();
        let guard = self.acquire(request)?;
        let since = Instant::now();
        self.say(|| {
            let waited = since.duration_since(asked).as_secs_f64();
            format!("{resource} acquired after {waited:.3} s, fence {}", guard.fence())
        });
        // Whoever held it before may have run it: only now nobody else can.
        if let Some(period) = period {
            match decision(&self.inspect(resource)?, period) {
                Decision::Due => {}
                Decision::AlreadyRun(run) => {
                    let code = self.skip(&run);
                    return self.release(guard).map(|()| code);
                }
                Decision::DueDespiteClock(run) => {
                    let name = &self.args.name;
                    anstream::eprintln!(
                        "conclave: {name}: the last run is recorded as in the future ({run}); a \
                         clock was wrong, so it is run again"
                    );
                }
            }
        }
        let Work::Run(words) = &self.work else { return self.keep(guard) };
        let words = words.clone();
        let started = period::milliseconds(period::now());
        let owner = self.owner();
        let mut finished = match self.supervise(&guard, &owner, &words) {
            Ok(finished) => finished,
            Err(stop) => {
                // The command may be running, and is ended by its guard process. Whoever is next
                // must wait for that: until our session lapses.
                self.leave_held(guard);
                return Err(stop);
            }
        };
        // From here on nothing ends this early: what the command left behind shall keep the lock.
        let mut recorded = Ok(());
        if period.is_some() && matches!(finished.ended, Ended::Exited(0)) {
            let run = Run { owner, started, ended: period::milliseconds(period::now()) };
            let answer = self.wait(guard.record(&run.encode()));
            recorded = answer.and_then(|done| done.map_err(Stop::engine));
        }
        let waited_out = match finished.lost {
            Some(_) => Ok(()),
            None => self.wait_out(&guard, since),
        };
        let released = match guard.by_descriptor() {
            // Closed, not unlocked: what inherited the descriptor and left the group keeps it held.
            Some(kept) => {
                kept.abandon();
                drop(guard);
                Ok(())
            }
            None => self.release(guard),
        };
        // Only now: whoever is next need not wait for the death of our guard process.
        drop(finished.guard.take());
        recorded?;
        waited_out?;
        match finished.interrupted_by {
            Some(signal) => Err(Stop::Signal(signal)),
            None if finished.lost.is_some() => self.code(&finished, &words[0]),
            None => released.and_then(|()| self.code(&finished, &words[0])),
        }
    }

    /// Ends without letting go: what is kept by descriptors is kept by whoever has one, and a
    /// session lasts until it lapses.
    fn leave_held(&mut self, guard: Guard) {
        if let Some(kept) = guard.by_descriptor() {
            kept.abandon();
        } else {
            self.stays_held = true;
            std::mem::forget(guard);
        }
    }

    /// Lets go. That nobody answers is said, and no more: the lock lapses by itself.
    fn release(&mut self, guard: Guard) -> Result<(), Stop> {
        let resource = guard.resource().clone();
        let answer = async { tokio::time::timeout(RELEASE_PATIENCE, guard.release()).await };
        match self.wait(answer)? {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error @ Error::Lost { .. })) => return Err(Stop::Engine(error)),
            Ok(Err(error)) => anstream::eprintln!("conclave: {error}"),
            Err(_) => anstream::eprintln!(
                "conclave: {resource}: the servers did not answer the release; it lapses by itself"
            ),
        }
        Ok(())
    }

    /// Waits for an answer, or for a signal that ends us.
    fn wait<T>(&mut self, answer: impl Future<Output = T>) -> Result<T, Stop> {
        wait(&self.runtime, &mut self.signals, answer)
    }

    fn inspect(&mut self, resource: &Resource) -> Result<Status, Stop> {
        let answer = self.client.inspect(resource);
        wait(&self.runtime, &mut self.signals, answer)?.map_err(Stop::engine)
    }

    /// How the lock stands, if it can be told; whoever asks can do without.
    fn glance(&mut self, resource: &Resource) -> Result<Option<Status>, Stop> {
        match self.inspect(resource) {
            Ok(status) => Ok(Some(status)),
            Err(Stop::Signal(signal)) => Err(Stop::Signal(signal)),
            Err(_) => Ok(None),
        }
    }

    /// A command that asks for the lock it runs under will wait for ever.
    fn warn_if_it_waits_for_itself(&mut self, wanted: &Resource) -> Result<(), Stop> {
        let Ok(fence) = std::env::var("CONCLAVE_FENCE") else { return Ok(()) };
        let Ok(fence) = fence.parse().map(Fence) else { return Ok(()) };
        let under = std::env::var("CONCLAVE_LOCK").is_ok_and(|it| it == wanted.name.as_str());
        let status = if under { self.glance(wanted)? } else { None };
        let holder = status.and_then(|it| it.holders.into_iter().find(|it| it.fence == fence));
        if holder.is_some_and(|it| it.mode == Mode::Exclusive) && !self.args.nonblock {
            anstream::eprintln!(
                "conclave: this runs under {wanted} already, so it waits for itself"
            );
        }
        Ok(())
    }

    /// There is nothing to do in this period. Returns the code to end with.
    fn skip(&self, run: &Run) -> u8 {
        anstream::eprintln!("conclave: {}: already run {run}", self.args.name);
        0
    }

    fn acquire(&mut self, request: &Request) -> Result<Guard, Stop> {
        let patience = match (self.args.nonblock, self.args.wait) {
            (true, _) => Patience::AtMost(Duration::ZERO),
            (false, Some(limit)) => Patience::AtMost(limit),
            (false, None) => Patience::Forever,
        };
        let (client, standby) = (&self.client, &mut self.standby);
        let ahead = match self.work {
            Work::Run(_) => kill_after_ahead(self.args, client.engine().name()),
            Work::Hold => None,
        };
        let on_lost = &self.args.on_lost;
        let speaks = self.args.engine.verbose || stderr().is_terminal();
        let answer = async {
            let mut wait = pin!(client.acquire_request(request, patience));
            if let Some(kill_after) = ahead {
                // From its first poll on the request is on its way.
                if let Poll::Ready(done) = poll_fn(|it| Poll::Ready(wait.as_mut().poll(it))).await {
                    return done;
                }
                // If there is no process to be had, the job says so.
                *standby = on_lost.stand_by(kill_after).ok();
                if let Ok(done) = tokio::time::timeout(AHEAD, &mut wait).await {
                    return done;
                }
                *standby = None;
            }
            if speaks && patience != Patience::AtMost(Duration::ZERO) {
                match tokio::time::timeout(SILENCE, &mut wait).await {
                    Ok(done) => return done,
                    Err(_) => say_what_the_wait_is_for(client, request.resource()).await,
                }
            }
            wait.await
        };
        wait(&self.runtime, &mut self.signals, answer)?.map_err(Stop::engine)
    }

    /// We, in the words in which others see us.
    fn owner(&self) -> String {
        let host = nix::unistd::gethostname().unwrap_or_default();
        let owner = Owner {
            label: self.label.clone(),
            host: host.to_string_lossy().into_owned(),
            pid: std::process::id(),
            since: period::now(),
        };
        owner.to_string()
    }

    fn supervise(
        &mut self,
        guard: &Guard,
        owner: &str,
        words: &[OsString],
    ) -> Result<Finished, Stop> {
        let kind = match guard.resource().kind {
            Kind::Election => ELECTION,
            _ => "lock",
        };
        let [program, arguments @ ..] = words else {
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
        let job = Job {
            command,
            title: guard.resource().to_string(),
            lock: kept.map(ByDescriptor::descriptor),
            guard_lock,
            standby: self.standby.take(),
            child_inherits_lock: !self.args.close,
            leftovers: if self.args.close { Leftovers::LoseIt } else { Leftovers::KeepIt },
            watch: &Held(guard),
            on_lost: self.args.on_lost.clone(),
            kill_after: kill_after(self.args, guard)?,
        };
        let finished = wrapper::run(job, &mut self.signals);
        finished.map_err(|error| {
            Stop::Refused(format!("cannot watch over the command: {error}"), exit::UNAVAILABLE)
        })
    }

    fn code(&self, finished: &Finished, program: &OsString) -> Result<u8, Stop> {
        let program = program.to_string_lossy();
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

async fn say_what_the_wait_is_for(client: &Client, resource: &Resource) {
    let status = match client.inspect(resource).await {
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

/// Waits for an answer, or for a signal that ends us: then the question is dropped, and so whatever
/// it waited for.
fn wait<T>(
    runtime: &Runtime,
    signals: &mut Signals,
    answer: impl Future<Output = T>,
) -> Result<T, Stop> {
    runtime.block_on(async {
        let (mut answer, mut signal) = (pin!(answer), pin!(signals.deadly()));
        poll_fn(|context| {
            if let Poll::Ready(answer) = answer.as_mut().poll(context) {
                return Poll::Ready(Ok(answer));
            }
            signal.as_mut().poll(context).map(|signal| match signal {
                Ok(signal) => Err(Stop::Signal(signal)),
                Err(error) => Err(Stop::cannot_watch(error)),
            })
        })
        .await
    })
}

/// Whether there is something to do in this period.
fn decision(status: &Status, period: Duration) -> Decision {
    let kept = status.value.as_ref().map(|value| &value.bytes[..]);
    period::decision(kept, period, period::now())
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
