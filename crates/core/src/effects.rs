//! What a process does.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use core::time::Duration;

use crate::{NoticeOf, ProcessId, Protocol};

/// One thing that a process wants done.
///
/// Only a [`Host`](crate::Host) performs it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Effect<P: Protocol> {
    /// Send a message; one to oneself is legal, and arrives before anything else does.
    Send {
        /// Who is to receive it; a stranger to the view receives nothing.
        to: ProcessId,
        /// The message to send.
        message: P::Message,
        /// Whether it is one more copy of the multicast that the preceding send began.
        continues: bool,
    },
    /// Tell the application something.
    Notify(NoticeOf<P>),
    /// Let a timer run out once; setting it again replaces it.
    SetTimer {
        /// Which of the process's timers; each name runs once at a time.
        timer: P::Timer,
        /// When it runs out, counted from now.
        due: Due,
    },
    /// Let `timer` not run out after all.
    CancelTimer(P::Timer),
    /// Keep this in place of what was kept before, so that no crash loses it. What stands after it
    /// is not done before it is safe.
    Persist(P::Stored),
}

/// When a timer runs out, counted from when it is set, on the clock of its process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Due {
    /// At any time of this range; the runner chooses. Other inputs that came first are taken first.
    Within {
        /// The earliest that it may run out.
        after: Duration,
        /// The latest that it may run out.
        at_most: Duration,
    },
    /// A deadline: once this time has passed, the process takes in no other input before it, also
    /// if it was stopped meanwhile.
    Deadline(Duration),
}

/// The one way out: a buffer that every step fills and a [`Host`](crate::Host) empties.
///
/// The order of effects is meaning: they are performed first to last.
#[derive(Debug)]
pub struct Effects<P: Protocol> {
    list: VecDeque<Effect<P>>,
    rules: Option<Vec<&'static str>>,
}

/// How a part of a protocol speaks through the whole: see [`Effects::lift`].
#[derive(Clone, Copy, Debug)]
pub struct Lift<M, T, S, N> {
    /// What the whole sends in place of a message of the part, and to whom; `None` for nothing.
    pub send: M,
    /// What the whole calls a timer of the part.
    pub timer: T,
    /// What the whole persists in place of what the part would; `None` for nothing.
    pub stored: S,
    /// What the whole does about what the part tells: it is the part's application.
    pub notice: N,
}

impl Due {
    /// A timer that runs out exactly `after` it is set.
    pub const fn at(after: Duration) -> Self {
        Self::Within { after, at_most: after }
    }
}

impl<P: Protocol> Effects<P> {
    /// An empty buffer that forgets which rules fired.
    pub fn new() -> Self {
        Self { list: VecDeque::new(), rules: None }
    }

    /// An empty buffer that remembers which rules fired, for [`take_rules`](Self::take_rules).
    pub fn explained() -> Self {
        Self { rules: Some(Vec::new()), ..Self::new() }
    }

    /// An empty buffer for a protocol that is a part of this one; what it does is to be
    /// [lifted](Self::lift).
    #[inline]
    pub fn inner<Q: Protocol>(&self) -> Effects<Q> {
        Effects { list: VecDeque::new(), rules: self.rules.as_ref().map(|_| Vec::new()) }
    }

