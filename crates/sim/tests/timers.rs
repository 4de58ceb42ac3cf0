//! The simulator's side of the contract about timers.

use std::time::Duration;

use conclave_core::mutex::{Command, Notice};
use conclave_core::{Effects, Fence, Input, Kind, KindIndex, Message, Protocol, Seat, Start, View};
use conclave_observe::{Report, Time, Verdict};
use conclave_sim::{FaultPlan, Limits, MutexApplication, Setup, Workload, simulate};

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
    type Config = ();
    type Command = Command;
    type Message = Silence;
    type Timer = Timer;
    type Notice = Notice;
    type Stored = ();

    fn start(_: Start<'_, ()>, _: &mut Effects<Self>) -> Self {
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
            Input::Message { .. } | Input::Detector(_) => {}
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
        ..Setup::new(&view, &())
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

#[test]
fn setting_a_timer_again_replaces_it_and_cancelling_ends_it() {
    let report = run(&FaultPlan::default(), 3);
    assert_eq!((report.verdict, report.delays.entries()), (Verdict::Ok, 3));
    assert_eq!(report.delays.wait.mean(), Some(5e6), "the second setting counts, once");
    assert_eq!(report.delays.wait.max(), Some(Time::delays(5)));
}

#[test]
fn a_paused_process_hears_its_timer_when_it_goes_on() {
    let pauses = vec!["1@3ms..9ms".parse().unwrap()];
    let report = run(&FaultPlan { pauses, ..FaultPlan::default() }, 1);
    assert_eq!(report.delays.wait.max(), Some(Time::delays(9)));
}

#[test]
fn the_timers_of_a_crashed_process_are_lost_with_it() {
    let crashes = vec!["1@3ms".parse().unwrap()];
    let returns = vec!["1@4ms".parse().unwrap()];
    let report = run(&FaultPlan { crashes, returns, ..FaultPlan::default() }, 2);
    assert_eq!(report.delays.entries(), 1, "one request died with it, the next is its own");
    assert_eq!(report.delays.last_entry(), Time::delays(4 + 5));
}
