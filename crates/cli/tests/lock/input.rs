//! Bad input: one clear line, the right code, no panic.

use super::*;

#[test]
fn bad_input_is_answered_in_one_line_and_64() {
    let world = World::new();
    let long_name = "x".repeat(256);
    let long_label = "x".repeat(129);
    let long_value = "x".repeat(1025);
    let cases: &[&[&str]] = &[
        &["lock"],
        &["lock", "x"],
        &["lock", "x", "--"],
        &["lock", "", "true"],
        &["lock", &long_name, "true"],
        &["lock", "--label", &long_label, "x", "true"],
        &["lock", "-w", "soon", "x", "true"],
        &["lock", "-w", "-1", "x", "true"],
        &["lock", "-E", "-1", "x", "true"],
        &["lock", "--slots", "-1", "x", "true"],
        &["lock", "x", "--", ""],
        &["once"],
        &["lock", "-E", "300", "x", "true"],
        &["lock", "-E", "many", "x", "true"],
        &["lock", "--ttl", "1", "x", "true"],
        &["lock", "--slots", "0", "x", "true"],
        &["lock", "--slots", "two", "x", "true"],
        &["lock", "-s", "--slots", "2", "x", "true"],
        &["lock", "--once", "0", "x", "true"],
        &["lock", "--once", "daily", "x", "true"],
        &["lock", "--once", "1h", "-s", "x", "true"],
        &["lock", "--kill-after", "x", "x", "true"],
        &["lock", "--on-lost", "", "x", "true"],
        &["lock", "--no-such-option", "x", "true"],
        &["lock", "x", "--no-such-option"],
        &["lock", "x", "-c"],
        &["lock", "-c", "true", "x", "true"],
        &["lock", "--engine", "local", "x", "true"],
        &["lock", "--at", "local:a", "--dir", "b", "x", "true"],
        &["lock", "--at", "", "x", "true"],
        &["lock", "--at", "/var/lib/x", "x", "true"],
        &["lock", "--at", "consul://h", "x", "true"],
        &["lock", "--at", "local:~/locks", "x", "true"],
        &["lock", "--at", "etcd://", "x", "true"],
        &["lock", "--at", "etcd://h:0", "x", "true"],
        &["lock", "--at", "etcd://a,,b", "x", "true"],
        &["lock", "--at", "etcd://h?x", "x", "true"],
        &["lock", "--dir", "", "x", "true"],
        &["lock", "--cacert", "f", "x", "true"],
        &["lock", "--connect-timeout", "2", "x", "true"],
        &["lock", "--at", "etcd://h", "--connect-timeout", "0", "x", "true"],
        &["lock", "--at", "etcd://h", "--connect-timeout", "-1", "x", "true"],
        &["lock", "--at", "etcd://h", "--allow-network-fs", "x", "true"],
        &["lock", "--at", "etcd://h", "--cacert", "/no/such/file", "x", "true"],
        &["lock", "--at", "etcd://h", "--user", "u", "x", "true"],
        &["elect", "--value", &long_value, "x", "true"],
        &["elect", "--slots", "2", "x", "true"],
        &["observe"],
        &["observe", ""],
        &["locks", "--engine", "local"],
        &["locks", "--at", "zookeeper:"],
        &["unlock", "x"],
        &["unlock", "--force"],
        &["unlock", "--force", "--fence", "one", "x"],
        &["unlock", "--force", "--pid", "0", "x"],
        &["unlock", "--force", "--pid", "-1", "x"],
        &["unlock", "--force", "--pid", "7@", "x"],
        &["unlock", "--force", "--pid", "7", "--fence", "1", "x"],
        &["fence"],
        &["fence", "check", "x"],
        &["fence", "check", "x", "-1"],
        &["fence", "check", "x", "seven"],
    ];
    for words in cases {
        let output = world.run(words);
        let said = said(&output);
        if words.len() == 1 && words[0] == "fence" {
            // A command without its subcommand shows what there is.
            assert!(said.contains("Usage:"), "{said}");
            continue;
        }
        assert_eq!(output.status.code(), Some(64), "{words:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{words:?}: {said}");
        assert!(said.starts_with("conclave: ") && !said.contains("panicked"), "{words:?}: {said}");
    }
}

#[test]
fn names_may_be_anything() {
    let world = World::new();
    for name in ["/", "..", "../../etc/passwd", "a b", "ü", "-dash", "A", "a", "~", "\n", "*"] {
        let words: &[&str] = &["lock", "--", name, "true"];
        let output = world.run(words);
        assert_eq!(output.status.code(), Some(0), "{name:?}: {}", said(&output));
    }
    let files = std::fs::read_dir(world.locks()).unwrap().count();
    assert_eq!(files, 11, "each has its own, and nothing is anywhere else");
}

