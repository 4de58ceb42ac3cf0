//! A run that is taken one event at a time.

use alloc::vec::Vec;

use conclave_core::{CommandOf, Protocol, Seat, View};
use conclave_observe::trace::{PendingTimer, Record};
use conclave_observe::{Ending, Observed, Time};

use crate::agenda::Agenda;
use crate::calendar::Calendar;
use crate::timers::Timers;
use crate::wire::{Flight, TimedWire, Wire};
use crate::world::World;
use crate::{Act, Application, Intervention, Letter, Network, Outcome, Setup};

/// A run under way: whoever holds it decides when the next event happens, and may intervene before.
/// It is recorded. Taken to its end without interventions, it is the run that
/// [`simulate`](crate::simulate) does at once.
pub struct Simulation<'a, P: Protocol, A> {
    world: World<'a, P, A, TimedWire<P::Message>, true>,
    ending: Option<Ending>,
    interventions: Vec<Intervention>,
}

/// A message on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InFlight {
    /// The message, by its sender and number.
    pub message: Letter,
    /// Who sent it.
    pub from: Seat,
    /// Who shall receive it.
    pub to: Seat,
}

/// What of a run takes the more memory the more take part, beside the states of the processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// How many messages are on their way.
    pub messages: usize,
    /// How many timers are set.
    pub timers: usize,
}

/// How much memory a run on that network takes for one message on its way, beside what the message
/// itself keeps elsewhere.
pub fn bytes_per_message<P: Protocol>(network: Network) -> usize {
    match network {
        Network::Unit => size_of::<Flight<P::Message>>(),
        _ => Calendar::<Flight<P::Message>>::ITEM_BYTES,
    }
}

/// How much memory a run takes for one timer that is set.
pub fn bytes_per_timer<P: Protocol>() -> usize {
    Timers::<P::Timer>::SLOT_BYTES + Agenda::<CommandOf<P>, P::Timer>::ITEM_BYTES
}

impl<'a, P, A> Simulation<'a, P, A>
where
    P: Observed,
    A: Application<P::Family>,
{
    /// All processes have started, and nothing else has happened.
    pub fn new(setup: &'a Setup<'a, P>, application: A) -> Self {
        let wire = TimedWire::new(setup.network, setup.order, setup.view.len(), setup.seed);
        let mut world = World::new(setup, application, wire);
        world.begin();
        Self { world, ending: None, interventions: Vec::new() }
    }

    /// Lets exactly one thing happen. `Some` says how the run ended: because nothing was left to
    /// happen, or because the judge had seen enough of what just did.
    pub fn step(&mut self) -> Option<Ending> {
        let before = self.events();
        while self.ending.is_none() && self.events() == before {
            self.ending = self.world.intervene_as_planned().or_else(|| self.world.step());
        }
        self.ending
    }

    /// Does something to it from outside, before its next event. Whether that changed anything.
    pub fn intervene(&mut self, act: Act) -> bool {
        // What is planned for the same moment comes first.
        self.ending = self.ending.or_else(|| self.world.intervene_as_planned());
        let has_changed = self.ending.is_none() && self.world.act(act);
        if has_changed {
            self.interventions.push(Intervention { before: self.events(), act });
            self.ending = self.world.ending_by_news();
        }
        has_changed
    }

    /// What was done to it by hand, so far. A plan with these gives the same run.
    pub fn interventions(&self) -> &[Intervention] {
        &self.interventions
    }

    /// How many events have happened: commands, deliveries, timers, faults.
    pub fn events(&self) -> u64 {
        self.world.events()
    }

    /// When the last of them happened.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// What has happened so far.
    pub fn records(&self) -> &[Record] {
        self.world.records()
    }

    /// All messages on their way, in the order of their arrival.
    pub fn in_flight(&self) -> Vec<InFlight> {
        let (view, flights) = (self.world.view(), self.world.wire().flights());
        flights
            .into_iter()
            .map(|it| InFlight { message: Letter::of(it.id, view), from: it.from, to: it.to })
            .collect()
    }

    /// How much there is of what takes memory, beside the states of the processes.
    pub fn load(&self) -> Load {
        Load { messages: self.world.wire().len(), timers: self.world.timers_set() }
    }

    /// What is said in the messages on their way, in the order of their arrival.
    pub fn messages(&self) -> Vec<&P::Message> {
        self.world.wire().flights().into_iter().map(|flight| &flight.message).collect()
    }

    /// Who takes part.
    pub fn view(&self) -> &'a View {
        self.world.view()
    }

    /// The process there; `None` while it is down.
    pub fn process(&self, seat: Seat) -> Option<&P> {
        self.world.process(seat)
    }

    /// The timers that the process there has set, by name.
    pub fn timers(&self, seat: Seat) -> Vec<PendingTimer> {
        self.world.timers(seat)
    }

    /// Takes it to its end, and says what came of it. `progress` is told the number of entries now
    /// and then.
    pub fn finish(self, progress: &mut dyn FnMut(u64)) -> Outcome {
        let Self { mut world, ending, .. } = self;
        let ending = ending.unwrap_or_else(|| world.go_on(progress));
        world.finish(ending)
    }

    /// Leaves it as it is, and says what came of it so far: like a run whose budget is spent.
    pub fn cut_short(self) -> Outcome {
        self.world.finish(self.ending.unwrap_or(Ending::BudgetSpent))
    }
}
