//! All that is judged and measured of elections.

use conclave_core::{ProcessId, Seat};

use crate::measure::Histogram;
use crate::property::{
    Agreement, Deciding, LargestId, OneAtATime, OnePerTerm, Register, Versions, Wave,
};
use crate::{Event, Time, What};

/// What was seen of the elections of a run.
#[derive(Clone, Debug)]
pub struct Elections {
    /// Liveness: who has not decided; and who believes in whom.
    pub deciding: Deciding,
    /// How many decisions there were.
    pub decisions: u64,
    /// Safety, where the largest is to be elected.
    pub largest: Option<LargestId>,
    /// Agreement, judged where the largest is to be elected.
    pub agreement: Agreement,
    /// Safety, where there are terms.
    pub per_term: OnePerTerm,
    /// Safety, where one leads at a time.
    pub one_at_a_time: Option<OneAtATime>,
    /// Safety of the value that leaders keep.
    pub versions: Versions,
    /// The same, by the values themselves; known at the end.
    pub register: Register,
    /// From the first call to the last process that knows, of every election that ended.
    pub turnaround: Histogram,
    /// The same, of the last one.
    pub last_turnaround: Option<Time>,
}

impl Elections {
    /// For these processes; `largest` and `one_at_a_time` say what was promised.
    pub fn new(members: &[ProcessId], largest: bool, one_at_a_time: bool) -> Self {
        Self {
            deciding: Deciding::new(members.len()),
            decisions: 0,
            largest: largest.then(|| LargestId::new(members)),
            agreement: Agreement::default(),
            per_term: OnePerTerm::default(),
            one_at_a_time: one_at_a_time.then(|| OneAtATime::new(members.len())),
            versions: Versions::new(members.len()),
            register: Register::new(members.len()),
            turnaround: Histogram::default(),
            last_turnaround: None,
        }
    }

    /// Takes in an event.
    pub fn on(&mut self, event: &Event) {
        self.deciding.on(event);
        self.decisions += u64::from(matches!(event.what, What::Elected { .. }));
        if let Some(largest) = &mut self.largest {
            largest.on(event, self.deciding.election());
        }
        self.per_term.on(event);
        if let Some(one_at_a_time) = &mut self.one_at_a_time {
            one_at_a_time.on(event);
        }
        self.versions.on(event);
        self.register.on(event);
    }

    /// Nothing that belongs to a call is in flight. Asked at every step of upkeep, so mostly there
    /// is nothing to it.
    #[inline]
    pub fn on_quiet(&mut self, now: Time) {
        if let Some(wave) = self.deciding.on_quiet() {
            self.on_over(wave, now);
        }
    }

    fn on_over(&mut self, wave: Wave, now: Time) {
        if let Some(largest) = &mut self.largest {
            largest.on_end();
        }
        let Some(decided_at) = wave.decided_at else { return };
        self.turnaround.record(decided_at - wave.since);
        self.last_turnaround = Some(decided_at - wave.since);
        if self.largest.is_some() {
            self.agreement.on_end(now, &self.deciding);
        }
    }

    /// The run is over.
    pub fn on_end(&mut self, now: Time) {
        if let Some(one_at_a_time) = &mut self.one_at_a_time {
            one_at_a_time.look(now);
        }
        self.register.on_end();
    }

    /// Whether a promise was broken.
    pub fn is_broken(&self) -> bool {
        self.largest.as_ref().is_some_and(|it| it.broken().is_some())
            || self.agreement.broken().is_some()
            || self.per_term.broken().is_some()
            || self.one_at_a_time.as_ref().is_some_and(|it| it.broken().is_some())
            || self.versions.broken().is_some()
            || self.register.broken().is_some()
    }

    /// Whom all that are up believe to lead, if they agree and nobody is undecided.
    pub fn leader(&self) -> Option<Seat> {
        self.deciding.leader().filter(|_| self.deciding.undecided() == 0)
    }
}
