//! Which part of a run is drawn.

use alloc::format;
use alloc::string::String;

use conclave_observe::Time;
use conclave_observe::trace::Trace;

use crate::history::{History, is_within};
use crate::sheet::Sheet;
use crate::{Options, fold};

/// A part of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub from: Time,
    pub to: Time,
    choice: Choice,
}

/// Who decided where it begins and ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    /// It is all of the run.
    Everything,
    /// The options say where it begins and ends.
    Asked,
    /// Its beginning was given up for want of room.
    BeginningCut,
    /// Its end was.
    EndCut,
}

impl Window {
    /// What was asked for; where one end is open, no more than fits.
    pub fn choose(history: &History, options: &Options, sheet: &Sheet) -> Self {
        let (start, end) = (history.start(), history.end());
        match (options.from, options.to) {
            (Some(from), Some(to)) => {
                let to = to.min(end).max(from);
                Self { from, to, choice: Choice::Asked }
            }
            (Some(from), None) => {
                let to = last_that_fits(history, from, sheet);
                let choice = if to < end { Choice::EndCut } else { Choice::Asked };
                Self { from, to: to.max(from), choice }
            }
            (None, to) => {
                let asked = to.filter(|&to| to < end);
                let to = asked.unwrap_or(end).max(start);
                let from = first_that_fits(history, to, sheet);
                let choice = match asked {
                    _ if from > start => Choice::BeginningCut,
                    Some(_) => Choice::Asked,
                    None => Choice::Everything,
                };
                Self { from, to, choice }
            }
        }
    }

    /// Its two ends.
    pub fn ends(&self) -> (Time, Time) {
        (self.from, self.to)
    }

    /// What has to be said about what is missing, if anything is.
    pub fn notice(&self, trace: &Trace) -> Option<String> {
        let total = trace.records.len();
        let count = |is_meant: &dyn Fn(Time) -> bool| {
            trace.records.iter().filter(|record| is_meant(record.event.at)).count()
        };
        let (before, after) = (count(&|at| at < self.from), count(&|at| at > self.to));
        const HOW: &str = "choose the times to draw";
        match self.choice {
            Choice::BeginningCut => {
                Some(format!("first {before} of {total} events not drawn; {HOW}"))
            }
            Choice::EndCut => Some(format!("last {after} of {total} events not drawn; {HOW}")),
            Choice::Asked if before + after > 0 => {
                Some(format!("a part of the run: {} of {total} events", total - before - after))
            }
            Choice::Asked | Choice::Everything => None,
        }
    }
}

/// The earliest moment from which on everything until `to` fits into one picture.
fn first_that_fits(history: &History, to: Time, sheet: &Sheet) -> Time {
    let until = history.moments.partition_point(|&at| at <= to);
    let moments = &history.moments[..until];
    let too_early = moments.partition_point(|&from| !fits(history, (from, to), sheet));
    moments.get(too_early).copied().unwrap_or(to)
}

/// The latest moment until which everything since `from` fits into one picture.
fn last_that_fits(history: &History, from: Time, sheet: &Sheet) -> Time {
    let since = history.moments.partition_point(|&at| at < from);
    let moments = &history.moments[since..];
    let fitting = moments.partition_point(|&to| fits(history, (from, to), sheet));
    moments.get(fitting.saturating_sub(1)).copied().unwrap_or(from)
}

fn fits(history: &History, window: (Time, Time), sheet: &Sheet) -> bool {
    let flights = history.flights.iter();
    let arrows = flights.filter(|flight| is_within(flight.sent, flight.until(), window)).count();
    arrows <= sheet.arrows_most && fold::fits(history, window, sheet)
}
