//! What users of flock(1) are used to.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn with_close_what_the_command_leaves_running_does_not_keep_the_lock() {
    let world = World::new();
    let text = "sleep 60 & echo $! > left; exit 3";
    assert_eq!(world.code(&["lock", "-o", "x", "-c", text]), Some(3));
    let left = read_pid(&world.file("left"));
    assert_eq!(world.code(&["lock", "-n", "x", "true"]), Some(0));
    assert!(is_alive(left));
    kill(Pid::from_raw(left), Signal::SIGKILL).unwrap();
}

#[test]
fn without_close_it_does_and_that_is_said() {
    let world = World::new();
    let mut command =
        world.conclave(&["lock", "x", "-c", "sleep 60 2>&1 >&- & echo $! > left; exit 3"]);
    let said = std::fs::File::create(world.file("said")).unwrap();
    let status = command.stdout(Stdio::null()).stderr(said).status().unwrap();
    assert_eq!(status.code(), Some(3));
    let left = read_pid(&world.file("left"));
    let line = std::fs::read_to_string(world.file("said")).unwrap();
    let expected =
        format!("conclave: lock x stays held: what the command started still runs (pid {left})\n");
    assert_eq!(line, expected);
    assert_eq!(world.code(&["lock", "-n", "x", "true"]), Some(1));
    kill(Pid::from_raw(left), Signal::SIGKILL).unwrap();
    world.wait_until_free("x");
}

#[test]
fn the_text_of_c_is_for_the_users_shell() {
    let world = World::new();
    std::fs::write(world.file("shell"), "#!/bin/sh\necho \"mine: $*\"\n").unwrap();
    std::fs::set_permissions(world.file("shell"), PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = world.conclave(&["lock", "x", "-c", "some text"]);
    let output = command.env("SHELL", world.file("shell")).output().unwrap();
    assert_eq!(output.stdout, b"mine: -c some text\n", "{}", said(&output));
    for without in ["", "/bin/sh"] {
        let mut command = world.conclave(&["lock", "x", "-c", "echo $0"]);
        let output = command.env("SHELL", without).output().unwrap();
        assert_eq!(output.stdout, b"/bin/sh\n");
    }
}

#[test]
fn a_script_that_does_not_say_whose_it_is_is_found_on_the_path_and_run_by_sh() {
    let world = World::new();
    std::fs::write(world.file("script"), "echo \"$0 $*\"\n").unwrap();
    std::fs::set_permissions(world.file("script"), PermissionsExt::from_mode(0o755)).unwrap();
    let here = world.directory.path().to_str().unwrap().to_owned();
    let mut command = world.conclave(&["lock", "x", "script", "a b"]);
    let path = format!("/nowhere:{here}:{}", std::env::var("PATH").unwrap());
    let output = command.env("PATH", path).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{here}/script a b\n"));
}

#[test]
fn its_options_are_known_or_answered() {
    let world = World::new();
    let held = world.client().lock("x").unwrap();
    assert_eq!(world.code(&["lock", "--nonblocking", "x", "true"]), Some(1));
    assert_eq!(world.code(&["lock", "--nb", "x", "true"]), Some(1));
    assert_eq!(world.code(&["lock", "-w", "60", "-n", "x", "true"]), Some(1), "-n is stronger");
    assert_eq!(world.code(&["lock", "-n", "-w", "60", "x", "true"]), Some(1));
    drop(held);
    assert_eq!(world.code(&["lock", "-s", "-x", "-e", "x", "true"]), Some(0));
    let together = world.start(&["lock", "-x", "-s", "x", "-c", "echo > in; exec sleep 60"]);
    world.wait_for_file("in");
    assert_eq!(world.code(&["lock", "-n", "-x", "-s", "x", "true"]), Some(0), "the last counts");
    assert_eq!(world.code(&["lock", "-n", "-s", "-x", "x", "true"]), Some(1));
    drop(together);
    let version = world.run(&["lock", "-V"]);
    assert!(version.status.success() && !version.stdout.is_empty());
    for (option, hint) in [
        ("-u", "there is no -u: a lock is let go when its command ends"),
        ("--unlock", "`conclave unlock --force NAME`"),
        ("-F", "there is no -F: conclave has to stay and watch over the command"),
        ("--no-fork", "there is no -F"),
    ] {
        let output = world.run(&["lock", option, "x", "true"]);
        assert_eq!(output.status.code(), Some(64), "{option}");
        assert!(said(&output).contains(hint), "{}", said(&output));
    }
}

#[test]
fn a_time_to_live_is_for_locks_that_lapse() {
    let world = World::new();
    let output = world.run(&["lock", "--ttl", "10", "x", "true"]);
    assert_eq!(output.status.code(), Some(64));
    assert_eq!(said(&output).lines().count(), 1);
    assert!(said(&output).contains("those of local are held until they are let go"));
    for wrong in ["1", "301", "soon", "-3"] {
        assert_eq!(world.code(&["lock", "--ttl", wrong, "x", "true"]), Some(64), "{wrong}");
    }
}
