//! Messages in flight, in the order of their arrival.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_observe::{MessageId, Time};

use crate::Network;
use crate::calendar::Calendar;
use crate::seed::Stream;

/// Whether messages of one channel arrive in the order in which they were sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChannelOrder {
    /// Messages of one channel arrive in the order in which they were sent.
    Fifo,
    /// A later one may overtake.
    Any,
}

/// A message on its way.
#[derive(Clone, Debug)]
pub struct Flight<M> {
    pub id: MessageId,
    pub from: Seat,
    pub to: Seat,
    pub message: M,
}

/// How one message differs from the rest in the time that it takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shift {
    /// It takes that much longer.
    Later(Time),
    /// It takes no time.
    Now,
}

/// All messages on their way. Two implementations, chosen once per run, so that the loop pays only
/// for what its network needs.
pub trait Wire<M> {
    /// Sends a message off.
    fn send(&mut self, now: Time, flight: Flight<M>);
    /// Sends one off that takes another time than the rest.
    fn send_shifted(&mut self, now: Time, flight: Flight<M>, shift: Shift);
    /// When the next one arrives; [`Time::NEVER`] if none is on its way.
    fn next_at(&mut self) -> Time;
    /// Takes the next one in.
    fn receive(&mut self) -> Option<Flight<M>>;
    /// How many are on their way.
    fn len(&self) -> usize;
    /// All of them, in the order of their arrival.
    fn flights(&self) -> Vec<&Flight<M>>;
    /// Takes that one out, if it is on its way; of one that is doubled, the first.
    fn take(&mut self, message: MessageId) -> Option<Flight<M>>;
}

/// The wire on which every message takes the same time: first in, first out, for all channels
/// together. Messages that were sent at the same time arrive together, so the time is kept once.
#[derive(Debug)]
pub struct UnitWire<M> {
    flights: VecDeque<Flight<M>>,
    /// When they arrive, and how many do.
    arrivals: VecDeque<(Time, usize)>,
}

/// The wire on which every message takes its own time.
#[derive(Debug)]
pub struct TimedWire<M> {
    network: Network,
    stream: Stream,
    calendar: Calendar<Flight<M>>,
    /// Kept only where channels are FIFO.
    arrivals: Option<LastArrivals>,
}

impl<M> UnitWire<M> {
    pub fn new() -> Self {
        Self { flights: VecDeque::new(), arrivals: VecDeque::new() }
    }
}

impl<M> Wire<M> for UnitWire<M> {
    #[inline]
    fn send(&mut self, now: Time, flight: Flight<M>) {
        let at = now + Time::DELAY;
        match self.arrivals.back_mut() {
            Some((last, count)) if *last == at => *count += 1,
            _ => self.arrivals.push_back((at, 1)),
        }
        self.flights.push_back(flight);
    }

    /// All messages take the same time here: whoever shifts one chooses the other wire.
    fn send_shifted(&mut self, now: Time, flight: Flight<M>, _: Shift) {
        debug_assert!(false, "this wire cannot shift a message");
        self.send(now, flight);
    }

    #[inline]
    fn next_at(&mut self) -> Time {
        self.arrivals.front().map_or(Time::NEVER, |&(at, _)| at)
    }

    #[inline]
    fn receive(&mut self) -> Option<Flight<M>> {
        if let Some((_, count)) = self.arrivals.front_mut() {
            *count -= 1;
            if *count == 0 {
                self.arrivals.pop_front();
            }
        }
        self.flights.pop_front()
    }

    fn len(&self) -> usize {
        self.flights.len()
    }

    fn flights(&self) -> Vec<&Flight<M>> {
        self.flights.iter().collect()
    }

    fn take(&mut self, message: MessageId) -> Option<Flight<M>> {
        let place = self.flights.iter().position(|flight| flight.id == message)?;
        let mut arrived = 0;
        let bundle = self.arrivals.iter().position(|(_, count)| {
            arrived += count;
            place < arrived
        })?;
        self.arrivals[bundle].1 -= 1;
        if self.arrivals[bundle].1 == 0 {
            self.arrivals.remove(bundle);
        }
        self.flights.remove(place)
    }
}

impl<M> TimedWire<M> {
    pub fn new(network: Network, order: ChannelOrder, members: usize, seed: u64) -> Self {
        Self {
            network,
            stream: Stream::new(seed, "network"),
            calendar: Calendar::new(network.horizon()),
            arrivals: (order == ChannelOrder::Fifo).then(|| LastArrivals::new(members)),
        }
    }

    /// Lets it arrive then, or behind its predecessor where channels keep the order.
    #[inline]
    fn push(&mut self, now: Time, mut at: Time, flight: Flight<M>) {
        if let Some(arrivals) = &mut self.arrivals {
            // Not before its predecessor; at the same time it comes after it, for the calendar
            // keeps the order of equals.
            at = arrivals.not_before_last(flight.from, flight.to, at, now);
        }
        self.calendar.push(at, flight);
    }
}

