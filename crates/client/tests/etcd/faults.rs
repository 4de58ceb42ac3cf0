//! Servers and connections that fail.

use std::time::Duration;

use conclave_client::{
    BootTime, Client, Error, Etcd, EtcdOptions, Guard, Loss, Office, PlantedBug, Standing,
};
use conclave_testkit::proxy::{Direction, Proxy};
use conclave_testkit::servers::{self, EtcdCluster};

use super::{client, keys, lock, options, soon, waiters};

const TTL: Duration = Duration::from_secs(3);

async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

#[tokio::test]
async fn the_death_of_the_leader_changes_neither_the_holder_nor_its_fence() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 3);
    let client = client(&cluster);
    let guard = soon(client.lock("x")).await.unwrap();
    let leader = cluster.leader();
    cluster.kill(leader);
    let before = guard.deadline().unwrap();
    sleep(TTL + Duration::from_secs(1)).await;
    assert_eq!(guard.standing(), Standing::Safe);
    assert!(guard.deadline().unwrap() > before.plus(Duration::from_secs(2)));
    let status = soon(client.inspect(&lock("x"))).await.unwrap();
    assert_eq!(status.holders[0].fence, guard.fence());
    soon(guard.release()).await.unwrap();
}

#[tokio::test]
async fn a_waiter_is_served_though_the_server_it_watches_dies() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 3);
    // The waiter talks to the first server; the holder to the others.
    let endpoints = cluster.endpoints();
    let (first, others) = endpoints.split_first().unwrap();
    let with = |endpoints: Vec<String>| {
        let mut options = EtcdOptions::new(endpoints);
        options.ttl = TTL;
        Client::new(Etcd::new(options).unwrap())
    };
    let holder = with(others.to_vec());
    let waiter = with([std::slice::from_ref(first), others].concat());
    let guard = soon(holder.lock("x")).await.unwrap();
    let waiting = tokio::spawn(async move { waiter.lock("x").await.unwrap().fence() });
    waiters(&holder, "x", 1).await;
    cluster.kill(0);
    sleep(Duration::from_secs(1)).await;
    let fence = guard.fence();
    soon(guard.release()).await.unwrap();
    assert!(soon(waiting).await.unwrap() > fence);
}

/// Nothing is asked and nothing renewed, so only the connection itself can tell.
#[tokio::test]
async fn who_only_watches_notices_that_its_server_fell_silent() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let direct = cluster.endpoints().remove(0);
    let proxy = Proxy::to(&direct[..]);
    let options = EtcdOptions::new([proxy.address().to_string(), direct]);
    let observer = Client::new(Etcd::new(options).unwrap());
    let mut offices = observer.observe("x").unwrap();
    assert_eq!(soon(offices.next()).await.unwrap(), Office::Vacant);
    let next = tokio::spawn(async move { offices.next().await });
    // The watch stands by then.
    sleep(Duration::from_millis(500)).await;
    proxy.freeze(Direction::Both);
    let leader = soon(client(&cluster).campaign("x", "me")).await.unwrap();
    let seen = soon(next).await.unwrap().unwrap();
    assert!(matches!(seen, Office::Elected { fence, .. } if fence == leader.fence()), "{seen:?}");
}

#[tokio::test]
async fn a_server_that_is_stopped_is_left_for_another() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 3);
    let follower = (0..3).find(|it| *it != cluster.leader()).unwrap();
    let mut endpoints = cluster.endpoints();
    endpoints.swap(0, follower);
    let mut options = EtcdOptions::new(endpoints);
    options.ttl = TTL;
    let client = Client::new(Etcd::new(options).unwrap());
    let guard = soon(client.lock("x")).await.unwrap();
    cluster.pause(follower);
    sleep(2 * TTL).await;
    assert_eq!(guard.standing(), Standing::Safe);
    cluster.resume(follower);
    soon(guard.release()).await.unwrap();
}

/// Waits until the guard says that it is lost, and returns the moment.
async fn moment_of_loss(guard: &Guard) -> BootTime {
    soon(async {
        while guard.standing() != Standing::Lost {
            sleep(Duration::from_millis(5)).await;
        }
        BootTime::now()
    })
    .await
}