/// The directory that `conclave locks` looks into, with those words and variables.
fn looks_at(world: &World, words: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = world.conclave(&["locks", "--json"]);
    command.args(words).env_remove("CONCLAVE_DIR").envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["engine"], "local");
    let directory = json["at"].as_str().unwrap().strip_prefix("local:").unwrap();
    let root = world.directory.path().canonicalize().unwrap();
    Path::new(directory).strip_prefix(root).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn the_option_goes_before_the_variable_and_that_before_the_file() {
    let world = World::new();
    let path = |name: &str| world.file(name).to_str().unwrap().to_owned();
    let at = format!("local:{}", path("by-at"));
    let dir = path("by-dir");
    assert_eq!(looks_at(&world, &[], &[]), ".local/state/conclave");
    std::fs::create_dir(world.file(".config")).unwrap();
    let config = |text: String| std::fs::write(world.file(".config/conclave.toml"), text).unwrap();
    config(format!("dir = '{}'", path("by-dir-of-file")));
    assert_eq!(looks_at(&world, &[], &[]), "by-dir-of-file");
    config(format!("at = 'local:{}'", path("by-file")));
    assert_eq!(looks_at(&world, &[], &[]), "by-file");
    assert_eq!(looks_at(&world, &[], &[("CONCLAVE_DIR", &dir)]), "by-file");
    config("at = 'local:'".into());
    assert_eq!(looks_at(&world, &[], &[("CONCLAVE_DIR", &dir)]), "by-dir");
    let both = [("CONCLAVE_AT", &at[..]), ("CONCLAVE_DIR", &dir)];
    assert_eq!(looks_at(&world, &[], &both), "by-at");
    assert_eq!(looks_at(&world, &["--at", "local:"], &both), "by-dir");
    assert_eq!(looks_at(&world, &["--at", "local:here"], &both), "here");
    assert_eq!(looks_at(&world, &["--dir", "there"], &both), "there");
}

#[test]
fn what_is_configured_is_not_silently_replaced_by_locks_of_this_machine() {
    let world = World::new();
    let output = world.conclave(&["lock", "x", "true"]).env("CONCLAVE_AT", "").output().unwrap();
    assert_eq!(output.status.code(), Some(64), "{}", said(&output));
    assert!(said(&output).contains("$CONCLAVE_AT is empty"), "{}", said(&output));
    std::fs::create_dir(world.file(".config")).unwrap();
    for scheme in ["zookeeper:h", "postgres:h", "group:h", "cell:h"] {
        let engine = scheme.split(':').next().unwrap();
        let expected = format!("the engine {engine} is not there yet");
        let mut command = world.conclave(&["lock", "x", "true"]);
        let output = command.env("CONCLAVE_AT", scheme).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{}", said(&output));
        assert!(said(&output).contains(&expected), "{}", said(&output));
        let config = world.file(".config/conclave.toml");
        std::fs::write(&config, format!("at = '{scheme}'\n")).unwrap();
        let output = world.run(&["lock", "x", "true"]);
        assert_eq!(output.status.code(), Some(64));
        assert!(said(&output).contains(&expected), "{}", said(&output));
        assert_eq!(world.code(&["lock", "--at", "local:", "x", "true"]), Some(0));
        std::fs::remove_file(&config).unwrap();
    }
}

