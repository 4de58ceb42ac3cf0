//! What a process does.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use core::time::Duration;

use crate::{ProcessId, Protocol};

/// One thing that a process wants done.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Effect<P: Protocol> {
    /// Send a message; one to oneself is legal, and arrives before anything else does.
    Send {
        /// To whom.
        to: ProcessId,
        /// What.
        message: P::Message,
        /// Whether it is one more copy of the multicast that the preceding send began.
        continues: bool,
    },
    /// Tell the application.
    Notify(P::Notice),
    /// Let `timer` run out once, `after` that time; setting it again replaces it.
    SetTimer {
        /// Which.
        timer: P::Timer,
        /// When, from now; not before.
        after: Duration,
        /// Not after; the runner chooses.
        at_most: Duration,
    },
    /// Let `timer` not run out after all.
    CancelTimer(P::Timer),
    /// Keep this in place of what was kept before, so that no crash loses it. What stands after it
    /// is not done before it is safe.
    Persist(P::Stored),
}

/// The one way out: a buffer that a runner keeps and hands to every step, so that a step allocates
/// nothing once the buffer has grown to its working size.
///
/// The order of effects is meaning: a runner performs them first to last.
#[derive(Debug)]
pub struct Effects<P: Protocol> {
    list: VecDeque<Effect<P>>,
    rules: Option<Vec<&'static str>>,
    /// In nanoseconds: a runner says it before every step, and few protocols ask.
    clock: u64,
}

impl<P: Protocol> Effects<P> {
    /// An empty buffer that forgets which rules fired.
    pub fn new() -> Self {
        Self { list: VecDeque::new(), rules: None, clock: 0 }
    }

    /// An empty buffer that remembers which rules fired, for [`take_rules`](Self::take_rules).
    pub fn explained() -> Self {
        Self { rules: Some(Vec::new()), ..Self::new() }
    }

    /// An empty buffer for a protocol that is a part of this one: it shows the same clock, and
    /// remembers rules if this one does.
    #[inline]
    pub fn inner<Q: Protocol>(&self) -> Effects<Q> {
        Effects {
            list: VecDeque::new(),
            rules: self.rules.as_ref().map(|_| Vec::new()),
            clock: self.clock,
        }
    }

    /// Adds the rules that fired in a part, after those that fired so far.
    pub fn take_rules_of<Q: Protocol>(&mut self, part: &mut Effects<Q>) {
        if let (Some(rules), Some(more)) = (&mut self.rules, &mut part.rules) {
            rules.append(more);
        }
    }

    /// Puts in an effect as it is, copies of a multicast included: what a protocol that is made of
    /// others passes on.
    #[inline]
    pub fn push(&mut self, effect: Effect<P>) {
        self.list.push_back(effect);
    }

    /// Sends `message` to one process.
    #[inline]
    pub fn send(&mut self, to: ProcessId, message: P::Message) {
        self.list.push_back(Effect::Send { to, message, continues: false });
    }

    /// Sends `message` to several: as many sends, but one transmission where the network can
    /// multicast.
    #[inline]
    pub fn multicast(&mut self, to: impl IntoIterator<Item = ProcessId>, message: &P::Message) {
        let copies = to.into_iter().enumerate().map(|(copy, to)| Effect::Send {
            to,
            message: message.clone(),
            continues: copy > 0,
        });
        self.list.extend(copies);
    }

    /// Tells the application.
    #[inline]
    pub fn notify(&mut self, notice: P::Notice) {
        self.list.push_back(Effect::Notify(notice));
    }

    /// Sets a timer, in place of what it was set to before.
    #[inline]
    pub fn set_timer(&mut self, timer: P::Timer, after: Duration) {
        self.list.push_back(Effect::SetTimer { timer, after, at_most: after });
    }

    /// Sets a timer to run out at any time of that range: the one source of chance.
    #[inline]
    pub fn set_timer_within(&mut self, timer: P::Timer, range: RangeInclusive<Duration>) {
        let (after, at_most) = range.into_inner();
        self.list.push_back(Effect::SetTimer { timer, after, at_most });
    }

    /// Cancels a timer.
    #[inline]
    pub fn cancel_timer(&mut self, timer: P::Timer) {
        self.list.push_back(Effect::CancelTimer(timer));
    }

    /// Keeps this safe from crashes, before anything else that this step does after it.
    #[inline]
    pub fn persist(&mut self, stored: P::Stored) {
        self.list.push_back(Effect::Persist(stored));
    }

    /// What the clock of this process shows as the step begins. Clocks differ and drift, so only
    /// differences of one process's own readings mean anything.
    #[inline]
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.clock)
    }

    /// Says what that clock shows: a runner does, before each step.
    #[inline]
    pub fn set_now(&mut self, nanoseconds: u64) {
        self.clock = nanoseconds;
    }

    /// Says which rule fired, as a sentence whose subject is this process. It changes nothing: it
    /// is what an explained run prints.
    #[inline]
    pub fn rule(&mut self, sentence: &'static str) {
        if let Some(rules) = &mut self.rules {
            rules.push(sentence);
        }
    }

    /// Hands the next effect to a runner, which so can perform it while the buffer stays where it
    /// is: to move it there and back would cost more than many a step.
    #[inline]
    pub fn pop(&mut self) -> Option<Effect<P>> {
        self.list.pop_front()
    }

    /// Hands the effects to a runner, in order, and leaves the buffer empty.
    #[inline]
    pub fn drain(&mut self) -> impl Iterator<Item = Effect<P>> + '_ {
        self.list.drain(..)
    }

    /// The rules that fired since this was last asked, in order.
    pub fn take_rules(&mut self) -> Vec<&'static str> {
        self.rules.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl<P: Protocol> Default for Effects<P> {
    fn default() -> Self {
        Self::new()
    }
}
