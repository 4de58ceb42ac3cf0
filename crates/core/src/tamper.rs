//! A protocol with one rule deleted or changed, without a change to the protocol: a mutant.
//!
//! The rules of the protocol itself stay as they are. Somebody sits between it and its runner, and
//! changes what it hears, says or remembers. A [`Host`](crate::Host) can be given such a one, so
//! that any runner runs mutants with the types of the protocol itself.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::{Effect, Effects, Input, ProcessId, Protocol, Renaming, Start, Symmetry};

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

impl<P> fmt::Debug for Anybody<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Anybody")
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
