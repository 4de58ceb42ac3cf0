//! All properties and measures of one run together.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use conclave_core::{Kind, Seat};

use crate::Wrong;
use crate::measure::Bandwidth;
use crate::property::Forever;
use crate::{
    Brief, Ending, Event, Fingerprint, LossCause, MessageId, Panel, Part, Time, Verdict,
    Vocabulary, What,
};

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
    panel: Box<dyn Panel>,
    wants_messages: bool,
    fingerprint: Fingerprint,
    bandwidth: Bandwidth,
    forever: Option<Forever>,
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
    /// When the run ended, on its own clock.
    pub end: Time,
    /// The hash of all that happened.
    pub fingerprint: u64,
    /// Who waits for ever, if the run ends in a loop.
    pub forever: Option<Forever>,
    /// How many messages were sent, by kind and by process.
    pub bandwidth: Bandwidth,
    /// How many faults fired.
    pub faults: u64,
    /// By seat: since when it is down, if it is.
    pub crashed: Vec<Option<Time>>,
    /// The first messages that were lost: when, from whom, to whom, why.
    pub losses: Vec<(Time, Seat, Seat, LossCause)>,
    /// What the judge of the family found.
    panel: Box<dyn Panel>,
}

impl Judge {
    /// For protocols of that family that speak in these kinds of messages.
    pub fn new(vocabulary: &Vocabulary, kinds: &[Kind], brief: &Brief<'_>) -> Self {
        let (members, panel) = (brief.ids.len(), (vocabulary.judge)(brief));
        Self {
            wants_messages: panel.wants_messages(),
            panel,
            fingerprint: Fingerprint::new(),
            bandwidth: Bandwidth::new(members, kinds),
            forever: None,
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
        match event.what {
            What::Sent { .. } | What::Received { .. } => {
                self.bandwidth.on(event);
                if self.wants_messages {
                    self.show_message(*event);
                }
            }
            _ => self.on_rare(event),
        }
    }

    /// Takes in what a message says, so that the fingerprint tells two payloads apart.
    #[inline]
    pub fn on_content(&mut self, content: &impl Hash) {
        content.hash(&mut self.fingerprint);
    }

    /// It gets a copy, so that where nobody wants to see it the event need not even be in memory.
    #[inline(never)]
    fn show_message(&mut self, event: Event) {
        self.panel.on_message(&event);
    }

    #[inline(never)]
    fn on_rare(&mut self, event: &Event) {
        self.panel.on(event);
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
        // What the network does to a message is no news: retries would keep patience alive for
        // ever.
        let is_of_a_message = event.what.part() == Part::Fate;
        if (is_fault && !is_of_a_message) || self.panel.is_progress(&event.what) {
            self.last_progress = event.at;
        }
    }

    /// Whether it wants to know when all is quiet.
    pub fn wants_quiet(&self) -> bool {
        self.panel.wants_quiet()
    }

    /// Takes in that no message is in flight that belongs to a call. Says whether something, such
    /// as an election, is over by that.
    #[inline]
    pub fn on_quiet(&mut self, now: Time) -> bool {
        self.panel.on_quiet(now)
    }

    /// Takes in that all that comes from here on will come again and again, for ever.
    pub fn on_loop(&mut self, now: Time) {
        let waiting = self.waiting_seats();
        self.forever = Some(Forever::new(now, waiting));
    }

    /// Whoever is served in one turn of a loop is served in all of them.
    fn forget_served(&mut self) {
        let Some(mut forever) = self.forever.take() else { return };
        let waiting = self.waiting_seats();
        forever.retain(&waiting);
        self.forever = Some(forever);
    }

    /// Whether nothing that comes could make the verdict better.
    #[inline]
    pub fn has_seen_enough(&self) -> bool {
        self.panel.has_seen_enough()
    }

    /// How many wait: for the lock, or to know who leads.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.panel.waiting()
    }

    /// Who waits; for a lock: longest first.
    pub fn waiting_seats(&self) -> Vec<Seat> {
        self.panel.waiting_seats()
    }

    /// Whether somebody has what others wait for.
    pub fn is_occupied(&self) -> bool {
        self.panel.is_occupied()
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
        if self.waiting() == 0 || self.panel.is_occupied() {
            return Time::ZERO;
        }
        now - self.last_progress
    }

    /// How many times somebody got what it wanted: entries, or decisions.
    pub fn served(&self) -> u64 {
        self.panel.served()
    }

    /// Says what is to be said of the run, now that it has ended so.
    pub fn finish(mut self, ending: Ending) -> Report {
        self.panel.on_end(self.now);
        let someone_waits = self.waiting() > 0;
        let verdict = self.panel.verdict(ending).unwrap_or(match ending {
            _ if self.forever.as_ref().is_some_and(Forever::is_anyone) => Verdict::Starved,
            Ending::BudgetSpent => Verdict::Budget,
            Ending::Quiet if someone_waits && self.faults == 0 => Verdict::Deadlock,
            Ending::Quiet | Ending::PatienceLost if someone_waits => Verdict::Stalled,
            _ => Verdict::Ok,
        });
        Report {
            verdict,
            ending,
            end: self.now,
            fingerprint: self.fingerprint.finish(),
            forever: self.forever,
            bandwidth: self.bandwidth,
            faults: self.faults,
            crashed: self.crashed,
            losses: self.losses,
            panel: self.panel,
        }
    }
}

impl Report {
    /// What the judge of the family found, for those who know which that is.
    pub fn of<T: Panel + 'static>(&self) -> Option<&T> {
        self.panel.as_any().downcast_ref()
    }

    /// Each way in which a promise was broken, in words, and how often.
    pub fn violations(&self) -> Vec<(&'static str, u64)> {
        self.panel.violations()
    }

    /// What is wrong, where a picture can point at it and does not see it by itself.
    pub fn wrongs(&self) -> Vec<Wrong> {
        self.panel.wrongs()
    }

    /// How many wait still.
    pub fn waiting(&self) -> usize {
        self.panel.waiting()
    }

    /// The seats of those who wait.
    pub fn waiting_seats(&self) -> Vec<Seat> {
        self.panel.waiting_seats()
    }
}

/// Numbers messages as they are sent, each sender's own.
#[derive(Clone, Debug)]
pub struct MessageNumbers(Vec<u64>);

impl MessageNumbers {
    /// For so many senders.
    pub fn new(members: usize) -> Self {
        Self(alloc::vec![0; members])
    }

    /// The number of the next message of that sender.
    #[inline]
    pub fn next_of(&mut self, from: Seat) -> MessageId {
        let count = &mut self.0[from.index()];
        *count += 1;
        MessageId::new(from, *count)
    }
}
