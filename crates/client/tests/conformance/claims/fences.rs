//! Fences of one resource only ever grow.

use conclave_client::{Fence, Request};

use crate::scene::{Scene, lock, lock_named, slot};

/// Asserts that each is larger than the one before.
struct Growing(Fence);

impl Growing {
    fn next(&mut self, fence: Fence) {
        assert!(fence > self.0, "fence {fence} comes after {}", self.0);
        self.0 = fence;
    }
}

fn every_mode() -> [Request; 4] {
    [lock("x"), lock("x").shared(), slot("x", 1), slot("x", 5)]
}

pub async fn fences_grow_with_every_grant_in_whatever_mode(scene: &Scene) {
    let clients = [scene.client(), scene.client()];
    let mut fences = Growing(Fence(0));
    for round in 0..8 {
        for request in every_mode() {
            let guard = scene.take(&clients[round % 2], &request).await;
            fences.next(guard.fence());
            scene.release(guard).await;
        }
    }
    // To those who waited, too.
    let mut holder = scene.take(&clients[0], &lock("x")).await;
    for round in 0..8 {
        fences.next(holder.fence());
        let next = scene.queue(&clients[round % 2], &lock("x")).await;
        drop(holder);
        holder = scene.granted(next).await;
    }
    drop(holder);
    let mut fences = Growing(Fence(0));
    for round in 0..8 {
        let leader = scene.lead(&clients[round % 2], "e", "").await;
        fences.next(leader.fence());
        scene.resign(leader).await;
    }
}

pub async fn fences_of_those_who_hold_together_differ(scene: &Scene) {
    let clients = [scene.client(), scene.client()];
    for request in [lock("x").shared(), slot("x", 6)] {
        let mut fences = Growing(Fence(0));
        let mut guards = Vec::new();
        for number in 0..6 {
            let guard = scene.take(&clients[number % 2], &request).await;
            fences.next(guard.fence());
            guards.push(guard);
        }
        for guard in guards {
            scene.release(guard).await;
        }
    }
}

pub async fn fences_grow_over_clients_that_come_and_go(scene: &Scene) {
    let mut fences = Growing(Fence(0));
    for request in every_mode() {
        let client = scene.client();
        let guard = scene.take(&client, &request).await;
        fences.next(guard.fence());
        scene.release(guard).await;
        scene.ok("a session is closed", client.engine().close()).await;
        let guard = scene.take(&client, &request).await;
        fences.next(guard.fence());
        drop(guard);
        drop(client);
        scene.becomes_idle(&lock_named("x")).await;
    }
}

pub async fn fences_grow_over_restarts_of_the_store(scene: &Scene) {
    let mut fences = Growing(Fence(0));
    let staying = scene.client();
    for _ in 0..3 {
        for client in [&staying, &scene.client()] {
            for _ in 0..2 {
                let guard = scene.take(client, &lock("x")).await;
                fences.next(guard.fence());
                scene.release(guard).await;
            }
        }
        scene.world.restart_store().await;
    }
    fences.next(scene.take(&staying, &lock("x")).await.fence());
}

pub async fn the_last_fence_is_told(scene: &Scene) {
    let client = scene.client();
    for request in every_mode() {
        let guard = scene.take(&client, &request).await;
        let fence = guard.fence();
        assert!(scene.status(&lock_named("x")).await.last_fence >= fence);
        scene.release(guard).await;
        let last = scene.status(&lock_named("x")).await.last_fence;
        assert!(last >= fence, "{last} is told, and {fence} was given out");
    }
}
