//! A protocol with one rule deleted or changed: what every property must be able to catch.
//!
//! The rules of the protocol itself stay as they are. Somebody sits between it and its runner, and
//! changes what it hears, says or remembers; who that is, is chosen at compile time.

use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use conclave_core::{Effect, Effects, Input, Lift, ProcessId, Protocol, Renaming, Start, Symmetry};

/// A process in the hands of somebody who tampers with it. It is not asked for its own invariants:
/// what it does to others must give it away.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Mutant<P, H> {
    process: P,
    hands: H,
}

/// Who tampers with a process, and how; by default it is left alone.
pub trait Tamper<P: Protocol>: Clone + Send + Sync {
    /// Makes the first state.
    fn start(&self, start: Start<'_, P>, out: &mut Effects<P>) -> P {
        P::start(start, out)
    }

    /// Takes a step.
    fn on(&self, process: &mut P, input: Input<P>, out: &mut Effects<P>) {
        process.on(input, out);
    }

    /// Renames it, as the process says that it is renamed.
    fn renamed(&self, process: &P, symmetry: &dyn Symmetry<P>, names: &Renaming) -> P {
        symmetry.process(process, names)
    }
}

impl<P, F> Tamper<P> for F
where
    P: Protocol,
    F: Fn(&mut P, Input<P>, &mut Effects<P>) + Clone + Send + Sync,
{
    fn on(&self, process: &mut P, input: Input<P>, out: &mut Effects<P>) {
        self(process, input, out);
    }
}

/// Leaves the process alone.
#[derive(Clone, Debug)]
pub struct Nobody;

impl<P: Protocol> Tamper<P> for Nobody {}

/// Whoever tampers, behind one type, so that a runner is compiled once for each protocol.
pub struct Anybody<P>(Arc<dyn Tampers<P>>);

/// As [`Tamper`], of whom the type is not known.
trait Tampers<P: Protocol>: Send + Sync {
    fn start(&self, start: Start<'_, P>, out: &mut Effects<P>) -> P;
    fn on(&self, process: &mut P, input: Input<P>, out: &mut Effects<P>);
}

impl<P: Protocol, T: Tamper<P>> Tampers<P> for T {
    fn start(&self, start: Start<'_, P>, out: &mut Effects<P>) -> P {
        Tamper::start(self, start, out)
    }

    fn on(&self, process: &mut P, input: Input<P>, out: &mut Effects<P>) {
        Tamper::on(self, process, input, out);
    }
}

impl<P: Protocol> Anybody<P> {
    /// The given tampering, as a value that can be cloned and shared.
    pub fn new(tamper: impl Tamper<P> + 'static) -> Self {
        Self(Arc::new(tamper))
    }
}

impl<P> Clone for Anybody<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Protocol> Tamper<P> for Anybody<P> {
    fn start(&self, start: Start<'_, P>, out: &mut Effects<P>) -> P {
        self.0.start(start, out)
    }

    fn on(&self, process: &mut P, input: Input<P>, out: &mut Effects<P>) {
        self.0.on(process, input, out);
    }
}

/// A process in somebody's hands.
pub type Held<P> = Mutant<P, Hands<Anybody<P>>>;

/// What it is configured with.
pub type Holding<P> = <Held<P> as Protocol>::Config;

/// The configurations of processes, by seat, all of which are in these hands.
pub fn held<P: Protocol>(
    configs: &[P::Config],
    tamper: impl Tamper<P> + 'static,
) -> Vec<Holding<P>> {
    let hands = Hands(Anybody::new(tamper));
    configs.iter().map(|config| (config.clone(), hands.clone())).collect()
}

/// All mutants of a run are in the same hands, so these are no part of their state.
#[derive(Clone)]
pub struct Hands<T>(pub T);

impl<T> PartialEq for Hands<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Hands<T> {}

impl<T> Hash for Hands<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<T> Debug for Hands<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Hands")
    }
}

impl<P: Protocol, T: Tamper<P> + 'static> Protocol for Mutant<P, Hands<T>> {
    type Family = P::Family;
    type Config = (P::Config, Hands<T>);
    type Message = P::Message;
    type Timer = P::Timer;
    type Stored = P::Stored;
    type Word = P::Word;

    const READS_CLOCK: bool = P::READS_CLOCK;

    fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
        let (config, hands) = start.config;
        let mut inner = out.inner();
        let part = Start { stored: start.stored, ..start.part(config, start.opening.clone()) };
        let process = hands.0.start(part, &mut inner);
        pass_on(&mut inner, out);
        Self { process, hands: hands.clone() }
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        let input = match input {
            Input::Command(command) => Input::Command(command),
            Input::Message { from, message } => Input::Message { from, message },
            Input::Timer(timer) => Input::Timer(timer),
            Input::Word(word) => Input::Word(word),
            Input::Reading(now) => Input::Reading(now),
        };
        let mut inner = out.inner();
        self.hands.0.on(&mut self.process, input, &mut inner);
        pass_on(&mut inner, out);
    }

    fn epoch(&self) -> u64 {
        self.process.epoch()
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        self.process.waits_for()
    }

    fn symmetry() -> Option<&'static dyn Symmetry<Self>> {
        P::symmetry().map(|_| &Alike as &dyn Symmetry<Self>)
    }
}

