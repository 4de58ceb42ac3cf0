//! How a run ended.

use core::fmt;

/// How a run came to its end, as its runner saw it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ending {
    /// The workload was done.
    Finished,
    /// Nothing was in flight, no timer was set, and nobody had anything more to ask.
    Quiet,
    /// A judge had seen enough.
    Stopped,
    /// Nobody entered for longer than patience allowed.
    PatienceLost,
    /// The limit of events or of time came first.
    BudgetSpent,
    /// It has none: its last part comes again and again, for ever.
    Repeats,
    /// It has none: more could happen, but nothing of it has to.
    Rests,
}

/// What is to be said of a run in one word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Verdict {
    /// All that was promised was kept, and everybody was served.
    Ok,
    /// A promise was broken: two holders, a fence that did not grow, an order that was not kept.
    Violated,
    /// Somebody waits, nothing is in flight, no timer is set, and no fault fired.
    Deadlock,
    /// Somebody was overtaken by more than 100 x N later entries, or waits for ever where the run
    /// has no end.
    Starved,
    /// Somebody waits and nothing comes of it, after a fault fired.
    Stalled,
    /// The limit of events or time came first: nothing was shown.
    Budget,
}

impl Verdict {
    /// All of them, mildest first.
    pub const ALL: [Self; 6] =
        [Self::Ok, Self::Violated, Self::Deadlock, Self::Starved, Self::Stalled, Self::Budget];

    /// The word for it, as commands and files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Violated => "violated",
            Self::Deadlock => "deadlock",
            Self::Starved => "starved",
            Self::Stalled => "stalled",
            Self::Budget => "budget",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
