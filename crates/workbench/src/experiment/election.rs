//! Where each figure of the table of elections comes from.
//!
//! | experiment | run | gives |
//! | --- | --- | --- |
//! | best, worst | ids 1 to N in ring order; the largest, or the one after it, calls. Bully: N is dead, and N-1, or 1, calls | messages, turnaround |
//! | all start | everybody calls at once, on [`RINGS`] random rings | the mean of messages, and the most |
//! | lone candidate | one calls; where all are candidates by themselves, the first of them wins | messages, turnaround |
//! | renewals | the same leader for one round longer | messages per round |
//! | the leader's death | it crashes when all is quiet | how many are woken; turnaround from the claim, where a claim comes after asking a store |
//!
//! All in the unit network: every message takes one delay. Messages that keep an office or go to a
//! store are not counted as those of the election.

use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use conclave_algorithms::catalogue::{Cost, Entry, Measure, SeatingError, Setting, Size};
use conclave_core::{Phase, ProcessId, View};
use conclave_observe::family::elections::ElectionPanel;
use conclave_observe::{Report, Time, Verdict};
use conclave_sim::{Crash, Stream};

use crate::figure::Figure;
use crate::plan::Plan;

/// How many random rings a mean is taken over: enough to come within a percent.
const RINGS: u64 = 4_000;

/// All figures of one algorithm with `n` processes.
pub fn measure(entry: &'static Entry, n: u32) -> Result<Vec<Figure>, SeatingError> {
    measure_where(entry, n, |_| true)
}

/// The figures that must hold, and only these.
pub fn measure_exact(entry: &'static Entry, n: u32) -> Result<Vec<Figure>, SeatingError> {
    measure_where(entry, n, Cost::is_exact)
}

fn measure_where(
    entry: &'static Entry,
    n: u32,
    is_wanted: fn(&Cost) -> bool,
) -> Result<Vec<Figure>, SeatingError> {
    let lab = Lab { entry, n };
    let size = Size { n: n.into(), k: n.into() };
    let costs = entry.costs.iter().filter(|cost| is_wanted(cost)).map(|cost| cost.measure);
    let figures = costs.map(|measure| {
        let figure = Figure::new(entry, size, measure, lab.figure(measure)?);
        // Two of whom one is dead are no majority: there is no succession to measure.
        let takes_succession = measure == Measure::TurnaroundLone && entry.needs.coordinator;
        let is_impossible = takes_succession && n <= 2;
        Ok(if is_impossible { figure.without_claim() } else { figure })
    });
    figures.collect()
}

/// One algorithm with so many processes.
struct Lab {
    entry: &'static Entry,
    n: u32,
}

impl Lab {
    fn figure(&self, measure: Measure) -> Result<Option<f64>, SeatingError> {
        Ok(match measure {
            Measure::ElectionBest => messages(&self.called_by(self.best(), false)?),
            Measure::ElectionBestSkipping => messages(&self.called_by(self.best(), true)?),
            Measure::ElectionWorst => messages(&self.called_by(1, false)?),
            Measure::ElectionMean => self.over_rings()?.map(|it| it.mean),
            Measure::ElectionMost => self.over_rings()?.map(|it| it.most),
            Measure::TurnaroundBest => turnaround(&self.called_by(self.best(), false)?),
            Measure::TurnaroundBestSkipping => turnaround(&self.called_by(self.best(), true)?),
            Measure::TurnaroundWorst => turnaround(&self.called_by(1, false)?),
            Measure::ElectionLone => messages(&self.called_by(1, false)?),
            Measure::TurnaroundLone if self.entry.needs.coordinator => {
                let succession = self.succession()?;
                succession.as_ref().filter(|it| it.verdict == Verdict::Ok).and_then(turnaround)
            }
            Measure::TurnaroundLone => turnaround(&self.called_by(1, false)?),
            Measure::Renewal => self.renewal()?,
            Measure::Herd => self.succession()?.map(|it| it.bandwidth.herd() as f64),
            _ => None,
        })
    }

    /// Whether the largest is dead when the election is called: so it is measured where the members
    /// can be told to leave out the dead.
    fn elects_after_a_death(&self) -> bool {
        self.entry.settings.contains(&Setting::SkipDead)
    }

