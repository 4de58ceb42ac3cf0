//! The one table of settings: everything about a run that can be said in a word and a value.
//!
//! Whoever takes settings in or gives them out goes through [`SETTINGS`]: the options of the
//! command line are made from it, the header of a trace is written and read by it, and "repeat it
//! with" says what it [says](Plan::said). So to add a setting is to add a row. Sweeps and tables of
//! costs have tables of their own, made of the same rows.
//!
//! A row knows how its value is read and shown, where it is in a [`Plan`], what it is if nobody
//! says it, and which algorithms have use for it.
//!
//! How a setting is spelt where somebody types it is not known here: texts name it in backticks,
//! ``leave `seed` out``, and [`NamesSettings`] says which ones, so that a front end can put its own
//! spelling there.

pub(crate) mod access;
mod error;
mod rows;

pub use error::{SettingError, Unfit};
pub use rows::{SETTINGS, id, members, phi};

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use conclave_algorithms::catalogue::{Entry, Setting as Timer};

use crate::family::{self, Profile};
use crate::plan::Plan;
use access::Access;

/// The most processes of one run: more than that would take all memory.
pub const MEMBERS_MAX: u32 = 100_000;

/// One setting of a plan, which is whatever `P` is.
pub struct Setting<P: 'static = Plan> {
    /// What it is called.
    pub name: &'static str,
    /// What it means, in a line for whoever has to choose a value.
    pub meaning: &'static str,
    /// How it is said.
    pub shape: Shape,
    /// With which others it is shown; `None` if it cannot be said in a word, but only by a
    /// scenario.
    pub group: Option<Group>,
    /// Which algorithms have use for it.
    pub fits: Fits,
    /// Whether a recorded run says it: what the processes are told, and what was done to them.
    pub is_recorded: bool,
    /// Whether its usual value follows from what other settings are.
    follows: bool,
    /// When it is said in the command that repeats a run.
    spoken: Spoken<P>,
    access: &'static dyn Access<P>,
}