#[test]
fn a_password_in_a_url_is_refused_and_shown_nowhere() {
    let world = World::new();
    std::fs::create_dir(world.file(".config")).unwrap();
    let config = world.file(".config/conclave.toml");
    for url in ["etcd://root:hunter2@h/p", "etcd://h/p/hunter2@", "etcds://root:hunter2@h"] {
        std::fs::write(&config, format!("at = '{url}'\n")).unwrap();
        let by_file = world.run(&["lock", "-v", "x", "true"]);
        std::fs::remove_file(&config).unwrap();
        let by_option = world.run(&["locks", "-v", "--at", url]);
        let mut by_variable = world.conclave(&["fence", "check", "x", "1"]);
        let by_variable = by_variable.env("CONCLAVE_AT", url).output().unwrap();
        for output in [by_file, by_option, by_variable] {
            let said = said(&output);
            assert_eq!(output.status.code(), Some(64), "{said}");
            assert!(!said.contains("hunter2") && output.stdout.is_empty(), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
            assert!(said.contains("ETCDCTL_PASSWORD") || url.starts_with("etcds"), "{said}");
        }
    }
    let words = ["locks", "--at", "etcd://h", "--user", "root:hunter2"];
    let output = world.run(&words);
    assert_eq!(output.status.code(), Some(64));
    assert!(!said(&output).contains("hunter2"), "{}", said(&output));
}

#[test]
fn what_a_file_may_not_say_is_refused_with_its_line() {
    let world = World::new();
    std::fs::create_dir(world.file(".config")).unwrap();
    let config = world.file(".config/conclave.toml");
    std::fs::write(config, "at = 'local:'\ncolour = 'red'\n").unwrap();
    let output = world.run(&["lock", "x", "true"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(said(&output).contains("conclave.toml:2: unknown field `colour`"), "{}", said(&output));
}

#[test]
fn a_directory_that_depends_on_where_one_stands_is_refused() {
    let world = World::new();
    let mut command = world.conclave(&["lock", "x", "true"]);
    let output = command.env("CONCLAVE_DIR", "locks").output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert!(said(&output).contains("must be absolute"), "{}", said(&output));
    let mut command = world.conclave(&["lock", "x", "true"]);
    let output = command.env("CONCLAVE_AT", "local:locks").output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert!(said(&output).contains("must be absolute"), "{}", said(&output));
    std::fs::create_dir(world.file(".config")).unwrap();
    std::fs::write(world.file(".config/conclave.toml"), "dir = '~/locks'\n").unwrap();
    let mut command = world.conclave(&["lock", "x", "true"]);
    assert_eq!(command.env_remove("CONCLAVE_DIR").status().unwrap().code(), Some(64));
    let mut command = world.conclave(&["lock", "--dir", "here", "x", "true"]);
    assert_eq!(command.status().unwrap().code(), Some(0), "said here and now it is clear");
}

#[test]
fn who_waits_for_itself_is_told() {
    let world = World::new();
    let inner = format!("{} lock -w 0.1 x true", env!("CARGO_BIN_EXE_conclave"));
    let output = world.run(&["lock", "x", "-c", &inner]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("so it waits for itself"), "{}", said(&output));
}

#[test]
fn verbose_says_which_engine() {
    let world = World::new();
    let output = world.run(&["lock", "-v", "x", "true"]);
    let said = said(&output);
    assert!(said.starts_with("conclave: locks at local:/"), "{said}");
    assert!(said.contains("/locks (this machine only)\n"), "{said}");
    assert!(said.contains("lock x acquired after "), "{said}");
}

#[test]
fn a_damaged_state_file_is_refused_with_its_name_and_left_alone() {
    let world = World::new();
    assert_eq!(world.code(&["lock", "x", "true"]), Some(0));
    let file = std::fs::read_dir(world.locks()).unwrap().next().unwrap().unwrap().path();
    for bytes in [&b""[..], b"something else", &[0; 8192]] {
        std::fs::write(&file, bytes).unwrap();
        for words in [&["lock", "x", "true"][..], &["locks"], &["fence", "check", "x", "1"]] {
            let output = world.run(words);
            let said = said(&output);
            assert_eq!(output.status.code(), Some(69), "{words:?}: {said}");
            assert!(said.contains(file.to_str().unwrap()), "{words:?}: {said}");
            assert!(said.contains("it is left as it is"), "{words:?}: {said}");
            assert_eq!(said.lines().count(), 1, "{words:?}: {said}");
        }
        assert_eq!(std::fs::read(&file).unwrap(), bytes);
    }
}

#[test]
fn help_says_first_that_locks_are_of_this_machine() {
    let world = World::new();
    for words in [&["--help"][..], &["lock", "--help"], &["lock", "-h"], &["-h"]] {
        let text = String::from_utf8(world.run(words).stdout).unwrap();
        let end = text.find("Usage:").unwrap_or(text.len());
        assert!(text[..end].contains("THIS MACHINE ONLY"), "{words:?}: {text}");
    }
}

#[test]
fn help_of_every_command_has_variables_and_exit_codes() {
    let world = World::new();
    for command in ["lock", "elect", "observe", "locks", "unlock", "fence check"] {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let text = String::from_utf8(world.run(&words).stdout).unwrap();
        for word in ["CONCLAVE_AT", "CONCLAVE_DIR", "ETCDCTL_USER", "ETCDCTL_CACERT", "-v says"] {
            assert!(text.contains(word), "{command} has no {word}: {text}");
        }
        assert!(text.to_lowercase().contains("exit codes"), "{command}: {text}");
    }
}

#[test]
fn a_directory_in_memory_is_told_unless_that_is_allowed() {
    let world = World::new();
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return };
    let directory = memory.path().to_str().unwrap();
    let output = world.run(&["lock", "--dir", directory, "x", "true"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("is in memory: a restart"), "{}", said(&output));
    let output = world.run(&["lock", "--allow-volatile", "--dir", directory, "x", "true"]);
    assert_eq!(said(&output), "");
}
