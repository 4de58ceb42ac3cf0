//! Locks: what is seen, said and judged of mutual exclusion.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::any::Any;

use conclave_core::mutex::{Command, Locks, Notice, ORDERING};
use conclave_core::{Family, Fence, Promises, Renaming, Seat, View};

use super::{Breach, Brief, Coherence, Memory, Panel, Spoken, Vocabulary, Wrong};
use crate::measure::{Delays, Fairness};
use crate::property::{Fences, MutualExclusion, Ordering, Waiting};
use crate::{
    BarChange, BarSort, Ending, Event, Exclusion, JudgeOrdering, Moment, Report, Said, Verdict,
    What, Word,
};

/// What happened to a lock or to one who uses it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// Its application asked to be let in.
    Requested,
    /// It entered the critical section.
    Entered {
        /// The fence of this entry.
        fence: Fence,
    },
    /// Its application asked to leave.
    Leaving,
    /// It left the critical section.
    Left,
    /// The process crashed; if it was in, it is not any more.
    Crashed,
    /// Something that no lock is concerned with.
    Other,
}

impl Seen {
    /// What an event of a run means to a lock.
    pub fn of(what: What) -> Self {
        match what {
            What::Asked(said) | What::Told(said) => match said.word.code {
                1 => Self::Requested,
                2 => Self::Entered { fence: Fence(said.numbers[0]) },
                3 => Self::Leaving,
                4 => Self::Left,
                _ => Self::Other,
            },
            What::Crashed => Self::Crashed,
            _ => Self::Other,
        }
    }

    /// This, as an event of any run.
    pub const fn what(self) -> What {
        match self {
            Self::Requested => Said::new(&REQUESTED).what(),
            Self::Entered { fence } => Said::new(&ENTERED).with(fence.0).what(),
            Self::Leaving => Said::new(&LEAVING).what(),
            Self::Left => Said::new(&LEFT).what(),
            Self::Crashed => What::Crashed,
            Self::Other => What::TimerFired,
        }
    }
}

static REQUESTED: Word = Word::asked("requested", 1, |_, _, _| "wants in".into())
    .bars(&[BarChange::Begins(&WAITING)])
    .at(&[Moment::new("requesting")]);

static ENTERED: Word = Word::told(
    "entered",
    2,
    |said, _, _| format!("enters with fence {}", said.numbers[0]),
    |said, _, _| format!("IN, with fence {}", said.numbers[0]),
)
.with(&["fence"])
.bars(&[BarChange::Ends(&WAITING), BarChange::BeginsAnew(&HOLDING)])
.at(&[Moment::new("entering")]);

static LEAVING: Word = Word::asked("leaving", 3, |_, _, _| "wants out".into());

static LEFT: Word = Word::told("left", 4, |_, _, _| "leaves".into(), |_, _, _| "OUT".into())
    .bars(&[BarChange::Ends(&HOLDING)])
    .at(&[Moment::new("leaving")]);

static WAITING: BarSort = BarSort {
    name: "waiting",
    who: "waiters",
    number: None,
    is_numbered_from_0: false,
    is_solid: false,
    is_in_front: false,
    exclusion: Exclusion::None,
};

static HOLDING: BarSort = BarSort {
    name: "holding",
    who: "holders",
    number: Some("fence"),
    is_numbered_from_0: true,
    is_solid: true,
    is_in_front: false,
    exclusion: Exclusion::Always,
};

/// What is wrong when two are in at once.
pub const TWO_HOLDERS: Breach = Breach {
    code: 0,
    promise: "at most one is in",
    finding: "two holders",
    follows_from: Promises::NONE,
    needs_time: false,
};

/// An entry got no higher fence than one before it.
pub const FENCE_FELL: Breach = Breach {
    code: 1,
    promise: "every entry has a higher fence",
    finding: "a fence that did not grow",
    follows_from: Promises::NONE,
    needs_time: false,
};

