//! A timer that is set anew again and again never has to run out.

use std::ops::ControlFlow;
use std::time::Duration;

use conclave_check::system::{Bounds, Channels, Enters, Faults, Flaw, Setup, TimeModel};
use conclave_check::{Budget, Conclusion, Fairness, Options, check};
use conclave_core::mutex::{Command, LIVENESS, Locks, Notice};
use conclave_core::{
    Effects, Fence, Input, Kind, KindIndex, Message, NoWord, ProcessId, Protocol, Seat, Start, View,
};

const SILENCE: Duration = Duration::from_millis(2);

/// Enters once it has heard nothing for a while. The other never falls silent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Patient {
    other: ProcessId,
    waits: bool,
    /// Whether what it hears makes it wait anew.
    starts_anew: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Ping;

impl Message for Ping {
    const KINDS: &'static [Kind] = &[Kind::enter("ping")];

    fn kind(&self) -> KindIndex {
        0
    }
}

impl Protocol for Patient {
    type Family = Locks;
    type Config = bool;
    type Message = Ping;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
        let other = ProcessId(3 - start.me.0);
        if start.me == ProcessId(1) {
            out.send(other, Ping);
        }
        Self { other, waits: false, starts_anew: *start.config }
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Command(Command::Enter) => {
                self.waits = true;
                out.set_timer((), SILENCE);
            }
            Input::Command(Command::Leave) => out.notify(Notice::Left),
            Input::Message { .. } => {
                if self.waits && self.starts_anew {
                    out.cancel_timer(());
                    out.set_timer((), SILENCE);
                }
                out.send(self.other, Ping);
            }
            Input::Timer(()) => {
                self.waits = false;
                out.notify(Notice::Entered { fence: Fence(1) });
            }
            Input::Reading(_) => {}
        }
    }
}

fn found(starts_anew: bool, time: TimeModel, tells_renewals: bool) -> Conclusion {
    let view = View::dense(1, 2);
    let setup = Setup::<Patient, _> {
        vocabulary: &conclave_observe::family::locks::VOCABULARY,
        view: &view,
        configs: &[starts_anew; 2],
        promises: LIVENESS,
        openings: &[],
        client: Enters { clients: vec![Seat(0)], requests: 1, holder: None },
        channels: Channels::Fifo,
        time,
        faults: Faults::default(),
        check_invariants: false,
        tamper: None,
        tells_renewals,
        passes_over_stalls: false,
        crash_loses: false,
        expected_kinds: 0,
        bounds: Bounds::default(),
        interchangeable: Vec::new(),
    };
    let options = Options {
        threads: 1,
        budget: Budget { states: 100_000, bytes: 1 << 30 },
        is_exact: true,
        liveness: true,
        fairness: Fairness::ALL,
    };
    check(&setup, &options, &mut |_| ControlFlow::Continue(())).unwrap().verdict
}

/// Counting time or not, the answer is the same; one that did not tell a timer from what it was
/// before would call it proved.
#[test]
fn whoever_waits_anew_at_every_message_may_wait_for_ever() {
    let starved = Conclusion::Refuted(Flaw::Starved);
    let sync = TimeModel::Sync { bound: 1, tick: Duration::from_millis(1) };
    for time in [TimeModel::Async, sync] {
        assert_eq!(found(true, time, true), starved, "{time:?}");
        assert_ne!(found(false, time, true), starved, "{time:?}: it waits once");
    }
    assert_ne!(found(true, TimeModel::Async, false), starved);
}
