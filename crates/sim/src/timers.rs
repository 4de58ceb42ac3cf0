//! Which timers are set.

use conclave_core::Seat;

/// The timers that are set, and which setting of each counts.
#[derive(Debug)]
pub struct Timers<T> {
    /// By seat, sorted by name: a process has few, or sets them once and then sets them anew.
    by_seat: Vec<Vec<(T, u64)>>,
    settings: u64,
}

impl<T: Copy + Ord> Timers<T> {
    pub fn new(members: usize) -> Self {
        Self { by_seat: (0..members).map(|_| Vec::new()).collect(), settings: 0 }
    }

    /// Sets a timer, in place of what it was set to before; says which setting this is.
    pub fn set(&mut self, seat: Seat, timer: T) -> u64 {
        self.settings += 1;
        let timers = &mut self.by_seat[seat.index()];
        match place(timers, timer) {
            Ok(place) => timers[place].1 = self.settings,
            Err(place) => timers.insert(place, (timer, self.settings)),
        }
        self.settings
    }

    /// Whether it is set, and was not set anew since.
    pub fn is_set(&self, seat: Seat, timer: T, setting: u64) -> bool {
        let timers = &self.by_seat[seat.index()];
        place(timers, timer).is_ok_and(|place| timers[place].1 == setting)
    }

    /// It ran out, or is not to.
    pub fn unset(&mut self, seat: Seat, timer: T) {
        let timers = &mut self.by_seat[seat.index()];
        if let Ok(place) = place(timers, timer) {
            timers.remove(place);
        }
    }

    /// All of that process are lost with it.
    pub fn unset_all(&mut self, seat: Seat) {
        self.by_seat[seat.index()].clear();
    }

    /// Whether nobody has set any.
    pub fn is_empty(&self) -> bool {
        self.by_seat.iter().all(Vec::is_empty)
    }
}

/// Where it is, or where it would have to be.
#[inline]
fn place<T: Copy + Ord>(timers: &[(T, u64)], timer: T) -> Result<usize, usize> {
    timers.binary_search_by(|(other, _)| other.cmp(&timer))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEAT: Seat = Seat(1);

    #[test]
    fn only_the_last_setting_counts_and_only_until_it_is_unset() {
        let mut timers = Timers::new(2);
        let (first, other) = (timers.set(SEAT, 'b'), timers.set(SEAT, 'a'));
        let second = timers.set(SEAT, 'b');
        assert!(!timers.is_set(SEAT, 'b', first), "it was set anew");
        assert!(timers.is_set(SEAT, 'b', second) && timers.is_set(SEAT, 'a', other));
        assert!(!timers.is_set(Seat(0), 'b', second), "that is another's");

        timers.unset(SEAT, 'c');
        timers.unset(SEAT, 'b');
        assert!(!timers.is_set(SEAT, 'b', second));
        assert!(timers.is_set(SEAT, 'a', other));
    }

    #[test]
    fn a_crash_takes_all_timers_of_that_process_alone() {
        let mut timers = Timers::new(2);
        let (lost, kept) = (timers.set(SEAT, ()), timers.set(Seat(0), ()));
        timers.unset_all(SEAT);
        assert!(!timers.is_set(SEAT, (), lost) && timers.is_set(Seat(0), (), kept));
        assert!(!timers.is_empty());
        timers.unset(Seat(0), ());
        assert!(timers.is_empty());
    }
}
