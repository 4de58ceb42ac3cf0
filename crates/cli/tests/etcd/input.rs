//! What is wrong is said in one line, with the right code, and leaves nothing behind.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::{World, all_at_once, printed, said};

/// Runs it, and expects this code and one line with all of `words`.
fn assert_says(world: &World, words: &[&str], code: i32, expected: &[&str]) {
    let output = world.run(words);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
    assert_eq!(said.lines().count(), 1, "{words:?}: {said}");
    assert!(said.starts_with("conclave: "), "{words:?}: {said}");
    assert!(expected.iter().all(|it| said.contains(it)), "{words:?} {expected:?}: {said}");
    assert_eq!(printed(&output), "", "{words:?}");
}

#[test]
fn wrong_words_are_refused_before_any_server_is_asked() {
    let Some(world) = World::shared() else { return };
    for (at, expected) in [
        ("etcd://", "a host is missing"),
        ("etcd://a,,b", "a host is missing"),
        ("etcd://a:0", "\"0\" is no port"),
        ("etcd://a:70000", "\"70000\" is no port"),
        ("etcd://a:port", "\"port\" is no port"),
        ("etcd://a b", "is no host"),
        ("etcd://a?x=1", "? and #"),
        ("http://a:2379", "there is no engine http"),
        ("zookeeper://a", "is not there yet"),
        ("a:2379", "there is no engine a"),
        ("etcd://root:hidden@a", "ETCDCTL_USER"),
    ] {
        assert_says(&world, &["lock", "--at", at, "x", "--", "true"], 64, &["--at: ", expected]);
        let output = world.run(&["locks", "--at", at]);
        assert_eq!(output.status.code(), Some(64), "{at}");
        assert!(!said(&output).contains("hidden"), "{}", said(&output));
    }
    for (option, value, expected) in [
        ("--ttl", "1", "at least 2 s and at most 5m"),
        ("--ttl", "6m", "at least 2 s and at most 5m"),
        ("--ttl", "abc", "a time is "),
        ("--kill-after", "5.1", "at most half of --ttl, which is 10 s"),
        ("--connect-timeout", "0", "it takes some time"),
        ("--cacert", "/no/such/file", "cannot read /no/such/file"),
        ("--user", "root", "needs a password"),
    ] {
        let words = ["lock", option, value, "x", "--", "true"];
        assert_says(&world, &words, 64, &[option, expected]);
    }
    assert_eq!(world.keys(), Vec::<String>::new());
}

/// A server that does this with every connection, and its address.
fn server(serve: impl Fn(std::net::TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            serve(connection);
        }
    });
    address
}

#[test]
fn servers_of_another_kind_are_named_and_cost_no_more_than_was_said() {
    let Some(world) = World::shared() else { return };
    let http = server(|mut connection| {
        std::thread::spawn(move || {
            let _ = connection.read(&mut [0; 1024]);
            let _ = connection.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        });
    });
    let closing = server(drop);
    let silent = server(|connection| {
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(30));
            drop(connection);
        });
    });
    // Nobody listens on the first port of all.
    let addresses = [http, closing, silent, "127.0.0.1:1".to_owned()];
    all_at_once(addresses, |address| {
        let at = format!("etcd://{address}/p");
        let near = ["--at", &at, "--connect-timeout", "1"];
        for words in [
            [&["lock"][..], &near, &["x", "--", "true"]].concat(),
            [&["lock", "-n"][..], &near, &["x", "--", "true"]].concat(),
            [&["locks"][..], &near].concat(),
            [&["observe", "--now"][..], &near, &["x"]].concat(),
            [&["unlock", "--force"][..], &near, &["x"]].concat(),
            [&["once"][..], &near, &["x"]].concat(),
            [&["fence", "check"][..], &near, &["x", "1"]].concat(),
        ] {
            let start = Instant::now();
            assert_says(&world, &words, 69, &[&address]);
            assert!(start.elapsed() < Duration::from_secs(6), "{words:?}: {:?}", start.elapsed());
        }
        let tls = world.write(&format!("{address}.pem"), "");
        let words = ["lock", "--cacert", tls.to_str().unwrap(), "--at", &at, "x", "--", "true"];
        let output = world.run(&words);
        assert_eq!(output.status.code(), Some(69), "{}", said(&output));
    });
}

#[test]
fn a_foreign_key_is_named_and_left_alone_and_garbage_is_somebody() {
    let Some(world) = World::shared() else { return };
    let put = |key: &str| world.etcdctl(&["put", &format!("{}/{key}", world.prefix), "\u{1}{"]);
    put("x/config");
    for option in [&["-n"][..], &["-w", "5"], &[]] {
        let words = [&["lock"], option, &["x", "--", "true"]].concat();
        assert_says(&world, &words, 69, &["x/config", "in the way of lock x"]);
    }
    assert_eq!(world.keys(), [format!("{}/x/config", world.prefix)]);

    // As a key of etcdctl's, but with garbage where an owner would be.
    put("y/77-1");
    assert_eq!(world.run(&["lock", "-n", "y", "--", "true"]).status.code(), Some(1));
    let output = world.run(&["locks"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(printed(&output).contains("y/77-1"), "{}", printed(&output));
    let output = world.run(&["unlock", "--force", "y"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("lock y taken away from "), "{}", said(&output));
    assert_eq!(world.run(&["lock", "-n", "y", "--", "true"]).status.code(), Some(0));
}

#[test]
fn locks_observe_unlock_and_once_say_what_they_find() {
    let Some(world) = World::shared() else { return };
    let at = format!("locks at {}", world.url());
    let output = world.run(&["locks"]);
    assert_eq!(printed(&output), format!("no lock is held: {at}\n"));
    let output = world.run(&["observe", "--now", "x"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(printed(&output).ends_with(" vacant\n"), "{}", printed(&output));
    assert_says(&world, &["unlock", "--force", "x"], 1, &["nobody holds lock x"]);
    assert_says(&world, &["once", "x"], 1, &["x: no run is recorded"]);

    let holder =
        world.start(&["lock", "--ttl", "5", "--label", "backup", "x", "--", "sleep", "99"]);
    world.wait_for_queue("x", 1);
    let output = world.run(&["locks"]);
    assert_eq!(said(&output), format!("conclave: {at}\n"));
    let listed = printed(&output);
    assert!(listed.contains("held") && listed.contains("backup"), "{listed}");
    assert_says(&world, &["unlock", "--force", "x"], 0, &["lock x taken away from backup (pid "]);
    let (code, told) = holder.finish();
    assert_eq!(code, Some(75), "{told}");
    assert_eq!(told, "conclave: lock lost: it was taken away by force; stopping the command\n");
    let audit = world.etcdctl(&["get", &format!("{}//conclave/audit/", world.prefix), "--prefix"]);
    assert!(audit.contains(" forced lock x: fence "), "{audit}");

    let once = ["lock", "--once", "1h", "--label", "nightly", "o", "--", "sh", "-c", "echo >>runs"];
    assert_eq!(world.run(&once).status.code(), Some(0));
    assert_says(&world, &once, 0, &["o: already run by nightly (pid "]);
    let output = world.run(&["once", "o"]);
    assert!(printed(&output).starts_with("o: last run by nightly (pid "), "{}", printed(&output));
    let output = world.run(&["once", "--reset", "o"]);
    assert!(printed(&output).starts_with("o: forgotten: the run by nightly"), "{}", said(&output));
    assert_eq!(world.run(&once).status.code(), Some(0));
    assert_eq!(world.read("runs"), "\n\n");
    assert_eq!(world.queue("o"), Vec::<String>::new());
}
