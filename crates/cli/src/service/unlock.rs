//! `conclave unlock --force`: take a lock away from its holder.

use std::process::ExitCode;

use conclave_client::{Evicted, Fence, Resource, Status, Target, Waiter, blocking};

use super::hold::resource;
use super::{service_failure, service_refusal};
use crate::exit;
use crate::service::engine;
use crate::service::words::UnlockArgs;

/// Takes it away, and says from whom.
pub fn execute(args: &UnlockArgs) -> ExitCode {
    if !args.force {
        return service_refusal(
            "a lock is free when its holder lets go or dies; \
             to take it away from one that lives, say --force",
        );
    }
    let engine = match engine::open(&args.engine) {
        Ok(engine) => engine,
        Err(refused) => return refused.exit(),
    };
    let resource = resource(&args.name, args.election);
    let target = target(args);
    let client = blocking::Client::shared(engine);
    let evicted = match client.revoke(&resource, &target, &by()) {
        Ok(evicted) => evicted,
        Err(error) => return service_failure(&error),
    };
    if !evicted.is_empty() {
        for line in what_was_taken(&resource, &evicted) {
            anstream::eprintln!("conclave: {line}");
        }
        return ExitCode::SUCCESS;
    }
    let stopped = match client.inspect(&resource) {
        Ok(status) if target == Target::Holders => stopped_head(&status).cloned(),
        _ => None,
    };
    let line = match stopped {
        Some(waiter) => {
            let command = eviction(args, &waiter);
            format!(
                "nobody holds {resource}, but {} is first in the queue and stopped; \
                 its place is taken away by: {command}",
                waiter.owner
            )
        }
        None => nobody(&resource, &target),
    };
    anstream::eprintln!("conclave: {line}");
    ExitCode::from(exit::NOT_ACQUIRED)
}

fn target(args: &UnlockArgs) -> Target {
    match (args.fence, &args.pid) {
        (Some(fence), _) => Target::Fence(Fence(fence)),
        (None, Some(process)) => process.clone(),
        (None, None) => Target::Holders,
    }
}

/// Who does this, for the audit log.
fn by() -> String {
    let uid = nix::unistd::getuid();
    let user = nix::unistd::User::from_uid(uid).ok().flatten();
    let user = user.map_or_else(|| format!("uid {uid}"), |user| user.name);
    format!("{user} (pid {})", std::process::id())
}

fn what_was_taken(resource: &Resource, evicted: &Evicted) -> Vec<String> {
    let holders = evicted
        .holders
        .iter()
        .map(|it| format!("{resource} taken away from {}, fence {}", it.owner, it.fence));
    let waiters = evicted
        .waiters
        .iter()
        .map(|it| format!("{}: its place in the queue of {resource} taken away", it.owner));
    holders.chain(waiters).collect()
}

fn nobody(resource: &Resource, target: &Target) -> String {
    let who = match target {
        Target::Fence(fence) => format!("nobody holds {resource} with fence {fence}"),
        Target::Process { pid, host } => {
            let host = host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
            format!("pid {pid}{host} neither holds {resource} nor waits for it")
        }
        _ => format!("nobody holds {resource}"),
    };
    let is_lock = resource.kind == conclave_client::Kind::Lock;
    format!(
        "{who}{}",
        if is_lock { " (for the election of that name, say --election)" } else { "" }
    )
}

/// Whoever is first in the queue of what nobody holds, if it is stopped: it takes nothing, and
/// others may wait for it.
fn stopped_head(status: &Status) -> Option<&Waiter> {
    let first = status.waiters.first().filter(|_| status.holder().is_none())?;
    first.processes.iter().any(|it| it.is_stopped).then_some(first)
}

/// The command that takes a waiter's place away.
fn eviction(args: &UnlockArgs, waiter: &Waiter) -> String {
    let mut words = vec!["conclave unlock --force".to_owned()];
    if let Some(at) = &args.engine.at {
        words.push(format!("--at {}", quoted(at)));
    }
    if let Some(directory) = &args.engine.dir {
        words.push(format!("--dir {}", quoted(&directory.to_string_lossy())));
    }
    if args.election {
        words.push("--election".to_owned());
    }
    words.push(format!("--pid {}", waiter.owner.pid));
    if args.name.as_str().starts_with('-') {
        words.push("--".to_owned());
    }
    words.push(quoted(args.name.as_str()));
    words.join(" ")
}

/// As a shell takes it for one word.
fn quoted(text: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "-_./:,@%+=".contains(it);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use conclave_client::{Mode, Name, Owner, Process};

    use super::*;
    use crate::cli::{self, Cli};
    use crate::service::Command;

    fn waiter(pid: u32, is_stopped: bool) -> Waiter {
        let owner = Owner {
            label: "backup".into(),
            host: "here".into(),
            pid,
            since: crate::service::period::now(),
        };
        let process = Process { pid, command: "conclave".into(), is_stopped };
        Waiter { owner, mode: Mode::Exclusive, processes: vec![process] }
    }

    fn status(waiters: Vec<Waiter>) -> Status {
        let mut status = Status::new(Resource::lock(Name::new("x").unwrap()));
        status.waiters = waiters;
        status
    }

    fn args(words: &[&str]) -> UnlockArgs {
        let words = ["conclave", "unlock", "--force"].iter().chain(words);
        match Cli::try_parse_from(words).unwrap().command {
            cli::Command::Service(Command::Unlock(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_a_stopped_waiter_at_the_head_is_in_the_way() {
        assert_eq!(stopped_head(&status(vec![])), None);
        assert_eq!(stopped_head(&status(vec![waiter(7, false), waiter(8, true)])), None);
        let blocked = status(vec![waiter(7, true), waiter(8, false)]);
        assert_eq!(stopped_head(&blocked).map(|it| it.owner.pid), Some(7));
    }

    #[test]
    fn the_command_that_evicts_a_waiter_means_that_waiter() {
        for (words, expected) in [
            (&["x"][..], "conclave unlock --force --pid 7 x"),
            (&["--election", "a b"], "conclave unlock --force --election --pid 7 'a b'"),
            (
                &["--dir", "d", "--", "-it's"],
                r"conclave unlock --force --dir d --pid 7 -- '-it'\''s'",
            ),
            (&["--at", "local:/d", "x"], "conclave unlock --force --at local:/d --pid 7 x"),
        ] {
            assert_eq!(eviction(&args(words), &waiter(7, true)), expected);
        }
    }

    #[test]
    fn the_target_is_what_was_said() {
        let process = |pid, host: Option<&str>| Target::Process { pid, host: host.map(Into::into) };
        assert_eq!(target(&args(&["x"])), Target::Holders);
        assert_eq!(target(&args(&["--fence", "3", "x"])), Target::Fence(Fence(3)));
        assert_eq!(target(&args(&["--pid", "7", "x"])), process(7, None));
        assert_eq!(target(&args(&["--pid", "7@there", "x"])), process(7, Some("there")));
    }
}
