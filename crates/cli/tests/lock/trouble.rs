//! Deaths, stops, losses, full disks: the rows of the table that other wrappers get wrong.

use super::*;

/// A shell with a grandchild; both write down who they are.
const FAMILY: &str = "sh -c 'echo $$ > grandchild; exec sleep 60' & echo $$ > child; wait";

/// The same, deaf to TERM.
const DEAF_FAMILY: &str = "trap '' TERM; sh -c 'echo $$ > grandchild; exec sleep 60' & \
                           echo $$ > child; while :; do wait; done";

/// Starts a family under the lock.
fn family(world: &World, options: &[&str], text: &str) -> (Running, [i32; 2]) {
    let words = [&["lock"], options, &["x", "-c", text]].concat();
    let wrapper = world.start(&words);
    (wrapper, [read_pid(&world.file("child")), read_pid(&world.file("grandchild"))])
}

/// While a member of the family lives, nobody can take the lock.
fn free_only_when_all_are_dead(world: &World, members: [i32; 2]) {
    let client = world.client();
    eventually("the lock to be free", || {
        let guard = client.try_lock("x").ok()?;
        let alive = members.map(is_alive);
        assert_eq!(alive, [false, false], "the lock is free and one of them lives");
        drop(guard);
        Some(())
    });
}

/// The guard is the other process that has the lock and is nobody of the family.
fn guard_of(world: &World, wrapper: &Running, members: [i32; 2]) -> i32 {
    eventually("the guard", || {
        let listed = world.client().list().unwrap();
        let status = listed.into_iter().next()?.ok()?;
        let pids = status.holder()?.processes.iter().map(|it| i32::try_from(it.pid).unwrap());
        let mut pids = pids.filter(|pid| *pid != wrapper.pid().as_raw() && !members.contains(pid));
        pids.find(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("__guard")
        })
    })
}

#[test]
fn a_killed_wrapper_takes_its_whole_family_along_before_the_lock_is_free() {
    for options in [&[][..], &["-o"][..]] {
        let world = World::new();
        let (wrapper, members) = family(&world, options, FAMILY);
        wrapper.signal(Signal::SIGKILL);
        free_only_when_all_are_dead(&world, members);
    }
}

#[test]
fn a_family_that_is_deaf_to_term_is_killed_and_keeps_the_lock_until_then() {
    let world = World::new();
    let (wrapper, members) = family(&world, &["--kill-after", "0.3"], DEAF_FAMILY);
    wrapper.signal(Signal::SIGKILL);
    free_only_when_all_are_dead(&world, members);
}

#[test]
fn on_loss_the_whole_family_ends() {
    for (options, text) in [
        (&["--kill-after", "60"][..], FAMILY),
        (&["--kill-after", "0.3"][..], DEAF_FAMILY),
        (&["--on-lost", "kill", "--kill-after", "60"][..], DEAF_FAMILY),
        (&["--on-lost", "kill -9 -$CONCLAVE_GROUP"][..], DEAF_FAMILY),
        (&["--on-lost", "true", "--kill-after", "0.3"][..], FAMILY),
    ] {
        let world = World::new();
        let (mut wrapper, members) = family(&world, options, text);
        assert_eq!(world.code(&["unlock", "--force", "x"]), Some(0));
        assert_eq!(wrapper.wait().code(), Some(75), "{options:?}");
        assert_eq!(members.map(is_alive), [false, false], "{options:?}");
    }
}

#[test]
fn a_loss_can_be_ignored() {
    let world = World::new();
    let text = "echo $$ > child; read x < go; exit 5";
    world.make_pipe("go");
    let mut command = world.conclave(&["lock", "--on-lost", "ignore", "x", "-c", text]);
    let said = std::fs::File::create(world.file("said")).unwrap();
    let mut wrapper = Running(command.stdout(Stdio::null()).stderr(said).spawn().unwrap());
    read_pid(&world.file("child"));
    assert_eq!(world.code(&["unlock", "--force", "x"]), Some(0));
    // Taken by another while the first still runs: that is what was asked for.
    assert_eq!(world.code(&["lock", "-w", "10", "x", "true"]), Some(0));
    let line = world.wait_for_file("said");
    assert!(line.contains("lost"), "{line}");
    std::fs::write(world.file("go"), "\n").unwrap();
    assert_eq!(wrapper.wait().code(), Some(5));
}

