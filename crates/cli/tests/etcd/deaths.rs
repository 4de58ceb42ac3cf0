//! Who is killed or stopped, and what becomes of the lock.

use std::time::Duration;

use nix::sys::signal::Signal;

use super::role::Manners;
use super::{World, eventually, pause, send};

/// The number of the guard that watches beside that wrapper now.
fn guard_of(wrapper: i32) -> Option<i32> {
    let children = std::fs::read_to_string(format!("/proc/{wrapper}/task/{wrapper}/children"));
    let children = children.unwrap_or_default();
    let mut children = children.split_whitespace().filter_map(|it| it.parse().ok());
    children.find(|pid: &i32| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.trim() == "conclave-guard"
    })
}

impl World {
    /// Somebody of that name holds the lock, and somebody else waits for it.
    fn hold_and_wait(&self, name: &str, manners: Manners) -> [super::Running; 2] {
        let family = |who: &str| self.family(name, &format!("{name}-{who}"), manners);
        let lock = |script: &str| {
            self.start(&[
                "lock",
                "--ttl",
                "3",
                "--kill-after",
                "0.5",
                name,
                "--",
                "sh",
                "-c",
                script,
            ])
        };
        let first = lock(&family("first"));
        self.wait_for_family(&format!("{name}-first"));
        let second = lock(&family("second"));
        self.wait_for_queue(name, 2);
        [first, second]
    }

    /// The second gets the lock after the first has gone, and when it lets go nobody has it.
    fn assert_handed_over(&self, name: &str, second: super::Running) {
        self.wait_for_family(&format!("{name}-second"));
        self.assert_apart(&format!("{name}-first"), &format!("{name}-second"));
        second.signal(Signal::SIGTERM);
        send(self.number(&format!("{name}-second"), "pid"), Signal::SIGKILL);
        send(self.number(&format!("{name}-second"), "child"), Signal::SIGKILL);
        assert!(second.finish().0.is_some());
        self.wait_for_queue(name, 0);
    }
}

#[test]
fn a_killed_command_has_the_lock_until_its_children_have_ended_too() {
    let Some(world) = World::shared() else { return };
    let [first, second] = world.hold_and_wait("x", Manners::Polite);
    send(world.number("x-first", "pid"), Signal::SIGKILL);
    // Longer than the time to live: it is the wrapper that keeps it.
    pause(4.0);
    assert_eq!(world.read("x-second.stamps"), "");
    assert!(first.said().contains("lock x stays held: what the command started still runs (pid "));
    send(world.number("x-first", "child"), Signal::SIGKILL);
    assert_eq!(first.finish().0, Some(137));
    world.assert_handed_over("x", second);
}

#[test]
fn of_a_killed_wrapper_the_guard_ends_the_deaf_group_before_anybody_else_gets_in() {
    let Some(world) = World::shared() else { return };
    let [first, second] = world.hold_and_wait("x", Manners::Deaf);
    first.signal(Signal::SIGKILL);
    world.assert_handed_over("x", second);
}

#[test]
fn a_killed_guard_is_replaced_by_one_that_does_the_same() {
    let Some(world) = World::shared() else { return };
    let [first, second] = world.hold_and_wait("x", Manners::Deaf);
    let guard = world.number("x-first", "guard");
    assert_eq!(guard_of(first.pid()), Some(guard));
    send(guard, Signal::SIGKILL);
    eventually("another guard", || guard_of(first.pid()).filter(|it| *it != guard));
    first.signal(Signal::SIGKILL);
    world.assert_handed_over("x", second);
}

#[test]
fn a_stopped_wrapper_loses_the_lock_and_its_deaf_command_is_dead_before_the_next_begins() {
    let Some(world) = World::shared() else { return };
    let [first, second] = world.hold_and_wait("x", Manners::Deaf);
    first.signal(Signal::SIGSTOP);
    pause(6.0);
    first.signal(Signal::SIGCONT);
    let (code, said) = first.finish();
    assert_eq!(code, Some(75), "{said}");
    assert!(said.contains("lock lost: "), "{said}");
    world.assert_handed_over("x", second);
}

#[test]
fn the_death_of_the_servers_leader_is_nothing_to_the_holder() {
    let Some(binaries) = conclave_testkit::servers::required() else { return };
    let cluster = conclave_testkit::servers::EtcdCluster::start(&binaries, 3);
    let world = World::on(cluster.into());
    let script = "echo $CONCLAVE_FENCE >fence; until [ -e go ]; do sleep 0.05; done; \
                  $CONCLAVE fence check x $CONCLAVE_FENCE || exit 9; exit 7";
    let holder = world.start(&["lock", "--ttl", "5", "x", "--", "sh", "-c", script]);
    let fence = world.wait_for_file("fence");
    world.cluster.kill(world.cluster.leader());
    std::thread::sleep(Duration::from_secs(6));
    let listed = world.run(&["locks", "--json", "x"]);
    assert!(super::printed(&listed).contains(&format!("\"fence\":\"{fence}\"")), "{listed:?}");
    world.write("go", "");
    let (code, said) = holder.finish();
    assert_eq!(code, Some(7), "{said}");
}