    /// Does what a part wants done, in the words of the whole and in the same order. The rules that
    /// fired in the part count among those of the whole.
    ///
    /// This is the one place where effects of one protocol become those of another.
    #[inline]
    pub fn lift<Q, M, T, S, N>(&mut self, part: &mut Effects<Q>, mut how: Lift<M, T, S, N>)
    where
        Q: Protocol,
        M: FnMut(ProcessId, Q::Message) -> Option<(ProcessId, P::Message)>,
        T: FnMut(Q::Timer) -> P::Timer,
        S: FnMut(Q::Stored) -> Option<P::Stored>,
        N: FnMut(NoticeOf<Q>, &mut Self),
    {
        if let (Some(rules), Some(more)) = (&mut self.rules, &mut part.rules) {
            rules.append(more);
        }
        // Whether a copy of the multicast that is under way was sent on.
        let mut is_begun = false;
        for effect in part.list.drain(..) {
            match effect {
                Effect::Send { to, message, continues } => {
                    is_begun &= continues;
                    if let Some((to, message)) = (how.send)(to, message) {
                        self.list.push_back(Effect::Send { to, message, continues: is_begun });
                        is_begun = true;
                    }
                }
                Effect::Notify(notice) => (how.notice)(notice, self),
                Effect::SetTimer { timer, due } => {
                    self.list.push_back(Effect::SetTimer { timer: (how.timer)(timer), due });
                }
                Effect::CancelTimer(timer) => self.cancel_timer((how.timer)(timer)),
                Effect::Persist(stored) => {
                    self.list.extend((how.stored)(stored).map(Effect::Persist));
                }
            }
        }
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

    /// Tells the application that notice, when the step is over.
    #[inline]
    pub fn notify(&mut self, notice: NoticeOf<P>) {
        self.list.push_back(Effect::Notify(notice));
    }

    /// Sets a timer, in place of what it was set to before.
    #[inline]
    pub fn set_timer(&mut self, timer: P::Timer, after: Duration) {
        self.list.push_back(Effect::SetTimer { timer, due: Due::at(after) });
    }

    /// Sets a timer to run out at any time of that range: the one source of chance.
    #[inline]
    pub fn set_timer_within(&mut self, timer: P::Timer, range: RangeInclusive<Duration>) {
        let (after, at_most) = range.into_inner();
        self.list.push_back(Effect::SetTimer { timer, due: Due::Within { after, at_most } });
    }

    /// Sets a deadline, in place of what it was set to before: once that time has passed, this
    /// process takes in no other input before it. So a lease ends when it ends, whatever else waits
    /// to be taken in.
    #[inline]
    pub fn set_deadline(&mut self, timer: P::Timer, after: Duration) {
        self.list.push_back(Effect::SetTimer { timer, due: Due::Deadline(after) });
    }

    /// Cancels a timer or a deadline.
    #[inline]
    pub fn cancel_timer(&mut self, timer: P::Timer) {
        self.list.push_back(Effect::CancelTimer(timer));
    }

    /// Keeps this safe from crashes, before anything else that this step does after it.
    #[inline]
    pub fn persist(&mut self, stored: P::Stored) {
        self.list.push_back(Effect::Persist(stored));
    }

    /// Puts in an effect as it is. For those who tamper with a protocol from outside; a protocol
    /// that is made of others [lifts](Self::lift) them.
    #[inline]
    pub fn push(&mut self, effect: Effect<P>) {
        self.list.push_back(effect);
    }

    /// Says which rule fired, as a sentence whose subject is this process. It changes nothing: it
    /// is what an explained run prints.
    #[inline]
    pub fn rule(&mut self, sentence: &'static str) {
        if let Some(rules) = &mut self.rules {
            rules.push(sentence);
        }
    }

    /// Takes the next effect out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Effect<P>> {
        self.list.pop_front()
    }

