//! Bare processes: what is seen, said and judged of them.

mod memory;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::any::Any;

use conclave_core::process::{
    CLOCK_CONDITION, Command, Deed, Notice, Print, Processes, Reading, STRONG_CLOCK_CONDITION,
    TURNS,
};
use conclave_core::{Family, Seat, View};

use super::{Breach, Panel, Spoken, Vocabulary, Wrong};
use crate::property::{ClockCondition, Turns};
use crate::{
    Brief, Ending, Event, Fill, MarkSort, Names, Report, Said, Shape, Verdict, What, Word,
};
use memory::ProcessMemory;

static WORKING: Word = Word::asked("working", 1, |_, _, _| "does something alone".into());

static SENDING: Word =
    Word::asked("sending", 2, |said, _, names| about("is to send to", said, names)).of("whom");

static PRINTED: Word = Word::told(
    "printed",
    3,
    |said, _, _| format!("prints \"{}\"", word_of(said)),
    |said, _, _| format!("PRINTS \"{}\"", word_of(said)),
)
.with(&["ping"])
.marked(|_, _| Some(&PRINT));

static WORKED: Word = Word::told(
    "stamped-work",
    4,
    |said, _, _| format!("does something alone at {}", reading(said)),
    clock_step,
)
.with(STAMP)
.marked(|_, _| Some(&STAMPED));

static SENT: Word = Word::told(
    "stamped-send",
    5,
    |said, _, names| format!("{} at {}", about("sends to", said, names), reading(said)),
    clock_step,
)
.of("whom")
.with(STAMP)
.marked(|_, _| Some(&STAMPED));

static RECEIVED: Word = Word::told(
    "stamped-receipt",
    6,
    |said, _, names| format!("{} at {}", about("receives from", said, names), reading(said)),
    clock_step,
)
.of("whom")
.with(STAMP)
.marked(|_, _| Some(&STAMPED));

/// What a clock showed, and the how many of its sender a message is.
const STAMP: &[&str] = &["clock", "number"];

static PRINT: MarkSort = MarkSort {
    shape: Shape::Square,
    fill: Fill::Hollow,
    meaning: "prints",
    words: |said, _, _| word_of(said).into(),
};

static STAMPED: MarkSort = MarkSort {
    shape: Shape::Dot,
    fill: Fill::Solid,
    meaning: "an event, and what its clock shows",
    words: |said, _, _| reading(said),
};

fn clock_step(said: &Said, _: Seat, _: &Names<'_>) -> String {
    format!("CLOCK {}", reading(said))
}

fn reading(said: &Said) -> String {
    Reading(said.numbers[0]).text()
}

fn print_of(said: &Said) -> Print {
    if said.numbers[0] == 1 { Print::Ping } else { Print::Pong }
}

fn word_of(said: &Said) -> &'static str {
    match print_of(said) {
        Print::Pong => "pong",
        Print::Ping => "ping",
    }
}

fn about(deed: &str, said: &Said, names: &Names<'_>) -> String {
    said.whom.map_or_else(|| deed.to_string(), |whom| format!("{deed} {}", names(whom)))
}

/// A word was not its turn.
pub const OUT_OF_TURN: Breach = Breach {
    code: 0,
    promise: "each prints pong and ping by turns",
    finding: "the same word twice",
    follows_from: TURNS,
    needs_time: false,
};

/// What happened before does not show less.
pub const NOT_LESS: Breach = Breach {
    code: 1,
    promise: "what happened before shows a smaller clock",
    finding: "what happened before shows no smaller clock",
    follows_from: CLOCK_CONDITION,
    needs_time: false,
};

/// A clock shows less than that of an event which its own did not happen before.
pub const LESS_FOR_NOTHING: Breach = Breach {
    code: 2,
    promise: "a smaller clock shows what happened before",
    finding: "of two concurrent events one shows a smaller clock",
    follows_from: STRONG_CLOCK_CONDITION,
    needs_time: false,
};

/// All of it.
pub static VOCABULARY: Vocabulary = Vocabulary {
    family: Processes::NAME,
    words: &[&WORKING, &SENDING, &PRINTED, &WORKED, &SENT, &RECEIVED],
    promises: &["turns", "clock-condition", "strong-clock-condition"],
    breaches: &[OUT_OF_TURN, NOT_LESS, LESS_FOR_NOTHING],
    eventually: "nobody waits for anything",
    judge: |brief| Box::new(ProcessPanel::new(brief)),
    memory: |brief| Box::new(ProcessMemory::new(brief)),
    summary,
    is_contended: false,
    serves: |said| !said.word.is_asked,
    serves_without_crash: true,
    coherence: None,
};

fn summary(said: &[(Seat, Said)]) -> String {
    let count = |is_it: fn(u8) -> bool| said.iter().filter(|(_, it)| is_it(it.word.code)).count();
    match (count(|code| code == PRINTED.code), count(|code| code > PRINTED.code)) {
        (0, 1) => "1 event".into(),
        (0, events) => format!("{events} events"),
        (1, _) => "1 word printed".into(),
        (words, _) => format!("{words} words printed"),
    }
}

impl Spoken for Processes {
    const VOCABULARY: &'static Vocabulary = &VOCABULARY;

    fn asked(command: &Command, view: &View) -> Said {
        match *command {
            Command::Work => Said::new(&WORKING),
            Command::Send(to) => Said { whom: view.seat(to), ..Said::new(&SENDING) },
        }
    }

