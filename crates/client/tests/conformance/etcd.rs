//! The engine `etcd`, on a real server; each client with a session of its own.

use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use conclave_client::{Client, Etcd, EtcdOptions, PlantedBug, Resource};
use conclave_testkit::servers::{self, Binaries, EtcdCluster};

use crate::claims::{Claim, test_every_claim};
use crate::world::{Ability, Doing, Verdict, World, assert_kept, judge};

/// The shortest time to live that there is.
const TTL: Duration = Duration::from_secs(2);

/// Where the engine keeps its audit log, below the prefix.
const AUDIT: &str = "//conclave/audit/";

/// One server for all claims that do it no harm. It ends with the last of them.
static SHARED: Mutex<Weak<EtcdCluster>> = Mutex::new(Weak::new());

struct EtcdWorld {
    cluster: Arc<EtcdCluster>,
    prefix: String,
    /// What its clients do wrong.
    planted: Option<PlantedBug>,
}

impl EtcdWorld {
    /// Claims that share a server have prefixes of their own.
    fn new(binaries: &Binaries, claim: &Claim) -> Self {
        let start = || Arc::new(EtcdCluster::start(binaries, 1));
        let does_harm = [Ability::Expire, Ability::RestartStore];
        let cluster = if claim.needs.iter().any(|it| does_harm.contains(it)) {
            start()
        } else {
            let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
            shared.upgrade().unwrap_or_else(|| {
                let cluster = start();
                *shared = Arc::downgrade(&cluster);
                cluster
            })
        };
        Self { cluster, prefix: claim.name.to_owned(), planted: None }
    }

    fn etcdctl(&self, words: &[&str]) -> String {
        succeed(&mut self.cluster.etcdctl(words))
    }
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().expect("etcdctl can be run");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {complaint}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What [`World::address`] leads to.
pub fn open(address: &str) -> Client {
    open_with(address, None)
}

fn open_with(address: &str, planted: Option<PlantedBug>) -> Client {
    let (endpoints, prefix) = address
        .strip_prefix("etcd://")
        .and_then(|it| it.split_once('/'))
        .unwrap_or_else(|| panic!("where is {address}?"));
    let mut options = EtcdOptions::new(endpoints.split(','));
    prefix.clone_into(&mut options.prefix);
    options.ttl = TTL;
    options.planted = planted;
    Client::new(Etcd::new(options).unwrap())
}

impl World for EtcdWorld {
    fn client(&self) -> Client {
        open_with(&self.address(), self.planted)
    }

    fn abilities(&self) -> &'static [Ability] {
        &[Ability::Expire, Ability::RestartStore, Ability::Audit, Ability::OtherProcess]
    }

    /// For a while the server hears nothing, of anybody.
    fn expire<'a>(&'a self, resource: &'a Resource) -> Doing<'a> {
        Box::pin(async {
            self.cluster.pause(0);
            tokio::time::sleep(2 * TTL).await;
            self.cluster.resume(0);
            // The server looks only now and then for what has run out.
            let onlooker = self.client();
            while !onlooker.inspect(resource).await.is_ok_and(|it| it.holders.is_empty()) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
    }

    fn restart_store(&self) -> Doing<'_> {
        Box::pin(async {
            self.cluster.kill_all();
            self.cluster.restart_all();
            self.cluster.wait_healthy();
        })
    }

    fn audit(&self) -> Vec<String> {
        let range = format!("{}{AUDIT}", self.prefix);
        let log = self.etcdctl(&["get", "--prefix", &range, "--print-value-only"]);
        log.lines().map(str::to_owned).collect()
    }

    fn address(&self) -> String {
        self.cluster.url(&self.prefix)
    }
}

fn keeps(claim: &str) {
    let Some(binaries) = servers::required() else { return };
    assert_kept(claim, |claim| Box::new(EtcdWorld::new(&binaries, claim)));
}

test_every_claim!(keeps);

/// With that bug planted, the engine must break that claim.
fn is_caught(bug: PlantedBug, claim: &str) {
    let Some(binaries) = servers::required() else { return };
    let claim = Claim::named(claim);
    let mut world = EtcdWorld::new(&binaries, claim);
    world.prefix = format!("{bug:?}");
    world.planted = Some(bug);
    let verdict = judge(claim, Box::new(world));
    assert!(matches!(verdict, Verdict::Broken(_)), "{bug:?}: {verdict:?}");
}

#[test]
fn a_waiter_that_looks_at_the_wrong_neighbour_is_caught() {
    is_caught(PlantedBug::WrongNeighbour, "whoever_comes_and_goes_all_are_served_by_the_rule");
}

#[test]
fn a_fence_that_does_not_rise_is_caught() {
    is_caught(PlantedBug::FenceOfLease, "fences_grow_with_every_grant_in_whatever_mode");
}

#[test]
fn one_key_for_two_requests_of_a_session_is_caught() {
    is_caught(PlantedBug::SameKey, "two_tasks_of_one_client_exclude_each_other");
}
