//! Why a command has no answer, and the exit code of each reason.

use std::io::{self, ErrorKind};

use crate::exit::{self, Unwritten};

/// Why a command has no answer.
#[derive(Debug)]
pub enum Failure {
    /// What the lab was asked makes no sense.
    BadInput(anyhow::Error),
    /// A file or the output of the lab could not be written to its end.
    Unwritten(anyhow::Error),
    /// Nobody read what the lab wrote before there was a verdict: it must not look as if all were
    /// well.
    Unread,
    /// The output of the service could not be written.
    Unheard(io::Error),
    /// Nobody listens to the service any more, which is how following something ends.
    NobodyListens,
}

impl Failure {
    /// What it means that the lab failed.
    pub fn of_lab(error: anyhow::Error) -> Self {
        let cause = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
        if cause.is_some_and(|cause| cause.kind() == ErrorKind::BrokenPipe) {
            Self::Unread
        } else if error.is::<Unwritten>() {
            Self::Unwritten(error)
        } else {
            Self::BadInput(error)
        }
    }

    /// What it means that the service could not say something.
    pub fn of_service(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::NobodyListens,
            _ => Self::Unheard(error),
        }
    }

    /// What the program ends with.
    pub const fn code(&self) -> u8 {
        match self {
            Self::BadInput(_) => exit::BAD_INPUT,
            Self::Unwritten(_) => exit::UNWRITTEN,
            Self::Unread => exit::BROKEN_PIPE,
            Self::Unheard(_) => exit::UNAVAILABLE,
            Self::NobodyListens => 0,
        }
    }

    /// What there is to say of it.
    pub fn line(&self) -> Option<String> {
        match self {
            Self::BadInput(error) | Self::Unwritten(error) => Some(format!("{error:#}")),
            Self::Unheard(error) => Some(format!("cannot write the output: {error}")),
            Self::Unread | Self::NobodyListens => None,
        }
    }
}
