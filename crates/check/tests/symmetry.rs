//! A renaming that forgets anything at all is found out, wherever a name can stand.

use std::ops::ControlFlow;
use std::time::Duration;

use conclave_check::system::{
    Asymmetry, Bounds, Channels, Enters, Faults, INTERCHANGEABLE_MAX, Setup, TimeModel,
};
use conclave_check::{Budget, Fairness, Finding, Options, Refusal, check};
use conclave_core::mutex::{Command, LIVENESS, Locks, Notice};
use conclave_core::{
    Effects, Fence, Input, Kind, KindIndex, Message, NoWord, ProcessId, Protocol, Renaming, Seat,
    Start, Symmetry, View,
};

const SERVER: ProcessId = ProcessId(0);

/// A server with a queue that names clients wherever one can: in what it remembers, says, waits for
/// and stores.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Desk {
    me: ProcessId,
    forgets: Forgets,
    holder: Option<ProcessId>,
    queue: Vec<ProcessId>,
    fence: Fence,
}

/// What its renaming forgets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Forgets {
    Nothing,
    Me,
    Holder,
    Queue,
    Message,
    Timer,
    Stored,
}

/// What they say, and to whom or of whom.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Word {
    Request(ProcessId, Forgets),
    Grant(ProcessId, Fence, Forgets),
    Release(ProcessId, Fence, Forgets),
    Reminder,
}

/// It is time to remind a holder.
type Timer = (ProcessId, ForgetsTimer);
type ForgetsTimer = bool;

impl Message for Word {
    const KINDS: &'static [Kind] = &[Kind::enter("word")];

    fn kind(&self) -> KindIndex {
        0
    }
}

impl Protocol for Desk {
    type Family = Locks;
    type Config = Forgets;
    type Message = Word;
    type Timer = Timer;
    type Stored = (Option<ProcessId>, Forgets);
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        let holder = start.stored.and_then(|stored| stored.0);
        let (queue, fence) = (Vec::new(), Fence::default());
        Self { me: start.me, forgets: *start.config, holder, queue, fence }
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        let (me, forgets) = (self.me, self.forgets);
        match input {
            Input::Command(Command::Enter) => out.send(SERVER, Word::Request(me, forgets)),
            Input::Command(Command::Leave) => {
                out.send(SERVER, Word::Release(me, self.fence, forgets));
                out.notify(Notice::Left);
            }
            Input::Message { message: Word::Request(who, _), .. } => {
                self.queue.push(who);
                self.grant(out);
            }
            Input::Message { message: Word::Release(who, fence, _), .. }
                if self.holder == Some(who) =>
            {
                (self.holder, self.fence) = (None, fence);
                self.grant(out);
            }
            Input::Message { message: Word::Grant(who, fence, _), .. } if who == me => {
                self.fence = Fence(fence.0 + 1);
                out.notify(Notice::Entered { fence: self.fence });
            }
            Input::Timer((who, _)) if self.holder == Some(who) => out.send(who, Word::Reminder),
            _ => {}
        }
    }

    fn symmetry() -> Option<&'static dyn Symmetry<Self>> {
        Some(&Forgetfully)
    }
}

/// Renames all but what it is told to forget.
struct Forgetfully;

impl Symmetry<Desk> for Forgetfully {
    fn process(&self, desk: &Desk, names: &Renaming) -> Desk {
        let mut renamed = desk.clone();
        if desk.forgets != Forgets::Me {
            renamed.me = names.id(desk.me);
        }
        if desk.forgets != Forgets::Holder {
            renamed.holder = desk.holder.map(|id| names.id(id));
        }
        if desk.forgets != Forgets::Queue {
            renamed.queue = desk.queue.iter().map(|&id| names.id(id)).collect();
        }
        renamed
    }

    fn message(&self, word: &Word, names: &Renaming) -> Word {
        let id = |id, forgets| if forgets == Forgets::Message { id } else { names.id(id) };
        match *word {
            Word::Request(who, it) => Word::Request(id(who, it), it),
            Word::Grant(who, fence, it) => Word::Grant(id(who, it), fence, it),
            Word::Release(who, fence, it) => Word::Release(id(who, it), fence, it),
            Word::Reminder => Word::Reminder,
        }
    }

    fn timer(&self, (who, forgets): Timer, names: &Renaming) -> Timer {
        (if forgets { who } else { names.id(who) }, forgets)
    }

    fn stored(
        &self,
        &(who, forgets): &(Option<ProcessId>, Forgets),
        names: &Renaming,
    ) -> (Option<ProcessId>, Forgets) {
        let keeps = forgets == Forgets::Stored;
        (if keeps { who } else { who.map(|id| names.id(id)) }, forgets)
    }
}

impl Desk {
    fn grant(&mut self, out: &mut Effects<Self>) {
        if self.holder.is_none() && !self.queue.is_empty() {
            let next = self.queue.remove(0);
            self.holder = Some(next);
            out.persist((self.holder, self.forgets));
            out.set_timer((next, self.forgets == Forgets::Timer), Duration::from_secs(1));
            out.send(next, Word::Grant(next, self.fence, self.forgets));
        }
    }
}

fn search(forgets: Forgets, n: u32, is_reduced: bool) -> Result<Finding, Refusal> {
    let view = View::dense(0, n + 1);
    let configs = vec![forgets; view.len()];
    let clients: Vec<Seat> = (1..view.len()).map(Seat::at).collect();
    let setup = Setup::<Desk, _> {
        vocabulary: &conclave_observe::family::locks::VOCABULARY,
        view: &view,
        configs: &configs,
        promises: LIVENESS,
        openings: &[],
        tamper: None,
        tells_renewals: false,
        passes_over_stalls: false,
        crash_loses: false,
        interchangeable: if is_reduced { clients.clone() } else { Vec::new() },
        client: Enters { clients, requests: 1, holder: None },
        channels: Channels::Fifo,
        time: TimeModel::Async,
        faults: Faults::default(),
        check_invariants: true,
        expected_kinds: 0,
        bounds: Bounds::default(),
    };
    let options = Options {
        threads: 1,
        budget: Budget { states: 1_000_000, bytes: 1 << 30 },
        is_exact: true,
        liveness: false,
        fairness: Fairness::ALL,
    };
    check(&setup, &options, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn names_in_states_messages_timers_and_stores_are_renamed_alike() {
    for n in [2, 3] {
        let full = search(Forgets::Nothing, n, false).unwrap();
        let fewer = search(Forgets::Nothing, n, true).unwrap();
        assert_eq!(full.verdict, fewer.verdict);
        let (all, classes) = (full.progress.distinct, fewer.progress.distinct);
        let renamings = u64::from(n * (n - 1));
        assert!(classes < all && classes * renamings >= all, "{all} {classes}");
    }
}

#[test]
fn whatever_a_renaming_forgets_ends_the_search() {
    use Forgets::{Holder, Me, Message, Queue, Stored, Timer};
    for forgets in [Holder, Queue, Message, Timer, Stored] {
        assert_eq!(search(forgets, 3, true).unwrap_err(), Asymmetry::Rule.into(), "{forgets:?}");
    }
    assert_eq!(search(Me, 3, true).unwrap_err(), Asymmetry::Start.into());
}

#[test]
fn too_many_renamings_are_refused() {
    let most = u32::try_from(INTERCHANGEABLE_MAX).unwrap();
    assert_eq!(search(Forgets::Nothing, most + 1, true).unwrap_err(), Asymmetry::TooMany.into());
}
