//! How many messages a second the simulator delivers, beside a bare loop around the same state
//! machines: what no simulator of them can exceed.
//!
//! `cargo bench -p conclave-sim`. Safety, liveness, fences and all measures are on; the trace and
//! the order of grants are off. Each figure is the best of several rounds that alternate, because
//! the machine is shared; the ratio is what counts.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use conclave_algorithms::catalogue::{Entry, Timing};
use conclave_algorithms::election::{Bully, ChangRoberts, Chubby, bully, chang_roberts, chubby};
use conclave_algorithms::mutex::{Answers, Maekawa, RicartAgrawala};
use conclave_algorithms::quorum::{Construction, VotingSets};
use conclave_core::election::Election;
use conclave_core::mutex::{Command, Mutex, Notice};
use conclave_core::{
    Due, Environment, Host, Input, ProcessId, Promises, Protocol, Seat, Start, View,
};
use conclave_observe::{Report, Time, Verdict};
use conclave_sim::{
    Call, ElectionApplication, FaultPlan, MutexApplication, Network, Setup, Stream, Workload,
    simulate,
};

#[expect(clippy::disallowed_types, reason = "a benchmark measures real time")]
type Instant = std::time::Instant;

const N: u32 = 100;
const ENTRIES: u64 = 50_000;
const ROUNDS: usize = 7;

fn main() {
    // First of all: a peak that something larger has left behind would show nothing.
    for entries in [20_000, 200_000] {
        simulated::<RicartAgrawala>(N, &Answers::Replies, Network::Unit, entries);
        println!("peak memory after {entries:>6} entries of Ricart-Agrawala: {}", peak_memory());
    }
    println!();
    let uniform = Network::Uniform { low: Time(500_000), high: Time(1_500_000) };
    let exponential = Network::Exponential { mean: Time(1_000_000) };
    println!("Ricart-Agrawala, N = {N}, {ENTRIES} entries, everybody contending; best of {ROUNDS}");
    println!("{:<24} {:>14} {:>14} {:>7}", "network", "bare loop", "simulator", "ratio");
    for network in [Network::Unit, uniform, exponential] {
        let (mut bare, mut full) = (0.0_f64, 0.0_f64);
        for _ in 0..ROUNDS {
            bare = bare.max(rate(|| bare_loop(network)));
            full = full.max(rate(|| delivered(&ricart_agrawala(network))));
        }
        let name = network.to_string();
        println!("{name:<24} {bare:>10.1} M/s {full:>10.1} M/s {:>7.2}", full / bare);
    }
    println!("\nElections, beside that of the unit network; best of {ROUNDS}");
    let mutex = (0..ROUNDS).map(|_| rate(|| delivered(&ricart_agrawala(Network::Unit))));
    let mutex = mutex.fold(0.0, f64::max);
    let line = |name: &str, run: &dyn Fn() -> u64| {
        let best = (0..ROUNDS).map(|_| rate(run)).fold(0.0, f64::max);
        println!("{name:<52} {best:>10.1} M/s {:>7.2}", best / mutex);
    };
    line("bully, N = 2000, the smallest notices", &|| delivered(&bully(2_000)));
    line("Chang-Roberts, N = 10000, all start, ids fall", &|| delivered(&chang_roberts(10_000)));
    line("Chubby style, N = 100, renewed for 20,000 delays", &|| delivered(&chubby(100)));
    let start = Instant::now();
    let report = maekawa(10_000);
    assert_eq!(report.verdict, Verdict::Ok);
    println!(
        "\nMaekawa, N = 10000, all contending, one entry each: {} messages in {:.2} s",
        report.bandwidth.delivered(),
        start.elapsed().as_secs_f64()
    );
}

/// Millions a second.
fn rate(run: impl Fn() -> u64) -> f64 {
    let start = Instant::now();
    let messages = run();
    messages as f64 / start.elapsed().max(Duration::from_nanos(1)).as_secs_f64() / 1e6
}

