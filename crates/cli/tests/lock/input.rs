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
        &["lock", "--engine", "etcd", "x", "true"],
        &["elect", "--value", &long_value, "x", "true"],
        &["elect", "--slots", "2", "x", "true"],
        &["observe"],
        &["observe", ""],
        &["locks", "--engine", "etcd"],
        &["unlock", "x"],
        &["unlock", "--force"],
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

#[test]
fn a_cell_that_is_configured_is_not_silently_replaced_by_locks_of_this_machine() {
    let world = World::new();
    let mut command = world.conclave(&["lock", "x", "true"]);
    let output = command.env("CONCLAVE_CELL", "a:1,b:1,c:1").output().unwrap();
    assert_eq!(output.status.code(), Some(69), "{}", said(&output));
    assert!(said(&output).contains("$CONCLAVE_CELL names a cell"), "{}", said(&output));
    let mut command = world.conclave(&["lock", "--engine", "local", "x", "true"]);
    assert_eq!(command.env("CONCLAVE_CELL", "a:1").status().unwrap().code(), Some(0));

    let config = world.file(".config");
    std::fs::create_dir(&config).unwrap();
    std::fs::write(config.join("conclave.toml"), "cell = 'a:1'\n").unwrap();
    let output = world.run(&["lock", "x", "true"]);
    assert_eq!(output.status.code(), Some(69));
    assert!(said(&output).contains(".config/conclave.toml names a cell"), "{}", said(&output));
    std::fs::write(config.join("conclave.toml"), "engine = 'local'\ncolour = 'red'\n").unwrap();
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
    assert!(said(&output).contains("it waits for itself"), "{}", said(&output));
}

#[test]
fn verbose_says_which_engine() {
    let world = World::new();
    let output = world.run(&["lock", "-v", "x", "true"]);
    let said = said(&output);
    assert!(said.starts_with("conclave: engine local (this machine only), in "), "{said}");
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