#[tokio::test]
async fn with_all_servers_down_the_lock_is_in_jeopardy_and_then_lost_at_its_deadline() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let client = client(&cluster);
    let guard = soon(client.lock("x")).await.unwrap();
    cluster.kill_all();
    let killed = BootTime::now();
    soon(async {
        while guard.standing() == Standing::Safe {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(guard.standing(), Standing::Jeopardy);
    let lost = moment_of_loss(&guard).await;
    assert!(lost <= killed.plus(TTL), "not after the last answer's time to live");
    assert_eq!(soon(guard.lost()).await, Loss::Expired);
    assert!(matches!(soon(guard.release()).await, Err(Error::Lost { loss: Loss::Expired, .. })));
    cluster.restart_all();
    cluster.wait_healthy();
    let again = soon(client.lock("x")).await.unwrap();
    soon(again.release()).await.unwrap();
}

/// Whether a holder knew of its loss before the next one held. Its server's answers come late, and
/// then not at all.
async fn knows_of_its_loss_before_the_next_one_holds(bug: Option<PlantedBug>) -> bool {
    let Some(binaries) = servers::required() else { return bug.is_none() };
    let cluster = EtcdCluster::start(&binaries, 1);
    let proxy = Proxy::to(&cluster.endpoints()[0][..]);
    let mut slow = EtcdOptions::new([proxy.address().to_string()]);
    slow.ttl = Duration::from_secs(12);
    slow.planted = bug;
    let slow = Client::new(Etcd::new(slow).unwrap());
    // The connection is there before anything is slow.
    soon(slow.inspect(&lock("x"))).await.unwrap();
    proxy.delay(Direction::ToClient, Duration::from_millis(1800));
    let guard = soon(slow.lock("x")).await.unwrap();
    proxy.cut();
    let next = client(&cluster);
    let waiting = tokio::spawn(async move {
        let guard = next.lock("x").await.unwrap();
        (BootTime::now(), guard)
    });
    let lost = moment_of_loss(&guard).await;
    let (held, _guard) = soon(waiting).await.unwrap();
    lost < held
}

#[tokio::test]
async fn a_deadline_counts_from_the_sending() {
    assert!(knows_of_its_loss_before_the_next_one_holds(None).await);
}

#[tokio::test]
async fn a_deadline_that_counts_from_the_answer_is_caught() {
    let bug = Some(PlantedBug::DeadlineFromAnswer);
    assert!(!knows_of_its_loss_before_the_next_one_holds(bug).await);
}

/// Whether the deadline stands still while the leader, cut off from all others, still answers
/// keep-alives from its memory.
async fn stands_still_without_a_majority(bug: Option<PlantedBug>) -> bool {
    let Some(binaries) = servers::required() else { return bug.is_none() };
    let patient = EtcdCluster::options()
        .heartbeat(Duration::from_millis(500))
        .election(Duration::from_secs(5));
    let cluster = patient.start(&binaries, 3);
    let leader = cluster.leader();
    let mut options = EtcdOptions::new([cluster.endpoints()[leader].clone()]);
    options.ttl = Duration::from_secs(10);
    options.planted = bug;
    let client = Client::new(Etcd::new(options).unwrap());
    let guard = soon(client.lock("x")).await.unwrap();
    for member in (0..3).filter(|it| *it != leader) {
        cluster.pause(member);
    }
    let cut = BootTime::now();
    sleep(Duration::from_secs(4)).await;
    guard.deadline().unwrap() <= cut.plus(Duration::from_secs(10))
}

#[tokio::test]
async fn an_answer_without_a_majority_behind_it_moves_no_deadline() {
    assert!(stands_still_without_a_majority(None).await);
}

#[tokio::test]
async fn an_unconfirmed_answer_that_moves_the_deadline_is_caught() {
    assert!(!stands_still_without_a_majority(Some(PlantedBug::Unconfirmed)).await);
}

#[tokio::test]
async fn a_revoked_lease_is_a_loss_and_those_who_waited_go_on() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let (ours, theirs) = (client(&cluster), client(&cluster));
    let guard = soon(ours.lock("x")).await.unwrap();
    let other = soon(theirs.lock("y")).await.unwrap();
    let waiting = tokio::spawn({
        let ours = ours.clone();
        async move { ours.lock("y").await }
    });
    waiters(&theirs, "y", 1).await;
    let listed = cluster.etcdctl(["lease", "list"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let key = cluster.etcdctl(["get", "x/", "--prefix", "--keys-only"]).output().unwrap();
    let key = String::from_utf8(key.stdout).unwrap();
    let lease = key.trim().trim_start_matches("x/").split('-').next().unwrap();
    assert!(listed.contains(lease), "{listed} {key}");
    assert!(cluster.etcdctl(["lease", "revoke", lease]).output().unwrap().status.success());
    let loss = soon(guard.lost()).await;
    assert!(matches!(loss, Loss::Forced | Loss::Expired), "{loss:?}");
    drop(other);
    drop(soon(waiting).await.unwrap().unwrap());
    drop(soon(ours.lock("x")).await.unwrap());
}

#[tokio::test]
async fn a_compaction_is_nothing_to_those_who_wait() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let (holder, waiter) = (client(&cluster), client(&cluster));
    let guard = soon(holder.lock("x")).await.unwrap();
    let waiting = tokio::spawn(async move { waiter.lock("x").await.unwrap().fence() });
    waiters(&holder, "x", 1).await;
    for number in 0..50 {
        assert!(
            cluster
                .etcdctl(["put", "other", &number.to_string()])
                .output()
                .unwrap()
                .status
                .success()
        );
    }
    let revision = soon(holder.inspect(&lock("x"))).await.unwrap().version;
    let compacted = cluster.etcdctl(["compact", &revision.to_string(), "--physical"]).output();
    assert!(compacted.unwrap().status.success());
    let fence = guard.fence();
    soon(guard.release()).await.unwrap();
    assert!(soon(waiting).await.unwrap() > fence);
}

#[tokio::test]
async fn a_restart_of_the_only_server_is_survived_by_holder_and_waiter() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let mut patient = options(&cluster);
    patient.ttl = Duration::from_secs(10);
    let (holder, waiter) = (
        Client::new(Etcd::new(patient.clone()).unwrap()),
        Client::new(Etcd::new(patient).unwrap()),
    );
    let guard = soon(holder.lock("x")).await.unwrap();
    let waiting = tokio::spawn(async move { waiter.lock("x").await.unwrap().fence() });
    waiters(&holder, "x", 1).await;
    cluster.kill(0);
    sleep(Duration::from_millis(500)).await;
    cluster.restart(0);
    cluster.wait_healthy();
    sleep(Duration::from_secs(3)).await;
    assert_eq!(guard.standing(), Standing::Safe);
    let fence = guard.fence();
    soon(guard.release()).await.unwrap();
    assert!(soon(waiting).await.unwrap() > fence);
}

#[tokio::test]
async fn what_is_dropped_while_no_server_answers_is_let_go_when_one_does() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let mut patient = options(&cluster);
    patient.ttl = Duration::from_secs(10);
    let holder = Client::new(Etcd::new(patient).unwrap());
    let dropped = soon(holder.lock("x")).await.unwrap();
    // So that the session goes on.
    let kept = soon(holder.lock("y")).await.unwrap();
    cluster.kill(0);
    drop(dropped);
    sleep(Duration::from_secs(1)).await;
    cluster.restart(0);
    cluster.wait_healthy();
    let other = client(&cluster);
    drop(soon(other.lock("x")).await.unwrap());
    assert_eq!(kept.standing(), Standing::Safe, "it was not the end of the session that freed it");
    soon(kept.release()).await.unwrap();
}

