//! Trying, giving up, letting go.

use std::time::Duration;

use conclave_client::{Error, Outcome};

use crate::scene::{Scene, labelled, lock, lock_named, slot};

const SHORT: Duration = Duration::from_millis(50);

pub async fn a_free_lock_is_taken_by_a_try(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    for (number, request) in [lock("x"), lock("x").shared(), slot("x", 1)].iter().enumerate() {
        // Never used at first, then used by others.
        let client = if number % 2 == 0 { &one } else { &other };
        let guard = scene.take_free(client, request).await;
        assert!(scene.is_current(&lock_named("x"), guard.fence()).await);
        scene.release(guard).await;
    }
}

pub async fn a_busy_lock_names_its_holder(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let _guard = scene.take(&one, &labelled("x", "backup")).await;
    let error = scene.refused("to try a taken lock", other.try_lock("x")).await;
    assert_eq!(error.outcome(), Outcome::NotDone);
    let Error::Busy { resource, holders } = &error else { panic!("{error}") };
    assert_eq!(*resource, lock_named("x"));
    let [holder] = &holders[..] else { panic!("one holds it, and {holders:?} are named") };
    assert_eq!((holder.label.as_str(), holder.pid), ("backup", std::process::id()));
    let status = scene.status(&lock_named("x")).await;
    assert_eq!(status.waiters, [], "who does not want to wait does not");
}

pub async fn a_timed_out_wait_has_left_the_queue_for_good(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let reader = scene.take(&one, &lock("x").shared()).await;
    let what = "a wait with little patience";
    let error = scene.refused(what, other.lock_timeout("x", SHORT)).await;
    assert_eq!(error.outcome(), Outcome::NotDone);
    let is_told = matches!(&error, Error::TimedOut { waited, .. } if *waited == SHORT);
    assert!(is_told, "{error}");
    assert_eq!(scene.status(&lock_named("x")).await.waiters, []);
    // It was a writer, and would be in the way.
    let second = scene.take_free(&other, &lock("x").shared()).await;
    scene.release(reader).await;
    scene.release(second).await;
    scene.stay_quiet().await;
    let status = scene.status(&lock_named("x")).await;
    assert!(status.is_idle(), "it holds nothing later either: {status:?}");
    drop(scene.take_free(&one, &lock("x")).await);
}

pub async fn a_cancelled_wait_lets_those_behind_it_move_up(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let reader = scene.take(&one, &lock("x").shared()).await;
    let writer = scene.queue(&other, &lock("x")).await;
    let behind = scene.queue(&other, &lock("x").shared()).await;
    scene.cancel(writer).await;
    let behind = scene.granted(behind).await;
    scene
        .eventually("nobody waits", async || {
            scene.status(&lock_named("x")).await.waiters.is_empty()
        })
        .await;
    scene.release(reader).await;
    scene.release(behind).await;
    scene.becomes_idle(&lock_named("x")).await;
}

pub async fn a_wait_that_is_dropped_when_it_is_granted_holds_nothing(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    for round in 0..40 {
        let holder = scene.take(&one, &lock("x")).await;
        let waiting = scene.queue(&other, &lock("x")).await;
        let release = tokio::spawn(holder.release());
        // A little before, a little after, and as close as can be.
        for _ in 0..round % 8 {
            tokio::task::yield_now().await;
        }
        scene.cancel_anyway(waiting).await;
        scene.ok("the holder lets go", async { release.await.unwrap() }).await;
        scene.becomes_idle(&lock_named("x")).await;
    }
    // A grant that nobody has heard of yet.
    let holder = scene.take(&one, &lock("x")).await;
    let waiting = scene.queue(&other, &lock("x")).await;
    drop(holder);
    scene.cancel_anyway(waiting).await;
    scene.becomes_idle(&lock_named("x")).await;
    drop(scene.take_free(&one, &lock("x")).await);
}

pub async fn dropping_a_guard_lets_go(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let guard = scene.take(&one, &lock("x")).await;
    let waiting = scene.queue(&other, &lock("x")).await;
    drop(guard);
    drop(scene.granted(waiting).await);
    scene.becomes_idle(&lock_named("x")).await;
    // A release that nobody waits for.
    drop(scene.take(&one, &lock("x")).await.release());
    scene.becomes_idle(&lock_named("x")).await;
}

pub async fn a_released_lock_is_free_at_once(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    for request in [lock("x"), lock("x").shared(), slot("x", 1)] {
        for _ in 0..5 {
            let guard = scene.take_free(&one, &request).await;
            scene.release(guard).await;
            assert!(scene.status(&lock_named("x")).await.is_idle());
            let guard = scene.take_free(&other, &request).await;
            scene.release(guard).await;
        }
    }
}

pub async fn locks_taken_together_are_let_go_when_one_is_not_to_be_had(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let _slot = scene.take(&other, &slot("b", 2)).await;
    let error = scene.refused("a lock of a semaphore", one.lock_all(["b", "a"])).await;
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    scene.becomes_idle(&lock_named("a")).await;
    let error = scene.refused("one lock twice", one.lock_all(["a", "a"])).await;
    assert!(matches!(error, Error::Twice(_)), "{error}");
    drop(scene.take_free(&other, &lock("a")).await);
}