    /// The largest that is up.
    fn best(&self) -> u32 {
        if self.elects_after_a_death() { self.n - 1 } else { self.n }
    }

    fn plan(&self) -> Plan {
        let mut plan = self.plan_on(View::dense(1, self.n));
        if self.elects_after_a_death() {
            plan.faults.dead = vec![ProcessId(self.n)];
        }
        plan
    }

    /// What a detector costs depends on its beat alone, so it beats once, and is left out.
    fn plan_on(&self, view: View) -> Plan {
        let mut plan = Plan::new(self.entry, view);
        plan.timing.beat = Some(Duration::from_secs(3_600));
        plan
    }

    fn called_by(&self, caller: u32, skip_dead: bool) -> Result<Report, SeatingError> {
        let mut plan = self.plan();
        plan.calls = vec![(ProcessId(caller), Time::ZERO)];
        plan.timing.skip_dead = skip_dead;
        Ok(plan.run(&mut |_| {})?.outcome.report)
    }

    /// Everybody calls at once, on rings in random order.
    fn over_rings(&self) -> Result<Option<OverRings>, SeatingError> {
        let mut stream = Stream::new(1, "rings");
        let (mut total, mut most) = (0.0, 0.0_f64);
        let cost = self.entry.costs.iter().find(|cost| cost.measure == Measure::ElectionMean);
        let has_detector = self.entry.kinds.iter().any(|kind| kind.phase == Phase::Upkeep);
        let rings = match cost {
            // An exact figure is the same on every ring.
            Some(cost) if cost.is_exact() => 3,
            // Its first beat alone is N(N-1) messages; and it is the plain algorithm within.
            _ if has_detector => RINGS / 40,
            _ => RINGS,
        };
        for _ in 0..rings {
            let mut plan = self.plan_on(shuffled(self.n, &mut stream)?);
            plan.calls = plan.clients.members().iter().map(|&id| (id, Time::ZERO)).collect();
            let Some(sent) = messages(&plan.run(&mut |_| {})?.outcome.report) else {
                return Ok(None);
            };
            total += sent;
            most = most.max(sent);
        }
        Ok(Some(OverRings { mean: total / rings as f64, most }))
    }

    /// What the office costs from one round of renewals to the next.
    fn renewal(&self) -> Result<Option<f64>, SeatingError> {
        let upkeep = |rounds: u32| -> Result<f64, SeatingError> {
            let mut plan = self.plan();
            let round = plan.timing.lease() / 4;
            plan.until = Time::NEVER;
            plan.limits.time = Time::of(rounds * round + round / 2);
            let report = plan.run(&mut |_| {})?.outcome.report;
            Ok(report.bandwidth.in_phase(Phase::Upkeep) as f64)
        };
        Ok(Some((upkeep(6)? - upkeep(2)?) / 4.0))
    }

    /// The leader dies when all is quiet.
    fn succession(&self) -> Result<Option<Report>, SeatingError> {
        let mut plan = self.plan();
        let at = Time::of(2 * plan.timing.session());
        let leader = self.called_by(1, false)?.elections().and_then(ElectionPanel::leader);
        let view = self.entry.view_of(&plan.clients)?;
        let Some(process) = leader.map(|seat| view.at(seat)) else { return Ok(None) };
        plan.faults.crashes = vec![Crash { process, at }];
        plan.until = at + Time::of(2 * plan.timing.session());
        Ok(Some(plan.run(&mut |_| {})?.outcome.report))
    }
}

/// Messages of elections on many rings.
struct OverRings {
    mean: f64,
    most: f64,
}

fn shuffled(n: u32, stream: &mut Stream) -> Result<View, SeatingError> {
    let mut ids: Vec<ProcessId> = (1..=n).map(ProcessId).collect();
    for place in (1..ids.len()).rev() {
        #[allow(clippy::cast_possible_truncation, reason = "it is below the number of processes")]
        ids.swap(place, stream.below(place as u64 + 1) as usize);
    }
    Ok(View::new(ids)?)
}

/// Those of the election itself, if it came to its end.
fn messages(report: &Report) -> Option<f64> {
    (report.verdict == Verdict::Ok).then(|| report.bandwidth.in_phase(Phase::Elect) as f64)
}

fn turnaround(report: &Report) -> Option<f64> {
    report.elections()?.last_turnaround.map(Time::in_delays)
}
