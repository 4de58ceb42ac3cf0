//! Two never hold what only one can.

use conclave_client::{Client, Request};

use crate::other_process::OtherProcess;
use crate::scene::{Scene, labelled, lock, lock_named};

pub async fn two_clients_exclude_each_other(scene: &Scene) {
    exclude_each_other(scene, &scene.client(), &scene.client()).await;
}

pub async fn two_tasks_of_one_client_exclude_each_other(scene: &Scene) {
    let client = scene.client();
    exclude_each_other(scene, &client, &client.clone()).await;
}

async fn exclude_each_other(scene: &Scene, one: &Client, other: &Client) {
    for (request, against) in [
        (lock("x"), lock("x")),
        (lock("x"), lock("x").shared()),
        (lock("x").shared(), lock("x")),
        (lock("x").slots(1).unwrap(), lock("x").slots(1).unwrap()),
    ] {
        keeps_out(scene, one, &request, other, &against).await;
    }
}

async fn keeps_out(
    scene: &Scene,
    one: &Client,
    request: &Request,
    other: &Client,
    against: &Request,
) {
    let first = scene.take(one, request).await;
    scene.assert_busy(other, against).await;
    let second = scene.queue(other, against).await;
    scene.assert_waits(&second).await;
    assert!(!first.is_lost(), "it is held all the while");
    scene.release(first).await;
    let second = scene.granted(second).await;
    scene.release(second).await;
}

pub async fn only_one_leads(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let leader = scene.lead(&one, "e", "one").await;
    for client in [&one, &other] {
        let next = scene.campaign(client, "e", "next");
        scene.assert_waits(&next).await;
        scene.cancel(next).await;
    }
    let next = scene.campaign(&other, "e", "next");
    scene.assert_waits(&next).await;
    let fence = leader.fence();
    scene.resign(leader).await;
    assert!(scene.granted(next).await.fence() > fence);
}

pub async fn what_another_process_holds_is_taken(scene: &Scene) {
    let client = scene.client();
    let mut other = OtherProcess::start(scene, "x", "other");
    let fence = other.fence(scene).await;
    scene.assert_busy(&client, &lock("x")).await;
    let status = scene.status(&lock_named("x")).await;
    let owner = &status.holder().expect("the other process holds it").owner;
    assert_eq!((owner.pid, owner.label.as_str()), (other.pid(), "other"));
    let waiting = scene.queue(&client, &lock("x")).await;
    scene.assert_waits(&waiting).await;
    other.let_go();
    assert!(scene.granted(waiting).await.fence() > fence);
}

pub async fn what_a_killed_process_held_becomes_free(scene: &Scene) {
    let client = scene.client();
    let mut other = OtherProcess::start(scene, "x", "other");
    let fence = other.fence(scene).await;
    let waiting = scene.queue(&client, &labelled("x", "next")).await;
    other.kill();
    assert!(scene.granted(waiting).await.fence() > fence);
    scene.becomes_idle(&lock_named("x")).await;
}
