//! Steps of bare processes, as they are written: `1>2@3ms` is a message, `1@3ms` a step alone.

use alloc::borrow::ToOwned;
use alloc::string::String;

use conclave_core::ProcessId;
use conclave_observe::Time;
use conclave_sim::ScriptedStep;

use super::{Notation, parse_time};

/// A text that is no step.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{}` is no step; it is FROM>TO@TIME for a message, e.g. 1>2@3ms, or ID@TIME", .0.escape_debug())]
pub struct ParseStepError(pub String);

impl Notation for ScriptedStep {
    type Error = ParseStepError;

    fn read(text: &str) -> Result<Self, ParseStepError> {
        let id = |text: &str| text.trim().parse().ok().map(ProcessId);
        let parse = || {
            let (who, at) = match text.split_once('@') {
                Some((who, at)) => (who, parse_time(at).ok()?),
                None => (text, Time::ZERO),
            };
            match who.split_once('>') {
                Some((from, to)) => Some(Self { process: id(from)?, to: Some(id(to)?), at }),
                None => Some(Self { process: id(who)?, to: None, at }),
            }
        };
        parse().ok_or_else(|| ParseStepError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn what_is_shown_can_be_read_again() {
        for text in ["1>2@3ms", "1@0.5ms", "1>2", "7"] {
            assert_eq!(ScriptedStep::read(text).unwrap().to_string(), text);
        }
        for text in ["", ">", "1>", ">2", "x", "1@", "1@x", "1>2>3", "1>2@@3ms", "-1"] {
            let error = ScriptedStep::read(text).unwrap_err().to_string();
            assert!(error.contains("e.g. 1>2@3ms"), "{error}");
        }
    }
}
