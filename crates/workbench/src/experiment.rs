//! Where each figure of the table comes from.
//!
//! | experiment | run | gives |
//! | --- | --- | --- |
//! | lone entries | each process alone, while the token (if there is one) is elsewhere | enter, leave, client delay |
//! | contenders | one holds, another has waited for many delays when it leaves | synchronisation delay |
//! | again | the last process twice, alone | enter, again |
//! | an idle lap | nobody wants in for N delays more | messages per lap |
//! | saturation | everybody at once, and again | messages per entry, throughput, load |
//!
//! All in the unit network: every message takes one delay.

mod election;

use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use conclave_algorithms::catalogue::{Entry, Measure, Places, SeatingError, Size};
use conclave_algorithms::quorum::{Construction, VotingSets};
use conclave_core::{Phase, ProcessId, Seat, View};
use conclave_observe::family::locks::Seen;
use conclave_observe::{JudgeOrdering, Part, Report, Time, Verdict, What};
use conclave_sim::{Recording, ScriptedRequest, Workload};

use crate::family;
use crate::figure::Figure;
use crate::plan::Plan;

/// All figures of one algorithm with `n` processes.
pub fn measure(
    entry: &'static Entry,
    n: u32,
    construction: Construction,
) -> Result<Vec<Figure>, SeatingError> {
    let figures = family::profile(entry).figures;
    figures.map_or_else(|| Ok(Vec::new()), |figures| figures(entry, n, construction))
}

/// All figures of an election; it has no voting sets.
pub(crate) fn measure_election(
    entry: &'static Entry,
    n: u32,
    _: Construction,
) -> Result<Vec<Figure>, SeatingError> {
    election::measure(entry, n)
}

/// All figures of a lock.
pub(crate) fn measure_lock(
    entry: &'static Entry,
    n: u32,
    construction: Construction,
) -> Result<Vec<Figure>, SeatingError> {
    let lab = Lab { entry, n, construction };
    let size = lab.size()?;
    let mut figures = Vec::new();
    let mut figure = |measure, measured| figures.push(Figure::new(entry, size, measure, measured));
    let lone = lab.lone_entries()?;
    figure(Measure::Enter, mean(&lone.enter));
    figure(Measure::Leave, mean(&lone.leave));
    if !lone.has_upkeep {
        figure(Measure::Transmissions, mean(&lone.transmissions));
    }
    figure(Measure::ClientDelay, mean(&lone.client_delay));
    if lab.places_differ() {
        figure(Measure::ClientDelayMin, lone.client_delay.iter().copied().reduce(f64::min));
        figure(Measure::ClientDelayMax, lone.client_delay.iter().copied().reduce(f64::max));
    }
    if expects(entry, Measure::IdleLap) {
        figure(Measure::IdleLap, Some(lab.idle_lap()?));
    }
    figure(Measure::LeaveDelay, mean(&lone.leave_delay));
    let hand_overs = lab.hand_overs()?;
    let is_usual = !entry.needs.voting_sets || lab.pair_with_third_voter()?.is_some();
    let sync_delay = Figure::new(entry, size, Measure::SyncDelay, mean(&hand_overs.sync_delay));
    // Where any two share no voter but themselves, no figure is given.
    figures.push(if is_usual { sync_delay } else { sync_delay.without_claim() });
    let mut figure = |measure, measured| figures.push(Figure::new(entry, size, measure, measured));
    if lab.places_differ() {
        figure(Measure::SyncDelayMin, hand_overs.sync_delay.iter().copied().reduce(f64::min));
        figure(Measure::SyncDelayMax, hand_overs.sync_delay.iter().copied().reduce(f64::max));
    }
    if expects(entry, Measure::EnterHavingWaited) {
        let first = lone.enter.first().copied().unwrap_or_default();
        figure(Measure::EnterHavingWaited, hand_overs.enter.map(|both| both - first));
    }
    if expects(entry, Measure::EnterAgain) {
        figure(Measure::EnterAgain, Some(lab.enter_again()?));
    }
    if expects(entry, Measure::EnterLast) {
        figure(Measure::EnterLast, Some(lab.enter_of_the_last()?));
    }
    let saturation = lab.saturation()?;
    figure(Measure::Saturated, saturation.as_ref().map(|it| it.messages));
    figure(Measure::Throughput, saturation.as_ref().and_then(|it| it.throughput));
    figure(Measure::LoadMax, saturation.as_ref().map(|it| it.load_max));
    figure(Measure::LoadMean, saturation.as_ref().map(|it| it.load_mean));
    Ok(figures)
}

