//! A run that is taken again: what times mean to clocks and deadlines, and where it may end.

use std::time::Duration;

use conclave_core::mutex::{Command, LIVENESS, Locks, Notice};
use conclave_core::{
    Effects, Fence, Input, Kind, KindIndex, Message, NoWord, Phase, ProcessId, Protocol, Seat,
    Start, View,
};
use conclave_observe::family::locks::Seen;
use conclave_observe::trace::{Header, Record, Trace};
use conclave_observe::{Event, JudgeOrdering, MessageId, Time, What, family};
use conclave_sim::{Clocks, Drift, Rate, Replay, ReplayError, replay};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Silence {}

impl Message for Silence {
    const KINDS: &'static [Kind] = &[];

    fn kind(&self) -> KindIndex {
        match *self {}
    }
}

/// Process 1 does this, each at its time in ms.
fn trace(deeds: &[(u64, What)]) -> Trace {
    let header = Header {
        algorithm: "toy".into(),
        seed: 1,
        network: "unit".into(),
        members: vec![ProcessId(1)],
        kinds: vec![],
        vocabulary: &family::locks::VOCABULARY,
        promises: LIVENESS,
        options: vec![],
        repeats_from: None,
        is_stuck: false,
        starts: vec![],
    };
    let record = |&(at, what)| {
        let event = Event { at: Time::delays(at), seat: Seat(0), what };
        Record::of(event)
    };
    Trace { header, records: deeds.iter().map(record).collect() }
}

fn again<P: Protocol<Family = Locks, Config = ()>>(
    deeds: &[(u64, What)],
    clocks: Clocks<'_>,
) -> Result<(), ReplayError> {
    let view = View::dense(1, 1);
    let ordering = JudgeOrdering::No;
    let setup = Replay::<P> {
        view: &view,
        configs: &[()],
        openings: &[],
        tamper: None,
        clocks,
        ordering,
        show: None,
    };
    replay(&setup, &trace(deeds)).map(drop)
}

/// Enters at once, with what its clock shows for a fence.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Watchful {
    now: Duration,
}

impl Protocol for Watchful {
    type Family = Locks;
    type Config = ();
    type Message = Silence;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    const READS_CLOCK: bool = true;

    fn start(_: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        Self { now: Duration::ZERO }
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Reading(now) => self.now = now,
            Input::Command(Command::Enter) => {
                let fence = Fence(u64::try_from(self.now.as_millis()).unwrap());
                out.notify(Notice::Entered { fence });
            }
            _ => {}
        }
    }
}

/// Process 1 enters after 8 ms, with that fence.
fn enters(fence: u64, clocks: Clocks<'_>) -> Result<(), ReplayError> {
    let entered = Seen::Entered { fence: Fence(fence) }.what();
    again::<Watchful>(&[(8, Seen::Requested.what()), (8, entered)], clocks)
}

#[test]
fn a_clock_shows_the_time_of_the_trace_at_its_own_rate() {
    let rate = Rate::new(1.5).unwrap();
    let drifts = [Drift { process: ProcessId(1), rate }];
    assert_eq!(enters(8, Clocks::Running(&[])), Ok(()));
    assert_eq!(enters(12, Clocks::Running(&drifts)), Ok(()));
    let told = enters(12, Clocks::Running(&[])).unwrap_err().to_string();
    assert_eq!(
        told,
        "line 3: the trace says that 1 enters with fence 12; but 1 enters with fence 8"
    );
}

#[test]
fn where_times_mean_nothing_nobody_can_read_a_clock() {
    for fence in [0, 8] {
        assert_eq!(enters(fence, Clocks::Absent), Err(ReplayError::NoClock));
    }
}

/// Asks for a lease of 5 ms by entering, and is out when it ends.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Tenant;

impl Protocol for Tenant {
    type Family = Locks;
    type Config = ();
    type Message = Silence;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(_: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        Self
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Command(Command::Enter) => {
                out.set_deadline((), Duration::from_millis(5));
                out.notify(Notice::Entered { fence: Fence(1) });
            }
            Input::Timer(()) => out.notify(Notice::Left),
            _ => {}
        }
    }
}

/// It enters at 1 ms; at this time its application wants it out, and at that its lease ends.
fn leases(leaving: u64, lease_over: u64) -> [(u64, What); 5] {
    let entered = Seen::Entered { fence: Fence(1) }.what();
    [
        (1, Seen::Requested.what()),
        (1, entered),
        (leaving, Seen::Leaving.what()),
        (lease_over, What::TimerFired),
        (lease_over, Seen::Left.what()),
    ]
}

#[test]
fn where_times_mean_something_nothing_comes_before_a_deadline_that_is_due() {
    let clocks = Clocks::Running(&[]);
    assert_eq!(again::<Tenant>(&leases(5, 6), clocks), Ok(()), "it is not due yet");
    for leaving in [6, 7] {
        let told = again::<Tenant>(&leases(leaving, 7), clocks).unwrap_err().to_string();
        let expected = "line 4: the trace says that 1 wants out; but its deadline () comes first";
        assert_eq!(told, expected);
    }
    // The clock of a process counts: a slow one lets it be late.
    let rate = Rate::new(0.5).unwrap();
    let drifts = [Drift { process: ProcessId(1), rate }];
    assert_eq!(again::<Tenant>(&leases(7, 11), Clocks::Running(&drifts)), Ok(()));
}

#[test]
fn where_times_mean_nothing_no_deadline_is_due() {
    assert_eq!(again::<Tenant>(&leases(7, 9), Clocks::Absent), Ok(()));
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Memo;

impl Message for Memo {
    const KINDS: &'static [Kind] = &[Kind { name: "memo", phase: Phase::Enter }];

    fn kind(&self) -> KindIndex {
        0
    }
}

/// Writes to itself when it is asked, and does nothing else.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Forgetful;

impl Protocol for Forgetful {
    type Family = Locks;
    type Config = ();
    type Message = Memo;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(_: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        Self
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        if let Input::Command(Command::Enter) = input {
            out.send(ProcessId(1), Memo);
        }
    }
}

/// A judge may stop a run before a process takes in what it wrote to itself. A run that goes on for
/// ever is not stopped there.
#[test]
fn only_a_run_with_an_end_may_end_in_the_middle_of_a_step() {
    let (message, kind) = (MessageId::new(Seat(0), 1), 0);
    let sent = What::Sent { message, to: Seat(0), kind, copy: false };
    let mut trace = trace(&[(1, Seen::Requested.what()), (1, sent)]);
    trace.header.kinds = vec![Memo::KINDS[0].into()];
    let again = |trace: &Trace| {
        let view = View::dense(1, 1);
        let (clocks, ordering) = (Clocks::Absent, JudgeOrdering::No);
        let setup = Replay::<Forgetful> {
            view: &view,
            configs: &[()],
            openings: &[],
            tamper: None,
            clocks,
            ordering,
            show: None,
        };
        replay(&setup, trace).map(drop)
    };
    assert_eq!(again(&trace), Ok(()));
    for begin in [0, 2] {
        trace.header.repeats_from = Some(begin);
        let open = ReplayError::LoopOpen("it ends in the middle of a step".into());
        assert_eq!(again(&trace), Err(open), "from record {begin}");
    }
}
