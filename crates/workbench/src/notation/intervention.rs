//! What is done to a run from outside, as it is written: `12:crash:3`, `12:lose:3.7`.

use alloc::borrow::ToOwned;
use alloc::string::String;

use conclave_core::ProcessId;
use conclave_sim::{Act, Intervention, Letter};

use super::Notation;

/// A text that is no intervention.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{0}` is not EVENT:ACT:WHOM with crash, return, pause or resume, e.g. 12:crash:3, or with lose or \
     deliver, e.g. 12:lose:3.7 for the seventh message of 3"
)]
pub struct ParseInterventionError(pub String);

impl Notation for Intervention {
    type Error = ParseInterventionError;

    fn read(text: &str) -> Result<Self, ParseInterventionError> {
        let parse = || {
            let (before, rest) = text.split_once(':')?;
            let (word, whom) = rest.split_once(':')?;
            let id = || whom.parse().ok().map(ProcessId);
            let message = || {
                let (from, count) = whom.split_once('.')?;
                let from = from.parse().ok().map(ProcessId)?;
                Some(Letter { from, count: count.parse().ok()? })
            };
            let act = match word {
                "crash" => Act::Crash(id()?),
                "return" => Act::Return(id()?),
                "pause" => Act::Pause(id()?),
                "resume" => Act::Resume(id()?),
                "lose" => Act::Lose(message()?),
                "deliver" => Act::Deliver(message()?),
                _ => return None,
            };
            Some(Self { before: before.parse().ok()?, act })
        };
        parse().ok_or_else(|| ParseInterventionError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn what_is_shown_can_be_read_again() {
        for text in
            ["12:crash:3", "0:return:3", "7:pause:1", "8:resume:1", "9:lose:4.1", "9:deliver:4.2"]
        {
            assert_eq!(Intervention::read(text).unwrap().to_string(), text);
        }
        for text in ["", "12", "12:crash", "12:explode:3", "crash:3", "1:crash:x", "1:lose:4"] {
            let error = Intervention::read(text).unwrap_err().to_string();
            assert!(error.contains("e.g. 12:crash:3"), "{error}");
        }
    }
}
