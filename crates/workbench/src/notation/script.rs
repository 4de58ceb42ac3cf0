//! What goes wrong with one message or at one event, as it is written: `request 2>3 #1`, `request
//! 2>3 #1 by 5ms`, `2 on entering`. Where chance or a time can be written instead, both are read
//! here.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use core::fmt;

use conclave_core::ProcessId;
use conclave_sim::{Crash, CrashOn, Deed, MessageFault, MessageName, Probability};

use super::{Notation, ParseFaultError, parse_time};

/// When a process dies: `3@40ms` or `2 on entering`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Death {
    /// At a time.
    At(Crash),
    /// At an event.
    On(CrashOn),
}

/// What is delivered twice: `0.01` of all messages, or `request 2>3 #1`.
#[derive(Clone, PartialEq, Debug)]
pub enum Doubling {
    /// Any message, with that probability.
    Chance(Probability),
    /// One message, by its name.
    This(MessageFault),
}

impl Notation for MessageName {
    type Error = ParseFaultError;

    fn read(text: &str) -> Result<Self, ParseFaultError> {
        message(text).ok_or_else(|| ParseFaultError::Message(text.to_owned()))
    }
}

impl Notation for Death {
    type Error = ParseFaultError;

    fn read(text: &str) -> Result<Self, ParseFaultError> {
        if let Ok(crash) = Crash::read(text) {
            return Ok(Self::At(crash));
        }
        let parse = || {
            let words: Vec<&str> = text.split_whitespace().collect();
            let (process, moment, count) = match *words {
                [process, "on", moment] => (process, moment, 1),
                [process, "on", moment, count] => (process, moment, ordinal(count)?),
                _ => return None,
            };
            let process = ProcessId(process.parse().ok()?);
            Some(Self::On(CrashOn { process, moment: moment.to_owned(), count }))
        };
        parse().ok_or_else(|| ParseFaultError::Death(text.to_owned()))
    }
}

impl Notation for Doubling {
    type Error = ParseFaultError;

    fn read(text: &str) -> Result<Self, ParseFaultError> {
        if let Ok(chance) = Probability::read(text) {
            return Ok(Self::Chance(chance));
        }
        match message(text) {
            Some(message) => Ok(Self::This(MessageFault { message, deed: Deed::Duplicate })),
            None => Err(ParseFaultError::Doubling(text.to_owned())),
        }
    }
}

/// `request 2>3 #1`, which is dropped.
pub fn read_drop(text: &str) -> Result<MessageFault, ParseFaultError> {
    Ok(MessageFault { message: MessageName::read(text)?, deed: Deed::Drop })
}

/// `request 2>3 #1`, which is hurried.
pub fn read_hurry(text: &str) -> Result<MessageFault, ParseFaultError> {
    Ok(MessageFault { message: MessageName::read(text)?, deed: Deed::Hurry })
}

/// `request 2>3 #1 by 5ms`.
pub fn read_delay(text: &str) -> Result<MessageFault, ParseFaultError> {
    let parse = || {
        let (name, by) = text.rsplit_once(" by ")?;
        let deed = Deed::Delay(parse_time(by.trim()).ok()?);
        Some(MessageFault { message: message(name)?, deed })
    };
    parse().ok_or_else(|| ParseFaultError::Delay(text.to_owned()))
}

/// The kind may be of several words, so the rest is looked for from the end.
fn message(text: &str) -> Option<MessageName> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let mut last = words.pop()?;
    let mut count = 1;
    if last.starts_with('#') {
        count = ordinal(last)?;
        last = words.pop()?;
    }
    let (from, to) = last.split_once('>')?;
    let (from, to) = (ProcessId(from.parse().ok()?), ProcessId(to.parse().ok()?));
    let kind = words.join(" ");
    let is_name = !kind.is_empty() && !kind.contains(['#', '>']);
    is_name.then_some(MessageName { kind, from, to, count })
}

/// `#2`: a number from 1.
fn ordinal(text: &str) -> Option<u64> {
    text.strip_prefix('#')?.parse().ok().filter(|&count| count > 0)
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(crash) => crash.fmt(f),
            Self::On(crash) => crash.fmt(f),
        }
    }
}

impl fmt::Display for Doubling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chance(chance) => chance.fmt(f),
            Self::This(fault) => fault.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn what_is_shown_can_be_read_again() {
        for text in ["request 2>3 #1", "still alive 0>17 #12"] {
            assert_eq!(MessageName::read(text).unwrap().to_string(), text);
            assert_eq!(read_drop(text).unwrap().label(), "drop ".to_owned() + text);
            assert_eq!(read_hurry(text).unwrap().label(), "hurry ".to_owned() + text);
            assert_eq!(Doubling::read(text).unwrap().to_string(), text);
        }
        for text in ["request 2>3 #1 by 5ms", "reply 3>2 #4 by 0.5ms"] {
            assert_eq!(read_delay(text).unwrap().label(), "delay ".to_owned() + text);
        }
        for text in ["3@40ms", "2 on entering", "2 on leaving #7"] {
            assert_eq!(Death::read(text).unwrap().to_string(), text);
        }
        assert_eq!(Doubling::read("0.01").unwrap().to_string(), "0.01");
    }

    #[test]
    fn who_says_no_number_means_the_first() {
        assert_eq!(MessageName::read("request  2>3"), MessageName::read("request 2>3 #1"));
        assert_eq!(Death::read("2 on entering"), Death::read("2 on entering #1"));
    }

    #[test]
    fn what_names_no_message_is_refused_with_what_would() {
        for text in ["", "request", "2>3", "request 2>", "request 2/3", "request 2>3 1"] {
            let error = MessageName::read(text).unwrap_err().to_string();
            assert!(error.contains("e.g. request 2>3 #1"), "{text}: {error}");
        }
        for text in ["request 2>3 #0", "request 2>3 #x", "request 2>3 #1 #2", "request 2>3>4"] {
            assert!(MessageName::read(text).is_err(), "{text}");
        }
        for text in ["request 2>3 #1", "request 2>3 by", "request 2>3 #1 by soon", "by 5ms"] {
            let error = read_delay(text).unwrap_err().to_string();
            assert!(error.contains("e.g. request 2>3 #1 by 5ms"), "{text}: {error}");
        }
        for text in ["", "2", "2 on", "on entering", "x on entering", "2 on entering #0", "3@"] {
            let error = Death::read(text).unwrap_err().to_string();
            assert!(error.contains("e.g. 3@40ms, or PROCESS on EVENT"), "{text}: {error}");
        }
        assert!(
            Doubling::read("often").unwrap_err().to_string().contains("e.g. 0.05, or a message")
        );
    }
}
