//! Any text is a name, and two names never meet.

use std::collections::BTreeSet;

use conclave_client::{Error, NAME_MAX};

use crate::scene::{Scene, election_named, lock, lock_named};

pub async fn any_text_is_a_name_and_no_two_meet(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let longest = "n".repeat(NAME_MAX);
    let names = [
        "a",
        "A",
        "a/b",
        "a/",
        "/a",
        "/",
        "//",
        "a/b/c",
        "..",
        "../a",
        ".",
        "a%2Fb",
        "a%b",
        "%",
        "%00",
        "a b",
        " a",
        "a ",
        "Grüße",
        "Gru\u{308}ße",
        "日本語",
        "a\0b",
        "\0",
        "a\n",
        "\u{7f}",
        "a:b",
        "a,b",
        "a?b#c",
        "a\\b",
        "*",
        "'\";--",
        &longest,
        &longest[1..],
    ];
    let mut guards = Vec::new();
    for name in names {
        assert!(scene.status(&lock_named(name)).await.is_idle(), "{name:?} was not used yet");
        let guard = scene.ok(&format!("{name:?} is free"), one.try_lock(name)).await;
        scene.assert_busy(&other, &lock(name)).await;
        scene.record(&guard, name.as_bytes()).await;
        guards.push((name, guard));
    }
    let listed = scene.ok("all are listed", other.engine().list()).await;
    let listed = listed.into_iter().collect::<Result<Vec<_>, Error>>().expect("all can be read");
    assert_eq!(listed.len(), names.len());
    let told: BTreeSet<&str> = listed.iter().map(|it| it.resource.name.as_str()).collect();
    assert_eq!(told, BTreeSet::from(names));
    for (name, guard) in guards {
        let status = scene.status(&lock_named(name)).await;
        assert_eq!(status.holders.len(), 1, "{name:?}");
        assert!(status.is_current(guard.fence()), "{name:?}");
        assert_eq!(status.value.map(|it| it.bytes), Some(name.into()), "{name:?}");
        scene.release(guard).await;
        assert!(scene.status(&lock_named(name)).await.is_idle(), "{name:?}");
    }
}

pub async fn a_lock_and_an_election_of_one_name_do_not_meet(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let guard = scene.take(&one, &lock("x")).await;
    let leader = scene.lead(&other, "x", "leader").await;
    scene.record(&guard, b"lock").await;
    let lock = scene.status(&lock_named("x")).await;
    let election = scene.status(&election_named("x")).await;
    assert_eq!(lock.value.map(|it| it.bytes), Some(b"lock".to_vec()));
    assert_eq!(election.value.map(|it| it.bytes), Some(b"leader".to_vec()));
    assert_eq!((lock.holders.len(), election.holders.len()), (1, 1));
    scene.resign(leader).await;
    assert!(!guard.is_lost());
    scene.assert_busy(&other, &crate::scene::lock("x")).await;
    assert!(scene.status(&election_named("x")).await.is_idle());
}
