//! A process, as a state machine.

use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;

use crate::{Effects, Family, Input, Message, OpeningOf, ProcessId, Symmetry, View};

/// One process of a distributed algorithm: `p = (S, s0, M, ->)`.
///
/// The type is `S`, [`start`](Self::start) makes `s0`, [`Message`](Self::Message) is `M`, and
/// [`on`](Self::on) is the transition `S x M -> S x 2^(P x M)`: it takes what happened, changes the
/// state, and puts what is to be done into `out`. It reads no clock, draws no random number and
/// touches nothing outside; whatever it needs from there comes in as an input.
///
/// State is plain data: two processes that are equal behave alike for ever.
///
/// # What it can rely on
///
/// A [`Host`](crate::Host) runs it, whatever the world: its documentation says what that promises.
///
/// # What a protocol promises
///
/// Every input is legal in every state: one that makes no sense there (a reply that nobody waits
/// for) changes nothing. A step cannot fail and does not panic. Equal states and equal inputs give
/// equal states and equal effects.
///
/// # Example
///
/// The Pinger: it answers every ping, by turns with "pong" and "ping".
///
/// ```
/// use conclave_core::{
///     Effects, Family, Input, Kind, KindIndex, Message, NoWord, ProcessId, Protocol, Start, View,
/// };
///
/// /// Nobody asks a Pinger for anything; it says what it hears.
/// enum Pingers {}
///
/// impl Family for Pingers {
///     const NAME: &'static str = "pinger";
///     type Command = ();
///     type Notice = &'static str;
///     type Opening = ();
/// }
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// struct Pinger {
///     output_ping: bool,
/// }
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// struct Ping;
///
/// impl Message for Ping {
///     const KINDS: &'static [Kind] = &[Kind::upkeep("ping")];
///     fn kind(&self) -> KindIndex {
///         0
///     }
/// }
///
/// impl Protocol for Pinger {
///     type Family = Pingers;
///     type Config = ();
///     type Message = Ping;
///     type Timer = ();
///     type Stored = ();
///     type Word = NoWord;
///
///     fn start(_: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
///         Pinger { output_ping: false }
///     }
///
///     fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
///         if let Input::Message { .. } = input {
///             out.notify(if self.output_ping { "ping" } else { "pong" });
///             self.output_ping = !self.output_ping;
///         }
///     }
/// }
///
/// let mut out = Effects::new();
/// let (view, me) = (View::dense(1, 2), ProcessId(1));
/// let mut pinger = Pinger::start(Start::founding(me, &view, &()), &mut out);
/// for _ in 0..2 {
///     pinger.on(Input::Message { from: ProcessId(2), message: Ping }, &mut out);
/// }
/// let said: Vec<_> = out.drain().collect();
/// assert_eq!(format!("{said:?}"), r#"[Notify("pong"), Notify("ping")]"#);
/// ```
pub trait Protocol: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// What it is for: what its application asks for and is told.
    type Family: Family;
    /// What a process knows before it starts: its role, a variant, voting sets, times.
    type Config: Clone + Debug + Send + Sync;
    /// What members say to each other.
    type Message: Message;
    /// The timers it sets, by name; `()` if none.
    type Timer: Copy + Debug + Ord + Hash + Send + Sync;
    /// What survives a crash; `()` if nothing does.
    type Stored: Clone + Debug + Eq + Hash + Send + Sync;
    /// What a service that it stands on says to it, such as a failure detector;
    /// [`NoWord`](crate::NoWord) if it stands on none.
    type Word: Clone + Debug + Eq + Hash + Send + Sync;

    /// Whether it needs to know what its clock shows: it then gets an [`Input::Reading`] before
    /// every input. A world without clocks refuses such a protocol. Most need [timers and
    /// deadlines](Effects::set_deadline) alone.
    const READS_CLOCK: bool = false;

    /// The first state, and what is to be done at once.
    fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self;

    /// The transition: one `match`, one arm per rule of the paper.
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>);

    /// What is always true of the state, whatever happened: `Err` says which invariant broke.
    /// Runners ask after every step while testing.
    fn invariants(&self) -> Result<(), &'static str> {
        Ok(())
    }

    /// The highest term, epoch or ballot that it has heard of, where there are such numbers: a
    /// search that cannot end otherwise ends there.
    fn epoch(&self) -> u64 {
        0
    }

    /// Whose word this process needs before it can go on, as far as it knows. For diagnosis alone:
    /// it words the reason of a verdict, and no verdict depends on it.
    fn waits_for(&self) -> Vec<ProcessId> {
        Vec::new()
    }

    /// How it is renamed, where a name says who is who and no more: a search can take states for
    /// one that differ in nothing but names then. `None` where names say more: ties are broken by
    /// id, or a ring goes by seats.
    fn symmetry() -> Option<&'static dyn Symmetry<Self>> {
        None
    }
}

/// What a process is told at its start: where it sits, with whom, and what is known already.
#[derive(Debug)]
pub struct Start<'a, P: Protocol> {
    /// The id of the process that starts.
    pub me: ProcessId,
    /// Who takes part; `me` is among them.
    pub view: &'a View,
    /// Whether it founds the system or comes back to it.
    pub arrival: Arrival,
    /// What is known already as the system begins; nothing, for one who comes back.
    pub opening: OpeningOf<P>,
    /// What it persisted last in an earlier life, if it had one and persisted anything.
    pub stored: Option<&'a P::Stored>,
    /// What it knows before it starts.
    pub config: &'a P::Config,
}

/// How a process comes to be there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arrival {
    /// At the beginning, with all others: the first member may mint what there must be one of.
    Founding,
    /// After a crash, with its memory lost but for what it persisted, among others that went on.
    Returning,
}

impl<'a, P: Protocol> Start<'a, P> {
    /// The usual start: everybody at once, and nothing known.
    pub fn founding(me: ProcessId, view: &'a View, config: &'a P::Config) -> Self {
        let (arrival, opening) = (Arrival::Founding, Default::default());
        Self { me, view, arrival, opening, stored: None, config }
    }

    /// The start of one who comes back, with what it persisted.
    pub fn returning(
        me: ProcessId,
        view: &'a View,
        config: &'a P::Config,
        stored: Option<&'a P::Stored>,
    ) -> Self {
        Self { arrival: Arrival::Returning, stored, ..Self::founding(me, view, config) }
    }

    /// The start of a part of this process, which knows what the whole does but for what it
    /// persisted.
    pub fn part<Q: Protocol>(&self, config: &'a Q::Config, opening: OpeningOf<Q>) -> Start<'a, Q> {
        let Self { me, view, arrival, .. } = *self;
        Start { me, view, arrival, opening, stored: None, config }
    }
}