    /// Takes all effects out, in order: for tests, and for those who tamper.
    #[inline]
    pub fn drain(&mut self) -> impl Iterator<Item = Effect<P>> + '_ {
        self.list.drain(..)
    }

    /// The rules that fired since this was last asked, in order.
    pub fn take_rules(&mut self) -> Vec<&'static str> {
        self.rules.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// Whether nothing is to be done.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl<P: Protocol> Default for Effects<P> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::{Family, Input, Kind, KindIndex, Message, NoWord, Start};

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Word(u32);

    impl Message for Word {
        const KINDS: &'static [Kind] = &[Kind::enter("word")];

        fn kind(&self) -> KindIndex {
            0
        }
    }

    /// A family whose notices are of this type.
    enum Tells<N> {
        #[expect(dead_code, reason = "a family has no values")]
        Never(N),
    }

    impl<N> Family for Tells<N>
    where
        N: Clone + core::fmt::Debug + Eq + core::hash::Hash + Send + Sync + 'static,
    {
        const NAME: &'static str = "tells";
        type Command = ();
        type Notice = N;
        type Opening = ();
    }

    macro_rules! protocol {
        ($name:ident, $timer:ty, $stored:ty, $notice:ty) => {
            #[derive(Clone, PartialEq, Eq, Hash, Debug)]
            struct $name;

            impl Protocol for $name {
                type Family = Tells<$notice>;
                type Config = ();
                type Message = Word;
                type Timer = $timer;
                type Stored = $stored;
                type Word = NoWord;

                fn start(_: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
                    Self
                }

                fn on(&mut self, _: Input<Self>, _: &mut Effects<Self>) {}
            }
        };
    }

    protocol!(Part, char, u8, &'static str);
    protocol!(Whole, (char, bool), u32, usize);

    const MS: Duration = Duration::from_millis(1);

    /// Words are ten more, to whom is one more, but 9 is nobody; what is kept is kept if it is
    /// even; what is told is passed on by its length, after a word to 1.
    fn lift(part: &mut Effects<Part>, out: &mut Effects<Whole>) {
        let how = Lift {
            send: |to: ProcessId, Word(it)| {
                (to.0 != 9).then_some((ProcessId(to.0 + 1), Word(it + 10)))
            },
            timer: |timer| (timer, true),
            stored: |stored: u8| stored.is_multiple_of(2).then_some(u32::from(stored)),
            notice: |notice: &str, out: &mut Effects<Whole>| {
                out.send(ProcessId(1), Word(0));
                out.notify(notice.len());
            },
        };
        out.lift(part, how);
    }

    fn lifted(fill: impl FnOnce(&mut Effects<Part>)) -> Vec<Effect<Whole>> {
        let mut out = Effects::new();
        let mut part = out.inner();
        fill(&mut part);
        lift(&mut part, &mut out);
        assert!(part.is_empty(), "nothing is done twice");
        out.drain().collect()
    }

    fn send(to: u32, word: u32, continues: bool) -> Effect<Whole> {
        Effect::Send { to: ProcessId(to), message: Word(word), continues }
    }

    #[test]
    fn a_part_speaks_through_the_whole_in_its_words_and_in_its_order() {
        let effects = lifted(|part| {
            part.persist(4);
            part.send(ProcessId(1), Word(1));
            part.notify("three");
            part.set_timer('a', MS);
            part.set_timer_within('b', MS..=2 * MS);
            part.set_deadline('c', 3 * MS);
            part.cancel_timer('a');
        });
        let set = |timer, due| Effect::SetTimer { timer: (timer, true), due };
        let expected = vec![
            Effect::Persist(4),
            send(2, 11, false),
            send(1, 0, false),
            Effect::Notify(5),
            set('a', Due::at(MS)),
            set('b', Due::Within { after: MS, at_most: 2 * MS }),
            set('c', Due::Deadline(3 * MS)),
            Effect::CancelTimer(('a', true)),
        ];
        assert_eq!(effects, expected);
    }

    #[test]
    fn what_the_whole_does_not_send_or_keep_is_left_out() {
        let effects = lifted(|part| {
            part.persist(3);
            part.send(ProcessId(9), Word(1));
            part.send(ProcessId(8), Word(2));
        });
        assert_eq!(effects, [send(9, 12, false)]);
    }

    #[test]
    fn a_multicast_of_a_part_is_one_of_the_whole() {
        let effects = lifted(|part| {
            part.multicast([3, 9, 4].map(ProcessId), &Word(1));
            part.multicast([9, 4, 3].map(ProcessId), &Word(2));
        });
        let first = [send(4, 11, false), send(5, 11, true)];
        let second = [send(5, 12, false), send(4, 12, true)];
        assert_eq!(effects, [first, second].concat());
    }

    #[test]
    fn rules_of_a_part_count_among_those_of_the_whole_if_anybody_asks() {
        for (mut out, expected) in [
            (Effects::<Whole>::explained(), &["begins", "goes on", "ends"][..]),
            (Effects::new(), &[]),
        ] {
            out.rule("begins");
            let mut part = out.inner::<Part>();
            part.rule("goes on");
            lift(&mut part, &mut out);
            out.rule("ends");
            assert_eq!(out.take_rules(), expected);
        }
    }
}
