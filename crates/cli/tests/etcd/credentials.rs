//! Servers that want to know who asks.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use conclave_testkit::certificates::Certificates;
use conclave_testkit::servers::{self, ClientCertificates, EtcdCluster};
use nix::sys::signal::Signal;

use super::{World, printed, said};

/// A lock, a list and an office, each with these options and variables.
fn assert_let_in(world: &World, options: &[&str], variables: &[(&str, &str)]) {
    let conclave = |command: &str, rest: &[&str]| {
        let mut conclave = world.conclave(&[&[command], options, rest].concat());
        conclave.envs(variables.iter().copied());
        conclave
    };
    let output = conclave("lock", &["-n", "x", "--", "sh", "-c", "exit 7"]).output().unwrap();
    assert_eq!((output.status.code(), &*said(&output)), (Some(7), ""));
    let leader = world.launch(conclave("elect", &["--value", "v", "e", "--", "sleep", "1000"]));
    super::eventually("a leader", || {
        let output = conclave("observe", &["--now", "e"]).output().unwrap();
        let is_elected = printed(&output).ends_with(", value v\n");
        assert!(is_elected || output.status.code() == Some(1), "{}", said(&output));
        is_elected.then_some(())
    });
    let output = conclave("locks", &[]).output().unwrap();
    assert!(printed(&output).contains("e (election)"), "{} {}", printed(&output), said(&output));
    leader.signal(Signal::SIGTERM);
    assert_eq!(leader.finish().0, Some(143));
    assert_eq!(world.keys_but_ours(), Vec::<String>::new());
}

/// One line on standard error says all of `words`; 69.
fn assert_refused(mut command: Command, words: &[&str]) {
    let output = command.output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(69), "{said}");
    assert!(said.lines().count() == 1 && said.starts_with("conclave: etcd at 127."), "{said}");
    assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
    assert!(!said.contains("secret"), "{said}");
}

impl World {
    /// All keys but the few that stay for good.
    fn keys_but_ours(&self) -> Vec<String> {
        let stays = format!("{}//conclave/", self.prefix);
        self.keys().into_iter().filter(|it| !it.starts_with(&stays)).collect()
    }
}

#[test]
fn with_users_only_the_right_password_is_let_in() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::options().root_password("secret").start(&binaries, 1);
    let world = World::on(Arc::new(cluster));
    assert_let_in(&world, &[], &[("ETCDCTL_USER", "root"), ("ETCDCTL_PASSWORD", "secret")]);
    assert_let_in(&world, &[], &[("ETCDCTL_USER", "root:secret")]);
    let file = world.write("password", "secret\n");
    let file = file.to_str().unwrap();
    assert_let_in(&world, &["--user", "root", "--password-file", file], &[]);

    for words in [&["lock", "x", "--", "true"][..], &["locks"], &["observe", "--now", "x"]] {
        let nobody = world.conclave(words);
        assert_refused(nobody, &["ETCDCTL_USER"]);
        let mut wrong = world.conclave(words);
        wrong.env("ETCDCTL_USER", "root:secret-but-wrong");
        assert_refused(wrong, &["invalid user ID or password"]);
    }
    assert_eq!(world.keys_but_ours(), Vec::<String>::new());
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn with_certificates_each_side_sees_that_of_the_other() {
    let Some(binaries) = servers::required() else { return };
    let (Some(ours), Some(others)) = (Certificates::required(), Certificates::required()) else {
        return;
    };
    let start = |clients| {
        World::on(Arc::new(EtcdCluster::options().tls(ours.tls(clients)).start(&binaries, 1)))
    };
    let (authority, stranger) = (ours.authority(), others.authority());
    let (cert, key) = (ours.client_certificate(), ours.client_key());
    let (authority, stranger) = (path(&authority), path(&stranger));
    let full = ["--cacert", authority, "--cert", path(&cert), "--key", path(&key)];
    let lock = |world: &World, options: &[&str]| {
        world.conclave(
            &[&["lock", "--connect-timeout", "2"], options, &["x", "--", "true"]].concat(),
        )
    };

    let world = start(ClientCertificates::Ignored);
    assert_let_in(&world, &["--cacert", authority], &[]);
    assert_let_in(&world, &full, &[]);
    assert_let_in(&world, &[], &[("ETCDCTL_CACERT", authority)]);
    assert_refused(lock(&world, &[]), &["--cacert"]);
    assert_refused(lock(&world, &["--cacert", stranger]), &["certificate"]);
    assert_eq!(world.keys_but_ours(), Vec::<String>::new());

    // The other way round: the server knows nothing of TLS.
    let plain = World::on(Arc::new(EtcdCluster::start(&binaries, 1)));
    assert_refused(lock(&plain, &["--cacert", authority]), &["leave out --cacert"]);
    assert_eq!(plain.keys(), Vec::<String>::new());

    let world = start(ClientCertificates::Required);
    assert_let_in(&world, &full, &[]);
    assert_refused(lock(&world, &["--cacert", authority]), &["certificate"]);
    assert_eq!(world.keys_but_ours(), Vec::<String>::new());
}
