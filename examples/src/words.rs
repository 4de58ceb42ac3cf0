//! A command line of few words.

use std::collections::VecDeque;
use std::ffi::OsString;

use crate::Failure;

/// What is left of the command line. Options are taken out of it one by one; what remains in the
/// end is wrong.
pub struct Words(VecDeque<OsString>);

impl Words {
    pub(crate) fn of_this_process() -> Self {
        Self(std::env::args_os().skip(1).collect())
    }

    /// Whether `flag` was given.
    pub fn take_flag(&mut self, flag: &str) -> bool {
        let at = self.0.iter().position(|word| word == flag);
        at.and_then(|at| self.0.remove(at)).is_some()
    }

    /// The word after `option`, if that was given.
    ///
    /// # Errors
    /// If it was the last word.
    pub fn take_value(&mut self, option: &str) -> Result<Option<OsString>, Failure> {
        let Some(at) = self.0.iter().position(|word| word == option) else { return Ok(None) };
        self.0.remove(at);
        let value = self.0.remove(at).filter(|value| !value.is_empty());
        value.map(Some).ok_or_else(|| Failure::Usage(format!("{option} needs a value")))
    }

    /// The words after `role`, if that is the first one: then this process plays a role for its
    /// parent.
    pub fn take_role(&mut self, role: &str) -> Option<Vec<OsString>> {
        (self.0.front()? == role).then(|| self.0.drain(..).skip(1).collect())
    }

    /// To be called when everything that is known was taken.
    ///
    /// # Errors
    /// If there is something else.
    pub fn finish(self) -> Result<(), Failure> {
        match self.0.front() {
            None => Ok(()),
            Some(word) => {
                let word = word.to_string_lossy();
                Err(Failure::Usage(format!("{word:?} is not known, or given twice")))
            }
        }
    }
}
