//! All properties and measures of one run together.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use conclave_core::{Kind, ProcessId, Promises, Seat};

use crate::measure::{Bandwidth, Delays, Fairness};
use crate::property::{Detection, Fences, Forever, MutualExclusion, Ordering, Waiting};
use crate::{Elections, Ending, Event, Fingerprint, LossCause, MessageId, Time, Verdict, What};

/// Whether a judge pays for vector clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JudgeOrdering {
    /// It does, and can say whether the order of requests was kept.
    Yes,
    /// It does not, and says so.
    No,
}

/// Watches one run and says what is to be said of it.
#[derive(Clone, Debug)]
pub struct Judge {
    promises: Promises,
    fingerprint: Fingerprint,
    bandwidth: Bandwidth,
    exclusion: MutualExclusion,
    fences: Fences,
    ordering: Option<Ordering>,
    waiting: Waiting,
    forever: Option<Forever>,
    delays: Delays,
    fairness: Fairness,
    elections: Option<Elections>,
    detection: Option<Detection>,
    faults: u64,
    last_progress: Time,
    crashed: Vec<Option<Time>>,
    paused: Vec<Option<Time>>,
    losses: Vec<(Time, Seat, Seat, LossCause)>,
    now: Time,
}

/// What a judge found, once the run is over.
#[derive(Clone, Debug)]
pub struct Report {
    /// All of it in one word.
    pub verdict: Verdict,
    /// How the run came to its end.
    pub ending: Ending,
    /// When.
    pub end: Time,
    /// The hash of all that happened.
    pub fingerprint: u64,
    /// Safety.
    pub exclusion: MutualExclusion,
    /// Fences.
    pub fences: Fences,
    /// Ordering, if it was judged.
    pub ordering: Option<Ordering>,
    /// Liveness: who still waits.
    pub waiting: Waiting,
    /// Who waits for ever, if the run ends in a loop.
    pub forever: Option<Forever>,
    /// Messages.
    pub bandwidth: Bandwidth,
    /// Times.
    pub delays: Delays,
    /// Shares.
    pub fairness: Fairness,
    /// What there is to say of elections, if that is what it was about.
    pub elections: Option<Elections>,
    /// What there is to say of failure detection, if that is what it was about.
    pub detection: Option<Detection>,
    /// How many faults fired.
    pub faults: u64,
    /// By seat: since when it is down, if it is.
    pub crashed: Vec<Option<Time>>,
    /// The first messages that were lost: when, from whom, to whom, why.
    pub losses: Vec<(Time, Seat, Seat, LossCause)>,
}

impl Judge {
    /// For these processes, by seat, that speak in these kinds of messages and are held to these
    /// promises.
    pub fn new(
        ids: &[ProcessId],
        kinds: &[Kind],
        ordering: JudgeOrdering,
        promises: Promises,
    ) -> Self {
        let members = ids.len();
        let elections = match promises {
            Promises::Election { largest, one_at_a_time, .. } => {
                Some(Elections::new(ids, largest, one_at_a_time))
            }
            _ => None,
        };
        Self {
            promises,
            elections,
            detection: (promises == Promises::Detector).then(|| Detection::new(members)),
            fingerprint: Fingerprint::new(),
            bandwidth: Bandwidth::new(members, kinds),
            exclusion: MutualExclusion::default(),
            fences: Fences::default(),
            ordering: (ordering == JudgeOrdering::Yes).then(|| Ordering::new(members)),
            waiting: Waiting::new(members),
            forever: None,
            delays: Delays::new(members),
            fairness: Fairness::new(members),
            faults: 0,
            last_progress: Time::ZERO,
            crashed: alloc::vec![None; members],
            paused: alloc::vec![None; members],
            losses: Vec::new(),
            now: Time::ZERO,
        }
    }

    /// Takes in an event. Inlined, so that a runner which knows what happened pays for that alone.
    #[inline(always)]
    pub fn on(&mut self, event: &Event) {
        self.now = event.at;
        self.fingerprint.event(event);
        if self.ordering.is_some() {
            self.on_ordered(*event);
        }
        match event.what {
            What::Sent { .. } | What::Received { .. } => self.bandwidth.on(event),
            _ => self.on_rare(event),
        }
    }

    /// Takes in what a message says, so that the fingerprint tells two payloads apart.
    #[inline]
    pub fn on_content(&mut self, content: &impl Hash) {
        content.hash(&mut self.fingerprint);
    }

    /// It gets a copy, so that where there is no ordering the event need not even be in memory.
    #[inline(never)]
    fn on_ordered(&mut self, event: Event) {
        if let Some(ordering) = &mut self.ordering {
            ordering.on(&event);
        }
    }

    #[inline(never)]
    fn on_rare(&mut self, event: &Event) {
        self.exclusion.on(event);
        self.fences.on(event);
        self.waiting.on(event);
        self.delays.on(event);
        self.fairness.on(event);
        if let Some(elections) = &mut self.elections {
            elections.on(event);
        }
        if let Some(detection) = &mut self.detection {
            detection.on(event);
        }
        if self.forever.is_some() {
            self.forget_served();
        }
        match event.what {
            What::Crashed => {
                self.crashed[event.seat.index()] = Some(event.at);
                self.paused[event.seat.index()] = None;
            }
            What::Returned | What::Replaced => self.crashed[event.seat.index()] = None,
            What::Paused => self.paused[event.seat.index()] = Some(event.at),
            What::Resumed => self.paused[event.seat.index()] = None,
            What::Lost { to, cause, .. } if self.losses.len() < 1_000 => {
                self.losses.push((event.at, event.seat, to, cause));
            }
            _ => {}
        }
        let is_fault = event.what.is_fault();
        self.faults += u64::from(is_fault);
        let is_first_to_wait = event.what == What::Requested && self.waiting.count() == 1;
        let is_turn = matches!(
            event.what,
            What::Entered { .. } | What::Left | What::Elected { .. } | What::Called
        );
        // What the network does to a message is no news: retries would keep patience alive for
        // ever.
        let is_of_a_message = matches!(event.what, What::Lost { .. } | What::Duplicated { .. });
        if (is_fault && !is_of_a_message) || is_first_to_wait || is_turn {
            self.last_progress = event.at;
        }
    }

