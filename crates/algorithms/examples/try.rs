use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use conclave_algorithms::catalogue::{self, Entry, MutexVisitor, Portable, Seating, Timing};
use conclave_algorithms::quorum::Construction;
use conclave_check::system::*;
use conclave_check::*;
use conclave_core::View;
use conclave_core::mutex::Mutex;

struct Go<'a> { view: &'a View, requests: u8, threads: usize, live: bool, fifo: bool, time: TimeModel, crashes: u8 }
impl MutexVisitor for Go<'_> {
    type Output = Finding;
    fn visit<P: Mutex<Message: Portable>>(self, entry: &'static Entry, config: P::Config) -> Finding {
        let setup = Setup::<P, _> { view: self.view, config: &config, promises: entry.promises, holder: None,
            client: Enters { clients: entry.clients(self.view), requests: self.requests, holder: None },
            channels: if self.fifo { Channels::Fifo } else { Channels::Unordered }, time: self.time,
            faults: Faults{crashes:self.crashes,..Faults::default()}, bounds: Bounds::default() };
        check(&setup, &Options { threads: self.threads, budget: Budget { states: 40_000_000, bytes: 8 << 30 }, is_exact: false, liveness: self.live, fairness: Fairness::ALL }, &mut |_| ControlFlow::Continue(()))
    }
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: u32 = args[2].parse().unwrap(); let requests: u8 = args[3].parse().unwrap();
    let threads: usize = args[4].parse().unwrap(); let live = args[5] == "live";
    let sync = args.get(6).map_or("async", |s| s.as_str());
    let crashes: u8 = args.get(7).map_or(0, |s| s.parse().unwrap());
    let beat: Option<u32> = args.get(8).map(|s| s.parse().unwrap());
    for entry in catalogue::MUTEXES {
        if args[1] != "all" && args[1] != entry.name { continue }
        if args[1] == "all" && entry.needs.synchrony { continue }
        let view = entry.view_of(&View::dense(1, n)).unwrap();
        let tick = Duration::from_millis(1);
        let time = match sync { "async" => TimeModel::Async, d => TimeModel::Sync { bound: d.parse().unwrap(), tick } };
        let mut timing = Timing::of(if let TimeModel::Sync { bound, .. } = time { tick * u32::from(bound) } else { tick });
        timing.beat = beat.map(|b| tick * b);
        let seating = Seating { view: &view, construction: Construction::Grid, timing };
        let at = Instant::now();
        let f = catalogue::visit_mutex(entry, &seating, Go { view: &view, requests, threads, live, fifo: entry.needs.fifo || true, time, crashes }).unwrap();
        let s = at.elapsed().as_secs_f64();
        println!("{} {n} {requests}: {} gen {} depth {} {:.2}s {:.2}M/s {}B/state {:?} live {:?} {:?}", entry.name, f.progress.distinct, f.progress.generated, f.progress.depth, s, f.progress.generated as f64 / s / 1e6, f.progress.bytes / f.progress.distinct, f.verdict, f.liveness, f.premises.iter().map(|p| p.1).collect::<Vec<_>>());
        if let Some(c) = f.counterexample { println!("  {:?} {} records", c.steps, c.told.records.len()); 
          if args.len()>9 { for r in c.told.records { println!("   {:?} {:?} {:?}", r.event.seat, r.event.what, r.text); } } }
    }
}
