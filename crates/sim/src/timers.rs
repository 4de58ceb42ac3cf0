//! Which timers are set, and when they run out.

use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_observe::Time;

/// The timers that are set.
///
/// A timer that is set anew with every message would fill the agenda with settings that no longer
/// count. So each has one entry there, at the first of its times. When that comes and the timer
/// was set to a later one meanwhile, the entry moves there: see [`Becomes::Moves`].
#[derive(Debug)]
pub struct Timers<T> {
    /// By seat, sorted by name: a process has few, or sets them once and then sets them anew.
    by_seat: Vec<Vec<Slot<T>>>,
    settings: u64,
}

/// One setting of a timer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SetTimer {
    /// When it runs out.
    pub at: Time,
    /// Counted over all settings of all processes: of two timers that run out at the same time, the
    /// one that was set first goes first.
    pub number: u64,
    /// Whether it comes before anything else that happens to its process from then on.
    pub is_deadline: bool,
}

#[derive(Debug)]
struct Slot<T> {
    timer: T,
    /// `None` if it was cancelled, and only its entry is left.
    due: Option<SetTimer>,
    /// Where its entry is; `None` if it ran out, and its process is paused.
    entry: Option<SetTimer>,
}

/// What becomes of an entry whose time has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Becomes {
    /// The timer runs out.
    RunsOut,
    /// It was set to a later time since.
    Moves(SetTimer),
    /// It was cancelled, or set to an earlier time, which has an entry of its own.
    IsGone,
}

impl<T: Copy + Ord> Timers<T> {
    /// How much memory one timer takes here.
    pub const SLOT_BYTES: usize = size_of::<Slot<T>>();

    /// How many are set, or were and still have their entry.
    pub fn len(&self) -> usize {
        self.by_seat.iter().map(Vec::len).sum()
    }

    pub fn new(members: usize) -> Self {
        Self { by_seat: (0..members).map(|_| Vec::new()).collect(), settings: 0 }
    }

    /// Sets a timer, in place of what it was set to before. Gives back the entry that it needs,
    /// if it has none that comes first.
    pub fn set(&mut self, seat: Seat, timer: T, at: Time, is_deadline: bool) -> Option<SetTimer> {
        self.settings += 1;
        let due = SetTimer { at, number: self.settings, is_deadline };
        let timers = &mut self.by_seat[seat.index()];
        let place = place(timers, timer).unwrap_or_else(|place| {
            timers.insert(place, Slot { timer, due: None, entry: None });
            place
        });
        let slot = &mut timers[place];
        slot.due = Some(due);
        if slot.entry.is_some_and(|entry| entry < due && entry.is_deadline == is_deadline) {
            return None;
        }
        slot.entry = Some(due);
        Some(due)
    }

    /// The entry is the first of all, so its time comes next.
    pub fn on_entry(&mut self, seat: Seat, timer: T, entry: SetTimer) -> Becomes {
        let timers = &mut self.by_seat[seat.index()];
        let Ok(place) = place(timers, timer) else { return Becomes::IsGone };
        let slot = &mut timers[place];
        if slot.entry != Some(entry) {
            return Becomes::IsGone;
        }
        match slot.due {
            Some(due) if due == entry => Becomes::RunsOut,
            Some(due) => {
                slot.entry = Some(due);
                Becomes::Moves(due)
            }
            None => {
                timers.remove(place);
                Becomes::IsGone
            }
        }
    }

    /// The entry of a timer that runs out was taken from the agenda.
    pub fn on_taken(&mut self, seat: Seat, timer: T) {
        let timers = &mut self.by_seat[seat.index()];
        if let Ok(place) = place(timers, timer) {
            timers[place].entry = None;
        }
    }

    /// Whether it is set, and was not set anew since.
    pub fn is_set(&self, seat: Seat, timer: T, due: SetTimer) -> bool {
        let timers = &self.by_seat[seat.index()];
        place(timers, timer).is_ok_and(|place| timers[place].due == Some(due))
    }

    /// The deadline of that process that is due first, if one is due by then.
    pub fn first_deadline(&self, seat: Seat, now: Time) -> Option<T> {
        let set =
            self.by_seat[seat.index()].iter().filter_map(|slot| Some((slot.due?, slot.timer)));
        let due = set.filter(|(due, _)| due.is_deadline && due.at <= now);
        due.min_by_key(|(due, _)| *due).map(|(_, timer)| timer)
    }

    /// Those of that process, by name.
    pub fn pending(&self, seat: Seat) -> impl Iterator<Item = (T, SetTimer)> {
        self.by_seat[seat.index()].iter().filter_map(|slot| Some((slot.timer, slot.due?)))
    }

    /// It ran out, or is not to.
    pub fn unset(&mut self, seat: Seat, timer: T) {
        let timers = &mut self.by_seat[seat.index()];
        if let Ok(place) = place(timers, timer) {
            timers[place].due = None;
            if timers[place].entry.is_none() {
                timers.remove(place);
            }
        }
    }

    /// All of that process are lost with it.
    pub fn unset_all(&mut self, seat: Seat) {
        self.by_seat[seat.index()].clear();
    }

    /// Whether nobody has set any.
    pub fn is_empty(&self) -> bool {
        self.by_seat.iter().flatten().all(|slot| slot.due.is_none())
    }
}

