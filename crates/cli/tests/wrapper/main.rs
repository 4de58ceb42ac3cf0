//! The wrapper and its guard, with real processes, real signals and a real lock.
//!
//! This program is its own wrapper and its own guard: it starts itself in these parts.

mod deadline;
mod role;
mod scene;
mod terminal;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use conclave_cli::wrapper::{GUARD_WORD, guard_main};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use role::{WRAPPER_WORD, WRITER_WORD, wrapper_main, writer_main};
use scene::{Options, Scene, guard_of, lives, send, state, wait_until};

/// A shell with a child of its own. Both leave their numbers.
const FAMILY: &str = "sleep 1000 & echo $! > grandchild.pid; echo $$ > child.pid; wait";
/// The same, deaf to SIGTERM.
const DEAF_FAMILY: &str = "trap '' TERM; sleep 1000 & \
     echo $! > grandchild.pid; echo $$ > child.pid; wait; wait";
/// Patience that is over soon.
const SOON: Duration = Duration::from_millis(300);

const TESTS: &[(&str, fn())] = &[
    ("the_exit_code_is_told", the_exit_code_is_told),
    ("the_ending_signal_is_told", the_ending_signal_is_told),
    ("what_cannot_be_started_is_told", what_cannot_be_started_is_told),
    (
        "a_script_that_does_not_say_whose_it_is_belongs_to_sh",
        a_script_that_does_not_say_whose_it_is_belongs_to_sh,
    ),
    ("what_lingers_is_forgotten_if_so_told", what_lingers_is_forgotten_if_so_told),
    ("the_command_starts_with_plain_signals", the_command_starts_with_plain_signals),
    ("a_signal_goes_to_the_whole_group", a_signal_goes_to_the_whole_group),
    ("a_loss_ends_the_whole_group", a_loss_ends_the_whole_group),
    ("a_loss_kills_the_deaf_after_a_while", a_loss_kills_the_deaf_after_a_while),
    ("a_loss_kills_deaf_grandchildren_too", a_loss_kills_deaf_grandchildren_too),
    ("a_loss_kills_at_once_if_so_told", a_loss_kills_at_once_if_so_told),
    ("a_loss_is_ignored_if_so_told", a_loss_is_ignored_if_so_told),
    ("a_loss_runs_a_hook_if_so_told", a_loss_runs_a_hook_if_so_told),
    ("a_hook_that_does_nothing_is_no_escape", a_hook_that_does_nothing_is_no_escape),
    ("the_guard_ends_the_group_of_a_killed_wrapper", the_guard_ends_the_group_of_a_killed_wrapper),
    ("a_command_that_kills_its_wrapper_is_ended", a_command_that_kills_its_wrapper_is_ended),
    ("a_killed_guard_is_replaced", a_killed_guard_is_replaced),
    ("the_descriptor_outlives_wrapper_and_guard", the_descriptor_outlives_wrapper_and_guard),
    ("a_stopped_wrapper_loses_nothing", a_stopped_wrapper_loses_nothing),
    ("who_lingers_keeps_the_lock", who_lingers_keeps_the_lock),
    ("who_left_the_group_keeps_the_lock", who_left_the_group_keeps_the_lock),
    ("the_command_reads_from_the_terminal", terminal::the_command_reads_from_the_terminal),
    ("the_terminal_is_not_taken_unasked", terminal::the_terminal_is_not_taken_unasked),
    ("a_suspended_command_is_a_stopped_job", terminal::a_suspended_command_is_a_stopped_job),
];

