//! A lock that lapses: whatever happens to wrapper and guard, the command's last write comes before
//! the deadline.

use std::fs;
use std::time::Duration;

use conclave_client::BootTime;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::role::{WRITER_WORD, read_moment};
use crate::scene::{Options, Scene, guard_of, lives, send, state, wait_until};

/// How long the lock lasts without news. Long enough to start processes on a busy machine.
const TTL: Duration = Duration::from_secs(3);

/// A part of that for the command to end in.
const NOTICE: Duration = Duration::from_secs(1);

const LAPSING: Options =
    Options { inherit: false, descriptor: false, kill_after: NOTICE, ..Options::LASTING };

impl Scene {
    /// The lock is held for so long from now on.
    fn lasts(&self, ttl: Duration) -> BootTime {
        let deadline = BootTime::now().plus(ttl);
        let new = self.directory.join("deadline.new");
        fs::write(&new, deadline.to_duration().as_nanos().to_string()).unwrap();
        // In one step: the wrapper reads it at any time.
        fs::rename(new, self.directory.join("deadline")).unwrap();
        deadline
    }

    /// Starts a wrapper with a command that writes the time all the while, and never hears TERM.
    fn start_writer(&mut self, options: Options) -> Pid {
        let program = std::env::current_exe().unwrap();
        let wrapper = self.start(options, &[program.to_str().unwrap(), WRITER_WORD]);
        wait_until("the writer writes", || {
            // With what the wrapper has said: it need not be the writer's fault.
            assert!(lives(wrapper), "the wrapper is gone: {}", self.read("stderr"));
            self.last_stamp().is_some()
        });
        wrapper
    }

    fn last_stamp(&self) -> Option<BootTime> {
        self.read("stamps").lines().last().and_then(read_moment)
    }

    /// Waits until long after the deadline, and says by how much the command has outlived it.
    fn outlived(&self, deadline: BootTime) -> Option<Duration> {
        wait_until("the deadline is long past", || deadline.plus(TTL).is_past());
        let last = self.last_stamp().unwrap();
        (last >= deadline).then(|| last.since(deadline))
    }
}