fn delivered(report: &Report) -> u64 {
    assert_eq!(report.verdict, Verdict::Ok);
    report.bandwidth.delivered()
}

fn ricart_agrawala(network: Network) -> Report {
    simulated::<RicartAgrawala>(N, &Answers::Replies, network, ENTRIES)
}

fn maekawa(n: u32) -> Report {
    let sets = VotingSets::build(Construction::Grid, &View::dense(1, n)).expect("grids fit any N");
    simulated::<Maekawa>(n, &sets, Network::Unit, n.into())
}

/// The largest is dead, and the smallest notices.
fn bully(n: u32) -> Report {
    let config = bully::Config::new(&Timing::of(Duration::from_millis(1)));
    let faults = FaultPlan { dead: vec![ProcessId(n)], ..FaultPlan::NONE };
    let view = View::dense(1, n);
    elected::<Bully>(&bully::ENTRY, &view, &config, &faults, &[Seat(0)], Time::ZERO)
}

/// Everybody starts, and every id but the largest meets a larger one late: N(N+1)/2 + N messages.
fn chang_roberts(n: u32) -> Report {
    let view = View::new((1..=n).rev().map(ProcessId)).expect("they differ");
    let callers: Vec<Seat> = (0..view.len()).map(Seat::at).collect();
    let entry = &chang_roberts::PLAIN;
    let (variant, faults) = (chang_roberts::Variant::Plain, FaultPlan::NONE);
    elected::<ChangRoberts>(entry, &view, &variant, &faults, &callers, Time::ZERO)
}

fn chubby(n: u32) -> Report {
    let config = chubby::Config { lease: Timing::of(Duration::from_millis(1)).lease() };
    let (view, faults) = (View::dense(1, n), FaultPlan::NONE);
    let until = Time::delays(20_000);
    elected::<Chubby>(&chubby::ENTRY, &view, &config, &faults, &[Seat(0)], until)
}

fn elected<P: Election>(
    entry: &Entry,
    view: &View,
    config: &P::Config,
    faults: &FaultPlan,
    callers: &[Seat],
    until: Time,
) -> Report {
    let (promises, configs) = (entry.promises, vec![config.clone(); view.len()]);
    let setup =
        Setup::<P> { promises, faults, check_invariants: false, ..Setup::new(view, &configs) };
    let candidates = (0..view.len()).map(Seat::at).collect();
    let calls = callers.iter().map(|&seat| Call { seat, at: Time::ZERO }).collect();
    let application = ElectionApplication::new(view, candidates, calls, until, 1);
    simulate(&setup, application, &mut |_| {}).report
}

fn simulated<P: Mutex>(n: u32, config: &P::Config, network: Network, entries: u64) -> Report {
    let view = View::dense(1, n);
    let configs = vec![config.clone(); view.len()];
    let setup = Setup::<P> {
        network,
        promises: Promises::Mutex { liveness: true, ordering: true },
        check_invariants: false,
        ..Setup::new(&view, &configs)
    };
    let clients = (0..view.len()).map(Seat::at).collect();
    let application =
        MutexApplication::new(Workload::Contend, &view, clients, entries, Time::DELAY, None, 1);
    simulate(&setup, application, &mut |_| {}).report
}

/// The same machines with nothing around them but a queue: no judge, no measures, no faults, no
/// FIFO.
fn bare_loop(network: Network) -> u64 {
    match network {
        Network::Unit => bare(&mut VecDeque::new()),
        _ => bare(&mut Heap {
            network,
            stream: Stream::new(1, "bare"),
            now: 0,
            pushed: 0,
            order: BinaryHeap::new(),
            letters: Vec::new(),
            free: Vec::new(),
        }),
    }
}

/// From whom, to whom, what.
type Letter = (ProcessId, ProcessId, <RicartAgrawala as Protocol>::Message);

trait Queue {
    fn push(&mut self, letter: Letter);
    fn pop(&mut self) -> Option<Letter>;
}

