//! What is to be said of an algorithm.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::mutex::{LIVENESS, Locks};
use conclave_core::{DuplicateId, Family, Kind, ProcessId, Promises, Seat, View};

use super::{Bounds, Cost, Remark, Setting, Timing, all, nearest};
use crate::quorum::{Construction, Flaw, OwnSets, VotingSets, VotingSetsError};

/// An algorithm, or a variant of one.
#[derive(Debug)]
pub struct Entry {
    /// What it is called where it is chosen, e.g. `ricart-agrawala`.
    pub name: &'static str,
    /// What it is called by people.
    pub title: &'static str,
    /// Where it comes from.
    pub citation: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// The [family](conclave_core::Family) that it is of, by name.
    pub family: &'static str,
    /// What it keeps, as long as it gets what it needs.
    pub promises: Promises,
    /// What the system must offer for it to work.
    pub needs: Needs,
    /// What it can be told beside who takes part.
    pub settings: &'static [Setting],
    /// What a crash does to it.
    pub crash: &'static str,
    /// What speaks against it, in a few words: what a list of all has room for.
    pub problems: &'static str,
    /// A crash that shows it, and one that does no harm; `None` where every crash is answered.
    pub crash_example: Option<CrashExample>,
    /// Whether it matters to its costs who asks.
    pub places: Places,
    /// The kinds of messages that it sends; a message's `KindIndex` points into this list.
    pub kinds: &'static [Kind],
    /// Those that a search never sees: other variants send them, or they serve what no search asks
    /// for.
    pub silent: &'static [&'static str],
    /// Within which bounds it is searched.
    pub searches: &'static [Bounds],
    /// What it is expected to cost.
    pub costs: &'static [Cost],
    /// What lecture notes say that it costs.
    pub remarks: &'static [Remark],
}

/// Two crashes in a run of nine: one that matters, and one that does not.
///
/// Of a lock, 2 asks at once and 1 after 10 ms, for 20 ms; so a token that rests does so at 2 then.
/// An election is called by 3 at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CrashExample {
    /// Who dies when, as a scenario has it, so that somebody waits for ever.
    pub matters: &'static str,
    /// What is said of it.
    pub why: &'static str,
    /// Who dies when, and nobody needs it.
    pub passes: &'static str,
}

/// Whether it matters to costs where a process sits: its place on a ring or a tree, its distance to
/// a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Places {
    /// All cost the same, so one stands for all.
    Alike,
    /// Each is measured, and shortest and longest are shown beside the mean.
    Differ,
}

/// What an algorithm needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// Channels that keep the order.
    pub fifo: bool,
    /// One more process, which does not ask for the lock.
    pub coordinator: bool,
    /// A voting set for each process.
    pub voting_sets: bool,
    /// A bound on how long messages take, that is known: its timers mean something.
    pub synchrony: bool,
    /// Delays that do not vary much, so that what was learnt of them goes on being true.
    pub steadiness: bool,
    /// A majority that is up: without it nobody is elected.
    pub majority: bool,
    /// Memory that survives a crash.
    pub storage: bool,
    /// Clocks of which the fastest is at most so many percent faster than the slowest.
    pub clocks_percent: Option<u32>,
}

impl Needs {
    /// Nothing but processes and messages.
    pub const NOTHING: Self = Self {
        fifo: false,
        coordinator: false,
        voting_sets: false,
        synchrony: false,
        steadiness: false,
        majority: false,
        storage: false,
        clocks_percent: None,
    };
}

/// The name of the one more process that some algorithms need, a coordinator or a store; it is not
/// counted in N.
pub const SERVER: ProcessId = ProcessId(0);

/// Who takes part in a run of an algorithm, and how they vote.
#[derive(Clone, Debug)]
pub struct Seating<'a> {
    /// Everybody, a coordinator included.
    pub view: &'a View,
    /// How voting sets are made, where they are needed.
    pub construction: Construction,
    /// Voting sets that somebody wrote down, instead.
    pub own_sets: Option<&'a OwnSets>,
    /// What its timers are set to, where it has any.
    pub timing: Timing,
}

/// A seating that is not possible.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SeatingError {
    /// There is no algorithm of that name.
    #[error("there is no algorithm `{0}`; {instead}", instead = instead_of(.0))]
    UnknownAlgorithm(String),
    /// A name used twice.
    #[error(transparent)]
    DuplicateId(#[from] DuplicateId),
    /// The coordinator's name given to another.
    #[error("process {0} is the coordinator or the store; give the others other ids")]
    CoordinatorTaken(ProcessId),
    /// More than can take part.
    #[error("{name} is for at most {max} processes")]
    TooMany {
        /// The algorithm.
        name: &'static str,
        /// How many can.
        max: usize,
    },
    /// Voting sets that do not exist.
    #[error(transparent)]
    VotingSets(#[from] VotingSetsError),
    /// Voting sets that were written down and are none.
    #[error("{0}{hint}", hint = disjoint_hint(.0))]
    OwnSets(Flaw),
}

// Not by `#[from]`: the sentence has the flaw in it, which is then no further cause.
impl From<Flaw> for SeatingError {
    fn from(flaw: Flaw) -> Self {
        Self::OwnSets(flaw)
    }
}

/// How to have it all the same.
fn disjoint_hint(flaw: &Flaw) -> &'static str {
    match flaw {
        Flaw::Disjoint { .. } => "; a line `disjoint` among them says that this is meant",
        _ => "",
    }
}

/// The name that was meant, if one is near; otherwise all of them.
fn instead_of(name: &str) -> String {
    if let Some(nearest) = nearest(name, all().map(|entry| entry.name)) {
        return format!("did you mean {nearest}? `conclave algorithms` lists all of them");
    }
    let names: Vec<&str> = all().map(|entry| entry.name).collect();
    format!("there are {}", names.join(", "))
}

impl Entry {
    /// Whether it is of that family.
    pub fn is_of<F: Family>(&self) -> bool {
        self.family == F::NAME
    }

    /// Whether everybody who waits is served.
    pub fn serves_everybody(&self) -> bool {
        !self.is_of::<Locks>() || self.promises.keeps(LIVENESS)
    }

    /// Everybody who takes part when `clients` ask for the lock.
    pub fn view_of(&self, clients: &View) -> Result<View, SeatingError> {
        if !self.needs.coordinator {
            return Ok(clients.clone());
        }
        if clients.seat(SERVER).is_some() {
            return Err(SeatingError::CoordinatorTaken(SERVER));
        }
        Ok(View::new([SERVER].into_iter().chain(clients.members().iter().copied()))?)
    }

    /// The seats of those who ask for the lock, in such a view.
    pub fn clients(&self, view: &View) -> Vec<Seat> {
        (usize::from(self.needs.coordinator)..view.len()).map(Seat::at).collect()
    }
}

impl Seating<'_> {
    /// One copy of `config` for each member, by seat: all are told the same.
    pub fn all<C: Clone>(&self, config: C) -> Vec<C> {
        vec![config; self.view.len()]
    }

    /// One for the [server](SERVER) and one for all others, by seat.
    pub fn roles<C: Clone>(&self, server: C, other: C) -> Vec<C> {
        let role = |&id: &ProcessId| if id == SERVER { server.clone() } else { other.clone() };
        self.view.members().iter().map(role).collect()
    }

    /// Voting sets for these members, constructed and checked.
    pub fn voting_sets(&self) -> Result<VotingSets, SeatingError> {
        match self.own_sets {
            Some(own_sets) => Ok(own_sets.build(self.view)?),
            None => Ok(VotingSets::build(self.construction, self.view)?),
        }
    }
}