impl<M> Wire<M> for TimedWire<M> {
    #[inline]
    fn send(&mut self, now: Time, flight: Flight<M>) {
        let at = now + self.network.draw(&mut self.stream);
        self.push(now, at, flight);
    }

    fn send_shifted(&mut self, now: Time, flight: Flight<M>, shift: Shift) {
        // Its time is drawn in any case, so that all others take the times that they would.
        let usual = now + self.network.draw(&mut self.stream);
        let at = match shift {
            Shift::Later(by) => usual + by,
            Shift::Now => now,
        };
        self.push(now, at, flight);
    }

    #[inline]
    fn next_at(&mut self) -> Time {
        self.calendar.next_at()
    }

    #[inline]
    fn receive(&mut self) -> Option<Flight<M>> {
        self.calendar.pop()
    }

    fn len(&self) -> usize {
        self.calendar.len()
    }

    fn flights(&self) -> Vec<&Flight<M>> {
        self.calendar.items()
    }

    fn take(&mut self, message: MessageId) -> Option<Flight<M>> {
        self.calendar.remove(|flight| flight.id == message)
    }
}

/// When the last message of each channel arrives, as far as that may matter.
#[derive(Debug)]
enum LastArrivals {
    /// One row per sender, one column per receiver.
    Dense { members: usize, at: Vec<Time> },
    /// Where that table would be too large: only channels with a message on its way, and such as
    /// were not swept out yet.
    Sparse { at: BTreeMap<(Seat, Seat), Time>, sweep_at: usize },
}

impl LastArrivals {
    fn new(members: usize) -> Self {
        if members <= 1_024 {
            Self::Dense { members, at: vec![Time::ZERO; members * members] }
        } else {
            Self::Sparse { at: BTreeMap::new(), sweep_at: 4 * members }
        }
    }

    #[inline]
    fn not_before_last(&mut self, from: Seat, to: Seat, at: Time, now: Time) -> Time {
        match self {
            Self::Dense { members, at: last } => {
                let last = &mut last[from.index() * *members + to.index()];
                *last = at.max(*last);
                *last
            }
            Self::Sparse { at: last, sweep_at } => {
                if last.len() >= *sweep_at {
                    last.retain(|_, &mut at| at >= now);
                    *sweep_at = (2 * last.len()).max(4_096);
                }
                let last = last.entry((from, to)).or_default();
                *last = at.max(*last);
                *last
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(order: ChannelOrder, members: usize) -> Vec<u64> {
        let network = Network::Exponential { mean: Time(1_000) };
        let mut wire = TimedWire::new(network, order, members, 5);
        for number in 0..1_000 {
            let (from, to) = (Seat(0), Seat(1));
            let id = MessageId::new(from, number);
            wire.send(Time(number), Flight { id, from, to, message: () });
        }
        core::iter::from_fn(|| wire.receive()).map(|flight| flight.id.count()).collect()
    }

    fn taken_out_of(wire: &mut impl Wire<()>) {
        for number in 0..9 {
            let (id, from, to) = (MessageId::new(Seat(0), number), Seat(0), Seat(1));
            wire.send(Time(number / 3), Flight { id, from, to, message: () });
        }
        for gone in [4, 0, 8] {
            assert_eq!(
                wire.take(MessageId::new(Seat(0), gone)).map(|flight| flight.id.count()),
                Some(gone)
            );
            assert!(wire.take(MessageId::new(Seat(0), gone)).is_none(), "it is gone");
        }
        let left: Vec<_> = wire.flights().iter().map(|flight| flight.id.count()).collect();
        assert_eq!((left, wire.len()), (vec![1, 2, 3, 5, 6, 7], 6));
        let mut arrivals = Vec::new();
        while wire.len() > 0 {
            let at = wire.next_at();
            arrivals.extend(wire.receive().map(|flight| (at - Time::DELAY, flight.id.count())));
        }
        let expected = [1, 2, 3, 5, 6, 7].map(|number| (Time(number / 3), number));
        assert_eq!(arrivals, expected);
        assert_eq!(wire.next_at(), Time::NEVER);
    }

    #[test]
    fn a_message_that_is_taken_out_leaves_all_others_where_they_are() {
        taken_out_of(&mut UnitWire::new());
        taken_out_of(&mut TimedWire::new(Network::Unit, ChannelOrder::Fifo, 2, 1));
    }

    #[test]
    fn a_fifo_channel_never_reorders_and_another_one_does() {
        for members in [2, 5_000] {
            assert!(arrivals(ChannelOrder::Fifo, members).is_sorted());
            assert!(!arrivals(ChannelOrder::Any, members).is_sorted());
        }
    }
}
