//! Servers that tests can start, kill, pause and lose.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use conclave_testkit::certificates::Certificates;
use conclave_testkit::servers::{self, Binaries, ClientCertificates, EtcdCluster};

const SHORT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(60);

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
fn a_leader_that_is_paused_is_replaced_and_healthy_again_when_it_goes_on() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 3);
    let first = cluster.leader();
    let pid = cluster.pid(first);
    cluster.pause(first);
    let second = cluster.leader();
    assert_ne!(second, first);
    cluster.resume(first);
    cluster.wait_healthy();
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
    let mut stranger = stranger(&binaries, &cluster, "http");
    assert!(!stranger.output().expect("etcdctl can be run").status.success());
}

/// Somebody who knows no more than the address.
fn stranger(binaries: &Binaries, cluster: &EtcdCluster, scheme: &str) -> Command {
    let mut command = Command::new(&binaries.etcdctl);
    command.env("ETCDCTL_API", "3").args(["--dial-timeout=500ms", "--command-timeout=500ms"]);
    command.args(["--endpoints", &format!("{scheme}://{}", cluster.endpoints()[0])]);
    command.args(["get", "color"]);
    command
}

#[test]
fn with_tls_clients_must_trust_the_authority() {
    let Some(binaries) = servers::required() else { return };
    let (Some(ours), Some(theirs)) = (Certificates::required(), Certificates::required()) else {
        return;
    };
    let tls = ours.tls(ClientCertificates::Ignored);
    let cluster = EtcdCluster::options().tls(tls).start(&binaries, 3);
    succeed(&mut cluster.etcdctl(["put", "color", "green"]));
    cluster.leader();
    succeed(stranger(&binaries, &cluster, "https").arg("--cacert").arg(ours.authority()));
    let mut misled = stranger(&binaries, &cluster, "https");
    let output = misled.arg("--cacert").arg(theirs.authority()).output();
    assert!(!output.expect("etcdctl can be run").status.success());
}

#[test]
fn with_required_certificates_clients_without_one_are_refused() {
    let Some(binaries) = servers::required() else { return };
    let Some(certificates) = Certificates::required() else { return };
    let tls = certificates.tls(ClientCertificates::Required);
    let cluster = EtcdCluster::options().tls(tls).start(&binaries, 1);
    assert_eq!(cluster.leader(), 0);
    let nobody = || {
        let mut command = stranger(&binaries, &cluster, "https");
        command.arg("--cacert").arg(certificates.authority());
        command
    };
    assert!(!nobody().output().expect("etcdctl can be run").status.success());
    let mut somebody = nobody();
    somebody.arg("--cert").arg(certificates.client_certificate());
    succeed(somebody.arg("--key").arg(certificates.client_key()));
}

const WAIT: &str = "CONCLAVE_TEST_WAIT_TO_BE_KILLED";

#[test]
fn members_die_with_a_test_process_that_is_killed() {
    let Some(binaries) = servers::required() else { return };
    if std::env::var_os(WAIT).is_some() {
        let cluster = EtcdCluster::start(&binaries, 1);
        let _ = writeln!(std::io::stderr(), "{}", cluster.pid(0).expect("it runs"));
        std::thread::sleep(LONG);
        return;
    }
    let mut test = Command::new(std::env::current_exe().expect("a test knows itself"));
    test.args(["--exact", "members_die_with_a_test_process_that_is_killed"]).env(WAIT, "1");
    // What it cannot remove any more is removed with this.
    let directory = tempfile::tempdir().expect("a directory can be made");
    test.env("TMPDIR", directory.path()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut test = test.spawn().expect("a test can start itself");
    let mut pid = String::new();
    let said = test.stderr.take().expect("it is piped");
    BufReader::new(said).read_line(&mut pid).expect("it says who the member is");
    let member = std::path::PathBuf::from(format!("/proc/{}", pid.trim()));
    assert!(member.join("exe").exists());
    test.kill().expect("it is our child");
    test.wait().expect("it is our child");
    // Its new parent may take a moment to wait for it.
    let is_gone = || !member.join("exe").exists();
    assert!((0..500).any(|_| is_gone() || {
        std::thread::sleep(SHORT);
        false
    }));
}
