//! The engine etcd, against real servers.

mod faults;
mod interop;
mod opening;

use std::sync::Arc;
use std::time::Duration;

use conclave_client::{Client, Etcd, EtcdOptions, Name, Resource, Standing};
use conclave_testkit::servers::{self, EtcdCluster};

/// Long enough for anything that is going to happen.
const LONG: Duration = Duration::from_secs(60);

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, what).await.expect("it should have happened by now")
}

fn options(cluster: &EtcdCluster) -> EtcdOptions {
    let mut options = EtcdOptions::new(cluster.endpoints());
    options.ttl = Duration::from_secs(3);
    options
}

fn client(cluster: &EtcdCluster) -> Client {
    Client::new(Etcd::new(options(cluster)).unwrap())
}

/// What is in the store and begins so.
fn keys(cluster: &EtcdCluster, prefix: &str) -> Vec<String> {
    let keys = cluster.etcdctl(["get", prefix, "--prefix", "--keys-only"]).output().unwrap();
    let keys = String::from_utf8(keys.stdout).unwrap();
    keys.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn lock(name: &str) -> Resource {
    Resource::lock(Name::new(name).unwrap())
}

/// Waits until so many wait for that lock.
async fn waiters(client: &Client, name: &str, count: usize) {
    soon(async {
        while client.inspect(&lock(name)).await.unwrap().waiters.len() != count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_lock_is_taken_and_let_go_and_fences_grow() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let client = client(&cluster);
    let mut last = 0;
    for _ in 0..20 {
        let guard = soon(client.lock("x")).await.unwrap();
        assert!(guard.fence().0 > last);
        assert_eq!(guard.standing(), Standing::Safe);
        last = guard.fence().0;
        soon(guard.release()).await.unwrap();
    }
    let status = soon(client.inspect(&lock("x"))).await.unwrap();
    assert!(status.is_idle());
}

/// The servers keep every key that there ever was until they compact their index, and whoever reads
/// a queue passes all of them.
#[tokio::test]
async fn a_lock_that_is_taken_often_needs_no_more_keys_than_it_has_requests_at_once() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let client = client(&cluster);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..5 {
        let guard = soon(client.lock("x")).await.unwrap();
        assert!(soon(client.try_lock("x")).await.unwrap_err().is_not_acquired());
        let waiting = tokio::spawn({
            let client = client.clone();
            async move { client.lock("x").await }
        });
        waiters(&client, "x", 1).await;
        let keys = keys(&cluster, "x/");
        assert_eq!(keys.len(), 2, "{keys:?}");
        seen.extend(keys);
        soon(guard.release()).await.unwrap();
        soon(soon(waiting).await.unwrap().unwrap().release()).await.unwrap();
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
}

#[tokio::test]
async fn two_tasks_of_one_client_and_two_clients_exclude_each_other() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let clients = [client(&cluster), client(&cluster)];
    let inside = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let mut tasks = Vec::new();
    for number in 0..8 {
        let (client, inside) = (clients[number % 2].clone(), Arc::clone(&inside));
        tasks.push(tokio::spawn(async move {
            for _ in 0..20 {
                let guard = client.lock("x").await.unwrap();
                assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                tokio::task::yield_now().await;
                inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                guard.release().await.unwrap();
            }
        }));
    }
    for task in tasks {
        soon(task).await.unwrap();
    }
}

#[tokio::test]
async fn a_session_outlives_its_time_to_live() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let client = client(&cluster);
    let guard = soon(client.lock("x")).await.unwrap();
    let first = guard.deadline().unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(guard.deadline().unwrap() > first.plus(Duration::from_secs(3)));
    assert_eq!(guard.standing(), Standing::Safe);
    soon(guard.release()).await.unwrap();
}
