//! How long it took to get in, as the measures of locks have it: from the request of one who is
//! alone, or from the leaving of the last holder.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_observe::family::locks::{self, Seen};
use conclave_observe::measure::Delays;
use conclave_observe::trace::Trace;
use conclave_observe::{Event, LockName, Time, What};

use crate::scene::DelaySort;

/// A delay that ended with an entry.
pub(crate) struct Delay {
    /// Who entered.
    pub seat: Seat,
    pub sort: DelaySort,
    pub from: Time,
    pub to: Time,
}

/// All of a trace; none, if it is not of locks.
pub(super) fn of(trace: &Trace) -> Vec<Delay> {
    if trace.header.vocabulary.family != locks::VOCABULARY.family {
        return Vec::new();
    }
    let members = trace.header.members.len();
    let (mut all, mut measures) = (Vec::new(), BTreeMap::<LockName, Delays>::new());
    let known = trace.records.iter().map(|it| &it.event).filter(|it| it.seat.index() < members);
    for event in known {
        match event.what {
            What::Asked(said) | What::Told(said) => {
                let measure = measures.entry(said.lock).or_insert_with(|| Delays::new(members));
                all.extend(ended(measure, event));
                measure.on(event);
            }
            What::Crashed => measures.values_mut().for_each(|measure| measure.on(event)),
            _ => {}
        }
    }
    all
}

/// The delays that end with that event.
fn ended(measure: &Delays, event: &Event) -> Vec<Delay> {
    let &Event { at: to, seat, what } = event;
    if !matches!(Seen::of(what), Seen::Entered { .. }) {
        return Vec::new();
    }
    let client = measure.client_since(seat).map(|from| (DelaySort::Client, from));
    let sync = measure.sync_since(seat).map(|from| (DelaySort::Sync, from));
    let delays = client.into_iter().chain(sync);
    delays.map(|(sort, from)| Delay { seat, sort, from, to }).collect()
}
