//! Hosts of a test's own, and what gets lost between them.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use conclave_testkit::hosts::{self, Hosts};
use conclave_testkit::servers::{self, EtcdCluster};

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(10);

/// An open connection: the end on the first host, the end on the second.
fn connect(hosts: &Hosts, one: usize, other: usize) -> (TcpStream, TcpStream) {
    let at = SocketAddr::from((hosts[other].address(), 0));
    let listener = hosts[other].inside(|| TcpListener::bind(at)).expect("the host has its address");
    let at = listener.local_addr().expect("it is bound");
    let client = hosts[one].inside(|| TcpStream::connect_timeout(&at, LONG));
    let (server, _) = listener.accept().expect("somebody connected");
    (client.expect("the hosts reach each other"), server)
}

/// What comes within a time: a byte, or nothing.
fn hear(stream: &mut TcpStream, patience: Duration) -> Option<u8> {
    stream.set_read_timeout(Some(patience)).expect("it is a socket");
    let mut byte = [0];
    match stream.read_exact(&mut byte) {
        Ok(()) => Some(byte[0]),
        Err(error) => {
            assert!(
                [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()),
                "{error}"
            );
            None
        }
    }
}

#[test]
fn all_hosts_reach_each_other_and_themselves() {
    if !hosts::required() {
        return;
    }
    let hosts = Hosts::new(3);
    for (one, other) in [(0, 1), (1, 2), (2, 0), (1, 1)] {
        let (mut here, mut there) = connect(&hosts, one, other);
        here.write_all(b"a").expect("it is open");
        assert_eq!(hear(&mut there, LONG), Some(b'a'));
    }
}

#[test]
fn two_sets_of_hosts_do_not_see_each_other() {
    if !hosts::required() {
        return;
    }
    let (ours, theirs) = (Hosts::new(1), Hosts::new(2));
    let at = SocketAddr::from((theirs[1].address(), 7000));
    let _listener = theirs[1].inside(|| TcpListener::bind(at)).expect("the address is there");
    assert!(theirs[0].inside(|| TcpStream::connect_timeout(&at, LONG)).is_ok());
    assert!(ours[0].inside(|| TcpStream::connect_timeout(&at, SHORT)).is_err());
    let outside = TcpListener::bind(at).expect_err("the address is not of this machine");
    assert_eq!(outside.kind(), ErrorKind::AddrNotAvailable);
}

#[test]
fn a_cut_silences_an_open_connection_until_it_heals_and_nobody_is_told() {
    if !hosts::required() {
        return;
    }
    let hosts = Hosts::new(3);
    let (mut here, mut there) = connect(&hosts, 0, 1);
    hosts.cut(0, 1);
    here.write_all(b"a").expect("the sender is not told");
    there.write_all(b"b").expect("the sender is not told");
    assert_eq!(hear(&mut there, SHORT), None);
    assert_eq!(hear(&mut here, SHORT), None);
    let (mut aside, mut third) = connect(&hosts, 0, 2);
    aside.write_all(b"c").expect("it is open");
    assert_eq!(hear(&mut third, LONG), Some(b'c'), "others are not touched");
    hosts.heal();
    assert_eq!(hear(&mut there, LONG), Some(b'a'));
    assert_eq!(hear(&mut here, LONG), Some(b'b'));
}

#[test]
fn a_connection_across_a_cut_is_waited_for_and_not_refused() {
    if !hosts::required() {
        return;
    }
    let hosts = Hosts::new(2);
    let at = SocketAddr::from((hosts[1].address(), 7000));
    hosts.cut(0, 1);
    let refused =
        hosts[0].inside(|| TcpStream::connect_timeout(&at, SHORT)).expect_err("it is cut");
    assert_eq!(refused.kind(), ErrorKind::TimedOut);
}

#[test]
fn a_cut_one_way_lets_the_other_way_through() {
    if !hosts::required() {
        return;
    }
    let hosts = Hosts::new(2);
    let (mut here, mut there) = connect(&hosts, 0, 1);
    hosts.cut_one_way(0, 1);
    here.write_all(b"a").expect("the sender is not told");
    assert_eq!(hear(&mut there, SHORT), None);
    there.write_all(b"b").expect("it is open");
    assert_eq!(hear(&mut here, LONG), Some(b'b'));
    hosts.heal();
    assert_eq!(hear(&mut there, LONG), Some(b'a'));
}

