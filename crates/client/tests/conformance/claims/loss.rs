//! A holder that is one no longer learns of it.

use std::time::Duration;

use conclave_client::{Client, Error, Guard, Loss, Standing, Target};

use crate::scene::{Scene, election_named, lock, lock_named};

pub async fn one_who_is_forced_away_is_told(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let guard = scene.take(&one, &lock("x")).await;
    assert!(!guard.is_lost() && guard.standing() == Standing::Safe);
    scene.force(&lock_named("x"), &Target::Holders).await;
    is_told(scene, guard, &Loss::Forced, &other).await;
}

pub async fn one_whose_session_expires_is_told(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let guard = scene.take(&one, &lock("x")).await;
    scene.world.expire(&lock_named("x")).await;
    is_told(scene, guard, &Loss::Expired, &other).await;
}

/// In every way in which one can be told.
async fn is_told(scene: &Scene, guard: Guard, why: &Loss, other: &Client) {
    let watch = guard.loss_watch();
    assert_eq!(scene.soon("the holder is told of its loss", guard.lost()).await, *why);
    assert_eq!(scene.soon("a watch is told of the loss", watch.lost()).await, *why);
    assert!(guard.is_lost() && watch.is_lost());
    assert_eq!((guard.loss().as_ref(), guard.standing()), (Some(why), Standing::Lost));
    let fence = guard.fence();
    assert!(!scene.is_current(&lock_named("x"), fence).await, "its fence is no longer current");
    let next = scene.take(other, &lock("x")).await;
    assert!(next.fence() > fence);
    let error = scene.refused("a value of one who lost its lock", guard.record(b"late")).await;
    assert!(matches!(&error, Error::Lost { loss, .. } if loss == why), "{error}");
    let error = scene.refused("the release of a lost lock", guard.release()).await;
    assert!(matches!(&error, Error::Lost { loss, .. } if loss == why), "{error}");
    assert!(scene.is_current(&lock_named("x"), next.fence()).await);
}

pub async fn to_release_what_was_lost_is_an_error(scene: &Scene) {
    let client = scene.client();
    // At once: before the holder can have heard of it in any other way.
    let guard = scene.take(&client, &lock("x")).await;
    scene.force(&lock_named("x"), &Target::Holders).await;
    let error = scene.refused("the release of a lost lock", guard.release()).await;
    assert!(matches!(error, Error::Lost { loss: Loss::Forced, .. }), "{error}");
    let leader = scene.lead(&client, "e", "").await;
    scene.force(&election_named("e"), &Target::Holders).await;
    let error = scene.refused("to resign a lost office", leader.resign()).await;
    assert!(matches!(error, Error::Lost { loss: Loss::Forced, .. }), "{error}");
    let status = scene.status(&election_named("e")).await;
    assert_eq!(status.resigned, None, "who lost its office did not resign");
}

pub async fn a_lost_guard_takes_nothing_from_the_next_holder(scene: &Scene) {
    let client = scene.client();
    let lost = scene.take(&client, &lock("x")).await;
    scene.force(&lock_named("x"), &Target::Holders).await;
    // Of the same client, which may confuse the two.
    let next = scene.take(&client, &lock("x")).await;
    drop(lost);
    scene.stay_quiet().await;
    assert!(!next.is_lost());
    scene.assert_busy(&scene.client(), &lock("x")).await;
    scene.release(next).await;
}

pub async fn a_deadline_moves_on_while_the_lock_is_held(scene: &Scene) {
    let guard = scene.take(&scene.client(), &lock("x")).await;
    // Without sessions there is none, and nothing to show.
    let Some(first) = guard.deadline() else { return };
    assert!(!first.is_past(), "it is in the future");
    while !first.is_past() {
        assert!(!guard.is_lost(), "it is held all the while");
        scene.world.pass(Duration::from_millis(50)).await;
    }
    scene.stay_quiet().await;
    assert!(!guard.is_lost(), "it is held for longer than its first deadline");
    assert!(guard.deadline().is_some_and(|it| it > first && !it.is_past()));
    assert_eq!(guard.standing(), Standing::Safe);
    scene.release(guard).await;
}
