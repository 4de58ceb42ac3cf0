//! A protocol with one rule deleted or changed, as a protocol of its own: what every property must
//! be able to catch. Who tampers with it is said by [`conclave_core::tamper`].

use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};

pub use conclave_core::tamper::{
    Anybody, Nobody, Tamper, does, forgets, hears, loses, persists_nothing, put, says, step,
};
use conclave_core::{Effects, Input, Lift, ProcessId, Protocol, Renaming, Start, Symmetry};

/// A process in the hands of somebody who tampers with it. It is not asked for its own invariants:
/// what it does to others must give it away.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Mutant<P, H> {
    process: P,
    hands: H,
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
