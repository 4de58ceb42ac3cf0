//! A process, as a state machine.

use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;

use crate::clock::Timestamp;
use crate::{Effects, Input, Message, ProcessId, Renaming, View};

/// One process of a distributed algorithm: `p = (S, s0, M, ->)`.
///
/// The type is `S`, [`start`](Self::start) makes `s0`, [`Message`](Self::Message) is `M`, and
/// [`on`](Self::on) is the transition `S x M -> S x 2^(P x M)`: it takes what happened, changes the
/// state, and puts what is to be done into `out`. It reads no clock, draws no random number and
/// touches nothing outside; whatever it needs from there comes in as an input.
///
/// State is plain data: two processes that are equal behave alike for ever.
///
/// # What a runner promises
///
/// A runner (simulator, search, network driver) owns the processes and one effects buffer, and runs
/// this loop:
///
/// 1. make each process by `start`, once, before any input of its own; a crash ends it, and a
///    return is another `start`, with [`Arrival::Returning`];
/// 2. take one input: a command, a message that was sent to this process, a timer that ran out;
/// 3. call `on` with it; no second input goes in before step 4 is done;
/// 4. perform all effects, in order. A message to oneself is taken as the next input, before any
///    other; any other may take any time, be lost or doubled only where the run says so, and
///    overtake another of the same channel only where the channels are said not to be FIFO;
/// 5. a timer runs out at most once per setting, replaces an earlier setting of the same name, and
///    never runs out after `cancel_timer`;
/// 6. what a step persists is safe before its later effects are performed;
/// 7. back to 2. A crash loses all state but what was persisted last.
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
/// use conclave_core::{Effects, Input, Kind, KindIndex, Message, ProcessId, Protocol, Start, View};
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
///     type Config = ();
///     type Command = ();
///     type Message = Ping;
///     type Timer = ();
///     type Notice = &'static str;
///     type Stored = ();
///
///     fn start(_: Start<'_, ()>, _: &mut Effects<Self>) -> Self {
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
pub trait Protocol: Clone + Debug + Eq + Hash + Send + Sync {
    /// What all members agree on before they start: a variant, voting sets, a coordinator.
    type Config: Clone + Debug + Send + Sync;
    /// What the application can ask for.
    type Command: Clone + Debug + Eq + Hash + Send + Sync;
    /// What members say to each other.
    type Message: Message;
    /// The timers it sets, by name; `()` if none.
    type Timer: Copy + Debug + Ord + Hash + Send + Sync;
    /// What the application is told.
    type Notice: Clone + Debug + Eq + Hash + Send + Sync;
    /// What survives a crash; `()` if nothing does.
    type Stored: Clone + Debug + Eq + Hash + Send + Sync;

    /// The first state, and what is to be done at once.
    fn start(start: Start<'_, Self::Config, Self::Stored>, out: &mut Effects<Self>) -> Self;

    /// The transition: one `match`, one arm per rule of the paper.
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>);

    /// What is always true of the state, whatever happened: `Err` says which invariant broke.
    /// Runners ask after every step while testing.
    fn invariants(&self) -> Result<(), &'static str> {
        Ok(())
    }

    /// The highest term it has heard of, where elections are numbered: a search that cannot end
    /// otherwise ends there.
    fn term(&self) -> u64 {
        0
    }

    /// Whose word this process needs before it can go on, as far as it knows. For diagnosis alone:
    /// it words the reason of a verdict, and no verdict depends on it.
    fn waits_for(&self) -> Vec<ProcessId> {
        Vec::new()
    }

    /// The same process among others by other names, where a name says who is who and no more: it
    /// does about a renamed input what this one does, renamed. A search can take states for one
    /// that differ in nothing but names then.
    ///
    /// `None` in every state where names say more: ties are broken by id, or a ring goes by seats.
    fn renamed(&self, _: &Renaming) -> Option<Self> {
        None
    }

    /// The same timer, if it is named after somebody.
    fn renamed_timer(timer: Self::Timer, _: &Renaming) -> Self::Timer {
        timer
    }

    /// What such a process would have persisted.
    fn renamed_stored(stored: &Self::Stored, _: &Renaming) -> Self::Stored {
        stored.clone()
    }
}

/// What a process is told at its start: where it sits, with whom, and what is known already.
#[derive(Debug)]
pub struct Start<'a, C, S = ()> {
    /// Who it is.
    pub me: ProcessId,
    /// Who takes part; `me` is among them.
    pub view: &'a View,
    /// Who holds the lock as this view begins, if it is known to be held. A privilege that somebody
    /// must have from the start, such as a token, is the holder's; without one it is the first
    /// member's. The holder itself is in the critical section from the start, and will `Leave`.
    pub holder: Option<ProcessId>,
    /// What logical clocks show first.
    pub clock: Timestamp,
    /// Whether it founds the system or comes back to it.
    pub arrival: Arrival,
    /// What it persisted last in an earlier life, if it had one and persisted anything.
    pub stored: Option<&'a S>,
    /// What all agreed on.
    pub config: &'a C,
}

/// How a process comes to be there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arrival {
    /// At the beginning, with all others: the first member may mint what there must be one of.
    Founding,
    /// After a crash, with its memory lost but for what it persisted, among others that went on.
    Returning,
}

impl<'a, C, S> Start<'a, C, S> {
    /// The usual start: everybody at once, nobody holding, clocks at zero.
    pub fn founding(me: ProcessId, view: &'a View, config: &'a C) -> Self {
        let (holder, clock) = (None, Timestamp::default());
        Self { me, view, holder, clock, arrival: Arrival::Founding, stored: None, config }
    }

    /// Whether this process is in the critical section as the view begins.
    pub fn is_holder(&self) -> bool {
        self.holder == Some(self.me)
    }

    /// Whether this process begins with the privilege of which there is exactly one.
    pub fn is_privileged(&self) -> bool {
        let first = self.view.members().first().copied();
        self.arrival == Arrival::Founding && self.holder.or(first) == Some(self.me)
    }
}
