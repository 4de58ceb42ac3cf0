//! A probe: what the pure crates do as WebAssembly is what they do natively. It runs one simulation
//! and one search, and exports what came of them.

use std::ops::ControlFlow;

use conclave_algorithms::mutex::{Answers, RicartAgrawala, ricart_agrawala};
use conclave_check::system::{Bounds, Channels, Enters, Faults, TimeModel};
use conclave_check::{Budget, Fairness, Options, Verdict};
use conclave_core::{Seat, View};
use conclave_observe::Time;
use conclave_sim::{MutexApplication, Network, Workload};

/// The hash of all that happened in a simulation: what the command line prints as `trace_hash` for
/// `conclave run ricart-agrawala -n 5 --network exponential:1ms --seed 7`.
#[allow(unsafe_code, reason = "so that it has a name for whoever loads the module")]
#[unsafe(no_mangle)]
pub extern "C" fn trace_hash() -> u64 {
    simulate(5, 7)
}

/// How many states there are: the command line says the same for
/// `conclave check ricart-agrawala -n 3 --requests 1`.
#[allow(unsafe_code, reason = "so that it has a name for whoever loads the module")]
#[unsafe(no_mangle)]
pub extern "C" fn states() -> u64 {
    search(3)
}

fn simulate(n: u32, seed: u64) -> u64 {
    let (view, configs) = (View::dense(1, n), vec![Answers::Replies; n as usize]);
    let mut setup = conclave_sim::Setup::<RicartAgrawala>::new(&view, &configs);
    setup.seed = seed;
    setup.network = Network::Exponential { mean: Time::DELAY };
    let clients = (0..view.len()).map(Seat::at).collect();
    let entries = 4 * u64::from(n);
    let application =
        MutexApplication::new(Workload::Contend, &view, clients, entries, Time::DELAY, None, seed);
    conclave_sim::simulate(&setup, application, &mut |_| {}).report.fingerprint
}

fn search(n: u32) -> u64 {
    let (view, configs) = (View::dense(1, n), vec![Answers::Replies; n as usize]);
    let clients = (0..view.len()).map(Seat::at).collect();
    let setup = conclave_check::system::Setup::<RicartAgrawala, _> {
        view: &view,
        configs: &configs,
        promises: ricart_agrawala::PLAIN.promises,
        openings: &[],
        client: Enters { clients, requests: 1, holder: None },
        channels: Channels::Fifo,
        time: TimeModel::Async,
        faults: Faults::default(),
        check_invariants: true,
        tells_renewals: true,
        crash_loses: false,
        passes_over_stalls: false,
        expected_kinds: 0,
        bounds: Bounds::default(),
        interchangeable: Vec::new(),
    };
    let options = Options {
        threads: 1,
        budget: Budget { states: 1_000_000, bytes: 1 << 30 },
        is_exact: true,
        liveness: true,
        fairness: Fairness::ALL,
    };
    match conclave_check::check(&setup, &options, &mut |_| ControlFlow::Continue(())) {
        Ok(finding) if finding.verdict == Verdict::Proved => finding.progress.distinct,
        _ => 0,
    }
}
