//! `conclave locks`, `unlock --force` and `fence check`.

use conclave_client::Request;

use super::*;

#[test]
fn holders_and_waiters_are_listed_with_fence_and_label() {
    let world = World::new();
    assert!(
        String::from_utf8(world.run(&["locks"]).stdout).unwrap().starts_with("no lock is held")
    );
    let request = Request::lock("a\tb").unwrap().shared().labelled("report\x1b[2J").unwrap();
    let held = world.client().lock(request).unwrap();
    let _waiting = world.start(&["lock", "--label", "backup", "a\tb", "true"]);
    eventually("it to wait", || (world.status("a\tb").waiters.len() == 1).then_some(()));
    let listed = String::from_utf8(world.run(&["locks"]).stdout).unwrap();
    assert!(!listed.contains('\x1b') && !listed.contains('\t'), "{listed:?}");
    let lines: Vec<&str> = listed.lines().collect();
    let [head, holder, waiter] = lines[..] else { panic!("{listed}") };
    assert!(head.contains("NAME") && head.contains("FENCE") && head.contains("SINCE"), "{head}");
    assert!(holder.contains("held shared") && holder.contains("report [2J"), "{holder}");
    assert!(waiter.contains("waits, 1.") && waiter.contains("backup"), "{waiter}");

    let json = world.run(&["locks", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["engine"], "local");
    let at = format!("local:{}", world.locks().canonicalize().unwrap().display());
    assert_eq!(json["at"], at);
    assert_eq!(
        said(&world.run(&["locks"])),
        format!("conclave: locks at {at} (this machine only)\n")
    );
    let lock = &json["locks"][0];
    assert_eq!(lock["name"], "a\tb");
    assert_eq!(lock["holders"][0]["fence"], held.fence().to_string());
    assert_eq!(lock["holders"][0]["pid"], std::process::id());
    assert_eq!(lock["waiters"][0]["label"], "backup");
    assert_eq!(undocumented(&json), Vec::<String>::new());
}

#[test]
fn a_fence_is_current_only_while_it_is_held() {
    let world = World::new();
    let check = |fence: &str| {
        let output = world.run(&["fence", "check", "x", fence]);
        (output.status.code(), said(&output))
    };
    assert_eq!(check("1").0, Some(1), "never given out");
    let first = world.client().lock("x").unwrap();
    assert_eq!(check("1"), (Some(0), String::new()));
    assert!(check("2").1.contains("fence 2 was never given out; none above 1 was"));
    drop(first);
    assert!(check("1").1.contains("fence 1 is late: it was let go"));
    let _second = world.client().lock("x").unwrap();
    let (code, line) = check("1");
    assert_eq!(code, Some(1));
    assert!(
        line.contains("fence 1 is late: pid ") && line.contains(" holds it with fence 2"),
        "{line}"
    );
}

#[test]
fn a_forced_unlock_wakes_the_next_waiter_and_is_written_down() {
    let world = World::new();
    let held = world.client().lock(Request::lock("x").unwrap().labelled("stuck").unwrap()).unwrap();
    let waiting = world.start(&["lock", "x", "true"]);
    eventually("it to wait", || (world.status("x").waiters.len() == 1).then_some(()));
    let output = world.run(&["unlock", "x"]);
    assert_eq!(output.status.code(), Some(64), "not without --force");
    assert!(!held.is_lost());
    let output = world.run(&["unlock", "--force", "x"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(said(&output).contains("lock x taken away from stuck (pid "), "{}", said(&output));
    assert_eq!(waiting.finish().0.code(), Some(0));
    let audit = std::fs::read_to_string(world.locks().join("audit.log")).unwrap();
    assert!(audit.contains(" forced lock x: fence 1 of stuck (pid "), "{audit}");
    assert_eq!(world.code(&["unlock", "--force", "x"]), Some(1), "nobody holds it any more");
}

#[test]
fn one_of_several_holders_can_be_meant() {
    let world = World::new();
    let client = world.client();
    let request = || Request::lock("x").unwrap().shared();
    let (one, two) = (client.lock(request()).unwrap(), client.lock(request()).unwrap());
    let fence = two.fence().to_string();
    let output = world.run(&["unlock", "--force", "--fence", "7", "x"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("nobody holds lock x with fence 7"), "{}", said(&output));
    assert_eq!(world.code(&["unlock", "--force", "--fence", &fence, "x"]), Some(0));
    assert!(!world.status("x").is_current(two.fence()));
    assert!(world.status("x").is_current(one.fence()));

    let output = world.run(&["unlock", "--force", "--pid", "1@elsewhere", "x"]);
    assert_eq!(output.status.code(), Some(1));
    let expected = "pid 1 on elsewhere neither holds lock x nor waits for it";
    assert!(said(&output).contains(expected), "{}", said(&output));
    let ours = std::process::id().to_string();
    assert_eq!(world.code(&["unlock", "--force", "--pid", &ours, "x"]), Some(0));
    assert!(!world.status("x").is_current(one.fence()));
}

#[test]
fn a_name_is_shown_whatever_is_wrong_with_others() {
    let world = World::new();
    assert_eq!(world.code(&["lock", "bad", "true"]), Some(0));
    let file = std::fs::read_dir(world.locks()).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, "something else").unwrap();
    let held = world.client().lock("good").unwrap();
    let output = world.run(&["locks", "good"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let listed = String::from_utf8(output.stdout).unwrap();
    assert!(listed.contains("good") && listed.contains("held"), "{listed}");
    assert_eq!(world.code(&["locks", "bad"]), Some(69));
    assert_eq!(world.code(&["locks"]), Some(69));
    drop(held);
    let listed = String::from_utf8(world.run(&["locks", "good"]).stdout).unwrap();
    assert!(listed.contains("free"), "{listed}");
    let listed = String::from_utf8(world.run(&["locks", "other"]).stdout).unwrap();
    assert!(listed.starts_with("nobody ever held other: locks at local:/"), "{listed}");
    assert_eq!(world.code(&["elect", "good", "true"]), Some(0));
    let listed = String::from_utf8(world.run(&["locks", "good"]).stdout).unwrap();
    assert!(listed.contains("good (election)"), "{listed}");
}

#[test]
fn a_fence_that_cannot_be_asked_for_is_unknown_and_not_late() {
    let world = World::new();
    std::fs::write(world.file("locks"), "no directory").unwrap();
    assert_eq!(world.code(&["fence", "check", "x", "1"]), Some(69));
}

#[test]
fn a_conclave_within_a_command_means_the_same_locks() {
    let world = World::new();
    let inner = format!("CONCLAVE_DIR= {} lock -n x true", env!("CARGO_BIN_EXE_conclave"));
    let output = world.run(&["lock", "--at", "local:elsewhere", "x", "-c", &inner]);
    assert_eq!(output.status.code(), Some(1), "it is taken: {}", said(&output));
    let seen = world.run(&["lock", "x", "-c", "test \"local:$CONCLAVE_DIR\" = \"$CONCLAVE_AT\""]);
    assert_eq!(seen.status.code(), Some(0));
}

#[test]
fn a_stopped_waiter_is_shown_as_such() {
    let world = World::new();
    let _held = world.client().lock("x").unwrap();
    let waiter = world.start(&["lock", "x", "true"]);
    eventually("it to wait", || (world.status("x").waiters.len() == 1).then_some(()));
    waiter.signal(Signal::SIGSTOP);
    eventually("it to be shown", || {
        let listed = String::from_utf8(world.run(&["locks"]).stdout).unwrap();
        listed.contains("waits, 1. stopped").then_some(())
    });
}

#[test]
fn an_output_that_cannot_be_written_is_said() {
    let world = World::new();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = world.conclave(&["locks"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(69));
    assert!(said(&output).starts_with("conclave: cannot write the output: "), "{}", said(&output));
}

#[test]
fn completions_and_man_pages_are_there_for_every_command() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = String::from_utf8(world.run(&["completions", shell]).stdout).unwrap();
        assert!(text.contains("kill-after") && text.contains("voting-sets"), "{shell}");
    }
    assert_eq!(world.code(&["man", "pages"]), Some(0));
    let page = |name: &str| std::fs::read_to_string(world.file("pages").join(name)).unwrap();
    assert!(page("conclave-lock.1").contains("Exit codes"));
    assert!(page("conclave.1").contains("THIS MACHINE ONLY"));
    assert!(page("conclave-fence-check.1").contains("CONCLAVE_FENCE"));
}
