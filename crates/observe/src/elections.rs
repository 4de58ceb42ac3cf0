//! All that is judged and measured of elections.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::election::Term;
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
    /// The highest term that had a leader.
    latest: Term,
    /// Whether what is under way was called, or has brought a leader that is new. Otherwise
    /// somebody merely learns who leads: it came back, or the word to it was lost.
    is_election: bool,
    /// By seat: whether it ever had to do with an election. Where the largest is to be elected all
    /// have; elsewhere some may be a store for the others.
    takes_part: Vec<bool>,
}

impl Elections {
    /// For these processes; `largest` and `one_at_a_time` say what was promised.
    pub fn new(members: &[ProcessId], largest: bool, one_at_a_time: bool) -> Self {
        Self {
            deciding: Deciding::new(members.len(), largest),
            decisions: 0,
            largest: largest.then(|| LargestId::new(members)),
            agreement: Agreement::default(),
            per_term: OnePerTerm::default(),
            one_at_a_time: one_at_a_time.then(|| OneAtATime::new(members.len())),
            versions: Versions::new(members.len()),
            register: Register::new(members.len()),
            turnaround: Histogram::default(),
            last_turnaround: None,
            latest: Term::NONE,
            is_election: false,
            takes_part: vec![largest; members.len()],
        }
    }

    /// Takes in an event.
    pub fn on(&mut self, event: &Event) {
        self.deciding.on(event);
        self.takes_part[event.seat.index()] |= matches!(
            event.what,
            What::Called | What::Electing | What::Elected { .. } | What::Vacant
        );
        match event.what {
            What::Called => self.is_election = true,
            What::Elected { term, .. } => {
                self.decisions += 1;
                // Where there are no terms, nobody learns of a leader but by an election.
                self.is_election |= term == Term::NONE || term > self.latest;
                self.latest = self.latest.max(term);
            }
            _ => {}
        }
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

    /// Nothing that belongs to a call is in flight. Says whether an election is over by that. Asked
    /// at every step of upkeep, so mostly there is nothing to it.
    #[inline]
    pub fn on_quiet(&mut self, now: Time) -> bool {
        let over = self.deciding.on_quiet();
        if let Some(wave) = over {
            self.on_over(wave, now);
        }
        over.is_some()
    }

    fn on_over(&mut self, wave: Wave, now: Time) {
        if let Some(largest) = &mut self.largest {
            largest.on_end();
        }
        let is_election = core::mem::take(&mut self.is_election);
        let Some(decided_at) = wave.decided_at else { return };
        if is_election {
            self.turnaround.record(decided_at - wave.since);
            self.last_turnaround = Some(decided_at - wave.since);
        }
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
        let beliefs = self.deciding.beliefs();
        let mut leaders = beliefs.filter(|(seat, _)| self.takes_part[seat.index()]).map(|it| it.1);
        let first = leaders.next()??;
        (self.deciding.undecided() == 0 && leaders.all(|leader| leader == Some(first)))
            .then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERS: [ProcessId; 3] = [ProcessId(1), ProcessId(2), ProcessId(3)];

    fn elected(leader: u32, term: u64) -> What {
        What::Elected { leader: Seat(leader), term: Term(term) }
    }

    /// All is quiet after every part of the history. Says how many elections were counted, and how
    /// long the last one took.
    fn counted(parts: &[&[(u64, u32, What)]]) -> (u64, Option<Time>) {
        let mut elections = Elections::new(&MEMBERS, false, false);
        let mut now = Time::ZERO;
        for part in parts {
            for &(at, seat, what) in *part {
                now = Time(at);
                elections.on(&Event { at: now, seat: Seat(seat), what });
            }
            elections.on_quiet(now);
        }
        (elections.turnaround.count(), elections.last_turnaround)
    }

    const FIRST: &[(u64, u32, What)] = &[
        (1, 0, What::Called),
        (1, 0, What::Electing),
        (3, 0, What::Elected { leader: Seat(0), term: Term(1) }),
        (4, 1, What::Elected { leader: Seat(0), term: Term(1) }),
        (4, 2, What::Elected { leader: Seat(0), term: Term(1) }),
    ];

    #[test]
    fn who_comes_back_and_learns_who_leads_has_held_no_election() {
        let learns = [(9, 2, What::Returned), (12, 2, elected(0, 1))];
        assert_eq!(counted(&[FIRST, &learns]), (1, Some(Time(3))));
        let asks_first = [(9, 2, What::Returned), (9, 2, What::Electing), (12, 2, elected(0, 1))];
        assert_eq!(counted(&[FIRST, &asks_first]), (1, Some(Time(3))));
    }

    #[test]
    fn a_leader_of_a_new_term_is_an_election_even_if_nobody_called_it() {
        let succeeds = [(20, 1, What::Electing), (22, 1, elected(1, 2)), (23, 2, elected(1, 2))];
        assert_eq!(counted(&[FIRST, &succeeds]), (2, Some(Time(3))));
        // And who hears of that term late has learnt, again.
        let late = [(40, 0, elected(1, 2))];
        assert_eq!(counted(&[FIRST, &succeeds, &late]), (2, Some(Time(3))));
        let same_again = [(50, 0, elected(0, 3)), (51, 1, elected(0, 3))];
        assert_eq!(counted(&[FIRST, &succeeds, &same_again]), (3, Some(Time(1))));
    }

    #[test]
    fn what_was_called_is_an_election_and_so_is_every_decision_without_terms() {
        let called = [(20, 1, What::Called), (22, 1, elected(0, 1))];
        assert_eq!(counted(&[FIRST, &called]), (2, Some(Time(2))));
        let announces = [(20, 2, What::Returned), (20, 2, elected(2, 0)), (21, 0, elected(2, 0))];
        assert_eq!(counted(&[FIRST, &announces]), (2, Some(Time(1))));
    }

    #[test]
    fn a_call_that_came_to_nothing_does_not_make_an_election_of_the_next_word() {
        let dies = [(20, 1, What::Called), (20, 1, What::Electing), (21, 1, What::Crashed)];
        let learns = [(30, 2, elected(0, 1))];
        assert_eq!(counted(&[FIRST, &dies, &learns]), (1, Some(Time(3))));
    }

    fn leader(largest: bool, history: &[(u64, u32, What)]) -> Option<Seat> {
        let mut elections = Elections::new(&MEMBERS, largest, false);
        for &(at, seat, what) in history {
            elections.on(&Event { at: Time(at), seat: Seat(seat), what });
        }
        elections.leader()
    }

    #[test]
    fn a_leader_is_who_all_that_are_up_and_take_part_believe_in() {
        let both = [(1, 0, elected(2, 0)), (1, 1, elected(2, 0))];
        assert_eq!(leader(false, &both), Some(Seat(2)), "the third may be a store");
        assert_eq!(leader(true, &both), None, "the third was not told");
        let all = [&both[..], &[(1, 2, elected(2, 0))]].concat();
        assert_eq!(leader(true, &all), Some(Seat(2)));
        assert_eq!(leader(false, &[&both[..], &[(2, 0, elected(1, 0))]].concat()), None);
        let gone = [(2, 0, elected(1, 0)), (3, 0, What::Crashed)];
        assert_eq!(leader(false, &[&both[..], &gone].concat()), Some(Seat(2)));
        let back = [&both[..], &gone, &[(4, 0, What::Returned)]].concat();
        assert_eq!(leader(false, &back), None, "it does not know yet");
    }
}
