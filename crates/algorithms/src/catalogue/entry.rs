//! What is to be said of an algorithm.

use alloc::string::String;
use alloc::vec::Vec;

use conclave_core::{DuplicateId, Kind, ProcessId, Promises, Seat, View};

use super::{Bounds, Cost, Remark, Setting, Timing, all};
use crate::mutex::central;
use crate::quorum::{Construction, VotingSets, VotingSetsError};

/// An algorithm, or a variant of one.
#[derive(Debug)]
pub struct Entry {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is called by people.
    pub title: &'static str,
    /// Where it comes from.
    pub citation: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// What it keeps, as long as it gets what it needs.
    pub promises: Promises,
    /// What it needs.
    pub needs: Needs,
    /// What it can be told beside who takes part.
    pub settings: &'static [Setting],
    /// What a crash does to it.
    pub crash: &'static str,
    /// Its messages.
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

/// What an algorithm needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// Channels that keep the order.
    pub fifo: bool,
    /// One more process, which does not ask for the lock.
    pub coordinator: bool,
    /// Voting sets.
    pub voting_sets: bool,
    /// A bound on how long messages take, that is known: its timers mean something.
    pub synchrony: bool,
}

impl Needs {
    /// Nothing but processes and messages.
    pub const NOTHING: Self =
        Self { fifo: false, coordinator: false, voting_sets: false, synchrony: false };
}

/// Who takes part in a run of an algorithm, and how they vote.
#[derive(Clone, Debug)]
pub struct Seating<'a> {
    /// Everybody, a coordinator included.
    pub view: &'a View,
    /// How voting sets are made, where they are needed.
    pub construction: Construction,
    /// What its timers are set to, where it has any.
    pub timing: Timing,
}

/// A seating that is not possible.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SeatingError {
    /// No such algorithm.
    #[error("there is no algorithm `{0}`; there are {names}", names = names())]
    UnknownAlgorithm(String),
    /// A name used twice.
    #[error(transparent)]
    DuplicateId(#[from] DuplicateId),
    /// The coordinator's name given to another.
    #[error("process {0} is the coordinator or the store; give the others other ids")]
    CoordinatorTaken(ProcessId),
    /// Voting sets that do not exist.
    #[error(transparent)]
    VotingSets(#[from] VotingSetsError),
}

fn names() -> String {
    let names: Vec<&str> = all().map(|entry| entry.name).collect();
    names.join(", ")
}

impl Entry {
    /// Everybody who takes part when `clients` ask for the lock.
    pub fn view_of(&self, clients: &View) -> Result<View, SeatingError> {
        if !self.needs.coordinator {
            return Ok(clients.clone());
        }
        if clients.seat(central::COORDINATOR).is_some() {
            return Err(SeatingError::CoordinatorTaken(central::COORDINATOR));
        }
        Ok(View::new([central::COORDINATOR].into_iter().chain(clients.members().iter().copied()))?)
    }

    /// The seats of those who ask for the lock, in such a view.
    pub fn clients(&self, view: &View) -> Vec<Seat> {
        (usize::from(self.needs.coordinator)..view.len()).map(Seat::at).collect()
    }
}

impl Seating<'_> {
    /// The voting sets.
    pub fn voting_sets(&self) -> Result<VotingSets, SeatingError> {
        Ok(VotingSets::build(self.construction, self.view)?)
    }
}
