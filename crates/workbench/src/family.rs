//! What runs and searches need of a family of algorithms: who uses it, how it begins, what is
//! usual, and how it is told. One file per family; nothing else here asks which family it is.

mod detectors;
mod elections;
mod locks;
mod processes;

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use conclave_algorithms::catalogue::{Entry, SeatingError};
use conclave_algorithms::quorum::Construction;
use conclave_check::system::Users;
use conclave_core::detector::Detectors;
use conclave_core::election::Elections;
use conclave_core::mutex::Locks;
use conclave_core::process::Processes;
use conclave_core::{Promises, Seat, View};
use conclave_observe::{Spoken, Vocabulary};
use conclave_sim::Application;
use serde_json::Value;

use crate::account::Account;
use crate::figure::Figure;
use crate::plan::{Calls, Plan};
use crate::search::SearchPlan;

/// A family that can be run, searched and taken again.
pub trait Playable: Spoken {
    /// Who uses it in a run.
    type Application: Application<Self>;
    /// Who uses it in a search.
    type Users: Users<Self>;

    /// What is usual for it, and how it is told.
    const PROFILE: &'static Profile;

    /// What is known to each as a run begins, by seat; empty if nothing is.
    fn openings(plan: &Plan, view: &View) -> Vec<Self::Opening>;

    /// Who uses it in this run: those of the view who do.
    fn application(plan: &Plan, view: &View, users: Vec<Seat>) -> Self::Application;

    /// Who uses it in this search.
    fn client(plan: &SearchPlan, users: Vec<Seat>) -> Self::Users;
}

/// What is usual for a family, and how its runs and searches are told.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Profile {
    /// What is seen, said and judged of it.
    pub vocabulary: &'static Vocabulary,
    /// What an algorithm of another family is not: "elects nobody".
    pub lacks: &'static str,
    /// What to choose instead of an algorithm of another family: ", or choose e.g. bully".
    pub instead: &'static str,
    /// What its users ask for, once and more often; `None` if nobody asks for anything.
    pub asks: Option<(&'static str, &'static str)>,
    /// How often each of them does in a search, if nobody says it.
    pub requests: u8,
    /// Whether whoever got it gives it back.
    pub is_given_back: bool,
    /// Whether a run ends when all that was asked for is done.
    pub has_end: bool,
    /// Whether its invariants are kept only by an algorithm that gets what it needs.
    pub needs_its_model: bool,
    /// Whether it can be judged in which order users are served.
    pub has_order: bool,
    /// Whether it can go on for ever where terms are promised: then a search needs bounds.
    pub terms: Option<Promises>,
    /// What the one process more is, where one is needed.
    pub server: &'static str,
    /// What would let somebody be served, where in a whole search nobody was.
    pub to_serve: &'static str,
    /// Who calls, if nobody says it.
    pub calls: fn(&Plan) -> Calls,
    /// How long it takes until what went wrong is noticed.
    pub noticing: fn(&Plan) -> Duration,
    /// How much there is to do in a run, and what it is counted in.
    pub work: fn(&Plan) -> (u64, &'static str),
    /// What these promises are, in words.
    pub promises: fn(Promises) -> String,
    /// What these promises are, for programs.
    pub promises_json: fn(Promises) -> Value,
    /// What is told of a run.
    pub(crate) account: Account,
    /// How its costs are measured, if they are.
    pub(crate) figures: Option<Figures>,
}

/// Measures what an algorithm costs with so many processes.
pub(crate) type Figures =
    fn(&'static Entry, u32, Construction) -> Result<Vec<Figure>, SeatingError>;

/// What is usual for an algorithm's family.
pub fn profile(entry: &Entry) -> &'static Profile {
    let all = [Locks::PROFILE, Elections::PROFILE, Detectors::PROFILE, Processes::PROFILE];
    all.into_iter().find(|it| it.vocabulary.family == entry.family).unwrap_or(Locks::PROFILE)
}

/// What is seen, said and judged of an algorithm's family.
pub fn vocabulary(entry: &Entry) -> &'static Vocabulary {
    profile(entry).vocabulary
}

/// Whether leaders of that algorithm have terms.
pub fn has_terms(entry: &Entry) -> bool {
    profile(entry).terms.is_some_and(|terms| entry.promises.keeps(terms))
}
