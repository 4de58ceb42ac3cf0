//! Failure detectors: what is seen, said and judged of them.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;

use conclave_core::detector::{Command, Detectors, Notice};
use conclave_core::{Family, Promises, Renaming, Seat, View};

use super::{Breach, Memory, Panel, Spoken, Vocabulary, Wrong};
use crate::property::{Detection, Suspicions};
use crate::{Ending, Event, Fill, MarkSort, Moment, Report, Said, Shape, Verdict, What, Word};

/// What happened to a detector or to one whom it watches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// It suspects a process of being dead.
    Suspected {
        /// The suspect, by seat.
        whom: Seat,
    },
    /// It believes a suspect to be alive.
    Trusted {
        /// The one that is trusted again, by seat.
        whom: Seat,
    },
    /// The process crashed.
    Crashed,
    /// It came back.
    Returned,
    /// Another took its place.
    Replaced,
    /// Something that no detector is concerned with.
    Other,
}

impl Seen {
    /// What an event of a run means to a detector.
    pub fn of(what: What) -> Self {
        match what {
            What::Told(Said { word, whom: Some(whom), .. }) => match word.code {
                1 => Self::Suspected { whom },
                2 => Self::Trusted { whom },
                _ => Self::Other,
            },
            What::Crashed => Self::Crashed,
            What::Returned => Self::Returned,
            What::Replaced => Self::Replaced,
            _ => Self::Other,
        }
    }

    /// This, as an event of any run.
    pub const fn what(self) -> What {
        match self {
            Self::Suspected { whom } => Said::new(&SUSPECTED).of(whom).what(),
            Self::Trusted { whom } => Said::new(&TRUSTED).of(whom).what(),
            Self::Crashed => What::Crashed,
            Self::Returned => What::Returned,
            Self::Replaced => What::Replaced,
            Self::Other => What::TimerFired,
        }
    }
}

static SUSPECTED: Word = Word::told(
    "suspected",
    1,
    |said, _, names| about("suspects", said, names),
    |said, _, names| about("SUSPECTS", said, names),
)
.of("whom")
.marked(|_, _| Some(&SUSPICION))
.at(&[Moment::new("suspecting")]);

static TRUSTED: Word = Word::told(
    "trusted",
    2,
    |said, _, names| about("trusts", said, names),
    |said, _, names| format!("{} again", about("trusts", said, names)),
)
.of("whom")
.marked(|_, _| Some(&TRUST))
.at(&[Moment::new("trusting")]);

static SUSPICION: MarkSort = MarkSort {
    shape: Shape::TriangleDown,
    fill: Fill::Alarming,
    meaning: "suspects",
    words: |said, _, names| about("suspects", said, names),
};

static TRUST: MarkSort = MarkSort {
    shape: Shape::TriangleUp,
    fill: Fill::Hollow,
    meaning: "trusts again",
    words: |said, _, names| about("trusts", said, names),
};

fn about(deed: &str, said: &Said, names: &crate::Names<'_>) -> String {
    said.whom.map_or_else(|| deed.into(), |whom| format!("{deed} {}", names(whom)))
}

/// Somebody who is up is suspected.
pub const WRONG_SUSPICION: Breach = Breach {
    code: 0,
    promise: "nobody who is up is suspected",
    finding: "somebody who lives is suspected",
    follows_from: Promises::NONE,
    needs_time: false,
};

/// The vocabulary of failure detectors.
pub static VOCABULARY: Vocabulary = Vocabulary {
    family: Detectors::NAME,
    words: &[&SUSPECTED, &TRUSTED],
    promises: &[],
    breaches: &[WRONG_SUSPICION],
    eventually: "everybody who is up eventually suspects the dead",
    judge: |brief| Box::new(Detection::new(brief.ids.len())),
    memory: |brief| Box::new(Suspicions::new(brief.ids.len())),
    summary,
    is_contended: false,
    serves: |said| said.word.code == SUSPECTED.code,
    serves_without_crash: false,
    coherence: None,
};

fn summary(said: &[(Seat, Said)]) -> String {
    let count = said.iter().filter(|(_, said)| said.word.code == SUSPECTED.code).count();
    if count == 1 { "1 suspicion".into() } else { format!("{count} suspicions") }
}

impl Spoken for Detectors {
    const VOCABULARY: &'static Vocabulary = &VOCABULARY;

    fn asked(command: &Command, _: &View) -> Said {
        match *command {}
    }

    fn told(notice: &Notice, view: &View) -> Option<Said> {
        Some(match *notice {
            Notice::Suspects(id) => Said::new(&SUSPECTED).of(view.seat(id)?),
            Notice::Trusts(id) => Said::new(&TRUSTED).of(view.seat(id)?),
        })
    }

    fn command(_: &Said, _: &View) -> Option<Command> {
        None
    }
}

impl Panel for Detection {
    fn on(&mut self, event: &Event) {
        Detection::on(self, event);
    }

    fn waiting(&self) -> usize {
        0
    }

    fn waiting_seats(&self) -> Vec<Seat> {
        Vec::new()
    }

    fn is_progress(&self, _: &What) -> bool {
        false
    }

    fn served(&self) -> u64 {
        0
    }

    fn has_seen_enough(&self) -> bool {
        false
    }

    /// Who has not noticed yet is late; who never will is left waiting for ever.
    fn verdict(&self, ending: Ending) -> Option<Verdict> {
        let misses = self.missed().next().is_some();
        match ending {
            _ if self.wrong() > 0 => Some(Verdict::Violated),
            Ending::Repeats | Ending::Rests if misses => Some(Verdict::Starved),
            _ if misses => Some(Verdict::Violated),
            _ => None,
        }
    }

    fn violations(&self) -> Vec<(&'static str, u64)> {
        let all = [
            (WRONG_SUSPICION.finding, self.wrong()),
            ("a death that somebody missed", self.missed().count() as u64),
        ];
        all.into_iter().filter(|(_, times)| *times > 0).collect()
    }

    fn wrongs(&self) -> Vec<Wrong> {
        let suspicions = self.wrong_suspicions().map(|(wrong, until)| Wrong {
            at: wrong.at,
            until,
            seats: Vec::from([wrong.seat, wrong.whom]),
            words: "wrong",
        });
        let missed = self.unnoticed().map(|(at, whom, seats)| Wrong {
            at,
            until: None,
            seats: [whom].into_iter().chain(seats).collect(),
            words: "not noticed",
        });
        suspicions.chain(missed).collect()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn boxed(&self) -> Box<dyn Panel> {
        Box::new(self.clone())
    }
}

impl Report {
    /// What was found of failure detection, if that is what it was about.
    pub fn detection(&self) -> Option<&Detection> {
        self.of()
    }
}

impl Memory for Suspicions {
    fn on(&mut self, seat: Seat, what: What) {
        Suspicions::on(self, &Event { at: crate::Time::ZERO, seat, what });
    }

    fn broken(&self) -> Option<Breach> {
        Suspicions::broken(self).map(|_| WRONG_SUSPICION)
    }

    /// Who is up and does not suspect somebody who is dead.
    fn pending(&self) -> Vec<Seat> {
        self.missed().map(|(seat, _)| seat).collect()
    }

    fn renamed(&self, names: &Renaming) -> Option<Self> {
        Some(Suspicions::renamed(self, names))
    }
}
