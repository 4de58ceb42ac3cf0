//! What was inherited, and who cannot die of a signal.

use std::os::unix::process::ExitStatusExt;

use super::*;

/// bash cannot take back what it has made its children ignore; `env` can make them ignore it.
fn ignoring(world: &World, signal: &str, words: &[&str]) -> Command {
    let plain = world.conclave(words);
    let mut command = Command::new("env");
    command.arg(format!("--ignore-signal={signal}")).arg(plain.get_program());
    command.args(plain.get_args()).current_dir(world.directory.path()).stdin(Stdio::null());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

#[test]
fn an_inherited_deafness_to_children_does_no_harm() {
    let world = World::new();
    let run = |words: &[&str]| ignoring(&world, "CHLD", words).output().unwrap();
    let output = run(&["lock", "x", "-c", "exit 7"]);
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    for expected in ["ran\n", ""] {
        let output = run(&["lock", "--once", "1d", "y", "echo", "ran"]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{}", said(&output));
        assert_eq!(output.status.code(), Some(0));
    }
    let status = run(&["lock", "x", "cat", "/proc/self/status"]).stdout;
    let status = String::from_utf8(status).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    assert_eq!(ignored >> (Signal::SIGCHLD as u32 - 1) & 1, 0, "the command hears of its children");
}

#[test]
fn a_waiter_dies_of_a_signal_unless_it_was_told_to_ignore_it() {
    let world = World::new();
    let _held = world.client().lock("x").unwrap();
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGUSR1] {
        let mut waiter = world.start(&["lock", "x", "touch", "ran"]);
        eventually("it to wait", || (world.status("x").waiters.len() == 1).then_some(()));
        waiter.signal(signal);
        assert_eq!(waiter.wait().signal(), Some(signal as i32));
        assert!(world.status("x").waiters.is_empty());
    }
    // As by nohup.
    let mut deaf = ignoring(&world, "HUP", &["lock", "x", "touch", "ran"]);
    let mut waiter = Running(deaf.stderr(Stdio::null()).spawn().unwrap());
    eventually("it to wait", || (world.status("x").waiters.len() == 1).then_some(()));
    waiter.signal(Signal::SIGHUP);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(waiter.0.try_wait().unwrap(), None);
    assert_eq!(world.status("x").waiters.len(), 1);
    waiter.signal(Signal::SIGTERM);
    assert_eq!(waiter.wait().signal(), Some(15));
    assert!(!world.file("ran").exists());
}

/// The first process of a container: the kernel does not end it by a signal that it has no handler
/// for.
#[test]
fn a_waiter_that_is_process_1_ends_when_it_is_told_to() {
    let world = World::new();
    let _held = world.client().lock("x").unwrap();
    let plain = world.conclave(&["lock", "x", "touch", "ran"]);
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--pid", "--fork", "--"]).arg(plain.get_program());
    command.args(plain.get_args()).env("CONCLAVE_DIR", world.locks()).env_remove("CONCLAVE_AT");
    command.current_dir(world.directory.path());
    command.env("HOME", world.directory.path()).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut container = Running(command.spawn().expect("unshare, of util-linux"));
    let outside = container.pid();
    let inside = eventually("the first process", || {
        if container.0.try_wait().unwrap().is_some() {
            return Some(None);
        }
        let children = format!("/proc/{outside}/task/{outside}/children");
        let pid = std::fs::read_to_string(children).ok()?.trim().parse().ok()?;
        (world.status("x").waiters.len() == 1).then_some(Some(Pid::from_raw(pid)))
    });
    let Some(inside) = inside else {
        return eprintln!("no namespaces here, nothing was shown: {}", container.finish().1);
    };
    kill(inside, Signal::SIGTERM).unwrap();
    assert_eq!(container.wait().code(), Some(143));
    assert!(world.status("x").waiters.is_empty());
}

#[test]
fn a_loss_ends_the_shortest_hold() {
    let world = World::new();
    let wrapper = world.start(&["lock", "--min-hold", "600", "x", "-c", "echo done > done"]);
    world.wait_for_file("done");
    assert_eq!(world.code(&["unlock", "--force", "x"]), Some(0));
    let (status, said) = wrapper.finish();
    assert_eq!(status.code(), Some(75), "{said}");
    assert!(said.contains("lock lost: it was taken away by force"), "{said}");
}

#[test]
fn a_signal_ends_the_shortest_hold() {
    let world = World::new();
    let text = "echo $$ > child";
    let mut wrapper = world.start(&["lock", "--min-hold", "600", "x", "-c", text]);
    wait_until_dead(read_pid(&world.file("child")));
    // As long as the wrapper has not seen that, signals go to the command.
    eventually("the end", || {
        wrapper.signal(Signal::SIGTERM);
        wrapper.0.try_wait().unwrap()
    });
    assert_eq!(wrapper.wait().signal(), Some(15));
    world.wait_until_free("x");
}

#[test]
fn the_guard_can_be_read_in_a_list_of_processes() {
    let world = World::new();
    let wrapper = world.start(&["lock", "x", "-c", "echo > in; exec sleep 60"]);
    world.wait_for_file("in");
    let pid = wrapper.pid();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let lines: Vec<String> = children
        .split_whitespace()
        .map(|child| std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap())
        .collect();
    let guard = lines.iter().find(|line| line.starts_with("conclave-guard\0")).unwrap();
    assert!(guard.contains(&format!("\0wrapper={pid}\0kill-after=10000ms\0")), "{guard:?}");
}