#[test]
fn a_removed_state_file_is_a_loss() {
    let world = World::new();
    let (mut wrapper, members) = family(&world, &[], FAMILY);
    std::fs::remove_dir_all(world.locks()).unwrap();
    assert_eq!(wrapper.wait().code(), Some(75));
    assert_eq!(members.map(is_alive), [false, false]);
}

#[test]
fn a_stopped_wrapper_keeps_the_lock_and_goes_on_where_it_was() {
    let world = World::new();
    world.make_pipe("go");
    let wrapper = world.start(&["lock", "x", "-c", "echo $$ > child; read x < go; exit 9"]);
    let child = read_pid(&world.file("child"));
    wrapper.signal(Signal::SIGSTOP);
    std::fs::write(world.file("go"), "\n").unwrap();
    wait_until_dead(child);
    assert_eq!(world.code(&["lock", "-n", "x", "true"]), Some(1), "though the command has ended");
    let listed = String::from_utf8(world.run(&["locks"]).stdout).unwrap();
    assert!(listed.contains("stopped"), "{listed}");
    wrapper.signal(Signal::SIGCONT);
    assert_eq!(wrapper.finish().0.code(), Some(9));
    assert_eq!(world.code(&["lock", "-n", "x", "true"]), Some(0));
}

#[test]
fn a_killed_guard_is_replaced_and_the_new_one_does_its_duty() {
    let world = World::new();
    let (wrapper, members) = family(&world, &[], FAMILY);
    let first = guard_of(&world, &wrapper, members);
    kill(Pid::from_raw(first), Signal::SIGKILL).unwrap();
    wait_until_dead(first);
    let second = guard_of(&world, &wrapper, members);
    assert_ne!(first, second);
    assert_eq!(members.map(is_alive), [true, true], "the command is not disturbed");
    wrapper.signal(Signal::SIGKILL);
    free_only_when_all_are_dead(&world, members);
}

#[test]
fn wrapper_and_guard_killed_together_leave_the_lock_with_the_command() {
    let world = World::new();
    let (wrapper, members) = family(&world, &[], FAMILY);
    let guard = guard_of(&world, &wrapper, members);
    // The guard first, and both before it can be replaced.
    wrapper.signal(Signal::SIGSTOP);
    kill(Pid::from_raw(guard), Signal::SIGKILL).unwrap();
    wrapper.signal(Signal::SIGKILL);
    drop(wrapper);
    assert_eq!(world.code(&["lock", "-n", "x", "true"]), Some(1), "the family lives");
    let listed = String::from_utf8(world.run(&["locks"]).stdout).unwrap();
    assert!(
        listed.contains(&format!("gone; held by pid {}", members[0].min(members[1]))),
        "{listed}"
    );
    for member in members {
        kill(Pid::from_raw(member), Signal::SIGKILL).unwrap();
    }
    free_only_when_all_are_dead(&world, members);
}

#[test]
fn what_left_the_group_keeps_the_lock_and_is_named() {
    let world = World::new();
    let text =
        "setsid sh -c 'echo $$ > daemon; exec sleep 60' & while ! test -s daemon; do :; done";
    assert_eq!(world.code(&["lock", "x", "-c", text]), Some(0));
    let daemon = read_pid(&world.file("daemon"));
    assert_eq!(world.code(&["lock", "-n", "x", "true"]), Some(1));
    let listed = String::from_utf8(world.run(&["locks"]).stdout).unwrap();
    assert!(listed.contains(&format!("gone; held by pid {daemon} sleep 60")), "{listed}");
    kill(Pid::from_raw(daemon), Signal::SIGKILL).unwrap();
    world.wait_until_free("x");
}

