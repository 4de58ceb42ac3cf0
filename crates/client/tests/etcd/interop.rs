//! Together with what others use.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use conclave_client::{Client, Error, Name, Office, Request, Resource, Target};
use conclave_testkit::servers::{self, EtcdCluster};

use super::{client, lock, soon, waiters};

#[tokio::test]
async fn etcdctl_waits_for_us_and_we_for_etcdctl() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let client = client(&cluster);
    let guard = soon(client.lock("x")).await.unwrap();
    let mut theirs = cluster.etcdctl(["lock", "x"]).stdout(Stdio::piped()).spawn().unwrap();
    waiters(&client, "x", 1).await;
    let ours = tokio::spawn({
        let client = client.clone();
        async move { client.lock("x").await.unwrap().fence() }
    });
    waiters(&client, "x", 2).await;
    soon(guard.release()).await.unwrap();
    waiters(&client, "x", 1).await;
    let status = soon(client.inspect(&lock("x"))).await.unwrap();
    assert!(status.holders[0].owner.to_string().contains("the key x/"), "{status:?}");
    assert!(matches!(soon(client.try_lock("x")).await, Err(Error::Busy { .. })));
    let x = lock("x");
    let forced = soon(client.engine().revoke(&x, &Target::Holders, "root")).await.unwrap();
    assert_eq!(forced.holders.len(), 1);
    assert!(soon(ours).await.unwrap() > status.holders[0].fence);
    theirs.kill().unwrap();
    theirs.wait().unwrap();
    let audit = cluster.etcdctl(["get", "/conclave/audit/", "--prefix"]).output().unwrap();
    assert!(String::from_utf8_lossy(&audit.stdout).contains("root forced lock x: fence"));
}

#[tokio::test]
async fn they_see_our_leader_and_we_see_theirs() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let client = client(&cluster);
    let leader = soon(client.campaign("primary", "db1:5432")).await.unwrap();
    let mut theirs =
        cluster.etcdctl(["elect", "-l", "primary"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(theirs.stdout.take().unwrap()).lines();
    let seen = lines.next().unwrap().unwrap() + &lines.next().unwrap().unwrap();
    assert!(seen.contains("primary/") && seen.ends_with("db1:5432"), "{seen}");
    soon(leader.proclaim(b"db1:5433")).await.unwrap();
    let seen = lines.next().unwrap().unwrap() + &lines.next().unwrap().unwrap();
    assert!(seen.ends_with("db1:5433"), "{seen}");
    theirs.kill().unwrap();
    theirs.wait().unwrap();

    let mut observer = client.observe("primary").unwrap();
    let Office::Elected { owner, .. } = soon(observer.next()).await.unwrap() else { panic!() };
    assert_eq!(owner.pid, std::process::id());
    let mut theirs =
        cluster.etcdctl(["elect", "primary", "db2:5432"]).stdout(Stdio::piped()).spawn().unwrap();
    let election = Resource::election(Name::new("primary").unwrap());
    soon(async {
        while client.inspect(&election).await.unwrap().waiters.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let fence = leader.fence();
    soon(leader.resign()).await.unwrap();
    let mut seen = soon(observer.next()).await.unwrap();
    if let Office::Resigned { fence: resigned } = seen {
        assert_eq!(resigned, fence);
        seen = soon(observer.next()).await.unwrap();
    }
    let Office::Elected { fence: next, value, .. } = seen else { panic!("{seen:?}") };
    assert_eq!(value, b"db2:5432");
    assert!(next > fence);
    theirs.kill().unwrap();
    theirs.wait().unwrap();
}

#[tokio::test]
async fn a_foreign_key_is_named_and_left_alone_and_garbage_is_somebody() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let client = client(&cluster);
    let put = |key: &str| cluster.etcdctl(["put", key, "garbage"]).output().unwrap();
    assert!(put("x/config").status.success());
    for patience in [Duration::ZERO, Duration::from_secs(20)] {
        let error = soon(client.lock_timeout("x", patience)).await.unwrap_err().to_string();
        assert!(error.contains("x/config"), "{error}");
    }
    let left = cluster.etcdctl(["get", "x/", "--prefix", "--keys-only"]).output().unwrap();
    assert_eq!(String::from_utf8(left.stdout).unwrap().trim(), "x/config");

    assert!(put("y/77-1").status.success());
    let error = soon(client.try_lock("y")).await.unwrap_err().to_string();
    assert!(error.contains("y/77-1"), "{error}");
    let listed = soon(client.engine().list()).await.unwrap();
    let listed: Vec<_> = listed.into_iter().map(|it| it.unwrap().resource).collect();
    assert!(listed.contains(&lock("y")), "{listed:?}");
}

#[tokio::test]
async fn nothing_of_a_client_is_left_when_it_is_dropped() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let look = client(&cluster);
    let client: Client = client(&cluster);
    let guard = soon(client.lock("x")).await.unwrap();
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.lock(Request::lock("x").unwrap().shared()).await }
    });
    waiters(&look, "x", 1).await;
    waiting.abort();
    waiters(&look, "x", 0).await;
    drop(client);
    assert!(!guard.is_lost(), "it is still held");
    drop(guard);
    soon(async {
        loop {
            let keys = cluster.etcdctl(["get", "", "--prefix", "--keys-only"]).output().unwrap();
            let leases = cluster.etcdctl(["lease", "list"]).output().unwrap();
            let leases = String::from_utf8(leases.stdout).unwrap();
            if keys.stdout.is_empty() && leases.contains("found 0 leases") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}
