//! The table of exits: what a script that calls `conclave lock` can rely on.

use nix::sys::signal::Signal;

use super::*;

#[test]
fn the_commands_own_code_is_passed_on() {
    let world = World::new();
    for code in [0, 1, 7, 42, 255] {
        let text = format!("exit {code}");
        assert_eq!(world.code(&["lock", "x", "-c", &text]), Some(code));
        assert_eq!(world.code(&["lock", "x", "--", "sh", "-c", &text]), Some(code));
        assert_eq!(world.code(&["elect", "x", "--", "sh", "-c", &text]), Some(code));
    }
}

#[test]
fn a_killed_command_is_128_and_the_signal() {
    let world = World::new();
    for signal in [Signal::SIGTERM, Signal::SIGKILL, Signal::SIGINT, Signal::SIGSEGV] {
        let number = signal as i32;
        let text = format!("kill -{number} $$");
        assert_eq!(world.code(&["lock", "x", "-c", &text]), Some(128 + number), "{signal}");
    }
}

#[test]
fn what_is_not_acquired_is_1_or_what_was_asked_for() {
    let world = World::new();
    let held = world.client().lock("x").unwrap();
    assert_eq!(world.code(&["lock", "-n", "x", "true"]), Some(1));
    assert_eq!(world.code(&["lock", "-w", "0.05", "x", "true"]), Some(1));
    assert_eq!(world.code(&["lock", "-w", "0", "x", "true"]), Some(1));
    assert_eq!(world.code(&["lock", "-n", "-E", "33", "x", "true"]), Some(33));
    assert_eq!(world.code(&["lock", "-s", "-n", "x", "true"]), Some(1));
    assert_eq!(world.run(&["lock", "-n", "x", "true"]).stderr, b"", "as quiet as flock(1)");
    let output = world.run(&["lock", "-v", "-n", "x", "true"]);
    assert!(said(&output).contains("lock x is taken by pid "), "{}", said(&output));
    assert!(world.status("x").waiters.is_empty(), "nobody is left in the queue");
    drop(held);
    assert_eq!(world.code(&["lock", "-n", "x", "true"]), Some(0));
    assert_eq!(world.code(&["lock", "-w", "5", "x", "true"]), Some(0));
}

#[test]
fn what_cannot_be_found_is_127_and_what_cannot_be_executed_126() {
    let world = World::new();
    let output = world.run(&["lock", "x", "--", "./no-such-program"]);
    assert_eq!(output.status.code(), Some(127));
    assert_eq!(said(&output), "conclave: cannot find the command ./no-such-program\n");
    std::fs::write(world.file("text"), "not a program").unwrap();
    let output = world.run(&["lock", "x", "--", "./text"]);
    assert_eq!(output.status.code(), Some(126));
    assert!(said(&output).starts_with("conclave: cannot execute ./text: "), "{}", said(&output));
    assert_eq!(world.code(&["lock", "-n", "x", "true"]), Some(0), "and the lock is free again");
}

#[test]
fn the_command_knows_its_lock_whatever_it_inherited() {
    let world = World::new();
    let text = "echo $CONCLAVE_LOCK/$CONCLAVE_FENCE/$CONCLAVE_OWNER";
    let inner = "echo $CONCLAVE_LOCK/$CONCLAVE_FENCE";
    let mut outer = world.conclave(&["lock", "--label", "me", "a b", "-c", text]);
    let output = outer.env("CONCLAVE_FENCE", "99").env("CONCLAVE_LOCK", "stale").output().unwrap();
    let line = String::from_utf8(output.stdout).unwrap();
    assert!(line.starts_with("a b/1/me (pid ") && line.ends_with(")\n"), "{line}");
    // A lock within a lock: the inner one counts.
    let program = env!("CARGO_BIN_EXE_conclave");
    let nested = world.run(&["lock", "outer", "--", program, "lock", "inner", "-c", inner]);
    assert_eq!(String::from_utf8(nested.stdout).unwrap(), "inner/1\n");
}

#[test]
fn input_and_output_are_passed_through() {
    let world = World::new();
    let mut command = world.conclave(&["lock", "x", "--", "sh", "-c", "cat; echo err >&2"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"through\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"through\n"[..], &b"err\n"[..]));
}

#[test]
fn there_is_no_shell_unless_asked_for() {
    let world = World::new();
    let output = world.run(&["lock", "x", "--", "echo", "$HOME", ";", "-n", "*"]);
    assert_eq!(output.stdout, b"$HOME ; -n *\n");
    let output = world.run(&["lock", "x", "-c", "echo a; echo b"]);
    assert_eq!(output.stdout, b"a\nb\n");
    let output = world.run(&["lock", "-c", "echo before", "x"]);
    assert_eq!(output.stdout, b"before\n");
}

#[test]
fn a_signal_to_the_wrapper_reaches_grandchildren() {
    let world = World::new();
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130), (Signal::SIGHUP, 129)] {
        let text = "(sh -c 'echo $$ > grandchild; exec sleep 60' & wait); true";
        let _ = std::fs::remove_file(world.file("grandchild"));
        // Background jobs of a shell ignore INT, so the grandchild is one of the foreground.
        let text = if signal == Signal::SIGINT {
            "sh -c 'echo $$ > grandchild; exec sleep 60'; true"
        } else {
            text
        };
        let mut wrapper = world.start(&["lock", "x", "-c", text]);
        let grandchild = read_pid(&world.file("grandchild"));
        // A shell that is just becoming another program may swallow the signal.
        eventually("the grandchild to be sleep", || {
            let name = std::fs::read_to_string(format!("/proc/{grandchild}/comm")).ok()?;
            (name.trim() == "sleep").then_some(())
        });
        wrapper.signal(signal);
        assert_eq!(wrapper.wait().code(), Some(code), "{signal}");
        wait_until_dead(grandchild);
        world.wait_until_free("x");
    }
}

