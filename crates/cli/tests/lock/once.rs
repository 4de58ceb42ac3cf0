//! `--once`: at most one completed run per name and period.

use super::*;

/// Five callers at once, whose clocks differ by two seconds from one to the next.
fn five(world: &World, text: &str) -> Vec<(Option<i32>, String)> {
    let callers: Vec<Running> = [-4, -2, 0, 2, 4]
        .map(|seconds: i32| {
            let mut command = world.conclave(&["lock", "--once", "1h", "nightly", "-c", text]);
            command.env("CONCLAVE_TEST_CLOCK_SKEW_MS", (seconds * 1000).to_string());
            Running(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
        })
        .into();
    let ended = callers.into_iter().map(Running::finish);
    ended.map(|(status, said)| (status.code(), said)).collect()
}

#[test]
fn five_callers_at_once_with_clocks_apart_make_one_run() {
    let world = World::new();
    for _ in 0..2 {
        for (code, _) in five(&world, "echo ran >> log; sleep 0.05") {
            assert_eq!(code, Some(0), "also those who have nothing to do");
        }
        assert_eq!(std::fs::read_to_string(world.file("log")).unwrap(), "ran\n");
    }
    let output = world.run(&["lock", "--once", "1h", "nightly", "false"]);
    assert_eq!(output.status.code(), Some(0));
    let line = said(&output);
    assert!(line.starts_with("conclave: nightly: already run by sh -c echo ran"), "{line}");
    assert!(line.contains(" on ") && line.matches("Z").count() >= 2, "who and when: {line}");
}

#[test]
fn a_run_that_fails_or_dies_does_not_count() {
    let world = World::new();
    assert_eq!(world.code(&["lock", "--once", "1h", "nightly", "-c", "exit 3"]), Some(3));
    let wrapper = world.start(&["lock", "--once", "1h", "nightly", "-c", "echo > in; sleep 60"]);
    world.wait_for_file("in");
    wrapper.signal(Signal::SIGKILL);
    drop(wrapper);
    let output = world.run(&["lock", "--once", "1h", "nightly", "echo", "ran"]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"ran\n"[..]));
}

#[test]
fn the_next_period_has_its_own_run() {
    let world = World::new();
    let run = |skew: &str| {
        let mut command = world.conclave(&["lock", "--once", "1h", "nightly", "echo", "ran"]);
        command.env("CONCLAVE_TEST_CLOCK_SKEW_MS", skew).output().unwrap().stdout
    };
    assert_eq!(run("0"), b"ran\n");
    assert_eq!(run("3000000"), b"", "50 minutes later");
    assert_eq!(run("3599000"), b"ran\n", "a second early: clocks differ, cron is not punctual");
    assert_eq!(run("3600000"), b"", "that was this period's");
    assert_eq!(run("7300000"), b"ran\n");
}

#[test]
fn the_last_run_is_told_and_can_be_forgotten() {
    let world = World::new();
    let never = world.run(&["once", "nightly"]);
    assert_eq!(never.status.code(), Some(1));
    assert_eq!(said(&never), "conclave: nightly: no run is recorded\n");
    assert_eq!(world.code(&["once", "nightly", "--reset"]), Some(1));

    let run = || world.run(&["lock", "--once", "1d", "--label", "me", "nightly", "echo", "ran"]);
    assert_eq!(run().stdout, b"ran\n");
    assert_eq!(run().stdout, b"");
    let told = world.run(&["once", "nightly"]);
    assert_eq!(told.status.code(), Some(0));
    let line = String::from_utf8(told.stdout).unwrap();
    assert!(line.starts_with("nightly: last run by me (pid ") && line.contains("Z to "), "{line}");

    let reset = world.run(&["once", "--reset", "nightly"]);
    assert_eq!(reset.status.code(), Some(0), "{}", said(&reset));
    let line = String::from_utf8(reset.stdout).unwrap();
    assert!(line.starts_with("nightly: forgotten: the run by me (pid "), "{line}");
    assert_eq!(world.code(&["once", "nightly"]), Some(1));
    assert_eq!(run().stdout, b"ran\n");
}

#[test]
fn a_clock_that_was_wrong_is_told_once() {
    let world = World::new();
    let run = |skew: &str| {
        let mut command = world.conclave(&["lock", "--once", "1h", "nightly", "true"]);
        said(&command.env("CONCLAVE_TEST_CLOCK_SKEW_MS", skew).output().unwrap())
    };
    run("99000000");
    assert_eq!(run("0").matches("a clock was wrong, so it is run again").count(), 1);
}