/// These wait for deadlines most of the time, so several do it at once. (The others would see each
/// other's descriptors for a moment, in processes that are just being born.)
const TESTS_AT_ONCE: &[(&str, fn())] = &[
    (
        "a_stopped_wrapper_does_not_outlive_its_deadline",
        deadline::a_stopped_wrapper_does_not_outlive_its_deadline,
    ),
    (
        "who_is_not_told_of_a_deadline_outlives_it",
        deadline::who_is_not_told_of_a_deadline_outlives_it,
    ),
    (
        "who_hears_nothing_ends_the_command_in_time",
        deadline::who_hears_nothing_ends_the_command_in_time,
    ),
    (
        "before_the_deadline_the_command_is_asked",
        deadline::before_the_deadline_the_command_is_asked,
    ),
    ("a_hook_is_run_before_the_deadline", deadline::a_hook_is_run_before_the_deadline),
    (
        "a_killed_wrapper_does_not_outlive_its_deadline",
        deadline::a_killed_wrapper_does_not_outlive_its_deadline,
    ),
    (
        "a_guard_that_was_started_ahead_knows_deadline_and_group",
        deadline::a_guard_that_was_started_ahead_knows_deadline_and_group,
    ),
    ("a_new_guard_knows_the_deadline", deadline::a_new_guard_knows_the_deadline),
    (
        "a_deadline_that_moves_keeps_the_command_alive",
        deadline::a_deadline_that_moves_keeps_the_command_alive,
    ),
    (
        "a_deadline_that_is_told_too_late_is_a_loss",
        deadline::a_deadline_that_is_told_too_late_is_a_loss,
    ),
    (
        "who_is_stopped_is_told_when_the_lock_lapses",
        deadline::who_is_stopped_is_told_when_the_lock_lapses,
    ),
    ("jeopardy_and_its_end_are_said_once", deadline::jeopardy_and_its_end_are_said_once),
    ("who_ignores_losses_ignores_deadlines", deadline::who_ignores_losses_ignores_deadlines),
    (
        "what_lapsed_before_the_start_starts_nothing",
        deadline::what_lapsed_before_the_start_starts_nothing,
    ),
    (
        "the_wrapper_stays_for_who_lingers_without_a_descriptor",
        deadline::the_wrapper_stays_for_who_lingers_without_a_descriptor,
    ),
    (
        "who_lingers_does_not_outlive_the_deadline",
        deadline::who_lingers_does_not_outlive_the_deadline,
    ),
];

/// So many: more of them would make the machine too busy to be on time.
const AT_ONCE: usize = 4;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(word) if word == GUARD_WORD => guard_main(arguments),
        Some(word) if word == WRAPPER_WORD => wrapper_main(arguments),
        Some(word) if word == WRITER_WORD => writer_main(),
        first => run_tests(
            first
                .into_iter()
                .chain(arguments)
                .filter_map(|word| word.into_string().ok().filter(|word| !word.starts_with('-'))),
        ),
    }
}

