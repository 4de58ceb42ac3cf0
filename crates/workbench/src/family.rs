//! What a run and a search need of a family of algorithms: who uses it, and how it begins.

use alloc::vec::Vec;

use conclave_algorithms::catalogue::Entry;
use conclave_check::system::{Calls, Client, Enters, Listens};
use conclave_core::detector::Detectors;
use conclave_core::election::Elections;
use conclave_core::mutex::{Locks, Opening};
use conclave_core::{Seat, View};
use conclave_observe::{Spoken, Vocabulary};
use conclave_sim::{Application, Call, DetectorApplication, ElectionApplication, MutexApplication};

use crate::plan::Plan;
use crate::search::SearchPlan;

/// What is seen, said and judged of an algorithm's family.
pub fn vocabulary(entry: &Entry) -> &'static Vocabulary {
    let known = conclave_observe::family::ALL.iter().find(|it| it.family == entry.family);
    known.copied().unwrap_or(Locks::VOCABULARY)
}

/// A family that can be run, searched and taken again.
pub trait Playable: Spoken {
    /// Who uses it in a run.
    type Application: Application<Self>;
    /// Who uses it in a search.
    type Client: Client<Self>;

    /// What is known to each as a run begins, by seat; empty if nothing is.
    fn openings(plan: &Plan, view: &View) -> Vec<Self::Opening>;

    /// Who uses it in this run: those of the view who do.
    fn application(plan: &Plan, view: &View, users: Vec<Seat>) -> Self::Application;

    /// Who uses it in this search.
    fn client(plan: &SearchPlan, users: Vec<Seat>) -> Self::Client;
}

impl Playable for Locks {
    type Application = MutexApplication;
    type Client = Enters;

    fn openings(plan: &Plan, view: &View) -> Vec<Opening> {
        if plan.holder.is_none() && plan.clocks.is_empty() {
            return Vec::new();
        }
        let clock_of = |id| plan.clocks.iter().find(|(named, _)| *named == id);
        let opening = |&id| Opening {
            holder: plan.holder,
            clock: clock_of(id).map(|&(_, clock)| clock).unwrap_or_default(),
        };
        view.members().iter().map(opening).collect()
    }

    fn application(plan: &Plan, view: &View, users: Vec<Seat>) -> MutexApplication {
        let Plan { entries, hold, holder, seed, .. } = *plan;
        MutexApplication::new(plan.workload.clone(), view, users, entries, hold, holder, seed)
    }

    fn client(plan: &SearchPlan, clients: Vec<Seat>) -> Enters {
        Enters { clients, requests: plan.requests, holder: None }
    }
}

impl Playable for Elections {
    type Application = ElectionApplication;
    type Client = Calls;

    fn openings(_: &Plan, _: &View) -> Vec<()> {
        Vec::new()
    }

    fn application(plan: &Plan, view: &View, users: Vec<Seat>) -> ElectionApplication {
        let call = |&(id, at): &_| Some(Call { seat: view.seat(id)?, at });
        let calls = plan.calls.iter().filter_map(call).collect();
        let application = ElectionApplication::new(view, users, calls, plan.until, plan.seed);
        match plan.asks_every {
            Some(mean) => application.asking_every(mean),
            None => application,
        }
    }

    fn client(plan: &SearchPlan, callers: Vec<Seat>) -> Calls {
        Calls { callers, calls: plan.requests }
    }
}

impl Playable for Detectors {
    type Application = DetectorApplication;
    type Client = Listens;

    fn openings(_: &Plan, _: &View) -> Vec<()> {
        Vec::new()
    }

    fn application(plan: &Plan, _: &View, _: Vec<Seat>) -> DetectorApplication {
        DetectorApplication::new(plan.until)
    }

    fn client(_: &SearchPlan, _: Vec<Seat>) -> Listens {
        Listens
    }
}