/// Where it is, or where it would have to be.
#[inline]
fn place<T: Copy + Ord>(timers: &[Slot<T>], timer: T) -> Result<usize, usize> {
    timers.binary_search_by(|slot| slot.timer.cmp(&timer))
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;
    use crate::seed::Stream;

    const SEAT: Seat = Seat(1);

    #[test]
    fn only_the_last_setting_counts_and_only_until_it_is_unset() {
        let mut timers = Timers::new(2);
        let first = timers.set(SEAT, 'b', Time(5), false).expect("it has no entry yet");
        let other = timers.set(SEAT, 'a', Time(6), false).expect("it has no entry yet");
        let second = timers.set(SEAT, 'b', Time(4), false).expect("its entry is too late");
        assert!(!timers.is_set(SEAT, 'b', first), "it was set anew");
        assert!(timers.is_set(SEAT, 'b', second) && timers.is_set(SEAT, 'a', other));
        assert!(!timers.is_set(Seat(0), 'b', second), "that is another's");

        timers.unset(SEAT, 'c');
        timers.unset(SEAT, 'b');
        assert!(!timers.is_set(SEAT, 'b', second));
        assert!(timers.is_set(SEAT, 'a', other));
        assert_eq!(timers.on_entry(SEAT, 'b', second), Becomes::IsGone);
    }

    #[test]
    fn a_timer_that_is_set_to_a_later_time_keeps_its_entry_which_moves_there_when_it_comes() {
        let mut timers = Timers::new(2);
        let first = timers.set(SEAT, (), Time(5), false).expect("it has no entry yet");
        assert_eq!(timers.set(SEAT, (), Time(7), false), None);
        timers.unset(SEAT, ());
        assert_eq!(timers.set(SEAT, (), Time(9), false), None);
        let third = SetTimer { at: Time(9), number: 3, is_deadline: false };
        assert_eq!(timers.on_entry(SEAT, (), first), Becomes::Moves(third));
        assert_eq!(timers.on_entry(SEAT, (), third), Becomes::RunsOut);
    }

    #[test]
    fn the_first_deadline_is_the_one_that_was_due_first_and_no_timer_is_one() {
        let mut timers = Timers::new(2);
        timers.set(SEAT, 'a', Time(2), false);
        timers.set(SEAT, 'b', Time(5), true);
        timers.set(SEAT, 'c', Time(4), true);
        timers.set(SEAT, 'd', Time(9), true);
        assert_eq!(timers.first_deadline(SEAT, Time(3)), None);
        assert_eq!(timers.first_deadline(SEAT, Time(8)), Some('c'));
        timers.unset(SEAT, 'c');
        assert_eq!(timers.first_deadline(SEAT, Time(5)), Some('b'));
        timers.set(SEAT, 'b', Time(5), false);
        assert_eq!(timers.first_deadline(SEAT, Time(8)), None);
        assert_eq!(timers.first_deadline(Seat(0), Time(8)), None);
    }

    #[test]
    fn a_timer_that_becomes_a_deadline_gets_an_entry_of_its_own() {
        let mut timers = Timers::new(2);
        timers.set(SEAT, (), Time(5), false).expect("it has no entry yet");
        let deadline = timers.set(SEAT, (), Time(5), true).expect("its entry would come too late");
        assert_eq!(timers.on_entry(SEAT, (), deadline), Becomes::RunsOut);
    }

    #[test]
    fn a_crash_takes_all_timers_of_that_process_alone() {
        let mut timers = Timers::new(2);
        let lost = timers.set(SEAT, (), Time(1), false).expect("it has no entry yet");
        let kept = timers.set(Seat(0), (), Time(1), false).expect("it has no entry yet");
        timers.unset_all(SEAT);
        assert!(!timers.is_set(SEAT, (), lost) && timers.is_set(Seat(0), (), kept));
        assert!(!timers.is_empty());
        timers.unset(Seat(0), ());
        assert!(timers.is_empty());
    }

    /// Set, set anew, cancelled and run out at random, beside a plain map of what is set.
    #[test]
    fn they_run_out_as_if_each_setting_had_an_entry_of_its_own() {
        let mut stream = Stream::new(1, "timers");
        let (mut timers, mut twin) = (Timers::new(1), BTreeMap::<u64, SetTimer>::new());
        let mut agenda = BTreeMap::new();
        let (mut now, mut ran_out, mut moved) = (Time(0), 0, 0);
        for _ in 0..20_000 {
            let timer = stream.below(4);
            match stream.below(8) {
                0..=3 => {
                    let at = Time(now.0 + stream.below(20));
                    let entry = timers.set(Seat(0), timer, at, false);
                    let number = timers.settings;
                    twin.insert(timer, SetTimer { at, number, is_deadline: false });
                    if let Some(due) = entry {
                        agenda.insert(due, timer);
                    }
                }
                4 => {
                    timers.unset(Seat(0), timer);
                    twin.remove(&timer);
                }
                _ => {
                    let Some((due, timer)) = agenda.pop_first() else { continue };
                    match timers.on_entry(Seat(0), timer, due) {
                        Becomes::RunsOut => {
                            let first = twin.iter().map(|(&timer, &due)| (due, timer)).min();
                            assert_eq!(first, Some((due, timer)));
                            twin.remove(&timer);
                            timers.on_taken(Seat(0), timer);
                            timers.unset(Seat(0), timer);
                            (now, ran_out) = (due.at, ran_out + 1);
                        }
                        Becomes::Moves(due) => {
                            agenda.insert(due, timer);
                            moved += 1;
                        }
                        Becomes::IsGone => {}
                    }
                }
            }
            assert_eq!(timers.is_empty(), twin.is_empty());
        }
        assert!(ran_out > 1_000 && moved > 1_000, "{ran_out} ran out, {moved} moved");
    }
}