impl Queue for VecDeque<Letter> {
    fn push(&mut self, letter: Letter) {
        self.push_back(letter);
    }

    fn pop(&mut self) -> Option<Letter> {
        self.pop_front()
    }
}

/// A heap of small keys; the letters stay where they are.
struct Heap {
    network: Network,
    stream: Stream,
    now: u64,
    pushed: u32,
    order: BinaryHeap<Reverse<(u64, u32, u32)>>,
    letters: Vec<Option<Letter>>,
    free: Vec<u32>,
}

impl Queue for Heap {
    fn push(&mut self, letter: Letter) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.letters.push(None);
            u32::try_from(self.letters.len() - 1).expect("few letters are in flight")
        });
        self.letters[slot as usize] = Some(letter);
        self.pushed = self.pushed.wrapping_add(1);
        let at = self.now + self.network.draw(&mut self.stream).0;
        self.order.push(Reverse((at, self.pushed, slot)));
    }

    fn pop(&mut self) -> Option<Letter> {
        let Reverse((at, _, slot)) = self.order.pop()?;
        self.now = at;
        self.free.push(slot);
        self.letters[slot as usize].take()
    }
}

/// All that is around the processes of the bare loop.
struct Bare<'a, Q> {
    view: &'a View,
    /// Who takes the step that is under way.
    me: ProcessId,
    queue: &'a mut Q,
    commands: VecDeque<(ProcessId, Command)>,
    entries: u64,
}

impl<Q: Queue> Environment<RicartAgrawala> for Bare<'_, Q> {
    #[inline(always)]
    fn view(&self) -> &View {
        self.view
    }

    #[inline(always)]
    fn seat(&self) -> Seat {
        Seat(self.me.0 - 1)
    }

    #[inline(always)]
    fn stepped(&mut self, _: &RicartAgrawala, _: Vec<&'static str>) {}

    #[inline(always)]
    fn send(&mut self, to: Seat, message: <RicartAgrawala as Protocol>::Message, _: bool) {
        self.queue.push((self.me, self.view.at(to), message));
    }

    fn send_own(&mut self, _: &<RicartAgrawala as Protocol>::Message, _: bool) {}

    fn take_own(&mut self, _: &<RicartAgrawala as Protocol>::Message) {}

    fn notify(&mut self, notice: Notice) {
        match notice {
            Notice::Entered { .. } => self.commands.push_back((self.me, Command::Leave)),
            Notice::Left => {
                self.entries += 1;
                if self.entries + u64::from(N) <= ENTRIES {
                    self.commands.push_back((self.me, Command::Enter));
                }
            }
        }
    }

    fn set_timer(&mut self, (): (), _: Due) {}

    fn cancel_timer(&mut self, (): ()) {}

    fn persist(&mut self, (): ()) {}
}

fn bare(queue: &mut impl Queue) -> u64 {
    let view = View::dense(1, N);
    let commands = view.members().iter().map(|&me| (me, Command::Enter)).collect();
    let mut around = Bare { view: &view, me: ProcessId(1), queue, commands, entries: 0 };
    let mut host = Host::new();
    let mut processes: Vec<RicartAgrawala> = Vec::new();
    for &me in view.members() {
        around.me = me;
        let start = Start::founding(me, &view, &Answers::Replies);
        processes.push(host.start(start, &mut around));
    }
    let mut messages = 0;
    loop {
        let (me, input) = if let Some((me, command)) = around.commands.pop_front() {
            (me, Input::Command(command))
        } else if let Some((from, to, message)) = around.queue.pop() {
            messages += 1;
            (to, Input::Message { from, message })
        } else {
            return messages;
        };
        around.me = me;
        host.take(&mut processes[me.0 as usize - 1], input, &mut around);
    }
}

/// What the operating system says this process ever needed.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.map_or("unknown here".into(), |line| line["VmHWM:".len()..].trim().to_owned())
}
