//! The words of the format.

use alloc::vec::Vec;

use conclave_core::{Phase, Promises};

use super::error::{Flaw, Words, excerpt};
use crate::{LossCause, Side, What};

/// The fields that an event has besides those of every record.
pub(super) fn fields_of(event: &str) -> &'static [&'static str] {
    match event {
        "entered" => &["fence"],
        "sent" => &["message", "to", "kind", "copy"],
        "received" => &["message", "from", "kind"],
        "lost" => &["message", "to", "cause"],
        "duplicated" => &["message", "to"],
        "cut" => &["partition", "side"],
        "healed" => &["partition"],
        "waits-for" | "suspected" | "trusted" => &["whom"],
        "elected" => &["leader", "term"],
        "read" => &["version", "value"],
        "wrote" => &["version"],
        "writing" => &["value"],
        _ => &[],
    }
}

pub(super) const EVENTS: [&str; 28] = [
    "requested",
    "entered",
    "leaving",
    "left",
    "sent",
    "received",
    "lost",
    "duplicated",
    "timer-fired",
    "crashed",
    "returned",
    "paused",
    "resumed",
    "cut",
    "healed",
    "replaced",
    "called",
    "electing",
    "elected",
    "vacant",
    "reading",
    "read",
    "writing",
    "wrote",
    "refused",
    "suspected",
    "trusted",
    "waits-for",
];

pub(super) fn event_name(what: What) -> &'static str {
    match what {
        What::Requested => "requested",
        What::Entered { .. } => "entered",
        What::Leaving => "leaving",
        What::Left => "left",
        What::Sent { .. } => "sent",
        What::Received { .. } => "received",
        What::Lost { .. } => "lost",
        What::Duplicated { .. } => "duplicated",
        What::TimerFired => "timer-fired",
        What::Crashed => "crashed",
        What::Returned => "returned",
        What::Paused => "paused",
        What::Resumed => "resumed",
        What::Cut { .. } => "cut",
        What::Healed { .. } => "healed",
        What::Replaced => "replaced",
        What::Called => "called",
        What::Electing => "electing",
        What::Elected { .. } => "elected",
        What::Vacant => "vacant",
        What::Reading => "reading",
        What::Read { .. } => "read",
        What::Writing { .. } => "writing",
        What::Wrote { .. } => "wrote",
        What::Refused => "refused",
        What::Suspected { .. } => "suspected",
        What::Trusted { .. } => "trusted",
        What::WaitsFor { .. } => "waits-for",
    }
}

/// What the algorithm is for; nothing is said of mutual exclusion.
pub(super) fn kind_of(promises: Promises) -> Option<&'static str> {
    match promises {
        Promises::Mutex { .. } => None,
        Promises::Election { .. } => Some("election"),
        Promises::Detector => Some("detector"),
    }
}

const KEEPS: [&str; 3] = ["largest-id", "one-per-term", "one-at-a-time"];

/// What an election promises.
pub(super) fn keeps_of(promises: Promises) -> Vec<&'static str> {
    let Promises::Election { largest, terms, one_at_a_time } = promises else { return Vec::new() };
    let kept = KEEPS.into_iter().zip([largest, terms, one_at_a_time]);
    kept.filter(|(_, is_kept)| *is_kept).map(|(word, _)| word).collect()
}

pub(super) fn promises_of(
    kind: Option<&str>,
    keeps: &[&str],
    ordering: bool,
) -> Result<Promises, Flaw> {
    for word in keeps {
        one_of("keeps", word, &KEEPS, |word| word)?;
    }
    match kind {
        None => Ok(Promises::Mutex { liveness: true, ordering }),
        Some(word) => match one_of("kind", word, &["election", "detector"], |word| word)? {
            "detector" => Ok(Promises::Detector),
            _ => Ok(Promises::Election {
                largest: keeps.contains(&KEEPS[0]),
                terms: keeps.contains(&KEEPS[1]),
                one_at_a_time: keeps.contains(&KEEPS[2]),
            }),
        },
    }
}

pub(super) fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Enter => "enter",
        Phase::Leave => "leave",
        Phase::Upkeep => "upkeep",
        Phase::Elect => "elect",
        Phase::Store => "store",
        Phase::Wake => "wake",
        Phase::Repair => "repair",
    }
}

pub(super) fn phase_of(word: &str) -> Result<Phase, Flaw> {
    one_of("phase", word, &Phase::ALL, phase_name)
}

pub(super) fn cause_name(cause: LossCause) -> &'static str {
    match cause {
        LossCause::Network => "network",
        LossCause::Partition => "partition",
        LossCause::ReceiverDown => "receiver-down",
    }
}

pub(super) fn cause_of(word: &str) -> Result<LossCause, Flaw> {
    let all = [LossCause::Network, LossCause::Partition, LossCause::ReceiverDown];
    one_of("cause", word, &all, cause_name)
}

pub(super) fn side_name(side: Side) -> &'static str {
    match side {
        Side::Left => "left",
        Side::Right => "right",
    }
}

pub(super) fn side_of(word: &str) -> Result<Side, Flaw> {
    one_of("side", word, &[Side::Left, Side::Right], side_name)
}

fn one_of<T: Copy>(
    field: &'static str,
    word: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, Flaw> {
    all.iter().copied().find(|&value| name(value) == word).ok_or_else(|| {
        let known = Words(all.iter().copied().map(name).collect());
        Flaw::UnknownWord { field, word: excerpt(word), known }
    })
}
