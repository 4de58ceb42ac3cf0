//! What locks and elections are called.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The longest name, in bytes of UTF-8.
pub const NAME_MAX: usize = 255;

/// The name of a lock or of an election: any text of 1 to 255 bytes.
///
/// `/`, `..`, NUL, spaces and capital letters mean nothing special: two names are the same when
/// their bytes are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Box<str>);

/// Why a text is no name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum NameError {
    /// Nothing was given.
    #[error("a name has at least one character")]
    Empty,
    /// More than [`NAME_MAX`] bytes.
    #[error("a name has at most {NAME_MAX} bytes of UTF-8, not {0}")]
    TooLong(usize),
}

impl Name {
    /// Takes any text of 1 to 255 bytes.
    ///
    /// # Errors
    /// If it is empty or longer.
    pub fn new(text: impl Into<Box<str>>) -> Result<Self, NameError> {
        let text = text.into();
        match text.len() {
            0 => Err(NameError::Empty),
            1..=NAME_MAX => Ok(Self(text)),
            length => Err(NameError::TooLong(length)),
        }
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::new(text)
    }
}

/// As it is, but for control characters, which would play tricks on a terminal.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            if letter.is_control() {
                write!(f, "{}", letter.escape_default())?;
            } else {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// Locks and elections do not share names: `nightly` may be both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// Taken by `lock`.
    Lock,
    /// Won by `campaign`.
    Election,
}

/// A lock or an election, by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Resource {
    /// Whether it is a lock or an election.
    pub kind: Kind,
    /// Its name among those of its kind.
    pub name: Name,
}

impl Resource {
    /// The lock of that name.
    pub fn lock(name: Name) -> Self {
        Self { kind: Kind::Lock, name }
    }

    /// The election of that name.
    pub fn election(name: Name) -> Self {
        Self { kind: Kind::Election, name }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Lock => write!(f, "lock {}", self.name),
            Kind::Election => write!(f, "election {}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_of_1_to_255_bytes_is_a_name() {
        for text in ["x", "/", "..", "a b", "Grüße", "nul\0inside", &"é".repeat(127)] {
            assert_eq!(Name::new(text).unwrap().as_str(), text);
        }
        assert_eq!(Name::new(""), Err(NameError::Empty));
        assert_eq!(Name::new("é".repeat(128)), Err(NameError::TooLong(256)));
    }

    #[test]
    fn a_name_cannot_play_tricks_on_a_terminal() {
        assert_eq!(Name::new("a\x1b[2Jb\n").unwrap().to_string(), "a\\u{1b}[2Jb\\n");
    }
}
