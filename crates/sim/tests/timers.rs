//! The simulator's side of the contract about timers and deadlines.

use std::time::Duration;

use conclave_core::mutex::{Command, Locks, Notice};
use conclave_core::{
    Effects, Fence, Input, Kind, KindIndex, Message, NoWord, ProcessId, Protocol, Seat, Start, View,
};
use conclave_observe::measure::Delays;
use conclave_observe::trace::Record;
use conclave_observe::{Report, Time, Verdict, What};
use conclave_sim::{
    Crash, FaultPlan, Limits, MutexApplication, Pause, Recording, Return, Setup, Workload, simulate,
};

/// Enters when its timer runs out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Alarm {
    entered: u64,
    wrong: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Timer {
    Enter,
    Cancelled,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Silence;

impl Message for Silence {
    const KINDS: &'static [Kind] = &[];
    fn kind(&self) -> KindIndex {
        0
    }
}

impl Protocol for Alarm {
    type Family = Locks;
    type Config = ();
    type Message = Silence;
    type Timer = Timer;
    type Stored = ();
    type Word = NoWord;

    fn start(_: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        Self { entered: 0, wrong: false }
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Command(Command::Enter) => {
                out.set_timer(Timer::Enter, Duration::from_millis(1));
                out.set_timer(Timer::Cancelled, Duration::from_millis(2));
                out.set_timer(Timer::Enter, Duration::from_millis(5));
                out.cancel_timer(Timer::Cancelled);
            }
            Input::Timer(Timer::Enter) => {
                self.entered += 1;
                out.notify(Notice::Entered { fence: Fence(self.entered) });
            }
            Input::Timer(Timer::Cancelled) => self.wrong = true,
            Input::Command(Command::Leave) => out.notify(Notice::Left),
            Input::Message { .. } | Input::Reading(_) => {}
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        if self.wrong { Err("a cancelled timer ran out") } else { Ok(()) }
    }
}

fn run(faults: &FaultPlan, entries: u64) -> Report {
    let view = View::dense(1, 1);
    let setup = Setup::<Alarm> {
        faults,
        limits: Limits { events: 1_000, time: Time::delays(1_000), patience: Time::delays(100) },
        check_invariants: true,
        ..Setup::new(&view, &[()])
    };
    let application = MutexApplication::new(
        Workload::Contend,
        &view,
        vec![Seat(0)],
        entries,
        Time::DELAY,
        None,
        1,
    );
    simulate(&setup, application, &mut |_| {}).report
}

fn delays(report: &Report) -> &Delays {
    &report.locks().expect("it is about a lock").delays
}

#[test]
fn setting_a_timer_again_replaces_it_and_cancelling_ends_it() {
    let report = run(&FaultPlan::default(), 3);
    assert_eq!((report.verdict, delays(&report).entries()), (Verdict::Ok, 3));
    assert_eq!(delays(&report).wait.mean(), Some(5e6), "the second setting counts, once");
    assert_eq!(delays(&report).wait.max(), Some(Time::delays(5)));
}

/// Process 1 does nothing between these times, which are microseconds.
fn pause(from: u64, until: u64) -> Pause {
    Pause { process: ProcessId(1), from: Time(from * 1_000), until: Time(until * 1_000) }
}

#[test]
fn a_paused_process_hears_its_timer_when_it_goes_on() {
    let pauses = vec![pause(3_000, 9_000)];
    let report = run(&FaultPlan { pauses, ..FaultPlan::default() }, 1);
    assert_eq!(delays(&report).wait.max(), Some(Time::delays(9)));
}

#[test]
fn the_timers_of_a_crashed_process_are_lost_with_it() {
    let crashes = vec![Crash { process: ProcessId(1), at: Time::delays(3) }];
    let returns = vec![Return { process: ProcessId(1), at: Time::delays(4) }];
    let report = run(&FaultPlan { crashes, returns, ..FaultPlan::default() }, 2);
    assert_eq!(delays(&report).entries(), 1, "one request died with it, the next is its own");
    assert_eq!(delays(&report).last_entry(), Time::delays(4 + 5));
}

/// Process 1 waits for two deadlines, and the other writes to it meanwhile.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Tenant {
    me: ProcessId,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Alert {
    /// The tenant's deadlines, by when they are due.
    SecondDeadline,
    FirstDeadline,
    /// An ordinary timer of the tenant's, which is due before both.
    Reminder,
    /// The other writes.
    Write,
    /// All is over.
    End,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Letter;

impl Message for Letter {
    const KINDS: &'static [Kind] = &[Kind::enter("letter")];

    fn kind(&self) -> KindIndex {
        0
    }
}

impl Protocol for Tenant {
    type Family = Locks;
    type Config = ();
    type Message = Letter;
    type Timer = Alert;
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
        if start.me == ProcessId(1) {
            out.set_timer(Alert::Reminder, Duration::from_millis(4));
            out.set_deadline(Alert::SecondDeadline, Duration::from_millis(6));
            out.set_deadline(Alert::FirstDeadline, Duration::from_millis(5));
            out.set_timer(Alert::End, Duration::from_millis(20));
        } else {
            out.set_timer(Alert::Write, Duration::from_millis(3));
        }
        Self { me: start.me }
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Timer(Alert::Write) => out.send(ProcessId(1), Letter),
            Input::Timer(Alert::End) => out.notify(Notice::Entered { fence: Fence(1) }),
            Input::Command(Command::Leave) => out.notify(Notice::Left),
            _ => {}
        }
    }
}

/// What the tenant takes in, in its order, if it is paused like that.
fn taken_in(pause: Pause) -> Vec<String> {
    let view = View::dense(1, 2);
    let pauses = vec![pause];
    let faults = FaultPlan { pauses, ..FaultPlan::default() };
    let recording = Recording::Everything;
    let setup = Setup::<Tenant> { faults: &faults, recording, ..Setup::new(&view, &[(); 2]) };
    let clients = vec![Seat(0)];
    let application =
        MutexApplication::new(Workload::Contend, &view, clients, 1, Time::DELAY, None, 1);
    let is_input = |record: &&Record| {
        let what = record.event.what;
        record.event.seat == Seat(0) && matches!(what, What::TimerFired | What::Received { .. })
    };
    let records = simulate(&setup, application, &mut |_| {}).records;
    records.iter().filter(is_input).map(|record| record.text.clone().unwrap()).collect()
}

#[test]
fn a_process_that_was_paused_takes_due_deadlines_before_all_that_waited() {
    assert_eq!(
        taken_in(pause(3_000, 9_000)),
        ["FirstDeadline", "SecondDeadline", "Letter", "Reminder", "End"]
    );
}

#[test]
fn a_deadline_that_falls_on_the_end_of_a_pause_comes_before_all_that_waited() {
    let expected = ["FirstDeadline", "Letter", "Reminder", "SecondDeadline", "End"];
    assert_eq!(taken_in(pause(3_000, 5_000)), expected);
}

#[test]
fn a_deadline_that_is_not_due_yet_lets_what_waited_come_first() {
    let expected = ["Letter", "Reminder", "FirstDeadline", "SecondDeadline", "End"];
    assert_eq!(taken_in(pause(3_000, 4_500)), expected);
}
