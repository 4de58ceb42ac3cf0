//! Who holds, who waits, and word of changes.

use std::cell::Cell;
use std::time::Duration;

use conclave_client::{Error, Guard, Mode, Resource, Status};

use crate::scene::{Scene, election_named, labelled, lock, lock_named, slot};

pub async fn what_nobody_used_is_idle(scene: &Scene) {
    for resource in [lock_named("x"), election_named("x")] {
        let status = scene.status(&resource).await;
        assert!(status.is_idle(), "{status:?}");
        assert_eq!(status.resource, resource);
        assert_eq!((status.value, status.resigned), (None, None));
    }
    let listed = scene.ok("all are listed", scene.onlooker().engine().list()).await;
    assert!(listed.is_empty(), "a look leaves nothing: {listed:?}");
}

pub async fn holders_are_told_with_what_they_said(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let first = scene.take(&one, &labelled("x", "Grüße, 1").shared()).await;
    let second = scene.take(&other, &lock("x").shared()).await;
    let status = scene.status(&lock_named("x")).await;
    let [a, b] = &status.holders[..] else { panic!("two hold it: {status:?}") };
    assert_eq!((a.owner.label.as_str(), b.owner.label.as_str()), ("Grüße, 1", ""));
    assert_eq!((a.fence, b.fence), (first.fence(), second.fence()), "by fence");
    assert_eq!((a.mode, b.mode), (Mode::Shared, Mode::Shared));
    assert_eq!((a.revoked, b.revoked), (false, false));
    assert_eq!((a.owner.pid, b.owner.pid), (std::process::id(), std::process::id()));
    assert!(!a.owner.host.is_empty(), "from where it asked");
    assert!(status.is_current(first.fence()) && status.is_current(second.fence()));
    scene.release(first).await;
    let status = scene.status(&lock_named("x")).await;
    assert_eq!(status.holders.len(), 1, "{status:?}");
    scene.release(second).await;
    let third = scene.take(&one, &slot("x", 7)).await;
    let status = scene.status(&lock_named("x")).await;
    assert_eq!(status.holder().map(|it| it.mode), Some(slot("x", 7).mode()));
    scene.release(third).await;
    assert!(scene.status(&lock_named("x")).await.is_idle());
}

pub async fn waiters_are_told_in_order_with_what_they_said(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let _holder = scene.take(&one, &lock("x")).await;
    let mut waiting = Vec::new();
    let longest = "l".repeat(conclave_client::LABEL_MAX);
    let requests = [
        labelled("x", "first").shared(),
        labelled("x", "second"),
        lock("x").shared(),
        labelled("x", &longest),
    ];
    for (number, request) in requests.iter().enumerate() {
        waiting.push(scene.queue([&one, &other][number % 2], request).await);
    }
    let status = scene.status(&lock_named("x")).await;
    let told: Vec<_> = status.waiters.iter().map(|it| (it.owner.label.as_str(), it.mode)).collect();
    assert_eq!(told, requests.each_ref().map(|it| (it.label(), it.mode())));
    assert!(status.waiters.iter().all(|it| it.owner.pid == std::process::id()), "{status:?}");
    scene.cancel(waiting.remove(1)).await;
    scene
        .eventually("one of them is gone", async || {
            let status = scene.status(&lock_named("x")).await;
            let told: Vec<_> = status.waiters.iter().map(|it| it.owner.label.as_str()).collect();
            told == ["first", "", &longest]
        })
        .await;
}

