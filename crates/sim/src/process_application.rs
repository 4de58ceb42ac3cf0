//! Who lets bare processes take steps, and when.

use alloc::vec::Vec;
use core::fmt;

use conclave_core::process::{Command, Notice, Processes};
use conclave_core::{ProcessId, Seat, View};
use conclave_observe::Time;

use crate::seed::Stream;
use crate::{Application, Desk};

/// The application of bare processes: it lets each take some steps, one after the other.
#[derive(Debug)]
pub struct ProcessApplication {
    /// All steps that there are to be.
    steps: Vec<(Time, Seat, Command)>,
    /// Who is down.
    down: Vec<Seat>,
}

/// `1>2@3ms`: 1 sends to 2; `1@3ms`: 1 does something alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScriptedStep {
    /// Who.
    pub process: ProcessId,
    /// To whom it sends, if it does.
    pub to: Option<ProcessId>,
    /// When.
    pub at: Time,
}

/// How steps are drawn that nobody wrote down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// The mean time between two steps of one process; times are multiples of a quarter of it.
    pub mean: Time,
    /// Each takes [some](Self::STEPS) steps, and more until then.
    pub until: Time,
    /// Whether some of them are steps that it does alone.
    pub has_work: bool,
}

impl Pace {
    /// How many steps each process takes at least.
    pub const STEPS: usize = 3;
    /// How many there are at most, of all processes together.
    pub const STEPS_MAX: usize = 900;
}

impl ProcessApplication {
    /// These steps.
    pub fn scripted(view: &View, steps: &[ScriptedStep]) -> Self {
        let step = |it: &ScriptedStep| {
            let command = it.to.map_or(Command::Work, Command::Send);
            Some((it.at, view.seat(it.process)?, command))
        };
        Self { steps: steps.iter().filter_map(step).collect(), down: Vec::new() }
    }

    /// Steps at random times, to random others.
    pub fn drawn(view: &View, users: &[Seat], pace: Pace, seed: u64) -> Self {
        let mut stream = Stream::new(seed, "workload");
        let mut steps = Vec::new();
        for &seat in users {
            // So that what one sends does not arrive at the moment at which another takes a step.
            let mut at = Time(pace.mean.0 / 20 * (seat.index() as u64 % 5));
            let mut taken = 0;
            while taken < Pace::STEPS || at <= pace.until {
                at = at + Time(pace.mean.0 / 4 * (1 + stream.below(7)));
                steps.push((at, seat, draw(view, seat, pace.has_work, &mut stream)));
                taken += 1;
                if taken > Pace::STEPS_MAX / users.len() {
                    break;
                }
            }
        }
        Self { steps, down: Vec::new() }
    }
}

/// One in four is a step that it does alone; if it is alone, all are.
fn draw(view: &View, seat: Seat, has_work: bool, stream: &mut Stream) -> Command {
    let others = view.len() as u64 - 1;
    if others == 0 || (has_work && stream.below(4) == 0) {
        return Command::Work;
    }
    let ahead = 1 + stream.below(others);
    #[allow(clippy::cast_possible_truncation, reason = "it is less than the number of seats")]
    let to = (seat.index() + ahead as usize) % view.len();
    Command::Send(view.at(Seat::at(to)))
}

impl Application<Processes> for ProcessApplication {
    fn begin(&mut self, desk: &mut Desk<Command>) {
        for &(at, seat, command) in self.steps.iter().filter(|it| !self.down.contains(&it.1)) {
            desk.order(seat, command, at - desk.now());
        }
    }

    fn on_notice(&mut self, _: Seat, _: &Notice, _: &mut Desk<Command>) {}

    fn on_crash(&mut self, seat: Seat) {
        self.down.push(seat);
    }

    /// What was ordered died with it; what is still to come is ordered again.
    fn on_return(&mut self, seat: Seat, desk: &mut Desk<Command>) {
        self.down.retain(|&it| it != seat);
        let now = desk.now();
        for &(at, _, command) in self.steps.iter().filter(|it| it.1 == seat && it.0 >= now) {
            desk.order(seat, command, at - now);
        }
    }

    fn awaits_quiet(&self) -> bool {
        false
    }

    fn on_quiet(&mut self, _: &mut Desk<Command>) {}

    /// It is over when nothing more happens.
    fn is_done(&self, _: Time) -> bool {
        false
    }
}

impl fmt::Display for ScriptedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.process)?;
        if let Some(to) = self.to {
            write!(f, ">{to}")?;
        }
        match self.at {
            Time::ZERO => Ok(()),
            at => write!(f, "@{at}ms"),
        }
    }
}
