//! How a row of the table reaches its value in a plan, whatever type that has.

use alloc::string::String;
use alloc::vec::Vec;

use super::SettingError;
use crate::plan::Plan;

/// A value of a plan, in texts.
pub trait Access: Sync {
    /// Whether that can be one of its values.
    fn check(&self, text: &str) -> Result<(), SettingError>;
    /// Sets it to these.
    fn set(&self, plan: &mut Plan, values: &[String]) -> Result<(), SettingError>;
    /// What it is set to.
    fn values(&self, plan: &Plan) -> Vec<String>;
    /// Whether it is as usual.
    fn is_usual(&self, plan: &Plan) -> bool;
    /// Makes it as usual.
    fn reset(&self, plan: &mut Plan);
}

/// There or not.
pub struct Switch {
    pub get: fn(&Plan) -> bool,
    pub set: fn(&mut Plan, bool),
    pub usual: fn(&Plan) -> bool,
}

/// One value.
pub struct One<T> {
    pub parse: fn(&str) -> Result<T, SettingError>,
    pub show: fn(&T) -> String,
    pub get: fn(&Plan) -> Option<T>,
    pub set: fn(&mut Plan, T),
    pub usual: fn(&Plan) -> Option<T>,
}

/// Some values.
pub struct Many<T> {
    pub parse: fn(&str) -> Result<T, SettingError>,
    pub show: fn(&T) -> String,
    pub get: fn(&Plan) -> Vec<T>,
    pub set: fn(&mut Plan, Vec<T>) -> Result<(), SettingError>,
    pub usual: fn(&Plan) -> Vec<T>,
}

impl Access for Switch {
    fn check(&self, text: &str) -> Result<(), SettingError> {
        if text.is_empty() { Ok(()) } else { Err(SettingError::Switch) }
    }

    fn set(&self, plan: &mut Plan, values: &[String]) -> Result<(), SettingError> {
        values.iter().try_for_each(|value| self.check(value))?;
        (self.set)(plan, true);
        Ok(())
    }

    fn values(&self, _: &Plan) -> Vec<String> {
        Vec::new()
    }

    fn is_usual(&self, plan: &Plan) -> bool {
        (self.get)(plan) == (self.usual)(plan)
    }

    fn reset(&self, plan: &mut Plan) {
        (self.set)(plan, (self.usual)(plan));
    }
}

impl<T: PartialEq> Access for One<T> {
    fn check(&self, text: &str) -> Result<(), SettingError> {
        (self.parse)(text).map(drop)
    }

    fn set(&self, plan: &mut Plan, values: &[String]) -> Result<(), SettingError> {
        let [value] = values else { return Err(SettingError::Twice) };
        (self.set)(plan, (self.parse)(value)?);
        Ok(())
    }

    fn values(&self, plan: &Plan) -> Vec<String> {
        (self.get)(plan).iter().map(self.show).collect()
    }

    fn is_usual(&self, plan: &Plan) -> bool {
        (self.get)(plan) == (self.usual)(plan)
    }

    fn reset(&self, plan: &mut Plan) {
        if let Some(usual) = (self.usual)(plan) {
            (self.set)(plan, usual);
        }
    }
}

impl<T: PartialEq> Access for Many<T> {
    fn check(&self, text: &str) -> Result<(), SettingError> {
        (self.parse)(text).map(drop)
    }

    fn set(&self, plan: &mut Plan, values: &[String]) -> Result<(), SettingError> {
        let values: Result<_, _> = values.iter().map(|value| (self.parse)(value)).collect();
        (self.set)(plan, values?)
    }

    fn values(&self, plan: &Plan) -> Vec<String> {
        (self.get)(plan).iter().map(self.show).collect()
    }

    fn is_usual(&self, plan: &Plan) -> bool {
        (self.get)(plan) == (self.usual)(plan)
    }

    fn reset(&self, plan: &mut Plan) {
        // A list that the table calls usual names only those who take part.
        let _ = (self.set)(plan, (self.usual)(plan));
    }
}
