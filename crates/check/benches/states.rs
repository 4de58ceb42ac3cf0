//! How many states a second the search works out, beside stateright on the same model: Lamport's
//! mutual exclusion with three processes and clocks up to six, the same words and the same steps.
//!
//! `cargo bench -p conclave-check --bench states`. Each figure is the best of several rounds that
//! alternate, because the machine is shared; the ratios are what counts. All of them find the same
//! 724,274 states and work out the same 2,729,079; both check the same invariants in every state.
//! Ours tells states apart by 128 bits or by their words, stateright by 64 bits.
//!
//! Memory is what the operating system says that a process of its own needed at most for a search,
//! less what it had before it.

#[allow(dead_code, reason = "the tests need more of it")]
#[path = "../tests/specifications/lamport.rs"]
mod lamport;

use std::ops::ControlFlow;
use std::process::Command;
use std::time::Duration;

use conclave_algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use conclave_check::system::{Bounds, Channels, Enters, Faults, Setup, TimeModel};
use conclave_check::{
    Budget, Conclusion, Fairness, Keep, Options, Search, SearchEnd, SearchProgress, check,
};
use conclave_core::{Seat, View};
use stateright::{Checker, HasDiscoveries, Property};

use lamport::{Event, PUBLISHED, Rules, State};

#[expect(clippy::disallowed_types, reason = "a benchmark measures real time")]
type Instant = std::time::Instant;

const ROUNDS: usize = 5;

/// Who searches, and on how many threads.
#[derive(Clone, Copy)]
enum Contender {
    Ours { threads: usize, keep: Keep },
    Stateright { threads: usize },
}

const FINGERPRINTS: Keep = Keep { states: false, steps: false };
const STATES: Keep = Keep { states: true, steps: false };

const CONTENDERS: [(&str, Contender); 6] = [
    ("stateright, 1 thread", Contender::Stateright { threads: 1 }),
    ("stateright, 2 threads", Contender::Stateright { threads: 2 }),
    ("ours, 1 thread", Contender::Ours { threads: 1, keep: FINGERPRINTS }),
    ("ours, 2 threads", Contender::Ours { threads: 2, keep: FINGERPRINTS }),
    ("ours, exactly, 1 thread", Contender::Ours { threads: 1, keep: STATES }),
    ("ours, exactly, 2 threads", Contender::Ours { threads: 2, keep: STATES }),
];

/// Asks this program to search once and to say what memory that took.
const ALONE: &str = "--alone";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let at = arguments.iter().position(|argument| argument == ALONE);
    if let Some(name) = at.and_then(|at| arguments.get(at + 1)) {
        let (_, contender) =
            CONTENDERS.iter().find(|(other, _)| other == name).expect("it is one of them");
        let before = memory("VmRSS:");
        contender.search();
        println!("{}", memory("VmHWM:") - before);
        return;
    }
    let mut best = [0.0_f64; CONTENDERS.len()];
    for _ in 0..ROUNDS {
        for (best, (_, contender)) in best.iter_mut().zip(CONTENDERS) {
            *best = best.max(contender.rate());
        }
    }
    println!("Lamport's mutual exclusion, N = 3, clocks up to 6; best of {ROUNDS}");
    let [theirs, ..] = best;
    println!("{:<26} {:>14} {:>8} {:>18}", "", "worked out", "ratio", "bytes per state");
    for ((name, _), rate) in CONTENDERS.iter().zip(best) {
        let bytes = memory_of(name).map_or("unknown here".into(), |bytes| format!("{bytes:.0}"));
        println!("{name:<26} {rate:>10.2} M/s {:>8.2} {bytes:>18}", rate / theirs);
    }
    let of = |name| CONTENDERS.iter().position(|&(other, _)| other == name).map(|at| best[at]);
    if let (Some(one), Some(two)) = (of("ours, 1 thread"), of("ours, 2 threads")) {
        println!("\nours on 2 threads beside ours on 1: {:.2}", two / one);
    }
    for (name, keep) in [("fingerprints", FINGERPRINTS), ("states", STATES)] {
        let progress = ours(1, keep);
        let each = progress.bytes as f64 / progress.distinct as f64;
        println!("as ours counts it, keeping {name}: {each:.0} bytes per state");
    }
    algorithm();
}