/// The vocabulary of locks.
pub static VOCABULARY: Vocabulary = Vocabulary {
    family: Locks::NAME,
    words: &[&REQUESTED, &ENTERED, &LEAVING, &LEFT],
    promises: &["liveness", "ordering"],
    breaches: &[TWO_HOLDERS, FENCE_FELL],
    eventually: "everybody who waits is eventually served",
    judge: |brief| Box::new(LockPanel::new(brief)),
    memory: |_| Box::new(LockMemory::default()),
    summary,
    is_contended: true,
    serves: |said| said.word.code == ENTERED.code,
    serves_without_crash: true,
    coherence: Some(|members| Box::new(InAndOut::new(members))),
};

fn summary(said: &[(Seat, Said)]) -> String {
    let entries = said.iter().filter(|(_, said)| said.word.code == ENTERED.code).count();
    if entries == 1 { "1 entry".into() } else { format!("{entries} entries") }
}

impl Spoken for Locks {
    const VOCABULARY: &'static Vocabulary = &VOCABULARY;

    #[inline]
    fn asked(command: &Command, _: &View) -> Said {
        Said::new(match command {
            Command::Enter => &REQUESTED,
            Command::Leave => &LEAVING,
        })
    }

    #[inline]
    fn told(notice: &Notice, _: &View) -> Option<Said> {
        Some(match notice {
            Notice::Entered { fence } => Said::new(&ENTERED).with(fence.0),
            Notice::Left => Said::new(&LEFT),
        })
    }

    fn command(said: &Said, _: &View) -> Option<Command> {
        match said.word.code {
            1 => Some(Command::Enter),
            3 => Some(Command::Leave),
            _ => None,
        }
    }
}

/// What was found of the locks of a run.
#[derive(Clone, Debug)]
pub struct LockPanel {
    promises: Promises,
    /// Safety: whether two were in at once.
    pub exclusion: MutualExclusion,
    /// Whether every entry had a higher fence.
    pub fences: Fences,
    /// Ordering, if it was judged.
    pub ordering: Option<Ordering>,
    /// Liveness: who still waits.
    pub waiting: Waiting,
    /// How long it took to enter, to leave, and from one holder to the next.
    pub delays: Delays,
    /// How evenly entries are spread over those who asked.
    pub fairness: Fairness,
}

impl LockPanel {
    fn new(brief: &Brief<'_>) -> Self {
        let members = brief.ids.len();
        Self {
            promises: brief.promises,
            exclusion: MutualExclusion::default(),
            fences: Fences::default(),
            ordering: (brief.ordering == JudgeOrdering::Yes).then(|| Ordering::new(members)),
            waiting: Waiting::new(members),
            delays: Delays::new(members),
            fairness: Fairness::new(members),
        }
    }

    /// How often a grant passed a request that had happened before, if that was judged.
    pub fn overtakings(&self) -> Option<u64> {
        self.ordering.as_ref().map(Ordering::overtakings)
    }
}

impl Panel for LockPanel {
    fn on(&mut self, event: &Event) {
        if let Some(ordering) = &mut self.ordering {
            ordering.on(event);
        }
        self.exclusion.on(event);
        self.fences.on(event);
        self.waiting.on(event);
        self.delays.on(event);
        self.fairness.on(event);
    }

    fn wants_messages(&self) -> bool {
        self.ordering.is_some()
    }

    fn on_message(&mut self, event: &Event) {
        if let Some(ordering) = &mut self.ordering {
            ordering.on(event);
        }
    }

    fn waiting(&self) -> usize {
        self.waiting.count()
    }

    /// Who waits, by seat; who has waited longest comes first.
    fn waiting_seats(&self) -> Vec<Seat> {
        self.waiting.iter().collect()
    }

    fn is_occupied(&self) -> bool {
        !self.exclusion.holders().is_empty()
    }

    fn is_progress(&self, what: &What) -> bool {
        match Seen::of(*what) {
            Seen::Entered { .. } | Seen::Left => true,
            Seen::Requested => self.waiting.count() == 1,
            _ => false,
        }
    }

    fn served(&self) -> u64 {
        self.delays.entries()
    }

    fn has_seen_enough(&self) -> bool {
        self.exclusion.broken().is_some()
            || self.fences.broken().is_some()
            || self.waiting.starved().is_some()
    }

