//! Failure detection: the dead are suspected (completeness), and nobody else is (accuracy).

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{Renaming, Seat, SeatSet};

use crate::family::detectors::Seen;
use crate::measure::Histogram;
use crate::{Event, Time};

/// Watches who suspects whom while who is up, and how long it takes.
#[derive(Clone, Debug)]
pub struct Detection {
    suspicions: Suspicions,
    /// By seat: since when it is down.
    down_since: Vec<Option<Time>>,
    /// Who suspects the dead, by the dead one and by who: how long after the crash it began to.
    /// Whoever is taken in by a late message and trusts the dead once more has not noticed yet.
    noticing: BTreeMap<(Seat, Seat), Time>,
    /// How long it took to notice the deaths of those who are not down any more.
    noticed: Histogram,
    wrong: u64,
    /// The first wrong suspicions, and when each was over.
    wrongs: Vec<(WrongSuspicion, Option<Time>)>,
    deaths: u64,
}

/// So many wrong suspicions are kept: nobody looks at more.
const WRONGS_KEPT: usize = 50;

/// Who suspects whom while who is up.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Suspicions {
    /// By seat: whom it suspects.
    suspects: Vec<SeatSet>,
    /// By seat: whether it is down.
    is_down: Vec<bool>,
    broken: Option<WrongSuspicion>,
}

/// The first suspicion of somebody who was up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WrongSuspicion {
    /// When it was suspected.
    pub at: Time,
    /// The process that suspects, by seat.
    pub seat: Seat,
    /// The process that was up, by seat.
    pub whom: Seat,
}

impl Detection {
    /// For `members` processes.
    pub fn new(members: usize) -> Self {
        Self {
            suspicions: Suspicions::new(members),
            down_since: vec![None; members],
            noticing: BTreeMap::new(),
            noticed: Histogram::default(),
            wrong: 0,
            wrongs: Vec::new(),
            deaths: 0,
        }
    }

    /// Takes in an event.
    pub fn on(&mut self, event: &Event) {
        let (at, seat, index) = (event.at, event.seat, event.seat.index());
        match Seen::of(event.what) {
            Seen::Suspected { whom } => match self.down_since[whom.index()] {
                Some(since) => drop(self.noticing.insert((whom, seat), at - since)),
                None => self.suspect_wrongly(WrongSuspicion { at, seat, whom }),
            },
            Seen::Trusted { whom } => {
                self.noticing.remove(&(whom, seat));
                self.end_wrongs(at, |wrong| (wrong.seat, wrong.whom) == (seat, whom));
            }
            Seen::Crashed => {
                self.end_wrongs(at, |wrong| wrong.seat == seat || wrong.whom == seat);
                self.deaths += 1;
                self.down_since[index] = Some(at);
                // Whoever suspected it wrongly was right too soon.
                let early = self.suspicions.of(seat).map(|who| ((seat, who), Time::ZERO));
                self.noticing.extend(early);
            }
            Seen::Returned | Seen::Replaced => {
                self.down_since[index] = None;
                let mut others = self.noticing.split_off(&(seat, Seat(0)));
                let next = Seat(seat.0.saturating_add(1));
                let mut later = others.split_off(&(next, Seat(0)));
                others.into_values().for_each(|time| self.noticed.record(time));
                self.noticing.append(&mut later);
            }
            _ => {}
        }
        self.suspicions.on(event);
    }

    fn suspect_wrongly(&mut self, wrong: WrongSuspicion) {
        self.wrong += 1;
        if self.wrongs.len() < WRONGS_KEPT {
            self.wrongs.push((wrong, None));
        }
    }

    fn end_wrongs(&mut self, at: Time, is_meant: impl Fn(&WrongSuspicion) -> bool) {
        let open = self.wrongs.iter_mut().filter(|(_, until)| until.is_none());
        for (_, until) in open.filter(|(wrong, _)| is_meant(wrong)) {
            *until = Some(at);
        }
    }