#[tokio::test]
async fn a_request_that_comes_late_does_not_bring_back_what_was_let_go() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let direct = cluster.endpoints().remove(0);
    let proxy = Proxy::to(&direct[..]);
    let mut options = EtcdOptions::new([proxy.address().to_string(), direct]);
    options.ttl = TTL;
    let client = Client::new(Etcd::new(options).unwrap());
    // Connected, and with a session.
    soon(soon(client.lock("warm")).await.unwrap().release()).await.unwrap();
    proxy.freeze(Direction::ToServer);
    let guard = soon(client.lock("x")).await.unwrap();
    soon(guard.release()).await.unwrap();
    // What was sent first arrives only now.
    proxy.thaw(Direction::ToServer);
    sleep(Duration::from_millis(500)).await;
    assert_eq!(keys(&cluster, "x/"), Vec::<String>::new());
    let marks = keys(&cluster, "/conclave/gone/");
    assert!(marks[0].starts_with("/conclave/gone/x/"), "it was sent twice: {marks:?}");
    // What may come a third time must not meet somebody else under the same key.
    let guard = soon(client.lock("x")).await.unwrap();
    let next = keys(&cluster, "x/");
    assert!(!marks[0].ends_with(&next[0]), "{marks:?} {next:?}");
    soon(guard.release()).await.unwrap();
}
