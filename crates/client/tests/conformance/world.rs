//! What an engine brings along to be tested.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use conclave_client::{Client, Resource};
use tokio::runtime::{Builder, Runtime};

use crate::claims::Claim;
use crate::scene::Scene;

/// The future of something that a world does.
pub type Doing<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// No claim takes nearly as long, even on a slow machine.
const CLAIM_MAX: Duration = Duration::from_secs(120);

/// What not every world can do. A claim that needs it is left out where it is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ability {
    /// End the session of a holder, as if nothing had been heard of it for too long.
    Expire,
    /// Stop the store and start it again, with what it had written.
    RestartStore,
    /// Show what was taken away by force.
    Audit,
    /// Be used from another process.
    OtherProcess,
}

/// One store, empty at first, and ways to it. Every claim gets one of its own.
pub trait World: Send + Sync {
    /// Another client of the store, with a session of its own: what another process would have.
    fn client(&self) -> Client;

    /// Lets so much of the engine's time pass, and everybody run meanwhile.
    fn pass(&self, time: Duration) -> Doing<'_> {
        Box::pin(tokio::time::sleep(time))
    }

    /// How long to wait for what must happen, in the engine's time.
    fn patience(&self) -> Duration {
        Duration::from_secs(20)
    }

    /// How long to look for what must not happen, in the engine's time.
    fn quiet(&self) -> Duration {
        Duration::from_millis(60)
    }

    /// Where the claims run.
    fn runtime(&self) -> Runtime {
        Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
    }

    /// Which of the methods below may be called.
    fn abilities(&self) -> &'static [Ability];

    /// [`Ability::Expire`]: ends the sessions of all who hold `resource`, and of nobody else.
    fn expire<'a>(&'a self, resource: &'a Resource) -> Doing<'a> {
        unreachable!("nothing of {resource} can expire")
    }

    /// [`Ability::RestartStore`]: returns when it can be used again.
    fn restart_store(&self) -> Doing<'_> {
        unreachable!("the store cannot be restarted")
    }

    /// [`Ability::Audit`]: a line for everything that was taken away by force, the oldest first.
    fn audit(&self) -> Vec<String> {
        unreachable!("the engine shows no audit log")
    }

    /// [`Ability::OtherProcess`]: for [`crate::other_process::open`].
    fn address(&self) -> String {
        unreachable!("the store is within this process")
    }
}

/// How a claim fared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Kept,
    Broken(String),
    LeftOut(Ability),
}

/// Tries one claim in a world made for it. However an engine fails, this returns.
pub fn judge(claim: &Claim, world: Box<dyn World>) -> Verdict {
    if let Some(missing) = claim.needs.iter().find(|it| !world.abilities().contains(it)) {
        return Verdict::LeftOut(*missing);
    }
    let (done, is_done) = channel();
    let run = claim.run;
    std::thread::spawn(move || {
        let runtime = world.runtime();
        let scene = Scene::new(world);
        let tried = catch_unwind(AssertUnwindSafe(|| runtime.block_on(run(&scene))));
        // The world is gone before the test ends, and its servers and files with it.
        runtime.shutdown_background();
        drop(scene);
        let _ = done.send(tried.map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&it| it.to_owned()));
            text.unwrap_or_else(|| "it panicked".to_owned())
        }));
    });
    match is_done.recv_timeout(CLAIM_MAX) {
        Ok(Ok(())) => Verdict::Kept,
        Ok(Err(why)) => Verdict::Broken(why),
        Err(RecvTimeoutError::Timeout) => Verdict::Broken(format!("no end after {CLAIM_MAX:?}")),
        Err(RecvTimeoutError::Disconnected) => Verdict::Broken("its thread died".to_owned()),
    }
}

/// The whole of a test: claim `name` in that world.
pub fn assert_kept(name: &str, make_world: impl FnOnce(&Claim) -> Box<dyn World>) {
    let claim = Claim::named(name);
    match judge(claim, make_world(claim)) {
        Verdict::Kept => {}
        Verdict::LeftOut(missing) => println!("left out: this world cannot {missing:?}"),
        Verdict::Broken(how) => panic!("{name}: {how}"),
    }
}