    /// The first suspicions of somebody who was up, each with when it was over: trusted again, or
    /// one of the two dead.
    pub fn wrong_suspicions(&self) -> impl Iterator<Item = (WrongSuspicion, Option<Time>)> + '_ {
        self.wrongs.iter().copied()
    }

    /// Since when somebody is down that not all have noticed, who, and those who have not.
    pub fn unnoticed(&self) -> impl Iterator<Item = (Time, Seat, Vec<Seat>)> + '_ {
        let dead = self.down_since.iter().enumerate();
        let dead = dead.filter_map(|(index, since)| Some(((*since)?, Seat::at(index))));
        dead.filter_map(|(since, whom)| {
            let missed = self.missed().filter(|&(_, it)| it == whom).map(|(seat, _)| seat);
            let missed: Vec<Seat> = missed.collect();
            (!missed.is_empty()).then_some((since, whom, missed))
        })
    }

    /// From a crash to the suspicion that stayed, for each who noticed.
    pub fn time_to_detect(&self) -> Histogram {
        let mut all = self.noticed.clone();
        self.noticing.values().for_each(|&time| all.record(time));
        all
    }

    /// How often somebody who was up was suspected.
    pub fn wrong(&self) -> u64 {
        self.wrong
    }

    /// How often somebody died.
    pub fn deaths(&self) -> u64 {
        self.deaths
    }

    /// The first time, if there was one.
    pub fn first_wrong(&self) -> Option<WrongSuspicion> {
        self.suspicions.broken()
    }

    /// Who is up and does not suspect whom, who is down.
    pub fn missed(&self) -> impl Iterator<Item = (Seat, Seat)> + '_ {
        self.suspicions.missed()
    }
}

impl Suspicions {
    /// For `members` processes.
    pub fn new(members: usize) -> Self {
        Self {
            suspects: vec![SeatSet::empty(members); members],
            is_down: vec![false; members],
            broken: None,
        }
    }

    /// Takes in an event.
    pub fn on(&mut self, event: &Event) {
        let (at, seat, index) = (event.at, event.seat, event.seat.index());
        match Seen::of(event.what) {
            Seen::Suspected { whom } => {
                self.suspects[index].insert(whom);
                if !self.is_down[whom.index()] {
                    self.broken.get_or_insert(WrongSuspicion { at, seat, whom });
                }
            }
            Seen::Trusted { whom } => drop(self.suspects[index].remove(whom)),
            Seen::Crashed => {
                self.is_down[index] = true;
                self.suspects[index].clear();
            }
            Seen::Returned | Seen::Replaced => self.is_down[index] = false,
            _ => {}
        }
    }

    /// The first suspicion of somebody who was up, if there was one.
    pub fn broken(&self) -> Option<WrongSuspicion> {
        self.broken
    }

    /// This property's memory, with every process renamed.
    #[must_use]
    pub fn renamed(&self, names: &Renaming) -> Self {
        let suspects: Vec<SeatSet> = self.suspects.iter().map(|set| names.set(set)).collect();
        Self {
            suspects: names.rows(&suspects),
            is_down: names.rows(&self.is_down),
            broken: self.broken.map(|WrongSuspicion { at, seat, whom }| WrongSuspicion {
                at,
                seat: names.seat(seat),
                whom: names.seat(whom),
            }),
        }
    }

