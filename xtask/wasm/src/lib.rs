//! A probe: what the workbench does as WebAssembly is what it does natively. It runs one simulation
//! and one search, and exports what came of them.

use std::ops::ControlFlow;

use conclave_algorithms::catalogue;
use conclave_check::Verdict;
use conclave_core::View;
use conclave_observe::Time;
use conclave_sim::Network;
use conclave_workbench::plan::Plan;
use conclave_workbench::search::SearchPlan;

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
    let Ok(entry) = catalogue::find("ricart-agrawala") else { return 0 };
    let mut plan = Plan::new(entry, View::dense(1, n));
    (plan.seed, plan.network) = (seed, Network::Exponential { mean: Time::DELAY });
    plan.run(&mut |_| {}).map_or(0, |done| done.outcome.report.fingerprint)
}

fn search(n: u32) -> u64 {
    let Ok(entry) = catalogue::find("ricart-agrawala") else { return 0 };
    let mut plan = SearchPlan::new(entry, View::dense(1, n));
    plan.requests = 1;
    match plan.run(&mut |_| ControlFlow::Continue(())) {
        Ok(searched) if searched.finding.verdict == Verdict::Proved => {
            searched.finding.progress.distinct
        }
        _ => 0,
    }
}
