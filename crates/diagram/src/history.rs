//! A run as things that last: what a trace tells moment by moment, joined into journeys and spans.
//!
//! Everything here is in the run's own time; nothing knows how it will be drawn.

mod background;
mod delays;
mod flights;
mod spans;
mod timers;

use alloc::string::String;
use alloc::vec::Vec;

use conclave_core::{KindIndex, Phase, Seat};
use conclave_observe::trace::Trace;
use conclave_observe::{Event, JudgeOrdering, MessageId, Time, What, Wrong};

pub(crate) use delays::Delay;
pub(crate) use flights::Flight;
pub(crate) use spans::{Absence, Clash, Cut, Stay};
pub(crate) use timers::Countdown;

use crate::scene::{Fate, MarkKind};

/// Everything in a trace that can be drawn.
pub(crate) struct History {
    /// The journeys of messages, in the order in which they were sent.
    pub flights: Vec<Flight>,
    /// What lasts, such as waiting and holding.
    pub stays: Vec<Stay>,
    /// Crashes and pauses.
    pub absences: Vec<Absence>,
    /// Partitions, one entry for each process concerned.
    pub cuts: Vec<Cut>,
    /// Intervals in which more than one has what only one may have.
    pub clashes: Vec<Clash>,
    /// What was wrong, by the judge of all runs, where no clash shows it.
    pub wrongs: Vec<Wrong>,
    /// Timers, where the trace tells of them.
    pub timers: Vec<Countdown>,
    /// How long it took to get in, each time.
    pub delays: Vec<Delay>,
    /// What processes say to themselves.
    pub own: Vec<Own>,
    /// What processes are told, ask for and suspect: at what time, by whom, what.
    pub notes: Vec<(Time, Seat, MarkKind)>,
    /// Who said at the end that it waits for whom.
    pub waits: Vec<(Time, Seat, Seat)>,
    /// The times at which anything happens that is drawn, in order, each once.
    pub moments: Vec<Time>,
    /// Whether upkeep is left out where there is nothing else to see.
    pub is_thinned: bool,
    /// How long a message takes, typically: the median.
    pub delay: Time,
}

/// A message to oneself.
pub(crate) struct Own {
    pub at: Time,
    pub seat: Seat,
    pub kind: KindIndex,
    /// What it says, where the trace tells.
    pub text: Option<String>,
}

impl History {
    /// Reads a trace. Events of processes that the header does not know are passed over.
    pub fn of(trace: &Trace) -> Self {
        let mut flights = flights::Flights::default();
        let mut spans = spans::Spans::new(trace.header.members.len(), trace.header.promises);
        let mut notes: Vec<(Time, Seat, MarkKind)> = Vec::new();
        let (mut waits, mut moments) = (Vec::new(), Vec::new());
        let known = |seat: Seat| seat.index() < trace.header.members.len();
        let (mut timers, mut own) = (timers::Timers::new(trace), Vec::new());
        for record in &trace.records {
            let event = &record.event;
            if known(event.seat) {
                timers.on(record);
            }
            if let What::Sent { to, kind, .. } = event.what
                && to == event.seat
            {
                own.push(Own { at: event.at, seat: to, kind, text: record.text.clone() });
            }
            if !known(event.seat) || !event.what.partner().is_none_or(known) || !is_drawn(event) {
                continue;
            }
            flights.on(record);
            spans.on(event);
            let note = note(event).map(|kind| (event.at, event.seat, kind));
            // To be told the same thing twice at once is to be told it.
            let at_once = || notes.iter().rev().take_while(|&&(at, ..)| at == event.at);
            let is_new = note.is_some_and(|note| at_once().all(|&other| other != note));
            notes.extend(note.filter(|_| is_new));
            if let What::WaitsFor { whom } = event.what {
                waits.push((event.at, event.seat, whom));
            }
            moments.push((event.at, event.what.message()));
        }
        // A trace promises that its times never fall; a picture should survive one that lies.
        moments.sort_by_key(|&(at, _)| at);
        let spans::Spans { stays, absences, cuts, clashes, .. } = spans;
        let delay = typical_delay(&trace.header.network, &flights.all, &times(&moments));
        let mut flights =
            flights.landed(delay, |kind| is_upkeep(trace, kind), |kind| is_token(trace, kind));
        let is_thinned = background::thin(&mut flights, &mut moments);
        add_losses(&flights, &mut moments);
        let moments = times(&moments);
        own.retain(|own| known(own.seat));
        Self {
            flights,
            stays,
            absences,
            cuts,
            clashes,
            wrongs: wrongs(trace),
            timers: timers.all,
            delays: delays::of(trace),
            own,
            notes,
            waits,
            moments,
            is_thinned,
            delay,
        }
    }

