//! What can go wrong, and what is known of the outcome.

use std::io;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::{AtError, LABEL_MAX, Loss, NameError, Owner, Process, Resource, VALUE_MAX};

/// What became of a call. It is never guessed: where the engine cannot know, it says so.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// It took effect.
    Done,
    /// It took no effect and never will.
    NotDone,
    /// It may have taken effect, or may yet.
    Unknown,
}

/// Why a call failed. [`outcome`](Self::outcome) tells what is known of its effect.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The name is empty or too long.
    #[error(transparent)]
    Name(NameError),
    /// The URL does not say where locks live.
    #[error(transparent)]
    At(#[from] AtError),
    /// The label is too long.
    #[error("a label has at most {LABEL_MAX} bytes, not {0}")]
    LabelTooLong(usize),
    /// The value is too long.
    #[error("a value has at most {VALUE_MAX} bytes, not {0}")]
    ValueTooLong(usize),
    /// A semaphore without slots.
    #[error("a semaphore has at least one slot")]
    NoSlots,
    /// A campaign for what is no election, or could have several winners.
    #[error("{0} is no election, or could have more than one winner")]
    NoElection(Resource),
    /// One lock was asked for twice in one call.
    #[error("{0} is asked for twice in one call: it would wait for itself")]
    Twice(Resource),

    /// Somebody else is there, and the caller did not want to wait.
    #[error("{resource} is taken{}", by(.holders))]
    Busy {
        /// What was asked for.
        resource: Resource,
        /// Who held it; if nobody did, who was first to wait.
        holders: Vec<Owner>,
    },
    /// The wait was longer than the caller wanted. The request has left the queue.
    #[error("{resource} was not free within {waited:?}")]
    TimedOut {
        /// What was asked for.
        resource: Resource,
        /// How long it was wanted.
        waited: Duration,
    },
    /// Others use the name in a way that does not go together with this request.
    #[error("{resource} is in use {theirs}, and cannot be used {ours} at the same time")]
    Mismatch {
        /// What was asked for.
        resource: Resource,
        /// How it was asked for.
        ours: Usage,
        /// How it is in use.
        theirs: Usage,
    },
    /// Somebody took the caller's place in the queue away by force.
    #[error("{resource}: the place in the queue was taken away by force")]
    Evicted {
        /// What was waited for.
        resource: Resource,
    },
    /// The lock was lost before the call.
    #[error("{resource} was lost: {loss}")]
    Lost {
        /// The lock or office that was held.
        resource: Resource,
        /// Why it no longer is.
        loss: Loss,
    },

    /// The engine did not answer in time. Whether the call took effect is not known.
    #[error("{resource}: no answer from the engine; the outcome is unknown")]
    Unknown {
        /// What was asked for.
        resource: Resource,
    },
    /// The servers cannot be reached, or do not do what they are asked.
    #[error("{at}: {what}")]
    Server {
        /// Which of them, by address.
        at: String,
        /// What is wrong.
        what: String,
    },
    /// The engine cannot be used.
    #[error("{doing}: {cause}")]
    Io {
        /// What was tried.
        doing: String,
        /// What the system said.
        cause: io::Error,
    },
    /// Somebody was stopped in the middle of a change that takes microseconds. Nothing was done.
    #[error("{resource}: its state is kept busy{}", by_whom(.processes))]
    Stuck {
        /// What was asked for.
        resource: Resource,
        /// Who keeps it busy, as far as can be seen.
        processes: Vec<Process>,
    },
    /// A file is not what it should be. It is left as it is.
    #[error("{}: {what}; it is left as it is", .path.display())]
    Damaged {
        /// The file that is damaged.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A directory that other machines may see too.
    #[error(
        "{} is on a network file system ({file_system}), where this engine's locks may not \
         hold; choose a directory of this machine, or allow it explicitly",
        .path.display()
    )]
    NetworkFileSystem {
        /// The directory that was to be used.
        path: PathBuf,
        /// The file system it is on, e.g. `nfs`.
        file_system: &'static str,
    },
    /// The engine does not have this feature.
    #[error("the engine {engine} has no {what}")]
    Unsupported {
        /// The name of the engine.
        engine: &'static str,
        /// What it lacks.
        what: &'static str,
    },
}

impl Error {
    /// What is known of the call's effect.
    pub fn outcome(&self) -> Outcome {
        match self {
            // What was asked of a server may be done though no answer came.
            Self::Unknown { .. } | Self::Server { .. } => Outcome::Unknown,
            _ => Outcome::NotDone,
        }
    }

    /// Whether somebody else has the lock: nothing is broken, it just was not this caller's turn.
    pub fn is_not_acquired(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::TimedOut { .. })
    }

    /// An error of the system, with what was tried.
    pub fn io(doing: impl Into<String>, cause: impl Into<io::Error>) -> Self {
        Self::Io { doing: doing.into(), cause: cause.into() }
    }
}

/// The two ways of using a name, which do not mix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Usage {
    /// As a lock, which some may share and one may have alone.
    Lock,
    /// As a semaphore with so many slots.
    Semaphore(NonZeroU32),
}

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lock => write!(f, "as a lock"),
            Self::Semaphore(of) if of.get() == 1 => write!(f, "as a semaphore of 1 slot"),
            Self::Semaphore(of) => write!(f, "as a semaphore of {of} slots"),
        }
    }
}

fn by_whom(processes: &[Process]) -> String {
    let names = processes.iter().map(|it| {
        let state = if it.is_stopped { ", which is stopped: continue it or end it" } else { "" };
        format!(" by pid {} ({}){state}", it.pid, it.command)
    });
    names.collect::<Vec<_>>().join(",")
}

fn by(holders: &[Owner]) -> String {
    match holders {
        [] => String::new(),
        [one] => format!(" by {one}"),
        [one, others @ ..] => format!(" by {one} and {} more", others.len()),
    }
}
