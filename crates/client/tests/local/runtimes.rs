//! The engine `local` on runtimes that have no timer, or are none of tokio's.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use conclave_client::{BootTime, Error, Office};
use nix::libc;

use super::races::set_guard;
use super::{LONG, SHORT, World, lock};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// All that a future needs.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let (mut context, mut future) = (Context::from_waker(&waker), pin!(future));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn a_runtime_without_a_timer_will_do() {
    let world = World::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(8).build().unwrap();
    runtime.block_on(async {
        let mut tasks = Vec::new();
        for number in 0..16 {
            let client = if number % 2 == 0 { world.client.clone() } else { world.stranger() };
            tasks.push(tokio::spawn(async move {
                for _ in 0..50 {
                    client.lock("x").await.unwrap().release().await.unwrap();
                    let _ = client.lock_timeout("x", Duration::from_micros(50)).await;
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert!(world.client.inspect(&lock("x")).await.unwrap().is_idle());
    });
}

#[test]
fn a_runtime_that_is_none_of_tokios_will_do() {
    let world = World::new();
    let (ours, theirs) = (&world.client, world.stranger());
    let guard = block_on(ours.lock("x")).unwrap();
    let refused = block_on(theirs.lock_timeout("x", SHORT)).unwrap_err();
    assert!(matches!(refused, Error::TimedOut { .. }), "{refused}");
    // Kept busy, so that one must wait for the guard.
    let state = world.state();
    set_guard(&state, libc::F_WRLCK);
    let waiter = std::thread::spawn({
        let theirs = theirs.clone();
        move || block_on(theirs.lock("x")).map(|guard| guard.fence())
    });
    std::thread::sleep(SHORT);
    set_guard(&state, libc::F_UNLCK);
    while block_on(ours.inspect(&lock("x"))).unwrap().waiters.is_empty() {
        std::thread::yield_now();
    }
    block_on(guard.record(b"value")).unwrap();
    let fence = guard.fence();
    block_on(guard.release()).unwrap();
    assert!(waiter.join().unwrap().unwrap() > fence);
    let mut observer = theirs.observe("e").unwrap();
    assert_eq!(block_on(observer.next()).unwrap(), Office::Vacant);
    let leader = block_on(ours.campaign("e", "value")).unwrap();
    assert!(matches!(block_on(observer.next()).unwrap(), Office::Elected { .. }));
    block_on(leader.resign()).unwrap();
    assert!(matches!(block_on(observer.next()).unwrap(), Office::Resigned { .. }));
}

#[test]
fn a_short_limit_is_kept_while_somebody_is_stuck_in_the_guard() {
    let world = World::new();
    drop(block_on(world.client.lock("x")).unwrap());
    let state = world.state();
    set_guard(&state, libc::F_WRLCK);
    let (start, limit) = (BootTime::now(), Duration::from_millis(200));
    let refused = block_on(world.client.lock_timeout("x", limit)).unwrap_err();
    let waited = BootTime::now().since(start);
    assert!(matches!(refused, Error::TimedOut { waited, .. } if waited == limit), "{refused}");
    assert!((limit..limit + Duration::from_secs(3)).contains(&waited), "{waited:?}");
    set_guard(&state, libc::F_UNLCK);
    assert!(block_on(world.client.lock_timeout("x", LONG)).is_ok());
}

#[test]
fn one_name_is_looked_at_with_its_processes_whatever_is_wrong_with_others() {
    let world = World::new();
    let _guard = block_on(world.client.lock("x")).unwrap();
    std::fs::write(world.directory.path().join("strange.lock"), "?").unwrap();
    let status = block_on(world.stranger().inspect(&lock("x"))).unwrap();
    let processes = &status.holder().unwrap().processes;
    assert_eq!(processes.iter().map(|it| it.pid).collect::<Vec<_>>(), [std::process::id()]);
}
