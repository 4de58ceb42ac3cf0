//! What it costs to start a command under a lock, beside `flock(1)`.
//!
//! `cargo bench -p conclave-cli`

#![expect(clippy::disallowed_types, reason = "a benchmark reads the clock")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const STARTS: usize = 200;

fn main() {
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
