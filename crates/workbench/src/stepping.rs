//! A run that is taken one event at a time, whatever its algorithm.

use alloc::vec::Vec;

use conclave_algorithms::catalogue::{self, Entry, Listed, SeatingError, Visitor};
use conclave_core::{Seat, View};
use conclave_observe::trace::{Record, Standing};
use conclave_observe::{Ending, Observed, Time};
use conclave_sim::{Act, Application, InFlight, Intervention, Outcome, Recording, Simulation};

use crate::family::Playable;
use crate::plan::{Done, Plan};
use crate::show::show;

/// A run under way, in the hands of whoever watches it.
pub trait Stepping {
    /// Lets exactly one thing happen. `Some` if nothing more is to come.
    fn step(&mut self) -> Option<Ending>;
    /// Does something to it before its next event. Whether that changed anything.
    fn intervene(&mut self, act: Act) -> bool;
    /// What was done to it by hand, so far.
    fn interventions(&self) -> &[Intervention];
    /// How many events have happened.
    fn events(&self) -> u64;
    /// When the last of them happened.
    fn now(&self) -> Time;
    /// What has happened so far.
    fn records(&self) -> &[Record];
    /// All messages on their way, in the order of their arrival.
    fn in_flight(&self) -> Vec<InFlight>;
    /// How the process there stands; `None` while it is down.
    fn standing(&self, seat: Seat) -> Option<Standing>;
}

impl<P, A> Stepping for Simulation<'_, P, A>
where
    P: Observed + Listed,
    A: Application<P::Family>,
{
    fn step(&mut self) -> Option<Ending> {
        Simulation::step(self)
    }

    fn intervene(&mut self, act: Act) -> bool {
        Simulation::intervene(self, act)
    }

    fn interventions(&self) -> &[Intervention] {
        Simulation::interventions(self)
    }

    fn events(&self) -> u64 {
        Simulation::events(self)
    }

    fn now(&self) -> Time {
        Simulation::now(self)
    }

    fn records(&self) -> &[Record] {
        Simulation::records(self)
    }

    fn in_flight(&self) -> Vec<InFlight> {
        Simulation::in_flight(self)
    }

    fn standing(&self, seat: Seat) -> Option<Standing> {
        let state = show(self.process(seat)?, self.view());
        Some(Standing { state, timers: self.timers(seat) })
    }
}

impl Plan {
    /// Carries it out by hand: `hand` lets events happen one by one and does to the run what it
    /// likes; what it leaves happens by itself. The plan that comes back has all that was done, so
    /// that it gives the same run again.
    pub fn run_by_hand(
        mut self,
        hand: &mut dyn FnMut(&mut dyn Stepping),
    ) -> Result<Done, SeatingError> {
        let checks = core::mem::take(&mut self.check_invariants);
        self.recording = Recording::Everything;
        let view = self.entry.view_of(&self.clients)?;
        let seating = self.seating(&view);
        let by_hand = ByHand { plan: &self, view: &view, hand };
        let (outcome, done) = catalogue::visit(self.entry, &seating, by_hand)?;
        self.interventions.extend(done);
        // What a hand may do breaks what invariants rest on; whether it did is known only now.
        self.check_invariants = checks;
        // What was planned for the same moment was done first, and stays so.
        self.interventions.sort_by_key(|intervention| intervention.before);
        Ok(Done { plan: self, view, outcome, replayed: None })
    }
}

struct ByHand<'a> {
    plan: &'a Plan,
    view: &'a View,
    hand: &'a mut dyn FnMut(&mut dyn Stepping),
}

impl<F: Playable> Visitor<F> for ByHand<'_> {
    type Output = (Outcome, Vec<Intervention>);

    fn visit<P>(self, entry: &'static Entry, configs: Vec<P::Config>) -> Self::Output
    where
        P: Listed<Family = F>,
    {
        let Self { plan, view, hand } = self;
        let openings = F::openings(plan, view);
        let setup = plan.setup::<P>(view, &configs, &openings);
        let application = F::application(plan, view, entry.clients(view));
        let mut simulation = Simulation::new(&setup, application);
        hand(&mut simulation);
        let interventions = simulation.interventions().to_vec();
        (simulation.finish(&mut |_| {}), interventions)
    }
}
