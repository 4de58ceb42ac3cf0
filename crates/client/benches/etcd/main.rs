//! The engine etcd beside the bare calls that it needs, and beside Go's recipe, in the same run.
//!
//! - *pairs*: one client locks and unlocks. Bare: the two transactions alone.
//! - *hand-offs*: eight clients take turns at one lock. Bare: a standing watch and nothing else, no
//!   session, no deadline, no thread. Go: the recipe of its package `concurrency`, which opens a
//!   watch from a past revision each time it waits.
//!
//! Medians of five rounds; within a round the contestants follow each other, because the machine's
//! mood changes.

#![expect(clippy::disallowed_types, reason = "a benchmark measures real time")]

mod bare;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use conclave_client::{Client, Etcd, EtcdOptions};
use conclave_testkit::servers::{self, EtcdCluster};

const ROUNDS: usize = 5;
const CLIENTS: usize = 8;
const TIME: Duration = Duration::from_secs(2);

fn main() {
    let Some(binaries) = servers::found() else {
        println!("etcd: left out, its servers are not here (cargo xtask servers)");
        return;
    };
    for members in [1, 3] {
        let cluster = EtcdCluster::start(&binaries, members);
        let mut pairs = Table::new(["bare", "ours"]);
        let mut hand_offs = Table::new(["bare", "ours", "Go's"]);
        for _ in 0..ROUNDS {
            pairs.add([bare_pairs(&cluster), our_pairs(&cluster)]);
            let ours = our_hand_offs(&cluster);
            let bare = bare_hand_offs(&cluster, bare::Recipe::Standing);
            hand_offs.add([bare, ours, bare_hand_offs(&cluster, bare::Recipe::Go)]);
        }
        println!("etcd, {members} server(s), per second, median of {ROUNDS}:");
        pairs.print("pairs");
        hand_offs.print("hand-offs of 8 clients");
    }
}

struct Table<const N: usize> {
    heads: [&'static str; N],
    rounds: Vec<[f64; N]>,
}

impl<const N: usize> Table<N> {
    fn new(heads: [&'static str; N]) -> Self {
        Self { heads, rounds: Vec::new() }
    }

    fn add(&mut self, round: [f64; N]) {
        self.rounds.push(round);
    }

    /// Each figure, and how ours compares with each, as the median of the rounds' ratios.
    fn print(&self, what: &str) {
        let median = |mut all: Vec<f64>| {
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        print!("  {what}:");
        for (index, head) in self.heads.iter().enumerate() {
            let figure = median(self.rounds.iter().map(|round| round[index]).collect());
            let ratio = median(self.rounds.iter().map(|round| round[1] / round[index]).collect());
            print!("  {head} {figure:.0} (ours / this {ratio:.2})");
        }
        println!();
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn client(cluster: &EtcdCluster) -> Client {
    Client::new(Etcd::new(EtcdOptions::new(cluster.endpoints())).unwrap())
}

fn per_second(count: u64, begun: Instant) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "counts are small")]
    let count = count as f64;
    count / begun.elapsed().as_secs_f64()
}

fn our_pairs(cluster: &EtcdCluster) -> f64 {
    let client = client(cluster);
    runtime().block_on(async {
        client.lock("warm").await.unwrap().release().await.unwrap();
        let (begun, mut count) = (Instant::now(), 0);
        while begun.elapsed() < TIME {
            client.lock("pairs").await.unwrap().release().await.unwrap();
            count += 1;
        }
        per_second(count, begun)
    })
}

fn bare_pairs(cluster: &EtcdCluster) -> f64 {
    runtime().block_on(async {
        let bare = bare::Bare::connect(&cluster.endpoints()[0]).await;
        bare.pair("warm").await;
        let (begun, mut count) = (Instant::now(), 0);
        while begun.elapsed() < TIME {
            bare.pair("pairs").await;
            count += 1;
        }
        let rate = per_second(count, begun);
        bare.close().await;
        rate
    })
}

/// Eight threads, each with a client of its own, for a while; how many grants there were.
fn race(work: impl Fn(usize, &AtomicBool, &AtomicU64) + Sync) -> f64 {
    let (is_over, count) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (work, is_over, count) = (&work, &is_over, &count);
            scope.spawn(move || work(number, is_over, count));
        }
        // All are connected by then, and wait.
        std::thread::sleep(Duration::from_secs(1));
        let (before, begun) = (count.load(Ordering::Relaxed), Instant::now());
        std::thread::sleep(TIME);
        let rate = per_second(count.load(Ordering::Relaxed) - before, begun);
        is_over.store(true, Ordering::Relaxed);
        rate
    })
}

fn our_hand_offs(cluster: &EtcdCluster) -> f64 {
    race(|_, is_over, count| {
        let client = client(cluster);
        runtime().block_on(async {
            while !is_over.load(Ordering::Relaxed) {
                let guard = client.lock("contended").await.unwrap();
                count.fetch_add(1, Ordering::Relaxed);
                guard.release().await.unwrap();
            }
        });
    })
}

fn bare_hand_offs(cluster: &EtcdCluster, recipe: bare::Recipe) -> f64 {
    race(|_, is_over, count| {
        runtime().block_on(async {
            let bare = bare::Bare::connect(&cluster.endpoints()[0]).await;
            bare.take_turns(recipe, "contended", is_over, count).await;
            bare.close().await;
        });
    })
}
