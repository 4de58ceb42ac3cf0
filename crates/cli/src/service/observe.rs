//! `conclave observe`: follow who leads.

use std::io::Write;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use conclave_client::{Client, Office, utc};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::json;
use tokio::time::timeout;

use super::service_failure;
use crate::exit;
use crate::service::words::ObserveArgs;
use crate::service::{engine, period};

/// How often to look whether anybody still reads what we say.
const LOOK: Duration = Duration::from_millis(500);

/// Prints what happens until it is stopped.
pub fn execute(args: &ObserveArgs) -> std::io::Result<ExitCode> {
    let engine = match engine::open(&args.engine) {
        Ok(engine) => engine,
        Err(refused) => return Ok(refused.exit()),
    };
    let mut observer = match Client::shared(engine).observe(args.name.as_str()) {
        Ok(observer) => observer,
        Err(error) => return Ok(service_failure(&error)),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    loop {
        // One question, however often we look up meanwhile: begun anew each time, one that takes
        // longer than that would never be answered.
        let mut next = Box::pin(observer.next());
        let office = loop {
            match runtime.block_on(async { timeout(LOOK, &mut next).await }) {
                Ok(Ok(office)) => break office,
                Ok(Err(error)) => return Ok(service_failure(&error)),
                Err(_) if nobody_reads() => return Ok(ExitCode::SUCCESS),
                Err(_) => {}
            }
        };
        drop(next);
        let line = if args.json { as_json(&office) } else { as_text(&office) };
        let mut out = anstream::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()?;
        if args.now {
            let leads = matches!(office, Office::Elected { .. });
            return Ok(ExitCode::from(if leads { 0 } else { exit::NOT_ACQUIRED }));
        }
    }
}

/// Whether the other end of the pipe is closed: `conclave observe primary | head -1`.
fn nobody_reads() -> bool {
    let output = std::io::stdout();
    let mut watched = [PollFd::new(output.as_fd(), PollFlags::empty())];
    let seen = poll(&mut watched, PollTimeout::ZERO).is_ok_and(|ready| ready > 0);
    seen && watched[0].revents().is_some_and(|it| it.intersects(PollFlags::POLLERR))
}

fn as_text(office: &Office) -> String {
    let now = utc(period::now());
    match office {
        Office::Vacant => format!("{now} vacant"),
        Office::Resigned { fence } => format!("{now} resigned, fence {fence}"),
        Office::Elected { fence, value, owner } => {
            let value = String::from_utf8_lossy(value);
            let value: String = value.chars().flat_map(printable).collect();
            let value = if value.is_empty() { value } else { format!(", value {value}") };
            format!("{now} elected {owner}, fence {fence}{value}")
        }
        other => format!("{now} {other:?}"),
    }
}

/// Control characters would play tricks on a terminal.
fn printable(letter: char) -> Vec<char> {
    if letter.is_control() { letter.escape_default().collect() } else { vec![letter] }
}

fn as_json(office: &Office) -> String {
    let at = utc(period::now());
    let object = match office {
        Office::Vacant => json!({ "event": "vacant", "at": at }),
        Office::Resigned { fence } => {
            json!({ "event": "resigned", "at": at, "fence": fence.to_string() })
        }
        Office::Elected { fence, value, owner } => json!({
            "event": "elected",
            "at": at,
            "fence": fence.to_string(),
            "value": String::from_utf8_lossy(value),
            "label": owner.label,
            "host": owner.host,
            "pid": owner.pid,
            "since": utc(owner.since),
        }),
        other => json!({ "event": format!("{other:?}"), "at": at }),
    };
    object.to_string()
}
