//! temporary
use conclave_algorithms::mutex::{Answers, RicartAgrawala};
use conclave_core::{Seat, View};
use conclave_observe::{JudgeOrdering, Time};
use conclave_sim::*;

fn main() {
    for network in [
        Network::Unit,
        Network::Uniform { low: Time(500_000), high: Time(1_500_000) },
        Network::Exponential { mean: Time(1_000_000) },
    ] {
        for _ in 0..3 {
            let view = View::dense(1, 100);
            let faults = FaultPlan::default();
            let setup = Setup::<RicartAgrawala> {
                view: &view,
                config: &Answers::Replies,
                network,
                order: ChannelOrder::Fifo,
                faults: &faults,
                clocks: &[],
                holder: None,
                seed: 1,
                limits: Limits {
                    events: u64::MAX,
                    time: Time(u64::MAX - 1),
                    patience: Time(u64::MAX),
                },
                ordering: JudgeOrdering::No,
                promises_order: true,
                recording: Recording::Nothing,
                check_invariants: false,
            };
            let clients = (0..100).map(Seat::at).collect();
            let app = MutexApplication::new(
                Workload::Contend,
                &view,
                clients,
                100_000,
                Time::DELAY,
                None,
                1,
            );
            let start = std::time::Instant::now();
            let outcome = simulate(&setup, app, &mut |_| {});
            let took = start.elapsed();
            let delivered = outcome.report.bandwidth.delivered();
            println!(
                "{network} {:?} {} messages, {:.1} M/s",
                outcome.report.verdict,
                delivered,
                delivered as f64 / took.as_secs_f64() / 1e6
            );
        }
    }
}