/// The figures of an election that must hold, and only these.
pub fn measure_exact(entry: &'static Entry, n: u32) -> Result<Vec<Figure>, SeatingError> {
    election::measure_exact(entry, n)
}

fn expects(entry: &Entry, measure: Measure) -> bool {
    entry.costs.iter().any(|cost| cost.measure == measure)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// One algorithm with so many processes.
struct Lab {
    entry: &'static Entry,
    n: u32,
    construction: Construction,
}

/// Of one lone entry per process.
struct LoneEntries {
    enter: Vec<f64>,
    leave: Vec<f64>,
    transmissions: Vec<f64>,
    client_delay: Vec<f64>,
    leave_delay: Vec<f64>,
    has_upkeep: bool,
}

/// Of two contenders each.
struct HandOvers {
    sync_delay: Vec<f64>,
    /// Messages to enter, of both entries of the last run.
    enter: Option<f64>,
}

struct Saturation {
    messages: f64,
    throughput: Option<f64>,
    load_max: f64,
    load_mean: f64,
}

impl Lab {
    fn size(&self) -> Result<Size, SeatingError> {
        let k = if self.entry.needs.voting_sets {
            VotingSets::build(self.construction, &View::dense(1, self.n))?.size().mean
        } else {
            f64::from(self.n)
        };
        Ok(Size { n: self.n.into(), k })
    }

    fn plan(&self) -> Plan {
        let mut plan = Plan::new(self.entry, View::dense(1, self.n));
        plan.construction = self.construction;
        plan.ordering = JudgeOrdering::No;
        // What a detector costs depends on its beat alone, so it beats once, and is left out.
        plan.timing.beat = Some(Duration::from_secs(3_600));
        plan
    }

    fn scripted(&self, requests: Vec<ScriptedRequest>) -> Result<Report, SeatingError> {
        let mut plan = self.plan();
        plan.workload = Workload::Script(requests);
        Ok(plan.run(&mut |_| {})?.outcome.report)
    }

    fn places_differ(&self) -> bool {
        self.entry.places == Places::Differ
    }

    /// Each process alone. All ask at the same time, in runs of their own: a token that moves is
    /// then about to reach the first, and one that rests is there, so every distance occurs once.
    fn lone_entries(&self) -> Result<LoneEntries, SeatingError> {
        let mut all = LoneEntries {
            enter: Vec::new(),
            leave: Vec::new(),
            transmissions: Vec::new(),
            client_delay: Vec::new(),
            leave_delay: Vec::new(),
            has_upkeep: self.entry.kinds.iter().any(|kind| kind.phase == Phase::Upkeep),
        };
        for process in 1..=self.n {
            let report = self.scripted(vec![request(process, u64::from(self.n), 1)])?;
            all.enter.push(report.bandwidth.in_phase(Phase::Enter) as f64);
            all.leave.push(report.bandwidth.in_phase(Phase::Leave) as f64);
            all.transmissions.push(report.bandwidth.transmissions() as f64);
            let Some(locks) = report.locks() else { continue };
            all.client_delay.extend(in_delays(locks.delays.client.mean()));
            all.leave_delay.extend(in_delays(locks.delays.leave.mean()));
        }
        Ok(all)
    }

    /// One holds for long; another asks, waits for more than 4 delays, and is next.
    fn hand_overs(&self) -> Result<HandOvers, SeatingError> {
        let n = u64::from(self.n);
        let mut all = HandOvers { sync_delay: Vec::new(), enter: None };
        for (first, second) in self.contenders()? {
            let both = vec![request(first, n, 6 * n + 20), request(second, 3 * n + 4, 1)];
            let report = self.scripted(both)?;
            let Some(locks) = report.locks() else { continue };
            all.sync_delay.extend(in_delays(locks.delays.sync.mean()));
            all.enter = Some(report.bandwidth.in_phase(Phase::Enter) as f64);
        }
        Ok(all)
    }

    /// Where places differ, each counts once. With voting sets the two share a third voter, if
    /// any two do: a vote that one of them casts itself is handed over faster.
    fn contenders(&self) -> Result<Vec<(u32, u32)>, SeatingError> {
        if self.places_differ() {
            return Ok((2..=self.n).map(|other| (1, other)).collect());
        }
        if self.entry.needs.voting_sets
            && let Some(pair) = self.pair_with_third_voter()?
        {
            return Ok(vec![pair]);
        }
        Ok(vec![(1, self.n)])
    }

    fn pair_with_third_voter(&self) -> Result<Option<(u32, u32)>, SeatingError> {
        let view = View::dense(1, self.n);
        let sets = VotingSets::build(self.construction, &view)?;
        let set = |id: u32| view.seat(ProcessId(id)).map(|seat| sets.of(seat)).unwrap_or_default();
        let share_third = |&(first, second): &(u32, u32)| {
            let is_third = |id: &ProcessId| id.0 != first && id.0 != second;
            set(first).iter().any(|id| is_third(id) && set(second).contains(id))
        };
        let mut pairs = (2..=self.n).rev().map(|second| (1, second));
        Ok(pairs.find(share_third))
    }

    /// The messages of N delays more of nobody wanting in.
    fn idle_lap(&self) -> Result<f64, SeatingError> {
        let n = u64::from(self.n);
        let sent = |at| -> Result<f64, SeatingError> {
            Ok(self.scripted(vec![request(1, at, 1)])?.bandwidth.sent() as f64)
        };
        Ok(sent(2 * n)? - sent(n)?)
    }

    /// What the second entry of the last process costs, with nobody else between.
    fn enter_again(&self) -> Result<f64, SeatingError> {
        let n = u64::from(self.n);
        let (once, again) = (request(self.n, n, 1), request(self.n, 6 * n + 20, 1));
        let enter = |requests| -> Result<f64, SeatingError> {
            Ok(self.scripted(requests)?.bandwidth.in_phase(Phase::Enter) as f64)
        };
        Ok(enter(vec![once, again])? - enter(vec![once])?)
    }

    /// Everybody asks at once; the request of the last one, and all answers to it. A request is
    /// what somebody sends because its application wants in, and all else answers one.
    fn enter_of_the_last(&self) -> Result<f64, SeatingError> {
        let mut plan = self.plan();
        plan.entries = self.n.into();
        plan.recording = Recording::Everything;
        let done = plan.run(&mut |_| {})?;
        let last = Seat::at(done.view.len() - 1);
        let (mut is_request, mut count) = (false, 0_u32);
        for event in done.outcome.records.iter().map(|record| &record.event) {
            match event.what {
                What::Asked(_) => is_request = Seen::of(event.what) == Seen::Requested,
                What::Sent { to, .. } => {
                    let whose = if is_request { event.seat } else { to };
                    count += u32::from(whose == last);
                }
                what if what.part() == Part::Cause => is_request = false,
                _ => {}
            }
        }
        Ok(count.into())
    }

    /// Everybody at once, and again. Two lengths, so that how it begins and ends cancels out.
    fn saturation(&self) -> Result<Option<Saturation>, SeatingError> {
        let (short, long) = (self.saturated(10)?, self.saturated(20)?);
        if short.verdict != Verdict::Ok || long.verdict != Verdict::Ok {
            return Ok(None);
        }
        let entries = |report: &Report| report.locks().map_or(0, |locks| locks.delays.entries());
        let entries = (entries(&long) - entries(&short)) as f64;
        let rate = |report: fn(&Report) -> u64| (report(&long) - report(&short)) as f64 / entries;
        let handled = |report: &Report| report.bandwidth.handled().iter().sum::<u64>();
        let busiest = |report: &Report| report.bandwidth.handled().iter().copied().max();
        let members = long.bandwidth.handled().len() as f64;
        Ok(Some(Saturation {
            messages: rate(|report| report.bandwidth.sent()),
            throughput: long.locks().and_then(|locks| locks.delays.throughput()),
            load_max: rate_of(busiest(&long), busiest(&short), entries),
            load_mean: rate(handled) / members,
        }))
    }

    fn saturated(&self, rounds: u64) -> Result<Report, SeatingError> {
        let mut plan = self.plan();
        plan.entries = rounds * u64::from(self.n);
        Ok(plan.run(&mut |_| {})?.outcome.report)
    }
}

fn rate_of(long: Option<u64>, short: Option<u64>, entries: f64) -> f64 {
    (long.unwrap_or_default() - short.unwrap_or_default()) as f64 / entries
}

fn request(process: u32, at: u64, hold: u64) -> ScriptedRequest {
    let (process, at) = (ProcessId(process), Time::delays(at));
    ScriptedRequest { process, at, hold: Some(Time::delays(hold)) }
}

fn in_delays(nanoseconds: Option<f64>) -> Option<f64> {
    nanoseconds.map(|nanoseconds| nanoseconds / Time::DELAY.0 as f64)
}
