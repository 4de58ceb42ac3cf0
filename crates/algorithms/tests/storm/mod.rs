//! Anything that elections by majority must bear, drawn from a seed: crashes, returns, pauses,
//! partitions, loss, duplication, overtaking, drifting clocks. Judged as any run is.

use conclave_algorithms::catalogue::{Entry, Timing};
use conclave_core::View;
use conclave_core::election::Election;
use conclave_observe::Time;
use conclave_sim::{
    Call, ChannelOrder, Crash, Crossing, Drift, ElectionApplication, FaultPlan, Limits, Network,
    Outcome, Partition, Pause, Probability, Rate, Return, Setup, Stream, simulate,
};

/// What the members know of time: the lease is 20 of these, and the session 30.
pub const TIMING: Timing = Timing::of(std::time::Duration::from_millis(1));
/// Until when new faults begin.
const HORIZON: Time = Time::delays(600);
/// How long it may take until all know a leader, once the faults are over.
const PATIENCE: Time = Time::delays(6_000);

/// All that a seed decides.
pub struct Storm {
    pub view: View,
    /// Whether a leader is to be expected once the faults are over.
    pub settles: bool,
    network: Network,
    order: ChannelOrder,
    faults: FaultPlan,
    calls: Vec<Call>,
    seed: u64,
}

fn chance(stream: &mut Stream, percent: u64) -> bool {
    stream.below(100) < percent
}

impl Storm {
    pub fn draw(entry: &Entry, seed: u64) -> Self {
        let stream = &mut Stream::new(seed, "case");
        let n = [3, 5, 3, 4, 2, 7, 1, 5][usize::try_from(stream.below(8)).unwrap()];
        let clients = View::dense(1, n);
        let view = entry.view_of(&clients).unwrap();
        let (network, settles) = match stream.below(6) {
            0 => (Network::Unit, true),
            1 => (Network::Sync { bound: Time::DELAY }, true),
            2 => (Network::Uniform { low: Time(1_000), high: Time::delays(2) }, true),
            3 => (Network::Exponential { mean: Time::DELAY }, true),
            4 => (Network::Exponential { mean: Time::delays(3) }, true),
            _ => (Network::Uniform { low: Time::DELAY, high: Time::delays(40) }, false),
        };
        let order = if chance(stream, 50) { ChannelOrder::Fifo } else { ChannelOrder::Any };
        let faults = draw_faults(stream, &clients, &view);
        faults.check(&view).unwrap();
        // Loss has no end, and all may know at no time.
        let settles = settles && faults.loss != Probability::new(0.3).unwrap();
        let mut calls = Vec::new();
        for seat in entry.clients(&view) {
            for _ in 0..stream.below(5) {
                let latest = if chance(stream, 50) { Time::delays(60) } else { HORIZON };
                calls.push(Call { seat, at: stream.between(Time::ZERO, latest) });
            }
        }
        Self { view, settles, network, order, faults, calls, seed }
    }

    /// Lets it come over these.
    pub fn strike<P: Election>(&self, entry: &Entry, configs: &[P::Config]) -> Outcome {
        let until = self.faults.last_moment().max(HORIZON);
        let setup = Setup::<P> {
            network: self.network,
            order: self.order,
            faults: &self.faults,
            seed: self.seed,
            limits: Limits { events: 3_000_000, time: until + PATIENCE, patience: Time::NEVER },
            promises: entry.promises,
            check_invariants: true,
            ..Setup::new(&self.view, configs)
        };
        let (clients, calls) = (entry.clients(&self.view), self.calls.clone());
        let application = ElectionApplication::new(&self.view, clients, calls, until, self.seed);
        let application = application.asking_every(Time::delays(4));
        simulate(&setup, application, &mut |_| {})
    }
}

fn draw_faults(stream: &mut Stream, clients: &View, view: &View) -> FaultPlan {
    let mut faults = FaultPlan::default();
    // Often early, while all terms are alike.
    let moment = |stream: &mut Stream| {
        let latest = if chance(stream, 40) { Time::delays(90) } else { HORIZON };
        stream.between(Time::ZERO, latest)
    };
    // Either each for itself, or many at about the same time.
    let blackouts = chance(stream, 40).then(|| {
        let mut moments: Vec<Time> = (0..=stream.below(4)).map(|_| moment(stream)).collect();
        moments.sort_unstable();
        moments
    });
    // A majority is up in the end.
    let mut may_stay_down = (clients.len() - 1) / 2;
    for &process in clients.members() {
        let mut up_from = Time::ZERO;
        let mut moments = blackouts.clone().unwrap_or_default().into_iter();
        loop {
            let at = match &blackouts {
                None if chance(stream, 45) => {
                    up_from + Time(1) + stream.between(Time::ZERO, Time::delays(200))
                }
                None => break,
                Some(_) => match moments.next() {
                    Some(at) if chance(stream, 60) => at + stream.between(Time(1), Time::delays(4)),
                    Some(_) => continue,
                    None => break,
                },
            };
            if at <= up_from {
                continue;
            }
            faults.crashes.push(Crash { process, at });
            if may_stay_down > 0 && chance(stream, 30) {
                may_stay_down -= 1;
                break;
            }
            let away = if chance(stream, 50) { 5 } else { 80 };
            up_from = at + stream.between(Time(1), Time::delays(away));
            faults.returns.push(Return { process, at: up_from });
        }
        if chance(stream, 35) {
            let from = moment(stream);
            let until = from + stream.between(Time(1), Time::delays(90));
            faults.pauses.push(Pause { process, from, until });
        }
        if chance(stream, 50) {
            // At most 1.049 / 0.955, which is below 1.1.
            let thousandths = u32::try_from(955 + stream.below(95)).unwrap();
            let rate = Rate::new(f64::from(thousandths) / 1000.0).unwrap();
            faults.drifts.push(Drift { process, rate });
        }
    }
    for _ in 0..stream.below(4) {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for &process in view.members() {
            let side = if chance(stream, 50) { &mut left } else { &mut right };
            side.push(process);
        }
        if left.is_empty() || right.is_empty() {
            continue;
        }
        let from = moment(stream);
        let until = from + stream.between(Time(1), Time::delays(150));
        let (one_way, crossing) = (chance(stream, 50), Crossing::Lost);
        faults.partitions.push(Partition { left, right, one_way, from, until, crossing });
    }
    let loss = [0.0, 0.0, 0.02, 0.1, 0.3][usize::try_from(stream.below(5)).unwrap()];
    let duplicate = [0.0, 0.0, 0.05, 0.3][usize::try_from(stream.below(4)).unwrap()];
    faults.loss = Probability::new(loss).unwrap();
    faults.duplicate = Probability::new(duplicate).unwrap();
    faults
}
