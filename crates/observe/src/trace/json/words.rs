//! The words of the format.

use alloc::vec::Vec;

use conclave_core::{Phase, Promises};

use super::error::{LineError, Words, excerpt};
use crate::{LossCause, Side, Vocabulary, What};

/// The fields that an event of any run has besides those of every record.
fn fields_of_any(event: &str) -> &'static [&'static str] {
    match event {
        "sent" => &["message", "to", "kind", "copy"],
        "received" => &["message", "from", "kind"],
        "lost" => &["message", "to", "cause"],
        "duplicated" => &["message", "to"],
        "cut" => &["partition", "side"],
        "healed" => &["partition"],
        "waits-for" => &["whom"],
        _ => &[],
    }
}

/// The fields that an event has besides those of every record.
pub(super) fn fields_of(event: &str, vocabulary: &Vocabulary) -> Vec<&'static str> {
    match vocabulary.word(event) {
        Some(word) => word.whom.into_iter().chain(word.numbers.iter().copied()).collect(),
        None => fields_of_any(event).to_vec(),
    }
}

const OF_ANY_RUN: [&str; 13] = [
    "sent",
    "received",
    "lost",
    "duplicated",
    "timer-fired",
    "crashed",
    "returned",
    "replaced",
    "paused",
    "resumed",
    "cut",
    "healed",
    "waits-for",
];

/// All events that a trace of that family can have.
pub(super) fn events(vocabulary: &Vocabulary) -> Vec<&'static str> {
    vocabulary.words.iter().map(|word| word.name).chain(OF_ANY_RUN).collect()
}

pub(super) fn event_name(what: What) -> &'static str {
    match what {
        What::Asked(said) | What::Told(said) => said.word.name,
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
        What::WaitsFor { .. } => "waits-for",
    }
}

/// The family of that name, of those that are known.
pub(super) fn family_of(
    name: &str,
    families: &[&'static Vocabulary],
) -> Result<&'static Vocabulary, LineError> {
    one_of("family", name, families, |family| family.family)
}

/// What is promised, in the words of the family.
pub(super) fn keeps_of(vocabulary: &Vocabulary, promises: Promises) -> Vec<&'static str> {
    let word = |number: u32| vocabulary.promises.get(number as usize).copied();
    promises.numbers().filter_map(word).collect()
}

pub(super) fn promises_of(vocabulary: &Vocabulary, keeps: &[&str]) -> Result<Promises, LineError> {
    keeps.iter().try_fold(Promises::NONE, |promises, word| {
        if vocabulary.promises.is_empty() {
            let (word, family) = (excerpt(word), vocabulary.family);
            return Err(LineError::NothingToKeep { word, family });
        }
        one_of("keeps", word, vocabulary.promises, |word| word)?;
        let number = vocabulary.promises.iter().position(|known| known == word);
        let number = number.and_then(|number| u32::try_from(number).ok());
        Ok(number.map_or(promises, |number| promises.and(Promises::number(number))))
    })
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

pub(super) fn phase_of(word: &str) -> Result<Phase, LineError> {
    one_of("phase", word, &Phase::ALL, phase_name)
}

pub(super) fn cause_name(cause: LossCause) -> &'static str {
    match cause {
        LossCause::Network => "network",
        LossCause::Partition => "partition",
        LossCause::ReceiverDown => "receiver-down",
    }
}

pub(super) fn cause_of(word: &str) -> Result<LossCause, LineError> {
    let all = [LossCause::Network, LossCause::Partition, LossCause::ReceiverDown];
    one_of("cause", word, &all, cause_name)
}

pub(super) fn side_name(side: Side) -> &'static str {
    match side {
        Side::Left => "left",
        Side::Right => "right",
    }
}

pub(super) fn side_of(word: &str) -> Result<Side, LineError> {
    one_of("side", word, &[Side::Left, Side::Right], side_name)
}

fn one_of<T: Copy>(
    field: &'static str,
    word: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, LineError> {
    all.iter().copied().find(|&value| name(value) == word).ok_or_else(|| {
        let known = Words(all.iter().copied().map(name).collect());
        LineError::UnknownWord { field, word: excerpt(word), known }
    })
}