/// Runs the tests whose names contain one of `filters`; all if there is none.
fn run_tests(filters: impl Iterator<Item = String>) -> ExitCode {
    let filters: Vec<String> = filters.collect();
    let is_wanted = |name: &str| filters.iter().any(|filter| name.contains(filter.as_str()));
    let is_wanted = |name: &str| filters.is_empty() || is_wanted(name);
    let passes = |(name, test): &(&str, fn())| {
        let passed = std::panic::catch_unwind(test).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        passed
    };
    let mut failed = 0;
    for test in TESTS.iter().filter(|(name, _)| is_wanted(name)) {
        failed += u32::from(!passes(test));
    }
    let queue: Vec<_> = TESTS_AT_ONCE.iter().filter(|(name, _)| is_wanted(name)).collect();
    let queue = Mutex::new(queue.into_iter());
    let next = || queue.lock().unwrap().next();
    failed += std::thread::scope(|scope| {
        let worker = || std::iter::from_fn(next).map(|test| u32::from(!passes(test))).sum::<u32>();
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum::<u32>()
    });
    if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn report_of(command: &[&str]) -> String {
    let mut scene = Scene::new();
    scene.start(Options::default(), command);
    let report = scene.report();
    // At once: neither a guard nor anybody else may hold it any longer.
    assert!(scene.lock_is_free(), "the lock is held after {command:?}");
    report
}

fn the_exit_code_is_told() {
    assert_eq!(report_of(&["true"]), "Exited(0) lost=false lingers=false");
    assert_eq!(report_of(&["sh", "-c", "exit 7"]), "Exited(7) lost=false lingers=false");
    for _ in 0..50 {
        report_of(&["sh", "-c", "exit 255"]);
    }
}

fn the_ending_signal_is_told() {
    assert!(report_of(&["sh", "-c", "kill -KILL $$"]).starts_with("Signalled(9) "));
    assert!(report_of(&["sh", "-c", "kill -40 $$"]).starts_with("Signalled(40) "));
}

fn what_cannot_be_started_is_told() {
    assert!(report_of(&["/no/such/program"]).starts_with("NotFound("));
    assert!(report_of(&["no-such-program"]).starts_with("NotFound("));
    assert!(report_of(&["/"]).starts_with("NotExecutable("));

    let mut scene = Scene::new();
    let script = scene.directory.join("script");
    fs::write(&script, "exit 0\n").unwrap();
    scene.start(Options::default(), &[script.to_str().unwrap()]);
    assert!(scene.report().starts_with("NotExecutable("), "not marked as a program");
}

fn a_script_that_does_not_say_whose_it_is_belongs_to_sh() {
    let mut scene = Scene::new();
    let script = scene.directory.join("script");
    fs::write(&script, "echo \"$0 $*\" > said; exit 8\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let path = script.to_str().unwrap();
    scene.start(Options::default(), &[path, "a b", "c"]);
    assert_eq!(scene.report(), "Exited(8) lost=false lingers=false");
    assert_eq!(scene.read("said"), format!("{path} a b c"));
}

fn what_lingers_is_forgotten_if_so_told() {
    for descriptor in [true, false] {
        let mut scene = Scene::new();
        let options = Options { forget: true, inherit: false, descriptor, ..Options::default() };
        scene.start_shell(options, "sleep 1000 & echo $! > grandchild.pid; exit 6");
        let grandchild = scene.pid("grandchild");
        assert_eq!(scene.report(), "Exited(6) lost=false lingers=false");
        assert!(lives(grandchild) && scene.lock_is_free(), "at once");
        assert_eq!(scene.read("stderr"), "");
    }
}

fn the_command_starts_with_plain_signals() {
    let mut scene = Scene::new();
    scene.start_shell(Options::default(), "exec cat /proc/self/status > status");
    scene.report();
    let status = scene.read("status");
    let set = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    assert_eq!(set("SigBlk:"), 0);
    let pipe = 1 << (Signal::SIGPIPE as u32 - 1);
    assert_eq!(set("SigIgn:") & pipe, 0);
}

fn a_signal_goes_to_the_whole_group() {
    let mut scene = Scene::new();
    let wrapper = scene.start_shell(Options::default(), FAMILY);
    let family = [scene.pid("child"), scene.pid("grandchild")];
    assert!(!scene.lock_is_free());
    send(wrapper, Signal::SIGTERM);
    assert!(scene.report().starts_with("Signalled(15) lost=false"));
    scene.await_free_lock_after(&family);
}

/// Runs `script` until it has a child and a grandchild, has the lock be lost, and tells the report.
fn lose_the_lock(scene: &mut Scene, options: Options, script: &str) -> String {
    scene.start_shell(options, script);
    let family = [scene.pid("child"), scene.pid("grandchild")];
    scene.touch("lost");
    let report = scene.report();
    assert!(scene.lock_is_free(), "at once");
    assert!(!family.into_iter().any(lives), "{family:?}");
    report
}

fn a_loss_ends_the_whole_group() {
    let mut scene = Scene::new();
    let report = lose_the_lock(&mut scene, Options::default(), FAMILY);
    assert_eq!(report, "Signalled(15) lost=true lingers=false");
    let said = "conclave: lock lost: the test says so; stopping the command";
    assert_eq!(scene.read("stderr"), said);
}

fn a_loss_kills_the_deaf_after_a_while() {
    let options = Options { kill_after: SOON, ..Options::default() };
    let report = lose_the_lock(&mut Scene::new(), options, DEAF_FAMILY);
    assert_eq!(report, "Signalled(9) lost=true lingers=false");
}

fn a_loss_kills_deaf_grandchildren_too() {
    let script = "(trap '' TERM; exec sleep 1000) & echo $! > grandchild.pid; \
                  trap 'exit 3' TERM; echo $$ > child.pid; wait";
    let options = Options { kill_after: SOON, ..Options::default() };
    let report = lose_the_lock(&mut Scene::new(), options, script);
    assert_eq!(report, "Exited(3) lost=true lingers=false");
}

fn a_loss_kills_at_once_if_so_told() {
    let options = Options { on_lost: "kill", ..Options::default() };
    let report = lose_the_lock(&mut Scene::new(), options, DEAF_FAMILY);
    assert_eq!(report, "Signalled(9) lost=true lingers=false");
}

fn a_loss_is_ignored_if_so_told() {
    let mut scene = Scene::new();
    let options = Options { on_lost: "ignore", ..Options::default() };
    let wait_to_go = "echo $$ > child.pid; while [ ! -e go ]; do sleep 0.01; done; exit 4";
    scene.start_shell(options, wait_to_go);
    scene.pid("child");
    scene.touch("lost");
    wait_until("the loss is told", || scene.read("stderr").contains("the command runs on"));
    scene.touch("go");
    assert_eq!(scene.report(), "Exited(4) lost=true lingers=false");
}

fn a_loss_runs_a_hook_if_so_told() {
    let hook = "echo \"$CONCLAVE_LOST\" > hook; kill -s TERM -- -$CONCLAVE_GROUP";
    let options = Options { on_lost: hook, ..Options::default() };
    let mut scene = Scene::new();
    let report = lose_the_lock(&mut scene, options, FAMILY);
    assert_eq!(report, "Signalled(15) lost=true lingers=false");
    assert_eq!(scene.read("hook"), "the test says so");
}

fn a_hook_that_does_nothing_is_no_escape() {
    let options = Options { on_lost: "exec sleep 1000", kill_after: SOON, ..Options::default() };
    let report = lose_the_lock(&mut Scene::new(), options, FAMILY);
    assert_eq!(report, "Signalled(9) lost=true lingers=false");
}

fn the_guard_ends_the_group_of_a_killed_wrapper() {
    for inherit in [true, false] {
        for script in [FAMILY, DEAF_FAMILY] {
            let mut scene = Scene::new();
            let options = Options { inherit, kill_after: SOON, ..Options::default() };
            let wrapper = scene.start_shell(options, script);
            let family = [scene.pid("child"), scene.pid("grandchild")];
            send(wrapper, Signal::SIGKILL);
            scene.await_free_lock_after(&family);
            assert_eq!(scene.report(), "");
        }
    }
}

fn a_command_that_kills_its_wrapper_is_ended() {
    // Some of them are faster than the wrapper's word to the guard.
    for _ in 0..20 {
        let mut scene = Scene::new();
        let options = Options { inherit: false, ..Options::default() };
        let script = "kill -KILL $PPID; echo $$ > child.pid; exec sleep 1000";
        scene.start_shell(options, script);
        assert_eq!(scene.report(), "");
        scene.await_free_lock_after(&[]);
        let child = scene.read("child.pid").parse().ok().map(Pid::from_raw);
        assert!(!child.is_some_and(lives), "{child:?} has outlived the lock");
    }
}

fn a_killed_guard_is_replaced() {
    let mut scene = Scene::new();
    let options = Options { inherit: false, ..Options::default() };
    let wrapper = scene.start_shell(options, FAMILY);
    let family = [scene.pid("child"), scene.pid("grandchild")];
    let mut guard = guard_of(wrapper).unwrap();
    for deadly in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        send(guard, deadly);
    }
    for _ in 0..3 {
        assert_eq!(guard_of(wrapper), Some(guard), "only SIGKILL ends a guard");
        send(guard, Signal::SIGKILL);
        wait_until("there is another guard", || guard_of(wrapper).is_some_and(|new| new != guard));
        guard = guard_of(wrapper).unwrap();
    }
    assert!(scene.read("stderr").contains("the guard process keeps dying"));
    // The one that is there knows the group, too.
    send(wrapper, Signal::SIGKILL);
    scene.await_free_lock_after(&family);
}

fn the_descriptor_outlives_wrapper_and_guard() {
    let mut scene = Scene::new();
    let wrapper = scene.start_shell(Options::default(), "echo $$ > child.pid; exec sleep 1000");
    let child = scene.pid("child");
    // Stopped, it cannot replace the guard before it is killed itself.
    send(wrapper, Signal::SIGSTOP);
    wait_until("the wrapper is stopped", || state(wrapper) == "T");
    let guard = guard_of(wrapper).unwrap();
    send(guard, Signal::SIGKILL);
    wait_until("the guard is dead", || !lives(guard));
    send(wrapper, Signal::SIGKILL);
    assert_eq!(scene.report(), "");
    assert!(lives(child) && !scene.lock_is_free());
    send(child, Signal::SIGKILL);
    scene.await_free_lock_after(&[child]);
}

fn a_stopped_wrapper_loses_nothing() {
    let mut scene = Scene::new();
    let wait_to_go = "echo $$ > child.pid; while [ ! -e go ]; do sleep 0.01; done; exit 5";
    let wrapper = scene.start_shell(Options { inherit: false, ..Options::default() }, wait_to_go);
    let child = scene.pid("child");
    send(wrapper, Signal::SIGSTOP);
    wait_until("the wrapper is stopped", || state(wrapper) == "T");
    scene.touch("go");
    wait_until("the command has ended", || !lives(child));
    assert!(!scene.lock_is_free());
    send(wrapper, Signal::SIGCONT);
    assert_eq!(scene.report(), "Exited(5) lost=false lingers=false");
}

fn who_lingers_keeps_the_lock() {
    // Without a descriptor: it is the guard who keeps the lock for them.
    for inherit in [true, false] {
        let mut scene = Scene::new();
        let script = "sleep 1000 & echo $! > grandchild.pid; exit 6";
        let options = Options { inherit, ..Options::default() };
        let wrapper = scene.start_shell(options, script);
        let grandchild = scene.pid("grandchild");
        let guard = guard_of(wrapper);
        assert_eq!(scene.report(), "Exited(6) lost=false lingers=true");
        assert!(lives(grandchild) && !scene.lock_is_free());
        if let Some(guard) = guard {
            let error_output = format!("/proc/{guard}/fd/2");
            wait_until("the guard has closed what it does not need", || {
                fs::read_link(&error_output).is_ok_and(|path| path.ends_with("null"))
            });
        }
        assert!(lives(grandchild) && !scene.lock_is_free());
        send(grandchild, Signal::SIGKILL);
        scene.await_free_lock_after(&[grandchild]);
    }
}

fn who_left_the_group_keeps_the_lock() {
    let mut scene = Scene::new();
    let script = "setsid sh -c 'echo $$ > far.pid; exec sleep 1000' & \
                  while [ ! -s far.pid ]; do sleep 0.01; done";
    scene.start_shell(Options::default(), script);
    let far = scene.pid("far");
    assert_eq!(scene.report(), "Exited(0) lost=false lingers=false");
    assert!(lives(far) && !scene.lock_is_free());
    send(far, Signal::SIGKILL);
    scene.await_free_lock_after(&[far]);
}