#[test]
fn with_close_what_left_the_group_does_not_keep_the_lock() {
    let world = World::new();
    let text =
        "setsid sh -c 'echo $$ > daemon; exec sleep 60' & while ! test -s daemon; do :; done";
    assert_eq!(world.code(&["lock", "-o", "x", "-c", text]), Some(0));
    let daemon = read_pid(&world.file("daemon"));
    assert_eq!(world.code(&["lock", "-n", "x", "true"]), Some(0));
    assert!(is_alive(daemon));
    kill(Pid::from_raw(daemon), Signal::SIGKILL).unwrap();
}

#[test]
fn a_member_of_the_group_that_closed_the_descriptor_still_keeps_the_lock() {
    let world = World::new();
    // The shell's own descriptors are closed in the background job, as python's subprocess does.
    let text = "(for f in 3 4 5 6 7 8 9; do eval \"exec $f>&-\"; done; \
                sh -c 'echo $$ > left; exec sleep 60') & while ! test -s left; do :; done";
    assert_eq!(world.code(&["lock", "x", "-c", text]), Some(0));
    let left = read_pid(&world.file("left"));
    assert_eq!(world.code(&["lock", "-n", "x", "true"]), Some(1));
    kill(Pid::from_raw(left), Signal::SIGKILL).unwrap();
    world.wait_until_free("x");
}

/// Runs a script in a mount namespace of its own, where `small` is a file system of 64 KiB.
fn on_a_small_disk(world: &World, script: &str) -> Option<Output> {
    let script = format!("mkdir small && mount -t tmpfs -o size=64k none small && {script}");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "--", "sh", "-c", &script]);
    command.current_dir(world.directory.path()).env("C", env!("CARGO_BIN_EXE_conclave"));
    command.env("HOME", world.directory.path()).env_remove("CONCLAVE_AT");
    let output = command.output().expect("unshare, of util-linux");
    if said(&output).contains("unshare failed") {
        eprintln!("no namespaces here, nothing was shown: {}", said(&output));
        return None;
    }
    Some(output)
}

#[test]
fn a_full_disk_is_said_in_one_line_and_grants_nothing() {
    let world = World::new();
    let fill = "dd if=/dev/zero of=small/fill bs=1k 2>/dev/null";
    let script = format!(
        "$C lock --allow-volatile --dir small old true && {fill}; \
         $C lock --allow-volatile --dir small new touch ran; echo code $?; \
         ls -A small | grep -c new; \
         $C lock --allow-volatile --dir small old true; echo old $?"
    );
    let Some(output) = on_a_small_disk(&world, &script) else { return };
    let out = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(out, "code 69\n0\nold 0\n", "{}", said(&output));
    assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
    assert!(said(&output).contains("No space left on device"), "{}", said(&output));
    assert!(!world.file("ran").exists());
}

#[test]
fn a_read_only_directory_is_said_in_one_line() {
    let world = World::new();
    let script = "$C lock --allow-volatile --dir small old true && mount -o remount,ro small; \
                  $C lock --allow-volatile --dir small new touch ran; echo $?; \
                  $C lock --allow-volatile --dir small old touch ran; echo $?; \
                  $C lock --allow-volatile --dir small/sub new touch ran; echo $?; \
                  $C locks --allow-volatile --dir small; echo $?";
    let Some(output) = on_a_small_disk(&world, script) else { return };
    let out = String::from_utf8(output.stdout.clone()).unwrap();
    let out = out.lines().filter(|line| !line.starts_with("no lock is held")).collect::<Vec<_>>();
    assert_eq!(out, ["69", "69", "69", "0"], "listing needs no writing: {}", said(&output));
    assert_eq!(said(&output).lines().count(), 3, "{}", said(&output));
    assert_eq!(said(&output).matches("Read-only file system").count(), 3, "{}", said(&output));
    assert!(!world.file("ran").exists());
}
