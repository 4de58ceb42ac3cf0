//! How a row of a table reaches its value in a plan, whatever type the value has. A plan is what
//! the table is about: a run, a sweep, a table of costs.

use alloc::string::String;
use alloc::vec::Vec;

use super::SettingError;

/// A value of a plan, in texts.
pub trait Access<P>: Sync {
    /// Whether that can be one of its values.
    fn check(&self, text: &str) -> Result<(), SettingError>;
    /// Sets it to these.
    fn set(&self, plan: &mut P, values: &[String]) -> Result<(), SettingError>;
    /// What it is set to.
    fn values(&self, plan: &P) -> Vec<String>;
    /// Whether it is as usual.
    fn is_usual(&self, plan: &P) -> bool;
    /// Makes it as usual.
    fn reset(&self, plan: &mut P);
}

/// A setting without a value: how it is found in a plan.
pub struct Switch<P> {
    pub get: fn(&P) -> bool,
    pub set: fn(&mut P, bool),
    pub usual: fn(&P) -> bool,
}

/// A setting with one value: how it is read, shown and found in a plan.
pub struct One<P, T> {
    pub parse: fn(&str) -> Result<T, SettingError>,
    pub show: fn(&T) -> String,
    pub get: fn(&P) -> Option<T>,
    pub set: fn(&mut P, T),
    pub usual: fn(&P) -> Option<T>,
}

/// A setting with any number of values: how each is read and shown, and how all are found in a
/// plan.
pub struct Many<P, T> {
    pub parse: fn(&str) -> Result<T, SettingError>,
    pub show: fn(&T) -> String,
    pub get: fn(&P) -> Vec<T>,
    pub set: fn(&mut P, Vec<T>) -> Result<(), SettingError>,
    pub usual: fn(&P) -> Vec<T>,
}

impl<P> Access<P> for Switch<P> {
    fn check(&self, text: &str) -> Result<(), SettingError> {
        if text.is_empty() { Ok(()) } else { Err(SettingError::Switch) }
    }

    fn set(&self, plan: &mut P, values: &[String]) -> Result<(), SettingError> {
        values.iter().try_for_each(|value| self.check(value))?;
        (self.set)(plan, true);
        Ok(())
    }

    fn values(&self, _: &P) -> Vec<String> {
        Vec::new()
    }

    fn is_usual(&self, plan: &P) -> bool {
        (self.get)(plan) == (self.usual)(plan)
    }

    fn reset(&self, plan: &mut P) {
        (self.set)(plan, (self.usual)(plan));
    }
}

impl<P, T: PartialEq> Access<P> for One<P, T> {
    fn check(&self, text: &str) -> Result<(), SettingError> {
        (self.parse)(text).map(drop)
    }

    fn set(&self, plan: &mut P, values: &[String]) -> Result<(), SettingError> {
        let [value] = values else { return Err(SettingError::Twice) };
        (self.set)(plan, (self.parse)(value)?);
        Ok(())
    }

    fn values(&self, plan: &P) -> Vec<String> {
        (self.get)(plan).iter().map(self.show).collect()
    }

    fn is_usual(&self, plan: &P) -> bool {
        (self.get)(plan) == (self.usual)(plan)
    }

    fn reset(&self, plan: &mut P) {
        if let Some(usual) = (self.usual)(plan) {
            (self.set)(plan, usual);
        }
    }
}

impl<P, T: PartialEq> Access<P> for Many<P, T> {
    fn check(&self, text: &str) -> Result<(), SettingError> {
        (self.parse)(text).map(drop)
    }

    fn set(&self, plan: &mut P, values: &[String]) -> Result<(), SettingError> {
        let values: Result<_, _> = values.iter().map(|value| (self.parse)(value)).collect();
        (self.set)(plan, values?)
    }

    fn values(&self, plan: &P) -> Vec<String> {
        (self.get)(plan).iter().map(self.show).collect()
    }

    fn is_usual(&self, plan: &P) -> bool {
        (self.get)(plan) == (self.usual)(plan)
    }

    fn reset(&self, plan: &mut P) {
        // A list that the table calls usual names only those who take part.
        let _ = (self.set)(plan, (self.usual)(plan));
    }
}