/// The same for an algorithm of the catalogue, as it is simulated and run: all of its processes,
/// channels and applications, and the judge.
fn algorithm() {
    let view = View::dense(1, 3);
    let configs = [ricart_agrawala::Answers::Replies; 3];
    let setup = Setup::<RicartAgrawala, _> {
        vocabulary: &conclave_observe::family::locks::VOCABULARY,
        view: &view,
        configs: &configs,
        promises: ricart_agrawala::PLAIN.promises,
        openings: &[],
        client: Enters { clients: (0..3).map(Seat::at).collect(), requests: 3, holder: None },
        channels: Channels::Fifo,
        time: TimeModel::Async,
        faults: Faults::default(),
        check_invariants: true,
        expected_kinds: 0,
        interchangeable: Vec::new(),
        tamper: None,
        tells_renewals: true,
        passes_over_stalls: false,
        crash_loses: false,
        bounds: Bounds::default(),
    };
    println!("\nRicart-Agrawala of the catalogue, N = 3, 3 requests each; best of {ROUNDS}");
    let runs = [(1, false), (2, false), (1, true), (2, true)];
    let mut best = [0.0_f64; 4];
    let mut states = 0;
    for _ in 0..ROUNDS {
        for (best, (threads, liveness)) in best.iter_mut().zip(runs) {
            let budget = Budget { states: 10_000_000, bytes: 1 << 32 };
            let fairness = Fairness::ALL;
            let options = Options { threads, budget, is_exact: false, liveness, fairness };
            let start = Instant::now();
            let found = check(&setup, &options, &mut |_| ControlFlow::Continue(()))
                .expect("nothing is renamed");
            let taken = start.elapsed().as_secs_f64();
            assert_eq!(found.verdict, Conclusion::Proved);
            states = found.progress.distinct;
            *best = best.max(found.progress.generated as f64 / taken / 1e6);
        }
    }
    println!("{states} states");
    for ((threads, liveness), rate) in runs.iter().zip(best) {
        let what = if *liveness { "safety and liveness" } else { "safety" };
        println!("{what:<20} {threads} threads {rate:>8.2} M/s {:>6.2}", rate / best[0]);
    }
}

impl Contender {
    fn search(self) {
        match self {
            Self::Ours { threads, keep } => {
                ours(threads, keep);
            }
            Self::Stateright { threads } => theirs(threads),
        }
    }

    /// Millions of states a second that are worked out.
    fn rate(self) -> f64 {
        let start = Instant::now();
        self.search();
        let taken = start.elapsed().max(Duration::from_nanos(1));
        let [_, generated, _] = PUBLISHED;
        generated as f64 / taken.as_secs_f64() / 1e6
    }
}

fn ours(threads: usize, keep: Keep) -> SearchProgress {
    let budget = Budget { states: 10_000_000, bytes: 1 << 32 };
    let search = Search { threads, keep, budget };
    let found = search.run(&Rules::Published, &mut |_| ControlFlow::Continue(()));
    assert_eq!(found.outcome, SearchEnd::Complete);
    let progress = found.progress;
    assert_eq!([progress.distinct, progress.generated, progress.depth], PUBLISHED);
    progress
}

fn theirs(threads: usize) {
    let builder = stateright::Model::checker(Published).threads(threads);
    let checker = builder.finish_when(HasDiscoveries::All).spawn_bfs().join();
    assert!(checker.is_done());
    assert!(checker.discovery(SAFE).is_none());
    let [distinct, ..] = PUBLISHED;
    assert_eq!(checker.unique_state_count() as u64, distinct);
}

/// The same model, as stateright wants it.
struct Published;

const SAFE: &str = "no invariant is violated";

impl stateright::Model for Published {
    type State = State;
    type Action = Event;

    fn init_states(&self) -> Vec<State> {
        vec![State::FIRST]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Event>) {
        Rules::Published.enabled(state, |event| actions.push(event));
    }

    fn next_state(&self, state: &State, event: Event) -> Option<State> {
        Some(Rules::Published.after(state, event))
    }

    fn within_boundary(&self, state: &State) -> bool {
        state.is_within_bounds()
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(SAFE, |_, state: &State| state.flaw().is_none())]
    }
}

/// What a search needs per different state, in a process of its own.
fn memory_of(name: &str) -> Option<f64> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).args([ALONE, name]).output().ok()?;
    let kibibytes: f64 = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
    let [distinct, ..] = PUBLISHED;
    (kibibytes > 0.0).then_some(kibibytes * 1024.0 / distinct as f64)
}

/// What the operating system says that this process needs or ever needed, in KiB.
fn memory(line: &str) -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|found| found.strip_prefix(line));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
