//! Many tasks of one process wait for one lock: they share threads and descriptors.

use std::path::Path;
use std::sync::{Arc, Mutex};

use conclave_client::{Client, Fence, Local};
use nix::sys::resource::{Resource, setrlimit};

use super::actor::{Actor, say};
use super::{World, lock, soon, waiters};

const TASKS: usize = 800;

/// So many tasks wait for one lock, with few descriptors and one more thread for the runtime.
pub fn crowd(directory: &Path) {
    setrlimit(Resource::RLIMIT_NOFILE, 256, 256).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let client = Client::new(Local::open(directory).unwrap());
    runtime.block_on(async {
        let fences = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for _ in 0..TASKS {
            let (client, fences) = (client.clone(), Arc::clone(&fences));
            tasks.push(tokio::spawn(async move {
                let guard = client.lock("x").await.unwrap();
                fences.lock().unwrap().push(guard.fence());
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        let fences = fences.lock().unwrap();
        assert!(fences.is_sorted(), "one after the other");
        say(&format!("served {}", fences.len()));
    });
    // Until we are told to end.
    let _ = std::io::stdin().lines().next();
}

fn count(what: &str, pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/{what}")).unwrap().count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_hundred_waiting_tasks_need_few_threads_and_descriptors() {
    let world = World::new();
    let holder = world.client.lock("x").await.unwrap();
    let actor = Actor::play("crowd", world.directory.path());
    waiters(&world.client, "x", TASKS).await;
    let (threads, descriptors) = (count("task", actor.pid()), count("fd", actor.pid()));
    println!("{TASKS} tasks wait: {threads} threads, {descriptors} descriptors");
    assert!(threads <= 20, "{threads} threads");
    assert!(descriptors <= 100, "{descriptors} descriptors");
    drop(holder);
    assert_eq!(actor.hear(), format!("served {TASKS}"));
    let status = world.client.inspect(&lock("x")).await.unwrap();
    assert_eq!(status.last_fence, Fence(TASKS as u64 + 1), "each once");
    assert!(status.is_idle());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_that_meets_a_new_name_needs_no_more() {
    let world = World::new();
    let actor = Actor::play("crowd", world.directory.path());
    let mut most = 0;
    loop {
        most = most.max(count("task", actor.pid()));
        let status = world.client.inspect(&lock("x")).await.unwrap();
        if status.last_fence == Fence(TASKS as u64) {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(actor.hear(), format!("served {TASKS}"));
    assert!(most <= 20, "{most} threads");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lines_of_two_processes_are_served_in_the_order_in_which_all_came() {
    let world = World::new();
    let strangers = [world.stranger(), world.stranger()];
    let order = Arc::new(Mutex::new(Vec::new()));
    let holder = world.client.lock("x").await.unwrap();
    let mut tasks = Vec::new();
    for number in 0..40_usize {
        // In turns, and now and then two of the same.
        let client = strangers[number * 2 / 3 % 2].clone();
        let order = Arc::clone(&order);
        tasks.push(tokio::spawn(async move {
            let guard = client.lock("x").await.unwrap();
            order.lock().unwrap().push(number);
            drop(guard);
        }));
        waiters(&world.client, "x", number + 1).await;
    }
    // Some in the middle give up.
    for number in [5, 6, 7, 20] {
        tasks[number].abort();
    }
    waiters(&world.client, "x", 36).await;
    drop(holder);
    for (number, task) in tasks.into_iter().enumerate() {
        assert_eq!(soon(task).await.is_ok(), ![5, 6, 7, 20].contains(&number));
    }
    let expected: Vec<usize> = (0..40).filter(|it| ![5, 6, 7, 20].contains(it)).collect();
    assert_eq!(*order.lock().unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_of_one_line_are_let_in_together() {
    let world = World::new();
    let reader = || conclave_client::Request::lock("x").unwrap().shared();
    let holder = world.client.lock("x").await.unwrap();
    let mut tasks = Vec::new();
    for number in 1..=10 {
        let client = world.client.clone();
        tasks.push(tokio::spawn(async move { client.lock(reader()).await.unwrap() }));
        waiters(&world.client, "x", number).await;
    }
    drop(holder);
    let mut guards = Vec::new();
    for task in tasks {
        guards.push(soon(task).await.unwrap());
    }
    assert_eq!(guards.len(), 10, "none had to let go first");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_by_others_is_waited_for_when_its_holder_of_this_process_is_gone() {
    let world = World::new();
    for is_abandoned in [false, true] {
        let guard = world.client.lock("x").await.unwrap();
        let by_descriptor = guard.by_descriptor().unwrap();
        let copy = by_descriptor.descriptor().try_clone_to_owned().unwrap();
        let keeper = by_descriptor.keeper().unwrap();
        let client = world.client.clone();
        let waiter = tokio::spawn(async move { client.lock("x").await.map(drop) });
        waiters(&world.client, "x", 1).await;
        if is_abandoned {
            by_descriptor.abandon();
        }
        drop(guard);
        tokio::time::sleep(super::SHORT).await;
        assert!(!waiter.is_finished(), "the keeper still keeps it");
        keeper.release().unwrap();
        if is_abandoned {
            tokio::time::sleep(super::SHORT).await;
            assert!(!waiter.is_finished(), "the copy still keeps it");
        }
        drop(copy);
        soon(waiter).await.unwrap().unwrap();
    }
}