/// How a setting is said. The word is what its value is called where it is explained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// By its name alone.
    Switch,
    /// With one value.
    One(&'static str),
    /// With some values, with commas between them.
    List(&'static str),
    /// Again and again, with one value each.
    Again(&'static str),
    /// Again and again, with some values each, with commas between them.
    AgainList(&'static str),
}

/// Settings that belong together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// Who takes part, on which network, who asks when.
    Run,
    /// What only elections and detectors are told.
    Elections,
    /// What timers are set to.
    Timers,
    /// What goes wrong.
    Faults,
    /// When to give up, and what to judge.
    Judging,
}

/// Which algorithms have use for a setting.
#[derive(Clone, Copy)]
pub enum Fits {
    /// All algorithms have a use for it.
    All,
    /// Those of a family.
    Family(&'static Profile),
    /// Those of a family whose leaders keep a value.
    Values(&'static Profile),
    /// What has no end of its own.
    Endless,
    /// What votes by sets.
    VotingSets,
    /// What takes this one of the times that members agree on.
    Timer(Timer),
}

/// When a setting is said in the command that repeats a run.
enum Spoken<P> {
    /// If it is not as usual.
    IfUnusual,
    /// Always: readers want to see it.
    Always,
    /// If that is so.
    When(fn(&P) -> bool),
}

/// The setting of that name.
pub fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

/// The setting that says how long this time is.
pub fn of_timer(timer: Timer) -> Option<&'static Setting> {
    let is_it = |setting: &&Setting| matches!(setting.fits, Fits::Timer(it) if it == timer);
    SETTINGS.iter().find(is_it)
}

/// The names of the settings for all times that an algorithm takes.
pub fn timers_of(entry: &Entry) -> Vec<&'static str> {
    let rows = entry.settings.iter().filter_map(|&timer| of_timer(timer));
    rows.map(|row| row.name).collect()
}

/// A plan that a table of settings says all of.
pub trait Settable: Default + 'static {
    /// Every setting of it.
    const SETTINGS: &'static [Setting<Self>];
}

/// A text that may name settings, each in backticks.
pub trait NamesSettings {
    /// The settings that it may name.
    fn settings(&self) -> Vec<&'static str>;
}

impl<P> Setting<P> {
    /// A setting that every plan has use for, in no group.
    pub(crate) const fn new(
        name: &'static str,
        meaning: &'static str,
        shape: Shape,
        access: &'static dyn Access<P>,
    ) -> Self {
        Self {
            name,
            meaning,
            shape,
            group: None,
            fits: Fits::All,
            is_recorded: false,
            follows: false,
            spoken: Spoken::IfUnusual,
            access,
        }
    }

    /// Whether that can be one of its values.
    pub fn check(&self, text: &str) -> Result<(), SettingError> {
        self.access.check(text)
    }

    /// Sets it to these values: none for a switch, one for a single value.
    pub fn set(&self, plan: &mut P, values: &[String]) -> Result<(), SettingError> {
        self.access.set(plan, values)
    }

    /// Its values in that plan, such that [`set`](Self::set) understands them.
    pub fn values(&self, plan: &P) -> Vec<String> {
        self.access.values(plan)
    }

    /// Whether it is in that plan what it is when nobody says it.
    pub fn is_usual(&self, plan: &P) -> bool {
        self.access.is_usual(plan)
    }

    /// Makes it what follows from all other settings, if it follows from them.
    pub fn settle(&self, plan: &mut P) {
        if self.follows {
            self.access.reset(plan);
        }
    }
}

impl Setting {
    /// Whether that algorithm has use for it; if not, one line says why.
    pub fn check_fit(&self, entry: &'static Entry) -> Result<(), Unfit> {
        let (name, setting) = (entry.name, self.name);
        match self.fits {
            Fits::Family(meant) | Fits::Values(meant)
                if meant.vocabulary.family != entry.family =>
            {
                let Profile { lacks, instead, .. } = meant;
                Err(Unfit::Family { name, setting, lacks, instead })
            }
            Fits::Values(_) if !entry.settings.contains(&Timer::Lease) => {
                Err(Unfit::NoValue { name, setting })
            }
            Fits::Endless if family::profile(entry).has_end => Err(Unfit::HasEnd { name, setting }),
            Fits::VotingSets if !entry.needs.voting_sets => {
                Err(Unfit::NoVotingSets { name, setting })
            }
            Fits::Timer(timer) if !entry.settings.contains(&timer) => {
                Err(Unfit::NoTimer { name, setting, takes: timers_of(entry) })
            }
            _ => Ok(()),
        }
    }

    /// Its values for the header of a trace: only if it is not as usual.
    pub(crate) fn recorded(&self, plan: &Plan) -> Vec<(String, String)> {
        if !self.is_recorded || self.is_usual(plan) || self.check_fit(plan.entry).is_err() {
            return Vec::new();
        }
        let named = |value| (self.name.to_string(), value);
        match self.shape {
            Shape::Switch => Vec::from([named(String::new())]),
            _ => self.values(plan).into_iter().map(named).collect(),
        }
    }

    /// What is said of it to do the same again: once for each time that it is said, with its value
    /// if it has one.
    pub(crate) fn said(&self, plan: &Plan) -> Vec<(&'static str, Option<String>)> {
        let is_said = match self.spoken {
            Spoken::IfUnusual => !self.is_usual(plan),
            Spoken::Always => true,
            Spoken::When(is_so) => is_so(plan),
        };
        if !is_said || self.group.is_none() || self.check_fit(plan.entry).is_err() {
            return Vec::new();
        }
        match self.shape {
            Shape::Switch => Vec::from([(self.name, None)]),
            Shape::List(_) => Vec::from([(self.name, Some(self.values(plan).join(",")))]),
            Shape::One(_) | Shape::Again(_) | Shape::AgainList(_) => {
                self.values(plan).into_iter().map(|value| (self.name, Some(value))).collect()
            }
        }
    }
}
