//! What the observers of an election see.

use conclave_client::{Fence, Observer, Office};

use crate::scene::{Scene, election_named};

async fn next(scene: &Scene, observer: &mut Observer) -> Office {
    scene.ok("an observer sees something new", observer.next()).await
}

/// The next thing that is seen must be that leader, with that value.
async fn sees(scene: &Scene, observer: &mut Observer, leader: Fence, says: &str) {
    match next(scene, observer).await {
        Office::Elected { fence, value, owner } => {
            assert_eq!((fence, &value[..]), (leader, says.as_bytes()));
            assert_eq!(owner.pid, std::process::id());
        }
        other => panic!("{says} leads, and this is seen: {other:?}"),
    }
}

pub async fn an_observer_sees_who_leads(scene: &Scene) {
    let client = scene.client();
    let mut early = client.observe("e").unwrap();
    assert_eq!(next(scene, &mut early).await, Office::Vacant);
    let leader = scene.lead(&client, "e", "one").await;
    sees(scene, &mut early, leader.fence(), "one").await;
    let mut late = scene.client().observe("e").unwrap();
    sees(scene, &mut late, leader.fence(), "one").await;
}

pub async fn an_observer_sees_every_new_value(scene: &Scene) {
    let leader = scene.lead(&scene.client(), "e", "one").await;
    let mut observer = scene.client().observe("e").unwrap();
    sees(scene, &mut observer, leader.fence(), "one").await;
    for value in ["two", "", "three"] {
        scene.ok("the leader proclaims", leader.proclaim(value.as_bytes())).await;
        sees(scene, &mut observer, leader.fence(), value).await;
    }
}

pub async fn an_observer_sees_who_resigns(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let mut observer = scene.client().observe("e").unwrap();
    assert_eq!(next(scene, &mut observer).await, Office::Vacant);
    let leader = scene.lead(&one, "e", "one").await;
    let fence = leader.fence();
    sees(scene, &mut observer, fence, "one").await;
    let after = scene.campaign(&other, "e", "two");
    scene.waiters(&election_named("e"), 1, &[&after]).await;
    scene.resign(leader).await;
    assert_eq!(next(scene, &mut observer).await, Office::Resigned { fence });
    let leader = scene.granted(after).await;
    assert!(leader.fence() > fence);
    sees(scene, &mut observer, leader.fence(), "two").await;
}

pub async fn a_leader_that_just_goes_is_not_seen_to_resign(scene: &Scene) {
    let (one, other) = (scene.client(), scene.client());
    let mut observer = scene.client().observe("e").unwrap();
    assert_eq!(next(scene, &mut observer).await, Office::Vacant);
    let leader = scene.lead(&one, "e", "one").await;
    sees(scene, &mut observer, leader.fence(), "one").await;
    drop(leader);
    assert_eq!(next(scene, &mut observer).await, Office::Vacant);
    let leader = scene.lead(&other, "e", "two").await;
    sees(scene, &mut observer, leader.fence(), "two").await;
    assert_eq!(scene.status(&election_named("e")).await.resigned, None);
}

pub async fn an_observer_never_sees_a_smaller_fence(scene: &Scene) {
    const TERMS: u32 = 12;
    let clients = [scene.client(), scene.client()];
    let mut observer = scene.client().observe("e").unwrap();
    let watching = tokio::spawn(async move {
        let mut fences = vec![Fence(0)];
        loop {
            if let Office::Elected { fence, value, .. } = observer.next().await.unwrap() {
                fences.push(fence);
                if value == b"last" {
                    return fences;
                }
            }
        }
    });
    let mut leader = scene.lead(&clients[0], "e", "term").await;
    for term in 1..=TERMS {
        let value = if term == TERMS { "last" } else { "term" };
        let after = scene.campaign(&clients[term as usize % 2], "e", value);
        scene.waiters(&election_named("e"), 1, &[&after]).await;
        scene.ok("the leader proclaims", leader.proclaim(b"more")).await;
        if term % 2 == 0 {
            scene.resign(leader).await;
        } else {
            drop(leader);
        }
        leader = scene.granted(after).await;
    }
    let fences = scene.soon("the observer sees the last leader", watching).await.unwrap();
    assert!(fences.is_sorted(), "{fences:?}");
    assert_eq!(fences.last(), Some(&leader.fence()));
}
