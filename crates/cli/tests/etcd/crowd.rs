//! Many at once, ours and those of etcdctl.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use super::{World, printed, said};

/// One increment that loses others' work if somebody else does the same meanwhile. Leaves its fence
/// and who did it.
const INCREMENT: &str = "n=$(cat counter); sleep 0.01; echo $((n + 1)) >counter; \
     echo $CONCLAVE_FENCE >>fences; echo $1 >>turns";

impl World {
    /// A shell that does that so many times, one after the other.
    fn repeat(&self, times: u32, command: &str) -> Child {
        let script =
            format!("i=0; while [ $i -lt {times} ]; do {command} || exit; i=$((i + 1)); done");
        self.shell(&script).spawn().unwrap()
    }

    fn begin_to_count(&self) {
        self.write("counter", "0\n");
        self.write("increment", INCREMENT);
    }

    fn count(&self) -> u32 {
        self.read("counter").trim().parse().unwrap()
    }
}

fn wait_for_all(workers: Vec<Child>) {
    for mut worker in workers {
        assert_eq!(worker.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_hundred_increments_by_twenty_at_once_lose_none_and_fences_rise() {
    let Some(world) = World::shared() else { return };
    world.begin_to_count();
    let worker = |_| world.repeat(5, "$CONCLAVE lock --ttl 20 counter -- sh increment ours");
    wait_for_all((0..20).map(worker).collect());
    assert_eq!(world.count(), 100);
    let fences = world.read("fences");
    let fences: Vec<u64> = fences.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(fences.len(), 100);
    assert!(fences.is_sorted_by(|one, next| one < next), "{fences:?}");
    assert_eq!(world.keys(), Vec::<String>::new(), "nobody left anything behind");
}

#[test]
fn etcdctl_and_conclave_take_turns_at_one_lock_and_lose_no_increment() {
    let Some(world) = World::shared() else { return };
    world.begin_to_count();
    let theirs = world.cluster.etcdctl(["lock", "--ttl", "20"]);
    let words = [theirs.get_program()].into_iter().chain(theirs.get_args());
    let words: Vec<_> = words.map(|it| it.to_string_lossy()).collect();
    let theirs = format!("{} {}/counter sh increment theirs", words.join(" "), world.prefix);
    let ours = "$CONCLAVE lock --ttl 20 counter -- sh increment ours";
    let both = |_| [world.repeat(10, ours), world.repeat(10, &theirs)];
    wait_for_all((0..5).flat_map(both).collect());
    assert_eq!(world.count(), 100);
    let turns = world.read("turns");
    let turns: Vec<&str> = turns.lines().collect();
    // In a fair order five of ours and five of theirs follow each other. One that starved a kind
    // would have all fifty of the other in a row.
    let longest = turns.chunk_by(|one, next| one == next).map(<[_]>::len).max();
    assert!(longest < Some(25), "who waits is served, whoever it is: {turns:?}");
}

#[test]
fn etcdctl_sees_our_leader_and_observe_sees_theirs() {
    let Some(world) = World::shared() else { return };
    let election = format!("{}/primary", world.prefix);
    let ours = world.start(&["elect", "primary", "--value", "db1:5432", "--", "sleep", "1000"]);
    world.wait_for_queue("primary", 1);
    let mut listening = world.cluster.etcdctl(["elect", "-l", &election]);
    let mut listening = listening.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(listening.stdout.take().unwrap()).lines();
    let seen: Vec<String> = lines.take(2).map(Result::unwrap).collect();
    assert!(seen[0].starts_with(&format!("{election}/")), "{seen:?}");
    assert_eq!(seen[1], "db1:5432");
    listening.kill().unwrap();
    listening.wait().unwrap();

    let now = world.run(&["observe", "--now", "primary"]);
    assert_eq!(now.status.code(), Some(0), "{}", said(&now));
    assert!(printed(&now).contains("elected sleep 1000 (pid "), "{}", printed(&now));
    let mut theirs = world.cluster.etcdctl(["elect", &election, "db2:5432"]);
    let mut theirs = theirs.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    world.wait_for_queue("primary", 2);
    ours.signal(nix::sys::signal::Signal::SIGTERM);
    assert_eq!(ours.finish().0, Some(143));
    world.wait_for_queue("primary", 1);
    let now = world.run(&["observe", "--now", "primary"]);
    assert_eq!(now.status.code(), Some(0), "{}", said(&now));
    assert!(printed(&now).ends_with(", value db2:5432\n"), "{}", printed(&now));
    theirs.kill().unwrap();
    theirs.wait().unwrap();
}
