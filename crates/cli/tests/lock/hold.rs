//! `--hold`: a lock without a command.

use std::io::{BufRead, BufReader};

use super::*;

/// Starts a holder and waits until it says that it holds; returns what it said.
fn hold(world: &World, words: &[&str]) -> (Running, BufReader<std::process::ChildStdout>, String) {
    let mut holder = world.start(words);
    let mut output = BufReader::new(holder.0.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    (holder, output, line)
}

#[test]
fn it_is_held_until_a_signal_comes() {
    let world = World::new();
    for (number, signal) in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].iter().enumerate() {
        let (holder, output, line) = hold(&world, &["lock", "x", "--hold"]);
        assert_eq!(line, format!("held {}\n", 2 * number + 1));
        assert_eq!(world.code(&["lock", "-n", "x", "true"]), Some(1));
        holder.signal(*signal);
        assert_eq!(holder.finish().0.code(), Some(0), "{signal}");
        assert_eq!(world.code(&["lock", "-n", "x", "true"]), Some(0));
        drop(output);
    }
}

#[test]
fn it_is_held_until_nobody_reads_its_output() {
    let world = World::new();
    for words in [&["lock", "--hold", "x"][..], &["elect", "x", "--hold"]] {
        let (holder, output, line) = hold(&world, words);
        assert!(line.starts_with("held "), "{line}");
        assert_eq!(world.code(&[words[0], "-n", "x", "true"]), Some(1));
        drop(output);
        assert_eq!(holder.finish().0.code(), Some(0));
        assert_eq!(world.code(&[words[0], "-n", "x", "true"]), Some(0));
    }
}

#[test]
fn a_script_of_bash_holds_it_by_a_descriptor() {
    let world = World::new();
    let program = env!("CARGO_BIN_EXE_conclave");
    let script = format!(
        "exec 9< <({program} lock x --hold); read -u 9 word fence; echo $word $fence; \
         {program} lock -n x true; echo $?; \
         exec 9<&-; {program} lock -w 60 x true; echo $?"
    );
    let mut command = Command::new("bash");
    command.args(["-c", &script]).env("CONCLAVE_DIR", world.locks()).env_remove("CONCLAVE_AT");
    command.env("HOME", world.file("")).stdin(Stdio::null());
    let Ok(output) = command.output() else {
        return eprintln!("there is no bash, nothing was shown");
    };
    assert_eq!(String::from_utf8_lossy(&output.stdout), "held 1\n1\n0\n", "{}", said(&output));
}

#[test]
fn who_waits_to_hold_waits_as_others_do() {
    let world = World::new();
    let held = world.client().lock("x").unwrap();
    assert_eq!(world.code(&["lock", "-n", "x", "--hold"]), Some(1));
    assert_eq!(world.code(&["lock", "-w", "0.05", "-E", "9", "--hold", "x"]), Some(9));
    drop(held);
    let (_one, _output, _) = hold(&world, &["lock", "--slots", "2", "x", "--hold"]);
    let (_two, _output, _) = hold(&world, &["lock", "--slots", "2", "x", "--hold"]);
    assert_eq!(world.code(&["lock", "--slots", "2", "-n", "x", "--hold"]), Some(1));
    let (_one, _output, _) = hold(&world, &["lock", "-s", "y", "--hold"]);
    let (_two, _output, _) = hold(&world, &["lock", "-s", "y", "--hold"]);
}

#[test]
fn a_loss_is_said_and_is_75() {
    let world = World::new();
    let (holder, _output, _) = hold(&world, &["lock", "x", "--hold"]);
    assert_eq!(world.code(&["unlock", "--force", "x"]), Some(0));
    let (status, said) = holder.finish();
    assert_eq!(status.code(), Some(75), "{said}");
    assert!(said.contains("lock lost: it was taken away by force"), "{said}");
}

#[test]
fn there_is_no_command_beside_it() {
    let world = World::new();
    for words in [
        &["lock", "--hold", "x", "true"][..],
        &["lock", "x", "--hold", "true"],
        &["lock", "--hold", "x", "-c", "true"],
        &["lock", "--hold", "-c", "true", "x"],
        &["lock", "--hold", "--once", "1d", "x"],
        &["lock", "--hold", "--min-hold", "1", "x"],
    ] {
        let output = world.run(words);
        assert_eq!(output.status.code(), Some(64), "{words:?}: {}", said(&output));
        assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
    }
}