/// Mutants are renamed as what they are mutants of, unless whoever tampers does it otherwise.
struct Alike;

impl<P: Protocol, T: Tamper<P> + 'static> Symmetry<Mutant<P, Hands<T>>> for Alike {
    fn process(&self, mutant: &Mutant<P, Hands<T>>, names: &Renaming) -> Mutant<P, Hands<T>> {
        let process = mutant.hands.0.renamed(&mutant.process, of::<P>(), names);
        Mutant { process, hands: mutant.hands.clone() }
    }

    fn message(&self, message: &P::Message, names: &Renaming) -> P::Message {
        of::<P>().message(message, names)
    }

    fn timer(&self, timer: P::Timer, names: &Renaming) -> P::Timer {
        of::<P>().timer(timer, names)
    }

    fn stored(&self, stored: &P::Stored, names: &Renaming) -> P::Stored {
        of::<P>().stored(stored, names)
    }
}

fn of<P: Protocol>() -> &'static dyn Symmetry<P> {
    P::symmetry().expect("a mutant has a symmetry only if its process has one")
}

/// Does what a process wants done, as it is.
fn pass_on<P, T>(inner: &mut Effects<P>, out: &mut Effects<Mutant<P, Hands<T>>>)
where
    P: Protocol,
    T: Tamper<P> + 'static,
{
    out.lift(
        inner,
        Lift {
            send: |to, message| Some((to, message)),
            timer: |timer| timer,
            stored: Some,
            notice: |notice, out: &mut Effects<Mutant<P, Hands<T>>>| out.notify(notice),
        },
    );
}

/// What a process does about an input.
pub fn step<P: Protocol>(process: &mut P, input: Input<P>) -> Vec<Effect<P>> {
    let mut out = Effects::new();
    process.on(input, &mut out);
    out.drain().collect()
}

/// What a process does about an input in the world of `out`, which is told the rules and no more.
fn step_within<P: Protocol>(
    process: &mut P,
    input: Input<P>,
    out: &mut Effects<P>,
) -> Vec<Effect<P>> {
    process.on(input, out);
    out.drain().collect()
}

/// Does it after all.
pub fn put<P: Protocol>(effects: impl IntoIterator<Item = Effect<P>>, out: &mut Effects<P>) {
    effects.into_iter().for_each(|effect| out.push(effect));
}

/// Every message it gets is tampered with.
pub fn hears<P: Protocol>(
    change: impl Fn(&mut P::Message) + Clone + Send + Sync,
) -> impl Tamper<P> {
    move |process: &mut P, mut input: Input<P>, out: &mut Effects<P>| {
        if let Input::Message { message, .. } = &mut input {
            change(message);
        }
        process.on(input, out);
    }
}

/// Every message it sends is tampered with.
pub fn says<P: Protocol>(change: impl Fn(&mut P::Message) + Clone + Send + Sync) -> impl Tamper<P> {
    move |process: &mut P, input: Input<P>, out: &mut Effects<P>| {
        let mut effects = step_within(process, input, out);
        for effect in &mut effects {
            if let Effect::Send { message, .. } = effect {
                change(message);
            }
        }
        put(effects, out);
    }
}

/// Some messages that it should send it does not.
pub fn loses<P: Protocol>(
    is_lost: impl Fn(&Input<P>, ProcessId, &P::Message) -> bool + Clone + Send + Sync,
) -> impl Fn(&mut P, Input<P>, &mut Effects<P>) + Clone + Send + Sync {
    move |process: &mut P, input: Input<P>, out: &mut Effects<P>| {
        let mut effects = step_within(process, input.clone(), out);
        effects.retain(|effect| match effect {
            Effect::Send { to, message, .. } => !is_lost(&input, *to, message),
            _ => true,
        });
        put(effects, out);
    }
}

/// Some steps it takes and is, after them, as it was before.
pub fn forgets<P: Protocol>(
    is_forgotten: impl Fn(&Input<P>, &[Effect<P>]) -> bool + Clone + Send + Sync,
) -> impl Tamper<P> {
    move |process: &mut P, input: Input<P>, out: &mut Effects<P>| {
        let before = process.clone();
        let effects = step_within(process, input.clone(), out);
        if is_forgotten(&input, &effects) {
            *process = before;
        }
        put(effects, out);
    }
}

/// Nothing that it keeps survives a crash.
pub fn persists_nothing<P: Protocol>() -> impl Tamper<P> {
    does(|_: &Input<P>, effects: &mut Vec<Effect<P>>| {
        effects.retain(|effect| !matches!(effect, Effect::Persist(_)));
    })
}

/// What it does is tampered with.
pub fn does<P: Protocol>(
    change: impl Fn(&Input<P>, &mut Vec<Effect<P>>) + Clone + Send + Sync,
) -> impl Fn(&mut P, Input<P>, &mut Effects<P>) + Clone + Send + Sync {
    move |process: &mut P, input: Input<P>, out: &mut Effects<P>| {
        let mut effects = step_within(process, input.clone(), out);
        change(&input, &mut effects);
        put(effects, out);
    }
}