    fn told(notice: &Notice, view: &View) -> Option<Said> {
        Some(match *notice {
            Notice::Printed(print) => Said::new(&PRINTED).with(u64::from(print == Print::Ping)),
            Notice::Stamped { deed, reading } => match deed {
                Deed::Worked => Said::new(&WORKED).with(reading.0),
                Deed::Sent(to, number) => {
                    Said::new(&SENT).of(view.seat(to)?).with_both(reading.0, number)
                }
                Deed::Received(from, number) => {
                    Said::new(&RECEIVED).of(view.seat(from)?).with_both(reading.0, number)
                }
            },
        })
    }

    fn command(said: &Said, view: &View) -> Option<Command> {
        match said.word.code {
            1 => Some(Command::Work),
            2 => said.whom.map(|seat| Command::Send(view.at(seat))),
            _ => None,
        }
    }
}

/// The judge of bare processes.
#[derive(Clone, Debug)]
pub struct ProcessPanel {
    /// What is printed, and by turns, where that is promised.
    pub turns: Option<Turns>,
    /// Clocks, where they promise anything.
    pub clocks: Option<ClockCondition>,
    /// By seat: how many words it printed.
    pub printed: Vec<u64>,
    /// By seat: whether it took in a message and has printed nothing about it.
    owes: Vec<bool>,
    /// The first that took in a message and printed nothing about it.
    silent: Option<Seat>,
}

impl ProcessPanel {
    fn new(brief: &Brief<'_>) -> Self {
        let (members, promises) = (brief.ids.len(), brief.promises);
        let clocks = promises.keeps(CLOCK_CONDITION);
        let is_strong = promises.keeps(STRONG_CLOCK_CONDITION);
        Self {
            turns: promises.keeps(TURNS).then(|| Turns::new(members)),
            clocks: clocks.then(|| ClockCondition::new(members, is_strong)),
            printed: vec![0; members],
            owes: vec![false; members],
            silent: None,
        }
    }

    /// The first that took in a message and printed nothing about it, though it should have.
    pub fn silent(&self) -> Option<Seat> {
        self.silent.filter(|_| self.turns.is_some())
    }

    /// Whether anything that is promised was broken.
    pub fn is_broken(&self) -> bool {
        self.silent().is_some()
            || self.turns.as_ref().is_some_and(|it| it.broken().is_some())
            || self.clocks.as_ref().is_some_and(|it| it.broken().is_some())
    }

    /// Something new happens at a process: what came before is settled.
    fn settle(&mut self, seat: Seat) {
        if core::mem::take(&mut self.owes[seat.index()]) {
            self.silent = self.silent.or(Some(seat));
        }
    }
}

impl Panel for ProcessPanel {
    fn on(&mut self, event: &Event) {
        let Event { at, seat, what } = *event;
        if let Some(clocks) = &mut self.clocks {
            clocks.on(event);
        }
        match what {
            What::Told(said) if said.word.code == PRINTED.code => {
                self.printed[seat.index()] += 1;
                self.owes[seat.index()] = false;
                if let Some(turns) = &mut self.turns {
                    turns.printed(at, seat, print_of(&said));
                }
            }
            What::Asked(_) => self.settle(seat),
            What::Returned | What::Replaced => {
                if let Some(turns) = &mut self.turns {
                    turns.began_anew(seat);
                }
            }
            _ => {}
        }
    }

    fn wants_messages(&self) -> bool {
        true
    }

    fn on_message(&mut self, event: &Event) {
        if let Some(clocks) = &mut self.clocks {
            clocks.on(event);
        }
        if let What::Received { .. } = event.what {
            self.settle(event.seat);
            self.owes[event.seat.index()] = true;
        }
    }

    fn on_end(&mut self, _: crate::Time) {
        (0..self.owes.len()).for_each(|seat| self.settle(Seat::at(seat)));
    }

    fn waiting(&self) -> usize {
        0
    }

    fn waiting_seats(&self) -> Vec<Seat> {
        Vec::new()
    }

    fn is_progress(&self, what: &What) -> bool {
        matches!(what, What::Told(_))
    }

    fn served(&self) -> u64 {
        let events = self.clocks.as_ref().map_or(0, |clocks| clocks.events().len() as u64);
        self.printed.iter().sum::<u64>() + events
    }

    fn has_seen_enough(&self) -> bool {
        self.is_broken()
    }

    fn verdict(&self, _: Ending) -> Option<Verdict> {
        self.is_broken().then_some(Verdict::Violated)
    }

    fn wrongs(&self) -> Vec<Wrong> {
        let print = self.turns.as_ref().and_then(Turns::broken);
        let print = print.map(|it| Wrong {
            at: it.at,
            until: None,
            seats: vec![it.seat],
            words: "not its turn",
        });
        let clock = self.clocks.as_ref().and_then(ClockCondition::broken);
        let clock = clock.map(|it| Wrong {
            at: it.at,
            until: None,
            seats: vec![it.later.0],
            words: if it.happened_before { "no later clock" } else { "a smaller clock" },
        });
        print.into_iter().chain(clock).collect()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn boxed(&self) -> Box<dyn Panel> {
        Box::new(self.clone())
    }
}

impl Report {
    /// What was found of bare processes, if that is what it was about.
    pub fn processes(&self) -> Option<&ProcessPanel> {
        self.of()
    }
}

#[cfg(test)]
mod tests;
