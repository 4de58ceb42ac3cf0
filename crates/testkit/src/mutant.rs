//! A protocol with one rule deleted or changed: what every property must be able to catch.
//!
//! The rules of the protocol itself stay as they are. Somebody sits between it and its runner, and
//! changes what it hears, says or remembers; who that is, is chosen at compile time.

use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use conclave_core::{Effect, Effects, Input, ProcessId, Protocol, Renaming, Start};

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
    fn start(&self, start: Start<'_, P::Config, P::Stored>, out: &mut Effects<P>) -> P {
        P::start(start, out)
    }

    /// Takes a step.
    fn on(&self, process: &mut P, input: Input<P>, out: &mut Effects<P>) {
        process.on(input, out);
    }

    /// Renames it.
    fn renamed(&self, process: &P, names: &Renaming) -> Option<P> {
        process.renamed(names)
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
    fn start(&self, start: Start<'_, P::Config, P::Stored>, out: &mut Effects<P>) -> P;
    fn on(&self, process: &mut P, input: Input<P>, out: &mut Effects<P>);
}

impl<P: Protocol, T: Tamper<P>> Tampers<P> for T {
    fn start(&self, start: Start<'_, P::Config, P::Stored>, out: &mut Effects<P>) -> P {
        Tamper::start(self, start, out)
    }

    fn on(&self, process: &mut P, input: Input<P>, out: &mut Effects<P>) {
        Tamper::on(self, process, input, out);
    }
}

impl<P> Clone for Anybody<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Protocol> Tamper<P> for Anybody<P> {
    fn start(&self, start: Start<'_, P::Config, P::Stored>, out: &mut Effects<P>) -> P {
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

/// The configuration of a process in these hands.
pub fn held<P: Protocol>(config: &P::Config, tamper: impl Tamper<P> + 'static) -> Holding<P> {
    (config.clone(), Hands(Anybody(Arc::new(tamper))))
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

impl<P: Protocol, T: Tamper<P>> Protocol for Mutant<P, Hands<T>> {
    type Config = (P::Config, Hands<T>);
    type Command = P::Command;
    type Message = P::Message;
    type Timer = P::Timer;
    type Notice = P::Notice;
    type Stored = P::Stored;

    fn start(start: Start<'_, Self::Config, P::Stored>, out: &mut Effects<Self>) -> Self {
        let Start { me, view, holder, clock, arrival, stored, config: (config, hands) } = start;
        let mut inner = out.inner();
        let start = Start { me, view, holder, clock, arrival, stored, config };
        let process = hands.0.start(start, &mut inner);
        out.take_rules_of(&mut inner);
        put(inner.drain(), out);
        Self { process, hands: hands.clone() }
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        let input = match input {
            Input::Command(command) => Input::Command(command),
            Input::Message { from, message } => Input::Message { from, message },
            Input::Timer(timer) => Input::Timer(timer),
            Input::Detector(word) => Input::Detector(word),
        };
        let mut inner = out.inner();
        self.hands.0.on(&mut self.process, input, &mut inner);
        out.take_rules_of(&mut inner);
        put(inner.drain(), out);
    }

    fn term(&self) -> u64 {
        self.process.term()
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        self.process.waits_for()
    }

    fn renamed(&self, names: &Renaming) -> Option<Self> {
        Some(Self {
            process: self.hands.0.renamed(&self.process, names)?,
            hands: self.hands.clone(),
        })
    }

    fn renamed_timer(timer: P::Timer, names: &Renaming) -> P::Timer {
        P::renamed_timer(timer, names)
    }

    fn renamed_stored(stored: &P::Stored, names: &Renaming) -> P::Stored {
        P::renamed_stored(stored, names)
    }
}

/// What a process does about an input, if its clock stands still.
pub fn step<P: Protocol>(process: &mut P, input: Input<P>) -> Vec<Effect<P>> {
    step_at(Duration::ZERO, process, input)
}

/// What a process does about an input when its clock shows that.
pub fn step_at<P: Protocol>(now: Duration, process: &mut P, input: Input<P>) -> Vec<Effect<P>> {
    let mut out = Effects::new();
    out.set_now(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
    process.on(input, &mut out);
    out.drain().collect()
}

/// What a process does about an input in the world of `out`, which is told the rules and no more.
fn step_within<P: Protocol>(
    process: &mut P,
    input: Input<P>,
    out: &mut Effects<P>,
) -> Vec<Effect<P>> {
    let mut inner = out.inner();
    process.on(input, &mut inner);
    out.take_rules_of(&mut inner);
    inner.drain().collect()
}

/// Does it after all.
pub fn put<P, Q>(effects: impl IntoIterator<Item = Effect<P>>, out: &mut Effects<Q>)
where
    P: Protocol,
    Q: Protocol<Message = P::Message, Timer = P::Timer, Notice = P::Notice, Stored = P::Stored>,
{
    for effect in effects {
        match effect {
            Effect::Send { to, message, .. } => out.send(to, message),
            Effect::Notify(notice) => out.notify(notice),
            Effect::SetTimer { timer, after, at_most } => {
                out.set_timer_within(timer, after..=at_most);
            }
            Effect::CancelTimer(timer) => out.cancel_timer(timer),
            Effect::Persist(stored) => out.persist(stored),
        }
    }
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
