//! The judge on trial: for each property a tiny broken algorithm that it must reject, beside the
//! same algorithm unbroken, which it must accept.

use conclave_core::mutex::{Command, LIVENESS, Locks, Notice, ORDERING};
use conclave_core::{
    Effects, Fence, Input, Kind, KindIndex, Message, NoWord, ProcessId, Promises, Protocol, Seat,
    Start, View,
};
use conclave_observe::family::locks::LockPanel;
use conclave_observe::{JudgeOrdering, Report, Time, Verdict};
use conclave_sim::{Limits, MutexApplication, Outcome, Setup, Workload, simulate};

/// A lock server in a few lines; process 1 serves, all others ask.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Server {
    policy: Policy,
    waiting: Vec<ProcessId>,
    holder: Option<ProcessId>,
    granted: u64,
}

/// How it grants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Policy {
    /// In the order of arrival: correct.
    OldestFirst,
    /// Whether or not somebody is in.
    Everybody,
    /// Not at all.
    Nobody,
    /// Correctly, but always with the same fence.
    OneFence,
    /// To whoever came last.
    NewestFirst,
    /// Correctly, until somebody has entered for the tenth time; then it forgets who waits.
    Forgetful,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Say {
    Request,
    Grant(Fence),
    Release,
}

impl Message for Say {
    const KINDS: &'static [Kind] =
        &[Kind::enter("request"), Kind::enter("grant"), Kind::leave("release")];

    fn kind(&self) -> KindIndex {
        match self {
            Say::Request => 0,
            Say::Grant(_) => 1,
            Say::Release => 2,
        }
    }
}

const SERVER: ProcessId = ProcessId(1);

impl Protocol for Server {
    type Family = Locks;
    type Config = Policy;
    type Message = Say;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        Self { policy: *start.config, waiting: Vec::new(), holder: None, granted: 0 }
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Command(Command::Enter) => out.send(SERVER, Say::Request),
            Input::Command(Command::Leave) => {
                out.send(SERVER, Say::Release);
                out.notify(Notice::Left);
            }
            Input::Message { message: Say::Grant(fence), .. } => {
                out.notify(Notice::Entered { fence });
            }
            Input::Message { from, message: Say::Request } => {
                self.waiting.push(from);
                self.grant(out);
            }
            Input::Message { message: Say::Release, .. } => {
                self.holder = None;
                self.grant(out);
            }
            Input::Timer(()) | Input::Reading(_) => {}
        }
    }
}

impl Server {
    fn grant(&mut self, out: &mut Effects<Self>) {
        if self.policy == Policy::Forgetful && self.granted == 10 {
            self.waiting.clear();
        }
        let is_free = self.holder.is_none() || self.policy == Policy::Everybody;
        if !is_free || self.waiting.is_empty() || self.policy == Policy::Nobody {
            return;
        }
        let next = match self.policy {
            Policy::NewestFirst => self.waiting.len() - 1,
            _ => 0,
        };
        let next = self.waiting.remove(next);
        self.holder = Some(next);
        self.granted += 1;
        let fence = if self.policy == Policy::OneFence { 1 } else { self.granted };
        out.send(next, Say::Grant(Fence(fence)));
    }
}

/// What was found of the lock.
fn locks(report: &Report) -> &LockPanel {
    report.locks().expect("it is one")
}

fn run(policy: Policy, promises: Promises) -> Outcome {
    let (view, policies) = (View::dense(1, 4), [policy; 4]);
    let setup = Setup::<Server> {
        limits: Limits { events: 100_000, time: Time::delays(100_000), patience: Time::NEVER },
        ordering: JudgeOrdering::Yes,
        promises,
        check_invariants: true,
        ..Setup::new(&view, &policies)
    };
    let clients = [1, 2, 3].map(Seat).to_vec();
    let application =
        MutexApplication::new(Workload::Contend, &view, clients, 2_000, Time::DELAY, None, 1);
    simulate(&setup, application, &mut |_| {})
}

#[test]
fn the_unbroken_server_is_accepted() {
    let report = run(Policy::OldestFirst, LIVENESS).report;
    assert_eq!((report.verdict, locks(&report).delays.entries()), (Verdict::Ok, 2_000));
}

#[test]
fn safety_rejects_a_server_that_grants_to_everybody() {
    let report = run(Policy::Everybody, LIVENESS).report;
    assert_eq!(report.verdict, Verdict::Violated);
    let broken = locks(&report).exclusion.broken().expect("two are in");
    assert_eq!((broken.inside, broken.entered), (Seat(1), Seat(2)));
    assert!(locks(&report).fences.broken().is_none(), "nothing else is wrong with it");
}

#[test]
fn fences_reject_a_server_that_repeats_its_number() {
    let report = run(Policy::OneFence, LIVENESS).report;
    assert_eq!(report.verdict, Verdict::Violated);
    assert_eq!(locks(&report).fences.broken().map(|fell| fell.got), Some(Fence(1)));
    assert!(locks(&report).exclusion.broken().is_none(), "nothing else is wrong with it");
}

#[test]
fn liveness_rejects_a_server_that_never_grants() {
    let outcome = run(Policy::Nobody, LIVENESS);
    assert_eq!(outcome.report.verdict, Verdict::Deadlock);
    assert_eq!(locks(&outcome.report).waiting.count(), 3);
    assert_eq!(outcome.diagnosis, None, "the verdict needs no word of the processes");
}

#[test]
fn liveness_rejects_a_server_that_forgets_who_waits() {
    let report = run(Policy::Forgetful, LIVENESS).report;
    assert_eq!((report.verdict, locks(&report).delays.entries()), (Verdict::Deadlock, 10));
}

#[test]
fn liveness_rejects_a_server_that_serves_the_newest_first() {
    let report = run(Policy::NewestFirst, LIVENESS).report;
    assert_eq!(report.verdict, Verdict::Starved);
    assert!(locks(&report).waiting.starved().is_some_and(|starved| starved.overtaken > 400));
}

#[test]
fn ordering_rejects_a_server_that_serves_the_newest_first_if_order_was_promised() {
    let report = run(Policy::NewestFirst, LIVENESS.and(ORDERING)).report;
    assert_eq!(report.verdict, Verdict::Violated);
    assert!(locks(&report).overtakings().is_some_and(|overtakings| overtakings > 0));
}

#[test]
fn a_limit_that_comes_first_is_neither_a_proof_nor_a_blame() {
    let view = View::dense(1, 2);
    let setup = Setup::<Server> {
        limits: Limits { events: 20, time: Time::delays(100_000), patience: Time::NEVER },
        check_invariants: true,
        ..Setup::new(&view, &[Policy::OldestFirst; 2])
    };
    let application =
        MutexApplication::new(Workload::Contend, &view, vec![Seat(1)], 100, Time::DELAY, None, 1);
    let report = simulate(&setup, application, &mut |_| {}).report;
    assert_eq!(report.verdict, Verdict::Budget);
}