#[test]
fn ctrl_c_while_waiting_leaves_the_queue_at_once() {
    let world = World::new();
    let _held = world.client().lock("x").unwrap();
    let mut wrapper = world.start(&["lock", "x", "touch", "ran"]);
    eventually("it to wait", || (world.status("x").waiters.len() == 1).then_some(()));
    wrapper.signal(Signal::SIGINT);
    let status = wrapper.wait();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(2));
    assert!(world.status("x").waiters.is_empty());
    assert!(!world.file("ran").exists());
}

#[test]
fn a_waiter_whose_place_is_taken_away_did_not_acquire_the_lock() {
    let world = World::new();
    let _held = world.client().lock("x").unwrap();
    let wrapper = world.start(&["lock", "-E", "9", "x", "touch", "ran"]);
    let waiting = || world.status("x").waiters.first().map(|it| it.owner.pid.to_string());
    let pid = eventually("it to wait", waiting);
    assert_eq!(world.code(&["unlock", "--force", "--pid", &pid, "x"]), Some(0));
    let (status, said) = wrapper.finish();
    assert_eq!(status.code(), Some(9), "{said}");
    assert!(said.contains("the place in the queue was taken away by force"), "{said}");
    assert!(!world.file("ran").exists());
}

#[test]
fn a_lock_that_is_lost_is_75() {
    let world = World::new();
    let wrapper = world.start(&["lock", "x", "-c", "echo $$ > child; sleep 60"]);
    let child = read_pid(&world.file("child"));
    let forced = world.run(&["unlock", "--force", "x"]);
    assert_eq!(forced.status.code(), Some(0), "{}", said(&forced));
    let (status, said) = wrapper.finish();
    assert_eq!(status.code(), Some(75), "{said}");
    assert!(said.contains("lock lost: it was taken away by force"), "{said}");
    assert!(!is_alive(child));
}

#[test]
fn min_hold_keeps_the_lock_when_the_command_is_done() {
    let world = World::new();
    let wrapper = world.start(&["lock", "--min-hold", "3", "x", "-c", "echo done > done"]);
    world.wait_for_file("done");
    assert_eq!(world.code(&["lock", "-n", "x", "true"]), Some(1));
    assert_eq!(wrapper.finish().0.code(), Some(0));
    assert_eq!(world.code(&["lock", "-n", "x", "true"]), Some(0));
}

#[test]
fn two_take_turns() {
    let world = World::new();
    let text = "echo in >> log; sleep 0.1; echo out >> log";
    let first = world.start(&["lock", "x", "-c", text]);
    let second = world.start(&["lock", "x", "-c", text]);
    assert_eq!(first.finish().0.code(), Some(0));
    assert_eq!(second.finish().0.code(), Some(0));
    let log = std::fs::read_to_string(world.file("log")).unwrap();
    assert_eq!(log, "in\nout\nin\nout\n");
}

#[test]
fn slots_let_so_many_in_and_the_name_cannot_be_used_otherwise() {
    let world = World::new();
    let hold = |_| world.start(&["lock", "--slots", "2", "x", "-c", "echo > in.$$; read x < stop"]);
    world.make_pipe("stop");
    let held: Vec<Running> = (0..2).map(hold).collect();
    eventually("both to be in", || (world.status("x").holders.len() == 2).then_some(()));
    assert_eq!(world.code(&["lock", "--slots", "2", "-n", "x", "true"]), Some(1));
    let output = world.run(&["lock", "-n", "x", "true"]);
    assert_eq!(output.status.code(), Some(64), "{}", said(&output));
    let line = "conclave: lock x is in use as a semaphore of 2 slots, and cannot be used as a lock";
    assert!(said(&output).starts_with(line), "{}", said(&output));
    drop(held);
}

/// A shell goes on with its loop after an exit code, and stops when what it waited for died of the
/// keys that were pressed.
#[test]
fn ctrl_c_at_a_terminal_ends_a_loop_of_the_shell() {
    let world = World::new();
    let program = env!("CARGO_BIN_EXE_conclave");
    let text = format!(
        "bash -c 'for i in 1 2 3; do echo $i >> began; {program} lock x sleep 60; done; \
         echo end >> began'"
    );
    let mut script = Command::new("script");
    script.args(["--quiet", "--command", &text, "/dev/null"]).current_dir(world.file(""));
    script.env("CONCLAVE_DIR", world.locks()).env("HOME", world.file(""));
    script.env_remove("CONCLAVE_AT");
    script.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(script) = script.spawn() else {
        return eprintln!("there is no `script` to get a terminal from, nothing was shown");
    };
    let mut terminal = Running(script);
    // Not before the command itself runs: a shell there could be between two commands, and wait.
    eventually("the command", || {
        let status = world.client().list().unwrap().into_iter().next()?.ok()?;
        status.holder()?.processes.iter().any(|it| it.command == "sleep 60").then_some(())
    });
    let keyboard = terminal.0.stdin.as_mut().unwrap();
    std::io::Write::write_all(keyboard, b"\x03").unwrap();
    terminal.wait();
    assert_eq!(std::fs::read_to_string(world.file("began")).unwrap(), "1\n");
}
