//! Servers that tests can start, kill, pause and lose.

use std::process::Command;

use conclave_testkit::servers::{self, EtcdCluster};

fn succeed(command: &mut Command) -> String {
    let output = command.output().expect("the program is there");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{complaint}");
    said
}

#[test]
fn a_single_member_serves_and_leads() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    succeed(&mut cluster.etcdctl(["put", "color", "green"]));
    assert_eq!(succeed(&mut cluster.etcdctl(["get", "color", "--print-value-only"])), "green\n");
    assert_eq!(cluster.leader(), 0);
    assert_eq!(cluster.url("locks"), format!("etcd://{}/locks", cluster.endpoints()[0]));
}

#[test]
fn when_the_leader_is_killed_another_leads_and_nothing_is_lost() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 3);
    succeed(&mut cluster.etcdctl(["put", "color", "green"]));
    let first = cluster.leader();
    cluster.kill(first);
    let second = cluster.leader();
    assert_ne!(second, first);
    cluster.wait_healthy();
    cluster.restart(first);
    cluster.wait_healthy();
    assert_eq!(succeed(&mut cluster.etcdctl(["get", "color", "--print-value-only"])), "green\n");
}

#[test]
fn a_leader_that_is_paused_is_replaced_and_follows_when_it_goes_on() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 3);
    let first = cluster.leader();
    let pid = cluster.pid(first);
    cluster.pause(first);
    let second = cluster.leader();
    assert_ne!(second, first);
    cluster.resume(first);
    cluster.wait_healthy();
    assert_ne!(cluster.leader(), first);
    assert_eq!(cluster.pid(first), pid, "it is the same process");
}

#[test]
fn what_was_written_outlives_the_death_of_all_members() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 3);
    succeed(&mut cluster.etcdctl(["put", "color", "green"]));
    let endpoints = cluster.endpoints();
    cluster.kill_all();
    assert_eq!(cluster.leader_now(), None);
    cluster.restart_all();
    cluster.wait_healthy();
    assert_eq!(cluster.endpoints(), endpoints);
    assert_eq!(succeed(&mut cluster.etcdctl(["get", "color", "--print-value-only"])), "green\n");
}

#[test]
fn members_are_gone_when_the_cluster_is_dropped_even_paused_ones() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 3);
    cluster.pause(1);
    let pids: Vec<u32> = (0..3).filter_map(|member| cluster.pid(member)).collect();
    let directory = cluster.directory().to_owned();
    drop(cluster);
    assert_eq!(pids.len(), 3);
    assert!(pids.iter().all(|pid| !std::fs::exists(format!("/proc/{pid}")).unwrap_or(true)));
    assert!(!directory.exists());
}

#[test]
fn a_cluster_outlives_the_thread_that_started_it() {
    let Some(binaries) = servers::required() else { return };
    let start = move || EtcdCluster::start(&binaries, 1);
    let cluster = std::thread::spawn(start).join().expect("it starts");
    succeed(&mut cluster.etcdctl(["put", "color", "green"]));
}

#[test]
fn with_a_root_password_nobody_else_is_let_in() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::options().root_password("secret").start(&binaries, 1);
    succeed(&mut cluster.etcdctl(["put", "color", "green"]));
    assert_eq!(cluster.leader(), 0);
    let mut stranger = Command::new(&binaries.etcdctl);
    stranger.env("ETCDCTL_API", "3").args(["--endpoints", &cluster.endpoints()[0]]);
    let output = stranger.args(["get", "color"]).output().expect("etcdctl can be run");
    assert!(!output.status.success());
}
