//! A detector has no application to speak of: it is watched for a while.

use conclave_core::Seat;
use conclave_core::detector::{Command, Detectors, Notice};
use conclave_observe::Time;

use crate::{Application, Desk};

/// Lets a detector run until then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DetectorApplication {
    until: Time,
}

impl DetectorApplication {
    /// An application that lets detectors run until that time.
    pub fn new(until: Time) -> Self {
        Self { until }
    }
}

impl Application<Detectors> for DetectorApplication {
    fn begin(&mut self, _: &mut Desk<Command>) {}

    fn on_notice(&mut self, _: Seat, _: &Notice, _: &mut Desk<Command>) {}

    fn on_crash(&mut self, _: Seat) {}

    fn on_return(&mut self, _: Seat, _: &mut Desk<Command>) {}

    fn awaits_quiet(&self) -> bool {
        false
    }

    fn on_quiet(&mut self, _: &mut Desk<Command>) {}

    fn is_done(&self, next: Time) -> bool {
        next > self.until
    }
}