    /// Who suspects that one.
    fn of(&self, whom: Seat) -> impl Iterator<Item = Seat> + '_ {
        let suspects = self.suspects.iter().enumerate();
        suspects.filter(move |(_, it)| it.contains(whom)).map(|(index, _)| Seat::at(index))
    }

    /// Who is up and does not suspect whom, who is down.
    pub fn missed(&self) -> impl Iterator<Item = (Seat, Seat)> + '_ {
        let seats = || self.is_down.iter().enumerate();
        let up = seats().filter(|(_, is_down)| !**is_down).map(|(index, _)| Seat::at(index));
        up.flat_map(move |seat| {
            let dead = seats().filter(|(_, is_down)| **is_down).map(|(at, _)| Seat::at(at));
            dead.filter(move |&whom| !self.suspects[seat.index()].contains(whom))
                .map(move |whom| (seat, whom))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(history: &[(u64, u32, Seen)]) -> Detection {
        let mut property = Detection::new(3);
        for &(at, seat, seen) in history {
            property.on(&Event { at: Time(at), seat: Seat(seat), what: seen.what() });
        }
        property
    }

    const DEAD: Seen = Seen::Crashed;

    fn suspects(whom: u32) -> Seen {
        Seen::Suspected { whom: Seat(whom) }
    }

    #[test]
    fn a_death_that_all_notice_is_neither_missed_nor_wrong() {
        let seen = watch(&[(5, 2, DEAD), (8, 0, suspects(2)), (9, 1, suspects(2))]);
        assert_eq!((seen.wrong(), seen.missed().count()), (0, 0));
        assert_eq!(seen.time_to_detect().max(), Some(Time(4)));
    }

    /// The last suspicion counts: the others were taken back.
    #[test]
    fn the_time_to_detect_is_that_of_the_suspicion_which_stays() {
        let trusts = Seen::Trusted { whom: Seat(2) };
        let early = [(2, 0, suspects(2)), (4, 1, suspects(2)), (5, 2, DEAD)];
        let seen = watch(&early);
        assert_eq!(
            (seen.time_to_detect().count(), seen.time_to_detect().max()),
            (2, Some(Time(0)))
        );
        let corrected = [&early[..], &[(6, 0, trusts), (9, 0, suspects(2))]].concat();
        let times = watch(&corrected).time_to_detect();
        assert_eq!((times.count(), times.max(), times.mean()), (2, Some(Time(4)), Some(2.0)));
        let unlearnt = [&corrected[..], &[(10, 0, trusts)]].concat();
        assert_eq!(watch(&unlearnt).time_to_detect().count(), 1);
    }

    #[test]
    fn each_death_of_one_who_comes_back_counts() {
        let returns = [(8, 2, Seen::Returned), (8, 0, Seen::Trusted { whom: Seat(2) })];
        let first = [(5, 2, DEAD), (7, 0, suspects(2)), (7, 1, suspects(2))];
        let second = [(10, 2, DEAD), (15, 0, suspects(2))];
        let times = watch(&[&first[..], &returns, &second].concat()).time_to_detect();
        // 1 never trusted it again, so it knew of the second death too soon.
        assert_eq!((times.count(), times.max(), times.mean()), (4, Some(Time(5)), Some(9.0 / 4.0)));
    }

    #[test]
    fn a_suspicion_of_one_who_is_up_is_wrong_and_counted_each_time() {
        let again = [(8, 0, suspects(2)), (9, 0, Seen::Trusted { whom: Seat(2) })];
        let seen = watch(&[&again[..], &[(12, 0, suspects(2))]].concat());
        assert_eq!((seen.wrong(), seen.first_wrong().map(|it| it.at)), (2, Some(Time(8))));
    }

    #[test]
    fn a_death_that_somebody_does_not_notice_or_unlearns_is_missed() {
        let seen = watch(&[(5, 2, DEAD), (8, 0, suspects(2))]);
        assert_eq!(seen.missed().collect::<Vec<_>>(), [(Seat(1), Seat(2))]);
        let unlearnt = [(5, 2, DEAD), (8, 0, suspects(2)), (9, 0, Seen::Trusted { whom: Seat(2) })];
        assert_eq!(watch(&unlearnt).missed().count(), 2);
    }

    #[test]
    fn whoever_came_back_is_not_dead() {
        let seen = watch(&[(5, 2, DEAD), (6, 2, Seen::Returned), (8, 0, suspects(2))]);
        assert_eq!((seen.wrong(), seen.missed().count()), (1, 0));
    }
}
