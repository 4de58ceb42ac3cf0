//! What a process reads from its clock when a run is taken again.

use conclave_core::mutex::{Command, Notice};
use conclave_core::{
    Effects, Fence, Input, Kind, KindIndex, Message, ProcessId, Promises, Protocol, Seat, Start,
    View,
};
use conclave_observe::trace::{Header, Record, Trace};
use conclave_observe::{Event, JudgeOrdering, Time, What};
use conclave_sim::{Drift, Readings, Replay, ReplayError, replay};

/// Enters at once, with what its clock shows for a fence.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Watchful;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Silence {}

impl Message for Silence {
    const KINDS: &'static [Kind] = &[];

    fn kind(&self) -> KindIndex {
        match *self {}
    }
}

impl Protocol for Watchful {
    type Config = ();
    type Command = Command;
    type Message = Silence;
    type Timer = ();
    type Notice = Notice;
    type Stored = ();

    fn start(_: Start<'_, ()>, _: &mut Effects<Self>) -> Self {
        Self
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        if input == Input::Command(Command::Enter) {
            let fence = Fence(u64::try_from(out.now().as_millis()).unwrap());
            out.notify(Notice::Entered { fence });
        }
    }
}

/// Process 1 enters after 8 ms, with that fence.
fn again(fence: u64, readings: Readings<'_>) -> Result<(), ReplayError> {
    let (view, at) = (View::dense(1, 1), Time::delays(8));
    let header = Header {
        algorithm: "watchful".into(),
        seed: 1,
        network: "unit".into(),
        members: vec![ProcessId(1)],
        kinds: vec![],
        promises: Promises::Mutex { liveness: true, ordering: false },
        options: vec![],
        repeats_from: None,
        is_stuck: false,
    };
    let record = |what| {
        let event = Event { at, seat: Seat(0), what };
        Record { event, text: None, rules: vec![] }
    };
    let entered = What::Entered { fence: Fence(fence) };
    let trace = Trace { header, records: vec![record(What::Requested), record(entered)] };
    let setup = Replay::<Watchful> {
        view: &view,
        config: &(),
        clocks: &[],
        holder: None,
        readings,
        ordering: JudgeOrdering::No,
    };
    replay(&setup, &trace).map(drop)
}

#[test]
fn a_clock_shows_the_time_of_the_trace_at_its_own_rate() {
    let drifts: [Drift; 1] = ["1=1.5".parse().unwrap()];
    assert_eq!(again(8, Readings::Running(&[])), Ok(()));
    assert_eq!(again(12, Readings::Running(&drifts)), Ok(()));
    let told = again(12, Readings::Running(&[])).unwrap_err().to_string();
    assert_eq!(
        told,
        "line 3: the trace says that 1 enters with fence 12; but 1 enters with fence 8"
    );
}

#[test]
fn where_times_mean_nothing_every_clock_is_at_0() {
    assert_eq!(again(0, Readings::Stopped), Ok(()));
    assert!(again(8, Readings::Stopped).is_err());
}