#[test]
fn an_isolated_host_reaches_only_itself() {
    if !hosts::required() {
        return;
    }
    let hosts = Hosts::new(3);
    let mut cut: Vec<_> = [(0, 1), (2, 0)].map(|(a, b)| connect(&hosts, a, b)).into();
    let mut kept: Vec<_> = [(1, 2)].map(|(a, b)| connect(&hosts, a, b)).into();
    hosts.isolate(0);
    kept.push(connect(&hosts, 0, 0));
    for (here, there) in cut.iter_mut().chain(&mut kept) {
        here.write_all(b"a").expect("the sender is not told");
        there.write_all(b"b").expect("the sender is not told");
    }
    for (here, there) in &mut kept {
        assert_eq!((hear(here, LONG), hear(there, LONG)), (Some(b'b'), Some(b'a')));
    }
    for (here, there) in &mut cut {
        assert_eq!((hear(here, SHORT), hear(there, SHORT)), (None, None));
    }
}

#[test]
fn a_command_runs_on_its_host_and_is_the_process_that_was_started() {
    if !hosts::required() {
        return;
    }
    let hosts = Hosts::new(2);
    let at = SocketAddr::from((hosts[1].address(), 7000));
    let listener = hosts[1].inside(|| TcpListener::bind(at)).expect("the address is there");
    let script = format!("echo $$ > /dev/tcp/{}/7000; exec sleep 60", hosts[1].address());
    let mut child = hosts[0].command("bash").args(["-c", &script]).spawn().expect("bash runs");
    let (mut stream, from) = listener.accept().expect("bash connects");
    let mut pid = String::new();
    stream.read_to_string(&mut pid).expect("bash says its id");
    assert_eq!(from.ip(), hosts[0].address());
    assert_eq!(pid.trim(), child.id().to_string());
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    assert!(!std::fs::exists(format!("/proc/{}", pid.trim())).unwrap_or(true));
}

fn namespaces_of(pid: u32) -> Vec<String> {
    let entries = std::fs::read_dir("/run/netns").expect("somebody made a namespace");
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&format!("conclave-{pid}-"))).collect()
}

#[test]
fn a_test_that_panics_leaves_no_process_and_no_namespace() {
    if !hosts::required() {
        return;
    }
    let (sender, started) = std::sync::mpsc::channel();
    let test = move || {
        let hosts = Hosts::new(1);
        let child = hosts[0].command("sleep").arg("60").stdout(Stdio::null()).spawn();
        let _ = sender.send((child.expect("sleep runs"), hosts[0].name().to_owned()));
        panic!("on purpose");
    };
    assert!(std::thread::spawn(test).join().is_err());
    let (mut child, name) = started.recv().expect("it was sent before the panic");
    assert!(!child.wait().expect("it is our child").success());
    assert!(!namespaces_of(std::process::id()).contains(&name));
}

const LEAVE: &str = "CONCLAVE_TEST_LEAVE_HOSTS";

#[test]
fn what_a_killed_test_left_is_removed_by_a_later_one() {
    if !hosts::required() {
        return;
    }
    if std::env::var_os(LEAVE).is_some() {
        let hosts = Hosts::new(2);
        let mut child = hosts[0].command("sleep").arg("60").spawn().expect("sleep runs");
        let _ = writeln!(std::io::stderr(), "made");
        child.wait().expect("it is our child");
        return;
    }
    let test = |name: &str| {
        let mut command = Command::new(std::env::current_exe().expect("a test knows itself"));
        command.args(["--exact", name]);
        command
    };
    let mut killed = test("what_a_killed_test_left_is_removed_by_a_later_one");
    killed.env(LEAVE, "1").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut killed = killed.spawn().expect("a test can start itself");
    let pid = killed.id();
    let mut said = [0; 4];
    killed.stderr.take().expect("it is piped").read_exact(&mut said).expect("it says so");
    assert_eq!(namespaces_of(pid).len(), 3, "two hosts and their switch");
    killed.kill().expect("it is our child");
    killed.wait().expect("it is our child");
    // A process sweeps once, when it makes its first hosts; this one has perhaps done so.
    let mut later = test("all_hosts_reach_each_other_and_themselves");
    assert!(later.output().expect("a test can start itself").status.success());
    assert_eq!(namespaces_of(pid), Vec::<String>::new());
}

#[test]
fn a_leader_cut_off_from_its_peers_is_replaced_and_still_answers_on_its_host() {
    let Some(binaries) = servers::required() else { return };
    if !hosts::required() {
        return;
    }
    let hosts = Hosts::new(3);
    let cluster = EtcdCluster::on_hosts(&binaries, &hosts);
    assert_eq!(cluster.endpoints()[1], format!("{}:2379", hosts[1].address()));
    let first = cluster.leader();
    hosts.isolate(first);
    cluster.leader_other_than(first);
    let mut local = hosts[first].command(&binaries.etcdctl);
    local.env("ETCDCTL_API", "3").args(["--endpoints", &cluster.endpoints()[first]]);
    let output = local.args(["get", "--consistency=s", "color"]).output().expect("it can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    hosts.heal();
    cluster.wait_healthy();
}