    /// When the run began, as far as there is anything to see.
    pub fn start(&self) -> Time {
        self.moments.first().copied().unwrap_or_default()
    }

    /// When it ended.
    pub fn end(&self) -> Time {
        self.moments.last().copied().unwrap_or_default()
    }
}

/// Up to so many processes, it is judged who overtakes whom.
const ORDERING_MOST: usize = 32;

/// What the judge of all runs finds wrong; nothing, in a trace that names
/// processes or kinds that its header does not.
fn wrongs(trace: &Trace) -> Vec<Wrong> {
    let known = |seat: Seat| seat.index() < trace.header.members.len();
    let is_known = |event: &Event| known(event.seat) && event.what.partner().is_none_or(known);
    let is_named = |event: &Event| match event.what {
        What::Asked(said) | What::Told(said) => said.whom.is_none_or(known),
        What::Sent { kind, .. } | What::Received { kind, .. } => {
            usize::from(kind) < trace.header.kinds.len()
        }
        _ => true,
    };
    if !trace.records.iter().all(|it| is_known(&it.event) && is_named(&it.event)) {
        return Vec::new();
    }
    // A judge of one lock would take those of several for one.
    let mut locks = trace.records.iter().filter_map(|it| it.event.what.said()).map(|it| it.lock);
    let first = locks.next();
    if !locks.all(|lock| Some(lock) == first) {
        return Vec::new();
    }
    // Ordering takes a clock as long as there are processes for every message.
    let is_judged = trace.header.members.len() <= ORDERING_MOST;
    let ordering = if is_judged { JudgeOrdering::Yes } else { JudgeOrdering::No };
    let judge = trace.judge(ordering);
    let ending = trace.ending(&judge);
    judge.finish(ending).wrongs()
}

/// A cross on the way is something to see, too, although the trace tells of it at the sending: a
/// stretch is not quiet before it.
fn add_losses(flights: &[Flight], moments: &mut Vec<(Time, Option<MessageId>)>) {
    let Some(&(end, _)) = moments.last() else { return };
    let lost = flights.iter().filter(|flight| matches!(flight.fate, Fate::Lost { .. }));
    let crosses = lost.filter_map(|flight| Some((flight.until()?, Some(flight.message))));
    moments.extend(crosses.filter(|&(at, _)| at <= end));
    moments.sort_by_key(|&(at, _)| at);
}

/// Each time once.
fn times(moments: &[(Time, Option<MessageId>)]) -> Vec<Time> {
    let mut times: Vec<Time> = moments.iter().map(|&(at, _)| at).collect();
    times.dedup();
    times
}

/// What is to be seen at a process at one moment only.
fn note(event: &Event) -> Option<MarkKind> {
    let said = *event.what.said()?;
    let sort = (said.word.picture.mark)(&said, event.seat)?;
    Some(MarkKind::Said { said, sort })
}

/// Whether messages of that kind are tokens, by the name that all algorithms have for it.
fn is_token(trace: &Trace, kind: KindIndex) -> bool {
    trace.header.kinds.get(usize::from(kind)).is_some_and(|kind| kind.name == "token")
}

fn is_upkeep(trace: &Trace, kind: KindIndex) -> bool {
    trace.header.kinds.get(usize::from(kind)).is_some_and(|kind| kind.phase == Phase::Upkeep)
}

/// Messages to oneself do not cross the network. A timer leaves no visible mark, nor does a
/// question before it is answered.
fn is_drawn(event: &Event) -> bool {
    match event.what {
        What::TimerFired => false,
        What::Asked(said) | What::Told(said) => !said.word.picture.is_hidden,
        What::WaitsFor { .. } => true,
        what => what.partner() != Some(event.seat),
    }
}

/// The median delay; where no message arrived, the median distance of two moments.
fn typical_delay(network: &str, flights: &[Flight], moments: &[Time]) -> Time {
    if network == "unit" {
        return Time::DELAY;
    }
    let delays = flights.iter().filter_map(Flight::delay).collect();
    let gaps = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
    median(delays).or_else(|| median(gaps)).unwrap_or(Time::DELAY).max(Time(1))
}

/// The middle one.
fn median(mut times: Vec<Time>) -> Option<Time> {
    let middle = times.len() / 2;
    (!times.is_empty()).then(|| *times.select_nth_unstable(middle).1)
}

/// Whether something that lasts from one time to another, or for ever, is seen between two more.
pub(crate) fn is_within(from: Time, to: Option<Time>, window: (Time, Time)) -> bool {
    from <= window.1 && to.is_none_or(|to| to >= window.0)
}
