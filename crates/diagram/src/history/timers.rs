//! Timers that were set, as far as a trace tells: one that recorded how each process stood after
//! each of its steps.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Seat;
use conclave_observe::trace::{PendingTimer, Record, Trace};
use conclave_observe::{Time, What};

/// A timer is set at a process.
pub(crate) struct Countdown {
    pub seat: Seat,
    /// What it is called; those of one name that differ in a number are one.
    pub name: String,
    pub from: Time,
    /// None while it lasts.
    pub to: Option<Time>,
    /// Whether it ran out; otherwise it was cancelled.
    pub runs_out: bool,
}

/// Joins settings with what became of them.
pub(super) struct Timers {
    pub all: Vec<Countdown>,
    /// By seat: where in the list those are that are set now.
    open: Vec<Vec<usize>>,
    /// By seat: the timer that ran out last, if its step is not over yet.
    fired: Vec<Option<String>>,
}

impl Timers {
    pub fn new(trace: &Trace) -> Self {
        let members = trace.header.members.len();
        let mut timers =
            Self { all: Vec::new(), open: vec![Vec::new(); members], fired: vec![None; members] };
        for (index, start) in trace.header.starts.iter().enumerate().take(members) {
            let pending = start.as_ref().map_or(&[][..], |start| &start.timers);
            timers.stand(Time::ZERO, Seat::at(index), pending);
        }
        timers
    }

    pub fn on(&mut self, record: &Record) {
        let (at, seat) = (record.event.at, record.event.seat);
        match record.event.what {
            What::TimerFired => {
                self.fired[seat.index()] = record.text.as_deref().map(|text| base(text).into());
            }
            What::Crashed => self.stand(at, seat, &[]),
            _ => {}
        }
        if let Some(after) = &record.after {
            self.stand(at, seat, &after.timers);
            self.fired[seat.index()] = None;
        }
    }

    /// From now on these are set there.
    fn stand(&mut self, at: Time, seat: Seat, pending: &[PendingTimer]) {
        let names: Vec<&str> = pending.iter().map(|timer| base(&timer.name)).collect();
        let fired = self.fired[seat.index()].as_deref();
        let all = &mut self.all;
        self.open[seat.index()].retain(|&index| {
            let countdown: &mut Countdown = &mut all[index];
            let has_fired = fired == Some(&*countdown.name);
            let is_over = has_fired || !names.contains(&&*countdown.name);
            if is_over {
                (countdown.to, countdown.runs_out) = (Some(at), has_fired);
            }
            !is_over
        });
        for name in names {
            let is_open = |&index: &usize| self.all[index].name == name;
            if !self.open[seat.index()].iter().any(is_open) {
                self.open[seat.index()].push(self.all.len());
                let name = name.into();
                self.all.push(Countdown { seat, name, from: at, to: None, runs_out: false });
            }
        }
    }
}

/// The name of a timer without what tells it from others of its name. One of a part is called as
/// the part calls it.
fn base(name: &str) -> &str {
    let part = ["Protocol(", "Detector("].iter().find_map(|part| name.strip_prefix(part));
    let name = part.unwrap_or(name);
    name.split(['(', ')', ' ', '{']).next().unwrap_or(name)
}