/// Runs a scene that says by how much the command has outlived its deadline.
///
/// On a busy machine who has to kill is woken late, now and then. That is excused if it is a matter
/// of a moment, and does not happen every time. Nobody is excused who does not kill, or too late as
/// a rule.
fn is_in_time(scene: impl Fn() -> Option<Duration>) {
    const TRIES: u32 = 6;
    for _ in 0..TRIES {
        match scene() {
            None => return,
            Some(late) => assert!(late < TTL / 2, "the deadline is outlived by {late:?}"),
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
    panic!("the deadline is outlived, {TRIES} times out of {TRIES}");
}

/// So that a moment of noise can pass.
const BETWEEN_TRIES: Duration = Duration::from_secs(2);

fn stop(wrapper: Pid) {
    send(wrapper, Signal::SIGSTOP);
    wait_until("the wrapper is stopped", || state(wrapper) == "T");
}

pub fn a_stopped_wrapper_does_not_outlive_its_deadline() {
    for on_lost in ["term", "kill", "true"] {
        is_in_time(|| {
            let mut scene = Scene::new();
            scene.lasts(TTL);
            let wrapper = scene.start_writer(Options { on_lost, ..LAPSING });
            let deadline = scene.lasts(TTL);
            // So long that the guard must have been told.
            std::thread::sleep(TTL / 4);
            stop(wrapper);
            let outlived = scene.outlived(deadline);
            assert!(!lives(scene.pid("child")));
            send(wrapper, Signal::SIGCONT);
            assert_eq!(scene.report(), "Signalled(9) lost=true lingers=false", "{on_lost}");
            assert!(scene.read("stderr").contains("lock lost: "), "{}", scene.read("stderr"));
            outlived
        });
    }
}

/// The check above finds out a guard that nobody tells of deadlines.
pub fn who_is_not_told_of_a_deadline_outlives_it() {
    let mut scene = Scene::new();
    let deadline = scene.lasts(TTL);
    let wrapper = scene.start_writer(Options { quiet: true, ..LAPSING });
    stop(wrapper);
    let outlived = scene.outlived(deadline);
    assert!(outlived.is_some_and(|late| late >= TTL / 2), "{outlived:?}");
}

/// Also if that one has died before the job began, and there must be another.
pub fn a_guard_that_was_started_ahead_knows_deadline_and_group() {
    for dead in [false, true] {
        for end in [Signal::SIGSTOP, Signal::SIGKILL] {
            is_in_time(|| {
                let mut scene = Scene::new();
                let deadline = scene.lasts(TTL);
                let wrapper = scene.start_writer(Options { ahead: true, dead, ..LAPSING });
                send(wrapper, end);
                let outlived = scene.outlived(deadline);
                assert!(!lives(scene.pid("child")), "{end}, dead: {dead}");
                send(wrapper, Signal::SIGCONT);
                scene.report();
                outlived
            });
        }
    }
}

pub fn who_hears_nothing_ends_the_command_in_time() {
    for on_lost in ["term", "kill", "true"] {
        is_in_time(|| {
            let mut scene = Scene::new();
            let deadline = scene.lasts(TTL);
            scene.start_writer(Options { on_lost, ..LAPSING });
            assert_eq!(scene.report(), "Signalled(9) lost=true lingers=false");
            scene.outlived(deadline)
        });
    }
}

/// The wrapper asks in time, if it does not only kill.
pub fn before_the_deadline_the_command_is_asked() {
    let mut scene = Scene::new();
    let deadline = scene.lasts(TTL);
    let script = "trap 'exit 3' TERM; echo $$ > child.pid; while :; do sleep 0.01; done";
    scene.start_shell(LAPSING, script);
    assert_eq!(scene.report(), "Exited(3) lost=true lingers=false");
    assert!(!deadline.is_past());
    let said = "conclave: lock lost: not renewed before its deadline; stopping the command";
    // A shell may say something, too.
    assert!(scene.read("stderr").lines().any(|line| line == said), "{}", scene.read("stderr"));
}

pub fn a_hook_is_run_before_the_deadline() {
    let mut scene = Scene::new();
    let deadline = scene.lasts(TTL);
    let hook = "echo \"$CONCLAVE_LOST\" > hook; kill -s HUP -- -$CONCLAVE_GROUP";
    scene.start_writer(Options { on_lost: hook, ..LAPSING });
    assert_eq!(scene.report(), "Signalled(1) lost=true lingers=false");
    assert_eq!(scene.read("hook"), "not renewed before its deadline");
    assert!(!deadline.is_past());
}

pub fn a_killed_wrapper_does_not_outlive_its_deadline() {
    is_in_time(|| {
        let mut scene = Scene::new();
        let deadline = scene.lasts(TTL);
        // More patience than there is time.
        let options = Options { kill_after: TTL * 100, on_lost: "kill", ..LAPSING };
        let wrapper = scene.start_writer(options);
        send(wrapper, Signal::SIGKILL);
        assert_eq!(scene.report(), "");
        let outlived = scene.outlived(deadline);
        assert!(!lives(scene.pid("child")));
        outlived
    });
}

pub fn a_new_guard_knows_the_deadline() {
    is_in_time(|| {
        let mut scene = Scene::new();
        scene.lasts(TTL * 10);
        let wrapper = scene.start_writer(LAPSING);
        let first = guard_of(wrapper).unwrap();
        let deadline = scene.lasts(TTL);
        send(first, Signal::SIGKILL);
        wait_until("there is another guard", || guard_of(wrapper).is_some_and(|new| new != first));
        stop(wrapper);
        scene.outlived(deadline)
    });
}

pub fn a_deadline_that_moves_keeps_the_command_alive() {
    let mut scene = Scene::new();
    let first = scene.lasts(TTL);
    let wrapper = scene.start_writer(LAPSING);
    while !first.plus(TTL).is_past() {
        scene.lasts(TTL);
        std::thread::sleep(Duration::from_millis(100));
    }
    let child = scene.pid("child");
    assert!(lives(child));
    send(wrapper, Signal::SIGINT);
    assert_eq!(scene.report(), "Signalled(2) lost=false lingers=false");
    assert_eq!(scene.read("stderr"), "");
}

/// The session was renewed in another thread, but the guard did not hear of it.
pub fn a_deadline_that_is_told_too_late_is_a_loss() {
    let mut scene = Scene::new();
    let deadline = scene.lasts(TTL);
    let wrapper = scene.start_writer(LAPSING);
    stop(wrapper);
    wait_until("the guard has ended it", || !lives(scene.pid("child")));
    assert!(deadline.plus(TTL) > BootTime::now());
    scene.lasts(TTL * 10);
    send(wrapper, Signal::SIGCONT);
    assert_eq!(scene.report(), "Signalled(9) lost=true lingers=false");
}

/// Ctrl-Z. The command is stopped too, and is ended all the same.
pub fn who_is_stopped_is_told_when_the_lock_lapses() {
    is_in_time(|| {
        let mut scene = Scene::new();
        let deadline = scene.lasts(TTL);
        let wrapper = scene.start_writer(LAPSING);
        send(wrapper, Signal::SIGTSTP);
        wait_until("the wrapper is stopped", || state(wrapper) == "T");
        let said = scene.read("stderr");
        assert!(said.starts_with("conclave: stopped; lock test lapses in "), "{said}");
        let outlived = scene.outlived(deadline);
        assert!(!lives(scene.pid("child")));
        send(wrapper, Signal::SIGCONT);
        assert_eq!(scene.report(), "Signalled(9) lost=true lingers=false");
        outlived
    });
}

pub fn jeopardy_and_its_end_are_said_once() {
    let mut scene = Scene::new();
    scene.lasts(TTL * 10);
    let wrapper = scene.start_writer(LAPSING);
    scene.touch("jeopardy");
    wait_until("it is said", || scene.read("stderr").contains("jeopardy"));
    std::thread::sleep(Duration::from_millis(300));
    fs::remove_file(scene.directory.join("jeopardy")).unwrap();
    wait_until("it is said", || scene.read("stderr").contains("answered again"));
    send(wrapper, Signal::SIGINT);
    assert_eq!(scene.report(), "Signalled(2) lost=false lingers=false");
    let said = scene.read("stderr");
    let lines: Vec<&str> = said.lines().collect();
    let [begin, end] = lines[..] else { panic!("{said}") };
    let start = "conclave: lock test in jeopardy: no answer; it is held until ";
    assert!(begin.starts_with(start) && begin.ends_with(" s"), "{begin}");
    assert_eq!(end, "conclave: lock test is safe again: answered again");
}

pub fn who_ignores_losses_ignores_deadlines() {
    let mut scene = Scene::new();
    let deadline = scene.lasts(TTL);
    let wrapper = scene.start_writer(Options { on_lost: "ignore", ..LAPSING });
    assert!(scene.outlived(deadline).is_some());
    assert!(scene.read("stderr").contains("the command runs on without it"));
    send(wrapper, Signal::SIGINT);
    assert_eq!(scene.report(), "Signalled(2) lost=true lingers=false");
}

pub fn what_lapsed_before_the_start_starts_nothing() {
    let mut scene = Scene::new();
    scene.lasts(NOTICE / 2);
    scene.start_shell(LAPSING, "touch ran");
    assert_eq!(scene.report(), "LostBefore lost=true lingers=false");
    assert_eq!(scene.read("ran"), "");
    assert!(!scene.directory.join("ran").exists());
}

/// Only the wrapper can keep a session: so it stays as long as what the command left behind.
pub fn the_wrapper_stays_for_who_lingers_without_a_descriptor() {
    let mut scene = Scene::new();
    scene.lasts(TTL * 10);
    let wrapper = scene.start_shell(LAPSING, "sleep 1000 & echo $! > grandchild.pid; exit 6");
    let grandchild = scene.pid("grandchild");
    wait_until("it is said", || scene.read("stderr").ends_with(')'));
    let said = "conclave: lock test stays held: what the command started still runs (pid ";
    assert_eq!(scene.read("stderr"), format!("{said}{grandchild})"));
    assert!(lives(wrapper) && scene.read("report").is_empty());
    send(grandchild, Signal::SIGKILL);
    assert_eq!(scene.report(), "Exited(6) lost=false lingers=false");
}

pub fn who_lingers_does_not_outlive_the_deadline() {
    for is_stopped in [false, true] {
        is_in_time(|| {
            let mut scene = Scene::new();
            let deadline = scene.lasts(TTL);
            let program = std::env::current_exe().unwrap();
            let script = format!("{} {WRITER_WORD} & exit 6", program.display());
            let wrapper = scene.start_shell(LAPSING, &script);
            wait_until("it lingers", || scene.read("stderr").contains("stays held"));
            if is_stopped {
                stop(wrapper);
            }
            let outlived = scene.outlived(deadline);
            assert!(!lives(scene.pid("child")));
            if is_stopped {
                send(wrapper, Signal::SIGCONT);
            }
            assert_eq!(scene.report(), "Exited(6) lost=true lingers=false");
            outlived
        });
    }
}
