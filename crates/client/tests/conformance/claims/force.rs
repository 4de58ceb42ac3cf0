//! Taking away by force.

use conclave_client::{Error, Fence, Guard, Loss, Target};

use crate::other_process::OtherProcess;
use crate::scene::{Scene, labelled, lock, lock_named};

/// The fences of those that were taken away, in order.
fn fences(evicted: &conclave_client::Evicted) -> Vec<Fence> {
    let mut fences: Vec<Fence> = evicted.holders.iter().map(|it| it.fence).collect();
    fences.sort();
    fences
}

fn this_process() -> Target {
    Target::Process { pid: std::process::id(), host: None }
}

async fn readers(scene: &Scene) -> [Guard; 3] {
    let (one, other) = (scene.client(), scene.client());
    let request = |label| labelled("x", label).shared();
    [
        scene.take(&one, &request("first")).await,
        scene.take(&other, &request("second")).await,
        scene.take(&one, &request("third")).await,
    ]
}

pub async fn force_takes_it_from_all_who_hold(scene: &Scene) {
    let held = readers(scene).await;
    let writer = scene.queue(&scene.client(), &lock("x")).await;
    let evicted = scene.force(&lock_named("x"), &Target::Holders).await;
    assert_eq!(fences(&evicted), held.each_ref().map(Guard::fence));
    let labels: Vec<_> = evicted.holders.iter().map(|it| it.owner.label.as_str()).collect();
    assert_eq!(labels, ["first", "second", "third"]);
    assert_eq!(evicted.waiters, [], "who waits is not meant");
    for guard in &held {
        assert_eq!(scene.soon("each is told", guard.lost()).await, Loss::Forced);
    }
    let writer = scene.granted(writer).await;
    assert!(scene.is_current(&lock_named("x"), writer.fence()).await);
    scene.stay_quiet().await;
    assert!(!writer.is_lost(), "who came later is not meant");
}

pub async fn force_by_fence_takes_it_from_that_one_alone(scene: &Scene) {
    let [first, second, third] = readers(scene).await;
    let evicted = scene.force(&lock_named("x"), &Target::Fence(second.fence())).await;
    assert_eq!(fences(&evicted), [second.fence()]);
    assert_eq!(evicted.holders[0].owner.label, "second");
    assert_eq!(scene.soon("that one is told", second.lost()).await, Loss::Forced);
    scene.stay_quiet().await;
    assert!(!first.is_lost() && !third.is_lost());
    let status = scene.status(&lock_named("x")).await;
    assert!(status.is_current(first.fence()) && status.is_current(third.fence()), "{status:?}");
    assert!(!status.is_current(second.fence()), "{status:?}");
    scene.release(first).await;
    scene.release(third).await;
}

pub async fn force_by_process_turns_its_waiters_away(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let holder = scene.take(&one, &labelled("x", "holder")).await;
    let first = scene.queue(&other, &labelled("x", "first")).await;
    let second = scene.queue(&one, &labelled("x", "second").shared()).await;
    // Neither of them is meant.
    let pid = std::process::id();
    for target in [
        Target::Process { pid, host: Some("elsewhere.example".to_owned()) },
        Target::Process { pid: pid + 1, host: None },
    ] {
        let evicted = scene.force(&lock_named("x"), &target).await;
        assert!(evicted.is_empty(), "{target:?} means nobody: {evicted:?}");
    }
    scene.assert_waits(&first).await;
    let host = scene.status(&lock_named("x")).await.holders[0].owner.host.clone();
    let target = Target::Process { pid, host: Some(host) };
    let evicted = scene.force(&lock_named("x"), &target).await;
    assert_eq!(fences(&evicted), [holder.fence()]);
    let labels: Vec<_> = evicted.waiters.iter().map(|it| it.owner.label.as_str()).collect();
    assert_eq!(labels, ["first", "second"]);
    assert_eq!(scene.soon("the holder is told", holder.lost()).await, Loss::Forced);
    for waiting in [first, second] {
        let error = scene.turned_away(waiting).await;
        assert!(matches!(error, Error::Evicted { .. }), "{error}");
    }
    let next = scene.take(&other, &lock("x")).await;
    assert!(next.fence() > holder.fence(), "nobody is in the way");
}

pub async fn force_by_process_leaves_other_processes_alone(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let holder = scene.take(&one, &lock("x")).await;
    let first = scene.queue(&other, &lock("x")).await;
    let mut stranger = OtherProcess::start(scene, "x", "stranger");
    scene.waiters(&lock_named("x"), 2, &[&first]).await;
    let last = scene.queue(&one, &lock("x")).await;
    let target = Target::Process { pid: stranger.pid(), host: None };
    let evicted = scene.force(&lock_named("x"), &target).await;
    assert_eq!((evicted.holders.len(), evicted.waiters.len()), (0, 1), "{evicted:?}");
    assert_eq!(evicted.waiters[0].owner.label, "stranger");
    let word = stranger.word(scene).await;
    assert!(word.starts_with("evicted"), "the other process says: {word}");
    assert!(!holder.is_lost());
    scene.release(holder).await;
    let first = scene.granted(first).await;
    scene.assert_waits(&last).await;
    // And the other way round: of all processes, only that one goes on.
    let mut stranger = OtherProcess::start(scene, "x", "stranger");
    scene.waiters(&lock_named("x"), 2, &[&last]).await;
    let evicted = scene.force(&lock_named("x"), &this_process()).await;
    assert_eq!((evicted.holders.len(), evicted.waiters.len()), (1, 1), "{evicted:?}");
    let error = scene.turned_away(last).await;
    assert!(matches!(error, Error::Evicted { .. }), "{error}");
    assert!(stranger.fence(scene).await > first.fence());
    stranger.let_go();
}

pub async fn force_against_nobody_does_nothing(scene: &Scene) {
    let never_used = scene.force(&lock_named("y"), &Target::Holders).await;
    assert!(never_used.is_empty(), "{never_used:?}");
    let guard = scene.take(&scene.client(), &lock("x")).await;
    let fence = guard.fence();
    for target in [Target::Fence(Fence(fence.0 + 1000)), Target::Fence(Fence(0))] {
        let evicted = scene.force(&lock_named("x"), &target).await;
        assert!(evicted.is_empty(), "{target:?}: {evicted:?}");
    }
    scene.stay_quiet().await;
    assert!(!guard.is_lost());
    scene.release(guard).await;
    for target in [Target::Holders, Target::Fence(fence), this_process()] {
        let evicted = scene.force(&lock_named("x"), &target).await;
        assert!(evicted.is_empty(), "{target:?}: {evicted:?}");
    }
}

pub async fn force_is_put_down(scene: &Scene) {
    assert_eq!(scene.world.audit(), Vec::<String>::new());
    let guard = scene.take(&scene.client(), &labelled("x", "victim")).await;
    scene.force(&lock_named("x"), &Target::Holders).await;
    let audit = scene.world.audit();
    let last = audit.last().expect("force leaves a line");
    for word in ["root", "lock x", "victim", &format!("fence {}", guard.fence())] {
        assert!(last.contains(word), "{word} is missing: {last}");
    }
}