    fn verdict(&self, _: Ending) -> Option<Verdict> {
        let is_broken = self.exclusion.broken().is_some()
            || self.fences.broken().is_some()
            || (self.promises.keeps(ORDERING) && self.overtakings().is_some_and(|it| it > 0));
        if is_broken {
            return Some(Verdict::Violated);
        }
        self.waiting.starved().map(|_| Verdict::Starved)
    }

    fn violations(&self) -> Vec<(&'static str, u64)> {
        let order = self.overtakings().filter(|_| self.promises.keeps(ORDERING));
        let all = [
            (TWO_HOLDERS.finding, self.exclusion.times()),
            (FENCE_FELL.finding, self.fences.times()),
            ("a grant that passed an earlier request", order.unwrap_or(0)),
        ];
        all.into_iter().filter(|(_, times)| *times > 0).collect()
    }

    /// Two holders are seen by their bars.
    fn wrongs(&self) -> Vec<Wrong> {
        let wrong =
            |at, seats: &[Seat], words| Wrong { at, until: None, seats: seats.into(), words };
        let is_safe = self.exclusion.broken().is_none();
        let fence = self.fences.broken().filter(|_| is_safe);
        let fence = fence.map(|it| wrong(it.at, &[it.seat], "the fence fell"));
        let passed = self.ordering.as_ref().and_then(Ordering::first);
        let passed = passed.filter(|_| is_safe && self.promises.keeps(ORDERING));
        let passed = passed.map(|it| wrong(it.at, &[it.granted, it.passed], "overtaken"));
        let starved = self.waiting.starved();
        let starved = starved.map(|it| wrong(it.at, &[it.seat], "starved"));
        fence.or(passed).or(starved).into_iter().collect()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn boxed(&self) -> Box<dyn Panel> {
        Box::new(self.clone())
    }
}

impl Report {
    /// What was found of locks, if that is what it was about.
    pub fn locks(&self) -> Option<&LockPanel> {
        self.of()
    }
}

/// What a search must remember of a lock.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LockMemory {
    /// Safety: whether two were in at once.
    pub exclusion: MutualExclusion,
    /// Whether every entry had a higher fence.
    pub fences: Fences,
}

impl Memory for LockMemory {
    fn on(&mut self, seat: Seat, what: What) {
        let event = &Event { at: crate::Time::ZERO, seat, what };
        self.exclusion.on(event);
        self.fences.on(event);
    }

    fn broken(&self) -> Option<Breach> {
        let two = self.exclusion.broken().map(|_| TWO_HOLDERS);
        two.or(self.fences.broken().map(|_| FENCE_FELL))
    }

    fn renamed(&self, names: &Renaming) -> Option<Self> {
        let (exclusion, fences) = (self.exclusion.renamed(names), self.fences.renamed(names));
        Some(Self { exclusion, fences })
    }
}

/// Who enters has asked, and who leaves has entered.
struct InAndOut(Vec<Member>);

#[derive(Clone, Copy)]
struct Member {
    has_asked: bool,
    /// True in the beginning: whoever was inside from the start leaves without having entered.
    may_leave: bool,
}

impl InAndOut {
    fn new(members: usize) -> Self {
        Self(vec![Member { has_asked: false, may_leave: true }; members])
    }
}

impl Coherence for InAndOut {
    /// Only in the beginning may one enter without having asked, which is how a run says who is
    /// inside from the start.
    fn on(&mut self, event: &Event, is_beginning: bool) -> Result<(), &'static str> {
        let place = &mut self.0[event.seat.index()];
        match Seen::of(event.what) {
            Seen::Crashed => *place = Member { has_asked: false, may_leave: false },
            Seen::Requested => place.has_asked = true,
            Seen::Entered { .. } if !place.has_asked && !is_beginning => {
                return Err(
                    "enters without asking; each `entered` has a `requested` of its own before it",
                );
            }
            Seen::Entered { .. } => *place = Member { has_asked: false, may_leave: true },
            Seen::Leaving | Seen::Left if !place.may_leave => {
                return Err("leaves without being inside; it has to have `entered` first");
            }
            Seen::Left => place.may_leave = false,
            Seen::Leaving | Seen::Other => {}
        }
        Ok(())
    }
}
