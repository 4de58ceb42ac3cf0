//! First come, first served, in whatever mode.

use std::num::NonZeroU32;

use conclave_client::{Error, Usage};

use crate::scene::{Scene, Waiting, lock, lock_named, slot};

pub async fn waiters_are_served_in_the_order_of_their_arrival(scene: &Scene) {
    let clients = [scene.client(), scene.client()];
    let mut holder = scene.take(&scene.client(), &lock("x")).await;
    let mut queue = std::collections::VecDeque::new();
    for number in 0..6 {
        // Some of one client, some of another, and each twice in a row.
        queue.push_back(scene.queue(&clients[number / 2 % 2], &lock("x")).await);
    }
    while let Some(next) = queue.pop_front() {
        let fence = holder.fence();
        scene.release(holder).await;
        holder = scene.granted(next).await;
        assert!(holder.fence() > fence);
        if let Some(after) = queue.front() {
            scene.assert_waits(after).await;
        }
        assert!(!queue.iter().any(Waiting::is_answered), "one at a time");
    }
}

pub async fn readers_hold_together_and_a_writer_alone(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let reader = lock("x").shared();
    let first = scene.take_free(&one, &reader).await;
    let second = scene.take_free(&other, &reader).await;
    let third = scene.take_free(&one, &reader).await;
    let writer = scene.queue(&other, &lock("x")).await;
    scene.release(second).await;
    scene.release(first).await;
    scene.assert_waits(&writer).await;
    scene.release(third).await;
    let writer = scene.granted(writer).await;
    let readers = [scene.queue(&one, &reader).await, scene.queue(&other, &reader).await];
    scene.assert_waits(&readers[0]).await;
    scene.release(writer).await;
    let mut together = Vec::new();
    for reader in readers {
        together.push(scene.granted(reader).await);
    }
    scene.assert_busy(&one, &lock("x")).await;
}

pub async fn a_reader_never_passes_a_waiting_writer(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let reader = scene.take(&one, &lock("x").shared()).await;
    let writer = scene.queue(&other, &lock("x")).await;
    for client in [&one, &other] {
        scene.assert_busy(client, &lock("x").shared()).await;
    }
    let newcomer = scene.queue(&one, &lock("x").shared()).await;
    scene.assert_waits(&newcomer).await;
    scene.release(reader).await;
    let writer = scene.granted(writer).await;
    scene.assert_waits(&newcomer).await;
    scene.release(writer).await;
    drop(scene.granted(newcomer).await);
}

pub async fn a_newcomer_never_passes_one_who_waits_for_a_slot(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let first = scene.take(&one, &slot("x", 2)).await;
    let _second = scene.take(&one, &slot("x", 2)).await;
    let third = scene.queue(&other, &slot("x", 2)).await;
    let fourth = scene.queue(&one, &slot("x", 2)).await;
    scene.release(first).await;
    // The free slot is the third one's, whether it has heard of it or not.
    scene.assert_busy(&one, &slot("x", 2)).await;
    let third = scene.granted(third).await;
    scene.assert_waits(&fourth).await;
    scene.release(third).await;
    drop(scene.granted(fourth).await);
}

pub async fn there_are_as_many_holders_as_slots(scene: &Scene) {
    let clients = [scene.client(), scene.client()];
    let mut holders = Vec::new();
    for number in 0..3 {
        holders.push(scene.take_free(&clients[number % 2], &slot("x", 3)).await);
    }
    let waiting = scene.queue(&clients[0], &slot("x", 3)).await;
    scene.assert_waits(&waiting).await;
    scene.assert_busy(&clients[1], &slot("x", 3)).await;
    // Whichever becomes free.
    scene.release(holders.remove(1)).await;
    let _fourth = scene.granted(waiting).await;
    scene.assert_busy(&clients[1], &slot("x", 3)).await;
    let status = scene.status(&lock_named("x")).await;
    assert_eq!(status.holders.len(), 3, "{status:?}");
}

pub async fn a_lock_and_a_semaphore_of_one_name_do_not_mix(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let two = Usage::Semaphore(NonZeroU32::new(2).unwrap());
    for request in [lock("x"), lock("x").shared()] {
        let guard = scene.take(&one, &request).await;
        let error = scene.refused("a slot of a lock", other.lock(slot("x", 2))).await;
        let is_told =
            matches!(error, Error::Mismatch { ours, theirs: Usage::Lock, .. } if ours == two);
        assert!(is_told, "{error}");
        scene.release(guard).await;
        let guard = scene.take(&one, &slot("x", 2)).await;
        let error = scene.refused("a lock of a semaphore", other.try_lock(&request)).await;
        let is_told =
            matches!(error, Error::Mismatch { ours: Usage::Lock, theirs, .. } if theirs == two);
        assert!(is_told, "{error}");
        scene.release(guard).await;
    }
    // Nothing is left of those who were refused.
    assert!(scene.status(&lock_named("x")).await.is_idle());
}

pub async fn semaphores_of_one_name_agree_on_the_number_of_slots(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let guard = scene.take(&one, &slot("x", 2)).await;
    for of in [1, 3] {
        let error = scene.refused("other slots", other.lock(slot("x", of))).await;
        assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    }
    let second = scene.take_free(&other, &slot("x", 2)).await;
    scene.release(guard).await;
    scene.release(second).await;
    drop(scene.take_free(&other, &slot("x", 3)).await);
}
