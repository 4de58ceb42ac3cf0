//! Those who wait and are stopped are passed over; exclusion and order are kept.

use std::path::Path;
use std::time::Duration;

use conclave_client::{Error, Fence, Guard, Local, Request, Target, blocking};
use tokio::task::JoinHandle;

use super::actor::{Actor, say};
use super::{LONG, SHORT, World, lock, soon, waiters};

/// Somebody of this process begins to wait, as the last of `count`.
async fn come(world: &World, request: Request, count: usize) -> JoinHandle<Guard> {
    let client = world.stranger();
    let task = tokio::spawn(async move { client.lock(request).await.unwrap() });
    waiters(&world.client, "x", count).await;
    task
}

/// Another process begins to wait, as the last of `count`.
async fn come_from_outside(world: &World, what: &str, count: usize) -> Actor {
    let mut actor = Actor::start(world.directory.path());
    actor.tell(&format!("{what} x"));
    waiters(&world.client, "x", count).await;
    actor
}

fn exclusive() -> Request {
    Request::lock("x").unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_head_is_passed_over_and_named_and_served_next_when_it_goes_on() {
    let world = World::new();
    let holder = world.client.lock("x").await.unwrap();
    let mut head = come_from_outside(&world, "lock", 1).await;
    let behind = come(&world, exclusive(), 2).await;
    let last = come(&world, exclusive(), 3).await;
    head.stop();
    drop(holder);
    let behind = soon(behind).await.unwrap();
    assert_eq!(behind.fence(), Fence(2));
    let status = world.stranger().inspect(&lock("x")).await.unwrap();
    assert_eq!(status.waiters.len(), 2, "it keeps its place");
    let first = &status.waiters[0];
    assert_eq!(first.owner.pid, head.pid());
    assert_eq!(first.processes.len(), 1);
    assert!(first.processes[0].is_stopped && first.processes[0].pid == head.pid());
    head.go_on();
    assert!(head.is_silent(SHORT), "somebody holds who came later");
    drop(behind);
    assert_eq!(head.fence(), Fence(3), "before the one behind it");
    head.tell("release");
    assert_eq!(soon(last).await.unwrap().fence(), Fence(4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_free_lock_whose_only_waiter_is_stopped_can_be_had_at_once() {
    let world = World::new();
    let holder = world.client.lock("x").await.unwrap();
    let mut head = come_from_outside(&world, "lock", 1).await;
    head.stop();
    let refused = world.stranger().try_lock("x").await.unwrap_err();
    assert!(matches!(refused, Error::Busy { .. }), "it is held: {refused}");
    drop(holder);
    let guard = world.stranger().try_lock("x").await.unwrap();
    head.go_on();
    assert!(head.is_silent(SHORT));
    let refused = world.stranger().try_lock("x").await.unwrap_err();
    assert!(matches!(refused, Error::Busy { .. }), "{refused}");
    let fence = guard.fence();
    drop(guard);
    assert!(head.fence() > fence);
    head.tell("release");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_goes_on_before_the_lock_is_free_has_lost_nothing() {
    let world = World::new();
    let holder = world.client.lock("x").await.unwrap();
    let mut head = come_from_outside(&world, "lock", 1).await;
    let behind = come(&world, exclusive(), 2).await;
    head.stop();
    // Long enough for the one behind it to have noticed.
    tokio::time::sleep(Duration::from_millis(600)).await;
    head.go_on();
    drop(holder);
    assert_eq!(head.fence(), Fence(2));
    head.tell("release");
    assert_eq!(soon(behind).await.unwrap().fence(), Fence(3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_are_not_stopped_keep_their_order() {
    let world = World::new();
    let holder = world.client.lock("x").await.unwrap();
    let mut first = come_from_outside(&world, "lock", 1).await;
    let one = come(&world, exclusive(), 2).await;
    let mut two = come_from_outside(&world, "lock", 3).await;
    let second = come_from_outside(&world, "lock", 4).await;
    let three = come(&world, exclusive(), 5).await;
    second.stop();
    first.stop();
    drop(holder);
    let guard = soon(one).await.unwrap();
    assert_eq!(guard.fence(), Fence(2));
    assert!(two.is_silent(SHORT));
    drop(guard);
    assert_eq!(two.fence(), Fence(3));
    two.tell("release");
    let guard = soon(three).await.unwrap();
    assert_eq!(guard.fence(), Fence(4));
    second.go_on();
    first.go_on();
    tokio::time::sleep(SHORT).await;
    drop(guard);
    assert_eq!(first.fence(), Fence(5), "those who were, too");
    assert!(second.is_silent(SHORT));
    first.tell("release");
    assert_eq!(second.fence(), Fence(6));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_writer_holds_up_no_readers_but_those_who_come_after_it_goes_on() {
    let world = World::new();
    let reader = || exclusive().shared();
    let first = world.client.lock(reader()).await.unwrap();
    let writer = come_from_outside(&world, "lock", 1).await;
    writer.stop();
    let second = world.stranger().try_lock(reader()).await.unwrap();
    let other = world.stranger().try_lock("x").await.unwrap_err();
    assert!(matches!(other, Error::Busy { .. }), "there are readers: {other}");
    writer.go_on();
    let refused = world.stranger().try_lock(reader()).await.unwrap_err();
    assert!(matches!(refused, Error::Busy { .. }), "{refused}");
    let late = come(&world, reader(), 2).await;
    drop(first);
    assert!(writer.is_silent(SHORT), "a reader with a higher ticket is still there");
    drop(second);
    let fence = writer.fence();
    drop(writer);
    assert!(soon(late).await.unwrap().fence() > fence);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_waiter_for_a_slot_leaves_it_to_others_and_never_makes_one_too_many() {
    let world = World::new();
    let slot = || exclusive().slots(2).unwrap();
    let first = world.client.lock(slot()).await.unwrap();
    let second = world.stranger().lock(slot()).await.unwrap();
    let waiter = come_from_outside(&world, "slot", 1).await;
    waiter.stop();
    drop(first);
    let third = world.stranger().try_lock(slot()).await.unwrap();
    waiter.go_on();
    assert!(waiter.is_silent(SHORT), "both are taken");
    assert!(world.stranger().try_lock(slot()).await.unwrap_err().is_not_acquired());
    drop(second);
    assert!(waiter.fence() > third.fence());
    assert!(world.stranger().try_lock(slot()).await.unwrap_err().is_not_acquired());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_evicted_waiter_is_told_and_put_down_and_the_next_one_moves_up() {
    let world = World::new();
    let holder = world.client.lock("x").await.unwrap();
    for is_stopped in [false, true] {
        let evicted = come_from_outside(&world, "lock", 1).await;
        let behind = come(&world, exclusive(), 2).await;
        if is_stopped {
            evicted.stop();
        }
        let target = Target::Process { pid: evicted.pid(), host: None };
        let (stranger, resource) = (world.stranger(), lock("x"));
        let who = stranger.engine().revoke(&resource, &target, "root").await.unwrap();
        assert_eq!((who.holders.len(), who.waiters.len()), (0, 1));
        assert_eq!(who.waiters[0].owner.pid, evicted.pid());
        let status = world.client.inspect(&resource).await.unwrap();
        assert_eq!(status.waiters.len(), 1, "at once: {:?}", status.waiters);
        if is_stopped {
            assert!(evicted.is_silent(SHORT));
            evicted.go_on();
        }
        assert!(evicted.hear().contains("the place in the queue was taken away by force"));
        let audit = std::fs::read_to_string(world.directory.path().join("audit.log")).unwrap();
        for word in ["forces", "forced"] {
            let line =
                format!("root {word} lock x: the place in the queue of pid {}", evicted.pid());
            assert!(audit.contains(&line), "{audit}");
        }
        behind.abort();
        waiters(&world.client, "x", 0).await;
    }
    drop(holder);
    assert!(world.stranger().try_lock("x").await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_evicted_are_in_nobodys_way_though_they_are_stopped_for_ever() {
    let world = World::new();
    let mut holder = Actor::start(world.directory.path());
    holder.tell("lock x");
    assert_eq!(holder.fence(), Fence(1));
    let evicted = come_from_outside(&world, "lock", 1).await;
    let behind = come(&world, exclusive(), 2).await;
    evicted.stop();
    let target = Target::Process { pid: evicted.pid(), host: None };
    world.client.engine().revoke(&lock("x"), &target, "root").await.unwrap();
    holder.tell("release");
    assert_eq!(soon(behind).await.unwrap().fence(), Fence(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_that_a_process_holds_and_waits_for_can_be_taken_away() {
    let world = World::new();
    let holder = world.client.lock("x").await.unwrap();
    let mut tasks = Vec::new();
    for number in 1..=3 {
        // Of one engine: only the first of them looks after others.
        let client = world.client.clone();
        tasks.push(tokio::spawn(async move { client.lock("x").await.map(drop) }));
        waiters(&world.client, "x", number).await;
    }
    let target = Target::Process { pid: std::process::id(), host: None };
    let who = world.stranger().engine().revoke(&lock("x"), &target, "root").await.unwrap();
    assert_eq!((who.holders.len(), who.waiters.len()), (1, 3));
    for task in tasks {
        let told = soon(task).await.unwrap();
        assert!(matches!(told, Err(Error::Evicted { .. })), "{told:?}");
    }
    soon(holder.lost()).await;
    assert!(world.client.try_lock("x").await.is_ok());
}

const ROUNDS: u64 = 60;

/// Counts in a file that can take only one at a time.
pub fn count(directory: &Path) {
    let client = blocking::Client::new(Local::open(directory).unwrap());
    let (counter, inside) = (directory.join("counter"), directory.join("inside"));
    let mut last = Fence(0);
    for _ in 0..ROUNDS {
        let guard = client.lock("x").unwrap();
        std::fs::File::create_new(&inside).expect("nobody else is inside");
        let (count, fence) = read_counter(&counter);
        assert!(guard.fence() > fence && guard.fence() > last, "{} after {fence}", guard.fence());
        last = guard.fence();
        std::thread::sleep(Duration::from_micros(300));
        std::fs::write(&counter, format!("{} {}", count + 1, guard.fence())).unwrap();
        std::fs::remove_file(&inside).unwrap();
        guard.release().unwrap();
    }
    say("done");
}

fn read_counter(path: &Path) -> (u64, Fence) {
    let text = std::fs::read_to_string(path).unwrap();
    let (count, fence) = text.split_once(' ').unwrap();
    (count.parse().unwrap(), Fence(fence.parse().unwrap()))
}

#[test]
fn nobody_is_ever_inside_together_whoever_is_stopped_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("counter"), "0 0").unwrap();
    let mut actors: Vec<Actor> = (0..5).map(|_| Actor::play("counter", directory.path())).collect();
    let mut random: u64 = 88_172_645_463_325_252;
    let mut below = |limit: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % limit
    };
    let mut running: Vec<usize> = (0..actors.len()).collect();
    while !running.is_empty() {
        let victim = running[usize::try_from(below(running.len() as u64)).unwrap()];
        actors[victim].stop_roughly();
        // Now and then long enough for those behind it to notice.
        let pause = if below(8) == 0 { 300_000 } else { below(5000) };
        std::thread::sleep(Duration::from_micros(pause));
        actors[victim].go_on();
        std::thread::sleep(Duration::from_micros(below(3000)));
        running.retain(|it| match actors[*it].try_end() {
            None => true,
            Some(is_well) => {
                assert!(is_well, "it saw somebody else inside");
                false
            }
        });
    }
    let (count, fence) = read_counter(&directory.path().join("counter"));
    assert_eq!((count, fence), (5 * ROUNDS, Fence(5 * ROUNDS)), "one fence for each");
    let client = blocking::Client::new(Local::open(directory.path()).unwrap());
    assert!(client.inspect(&lock("x")).unwrap().is_idle());
    assert!(client.lock_timeout("x", LONG).is_ok());
}
