//! The wrapper on a terminal, which `script` from util-linux provides.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::scene::{Options, Scene, state, status, wait_until};

/// Somebody who types at a terminal. When dropped, the terminal hangs up.
struct Typist {
    script: Child,
}

impl Typist {
    /// None if there is no `script` program.
    fn at(scene: &Scene, command: &str) -> Option<Self> {
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--command", command, "/dev/null"]);
        script.current_dir(&scene.directory).env("SHELL", "/bin/sh").env("PS1", "$ ");
        script.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = script.spawn();
        if started.is_err() {
            println!("skipped: there is no `script` program to get a terminal from");
        }
        started.ok().map(|script| Self { script })
    }

    fn types(&mut self, keys: &str) {
        let keyboard = self.script.stdin.as_mut().unwrap();
        keyboard.write_all(keys.as_bytes()).unwrap();
        keyboard.flush().unwrap();
    }
}

impl Drop for Typist {
    fn drop(&mut self) {
        drop(self.script.stdin.take());
        let pid = Pid::from_raw(i32::try_from(self.script.id()).unwrap());
        let _ = kill(pid, Signal::SIGTERM);
        let _ = self.script.wait();
    }
}

/// The words as the shell has to read them.
fn quoted(words: &[String]) -> String {
    let quote = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

fn group(pid: Pid) -> Option<String> {
    status(pid).map(|fields| fields[2].clone())
}

/// Whether the process is in the foreground of its terminal.
fn is_in_front(pid: Pid) -> bool {
    status(pid).is_some_and(|fields| fields[2] == fields[5])
}

fn parent(pid: Pid) -> Pid {
    Pid::from_raw(status(pid).unwrap()[1].parse().unwrap())
}

const READER: &str = "echo $$ > child.pid; read line; echo \"got $line\" > answer";

pub fn the_command_reads_from_the_terminal() {
    let scene = Scene::new();
    let words = scene.wrapper_words(Options::default(), &["sh", "-c", READER]);
    let Some(mut typist) = Typist::at(&scene, &quoted(&words)) else { return };
    let child = scene.pid("child");
    wait_until("the command has the terminal", || is_in_front(child));
    assert_ne!(group(child), group(parent(child)), "in a group of its own");
    typist.types("hello\n");
    wait_until("the command has ended", || !scene.read("report").is_empty());
    assert_eq!(scene.read("answer"), "got hello");
    assert_eq!(scene.read("report"), "Exited(0) lost=false lingers=false");
}

pub fn the_terminal_is_not_taken_unasked() {
    let scene = Scene::new();
    let script = "echo hello; echo $$ > child.pid; while [ ! -e go ]; do sleep 0.01; done";
    let words = scene.wrapper_words(Options::default(), &["sh", "-c", script]);
    let Some(mut typist) = Typist::at(&scene, &quoted(&words)) else { return };
    let child = scene.pid("child");
    assert!(is_in_front(parent(child)) && !is_in_front(child));
    // Ctrl-C comes to the wrapper, which passes it on.
    typist.types("\x03");
    wait_until("the command has ended", || !scene.read("report").is_empty());
    assert_eq!(scene.read("report"), "Signalled(2) lost=false lingers=false");
}

pub fn a_suspended_command_is_a_stopped_job() {
    let scene = Scene::new();
    let Some(mut typist) = Typist::at(&scene, "exec sh -i") else { return };
    let words = scene.wrapper_words(Options::default(), &["sh", "-c", READER]);
    typist.types(&format!("{}\n", quoted(&words)));
    let child = scene.pid("child");
    wait_until("the command has the terminal", || is_in_front(child));
    let wrapper = parent(child);
    let shell = parent(wrapper);

    typist.types("\x1a");
    wait_until("the shell has the terminal", || is_in_front(shell));
    assert_eq!((state(wrapper).as_str(), state(child).as_str()), ("T", "T"));

    // In the background it may not read: it stops again, and the shell hears of it.
    typist.types("bg; echo $$ > shell.pid\n");
    scene.pid("shell");
    wait_until("both are stopped", || state(wrapper) == "T" && state(child) == "T");

    typist.types("fg\n");
    wait_until("the command has the terminal", || is_in_front(child));
    typist.types("hello\n");
    wait_until("the shell has the terminal", || is_in_front(shell));
    assert_eq!(scene.read("answer"), "got hello");
    assert_eq!(scene.read("report"), "Exited(0) lost=false lingers=false");
}
