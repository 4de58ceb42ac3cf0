//! Giving up, holding without a command, leftovers, sharing.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::{World, pause, said};

/// Of those who wait in these tests. What is gone much sooner was not left to lapse.
const TTL: &str = "60";

#[test]
fn who_gives_up_has_left_the_queue_at_once() {
    let Some(world) = World::shared() else { return };
    let holder = world.start(&["lock", "x", "--", "sleep", "1000"]);
    world.wait_for_queue("x", 1);
    let begun = Instant::now();
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let waiter = world.start(&["lock", "--ttl", TTL, "x", "--", "true"]);
        world.wait_for_queue("x", 2);
        waiter.signal(signal);
        let (code_seen, said) = waiter.finish_as_shell();
        assert_eq!((code_seen, &*said), (Some(code), ""));
        assert_eq!(world.queue("x").len(), 1, "its key is gone when it has ended");
    }
    for (words, least) in [(&["-w", "1"][..], 1.0), (&["-n"], 0.0)] {
        let start = Instant::now();
        let words = [&["lock", "--ttl", TTL][..], words, &["x", "--", "true"]].concat();
        let output = world.run(&words);
        assert_eq!((output.status.code(), &*said(&output)), (Some(1), ""), "{words:?}");
        let took = start.elapsed().as_secs_f64();
        assert!(took >= least && took < least + 5.0, "{words:?} took {took} s");
        assert_eq!(world.queue("x").len(), 1);
    }
    assert!(begun.elapsed() < Duration::from_secs(40), "nothing of it was left to lapse");
    holder.signal(Signal::SIGTERM);
    assert_eq!(holder.finish().0, Some(143));
    assert_eq!(world.keys(), Vec::<String>::new());
    assert!(world.etcdctl(&["get", "nothing"]).is_empty());
}

#[test]
fn a_part_of_a_script_holds_a_lock_by_a_descriptor() {
    let Some(world) = World::shared() else { return };
    let script = r#"
        exec 9< <("$CONCLAVE" lock --ttl 5 x --hold) || exit 91
        read -u 9 held fence || exit 92
        [ "$held" = held ] && "$CONCLAVE" fence check x "$fence" || exit 93
        "$CONCLAVE" lock -n x -- true && exit 94
        exec 9<&-
        "$CONCLAVE" lock -w 20 x -- true || exit 95"#;
    let mut bash = world.prepared(std::process::Command::new("bash"), &["-c", script]);
    let output = bash.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));

    let holder = world.start(&["lock", "x", "--hold"]);
    world.wait_for_queue("x", 1);
    holder.signal(Signal::SIGTERM);
    assert_eq!(holder.finish(), (Some(0), String::new()));
    assert_eq!(world.keys(), Vec::<String>::new());
}

#[test]
fn what_a_command_leaves_running_keeps_the_lock_and_the_wrapper_says_so() {
    let Some(world) = World::shared() else { return };
    let script = "(until [ -e go ]; do sleep 0.05; done) & echo $! >child; exit 3";
    let holder = world.start(&["lock", "--ttl", "2", "x", "--", "sh", "-c", script]);
    let child = world.wait_for_file("child");
    // Longer than the time to live.
    pause(3.0);
    assert_eq!(world.run(&["lock", "-n", "x", "--", "true"]).status.code(), Some(1));
    world.write("go", "");
    let (code, said) = holder.finish();
    let line = "conclave: lock x stays held: what the command started still runs (pid ";
    assert_eq!((code, said), (Some(3), format!("{line}{child})\n")));
    assert_eq!(world.run(&["lock", "-n", "x", "--", "true"]).status.code(), Some(0));
}

#[test]
fn readers_hold_together_and_slots_are_as_many_as_was_said() {
    let Some(world) = World::shared() else { return };
    for (name, mode) in [("readers", &["-s"][..]), ("slots", &["--slots", "2"])] {
        let lock = |options: &[&str], command: &[&str]| {
            world.conclave(&[&["lock"], options, mode, &[name, "--"], command].concat())
        };
        let holders = [0, 1].map(|number| {
            let script = format!("echo >{name}-{number}; exec sleep 1000");
            world.launch(lock(&[], &["sh", "-c", &script]))
        });
        for number in [0, 1] {
            world.wait_for_file(&format!("{name}-{number}"));
        }
        let third = lock(&["-n"], &["true"]).status().unwrap().code();
        assert_eq!(third, Some(if name == "readers" { 0 } else { 1 }), "{name}");
        if name == "readers" {
            let writer = world.run(&["lock", "-n", name, "--", "true"]);
            assert_eq!(writer.status.code(), Some(1));
        }
        for holder in holders {
            holder.signal(Signal::SIGTERM);
            assert_eq!(holder.finish().0, Some(143));
        }
    }
    assert_eq!(world.keys(), Vec::<String>::new());
}
