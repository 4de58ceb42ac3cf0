//! Several locks in one call: all or nothing, on both engines.

use std::time::Duration;

use conclave_client::{BootTime, Client, Error, Memory, Resource, blocking};

use super::{LONG, SHORT, World, lock};

/// A client of each engine, and one of somebody else on the same locks.
fn clients(world: &World) -> [(&'static str, Client, Client); 2] {
    let memory = Memory::new();
    let (ours, theirs) = (Client::new(memory.clone()), Client::new(memory));
    [("memory", ours, theirs), ("local", world.client.clone(), world.stranger())]
}

async fn is_idle(client: &Client, name: &str) -> bool {
    client.inspect(&lock(name)).await.unwrap().is_idle()
}

fn resource_of(error: &Error) -> &Resource {
    match error {
        Error::Busy { resource, .. } | Error::TimedOut { resource, .. } => resource,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn trying_several_takes_all_or_none() {
    let world = World::new();
    for (engine, ours, theirs) in clients(&world) {
        let all = ours.try_lock_all(["c", "a", "b"]).await.unwrap();
        assert_eq!(all.iter().count(), 3, "{engine}");
        assert!(theirs.try_lock("b").await.is_err(), "{engine}");
        drop(all);
        let taken = theirs.lock("b").await.unwrap();
        let refused = ours.try_lock_all(["a", "b", "c"]).await.unwrap_err();
        assert!(matches!(refused, Error::Busy { .. }), "{engine}: {refused}");
        assert_eq!(*resource_of(&refused), lock("b"), "{engine}");
        assert!(is_idle(&theirs, "a").await && is_idle(&theirs, "c").await, "{engine}");
        drop(taken);
    }
}

#[tokio::test]
async fn one_limit_holds_for_all_together() {
    let world = World::new();
    let (ours, theirs) = (&world.client, world.stranger());
    let (first, second) = (theirs.lock("a").await.unwrap(), theirs.lock("b").await.unwrap());
    let limit = Duration::from_millis(1000);
    let start = BootTime::now();
    let late = async {
        tokio::time::sleep(limit / 2).await;
        drop(first);
    };
    let (refused, ()) = tokio::join!(ours.lock_all_timeout(["a", "b"], limit), late);
    let refused = refused.unwrap_err();
    assert!(
        matches!(&refused, Error::TimedOut { waited, .. } if *waited == limit),
        "the time that all had: {refused}"
    );
    assert_eq!(*resource_of(&refused), lock("b"));
    let waited = BootTime::now().since(start);
    assert!(waited < limit + limit / 2, "{waited:?}");
    assert!(is_idle(&theirs, "a").await);
    drop(second);
    assert_eq!(ours.lock_all_timeout(["a", "b"], LONG).await.unwrap().iter().count(), 2);
}

#[tokio::test]
async fn what_was_taken_is_let_go_when_the_clock_of_the_test_has_moved_on() {
    let memory = Memory::new();
    let (ours, theirs) = (Client::new(memory.clone()), Client::new(memory.clone()));
    let _taken = theirs.lock("b").await.unwrap();
    let minute = Duration::from_secs(60);
    let (refused, ()) = tokio::join!(ours.lock_all_timeout(["a", "b"], minute), async {
        assert!(!is_idle(&theirs, "a").await);
        memory.advance(minute);
    });
    assert!(matches!(refused.unwrap_err(), Error::TimedOut { waited, .. } if waited == minute));
    assert!(is_idle(&theirs, "a").await);
}

#[test]
fn the_blocking_front_lets_go_of_several_without_async() {
    let world = World::new();
    let local = blocking::Client::shared(std::sync::Arc::clone(world.client.engine()));
    for client in [blocking::Client::new(Memory::new()), local] {
        let all: blocking::Guards = client.lock_all(["a", "b"]).unwrap();
        assert!(client.try_lock_all(["b", "c"]).unwrap_err().is_not_acquired());
        assert!(client.try_lock("c").is_ok(), "nothing was taken");
        assert!(!all.is_lost());
        all.release().unwrap();
        let all = client.lock_all_timeout(["a", "b"], SHORT).unwrap();
        assert_eq!(all.iter().count(), 2);
        drop(all);
        assert!(client.try_lock_all(["a", "b"]).is_ok());
    }
}
