//! What failure detectors trade: completeness for accuracy, point by point.
//!
//! A detector that suspects soon errs often, and one that errs rarely notices late. Where the
//! network keeps a bound that the detector knows, it need not err at all; where there is none, it
//! can only choose how often.

pub mod account;
mod settings;

use alloc::vec;
use alloc::vec::Vec;

use conclave_algorithms::catalogue::{self, SeatingError, Timing};
use conclave_core::{Phase, ProcessId, View};
use conclave_observe::Time;
use conclave_sim::{Crash, Limits, Network, Stream};

use crate::need::NeedError;
use crate::plan::Plan;
use crate::setting::NamesSettings;

/// What a sweep measures: which detectors, tuned how, in which networks, how often.
#[derive(Clone, PartialEq, Debug)]
pub struct Sweep {
    /// How many processes take part.
    pub n: u32,
    /// The networks in which each point is measured.
    pub networks: Vec<Network>,
    /// D of heartbeat; where there are none, multiples of what the network's bound is.
    pub bounds: Vec<Time>,
    /// The thresholds of phi, in hundredths.
    pub thresholds: Vec<u32>,
    /// How many runs for each point.
    pub runs: u32,
    /// T: the time from beat to beat.
    pub beat: Time,
    /// How long each run is.
    pub until: Time,
    /// The seed of the first run; the others follow it.
    pub seed: u64,
}

/// What a detector is set to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tuning {
    /// Heartbeat, with this D.
    Bound(Time),
    /// Phi, with this threshold in hundredths.
    Threshold(u32),
}

/// One detector with one tuning in one network: what all its runs showed together.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// The network in which it was measured.
    pub network: Network,
    /// Which detector it was, and what it was set to.
    pub tuning: Tuning,
    /// From a crash to a suspicion: the mean, in nanoseconds. `None` if nobody came to suspect.
    pub mean: Option<f64>,
    /// From a crash to a suspicion: the longest.
    pub max: Option<Time>,
    /// How often somebody who was up was suspected.
    pub wrong: u64,
    /// How long processes were up, all together, in seconds.
    pub up: f64,
    /// How many deaths somebody had not noticed in the end, counted for each of them.
    pub missed: u64,
    /// How many there were to notice, counted likewise.
    pub deaths: u64,
    /// How many beats were sent.
    pub beats: u64,
}

/// A sweep that makes no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SweepError {
    /// A time of nothing from beat to beat.
    #[error("`beat` must be above 0, e.g. 10ms")]
    NoBeat,
    /// A bound of nothing.
    #[error("`bounds`: a bound must be above 0, e.g. 5ms")]
    NoBound,
    /// Too few beats in each run.
    #[error("`for` {until}ms is too short for beats of {beat}ms; choose at least {least}ms")]
    TooShort {
        /// How long each run is.
        until: Time,
        /// The time from beat to beat.
        beat: Time,
        /// How long a run must be.
        least: Time,
    },
}

impl NamesSettings for SweepError {
    fn settings(&self) -> Vec<&'static str> {
        match self {
            Self::NoBeat => vec!["beat"],
            Self::NoBound => vec!["bounds"],
            Self::TooShort { .. } => vec!["for"],
        }
    }
}

impl Default for Sweep {
    fn default() -> Self {
        let five = Time::delays(5);
        Self {
            n: 5,
            networks: vec![Network::Sync { bound: five }, Network::Exponential { mean: five }],
            bounds: Vec::new(),
            thresholds: vec![50, 100, 200, 300, 500, 800, 1_200],
            runs: 40,
            beat: Time::delays(10),
            until: Time::delays(1_000),
            seed: 1,
        }
    }
}

/// What heartbeat believes, in quarters of what the network's bound is.
const QUARTERS: [u64; 10] = [1, 2, 4, 6, 8, 12, 20, 32, 52, 80];
/// A run has so many beats at least: a crash needs one before it and some after it.
const BEATS_MIN: u64 = 8;

impl Tuning {
    /// The detector's name in the catalogue.
    pub fn detector(self) -> &'static str {
        match self {
            Self::Bound(_) => "heartbeat",
            Self::Threshold(_) => "phi",
        }
    }

    fn timing(self, beat: Time) -> Timing {
        let beat = Some(beat.as_duration());
        match self {
            Self::Bound(bound) => Timing { beat, ..Timing::of(bound.as_duration()) },
            // It knows no bound.
            Self::Threshold(phi_hundredths) => {
                Timing { beat, phi_hundredths, ..Timing::of(Time::DELAY.as_duration()) }
            }
        }
    }
}

