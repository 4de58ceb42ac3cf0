//! The one table of settings: everything about a run that can be said in a word and a value.
//!
//! Whoever takes settings in or gives them out goes through [`SETTINGS`]: the options of the
//! command line are made from it, the header of a trace is written and read by it, and "repeat it
//! with" is spelt by it. So to add a setting is to add a row.
//!
//! A row knows how its value is read and shown, where it is in a [`Plan`], what it is if nobody
//! says it, and which algorithms have use for it. Names are without dashes; [`option`] adds them.

mod access;
mod error;
mod rows;

pub use error::{SettingError, Unfit};
pub use rows::{SETTINGS, id, members, phi};

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use conclave_algorithms::catalogue::{Entry, Setting as Timer};
use conclave_core::election::Elections;
use conclave_core::mutex::Locks;

use crate::plan::Plan;
use access::Access;

/// The most processes of one run: more than that would take all memory.
pub const MEMBERS_MAX: u32 = 100_000;

/// One setting of a plan.
pub struct Setting {
    /// What it is called, without dashes.
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
    spoken: Spoken,
    access: &'static dyn Access,
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fits {
    /// All of them.
    All,
    /// Mutual exclusion.
    Locks,
    /// Elections.
    Elections,
    /// Elections whose leaders keep a value.
    Values,
    /// What has no end of its own.
    Endless,
    /// What votes by sets.
    VotingSets,
    /// What takes this one of the times that members agree on.
    Timer(Timer),
}

/// When a setting is said in the command that repeats a run.
enum Spoken {
    /// If it is not as usual.
    IfUnusual,
    /// Always: readers want to see it.
    Always,
    /// If that is so.
    When(fn(&Plan) -> bool),
}

/// The setting of that name.
pub fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

/// The setting that says how long this time is.
pub fn of_timer(timer: Timer) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.fits == Fits::Timer(timer))
}

/// All times that an algorithm takes, as options of the command line.
pub fn timers_of(entry: &Entry) -> Vec<String> {
    let rows = entry.settings.iter().filter_map(|&timer| of_timer(timer));
    rows.map(|row| option(row.name)).collect()
}

/// How the setting of that name is spelt on the command line. The only place that knows dashes.
pub fn option(name: &str) -> String {
    if name.len() == 1 { format!("-{name}") } else { format!("--{name}") }
}

impl Setting {
    /// Whether that can be one of its values.
    pub fn check(&self, text: &str) -> Result<(), SettingError> {
        self.access.check(text)
    }

    /// Sets it to these values: none for a switch, one for a single value.
    pub fn set(&self, plan: &mut Plan, values: &[String]) -> Result<(), SettingError> {
        self.access.set(plan, values)
    }

    /// Its values in that plan, such that [`set`](Self::set) understands them.
    pub fn values(&self, plan: &Plan) -> Vec<String> {
        self.access.values(plan)
    }

    /// Whether it is in that plan what it is when nobody says it.
    pub fn is_usual(&self, plan: &Plan) -> bool {
        self.access.is_usual(plan)
    }

    /// Makes it what follows from all other settings, if it follows from them.
    pub fn settle(&self, plan: &mut Plan) {
        if self.follows {
            self.access.reset(plan);
        }
    }

    /// Whether that algorithm has use for it; if not, one line says why.
    pub fn check_fit(&self, entry: &'static Entry) -> Result<(), Unfit> {
        let (name, setting) = (entry.name, self.name);
        match self.fits {
            Fits::Locks if !is_lock(entry) => Err(Unfit::NoLock { name, setting }),
            Fits::Elections | Fits::Values if !is_election(entry) => {
                Err(Unfit::NoElection { name, setting })
            }
            Fits::Values if !entry.settings.contains(&Timer::Lease) => {
                Err(Unfit::NoValue { name, setting })
            }
            Fits::Endless if is_lock(entry) => Err(Unfit::HasEnd { name, setting }),
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

    /// Its words in the command that does the same again.
    pub(crate) fn words(&self, plan: &Plan) -> Vec<String> {
        let is_said = match self.spoken {
            Spoken::IfUnusual => !self.is_usual(plan),
            Spoken::Always => true,
            Spoken::When(is_so) => is_so(plan),
        };
        if !is_said || self.group.is_none() || self.check_fit(plan.entry).is_err() {
            return Vec::new();
        }
        let option = option(self.name);
        match self.shape {
            Shape::Switch => Vec::from([option]),
            Shape::List(_) => Vec::from([format!("{option} {}", self.values(plan).join(","))]),
            Shape::One(_) | Shape::Again(_) | Shape::AgainList(_) => {
                let values = self.values(plan).into_iter();
                values.map(|value| format!("{option} {}", quoted(value))).collect()
            }
        }
    }
}

/// `'1>2@...'`, so that a shell does not take it for something else.
fn quoted(value: String) -> String {
    if value.contains(['>', ' ']) { format!("'{value}'") } else { value }
}

fn is_lock(entry: &Entry) -> bool {
    entry.is_of::<Locks>()
}

fn is_election(entry: &Entry) -> bool {
    entry.is_of::<Elections>()
}
