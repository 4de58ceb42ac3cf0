//! What a holder keeps with its lock.

use conclave_client::{Error, Target, VALUE_MAX, Value};

use crate::scene::{Scene, lock, lock_named};

async fn value(scene: &Scene) -> Option<Value> {
    scene.status(&lock_named("x")).await.value
}

async fn bytes(scene: &Scene) -> Option<Vec<u8>> {
    value(scene).await.map(|it| it.bytes)
}

pub async fn a_value_is_kept_for_the_next_holder(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    assert_eq!(value(scene).await, None);
    let guard = scene.take(&one, &lock("x")).await;
    for text in ["first", "second"] {
        scene.record(&guard, text.as_bytes()).await;
        assert_eq!(
            bytes(scene).await.as_deref(),
            Some(text.as_bytes()),
            "as soon as it is written"
        );
    }
    scene.release(guard).await;
    let _guard = scene.take(&other, &lock("x")).await;
    assert_eq!(bytes(scene).await.as_deref(), Some(&b"second"[..]));
}

pub async fn a_value_has_the_fence_of_its_writer(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let writer = scene.take(&one, &lock("x").shared()).await;
    let fence = writer.fence();
    scene.record(&writer, b"mine").await;
    let beside = scene.take(&other, &lock("x").shared()).await;
    assert_eq!(value(scene).await.map(|it| it.fence), Some(fence));
    scene.release(writer).await;
    scene.release(beside).await;
    let next = scene.take(&other, &lock("x")).await;
    assert_eq!(value(scene).await.map(|it| it.fence), Some(fence), "not that of the next holder");
    scene.record(&next, b"theirs").await;
    assert_eq!(value(scene).await.map(|it| it.fence), Some(next.fence()));
}

pub async fn any_bytes_are_a_value(scene: &Scene) {
    let guard = scene.take(&scene.client(), &lock("x")).await;
    let every_byte: Vec<u8> = (0..=u8::MAX).collect();
    let longest = every_byte.repeat(VALUE_MAX / every_byte.len());
    assert_eq!(longest.len(), VALUE_MAX);
    for it in [&b"\0"[..], b" \n", b"", &every_byte, &longest] {
        scene.record(&guard, it).await;
        assert_eq!(bytes(scene).await.as_deref(), Some(it));
    }
    let too_long = vec![b'!'; VALUE_MAX + 1];
    let error = scene.refused("too long a value", guard.record(&too_long)).await;
    assert!(matches!(error, Error::ValueTooLong(length) if length == VALUE_MAX + 1), "{error}");
    assert_eq!(bytes(scene).await, Some(longest), "nothing changed");
}

pub async fn a_value_survives_a_restart_of_the_store(scene: &Scene) {
    let client = scene.client();
    let guard = scene.take(&client, &lock("x")).await;
    scene.record(&guard, b"kept").await;
    scene.release(guard).await;
    let before = value(scene).await;
    scene.world.restart_store().await;
    assert_eq!(value(scene).await, before);
    assert_eq!(bytes(scene).await.as_deref(), Some(&b"kept"[..]));
}

pub async fn a_lost_holder_changes_no_value(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let lost = scene.take(&one, &lock("x")).await;
    scene.record(&lost, b"in time").await;
    scene.force(&lock_named("x"), &Target::Holders).await;
    // Nobody else has it yet; and then somebody has.
    let error = scene.refused("a value of a lost holder", lost.record(b"late")).await;
    assert!(matches!(error, Error::Lost { .. }), "{error}");
    assert_eq!(bytes(scene).await.as_deref(), Some(&b"in time"[..]));
    let next = scene.take(&other, &lock("x")).await;
    scene.record(&next, b"next").await;
    let error = scene.refused("a value of a lost holder", lost.record(b"later")).await;
    assert!(matches!(error, Error::Lost { .. }), "{error}");
    let kept = value(scene).await;
    assert_eq!(kept, Some(Value { fence: next.fence(), bytes: b"next".to_vec() }));
}
