//! Many processes at once, some of them killed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::ScopedJoinHandle;

use super::*;

const PROCESSES: usize = 200;

/// Adds a line to a file by copying it, so that two at once lose a line. Done already: nothing.
/// Whoever of it is killed, it ends without success: a grep that was killed has not found nothing.
const ADD: &str = r#"touch sum || exit 9
    grep -q "^$ID " sum; case $? in 0) exit 0;; 1) ;; *) exit 9;; esac
    cat sum > copy && echo "$ID $CONCLAVE_FENCE" >> copy && sleep 0.005 && mv copy sum"#;

/// How often a process is killed before it counts as stuck. Every other fence is spared, so what
/// limits this is luck, not the speed of the machine.
const TRIES: usize = 100;

/// Lets 200 processes at once add their line, again if they were killed; returns who added with
/// which fence.
fn add_up(world: &World, while_they_run: impl FnOnce(&AtomicBool) + Send) -> Vec<(usize, u64)> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| while_they_run(&done));
        let workers: Vec<_> = (0..PROCESSES)
            .map(|id| {
                scope.spawn(move || {
                    let add = || {
                        let mut command = world.conclave(&["lock", "sum", "-c", ADD]);
                        command.env("ID", id.to_string()).stderr(Stdio::null());
                        command.status().unwrap().code()
                    };
                    assert!((0..TRIES).any(|_| add() == Some(0)), "{id} was killed every time");
                })
            })
            .collect();
        // The other one is told before anybody's failure is: it would go on for ever.
        let ended: Vec<_> = workers.into_iter().map(ScopedJoinHandle::join).collect();
        done.store(true, Ordering::SeqCst);
        other.join().unwrap();
        ended.into_iter().for_each(Result::unwrap);
    });
    let text = std::fs::read_to_string(world.file("sum")).unwrap();
    let line = |line: &str| {
        let (id, fence) = line.split_once(' ').unwrap();
        (id.parse().unwrap(), fence.parse().unwrap())
    };
    text.lines().map(line).collect()
}

fn check(added: &[(usize, u64)]) {
    let mut ids: Vec<usize> = added.iter().map(|(id, _)| *id).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..PROCESSES).collect::<Vec<_>>(), "every line once, none lost");
    assert!(added.windows(2).all(|pair| pair[0].1 < pair[1].1), "fences grow: {added:?}");
}

#[test]
fn two_hundred_processes_add_up_exactly() {
    let world = World::new();
    check(&add_up(&world, |_| {}));
}

#[test]
fn two_hundred_processes_add_up_exactly_while_holders_are_killed() {
    let world = World::new();
    let kills = AtomicU64::new(0);
    let added = add_up(&world, |done| {
        let client = world.client();
        let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
        while !done.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(50));
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let Some(Ok(status)) = client.list().unwrap().into_iter().next() else { continue };
            let Some(holder) = status.holder() else { continue };
            // On a busy machine a turn takes longer than the pause above. If nobody were spared,
            // nobody would ever be done.
            if holder.fence.0 % 2 == 0 {
                continue;
            }
            // The wrapper most often; sometimes its guard, or somebody of its command.
            let victims = &holder.processes;
            let wrapper = victims.iter().find(|it| it.pid == holder.owner.pid);
            let any = victims.get((random >> 33) as usize % victims.len().max(1));
            let victim = if (random >> 20) & 3 == 0 { any } else { wrapper.or(any) };
            let Some(victim) = victim else { continue };
            let pid = Pid::from_raw(i32::try_from(victim.pid).unwrap());
            kills.fetch_add(u64::from(kill(pid, Signal::SIGKILL).is_ok()), Ordering::SeqCst);
        }
    });
    check(&added);
    let kills = kills.load(Ordering::SeqCst);
    assert!(kills >= 5, "{kills} were killed");
    println!("{kills} holders killed");
}
