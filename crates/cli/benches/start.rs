//! What it costs to start a command under a lock, beside `flock(1)`; and on etcd, beside the bare
//! calls that it needs.
//!
//! `cargo bench -p conclave-cli`

#![expect(clippy::disallowed_types, reason = "a benchmark reads the clock")]

#[path = "../../client/benches/etcd/bare.rs"]
#[expect(dead_code, reason = "some of it is for hand-offs")]
mod bare;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use conclave_testkit::servers::{self, EtcdCluster};

const STARTS: usize = 200;

fn main() {
    here();
    on_etcd();
}

/// The whole run of a command on etcd, and the calls that it cannot do without: connect, grant the
/// lease, enter the queue, leave it, give the lease back.
fn on_etcd() {
    let Some(binaries) = servers::found() else {
        println!("etcd: left out, its servers are not here (cargo xtask servers)");
        return;
    };
    let cluster = EtcdCluster::start(&binaries, 1);
    let mut conclave = Command::new(env!("CARGO_BIN_EXE_conclave"));
    conclave.args(["lock", "--at", &cluster.url(""), "x", "true"]);
    let address = &cluster.endpoints()[0];
    let (mut whole, mut calls) = (Vec::new(), Vec::new());
    for round in 0..=STARTS {
        let (one, other) = (timed(&mut conclave), bare_calls(address));
        if round > 0 {
            whole.push(one);
            calls.push(other);
        }
    }
    let (whole, calls) = (median(whole), median(calls));
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    println!("median of {STARTS} alternating starts of `true` on etcd, in ms");
    println!("  bare calls               {:.2}", ms(calls));
    println!("  conclave lock --at etcd: {:.2}", ms(whole));
    println!("  conclave above the calls {:+.2}", ms(whole) - ms(calls));
}

fn bare_calls(address: &str) -> Duration {
    let start = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let bare = bare::Bare::connect(address).await;
        bare.pair("bare").await;
        bare.close().await;
    });
    start.elapsed()
}

fn here() {
    let directory = tempfile::tempdir().expect("a directory for temporary files");
    let bare = Command::new("true");
    let mut flock = Command::new("flock");
    flock.arg(directory.path().join("flock")).arg("true");
    let mut conclave = Command::new(env!("CARGO_BIN_EXE_conclave"));
    conclave.args(["lock", "x", "true"]).env("CONCLAVE_DIR", directory.path().join("locks"));
    let mut commands = [bare, flock, conclave];
    let mut times = [const { Vec::new() }; 3];
    // In turns, because the machine is noisy. The first round only warms up.
    for round in 0..=STARTS {
        for (command, times) in commands.iter_mut().zip(&mut times) {
            let time = timed(command);
            if round > 0 {
                times.push(time);
            }
        }
    }
    let [bare, flock, conclave] = times.map(median);
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    println!("median of {STARTS} alternating starts of `true`, in ms");
    println!("  alone             {:.2}", ms(bare));
    println!("  flock FILE        {:.2}", ms(flock));
    println!("  conclave lock x   {:.2}", ms(conclave));
    println!("  conclave above flock {:+.2}", ms(conclave) - ms(flock));
}

fn timed(command: &mut Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status().expect("a process");
    let time = start.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    time
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
