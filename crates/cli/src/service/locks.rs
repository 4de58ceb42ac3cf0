//! `conclave locks`: who holds what since when, with which fence; who waits.

use std::io::{IsTerminal, Write, stdout};
use std::process::ExitCode;

use comfy_table::{ContentArrangement, Table, presets};
use conclave_client::{
    Error, Fence, Holder, Kind, Mode, Name, Owner, Process, Resource, Status, blocking, utc,
};
use serde_json::{Value, json};

use super::service_failure;
use crate::exit;
use crate::service::engine;
use crate::service::words::LocksArgs;

/// Carries out `conclave locks`: lists who holds and who waits.
pub fn execute(args: &LocksArgs) -> std::io::Result<ExitCode> {
    let engine = match engine::open(&args.engine) {
        Ok(engine) => engine,
        Err(refused) => return Ok(refused.exit()),
    };
    let client = blocking::Client::shared(engine);
    let listed = match &args.name {
        Some(name) => look_at(&client, name),
        None => match client.list() {
            Ok(listed) => listed,
            Err(error) => return Ok(service_failure(&error)),
        },
    };
    let (mut known, mut unreadable) = (Vec::new(), Vec::new());
    for status in listed {
        match status {
            Ok(status) => known.push(status),
            Err(error) => unreadable.push(error),
        }
    }
    known.retain(|it| args.all || args.name.is_some() || !it.is_idle());
    known.sort_by(|a, b| a.resource.name.cmp(&b.resource.name).then(a.resource.cmp(&b.resource)));
    let engine = client.engine();
    let mut out = anstream::stdout().lock();
    if args.json {
        let all: Vec<Value> = known.iter().map(as_json).collect();
        let (name, at) = (engine.name(), engine.at());
        writeln!(out, "{}", json!({ "engine": name, "at": at, "locks": all }))?;
    } else if known.is_empty() {
        if unreadable.is_empty() {
            let what = args.name.as_ref().map_or_else(
                || "no lock is held".to_owned(),
                |name| format!("nobody ever held {}", clean(name.as_str())),
            );
            writeln!(out, "{what}: {}", engine::whereabouts(&**engine))?;
        }
    } else {
        // Beside the list, not in it: whoever misses a lock there may have looked elsewhere.
        if !args.engine.verbose {
            anstream::eprintln!("conclave: {}", engine::whereabouts(&**engine));
        }
        writeln!(out, "{}", as_table(&known))?;
    }
    for error in &unreadable {
        anstream::eprintln!("conclave: {error}");
    }
    Ok(ExitCode::from(if unreadable.is_empty() { 0 } else { exit::UNAVAILABLE }))
}

/// The lock and the election of that name, if anybody ever used them. What is wrong with others
/// does not matter here.
fn look_at(client: &blocking::Client, name: &Name) -> Vec<Result<Status, Error>> {
    let both = [Resource::lock(name.clone()), Resource::election(name.clone())];
    let is_used = |it: &Result<Status, Error>| {
        it.as_ref().map_or(true, |it| !it.is_idle() || it.last_fence > Fence(0))
    };
    both.iter().map(|it| client.inspect(it)).filter(is_used).collect()
}

fn as_table(known: &[Status]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    match terminal_size::terminal_size() {
        Some((terminal_size::Width(width), _)) if stdout().is_terminal() => {
            table.set_width(width);
        }
        // For pipes: one line for each, however long.
        _ => {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    table.set_header(["NAME", "STATE", "FENCE", "SINCE", "PID", "HOST", "WHO"]);
    for status in known {
        let name = match status.resource.kind {
            Kind::Election => format!("{} (election)", status.resource.name),
            _ => status.resource.name.to_string(),
        };
        for holder in &status.holders {
            let fence = holder.fence.to_string();
            let owner = &holder.owner;
            table.add_row(row(&name, &state(holder), &fence, owner, &who(holder)));
        }
        for (place, waiter) in (1..).zip(&status.waiters) {
            let mut state = format!("waits{}, {place}.", wanted(waiter.mode));
            if waiter.processes.iter().any(|it| it.is_stopped) {
                state += " stopped";
            }
            table.add_row(row(&name, &state, "", &waiter.owner, &clean(&waiter.owner.label)));
        }
        if status.is_idle() {
            let fence = status.last_fence.to_string();
            let cells = [name, "free".into(), fence];
            table.add_row(cells.into_iter().chain((0..4).map(|_| String::new())));
        }
    }
    table
}

fn row(name: &str, state: &str, fence: &str, owner: &Owner, who: &str) -> [String; 7] {
    // Who is no process of ours said nothing of itself.
    let (since, pid) = match owner.host.is_empty() {
        true => (String::new(), String::new()),
        false => (utc(owner.since), owner.pid.to_string()),
    };
    [name.into(), state.into(), fence.into(), since, pid, clean(&owner.host), who.into()]
}

fn state(holder: &Holder) -> String {
    let stopped = holder.processes.iter().any(|it| it.pid == holder.owner.pid && it.is_stopped);
    let mut state = format!("held{}", wanted(holder.mode));
    if holder.revoked {
        state += ", revoked";
    }
    if stopped {
        state += ", stopped";
    }
    state
}

fn wanted(mode: Mode) -> String {
    match mode {
        Mode::Shared => " shared".into(),
        Mode::Slot { of } => format!(" 1 of {of}"),
        _ => String::new(),
    }
}

/// The label; and, if the one that took the lock is gone, what keeps it held.
fn who(holder: &Holder) -> String {
    let label = clean(&holder.owner.label);
    let processes = &holder.processes;
    if processes.is_empty() || processes.iter().any(|it| it.pid == holder.owner.pid) {
        return label;
    }
    let others = processes.iter().map(|it| format!("pid {} {}", it.pid, clean(&it.command)));
    format!("{label} (gone; held by {})", others.collect::<Vec<_>>().join(", "))
}

fn clean(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

fn as_json(status: &Status) -> Value {
    let kind = match status.resource.kind {
        Kind::Election => "election",
        _ => "lock",
    };
    let owner = |owner: &Owner, mode: Mode| {
        json!({
            "label": owner.label,
            "host": owner.host,
            "pid": owner.pid,
            "since": utc(owner.since),
            "mode": match mode {
                Mode::Shared => "shared".into(),
                Mode::Slot { of } => format!("slot of {of}"),
                _ => String::from("exclusive"),
            },
        })
    };
    let process =
        |it: &Process| json!({ "pid": it.pid, "command": it.command, "stopped": it.is_stopped });
    let holders = status.holders.iter().map(|it| {
        let mut object = owner(&it.owner, it.mode);
        // As text: the numbers of JSON lose digits above 2^53.
        object["fence"] = it.fence.to_string().into();
        object["revoked"] = it.revoked.into();
        object["processes"] = it.processes.iter().map(process).collect();
        object
    });
    let waiters = status.waiters.iter().map(|it| {
        let mut object = owner(&it.owner, it.mode);
        object["processes"] = it.processes.iter().map(process).collect();
        object
    });
    json!({
        "name": status.resource.name.as_str(),
        "kind": kind,
        "last_fence": status.last_fence.to_string(),
        "holders": holders.collect::<Vec<_>>(),
        "waiters": waiters.collect::<Vec<_>>(),
    })
}