    /// Takes in that no message is in flight that belongs to a call. Says whether an election is
    /// over by that.
    #[inline]
    pub fn on_quiet(&mut self, now: Time) -> bool {
        self.elections.as_mut().is_some_and(|elections| elections.on_quiet(now))
    }

    /// Takes in that all that comes from here on will come again and again, for ever.
    pub fn on_loop(&mut self, now: Time) {
        let waiting: Vec<_> = self.waiting_seats().collect();
        self.forever = Some(Forever::new(now, waiting));
    }

    /// Whoever is served in one turn of a loop is served in all of them.
    fn forget_served(&mut self) {
        let Some(mut forever) = self.forever.take() else { return };
        let waiting: Vec<_> = self.waiting_seats().collect();
        forever.retain(&waiting);
        self.forever = Some(forever);
    }

    /// Whether nothing that comes could make the verdict better.
    #[inline]
    pub fn has_seen_enough(&self) -> bool {
        self.elections.as_ref().is_some_and(Elections::is_broken)
            || self.exclusion.broken().is_some()
            || self.fences.broken().is_some()
            || self.waiting.starved().is_some()
    }

    /// How many wait: for the lock, or to know who leads.
    #[inline]
    pub fn waiting(&self) -> usize {
        let undecided = self.elections.as_ref().map_or(0, |it| it.deciding.undecided());
        self.waiting.count() + undecided
    }

    /// Who waits; for the lock: longest first.
    pub fn waiting_seats(&self) -> impl Iterator<Item = Seat> + '_ {
        let undecided = self.elections.iter().flat_map(|it| it.deciding.iter());
        self.waiting.iter().chain(undecided)
    }

    /// Since when `seat` is down, if it is.
    pub fn down_since(&self, seat: Seat) -> Option<Time> {
        self.crashed[seat.index()]
    }

    /// Since when `seat` is paused, if it is.
    pub fn paused_since(&self, seat: Seat) -> Option<Time> {
        self.paused[seat.index()]
    }

    /// The first messages that were lost: when, from whom, to whom, why.
    pub fn losses(&self) -> &[(Time, Seat, Seat, LossCause)] {
        &self.losses
    }

    /// How many faults fired.
    pub fn faults(&self) -> u64 {
        self.faults
    }

    /// How long somebody has waited for nobody: since the last entry, leave or fault, or since the
    /// first of those who wait asked. Whoever is in has all the time it wants.
    pub fn waited_in_vain(&self, now: Time) -> Time {
        if self.waiting() == 0 || !self.exclusion.holders().is_empty() {
            return Time::ZERO;
        }
        now - self.last_progress
    }

    /// The number of entries, or of decisions.
    pub fn entries(&self) -> u64 {
        let decisions = self.elections.as_ref().map_or(0, |it| it.decisions);
        self.delays.entries() + decisions
    }

    /// Closes the book.
    pub fn finish(mut self, ending: Ending) -> Report {
        if let Some(elections) = &mut self.elections {
            elections.on_end(self.now);
        }
        let overtaken = self.ordering.as_ref().is_some_and(|ordering| ordering.overtakings() > 0);
        let broken = self.exclusion.broken().is_some()
            || self.fences.broken().is_some()
            || (self.promises.ordering() && overtaken)
            || self.elections.as_ref().is_some_and(Elections::is_broken)
            || self.detection.as_ref().is_some_and(|it| it.wrong() > 0);
        let someone_waits = self.waiting() > 0;
        let misses = self.detection.as_ref().is_some_and(|it| it.missed().next().is_some());
        let verdict = match ending {
            _ if broken => Verdict::Violated,
            // Who has not noticed yet is late; who never will is left waiting for ever.
            Ending::Repeats | Ending::Rests if misses => Verdict::Starved,
            _ if misses => Verdict::Violated,
            _ if self.waiting.starved().is_some() => Verdict::Starved,
            _ if self.forever.as_ref().is_some_and(Forever::is_anyone) => Verdict::Starved,
            Ending::BudgetSpent => Verdict::Budget,
            Ending::Quiet if someone_waits && self.faults == 0 => Verdict::Deadlock,
            Ending::Quiet | Ending::PatienceLost if someone_waits => Verdict::Stalled,
            _ => Verdict::Ok,
        };
        Report {
            verdict,
            ending,
            end: self.now,
            fingerprint: self.fingerprint.finish(),
            exclusion: self.exclusion,
            fences: self.fences,
            ordering: self.ordering,
            waiting: self.waiting,
            forever: self.forever,
            bandwidth: self.bandwidth,
            delays: self.delays,
            fairness: self.fairness,
            elections: self.elections,
            detection: self.detection,
            faults: self.faults,
            crashed: self.crashed,
            losses: self.losses,
        }
    }
}

impl Report {
    /// How often a grant passed a request that had happened before, if that was judged.
    pub fn overtakings(&self) -> Option<u64> {
        self.ordering.as_ref().map(Ordering::overtakings)
    }
}

/// Numbers messages as they are sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct MessageNumbers(u64);

impl MessageNumbers {
    /// The next number.
    #[inline]
    pub fn next_id(&mut self) -> MessageId {
        self.0 += 1;
        MessageId(self.0)
    }
}
