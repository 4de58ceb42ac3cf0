//! A run as things that last: what a trace tells moment by moment, joined into journeys and spans.
//!
//! Everything here is in the run's own time; nothing knows how it will be drawn.

mod flights;
mod spans;

use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_observe::trace::Trace;
use conclave_observe::{Event, Time, What};

pub(crate) use flights::Flight;
pub(crate) use spans::{Absence, Clash, Cut, Stay};

/// Everything in a trace that can be drawn.
pub(crate) struct History {
    /// The journeys of messages, in the order in which they were sent.
    pub flights: Vec<Flight>,
    /// Waiting and holding.
    pub stays: Vec<Stay>,
    /// Crashes and pauses.
    pub absences: Vec<Absence>,
    /// Partitions, one entry for each process concerned.
    pub cuts: Vec<Cut>,
    /// Intervals with more than one holder.
    pub clashes: Vec<Clash>,
    /// Who said at the end that it waits for whom.
    pub waits: Vec<(Time, Seat, Seat)>,
    /// The times at which anything happens that is drawn, in order, each once.
    pub moments: Vec<Time>,
    /// How long a message takes, typically: the median.
    pub delay: Time,
}

impl History {
    /// Reads a trace. Events of processes that the header does not know are passed over.
    pub fn of(trace: &Trace) -> Self {
        let mut flights = flights::Flights::default();
        let mut spans = spans::Spans::new(trace.header.members.len());
        let (mut waits, mut moments) = (Vec::new(), Vec::new());
        let known = |seat: Seat| seat.index() < trace.header.members.len();
        for record in &trace.records {
            let event = &record.event;
            if !known(event.seat) || !partner(event).is_none_or(known) || !is_drawn(event) {
                continue;
            }
            flights.on(record);
            spans.on(event);
            if let What::WaitsFor { whom } = event.what {
                waits.push((event.at, event.seat, whom));
            }
            moments.push(event.at);
        }
        // A trace promises that its times never fall; a picture should survive one that lies.
        moments.sort_unstable();
        moments.dedup();
        let spans::Spans { stays, absences, cuts, clashes, .. } = spans;
        let delay = typical_delay(&trace.header.network, &flights.all, &moments);
        let flights = flights.landed(delay);
        Self { flights, stays, absences, cuts, clashes, waits, moments, delay }
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

/// The process at the other end, where there is one.
fn partner(event: &Event) -> Option<Seat> {
    match event.what {
        What::Sent { to, .. } | What::Lost { to, .. } | What::Duplicated { to, .. } => Some(to),
        What::Received { from, .. } => Some(from),
        What::WaitsFor { whom } => Some(whom),
        _ => None,
    }
}

/// Messages to oneself do not cross the network, and a timer leaves no visible mark.
fn is_drawn(event: &Event) -> bool {
    match event.what {
        What::TimerFired | What::Leaving => false,
        What::WaitsFor { .. } => true,
        _ => partner(event) != Some(event.seat),
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
