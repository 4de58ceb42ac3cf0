//! One process and what belongs to it: its application, its timers, what it has stored.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use conclave_core::{
    Arrival, Due, Environment, Host, Input, NoticeOf, Protocol, Renaming, Seat, Start, Symmetry,
    View,
};
use conclave_observe::{Observed, Spoken, What};
use smallvec::SmallVec;

use super::{Setup, Users};

/// A process, or its place while it is down.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Node<P: Protocol, S> {
    pub(crate) seat: Seat,
    /// None while it is down.
    pub(crate) process: Option<P>,
    pub(crate) client: S,
    /// Those that are set, in their order.
    pub(crate) timers: SmallVec<[Timer<P::Timer>; 4]>,
    /// What it persisted last.
    pub(crate) stored: Option<P::Stored>,
}

/// A timer that is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timer<T> {
    pub(crate) name: T,
    /// How many ticks from now it may run out; 0 where time is not counted.
    pub(crate) after: u16,
    /// How many ticks from now it must have.
    pub(crate) at_most: u16,
    /// Whether it comes before any other input, once it is due.
    pub(crate) is_deadline: bool,
    /// Whether it is another one than before: it could have run out, and was set anew. Whoever does
    /// that again and again never has to let it run out.
    pub(crate) is_other: bool,
}

/// Of several ways to what is wrong that are equally short, fingerprints choose one. Where there
/// are no deadlines, nothing of theirs is in a fingerprint, so the choice does not change for them.
impl<T: Hash> Hash for Timer<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { name, after, at_most, is_deadline, is_other } = self;
        (name, after, at_most).hash(state);
        state.write_u8(u8::from(*is_other) | u8::from(*is_deadline) << 1);
    }
}

/// Whoever wants to know what a step does, in order.
pub(crate) trait Witness<M> {
    /// It sent a message; one to itself is taken in by the same step.
    fn sent(&mut self, to: Seat, message: &M, copy: bool);
    /// It took in a message of its own.
    fn took_own(&mut self, message: &M);
    /// It told its application something.
    fn told(&mut self, what: What);
    /// It set a timer to what is no whole number of ticks.
    fn rounded(&mut self) {}
    /// The rules that fired since this was last said.
    fn rules(&mut self, _: Vec<&'static str>) {}
}

impl<P, S> Node<P, S>
where
    P: Observed,
    S: Clone + Eq + Hash,
{
    /// Makes the process and does what it wants done at once.
    pub(crate) fn start<C: Users<P::Family, State = S>>(
        &mut self,
        setup: &Setup<'_, P, C>,
        arrival: Arrival,
        host: &mut Host<P>,
        witness: &mut impl Witness<P::Message>,
    ) {
        let (me, config) = (setup.view.at(self.seat), &setup.configs[self.seat.index()]);
        let stored = self.stored.clone();
        let start = match arrival {
            Arrival::Founding => {
                let opening = setup.opening(self.seat);
                Start { opening, ..Start::founding(me, setup.view, config) }
            }
            Arrival::Returning => Start::returning(me, setup.view, config, stored.as_ref()),
        };
        self.process = Some(host.start(start, &mut Surroundings::of(self, setup, witness)));
    }

    /// Takes an input and does what the process wants done about it.
    pub(crate) fn take<C: Users<P::Family, State = S>>(
        &mut self,
        setup: &Setup<'_, P, C>,
        input: Input<P>,
        host: &mut Host<P>,
        witness: &mut impl Witness<P::Message>,
    ) {
        if let Some(mut process) = self.process.take() {
            host.take(&mut process, input, &mut Surroundings::of(self, setup, witness));
            self.process = Some(process);
        }
    }

    /// A timer ran out: it is no longer set.
    pub(crate) fn run_out(&mut self, index: usize) -> P::Timer {
        self.timers.remove(index).name
    }

    /// It dies, and with it all but what it stored.
    pub(crate) fn crash<C: Users<P::Family, State = S>>(&mut self, client: &C) {
        self.process = None;
        self.timers.clear();
        client.crashed(&mut self.client);
    }

    /// A tick passes.
    pub(crate) fn tick(&mut self) {
        for timer in &mut self.timers {
            timer.after = timer.after.saturating_sub(1);
            timer.at_most = timer.at_most.saturating_sub(1);
        }
    }

    /// This process, in a system whose processes are renamed like that.
    pub(crate) fn renamed<C>(
        &self,
        names: &Renaming,
        symmetry: &dyn Symmetry<P>,
        client: &C,
    ) -> Self
    where
        C: Users<P::Family, State = S>,
    {
        let mut renamed = Self {
            seat: names.seat(self.seat),
            process: self.process.as_ref().map(|process| symmetry.process(process, names)),
            client: client.renamed(&self.client, names),
            timers: SmallVec::new(),
            stored: self.stored.as_ref().map(|stored| symmetry.stored(stored, names)),
        };
        for timer in &self.timers {
            renamed.set(Timer { name: symmetry.timer(timer.name, names), ..*timer });
        }
        renamed
    }

    fn set(&mut self, timer: Timer<P::Timer>) {
        self.timers.retain(|set| set.name != timer.name);
        let place = self.timers.iter().position(|set| set.name > timer.name);
        self.timers.insert(place.unwrap_or(self.timers.len()), timer);
    }
}

/// All that is around a process while it takes a step.
struct Surroundings<'a, P: Protocol, C: Users<P::Family>, W> {
    setup: &'a Setup<'a, P, C>,
    node: &'a mut Node<P, C::State>,
    /// The timers that were set when the step began.
    before: SmallVec<[Timer<P::Timer>; 4]>,
    witness: &'a mut W,
}