impl Point {
    /// How often a process suspected somebody wrongly, in a second.
    pub fn wrong_rate(&self) -> f64 {
        self.wrong as f64 / self.up
    }
}

impl Sweep {
    /// Whether it makes sense; if not, one line says why.
    pub fn check(&self) -> Result<(), SweepError> {
        if self.beat == Time::ZERO {
            return Err(SweepError::NoBeat);
        }
        if self.bounds.contains(&Time::ZERO) {
            return Err(SweepError::NoBound);
        }
        let least = Time(self.beat.0.saturating_mul(BEATS_MIN));
        if self.until < least {
            return Err(SweepError::TooShort { until: self.until, beat: self.beat, least });
        }
        Ok(())
    }

    /// Whether its runs fit into so many bytes; if not, one line says why.
    pub fn check_memory(&self, limit: u64) -> Result<(), NeedError> {
        for &network in &self.networks {
            let mut tunings = self.tunings(network);
            // What it is set to changes nothing about what a detector keeps.
            tunings.dedup_by_key(|tuning| tuning.detector());
            for tuning in tunings {
                self.plan(network, tuning, 0)?.check_memory(limit)?;
            }
        }
        Ok(())
    }

    /// What is tried in that network, each detector's tunings in their order.
    pub fn tunings(&self, network: Network) -> Vec<Tuning> {
        let typical = network.typical();
        let mut bounds = self.bounds.clone();
        if bounds.is_empty() {
            bounds = QUARTERS.map(|quarters| Time(typical.0.saturating_mul(quarters) / 4)).to_vec();
        }
        let mut thresholds = self.thresholds.clone();
        bounds.sort_unstable();
        bounds.dedup();
        thresholds.sort_unstable();
        thresholds.dedup();
        let bounds = bounds.into_iter().map(Tuning::Bound);
        bounds.chain(thresholds.into_iter().map(Tuning::Threshold)).collect()
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.networks.iter().map(|&network| self.tunings(network).len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Measures every point; `progress` is told how many are done.
    pub fn measure(&self, progress: &mut dyn FnMut(usize)) -> Result<Vec<Point>, SeatingError> {
        let mut points = Vec::new();
        for &network in &self.networks {
            for tuning in self.tunings(network) {
                points.push(self.point(network, tuning)?);
                progress(points.len());
            }
        }
        Ok(points)
    }

    fn point(&self, network: Network, tuning: Tuning) -> Result<Point, SeatingError> {
        let mut point = Point {
            network,
            tuning,
            mean: None,
            max: None,
            wrong: 0,
            up: 0.0,
            missed: 0,
            deaths: 0,
            beats: 0,
        };
        let (mut detected, mut total) = (0, 0.0);
        for run in 0..self.runs {
            let report = self.plan(network, tuning, run)?.run(&mut |_| {})?.outcome.report;
            let Some(detection) = report.detection() else { continue };
            let times = &detection.time_to_detect();
            detected += times.count();
            total += times.mean().unwrap_or(0.0) * times.count() as f64;
            point.max = point.max.max(times.max());
            point.wrong += detection.wrong();
            point.missed += detection.missed().count() as u64;
            point.deaths += u64::from(self.n) - 1;
            point.beats += report.bandwidth.in_phase(Phase::Upkeep);
            let survivors = f64::from(self.n - 1) * seconds(self.until);
            point.up += survivors + seconds(self.crash(run).at);
        }
        point.mean = (detected > 0).then(|| total / detected as f64);
        Ok(point)
    }

    fn plan(&self, network: Network, tuning: Tuning, run: u32) -> Result<Plan, SeatingError> {
        let entry = catalogue::find(tuning.detector())?;
        let mut plan = Plan::new(entry, View::dense(1, self.n));
        plan.network = network;
        plan.timing = tuning.timing(self.beat);
        plan.faults.crashes = vec![self.crash(run)];
        plan.until = self.until;
        plan.limits.patience = Limits::NONE.patience;
        plan.seed = self.seed.wrapping_add(u64::from(run));
        Ok(plan)
    }

    /// Who crashes in that run, and when: in its second quarter, so that detectors have learnt
    /// something before it, and have time to notice after it. The same for every point.
    fn crash(&self, run: u32) -> Crash {
        let mut stream = Stream::new(self.seed.wrapping_add(u64::from(run)), "sweep");
        let process = u32::try_from(stream.below(u64::from(self.n))).unwrap_or(0) + 1;
        let at = stream.between(Time(self.until.0 / 4), Time(self.until.0 / 2));
        Crash { process: ProcessId(process), at }
    }
}

fn seconds(time: Time) -> f64 {
    time.0 as f64 / 1e9
}