pub async fn everything_in_use_is_listed(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let held = scene.take(&one, &labelled("held", "holder")).await;
    let waiting = scene.queue(&other, &labelled("held", "waiter").shared()).await;
    let leader = scene.lead(&one, "held", "leader").await;
    let _slot = scene.take(&one, &slot("a/b", 2)).await;
    let listed = scene.ok("all are listed", other.engine().list()).await;
    let mut listed: Vec<Status> =
        listed.into_iter().collect::<Result<_, Error>>().expect("all can be read");
    listed.sort_by(|a, b| a.resource.cmp(&b.resource));
    let names: Vec<&Resource> = listed.iter().map(|it| &it.resource).collect();
    let [semaphore, lock, election] =
        [lock_named("a/b"), lock_named("held"), election_named("held")];
    assert_eq!(names, [&semaphore, &lock, &election]);
    let labels = |status: &Status| {
        let holders = status.holders.iter().map(|it| it.owner.label.clone());
        let waiters = status.waiters.iter().map(|it| it.owner.label.clone());
        (holders.collect::<Vec<_>>(), waiters.collect::<Vec<_>>())
    };
    assert_eq!(labels(&listed[1]), (vec!["holder".to_owned()], vec!["waiter".to_owned()]));
    assert!(listed[1].is_current(held.fence()));
    assert!(listed[2].is_current(leader.fence()));
    assert_eq!(listed[2].value.as_ref().map(|it| &it.bytes[..]), Some(&b"leader"[..]));
    drop(waiting);
}

/// Things that change the status, one after the other.
const CHANGES: usize = 4;

async fn change(scene: &Scene, number: usize, guard: &mut Option<Guard>) {
    let client = scene.client();
    match number {
        0 => *guard = Some(scene.take(&client, &lock("x")).await),
        1 => scene.record(guard.as_ref().expect("it is held"), b"value").await,
        2 => {
            let waiting = scene.queue(&client, &lock("x")).await;
            scene.cancel(waiting).await;
        }
        _ => scene.release(guard.take().expect("it is held")).await,
    }
}

pub async fn a_change_makes_a_new_version(scene: &Scene) {
    let mut guard = None;
    let mut last = scene.status(&lock_named("x")).await.version;
    // All but the last: an engine need not see somebody go.
    for number in 0..CHANGES - 1 {
        change(scene, number, &mut guard).await;
        let version = scene.status(&lock_named("x")).await.version;
        assert!(version > last, "{version} comes after {last}, by change {number}");
        last = version;
    }
}

pub async fn a_change_is_noticed(scene: &Scene) {
    let mut guard = None;
    for number in 0..CHANGES {
        let (client, resource) = (scene.client(), lock_named("x"));
        let version = scene.status(&resource).await.version;
        let noticed =
            tokio::spawn(async move { client.engine().changed(&resource, version).await });
        scene.stay_quiet().await;
        change(scene, number, &mut guard).await;
        let what = format!("change {number} is noticed");
        scene.ok(&what, async { noticed.await.unwrap() }).await;
    }
}

pub async fn a_change_that_came_before_is_noticed_at_once(scene: &Scene) {
    let mut guard = None;
    let resource = lock_named("x");
    // All but the last: an engine need not see somebody go.
    for number in 0..CHANGES - 1 {
        let version = scene.status(&resource).await.version;
        change(scene, number, &mut guard).await;
        let changed = scene.onlooker().engine().changed(&resource, version);
        scene.ok(&format!("change {number} is noticed later"), changed).await;
    }
}

pub async fn nothing_is_noticed_over_and_over_while_nothing_changes(scene: &Scene) {
    // An engine that cannot be woken may look every now and then.
    const TIMES_MAX: u32 = 50;
    const STEP: Duration = Duration::from_millis(10);
    let _guard = scene.take(&scene.client(), &lock("x")).await;
    scene.stay_quiet().await;
    let noticed = Cell::new(0);
    let look = async {
        loop {
            let resource = lock_named("x");
            let version = scene.status(&resource).await.version;
            scene
                .onlooker()
                .engine()
                .changed(&resource, version)
                .await
                .expect("it can be waited for");
            noticed.set(noticed.get() + 1);
            assert!(noticed.get() <= TIMES_MAX, "a change is seen over and over");
            // One that spins must not keep the clock from going on.
            tokio::task::yield_now().await;
        }
    };
    let time = async {
        for _ in 0..TIMES_MAX {
            scene.world.pass(STEP).await;
        }
    };
    tokio::select! {
        () = time => {}
        () = look => {}
    }
}