impl<'a, P: Protocol, C: Users<P::Family>, W> Surroundings<'a, P, C, W> {
    fn of(node: &'a mut Node<P, C::State>, setup: &'a Setup<'a, P, C>, witness: &'a mut W) -> Self {
        let before = node.timers.clone();
        Self { setup, node, before, witness }
    }
}

impl<P, C, W> Environment<P> for Surroundings<'_, P, C, W>
where
    P: Observed,
    C: Users<P::Family>,
    W: Witness<P::Message>,
{
    fn view(&self) -> &View {
        self.setup.view
    }

    fn seat(&self) -> Seat {
        self.node.seat
    }

    fn stepped(&mut self, _: &P, rules: Vec<&'static str>) {
        self.witness.rules(rules);
    }

    fn send(&mut self, to: Seat, message: P::Message, is_copy: bool) {
        self.witness.sent(to, &message, is_copy);
    }

    fn send_own(&mut self, message: &P::Message, is_copy: bool) {
        self.witness.sent(self.node.seat, message, is_copy);
    }

    fn take_own(&mut self, message: &P::Message) {
        self.witness.took_own(message);
    }

    fn notify(&mut self, notice: NoticeOf<P>) {
        if let Some(said) = P::Family::told(&notice, self.setup.view) {
            self.witness.told(What::Told(said));
        }
        self.setup.client.told(&mut self.node.client, &notice);
    }

    fn set_timer(&mut self, name: P::Timer, due: Due) {
        let (after, at_most, is_deadline) = match due {
            Due::Within { after, at_most } => (after, at_most, false),
            Due::Deadline(after) => (after, after, true),
        };
        let time = self.setup.time;
        let (after, at_most) = (time.ticks(after), time.ticks(at_most));
        if after.is_rounded || at_most.is_rounded {
            self.witness.rounded();
        }
        let mut is_other = false;
        if self.setup.tells_renewals && after.count == 0 {
            let old = self.before.iter().find(|set| set.name == name);
            is_other = old.is_some_and(|old| !old.is_other);
        }
        let (after, at_most) = (after.count, at_most.count);
        self.node.set(Timer { name, after, at_most, is_deadline, is_other });
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.node.timers.retain(|set| set.name != timer);
    }

    fn persist(&mut self, stored: P::Stored) {
        self.node.stored = Some(stored);
    }
}
