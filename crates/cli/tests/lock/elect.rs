//! `conclave elect` and `conclave observe`.

use std::io::{BufRead, BufReader};

use super::*;

#[test]
fn observers_follow_leaders_that_resign_die_and_are_replaced() {
    let world = World::new();
    let mut observer = world.start(&["observe", "primary", "--json"]);
    let mut lines = BufReader::new(observer.0.stdout.take().unwrap()).lines();
    let mut next =
        || -> serde_json::Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["event"], "vacant");

    let text = "echo $CONCLAVE_FENCE > in.one; read x < stop";
    world.make_pipe("stop");
    let one = world.start(&["elect", "primary", "--value", "db1:5432", "-c", text]);
    world.wait_for_file("in.one");
    let seen = next();
    assert_eq!((&seen["event"], &seen["value"]), (&"elected".into(), &"db1:5432".into()));
    assert_eq!(seen["fence"], "1", "as text: JSON's numbers lose digits");
    assert_eq!(undocumented(&seen), Vec::<String>::new());

    let two = world.start(&["elect", "primary", "--value", "db2", "-c", "echo > in.two; sleep 60"]);
    std::fs::write(world.file("stop"), "\n").unwrap();
    assert_eq!(one.finish().0.code(), Some(0));
    let seen = next();
    assert_eq!((&seen["event"], &seen["fence"]), (&"resigned".into(), &"1".into()));
    let seen = next();
    assert_eq!((&seen["event"], &seen["fence"]), (&"elected".into(), &"2".into()));

    world.wait_for_file("in.two");
    two.signal(Signal::SIGKILL);
    assert_eq!(next()["event"], "vacant", "a death is no resignation");
    assert_eq!(world.code(&["observe", "--now", "primary"]), Some(1));
}

#[test]
fn an_election_and_a_lock_of_one_name_do_not_meet() {
    let world = World::new();
    let _lock = world.client().lock("x").unwrap();
    assert_eq!(world.code(&["elect", "-n", "x", "true"]), Some(0));
}

#[test]
fn within_the_leaders_command_its_name_and_directory_are_known() {
    let world = World::new();
    let program = env!("CARGO_BIN_EXE_conclave");
    let check = format!("{program} fence check x $CONCLAVE_FENCE");
    for command in ["elect", "lock"] {
        let mut leader = world.conclave(&[command, "--dir", "elsewhere", "x", "-c", &check]);
        let output = leader.env_remove("CONCLAVE_DIR").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{command}: {}", said(&output));
    }
}

#[test]
fn an_observer_ends_when_nobody_reads_it_any_more() {
    let world = World::new();
    let mut observer = world.start(&["observe", "x"]);
    let mut output = BufReader::new(observer.0.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    drop(output);
    assert_eq!(observer.wait().code(), Some(0));
}

#[test]
fn ctrl_c_ends_an_observer_at_once() {
    let world = World::new();
    let mut observer = world.start(&["observe", "x"]);
    let mut line = String::new();
    BufReader::new(observer.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.ends_with(" vacant\n"), "{line}");
    observer.signal(Signal::SIGINT);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&observer.wait()), Some(2));
}
